// What happens to each argument for one outer element.
#include <algorithm>

#include "kernelgen/emit.h"

namespace kernelgen {

namespace {

// The body of the function for one outer element.
class body {
public:
  body(writer &out, const kernel &k, const overload &o, const variant &v)
      : out_(out), k_(k), v_(v), nresults_(count_results(v)), scalar_(is_scalar(k, o)) {}

  void emit() {
    emit_values(out_, v_, scalar_);
    for (const argument &a : v_.arguments) {
      if (a.is_array()) {
        emit_array(a);
      }
    }
    if (v_.result.kind == return_kind::array) {
      emit_result_block(v_.result.value);
    }
    for (size_t i = 0; i < k_.resources.size(); i++) {
      emit_resource(*k_.resources[i], i);
    }
    emit_call();
    for (const argument &a : v_.arguments) {
      a.is_array() ? finish_array(a) : finish_value(a);
    }
    finish_result();
    out_.line("return dynd_ok;");
  }

private:
  std::string place_of(int o) const {
    std::string number = std::to_string(o);
    return scalar_ ? "(dynd_data[" + number + "] + (intptr_t)dynd_i * dynd_stride[" + number + "])"
                   : "dynd_core_data(dynd_call, " + number + ", dynd_i)";
  }
  std::string operand_at(const argument &a) const { return place_of(nresults_ + a.operand); }
  std::string result_at(const argument &a) const { return place_of(a.result); }

  // Where the strides of a result begin.
  std::string result_stride(const argument &wanted) const {
    size_t at = 0;
    for (const argument &a : v_.arguments) {
      at += a.result >= 0 && a.result < wanted.result ? a.core.size() : 0;
    }
    return "dynd_k->stride + " + std::to_string(at);
  }

  char order(const argument &a) const { return a.fortran ? 'F' : 'C'; }
  std::string ndim(const argument &a) const { return std::to_string(a.dims.size()); }
  // The arguments that all functions on blocks take.
  std::string dense(const argument &a, const std::string &stride) const {
    if (a.dims.size() == 1) {
      return "(dynd_dense || " + a.name + "_size[0] <= 1 || " + stride + "[0] == (intptr_t)" + item_size(a) + ")";
    }
    return "dynd_is_dense(" + a.name + "_size, " + stride + ", " + ndim(a) + ", " + item_size(a) + ", '" + order(a) +
           "')";
  }
  std::string copied(const argument &a) const {
    return "dynd_copy_in(&dynd_s->" + a.name + ", dynd_f, " + a.name + ", " + a.name + "_size, " + given_stride(v_, a) +
           ", " + ndim(a) + ", " + item_size(a) + ", '" + order(a) + "')";
  }
  void refuse_null(const argument &a) {
    out_.open("if (!" + a.name + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_memory, \"" + a.name + ": there is no memory for a copy\");");
    out_.close();
  }

  void emit_result_block(const argument &a) {
    if (a.operand < 0 && !has_dense_strides(v_, a)) {
      out_.line("const int64_t " + a.name + "_size[] = " + sizes_text(v_, a) + ";");
    }
    if (!v_.skips) {
      out_.line("char *" + a.name + "_result = " + value_in(a, result_at(a)) + ";");
    }
    out_.line("const intptr_t *" + a.name + "_result_stride = " + result_stride(a) + ";");
  }

  void emit_array(const argument &a) {
    out_.blank();
    out_.line("/* " + a.name + ": " + intent_text(a) + ", in " + (a.fortran ? "F" : "C") + " order" +
              (a.is_given() && !a.is_written_operand() && !a.is_read_only()
                   ? "; a copy, because the function could write it"
                   : "") +
              " */");
    if (a.is_result) {
      emit_result_block(a);
    }
    if (a.intent == intent_kind::hide) {
      emit_hidden(a);
    } else if (v_.skips) {
      emit_kept_row(a);
    } else if (a.intent == intent_kind::output) {
      emit_output(a);
    } else {
      out_.line(a.c_element + " *" + a.name + " = (" + a.c_element + " *)(void *)" + value_in(a, operand_at(a)) + ";");
      a.is_written_operand() ? emit_written(a) : emit_input(a);
    }
    if (a.form == argument_form::rows) {
      emit_rows(a);
    }
  }

  // A row without what is missing; a result is put back to where values are.
  void emit_kept_row(const argument &a) {
    std::string room = "(&dynd_s->" + a.name + ", dynd_f, ", of = a.c_element + " *" + a.name + " = ";
    out_.line(a.is_result
                  ? of + "dynd_room_for" + room + a.name + "_size, 1, " + item_size(a) + ");"
                  : of + "dynd_gather" + room + value_in(a, operand_at(a)) + ", " + a.name + "_stride[0], dynd_kept" +
                        std::to_string(a.core[0].symbol) + ", " + a.name + "_size[0], " + item_size(a) + ");");
    refuse_null(a);
    if (a.is_result) {
      clear(a);
    }
  }
  std::string scattered(const argument &a, const std::string &from) const {
    std::string n = std::to_string(a.core[0].symbol);
    return "dynd_scatter(" + result_at(a) + ", " + a.name + "_result_stride[0], " + from + ", dynd_kept" + n +
           ", dynd_all" + n + ", " + item_size(a) + ", _Alignof(" + a.c_element + "));";
  }

  void emit_hidden(const argument &a) {
    c_expressions expressions(v_);
    std::vector<std::string> sizes, negative;
    for (size_t d = 0; d < a.dims.size(); d++) {
      sizes.push_back(expressions.checked(a.dims[d]));
      negative.push_back(a.name + "_size[" + std::to_string(d) + "] < 0");
    }
    std::string all = joined(sizes, ", ");
    bool checks = all.find("dynd_wrong") != all.npos;
    out_.line("const int64_t " + a.name + "_size[] = {" + all + "};");
    out_.open("if (" + std::string(checks ? "dynd_wrong || " : "") + joined(negative, " || ") + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_value, \"" + a.name + ": its size is negative or too large\");");
    out_.close();
    out_.line(a.c_element + " *" + a.name + " = dynd_room_for(&dynd_s->" + a.name + ", dynd_f, " + a.name + "_size, " +
              ndim(a) + ", " + item_size(a) + ");");
    refuse_null(a);
    clear(a);
  }

  void clear(const argument &a) {
    if (!a.fully_written) {
      out_.open("if (dynd_count(" + a.name + "_size, " + ndim(a) + ") > 0)");
      out_.line("memset(" + a.name + ", 0, dynd_count(" + a.name + "_size, " + ndim(a) + ") * " + item_size(a) + ");");
      out_.close();
    }
  }

  // The result itself where it is in the order that the function wants, else memory that is copied afterwards.
  void emit_output(const argument &a) {
    out_.line("const int " + a.name + "_direct = " + direct_result(a) + ";");
    out_.line(a.c_element + " *" + a.name + " = (" + a.c_element + " *)(void *)" + a.name + "_result;");
    out_.open("if (!" + a.name + "_direct)");
    out_.line(a.name + " = dynd_room_for(&dynd_s->" + a.name + ", dynd_f, " + a.name + "_size, " + ndim(a) + ", " +
              item_size(a) + ");");
    refuse_null(a);
    out_.close();
    clear(a);
  }
  std::string direct_result(const argument &a) const { return dense(a, a.name + "_result_stride"); }

  void emit_strict(const argument &a) {
    bool steps = v_.kind == layout_kind::strided;
    std::string test =
        steps ? "dynd_has_steps(" + a.name + "_size, " + a.name + "_stride, " + ndim(a) + ", " + item_size(a) + ")"
              : dense(a, a.name + "_stride");
    std::string wanted = steps ? "must have positive strides of whole elements"
                         : a.intent == intent_kind::inout
                             ? std::string("must be ") + order(a) + "-contiguous, as it is inout"
                             : std::string("must be ") + order(a) + "-contiguous";
    out_.open("if (!" + test + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_value, \"argument " + a.name + " " + wanted + "\");");
    out_.close();
  }
  bool is_strict() const { return v_.kind != layout_kind::xnd; }

  void emit_input(const argument &a) {
    if (is_strict() && !has_dense_strides(v_, a)) {
      emit_strict(a);
    }
    if (v_.kind == layout_kind::strided && !has_dense_strides(v_, a)) {
      return;
    }
    if (a.is_result) { // the function works on the result
      out_.line("const int " + a.name + "_direct = " + direct_result(a) + ";");
      out_.open("if (" + a.name + "_direct)");
      out_.line("dynd_copy(" + a.name + "_result, " + a.name + "_result_stride, (const char *)" + a.name + ", " +
                given_stride(v_, a) + ", " + a.name + "_size, " + ndim(a) + ", " + item_size(a) + ");");
      out_.line(a.name + " = (" + a.c_element + " *)(void *)" + a.name + "_result;");
      out_.otherwise();
      out_.line(a.name + " = " + copied(a) + ";");
      refuse_null(a);
      return out_.close();
    }
    if (a.is_read_only() && is_strict()) {
      return;
    }
    if (a.is_read_only()) {
      if (a.dims.size() == 1) {
        out_.line("if (dynd_dense)");
        out_.line("  DYND_PREFETCH_ROWS(" + a.name + ");");
      }
      out_.open("if (!" + dense(a, a.name + "_stride") + ")");
    }
    out_.line(a.name + " = " + copied(a) + ";");
    refuse_null(a);
    if (a.is_read_only()) {
      out_.close();
    }
  }

  void emit_written(const argument &a) {
    if (is_strict() || a.intent == intent_kind::inout) {
      return emit_strict(a);
    }
    out_.line("char *" + a.name + "_operand = (char *)" + a.name + ";");
    out_.open("if (!" + dense(a, a.name + "_stride") + ")");
    out_.line(a.name + " = " + copied(a) + ";");
    refuse_null(a);
    out_.close();
  }

  void emit_rows(const argument &a) {
    std::string pointers = a.name + "_rows", count = a.name + "_size[0]";
    out_.line(a.c_element + " **" + pointers + " = dynd_room_for(&dynd_s->" + pointers + ", dynd_f, " + a.name +
              "_size, 1, sizeof(void *));");
    out_.open("if (!" + pointers + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_memory, \"" + a.name +
              ": there is no memory for pointers to rows\");");
    out_.close();
    out_.line("for (int64_t dynd_r = 0; dynd_r < " + count + "; dynd_r++)");
    out_.line("  " + pointers + "[dynd_r] = " + a.name + " + dynd_r * " + a.name + "_size[1];");
  }

  // Made once for a key; kept while the next outer elements have the same one.
  void emit_resource(const resource &r, size_t index) {
    c_expressions expressions(v_);
    std::vector<std::string> key;
    for (const expression &e : r.key) {
      key.push_back("(int64_t)(" + expressions.plain(e) + ")");
    }
    key.resize(4, "0");
    std::string kept = "dynd_s->" + r.name, pool = "dynd_k->pool[" + std::to_string(index) + "]";
    std::string shared = r.is_shared ? "1" : "0";
    out_.blank();
    out_.line("/* " + r.name + ": a resource */");
    out_.line("const int64_t " + r.name + "_key[4] = {" + joined(key, ", ") + "};");
    out_.open("if (!" + kept + " || !dynd_same_key(" + kept + "->key, " + r.name + "_key))");
    if (!r.is_shared) {
      out_.line("if (" + kept + ")");
      out_.line("  dynd_pool_give(" + pool + ", " + kept + ");");
    }
    out_.line(kept + " = dynd_pool_take(" + pool + ", " + r.name + "_key, " + shared + ");");
    out_.close();
    out_.open("if (!" + kept + ")");
    out_.line("pthread_mutex_lock(&dynd_making); /* libraries make such things one at a time */");
    if (r.is_shared) {
      out_.line(kept + " = dynd_pool_take(" + pool + ", " + r.name +
                "_key, 1); /* another thread may have been first */");
    }
    out_.open("if (!" + kept + ")");
    out_.line(r.type + " dynd_made = " + r.make + ";");
    out_.line(kept + " = dynd_made ? dynd_new_resource((void *)dynd_made, " + r.name + "_key) : NULL;");
    out_.open("if (dynd_made && !" + kept + ")");
    out_.line(r.type + " " + r.name + " = dynd_made;");
    out_.line(r.release + ";");
    out_.close();
    if (r.is_shared) {
      out_.line("if (" + kept + ")");
      out_.line("  dynd_pool_give(" + pool + ", " + kept + ");");
    }
    out_.close();
    out_.line("pthread_mutex_unlock(&dynd_making);");
    out_.open("if (!" + kept + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_memory, \"" + r.name + " could not be made\");");
    out_.close();
    out_.close();
    out_.line(r.type + " " + r.name + " = (" + r.type + ")" + kept + "->handle;");
  }

  std::string passed(const argument &a) const {
    switch (a.form) {
    case argument_form::value:
      return a.name;
    case argument_form::pointer:
      if (!a.is_fixed_text()) {
        return "&" + a.name;
      }
      break;
    case argument_form::rows:
      return a.type.is_const ? "(" + a.type.declare("") + ")" + a.name + "_rows" : a.name + "_rows";
    case argument_form::opaque:
      return c_expressions(v_).plain(*a.value);
    default:
      break;
    }
    bool pointer_to_array = !a.type.after.empty();
    return pointer_to_array || (a.type.base == "void") ? "(" + a.type.declare("") + ")" + a.name : a.name;
  }

  void emit_call() {
    std::vector<std::string> all;
    for (const argument &a : v_.arguments) {
      all.push_back(passed(a));
    }
    out_.blank();
    if (k_.debug) {
      out_.line("fprintf(stderr, \"" + k_.name + ": calls " + v_.function.name + "\\n\");");
    }
    for (const std::string &line : k_.before) {
      out_.line(line);
    }
    bool uses_errno = std::any_of(k_.failures.begin(), k_.failures.end(),
                                  [](const failure_rule &f) { return f.condition.find("errno") != f.condition.npos; });
    if (uses_errno) {
      out_.line("errno = 0;");
    }
    bool is_void = v_.function.result.base == "void" && v_.function.result.pointers == 0;
    std::string call = v_.function.name + "(" + joined(all, ", ") + ");";
    out_.line(is_void ? call : v_.function.result.declare("result") + " = " + call);
    if (v_.result.kind == return_kind::hide) {
      out_.line("(void)result;");
    }
    for (const failure_rule &f : k_.failures) {
      out_.open("if (" + f.condition + ")");
      out_.line("return dynd_fail(dynd_f, " + f.status + ", " + quoted_c(f.format) +
                (f.values.empty() ? "" : ", " + joined(f.values, ", ")) + ");");
      out_.close();
    }
    if (k_.returns_status) {
      out_.open("if (result != 0)");
      out_.line("return dynd_fail(dynd_f, dynd_error_value, \"" + v_.function.name +
                " returned %lld\", (long long)result);");
      out_.close();
    }
    for (const std::string &line : k_.after) {
      out_.line(line);
    }
    out_.blank();
  }

  void mark_present(const argument &a) {
    if (a.may_miss) {
      out_.line(a.core.empty() ? "*" + result_at(a) + " = 1;"
                               : "dynd_mark(" + result_at(a) + ", " + a.name + "_size, " + a.name + "_result_stride, " +
                                     ndim(a) + ", 1);");
    }
  }

  void finish_value(const argument &a) {
    if (a.form == argument_form::opaque) {
      return;
    }
    if (a.is_fixed_text()) {
      return finish_text(a);
    }
    if (a.is_written_operand() && a.is_optional) {
      out_.line("*(" + a.c_element + " *)(void *)(" + a.name + "_at + _Alignof(" + a.c_element + ")) = " + a.name +
                ";");
      out_.line("*" + a.name + "_at = 1;");
    } else if (a.is_written_operand()) {
      out_.line("*(" + a.c_element + " *)(void *)" + operand_at(a) + " = " + a.name + ";");
    }
    if (a.is_result) {
      out_.line("*(" + a.c_element + " *)(void *)" + value_in(a, result_at(a)) + " = " + a.name + ";");
      mark_present(a);
    }
  }

  void store_text(const argument &a, const std::string &to, const std::string &from) {
    std::string size = std::to_string(fixed_text_size(a.element));
    out_.line((is_fixed_string(a.element) ? "dynd_store_text(" : "memcpy(") + to + ", " + from + ", " + size + ");");
  }
  void refuse_long_text(const argument &a, const std::string &test) {
    if (is_fixed_string(a.element)) {
      out_.open("if (" + test + ")");
      out_.line("return dynd_fail(dynd_f, dynd_error_overflow, \"" + a.name + ": the text of " + v_.function.name +
                " is longer than " + a.element + "\");");
      out_.close();
    }
  }

  void finish_text(const argument &a) {
    if (!a.is_written_operand() && !a.is_result) {
      return;
    }
    refuse_long_text(a, a.name + "[" + std::to_string(fixed_text_size(a.element)) + "]");
    if (a.is_written_operand()) {
      store_text(a, operand_at(a), a.name);
    }
    if (a.is_result) {
      store_text(a, value_in(a, result_at(a)), a.name);
      mark_present(a);
    }
  }

  std::string out_of(const argument &a, const std::string &to) const {
    return "dynd_copy_out(" + a.name + "_" + to + ", " + a.name + (to == "operand" ? "_stride" : "_result_stride") +
           ", " + a.name + ", " + a.name + "_size, " + ndim(a) + ", " + item_size(a) + ", '" + order(a) + "');";
  }

  void finish_array(const argument &a) {
    if (a.is_written_operand() && !is_strict() && a.intent == intent_kind::inplace) {
      out_.line(out_of(a, "operand") + " /* does nothing where it is the operand itself */");
    }
    if (a.is_result && v_.kind == layout_kind::strided && a.is_written_operand()) {
      out_.line("dynd_copy(" + a.name + "_result, " + a.name + "_result_stride, (const char *)" + a.name + ", " +
                a.name + "_stride, " + a.name + "_size, " + ndim(a) + ", " + item_size(a) + ");");
    } else if (a.is_result && v_.skips) {
      out_.line(scattered(a, a.name));
    } else if (a.is_result) {
      out_.line(out_of(a, "result"));
      mark_present(a);
    }
  }

  void finish_result() {
    const argument &a = v_.result.value;
    if (v_.result.kind == return_kind::output && a.is_fixed_text()) {
      out_.open("if (!result)");
      out_.line("return dynd_fail(dynd_f, dynd_error_value, \"" + v_.function.name + " returned no text\");");
      out_.close();
      std::string size = std::to_string(fixed_text_size(a.element));
      refuse_long_text(a, "!memchr(result, 0, " + size + " + 1)");
      store_text(a, value_in(a, result_at(a)), "result");
      mark_present(a);
    } else if (v_.result.kind == return_kind::output) {
      out_.line("*(" + a.c_element + " *)(void *)" + value_in(a, result_at(a)) + " = result;");
      mark_present(a);
    } else if (v_.result.kind == return_kind::array) {
      out_.open("if (!result && dynd_count(" + a.name + "_size, " + ndim(a) + "))");
      out_.line("return dynd_fail(dynd_f, dynd_error_value, \"" + v_.function.name + " returned no array\");");
      out_.close();
      if (v_.skips) {
        return out_.line(scattered(a, "result"));
      }
      out_.line("if (result)");
      out_.line("  dynd_copy_out(" + a.name + "_result, " + a.name + "_result_stride, result, " + a.name + "_size, " +
                ndim(a) + ", " + item_size(a) + ", 'C');");
      mark_present(a);
    }
  }

  writer &out_;
  const kernel &k_;
  const variant &v_;
  int nresults_;
  bool scalar_;
};

} // namespace

std::string intent_text(const argument &a) {
  static const char *const names[] = {"input", "inplace", "inout", "output", "hidden"};
  std::string text = names[int(a.intent)];
  return a.is_result && a.intent != intent_kind::output ? text + ", output" : text;
}

void emit_body(writer &out, const kernel &k, const overload &o, const variant &v) {
  emit_with_checks(out, [&](writer &inside) { body(inside, k, o, v).emit(); });
}

} // namespace kernelgen

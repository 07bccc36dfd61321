// Sizes and values of one outer element, and the kernel that says the sizes of results.
#include <algorithm>
#include <functional>

#include "kernelgen/emit.h"
#include "kernelgen/resolve.h"

namespace kernelgen {

namespace {

struct range {
  const char *element, *lowest, *largest;
};
const range ranges[] = {{"int8", "INT8_MIN", "INT8_MAX"},    {"int16", "INT16_MIN", "INT16_MAX"},
                        {"int32", "INT32_MIN", "INT32_MAX"}, {"uint8", "0", "UINT8_MAX"},
                        {"uint16", "0", "UINT16_MAX"},       {"uint32", "0", "UINT32_MAX"}};

class values {
public:
  values(writer &out, const variant &v, int nresults, bool is_main, bool scalar_loop)
      : out_(out), v_(v), expressions_(v), nresults_(nresults), is_main_(is_main), scalar_loop_(scalar_loop) {}

  void emit() {
    emit_operand_sizes();
    emit_missing();
    std::set<const argument *> needed = is_main_ ? std::set<const argument *>() : needed_for_sizes();
    for (const argument *a : evaluation_order(v_)) {
      if (is_main_ || needed.count(a)) {
        emit_value(*a);
      }
    }
    for (const argument &a : v_.arguments) {
      for (size_t d = 0; a.is_array() && a.operand >= 0 && d < a.dims.size(); d++) {
        emit_check(a, d);
      }
    }
  }

private:
  std::string at(const argument &a) const {
    std::string o = std::to_string(nresults_ + a.operand);
    return scalar_loop_ ? "(dynd_data[" + o + "] + (intptr_t)dynd_i * dynd_stride[" + o + "])"
                        : "dynd_core_data(dynd_call, " + o + ", dynd_i)";
  }

  // The positions of a size at which no operand is missing.
  void emit_kept(int symbol) {
    std::vector<std::string> rows, strides;
    for (const argument &a : v_.arguments) {
      if (a.is_array() && a.operand >= 0 && a.core[0].symbol == symbol) {
        rows.push_back(at(a));
        strides.push_back("dynd_k->stride[" + std::to_string(stride_of_operand(v_, a, is_main_)) + "]");
      }
    }
    if (rows.empty()) {
      return;
    }
    std::string n = std::to_string(symbol), kept = "dynd_kept" + n, size = "dynd_all" + n;
    out_.line("/* the positions at which no value is missing */");
    out_.line("const int64_t " + size + " = dynd_core_size(dynd_call, " + n + ", dynd_i);");
    out_.line("const int64_t *" + kept + " = dynd_keep(&dynd_s->" + kept + ", dynd_f, " + size + ", (char *[]){" +
              joined(rows, ", ") + "}, (intptr_t[]){" + joined(strides, ", ") + "}, " + std::to_string(rows.size()) +
              ");");
    out_.open("if (!" + kept + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_memory, \"there is no memory for the positions of a row\");");
    out_.close();
  }

  void emit_operand_sizes() {
    for (size_t s = 0; v_.skips && s < v_.sizes.size(); s++) {
      emit_kept(int(s));
    }
    for (const argument &a : v_.arguments) {
      if (!a.is_array() || (a.operand < 0 && !(is_main_ && has_dense_strides(v_, a)))) {
        continue;
      }
      out_.line("const int64_t " + a.name + "_size[] = " + sizes_text(v_, a) + ";");
      if (a.operand >= 0) {
        out_.line("const intptr_t *" + given_stride(v_, a) + " = dynd_k->stride + " +
                  std::to_string(stride_of_operand(v_, a, is_main_)) + ";");
      }
      if (is_main_ && has_dense_strides(v_, a)) {
        std::string n = std::to_string(a.dims.size());
        out_.line("intptr_t " + a.name + "_stride[" + n + "]; /* the function works on memory without gaps */");
        out_.line("dynd_dense_strides(" + a.name + "_size, " + n + ", " + item_size(a) + ", '" +
                  (a.fortran ? "F" : "C") + "', " + a.name + "_stride);");
      }
    }
  }

  // The arguments that sizes of results, and what is checked of operands, are made of.
  std::set<const argument *> needed_for_sizes() const {
    std::set<const argument *> all;
    std::function<void(const expression &)> need = [&](const expression &e) {
      visit_names(e, [&](const expression &name, const std::string &) {
        const argument *a = v_.find(name.spelling);
        if (!a || !all.insert(a).second) {
          return;
        }
        if (a->value) {
          need(*a->value);
        }
        std::for_each(a->dims.begin(), a->dims.end(), need);
      });
    };
    for (const size_symbol &s : v_.sizes) {
      if (s.computed) {
        need(*s.computed);
      }
    }
    for (const argument &a : v_.arguments) {
      if (a.operand >= 0) {
        std::for_each(a.dims.begin(), a.dims.end(), need);
      }
    }
    return all;
  }

  // Where an operand is missing, so are all results.
  void emit_missing() {
    std::vector<std::string> tests;
    for (const argument &a : v_.arguments) {
      if (a.may_miss && a.operand >= 0 && !(v_.skips && a.is_array())) {
        tests.push_back(a.is_array() ? "dynd_any_missing(" + at(a) + ", " + a.name + "_size, " + a.name + "_stride, " +
                                           std::to_string(a.dims.size()) + ")"
                                     : "!*" + at(a));
      }
    }
    if (tests.empty()) {
      return;
    }
    out_.open("if (" + joined(tests, " || ") + ")");
    size_t stride = 0;
    for (int r = 0; r < nresults_; r++) {
      const argument *own = &v_.result.value;
      for (const argument &a : v_.arguments) {
        own = a.result == r ? &a : own;
      }
      std::string place = "dynd_core_data(dynd_call, " + std::to_string(r) + ", dynd_i)";
      out_.line(own->core.empty()
                    ? "*" + place + " = 0;"
                    : "dynd_mark(" + place + ", (const int64_t[])" + whole_sizes_text(*own) + ", dynd_k->stride + " +
                          std::to_string(stride) + ", " + std::to_string(own->core.size()) + ", 0);");
      stride += own->core.size();
    }
    out_.line("return dynd_ok;");
    out_.close();
  }

  // A hidden size without a value is the size of an operand.
  std::string implied(const argument &a) const {
    for (const argument &other : v_.arguments) {
      for (size_t d = 0; other.is_array() && other.operand >= 0 && d < other.dims.size(); d++) {
        if (other.dims[d].is_name(a.name)) {
          return other.name + "_size[" + std::to_string(d) + "]";
        }
      }
    }
    return "";
  }

  void emit_value(const argument &a) {
    if (a.form == argument_form::opaque) {
      return; // its value is in the call
    }
    if (a.is_fixed_text()) {
      return emit_text(a);
    }
    if (a.operand >= 0 && !a.is_optional) {
      return out_.line(variable_type(a) + " " + a.name + " = *(const " + a.c_element + " *)(const void *)" +
                       value_in(a, at(a)) + ";");
    }
    if (a.is_optional) {
      out_.line("char *" + a.name + "_at = " + at(a) + "; /* a byte: whether it is there; then the value */");
      out_.line(variable_type(a) + " " + a.name + ";");
      out_.open("if (*" + a.name + "_at)");
      out_.line(a.name + " = *(const " + a.c_element + " *)(const void *)(" + a.name + "_at + _Alignof(" + a.c_element +
                "));");
      out_.otherwise();
      emit_computed(a, "");
      out_.close();
      return;
    }
    emit_computed(a, variable_type(a) + " ");
  }

  // A copy, with a zero behind a text.
  void emit_text(const argument &a) {
    std::string size = std::to_string(fixed_text_size(a.element));
    out_.line(a.c_element + " " + a.name + "[" + size + (is_fixed_string(a.element) ? " + 1] = {0};" : "] = {0};"));
    if (a.operand >= 0) {
      out_.line("memcpy(" + a.name + ", " + value_in(a, at(a)) + ", " + size + ");");
    }
  }

  // A number, checked where it is computed from sizes; anything else is C.
  void emit_computed(const argument &a, const std::string &type) {
    std::string size = a.value ? "" : implied(a);
    bool is_size = a.value ? expressions_.is_size(*a.value) : !size.empty();
    if (!is_size || (a.value && constant(*a.value))) {
      std::string value = a.value ? expressions_.plain(*a.value) : is_scalar_type(a.element) ? "0" : "{0}";
      return out_.line(type + a.name + " = " + value + ";");
    }
    size = a.value ? expressions_.checked(*a.value) : size;
    auto own =
        std::find_if(std::begin(ranges), std::end(ranges), [&](const range &r) { return a.element == r.element; });
    std::vector<std::string> tests;
    std::string wide = a.name + "_wide";
    if (size.find("dynd_wrong") != size.npos) {
      tests.push_back("dynd_wrong");
    }
    if (own != std::end(ranges)) {
      tests.push_back(wide + " < " + own->lowest);
      tests.push_back(wide + " > " + own->largest);
    }
    if (a.element == "uint64" && a.value) {
      tests.push_back(wide + " < 0");
    }
    if (tests.empty()) {
      return out_.line(type + a.name + " = (" + a.c_element + ")" + size + ";");
    }
    std::string text = a.value ? a.value->str() : "its size";
    out_.line("const int64_t " + wide + " = " + size + ";");
    out_.open("if (" + joined(tests, " || ") + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_overflow, \"" + a.name + " = %s is %lld, which " + a.type.base +
              " cannot have\", " + quoted_c(text) + ", (long long)" + wide + ");");
    out_.close();
    out_.line(type + a.name + " = (" + a.c_element + ")" + wide + ";");
  }

  // Whether the hidden argument of that name is by definition the size of this dimension.
  bool is_definition(const argument &size, const argument &a, size_t d) const {
    if (!size.value) {
      return true;
    }
    const expression &e = *size.value;
    if (e.kind != expression::call || (e.spelling != "len" && e.spelling != "shape")) {
      return false;
    }
    const argument &of = *v_.find(e.parts[0].spelling);
    size_t axis = e.parts.size() == 2 ? std::stoul(e.parts[1].spelling) : 0;
    return of.operand >= 0 && of.core[axis].symbol >= 0 && of.core[axis].symbol == a.core[d].symbol;
  }

  void emit_check(const argument &a, size_t d) {
    const expression &e = a.dims[d];
    const argument *named = e.kind == expression::name ? v_.find(e.spelling) : nullptr;
    if (a.core[d].symbol < 0 || (e.kind == expression::name && !named) ||
        (named && named->intent == intent_kind::hide && is_definition(*named, a, d))) {
      return;
    }
    std::string wanted = a.name + "_wanted" + std::to_string(d), size = a.name + "_size[" + std::to_string(d) + "]";
    std::string computed = expressions_.checked(e);
    bool checks = computed.find("dynd_wrong") != computed.npos;
    out_.line("const int64_t " + wanted + " = " + computed + ";");
    out_.open(std::string("if (") + (checks ? "dynd_wrong || " : "") + wanted + " != " + size + ")");
    out_.line("return dynd_fail(dynd_f, dynd_error_broadcast, \"" + a.name + " has size %lld along axis " +
              std::to_string(d) + ", and %s is %lld\", (long long)" + size + ", " + quoted_c(e.str()) +
              ", (long long)" + wanted + ");");
    out_.close();
  }

  writer &out_;
  const variant &v_;
  c_expressions expressions_;
  int nresults_;
  bool is_main_, scalar_loop_;
};

} // namespace

std::string variable_type(const argument &a) {
  return a.type.base.rfind("long double", 0) == 0 ? a.type.base : a.c_element;
}

std::string value_in(const argument &a, const std::string &place) {
  return a.may_miss ? "(" + place + " + _Alignof(" + a.c_element + "))" : place;
}

std::string whole_sizes_text(const argument &a) {
  std::vector<std::string> sizes;
  for (const core_dim &d : a.core) {
    sizes.push_back(d.symbol < 0 ? std::to_string(d.fixed)
                                 : "dynd_core_size(dynd_call, " + std::to_string(d.symbol) + ", dynd_i)");
  }
  return "{" + joined(sizes, ", ") + "}";
}

std::string sizes_text(const variant &v, const argument &a) {
  std::string n = v.skips && !a.core.empty() ? std::to_string(a.core[0].symbol) : "";
  return n.empty() ? whole_sizes_text(a) : "{dynd_kept" + n + "[dynd_all" + n + "]}";
}

bool has_dense_strides(const variant &v, const argument &a) {
  bool copied = a.result >= 0 || (a.operand >= 0 && !a.is_read_only());
  return v.kind == layout_kind::strided && a.is_array() && copied && !a.is_written_operand();
}

std::string given_stride(const variant &v, const argument &a) {
  return a.name + (has_dense_strides(v, a) ? "_operand_stride" : "_stride");
}

int count_results(const variant &v) {
  int n = v.result.value.result >= 0;
  for (const argument &a : v.arguments) {
    n += a.result >= 0;
  }
  return n;
}

size_t stride_of_operand(const variant &v, const argument &wanted, bool is_main) {
  size_t at = is_main ? v.result.value.core.size() : 0;
  for (const argument &a : v.arguments) {
    at += is_main && a.result >= 0 ? a.core.size() : 0;
    at += a.operand >= 0 && a.operand < wanted.operand ? a.core.size() : 0;
  }
  return at;
}

void emit_values(writer &out, const variant &v, bool scalar_loop) {
  values(out, v, count_results(v), true, scalar_loop).emit();
}

bool has_computed_sizes(const overload &o) {
  const std::vector<size_symbol> &sizes = o.main().sizes;
  return std::any_of(sizes.begin(), sizes.end(), [](const size_symbol &s) { return s.computed.has_value(); });
}

static void emit_one_size(writer &out, const c_expressions &expressions, const expression &e, size_t number) {
  std::string name = "dynd_size" + std::to_string(number), computed = expressions.checked(e);
  bool checks = computed.find("dynd_wrong") != computed.npos;
  out.line("const int64_t " + name + " = " + computed + ";");
  out.open("if (" + std::string(checks ? "dynd_wrong || " : "") + name + " < 0)");
  out.line("return dynd_fail(dynd_f, dynd_error_value, \"the size %s of a result is %s\", " + quoted_c(e.str()) + ", " +
           (checks ? "dynd_wrong ? \"too large\" : " : "") + "\"negative\");");
  out.close();
  out.line("*(int64_t *)(void *)dynd_core_data(dynd_call, " + std::to_string(number) + ", dynd_i) = " + name + ";");
}

// The operands of the kernel itself, and for each size that is computed a number.
void emit_sizes(writer &out, const kernel &k, const overload &o) {
  const variant &v = o.main();
  c_expressions expressions(v);
  std::vector<const size_symbol *> computed;
  for (const size_symbol &s : v.sizes) {
    if (s.computed) {
      computed.push_back(&s);
    }
  }
  out.line("/* The sizes of results that no operand has. */");
  out.open("static int " + o.symbol +
           "_sizes_run(const dynd_core_call *dynd_call, const ckernel_prefix *dynd_self, "
           "dynd_frame *dynd_f)");
  out.line("const dynd_wrapper *dynd_k = (const dynd_wrapper *)(const void *)dynd_self;");
  out.line("(void)dynd_k;");
  out.open("for (size_t dynd_i = 0; dynd_i < dynd_call->count; dynd_i++)");
  emit_with_checks(out, [&](writer &inside) {
    values(inside, v, int(computed.size()), false, false).emit();
    for (size_t i = 0; i < computed.size(); i++) {
      emit_one_size(inside, expressions, *computed[i]->computed, i);
    }
    for (const argument &a : v.arguments) {
      if (a.is_array() && a.operand >= 0) {
        inside.line("(void)" + a.name + "_size, (void)" + given_stride(v, a) + ";");
      }
    }
  });
  out.close();
  out.line("return dynd_ok;");
  out.close();
  out.line("static const dynd_wrapper_info " + o.symbol + "_sizes_info = {(void *)" + o.symbol +
           "_sizes_run, 0, {NULL}};");
  std::string signature = v.signature.substr(0, v.signature.rfind(" -> ")) + " -> ";
  for (size_t at = signature.find("inout "); at != signature.npos; at = signature.find("inout ")) {
    signature.erase(at, 6); // sizes are only read
  }
  std::vector<std::string> results(computed.size(), "int64");
  signature += results.size() == 1 ? results[0] : "(" + joined(results, ", ") + ")";
  out.open("static const deferred_ckernel " + o.symbol + "_sizes =");
  out.line(".size = sizeof(deferred_ckernel), .version = DYND_ABI_VERSION, .prototype = core_operation_funcproto_id,");
  out.line(std::string(".flags = ") + (k.threadsafe ? "0" : "dynd_callable_one_thread") +
           ", .name = " + quoted_c(k.registered) + ",");
  out.line(".signature = " + quoted_c(signature) + ", .data_ptr = (void *)&" + o.symbol + "_sizes_info,");
  out.line(".instantiate = dynd_wrapper_make");
  out.close(";");
  out.blank();
}

} // namespace kernelgen

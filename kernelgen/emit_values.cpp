// Sizes and values of one outer element, and the kernel that says the sizes of results.
#include <algorithm>

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
    if (needs_checks()) {
      out_.line("int dynd_wrong = 0; /* a size overflows */");
      out_.line("(void)dynd_wrong;");
    }
    for (const argument *a : evaluation_order(v_)) {
      emit_value(*a);
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

  void emit_operand_sizes() {
    for (const argument &a : v_.arguments) {
      if (!a.is_array() || a.operand < 0) {
        continue;
      }
      std::vector<std::string> sizes;
      for (const core_dim &d : a.core) {
        sizes.push_back(d.symbol < 0 ? std::to_string(d.fixed)
                                     : "dynd_core_size(dynd_call, " + std::to_string(d.symbol) + ", dynd_i)");
      }
      out_.line("const int64_t " + a.name + "_size[] = {" + joined(sizes, ", ") + "};");
      out_.line("const intptr_t *" + a.name + "_stride = dynd_k->stride + " +
                std::to_string(stride_of_operand(v_, a, is_main_)) + ";");
    }
  }

  // Where an operand is missing, so are all results.
  void emit_missing() {
    std::vector<std::string> tests;
    for (const argument &a : v_.arguments) {
      if (a.may_miss && a.operand >= 0) {
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
      out_.line(own->core.empty() ? "*" + place + " = 0;"
                                  : "dynd_mark(" + place + ", " + sizes_text(*own) + ", dynd_k->stride + " +
                                        std::to_string(stride) + ", " + std::to_string(own->core.size()) + ", 0);");
      stride += own->core.size();
    }
    out_.line("return dynd_ok;");
    out_.close();
  }

  // Whether anything is computed at all: names and sizes alone cannot overflow.
  bool needs_checks() const {
    auto computes = [&](const expression &e) {
      return e.kind != expression::name && e.kind != expression::integer && e.kind != expression::text;
    };
    for (const argument &a : v_.arguments) {
      if (a.value && expressions_.is_size(*a.value) && computes(*a.value)) {
        return true;
      }
      if (std::any_of(a.dims.begin(), a.dims.end(), computes)) {
        return true;
      }
    }
    return std::any_of(v_.result.value.dims.begin(), v_.result.value.dims.end(), computes) ||
           std::any_of(v_.sizes.begin(), v_.sizes.end(), [](const size_symbol &s) { return s.computed.has_value(); });
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
    if (a.operand >= 0 && !a.is_optional) {
      return out_.line(a.c_element + " " + a.name + " = *(const " + a.c_element + " *)(const void *)" +
                       value_in(a, at(a)) + ";");
    }
    if (a.is_optional) {
      out_.line("char *" + a.name + "_at = " + at(a) + "; /* a byte: whether it is there; then the value */");
      out_.line(a.c_element + " " + a.name + ";");
      out_.open("if (*" + a.name + "_at)");
      out_.line(a.name + " = *(const " + a.c_element + " *)(const void *)(" + a.name + "_at + _Alignof(" + a.c_element +
                "));");
      out_.otherwise();
      emit_computed(a, "");
      out_.close();
      return;
    }
    emit_computed(a, a.c_element + " ");
  }

  void emit_computed(const argument &a, const std::string &type) {
    std::string size = a.value ? "" : implied(a);
    bool is_size = a.value ? expressions_.is_size(*a.value) : !size.empty();
    bool is_integer = a.element.rfind("int", 0) == 0 || a.element.rfind("uint", 0) == 0;
    if (!is_size || !is_integer) {
      std::string value = a.value ? expressions_.plain(*a.value) : size;
      if (value.empty()) {
        value = is_scalar_type(a.element) ? "0" : "{0}";
      }
      return out_.line(type + a.name + " = " + value + ";");
    }
    size = a.value ? expressions_.checked(*a.value) : size;
    std::string text = a.value ? a.value->str() : "its size";
    auto own =
        std::find_if(std::begin(ranges), std::end(ranges), [&](const range &r) { return a.element == r.element; });
    bool constant = a.value && a.value->kind == expression::integer;
    if (constant || (own == std::end(ranges) && a.element == "int64" && text.find_first_of("+-*/%") == text.npos)) {
      return out_.line(type + a.name + " = (" + a.c_element + ")" + (constant ? a.value->spelling : size) + ";");
    }
    std::string wide = a.name + "_wide";
    out_.line("const int64_t " + wide + " = " + size + ";");
    std::string outside = own != std::end(ranges) ? wide + " < " + own->lowest + " || " + wide + " > " + own->largest
                          : a.element == "uint64" ? wide + " < 0"
                                                  : "0";
    bool computes = a.value && text.find_first_of("+-*/%(") != text.npos;
    std::string wrong = computes ? "dynd_wrong || " + outside : outside;
    out_.open("if (" + wrong + ")");
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
    bool computes = e.kind != expression::name;
    out_.line("const int64_t " + wanted + " = " + expressions_.checked(e) + ";");
    out_.open(std::string("if (") + (computes ? "dynd_wrong || " : "") + wanted + " != " + size + ")");
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

std::string value_in(const argument &a, const std::string &place) {
  return a.may_miss ? "(" + place + " + _Alignof(" + a.c_element + "))" : place;
}

std::string sizes_text(const argument &a) {
  std::vector<std::string> sizes;
  for (const core_dim &d : a.core) {
    sizes.push_back(d.symbol < 0 ? std::to_string(d.fixed)
                                 : "dynd_core_size(dynd_call, " + std::to_string(d.symbol) + ", dynd_i)");
  }
  return "(const int64_t[]){" + joined(sizes, ", ") + "}";
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
  values(out, v, int(computed.size()), false, false).emit();
  for (size_t i = 0; i < computed.size(); i++) {
    std::string name = "dynd_size" + std::to_string(i), text = computed[i]->computed->str();
    out.line("const int64_t " + name + " = " + expressions.checked(*computed[i]->computed) + ";");
    out.open("if (dynd_wrong || " + name + " < 0)");
    out.line("return dynd_fail(dynd_f, dynd_error_value, \"the size %s of a result is %s\", " + quoted_c(text) +
             ", dynd_wrong ? \"too large\" : \"negative\");");
    out.close();
    out.line("*(int64_t *)(void *)dynd_core_data(dynd_call, " + std::to_string(i) + ", dynd_i) = " + name + ";");
  }
  for (const argument &a : v.arguments) {
    if (!a.is_array() && a.form != argument_form::opaque) {
      out.line("(void)" + a.name + ";");
    } else if (a.is_array() && a.operand >= 0) {
      out.line("(void)" + a.name + "_size, (void)" + a.name + "_stride;");
    }
  }
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

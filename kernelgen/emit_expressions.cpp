#include <algorithm>

#include "kernelgen/emit.h"

namespace kernelgen {

std::string item_size(const argument &a) {
  size_t fixed = fixed_text_size(a.element);
  return fixed ? "(size_t)" + std::to_string(fixed) : "sizeof(" + a.c_element + ")";
}

// The size of an operand is measured; of a result or a hidden array it is what its dimension says.
std::string c_expressions::size_of(const std::string &name, size_t axis, bool checks) const {
  const argument &a = *v_.find(name);
  if (a.operand >= 0) {
    return a.name + "_size[" + std::to_string(axis) + "]";
  }
  return checks ? checked(a.dims[axis]) : "(" + plain(a.dims[axis]) + ")";
}

std::string c_expressions::of_array(const expression &e, bool checks) const {
  const argument &a = *v_.find(e.parts[0].spelling);
  if (e.spelling == "ndim") {
    return std::to_string(a.dims.size());
  }
  if (e.spelling == "itemsize") {
    return "(int64_t)" + item_size(a);
  }
  if (e.spelling == "stride") {
    return "(int64_t)(" + a.name + "_stride[" + e.parts[1].spelling + "] / (intptr_t)" + item_size(a) + ")";
  }
  if (e.spelling == "len" || e.spelling == "shape") {
    return size_of(a.name, e.parts.size() == 2 ? std::stoul(e.parts[1].spelling) : 0, checks);
  }
  std::string product = e.spelling == "nbytes" ? "(int64_t)" + item_size(a) : "1"; // size, nbytes
  for (size_t d = 0; d < a.dims.size(); d++) {
    std::string size = size_of(a.name, d, checks);
    product = checks ? "dynd_multiply(" + product + ", " + size + ", &dynd_wrong)" : product + " * " + size;
  }
  return checks ? product : "(" + product + ")";
}

std::string c_expressions::measured(const std::string &name) const {
  for (const argument &a : v_.arguments) {
    for (size_t d = 0; a.is_array() && a.operand >= 0 && d < a.dims.size(); d++) {
      if (a.dims[d].is_name(name)) {
        return a.name + "_size[" + std::to_string(d) + "]";
      }
    }
  }
  return "";
}

bool c_expressions::is_size(const expression &e) const {
  if (e.kind == expression::name) {
    const argument *a = v_.find(e.spelling);
    bool integer = a && (a->element.rfind("int", 0) == 0 || a->element.rfind("uint", 0) == 0);
    return a ? integer && !a->is_array() : !measured(e.spelling).empty();
  }
  if (e.kind == expression::call && is_array_function(e.spelling)) {
    return true;
  }
  bool known = e.kind == expression::integer || e.kind == expression::conditional || e.kind == expression::binary ||
               (e.kind == expression::unary && (e.spelling == "-" || e.spelling == "!")) ||
               (e.kind == expression::call && (e.spelling == "min" || e.spelling == "max"));
  return known && std::all_of(e.parts.begin(), e.parts.end(), [&](const expression &p) { return is_size(p); });
}

std::string c_expressions::plain(const expression &e) const {
  auto inside = [&](size_t i) { return plain(e.parts[i]); };
  switch (e.kind) {
  case expression::name: {
    std::string size = v_.find(e.spelling) ? "" : measured(e.spelling);
    return size.empty() ? e.spelling : size;
  }
  case expression::unary:
    return e.spelling + "(" + inside(0) + ")";
  case expression::cast:
    return "(" + e.spelling + ")(" + inside(0) + ")";
  case expression::binary:
    return "(" + inside(0) + " " + e.spelling + " " + inside(1) + ")";
  case expression::conditional:
    return "(" + inside(0) + " ? " + inside(1) + " : " + inside(2) + ")";
  case expression::call: {
    if (is_array_function(e.spelling)) {
      return of_array(e, false);
    }
    if (e.spelling == "min" || e.spelling == "max") {
      std::string made = inside(0), sign = e.spelling == "min" ? " < " : " > ";
      for (size_t i = 1; i < e.parts.size(); i++) {
        made = "((" + made + ")" + sign + "(" + inside(i) + ") ? (" + made + ") : (" + inside(i) + "))";
      }
      return made;
    }
    std::vector<std::string> all;
    for (size_t i = 0; i < e.parts.size(); i++) {
      all.push_back(inside(i));
    }
    return e.spelling + "(" + joined(all, ", ") + ")";
  }
  default:
    return e.spelling;
  }
}

std::string c_expressions::checked_binary(const expression &e) const {
  static const std::map<std::string, std::string> functions = {
      {"+", "dynd_add"},    {"-", "dynd_subtract"},    {"*", "dynd_multiply"},    {"/", "dynd_divide"},
      {"%", "dynd_modulo"}, {"<<", "dynd_shift_left"}, {">>", "dynd_shift_right"}};
  std::string left = checked(e.parts[0]), right = checked(e.parts[1]);
  auto function = functions.find(e.spelling);
  return function == functions.end() ? "(" + left + " " + e.spelling + " " + right + ")"
                                     : function->second + "(" + left + ", " + right + ", &dynd_wrong)";
}

std::string c_expressions::checked(const expression &e) const {
  if (!is_size(e)) {
    return "DYND_SIZE(" + plain(e) + ", &dynd_wrong)";
  }
  switch (e.kind) {
  case expression::integer:
    return "INT64_C(" + e.spelling + ")";
  case expression::name: {
    const argument *a = v_.find(e.spelling);
    bool is_long = a && a->element == "uint64";
    return is_long ? "dynd_of_unsigned(" + a->name + ", &dynd_wrong)"
           : a     ? "(int64_t)" + a->name
                   : measured(e.spelling);
  }
  case expression::unary:
    return e.spelling == "-" ? "dynd_subtract(0, " + checked(e.parts[0]) + ", &dynd_wrong)" : "!" + checked(e.parts[0]);
  case expression::binary:
    return checked_binary(e);
  case expression::conditional:
    return "(" + checked(e.parts[0]) + " ? " + checked(e.parts[1]) + " : " + checked(e.parts[2]) + ")";
  default:
    break;
  }
  if (is_array_function(e.spelling)) {
    return of_array(e, true);
  }
  std::string made = checked(e.parts[0]);
  for (size_t i = 1; i < e.parts.size(); i++) {
    made = "dynd_" + e.spelling + "(" + made + ", " + checked(e.parts[i]) + ")";
  }
  return made;
}

} // namespace kernelgen

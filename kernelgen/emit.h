// From the model to the source of a plug-in, in C.
//
// What is generated sees dynd/abi/ only. For each overload there is a function for one outer element, in which a person
// can read what happens to each argument, and a loop that calls it.
#pragma once

#include "kernelgen/model.h"

namespace kernelgen {

std::string emit(const module_model &model);

// ---- the parts of it
// ---------------------------------------------------------------------------------------------------

/// Lines of C, indented.
class writer {
public:
  void line(const std::string &text);
  void open(const std::string &text); ///< text and `{`
  void otherwise();                   ///< `} else {`
  void close(const std::string &after = "");
  void blank() { text_ += "\n"; }
  void raw(const std::string &text) { text_ += text; }
  writer inside() const; ///< an empty one, as far indented
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  int depth_ = 0;
};

/// What `emit` writes, and before it the variable that checks of sizes set, where there are any.
void emit_with_checks(writer &out, const std::function<void(writer &)> &emit);

/// Whether the overload has neither arrays nor anything that is written: then its loop is one over numbers.
bool is_scalar(const kernel &k, const overload &o);

/// How the expressions of a variant are written in C.
class c_expressions {
public:
  c_expressions(const variant &v) : v_(v) {}
  /// As a value of C.
  std::string plain(const expression &e) const;
  /// As a size: 64 bits, with `dynd_wrong` set where it overflows.
  std::string checked(const expression &e) const;
  /// Whether it is made of integers and sizes alone.
  bool is_size(const expression &e) const;

private:
  std::string size_of(const std::string &name, size_t axis, bool checks) const;
  std::string of_array(const expression &e, bool checks) const;
  std::string measured(const std::string &name) const; ///< where a size that is no argument is, or nothing
  std::string checked_binary(const expression &e) const;
  const variant &v_;
};

/// The functions of one overload.
void emit_overload(writer &out, const kernel &k, const overload &o);

/// The kernel that says the sizes of results, where no operand has them.
void emit_sizes(writer &out, const kernel &k, const overload &o);
bool has_computed_sizes(const overload &o);

/// Sizes and strides of operands, then values, in the order in which they need each other; checks of sizes.
void emit_values(writer &out, const variant &v, bool scalar_loop);
/// Where the strides of an operand begin among those of the kernel; the kernel for sizes has results without any.
size_t stride_of_operand(const variant &v, const argument &wanted, bool is_main);

/// The statements of the function for one outer element.
void emit_body(writer &out, const kernel &k, const overload &o, const variant &v);
std::string intent_text(const argument &a);

int count_results(const variant &v);
/// Where the value of an element is that begins at `place`: behind the byte that says whether there is one.
std::string value_in(const argument &a, const std::string &place);
/// Whether the function gets memory without gaps although its variant takes strides: a result, or a copy of an input.
bool has_dense_strides(const variant &v, const argument &a);
/// The variable with the strides of an operand.
std::string given_stride(const variant &v, const argument &a);
/// The sizes of an array of the signature, as the values of an array of C.
std::string whole_sizes_text(const argument &a);
/// The same as the function gets them: without what is left out of rows.
std::string sizes_text(const variant &v, const argument &a);
std::string item_size(const argument &a);
/// The type of the variable that has a value: of a long double that is converted, another than in memory.
std::string variable_type(const argument &a);

} // namespace kernelgen

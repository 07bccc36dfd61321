#include "dynd/type/default_text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace dynd {
namespace {

class default_reader {
public:
  default_reader(lexer &tokens, const token &equals) : tokens_(tokens), equals_(equals) {}

  /// The canonical text of the value that follows.
  std::string read(const type_data *type) {
    if (type->kind == type_kind::option) {
      for (const char *none : {"None", "none", "NA", "null"})
        if (tokens_.peek().is_name(none))
          return tokens_.take(), "None";
      type = type->element;
    }
    first_ = tokens_.take();
    if (type->kind == type_kind::string) {
      if (first_.kind != token_kind::quoted)
        refuse(type);
      std::string text = unquoted(tokens_, first_);
      if (text.find('\0') != text.npos)
        tokens_.fail_at(first_, "the default has a zero byte, and a kernel gets text that ends with one");
      return quoted_text(text);
    }
    if (type->kind != type_kind::scalar)
      tokens_.fail_at(equals_, std::string("a parameter of type ") + type->text +
                                   " has no default: only bools, numbers and strings do");
    switch (scalar_kind[size_t(type->scalar)]) {
    case number_kind::boolean:
      return read_bool(type);
    case number_kind::signed_integer:
    case number_kind::unsigned_integer:
      return read_integer(type);
    default:
      return read_float(type);
    }
  }

private:
  std::string read_bool(const type_data *type) {
    if (first_.is_name("True") || first_.is_name("true"))
      return "True";
    if (!first_.is_name("False") && !first_.is_name("false"))
      refuse(type);
    return "False";
  }

  std::string read_integer(const type_data *type) {
    int bits = 8 * scalar_size[size_t(type->scalar)];
    if (first_.kind != token_kind::number)
      refuse(type);
    if (scalar_kind[size_t(type->scalar)] == number_kind::unsigned_integer && first_.text[0] != '-')
      return read_in_range<uint64_t>(type, 0, bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1);
    bool is_signed = scalar_kind[size_t(type->scalar)] == number_kind::signed_integer;
    int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
    return read_in_range<int64_t>(type, is_signed ? -largest - 1 : 0, largest);
  }

  template <class T> std::string read_in_range(const type_data *type, T smallest, T largest) {
    T value = 0;
    const char *end = first_.text.data() + first_.text.size();
    auto [stopped, status] = std::from_chars(first_.text.data(), end, value);
    if (status == std::errc::result_out_of_range || (stopped == end && (value < smallest || value > largest)))
      refuse_large(type);
    if (stopped != end)
      refuse(type);
    return std::to_string(value);
  }

  std::string read_float(const type_data *type) {
    bool negative = first_.is("-");
    token number = negative ? tokens_.take() : first_;
    if (number.is_name("inf") || (number.is_name("nan") && !negative))
      return (negative ? "-" : "") + std::string(number.text);
    double value = 0;
    const char *end = number.text.data() + number.text.size();
    if (negative || number.kind != token_kind::number)
      refuse(type);
    auto [stopped, status] = std::from_chars(number.text.data(), end, value);
    bool beyond = status == std::errc::result_out_of_range;
    if (beyond && is_below_range(number.text))
      value = number.text[0] == '-' ? -0.0 : 0.0; // as arrays read it
    else if (beyond || stopped != end || !is_finite_as(type->scalar, value))
      refuse_large(type);
    char text[32];
    std::string made(text, std::to_chars(text, text + sizeof(text), value).ptr);
    return made.find_first_of(".e") == made.npos ? made + ".0" : made;
  }

  /// What is this large or larger is rounded to infinity.
  static bool is_finite_as(scalar_id scalar, double value) {
    bool is_complex = scalar_kind[size_t(scalar)] == number_kind::complex;
    int bytes = scalar_size[size_t(scalar)] / (is_complex ? 2 : 1);
    return bytes == 8 || std::abs(value) < (bytes == 4 ? 0x1.ffffffp127 : 65520.0);
  }

  [[noreturn]] void refuse_large(const type_data *type) {
    tokens_.fail_at(first_, "the default " + std::string(first_.text) + " does not fit in " + type->text,
                    error_kind::overflow);
  }

  [[noreturn]] void refuse(const type_data *type) {
    tokens_.fail_at(first_, "expected a value of type " + std::string(type->text) + ", found " + describe(first_));
  }

  lexer &tokens_;
  token equals_, first_{};
};

} // namespace

std::string read_default_text(lexer &tokens, const token &equals, const type_data *type) {
  return default_reader(tokens, equals).read(type);
}

} // namespace dynd

#include "dynd/ops/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "dynd/ops/isa.h"
#include "dynd/type/lexer.h"
#include "dynd/type/type.h"

namespace dynd {

// ---- to text --------------------------------------------------------------------------------------------------------

namespace {

// The shortest text that reads back as the same value, with a point or an exponent, as Python prints it.
template <class T> void append_floating(std::string &text, T value) {
  if (std::isnan(value)) {
    text += "nan";
    return;
  }
  if (std::isinf(value)) {
    text += value < 0 ? "-inf" : "inf";
    return;
  }
  char digits[64];
  T size = std::fabs(value);
  bool scientific = size != 0 && (size < T(1e-4) || size >= T(1e16));
  auto end = std::to_chars(digits, digits + sizeof(digits), value,
                           scientific ? std::chars_format::scientific : std::chars_format::fixed)
                 .ptr;
  text.append(digits, end);
  if (!scientific && !std::memchr(digits, '.', size_t(end - digits))) {
    text += ".0";
  }
}

// The shortest decimal that reads back as the same float16: one of at most five digits does. It is the nearest of its
// length, or, at powers of two, from where more numbers are rounded down to than up, the next one.
void append_float16(std::string &text, const char *value) {
  auto convert = [](scalar_id to, scalar_id from, void *dst, const void *src) {
    isa().convert(to, from)(dst, src, nullptr, nullptr, 1, nullptr);
  };
  double number;
  convert(scalar_id::float64, scalar_id::float16, &number, value);
  for (int digits = 0; digits < 5 && std::isfinite(number); digits++) {
    for (double near : {number, number * (1 + 0x1p-12)}) {
      char decimal[32];
      auto end = std::to_chars(decimal, decimal + sizeof(decimal), near, std::chars_format::scientific, digits).ptr;
      double shorter;
      std::from_chars(decimal, end, shorter);
      float16 back;
      convert(scalar_id::float16, scalar_id::float64, &back, &shorter);
      if (std::memcmp(&back, value, sizeof(back)) == 0) {
        return append_floating(text, shorter);
      }
    }
  }
  append_floating(text, number); // infinite or NaN
}

// As Python prints it: whole components without a point, and no real one that is +0.
template <class T> void append_complex(std::string &text, complex_of<T> value) {
  auto append = [&](T component) {
    append_floating(text, component);
    if (text.ends_with(".0")) {
      text.resize(text.size() - 2);
    }
  };
  if (value.real == 0 && !std::signbit(value.real)) {
    append(value.imag);
    text += 'j';
    return;
  }
  text += '(';
  append(value.real);
  text += std::signbit(value.imag) && !std::isnan(value.imag) ? "" : "+";
  append(value.imag);
  text += "j)";
}

} // namespace

void append_scalar(std::string &text, scalar_id scalar, const char *value) {
  auto read = [&]<class T>(T) {
    T result;
    std::memcpy(&result, value, sizeof(T));
    return result;
  };
  switch (scalar) {
  case scalar_id::bool_:
    text += *value ? "True" : "False";
    return;
  case scalar_id::float16:
    return append_float16(text, value);
  case scalar_id::complex64:
    return append_complex(text, read(complex_of<float>()));
  case scalar_id::complex128:
    return append_complex(text, read(complex_of<double>()));
  case scalar_id::float32:
    return append_floating(text, read(float()));
  case scalar_id::float64:
    return append_floating(text, read(double()));
#define DYND_INTEGER(id, ctype)                                                                                        \
  case scalar_id::id:                                                                                                  \
    text += std::to_string(read(ctype()));                                                                             \
    return;
    DYND_INTEGER(int8, int8_t)
    DYND_INTEGER(int16, int16_t)
    DYND_INTEGER(int32, int32_t)
    DYND_INTEGER(int64, int64_t)
    DYND_INTEGER(uint8, uint8_t)
    DYND_INTEGER(uint16, uint16_t)
    DYND_INTEGER(uint32, uint32_t)
    DYND_INTEGER(uint64, uint64_t)
#undef DYND_INTEGER
  }
}

// ---- from text ------------------------------------------------------------------------------------------------------

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  bool same = text.size() == lower.size();
  for (size_t i = 0; same && i < text.size(); i++) {
    same = (text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]) == lower[i];
  }
  return same;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (equals_ignoring_case(text, word)) {
      return true;
    }
  }
  return false;
}

// What a type holds of a number that is out of its range: infinity or zero, or the last bits of an integer.
template <class T> T out_of_range(std::string_view number) {
  bool negative = number.front() == '-';
  if constexpr (std::is_floating_point_v<T>) {
    T size = is_below_range(number) ? T(0) : std::numeric_limits<T>::infinity();
    return negative ? -size : size;
  } else {
    uint64_t bits = 0;
    for (char digit : number.substr(negative)) {
      bits = 10 * bits + uint64_t(digit - '0');
    }
    return T(negative ? -bits : bits);
  }
}

// Under nocheck a text that cannot be read gives the number that it begins with, else zero.
template <class T> parsed parse_number(std::string_view text, T &value, bool checked) {
  value = 0;
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '+') {
    digits.remove_prefix(1);
    if (!digits.empty() && digits.front() == '-') {
      return checked ? parsed::not_a_value : parsed::good;
    }
  }
  const char *end = digits.data() + digits.size();
  std::from_chars_result read = std::from_chars(digits.data(), end, value);
  if (checked && (read.ec == std::errc::invalid_argument || read.ptr != end)) {
    return parsed::not_a_value;
  }
  if (read.ec == std::errc::result_out_of_range) {
    value = out_of_range<T>({digits.data(), size_t(read.ptr - digits.data())});
    bool tiny = std::is_floating_point_v<T> && value == 0;
    return checked && !tiny ? parsed::too_large : parsed::good;
  }
  return parsed::good;
}

parsed parse_integer(std::string_view text, scalar_id to, bool checked, char *value) {
  parsed result;
  size_t size = scalar_size[size_t(to)];
  if (is_signed_integer(to)) {
    int64_t wide;
    result = parse_number(text, wide, checked);
    int64_t limit = size == 8 ? INT64_MAX : (int64_t(1) << (8 * size - 1)) - 1;
    if (checked && result == parsed::good && (wide > limit || wide < -limit - 1)) {
      result = parsed::too_large;
    }
    std::memcpy(value, &wide, size); // the low bytes: little-endian, and wrapping
  } else {
    uint64_t wide;
    bool negative = text.starts_with('-') && !text.starts_with("-+");
    result = parse_number(negative ? text.substr(1) : text, wide, checked);
    uint64_t limit = size == 8 ? UINT64_MAX : (uint64_t(1) << (8 * size)) - 1;
    if (checked && result == parsed::good && (wide > limit || (negative && wide != 0))) {
      result = parsed::too_large;
    }
    wide = negative ? -wide : wide;
    std::memcpy(value, &wide, size);
  }
  return result;
}

// One number of a floating-point type of that many bytes.
parsed parse_floating(std::string_view text, size_t size, bool checked, char *value) {
  if (size == sizeof(double)) {
    double number;
    parsed result = parse_number(text, number, checked);
    std::memcpy(value, &number, sizeof(number));
    return result;
  }
  float number;
  parsed result = parse_number(text, number, checked);
  std::memcpy(value, &number, sizeof(number));
  return result;
}

void negate_floating(char *value, size_t size) { value[size - 1] ^= char(0x80); } // the sign is the last bit

// "1.5", "2j", "1.5-2j", "(1.5-2j)", and as messages have it "(1.5 + 2j)", "(1.5 + -2j)".
parsed parse_complex(std::string_view text, size_t size, bool checked, char *value) {
  std::memset(value, 0, 2 * size);
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    text = trimmed(text.substr(1, text.size() - 2));
  }
  if (text.empty() || (text.back() != 'j' && text.back() != 'J')) {
    return parse_floating(text, size, checked, value);
  }
  text.remove_suffix(1);
  size_t sign = text.size();
  for (size_t i = 1; i < text.size(); i++) { // the last sign that does not belong to an exponent
    bool exponent = text[i - 1] == 'e' || text[i - 1] == 'E';
    sign = (text[i] == '+' || text[i] == '-') && !exponent ? i : sign;
  }
  if (sign == text.size()) {
    return parse_floating(text, size, checked, value + size);
  }
  bool negative = text[sign] == '-';
  std::string_view before = trimmed(text.substr(0, sign)), behind = trimmed(text.substr(sign + 1));
  if (negative && before.ends_with('+')) {
    before = trimmed(before.substr(0, before.size() - 1));
  }
  parsed real = parse_floating(before, size, checked, value);
  parsed imaginary = parse_floating(behind, size, checked, value + size);
  if (negative) {
    negate_floating(value + size, size);
  }
  return real == parsed::good ? imaginary : real;
}

} // namespace

parsed parse_scalar(std::string_view text, scalar_id to, error_mode parse_mode, char *value) {
  text = trimmed(text);
  bool checked = parse_mode != error_mode::nocheck;
  size_t size = scalar_size[size_t(to)];
  if (to == scalar_id::bool_) {
    bool no = is_one_of(text, {"false", "off", "no", "f", "n", "0"}), nothing = text.empty();
    bool yes = is_one_of(text, {"true", "on", "yes", "t", "y", "1"});
    *value = checked ? yes : !no && !nothing;
    return yes || no || !checked ? parsed::good : parsed::not_a_value;
  }
  if (component_count(to) == 2) {
    return parse_complex(text, size / 2, checked, value);
  }
  if (is_integer(to)) {
    return parse_integer(text, to, checked, value);
  }
  if (size >= sizeof(float)) {
    return parse_floating(text, size, checked, value);
  }
  double number; // a small floating-point type
  parsed result = parse_number(text, number, checked);
  error_mode mode = checked ? error_mode::overflow : error_mode::nocheck;
  batch_fn convert = isa().convert_checked(mode, to, scalar_id::float64);
  bool overflow = convert(value, &number, nullptr, nullptr, 1, nullptr) != 0;
  return result == parsed::good && overflow ? parsed::too_large : result;
}

} // namespace dynd

#include "dynd/ops/refusal.h"

#include <cstdio>

#include "dynd/ops/isa.h"
#include "dynd/type/error_mode.h"
#include "dynd/type/type.h"

namespace dynd {

namespace {

template <class T> T value_as(scalar_id to, scalar_id from, const char *value) {
  T result;
  isa().convert(to, from)(&result, value, nullptr, nullptr, 1, nullptr);
  return result;
}

// As a C++ stream prints it: six digits of a floating-point number.
std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return number != number ? "nan" : text;
}

std::string value_text(scalar_id type, const char *value) {
  if (is_complex(type)) {
    auto number = value_as<complex_of<double>>(scalar_id::complex128, type, value);
    return "(" + number_text(number.real) + " + " + number_text(number.imag) + "j)";
  }
  if (is_floating(type)) {
    return number_text(value_as<double>(scalar_id::float64, type, value));
  }
  return type == scalar_id::uint64 ? std::to_string(value_as<uint64_t>(scalar_id::uint64, type, value))
                                   : std::to_string(value_as<int64_t>(scalar_id::int64, type, value));
}

// In messages a complex type is named by its components.
std::string type_text(scalar_id type) {
  return is_complex(type) ? std::string("complex[") + scalar_name[size_t(real_type(type))] + "]"
                          : scalar_name[size_t(type)];
}

bool is_refused(error_mode mode, scalar_id to, scalar_id from, const char *value) {
  alignas(8) char result[max_scalar_size];
  batch_fn convert = isa().convert_checked(mode, to, from);
  return convert(result, value, nullptr, nullptr, 1, nullptr) != 0;
}

} // namespace

refusal why_refused(scalar_id to, scalar_id from, const char *value) {
  std::string what =
      " while assigning " + type_text(from) + " value " + value_text(from, value) + " to " + type_text(to);
  if (is_complex(from) && !is_complex(to) && to != scalar_id::bool_) {
    auto number = value_as<complex_of<double>>(scalar_id::complex128, from, value);
    if (!(number.imag == 0)) {
      return {error_kind::value, "loss of imaginary component" + what};
    }
  }
  if (is_refused(error_mode::overflow, to, from, value)) {
    return {error_kind::overflow, "overflow" + what};
  }
  if (is_refused(error_mode::fractional, to, from, value)) {
    return {error_kind::value, "fractional part lost" + what};
  }
  if (is_floating(from) || is_complex(from)) {
    return {error_kind::value, "inexact precision loss" + what};
  }
  alignas(8) char result[max_scalar_size];
  isa().convert(to, from)(result, value, nullptr, nullptr, 1, nullptr);
  return {error_kind::value, "inexact value" + what + " value " + value_text(to, result)};
}

} // namespace dynd

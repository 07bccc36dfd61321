#include "dynd/kernel/conversion.h"

#include <cstdio>

#include "dynd/type/type.h"

namespace dynd {

namespace {

template <class T> T value_as(scalar_id to, scalar_id from, const char *value) {
  T result;
  level().convert[size_t(to)][size_t(from)](&result, value, nullptr, nullptr, 1, nullptr);
  return result;
}

// As a C++ stream prints it: six digits of a floating-point number.
std::string value_text(scalar_id type, const char *value) {
  if (is_floating(type)) {
    double number = value_as<double>(scalar_id::float64, type, value);
    char text[32];
    std::snprintf(text, sizeof(text), "%g", number);
    return number != number ? "nan" : text;
  }
  return type == scalar_id::uint64 ? std::to_string(value_as<uint64_t>(scalar_id::uint64, type, value))
                                   : std::to_string(value_as<int64_t>(scalar_id::int64, type, value));
}

bool is_refused(error_mode mode, scalar_id to, scalar_id from, const char *value) {
  alignas(8) char result[8];
  block_fn convert = level().convert_checked[size_t(mode)][size_t(to)][size_t(from)];
  return convert(result, value, nullptr, nullptr, 1, nullptr) != 0;
}

} // namespace

refusal why_refused(scalar_id to, scalar_id from, const char *value) {
  std::string what = std::string(" while assigning ") + scalar_name[size_t(from)] + " value " +
                     value_text(from, value) + " to " + scalar_name[size_t(to)];
  if (is_refused(error_mode::overflow, to, from, value)) {
    return {error_kind::overflow, "overflow" + what};
  }
  if (is_refused(error_mode::fractional, to, from, value)) {
    return {error_kind::value, "fractional part lost" + what};
  }
  if (is_floating(from)) {
    return {error_kind::value, "inexact precision loss" + what};
  }
  alignas(8) char result[8];
  level().convert[size_t(to)][size_t(from)](result, value, nullptr, nullptr, 1, nullptr);
  return {error_kind::value, "inexact value" + what + " value " + value_text(to, result)};
}

} // namespace dynd

// Printing: values as nested lists, as the seeds print them. Long dimensions are cut short in the middle.
#include <cmath>
#include <cstdio>
#include <cstring>

#include <charconv>

#include "dynd/array/array.h"
#include "dynd/array/rows.h"
#include "dynd/ops/level.h"

namespace dynd::nd {

namespace {

constexpr intptr_t print_all_up_to = 1000; // elements
constexpr intptr_t edge = 3;

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
    level().convert[size_t(to)][size_t(from)](dst, src, nullptr, nullptr, 1, nullptr);
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

void append_values(std::string &text, const array_block &block, int axis, char *const *at, bool cut) {
  if (axis == block.ndim) {
    append_scalar(text, block.scalar(), at[block.nstreams - 1]);
    return;
  }
  dimension_walk dimension(block, axis, at);
  int64_t size = dimension.size();
  text += '[';
  char *inner[max_ndim + 1];
  for (int64_t i = 0; i < size; i++) {
    text += i ? ", " : "";
    if (cut && size > 2 * edge && i == edge) {
      text += "...";
      i = size - edge - 1;
      continue;
    }
    dimension.enter(i, inner);
    append_values(text, block, axis + 1, inner, cut);
  }
  text += ']';
}

} // namespace

std::string values_text_at(const array_block &block, int axis, char *const *stream) {
  std::string text;
  append_values(text, block, axis, stream, false);
  return text;
}

std::string values_text(const array &a) {
  array_block &block = *a.eval().get();
  char *at[max_ndim + 1];
  for (int s = 0; s < block.nstreams; s++) {
    at[s] = block.streams()[s].address;
  }
  std::string text;
  append_values(text, block, 0, at, a.element_count() > print_all_up_to);
  return text;
}

std::string array::str() const {
  return "nd.array(" + values_text(*this) + ", type=\"" + std::string(type().str()) + "\")";
}

} // namespace dynd::nd

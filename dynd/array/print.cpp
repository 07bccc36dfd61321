// Printing: values as nested lists, as the seeds print them. Long dimensions are cut short in the middle.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "dynd/array/array.h"
#include "dynd/array/cursor.h"
#include "dynd/ops/isa.h"

namespace dynd::nd {

namespace {

constexpr intptr_t print_all_up_to = 1000; // elements, and rows without any
constexpr intptr_t print_at_most = 10000;  // of an array that is cut short and has many dimensions
constexpr intptr_t edge = 3;
constexpr size_t line_length = 400; // characters of a part, as traces show it, before it is cut short

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

namespace {

// A byte that begins or goes on as UTF-8 is left as it is.
void append_quoted(std::string &text, std::string_view value, bool is_text) {
  text += is_text ? "\"" : "b\"";
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_text)) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      text += escape;
    } else {
      text += c;
    }
  }
  text += '"';
}

/// What is printed before the printer stops.
struct print_limit {
  size_t characters = SIZE_MAX;
  intptr_t elements = INTPTR_MAX; ///< of dimensions that have no dimension below; an empty row counts as one
};

/// The values at a place of an array. Past the limit "..." is printed for what is left.
class value_printer {
public:
  value_printer(std::string &text, bool cut, print_limit most) : text_(text), cut_(cut), most_(most) {}

  bool reached_limit() const { return text_.size() > most_.characters || elements_ > most_.elements; }

  void print(const cursor &at) {
    switch (at.kind()) {
    case type_kind::scalar:
    case type_kind::byteswap: {
      char swapped[max_scalar_size];
      return append_scalar(text_, at.scalar(), at.value(swapped));
    }
    case type_kind::string:
    case type_kind::bytes:
      return append_quoted(text_, at.text(), at.kind() == type_kind::string);
    case type_kind::option:
      return at.is_there() ? print(at.inside()) : print_nothing();
    case type_kind::pointer: {
      stream_room room;
      return at.is_null() ? print_nothing() : print(at.target(room));
    }
    case type_kind::tuple:
    case type_kind::struct_:
      return print_fields(at);
    default:
      return print_dimension(at);
    }
  }

private:
  void print_nothing() { text_ += "None"; }

  void print_fields(const cursor &at) {
    const type_data *t = at.part().type;
    bool named = t->kind == type_kind::struct_;
    text_ += named ? "{" : "(";
    for (int i = 0; i < t->nfields; i++) {
      text_ += i ? ", " : "";
      if (named) {
        append_quoted(text_, t->fields[i].name, true);
        text_ += ": ";
      }
      print(at.field(i));
    }
    text_ += named ? "}" : t->nfields == 1 ? ",)" : ")";
  }

  void print_dimension(const cursor &at) {
    dimension row(at);
    text_ += '[';
    elements_ += row.size() == 0;
    bool innermost = !row.element().is_dim();
    stream_room room;
    for (int64_t i = 0; i < row.size(); i++) {
      text_ += i ? ", " : "";
      if (reached_limit()) {
        text_ += "...";
        break;
      }
      if (cut_ && row.size() > 2 * edge && i == edge) {
        text_ += "...";
        i = row.size() - edge - 1;
        continue;
      }
      elements_ += innermost;
      print(row.enter(i, room));
    }
    text_ += ']';
  }

  std::string &text_;
  bool cut_;
  print_limit most_;
  intptr_t elements_ = 0; // printed so far
};

/// All of it, or cut short where that is more than the limit.
std::string limited_text(const cursor &at, print_limit most) {
  std::string text;
  value_printer whole(text, false, most);
  whole.print(at);
  if (whole.reached_limit()) {
    text.clear();
    value_printer(text, true, {.elements = print_at_most}).print(at);
  }
  return text;
}

} // namespace

std::string values_text_at(const array_block &block, int axis, char *const *stream) {
  return values_text_at(block, part_at(block.type, axis), stream);
}

std::string values_text_at(const array_block &block, const type_part &part, char *const *stream) {
  return limited_text({block, part, stream + part.stream}, {.characters = line_length});
}

std::string values_text(const array &a) {
  stream_room room;
  return limited_text({*a.eval().get(), room}, {.elements = print_all_up_to});
}

std::string array::str() const {
  // As Python reads it: names in the type may be quoted, and escaped.
  std::string_view type_text = type().str();
  char quote = type_text.find('"') == type_text.npos ? '"' : '\'';
  std::string text = "nd.array(" + values_text(*this) + ", type=" + quote;
  for (char c : type_text) {
    text += c == quote || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return text + quote + ")";
}

} // namespace dynd::nd

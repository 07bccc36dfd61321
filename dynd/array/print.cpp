// Printing: values as nested lists, as the seeds print them. Long dimensions are cut short in the middle.
#include <algorithm>
#include <cstdio>

#include "dynd/array/array.h"
#include "dynd/array/cursor.h"
#include "dynd/ops/parse.h"

namespace dynd::nd {

namespace {

constexpr intptr_t print_all_up_to = 1000; // elements, and rows without any
constexpr intptr_t print_at_most = 10000;  // of an array that is cut short and has many dimensions
constexpr intptr_t edge = 3;
constexpr size_t line_length = 400; // characters of a part, as traces show it, before it is cut short

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
    case type_kind::fixed_string:
    case type_kind::fixed_bytes:
      return append_quoted(text_, at.text(), is_string(at.kind()));
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
  type_part part = part_at(block.type, axis);
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

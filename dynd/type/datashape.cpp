// The parser: a lexer of one token ahead, a recursive descent with one function for each rule of the grammar in
// datashape.h, and the error text. Nothing is interned before the whole text was understood.
#include "dynd/type/datashape.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/type/utf8.h"

namespace dynd {
namespace {

static_assert(sizeof(intptr_t) == sizeof(int64_t), "a size in a datashape is an int64");

// ---------------------------------------------------------------------------------------------------------------------
// Names

struct scalar_alias {
  std::string_view name;
  scalar_id id;
};

constexpr scalar_alias aliases[] = {
    {"int", scalar_id::int32},
    {"real", scalar_id::float64},
    {"intptr", scalar_id::int64},
    {"complex", scalar_id::complex128},
};

std::optional<scalar_id> find_scalar(std::string_view name) {
  for (size_t i = 0; i < scalar_count; ++i)
    if (name == scalar_name[i])
      return scalar_id(i);
  for (const scalar_alias &alias : aliases)
    if (name == alias.name)
      return alias.id;
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------------------------
// Characters (ASCII, whatever the locale is)

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

struct shown_text {
  std::string text; // valid UTF-8 without control characters
  size_t columns;
};

/// One column for each character: "a\tb\0" -> {"a b\ufffd", 4}.
shown_text show(std::string_view text) {
  shown_text result{{}, 0};
  for (size_t i = 0; i < text.size(); ++result.columns) {
    size_t size = utf8_size(text.substr(i));
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (is_space(text[i]))
      result.text += ' ';
    else if (size == 0 || c < 0x20 || c == 0x7f)
      result.text += "\xef\xbf\xbd";
    else
      result.text += text.substr(i, size);
    i += size == 0 ? 1 : size;
  }
  return result;
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors

[[noreturn]] void fail_at(std::string_view text, size_t position, const std::string &message, error_kind kind) {
  std::string_view before = text.substr(0, position);
  size_t line_number = 1;
  for (char c : before)
    line_number += c == '\n';
  size_t line_begin = before.rfind('\n') + 1; // npos + 1 is 0
  std::string_view line = text.substr(line_begin, text.find('\n', position) - line_begin);
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  size_t column = show(before.substr(line_begin)).columns;
  fail(kind, "datashape: " + message + " at line " + std::to_string(line_number) + ", column " +
                 std::to_string(column + 1) + "\n" + show(line).text + "\n" + std::string(column, ' ') + "^");
}

// ---------------------------------------------------------------------------------------------------------------------
// Tokens

enum class token_kind { end, name, number, quoted, symbol };

struct token {
  token_kind kind;
  size_t position; // of the end: just past the last token, where something is missing
  std::string_view text;
};

class lexer {
public:
  explicit lexer(std::string_view text) : text_(text) { advance(); }

  std::string_view text() const { return text_; }
  const token &peek() const { return next_; }

  token take() {
    token result = next_;
    advance();
    return result;
  }

private:
  void advance() {
    size_t last_end = end_;
    skip_blank();
    size_t begin = end_;
    if (begin == text_.size()) {
      next_ = {token_kind::end, last_end, {}};
      end_ = last_end;
      return;
    }
    token_kind kind = scan();
    next_ = {kind, begin, text_.substr(begin, end_ - begin)};
  }

  void skip_blank() {
    while (end_ < text_.size() && (is_space(text_[end_]) || text_[end_] == '#')) {
      if (text_[end_] == '#')
        end_ = std::min(text_.find('\n', end_), text_.size());
      else
        ++end_;
    }
  }

  /// Moves past the token that begins here. A minus is part of the number that follows it.
  token_kind scan() {
    if (is_name_start(text_[end_])) {
      skip_while(is_name_part);
      return token_kind::name;
    }
    bool negative = text_[end_] == '-' && end_ + 1 < text_.size() && is_digit(text_[end_ + 1]);
    if (negative || is_digit(text_[end_])) {
      ++end_;
      skip_while(is_digit);
      return token_kind::number;
    }
    if (text_[end_] == '"')
      return scan_quoted();
    end_ += std::max<size_t>(utf8_size(text_.substr(end_)), 1);
    return token_kind::symbol;
  }

  /// Past the closing quote; where there is none, the opening one is a symbol that fits nowhere.
  token_kind scan_quoted() {
    size_t begin = end_++;
    while (end_ < text_.size() && text_[end_] != '"' && text_[end_] != '\n')
      end_ += text_[end_] == '\\' ? 2 : 1;
    if (end_ >= text_.size() || text_[end_] == '\n') {
      end_ = begin + 1;
      return token_kind::symbol;
    }
    ++end_;
    return token_kind::quoted;
  }

  void skip_while(bool (*belongs)(char)) {
    while (end_ < text_.size() && belongs(text_[end_]))
      ++end_;
  }

  std::string_view text_;
  size_t end_ = 0; // of the token in next_
  token next_{};
};

std::string describe(const token &t) {
  return t.kind == token_kind::end ? "the end of the text" : '"' + show(t.text).text + '"';
}

// ---------------------------------------------------------------------------------------------------------------------
// The grammar

class parser {
public:
  explicit parser(std::string_view text) : tokens_(text) {}

  ndt::type parse_whole_text() {
    ndt::type result = parse_type(0);
    if (tokens_.peek().kind != token_kind::end)
      fail_at_token(tokens_.peek(), "unexpected " + describe(tokens_.peek()) + " after the data type");
    return result;
  }

private:
  /// A type below `outer_ndim` dimensions.
  ndt::type parse_type(int outer_ndim) {
    depth_guard guard(*this);
    const token first = tokens_.take();
    if (first.kind == token_kind::number) {
      intptr_t size = parse_size(first);
      return ndt::make_fixed_dim(size, parse_element(first, outer_ndim));
    }
    if (first.kind == token_kind::name && first.text == "strided")
      return ndt::make_strided_dim(parse_element(first, outer_ndim));
    if (first.kind == token_kind::name && first.text == "var")
      return ndt::make_var_dim(parse_element(first, outer_ndim));
    ndt::type made = is_symbol(first, "{")   ? parse_struct()
                     : is_symbol(first, "(") ? parse_tuple()
                     : is_symbol(first, "?") ? with_place(first, ndt::make_option, parse_type(0))
                                             : parse_named(first);
    if (is_star(tokens_.peek()))
      fail_at_token(first, "data type " + describe(first) + " is not a dimension");
    return made;
  }

  ndt::type parse_struct() {
    std::vector<std::string> names;
    std::vector<ndt::type> fields;
    do {
      const token name = tokens_.take();
      if (name.kind != token_kind::name && name.kind != token_kind::quoted)
        fail_at_token(name, "expected the name of a field, found " + describe(name));
      std::string text = name.kind == token_kind::quoted ? unquoted(name) : std::string(name.text);
      if (std::find(names.begin(), names.end(), text) != names.end())
        fail_at_token(name, "two fields are named " + describe(name));
      names.push_back(std::move(text));
      check_counts(names.size(), 0); // before the next search
      expect(":", "after a field's name");
      fields.push_back(parse_type(0));
    } while (take_comma("}"));
    return ndt::make_struct(names, fields);
  }

  ndt::type parse_tuple() {
    std::vector<ndt::type> fields;
    do {
      fields.push_back(parse_type(0));
    } while (take_comma(")"));
    return ndt::make_tuple(fields);
  }

  /// After a field: true where another one follows, false past the closing bracket. A last comma is allowed.
  bool take_comma(const char *closing) {
    const token next = tokens_.take();
    if (is_symbol(next, closing))
      return false;
    if (!is_symbol(next, ","))
      fail_at_token(next, std::string("expected \",\" or \"") + closing + "\", found " + describe(next));
    if (is_symbol(tokens_.peek(), closing)) {
      tokens_.take();
      return false;
    }
    return true;
  }

  /// "name" is a scalar, string, bytes, or a type in brackets.
  ndt::type parse_named(const token &name) {
    if (name.text == "string")
      return ndt::make_string();
    if (name.text == "bytes")
      return ndt::make_bytes();
    auto make = name.text == "option"     ? ndt::make_option
                : name.text == "pointer"  ? ndt::make_pointer
                : name.text == "byteswap" ? ndt::make_byteswap
                                          : nullptr;
    if (!make)
      return parse_scalar(name);
    expect("[", "after " + describe(name));
    ndt::type element = parse_type(0);
    expect("]", "after the type in brackets");
    return with_place(name, make, element);
  }

  void expect(const char *symbol, const std::string &where) {
    const token next = tokens_.take();
    if (!is_symbol(next, symbol))
      fail_at_token(next, std::string("expected \"") + symbol + "\" " + where + ", found " + describe(next));
  }

  /// What a type refuses is said with its place in the text.
  template <class Make> ndt::type with_place(const token &t, Make make, ndt::type element) {
    try {
      return make(element);
    } catch (const error &e) {
      std::string_view message = e.what();
      message.remove_prefix(std::string_view("datashape: ").size());
      fail_at_token(t, std::string(message), e.kind());
    }
  }

  /// The reverse of field_name_text.
  std::string unquoted(const token &quoted) const {
    std::string text;
    std::string_view rest = quoted.text.substr(1, quoted.text.size() - 2);
    while (!rest.empty()) {
      if (rest[0] != '\\') {
        text += rest[0];
        rest.remove_prefix(1);
        continue;
      }
      rest.remove_prefix(1);
      if (!take_escaped(rest, text))
        fail_at_token(quoted, "unrecognized escape \"\\" + show(rest.substr(0, utf8_size(rest))).text +
                                  "\" in the name of a field");
    }
    return text;
  }

  /// What follows a backslash; false where it is no escape. A backslash is never last: it would hide the quote.
  static bool take_escaped(std::string_view &rest, std::string &text) {
    constexpr std::string_view escapes = "\"\\ntr", meanings = "\"\\\n\t\r";
    if (rest[0] == 'u')
      return take_code(rest, text);
    size_t found = escapes.find(rest[0]);
    if (found == escapes.npos)
      return false;
    text += meanings[found];
    rest.remove_prefix(1);
    return true;
  }

  /// "u00e9"; false where four hexadecimal digits do not follow, or where they are half of a surrogate pair.
  static bool take_code(std::string_view &rest, std::string &text) {
    unsigned code = 0;
    std::string_view digits = rest.substr(1, 4);
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || end != digits.data() + 4 || (code >= 0xd800 && code < 0xe000))
      return false;
    append_utf8(text, code);
    rest.remove_prefix(5);
    return true;
  }

  /// Types nest at most so deep: the parser's stack has an end.
  struct depth_guard {
    explicit depth_guard(parser &p) : p(p) {
      if (++p.depth_ > 128)
        p.fail_at_token(p.tokens_.peek(), "types nest more than 128 deep");
    }
    ~depth_guard() { --p.depth_; }
    parser &p;
  };

  intptr_t parse_size(const token &number) {
    if (number.text.front() == '-')
      fail_at_token(number, "negative dimension size " + std::string(number.text));
    intptr_t size = 0;
    auto [end, status] = std::from_chars(number.text.data(), number.text.data() + number.text.size(), size);
    if (status != std::errc())
      fail_at_token(number, "dimension size " + std::string(number.text) + " does not fit in int64",
                    error_kind::overflow);
    return size;
  }

  /// What follows a dimension: "*" and the type of its elements.
  ndt::type parse_element(const token &dimension, int outer_ndim) {
    if (outer_ndim >= max_ndim)
      fail_at_token(dimension, "more than " + std::to_string(max_ndim) + " dimensions");
    const token star = tokens_.peek();
    if (!is_star(star))
      fail_at_token(star, "expected \"*\" after dimension " + describe(dimension) + ", found " + describe(star));
    tokens_.take();
    return parse_type(outer_ndim + 1);
  }

  ndt::type parse_scalar(const token &name) {
    if (name.kind == token_kind::end || is_star(name))
      fail_at_token(name, "expected a data type, found " + describe(name));
    std::optional<scalar_id> id =
        name.text == "complex" && is_symbol(tokens_.peek(), "[") ? parse_components() : find_scalar(name.text);
    bool before_star = is_star(tokens_.peek());
    if (!id)
      fail_at_token(name, (before_star ? "unrecognized dimension " : "unrecognized data type ") + describe(name));
    return ndt::make_scalar(*id);
  }

  /// What follows "complex": "[float32]" or "[float64]".
  scalar_id parse_components() {
    tokens_.take();
    const token name = tokens_.take();
    std::optional<scalar_id> component = find_scalar(name.text);
    if (component != scalar_id::float32 && component != scalar_id::float64)
      fail_at_token(name, "the components of a complex number are float32 or float64, found " + describe(name));
    expect("]", "after " + describe(name));
    return complex_type(*component);
  }

  static bool is_symbol(const token &t, std::string_view text) {
    return t.kind == token_kind::symbol && t.text == text;
  }
  static bool is_star(const token &t) { return is_symbol(t, "*"); }

  [[noreturn]] void fail_at_token(const token &t, const std::string &message,
                                  error_kind kind = error_kind::type) const {
    fail_at(tokens_.text(), t.position, message, kind);
  }

  lexer tokens_;
  int depth_ = 0;
};

// Writes what `unquoted` reads.
void append_escaped(std::string &text, char c) {
  if (c == '"' || c == '\\') {
    text += {'\\', c};
  } else if (c == '\n' || c == '\t' || c == '\r') {
    text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
  } else if ((c >= 0 && c < 0x20) || c == 0x7f) {
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\u%04x", unsigned(c));
    text += escape;
  } else {
    text += c;
  }
}

} // namespace

std::string field_name_text(std::string_view name) {
  if (!name.empty() && is_name_start(name[0]) && std::all_of(name.begin(), name.end(), is_name_part))
    return std::string(name);
  std::string text = "\"";
  for (char c : name)
    append_escaped(text, c);
  return text + "\"";
}

ndt::type parse_datashape(std::string_view text) { return parser(text).parse_whole_text(); }

ndt::type::type(std::string_view datashape) : type(parse_datashape(datashape)) {}

} // namespace dynd

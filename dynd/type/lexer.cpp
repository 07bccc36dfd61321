#include "dynd/type/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "dynd/type/utf8.h"

namespace dynd {
namespace {

// ASCII, whatever the locale is.
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

/// "u00e9"; false where four hexadecimal digits do not follow, or where they are half of a surrogate pair.
bool take_code(std::string_view &rest, std::string &text) {
  unsigned code = 0;
  std::string_view digits = rest.substr(1, 4);
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() < 4 || end != digits.data() + 4 || (code >= 0xd800 && code < 0xe000))
    return false;
  append_utf8(text, code);
  rest.remove_prefix(5);
  return true;
}

/// What follows a backslash; false where it is no escape. A backslash is never last: it would hide the quote.
bool take_escaped(std::string_view &rest, std::string &text) {
  constexpr std::string_view escapes = "\"'\\ntr", meanings = "\"'\\\n\t\r";
  if (rest[0] == 'u')
    return take_code(rest, text);
  size_t found = escapes.find(rest[0]);
  if (found == escapes.npos)
    return false;
  text += meanings[found];
  rest.remove_prefix(1);
  return true;
}

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

void lexer::fail_at(const token &t, const std::string &message, error_kind kind) const {
  std::string_view before = text_.substr(0, t.position);
  size_t line_number = 1;
  for (char c : before)
    line_number += c == '\n';
  size_t line_begin = before.rfind('\n') + 1; // npos + 1 is 0
  std::string_view line = text_.substr(line_begin, text_.find('\n', t.position) - line_begin);
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  size_t column = show(before.substr(line_begin)).columns;
  fail(kind, "datashape: " + message + " at line " + std::to_string(line_number) + ", column " +
                 std::to_string(column + 1) + "\n" + show(line).text + "\n" + std::string(column, ' ') + "^");
}

void lexer::advance() {
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

void lexer::skip_blank() {
  while (end_ < text_.size() && (is_space(text_[end_]) || text_[end_] == '#')) {
    if (text_[end_] == '#')
      end_ = std::min(text_.find('\n', end_), text_.size());
    else
      ++end_;
  }
}

/// Moves past the token that begins here. A minus is part of the number that follows it.
token_kind lexer::scan() {
  if (is_name_start(text_[end_])) {
    skip_while(is_name_part);
    return token_kind::name;
  }
  if (is_digit(text_[end_]) || (text_[end_] == '-' && is_digit(at(end_ + 1)))) {
    scan_number();
    return token_kind::number;
  }
  if (text_[end_] == '"' || text_[end_] == '\'')
    return scan_quoted();
  for (std::string_view longer : {"...", "->"}) {
    if (text_.substr(end_, longer.size()) == longer) {
      end_ += longer.size();
      return token_kind::symbol;
    }
  }
  end_ += std::max<size_t>(utf8_size(text_.substr(end_)), 1);
  return token_kind::symbol;
}

/// "3", "-1.5e-3". A point or an "e" without a digit behind it is not part of the number.
void lexer::scan_number() {
  ++end_;
  skip_while(is_digit);
  if (at(end_) == '.' && is_digit(at(end_ + 1))) {
    ++end_;
    skip_while(is_digit);
  }
  bool sign = at(end_ + 1) == '+' || at(end_ + 1) == '-';
  if ((at(end_) == 'e' || at(end_) == 'E') && is_digit(at(end_ + 1 + sign))) {
    end_ += 1 + sign;
    skip_while(is_digit);
  }
}

/// Past the closing quote; where there is none, the opening one is a symbol that fits nowhere.
token_kind lexer::scan_quoted() {
  size_t begin = end_++;
  char quote = text_[begin];
  while (end_ < text_.size() && text_[end_] != quote && text_[end_] != '\n')
    end_ += text_[end_] == '\\' ? 2 : 1;
  if (end_ >= text_.size() || text_[end_] == '\n') {
    end_ = begin + 1;
    return token_kind::symbol;
  }
  ++end_;
  return token_kind::quoted;
}

void lexer::skip_while(bool (*belongs)(char)) {
  while (end_ < text_.size() && belongs(text_[end_]))
    ++end_;
}

std::string describe(const token &t) {
  return t.kind == token_kind::end ? "the end of the text" : '"' + show(t.text).text + '"';
}

std::string unquoted(const lexer &tokens, const token &quoted) {
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
      tokens.fail_at(quoted,
                     "unrecognized escape \"\\" + show(rest.substr(0, utf8_size(rest))).text + "\" in quoted text");
  }
  return text;
}

std::string unquoted_text(std::string_view quoted) {
  lexer tokens(quoted);
  return unquoted(tokens, tokens.peek());
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text)
    append_escaped(result, c);
  return result + "\"";
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_name_start(text[0]) && std::all_of(text.begin(), text.end(), is_name_part);
}

bool is_below_range(std::string_view number) {
  size_t e = std::min(number.find_first_of("eE"), number.size());
  std::string_view mantissa = number.substr(0, e), power = number.substr(std::min(e + 1, number.size()));
  power.remove_prefix(power.starts_with('+'));
  int exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec == std::errc::result_out_of_range) {
    return power.front() == '-';
  }
  size_t point = std::min(mantissa.find('.'), mantissa.size()), first = mantissa.find_first_of("123456789");
  int64_t leading = int64_t(point) - int64_t(first) - (first < point); // "120": 2, "1.5": 0, "0.1": -1
  return leading + exponent < 0;
}

} // namespace dynd

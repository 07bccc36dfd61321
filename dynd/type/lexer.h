// The tokens of datashape text, and errors that show their place in it. The only lexer: types, patterns and signatures
// are read with it.
#pragma once

#include <string>
#include <string_view>

#include "dynd/base/errors.h"

namespace dynd {

enum class token_kind { end, name, number, quoted, symbol };

struct token {
  token_kind kind;
  size_t position; ///< of the end: just past the last token, where something is missing
  std::string_view text;

  bool is(std::string_view symbol) const { return kind == token_kind::symbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == token_kind::name && text == name; }
};

/// One token ahead. The text outlives it.
class lexer {
public:
  explicit lexer(std::string_view text) : text_(text) { advance(); }

  const token &peek() const { return next_; }
  token take() {
    token result = next_;
    advance();
    return result;
  }

  /// An error with the message, the place, the line and a caret.
  [[noreturn]] void fail_at(const token &t, const std::string &message, error_kind kind = error_kind::type) const;

private:
  void advance();
  void skip_blank();
  token_kind scan();
  void scan_number();
  token_kind scan_quoted();
  void skip_while(bool (*belongs)(char));
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  size_t end_ = 0; // of the token in next_
  token next_{};
};

/// The token in quotes, or "the end of the text".
std::string describe(const token &t);

/// What a quoted token says, its escapes resolved; an error at the token where one is unknown.
std::string unquoted(const lexer &tokens, const token &quoted);

/// The same of text that is one quoted token.
std::string unquoted_text(std::string_view quoted);

/// In double quotes, on one line whatever it is: what `unquoted` reads.
std::string quoted_text(std::string_view text);

/// ASCII, whatever the locale is.
inline constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Whether a number that a floating-point type does not hold is too small for it rather than too large: its first digit
/// that counts is behind the point. from_chars reports both in the same way.
bool is_below_range(std::string_view number);

/// ASCII letters, digits and underscores, no digit first.
bool is_identifier(std::string_view text);

} // namespace dynd

#include "kernelgen/prototype.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace kernelgen {

namespace {

const std::set<std::string, std::less<>> type_words = {"void",    "char",   "short",    "int",   "long",    "float",
                                                       "double",  "signed", "unsigned", "_Bool", "bool",    "_Complex",
                                                       "complex", "struct", "union",    "enum",  "_Float16"};
// Words that say nothing about how a function is called from C.
const std::set<std::string, std::less<>> ignored_words = {
    "inline",    "__inline",  "__inline__", "extern",     "static",       "EXTERN",        "STATIC",
    "virtual",   "friend",    "register",   "restrict",   "__restrict",   "__restrict__",  "__cdecl",
    "__clrcall", "__stdcall", "__fastcall", "__thiscall", "__vectorcall", "__extension__", "_Noreturn"};

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class lexer {
public:
  std::vector<token> read(const std::vector<text_line> &lines) {
    for (const text_line &line : lines) {
      read_line(line);
    }
    if (in_comment_) {
      throw problem(comment_, "the comment does not end");
    }
    place last = lines.empty() ? place() : lines.back().at;
    last.column += lines.empty() ? 0 : int(lines.back().text.size());
    tokens_.push_back({token::end, "", last});
    return std::move(tokens_);
  }

private:
  void read_line(const text_line &line) {
    const std::string &text = line.text;
    for (size_t i = 0; i < text.size();) {
      place at{line.at.file, line.at.line, line.at.column + int(i)};
      if (in_comment_) {
        size_t close = text.find("*/", i);
        in_comment_ = close == text.npos;
        i = in_comment_ ? text.size() : close + 2;
      } else if (text.compare(i, 2, "/*") == 0) {
        in_comment_ = true;
        comment_ = at;
        i += 2;
      } else if (text.compare(i, 2, "//") == 0) {
        return;
      } else if (std::isspace(static_cast<unsigned char>(text[i])) || (text[i] == '\\' && i + 1 == text.size())) {
        i++;
      } else {
        i = read_token(text, i, at);
      }
    }
  }

  size_t read_token(const std::string &text, size_t i, place at) {
    size_t end = i + 1;
    token::kind_t kind = token::sign;
    if (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
      while (end < text.size() && text[end] != text[i]) {
        end += text[end] == '\\' && text[i] != '`' ? 2 : 1;
      }
      if (end >= text.size()) {
        throw problem(at, std::string("expected a second ") + text[i]);
      }
      end++;
      kind = text[i] == '\'' ? token::character : token::text;
    } else if (std::isdigit(static_cast<unsigned char>(text[i])) ||
               (text[i] == '.' && end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))) {
      bool is_hexadecimal = text[i] == '0' && end < text.size() && (text[end] == 'x' || text[end] == 'X');
      std::string_view powers = is_hexadecimal ? "pP" : "eE";
      auto in_number = [&](size_t e) {
        bool exponent = (text[e] == '+' || text[e] == '-') && powers.find(text[e - 1]) != powers.npos;
        return is_letter(text[e]) || text[e] == '.' || exponent;
      };
      while (end < text.size() && in_number(end)) {
        end++;
      }
      kind = token::number;
    } else if (is_letter(text[i])) {
      while (end < text.size() && is_letter(text[end])) {
        end++;
      }
      kind = token::name;
    } else {
      for (const char *sign : {"...", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "->"}) {
        if (text.compare(i, std::string_view(sign).size(), sign) == 0) {
          end = i + std::string_view(sign).size();
          break;
        }
      }
      while (end < text.size() && (text[end] & 0xC0) == 0x80) { // the rest of a character of UTF-8
        end++;
      }
    }
    tokens_.push_back({kind, text.substr(i, end - i), at});
    return end;
  }

  std::vector<token> tokens_;
  bool in_comment_ = false;
  place comment_;
};

class parser {
public:
  explicit parser(std::vector<token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<prototype> prototypes() {
    std::vector<prototype> all;
    while (true) {
      while (take(";")) {
      }
      if (now().kind == token::end) {
        return all;
      }
      all.push_back(read_prototype());
    }
  }

private:
  struct declarator {
    std::string name;
    place at;
    std::string before, after; ///< of the name
    int pointers = 0;
    bool const_pointer = false, grouped = false, is_function = false;
    std::vector<std::string> extents;
    std::vector<parameter> parameters;
  };

  const token &now() const { return tokens_[next_]; }
  const token &after(size_t n) const { return tokens_[std::min(next_ + n, tokens_.size() - 1)]; }
  bool is(std::string_view text) const { return now().spelling == text && now().kind != token::text; }
  bool take(std::string_view text) {
    bool found = is(text);
    next_ += found;
    return found;
  }
  void expect(std::string_view text, const char *where) {
    if (!take(text)) {
      throw problem(now().at, "expected `" + std::string(text) + "` " + where +
                                  (now().kind == token::end ? "" : ", not `" + now().spelling + "`"));
    }
  }

  // __attribute__((...)), __declspec(...), asm("..."): nothing that we need.
  bool skip_attribute() {
    static const std::set<std::string, std::less<>> words = {"__attribute__", "__declspec", "__asm__", "asm",
                                                             "__nonnull"};
    if (now().kind != token::name || !words.count(now().spelling)) {
      return false;
    }
    next_++;
    int depth = 0;
    do {
      depth += is("(");
      depth -= is(")");
    } while (now().kind != token::end && (next_++, depth > 0));
    return true;
  }

  // The words before a declarator. An unknown name is the type if no other word is; before a known one it is a macro.
  c_type read_specifiers() {
    c_type type;
    std::vector<std::string> words;
    place at = now().at;
    for (; now().kind == token::name || now().kind == token::text; next_++) {
      if (skip_attribute()) {
        next_--;
        continue;
      }
      if (now().kind == token::text) { // extern "C"
        continue;
      }
      const std::string &word = now().spelling;
      if (word == "const" || word == "__const") {
        type.is_const = true;
      } else if (word == "volatile") {
        type.is_volatile = true;
      } else if (word == "typedef") {
        throw problem(now().at, "a typedef is no prototype");
      } else if (word == "struct" || word == "union" || word == "enum") {
        if (after(1).kind != token::name) {
          throw problem(after(1).at, "expected a name after `" + word + "`");
        }
        words = {word, after(1).spelling};
        next_++;
      } else if (ignored_words.count(word)) {
        continue;
      } else if (is_type_word(word)) {
        if (!words.empty() && !is_type_word(words[0])) {
          words.clear(); // it was a macro
        }
        words.push_back(word);
      } else if (words.empty() || (!is_type_word(words[0]) && after(1).kind == token::name)) {
        words = {word}; // what was there before is a macro: MACRO type name
      } else {
        break; // the declarator's name
      }
    }
    if (words.empty()) {
      throw problem(at, "expected a type" + (now().kind == token::end ? "" : ", not `" + now().spelling + "`"));
    }
    type.base = canonical_type(words);
    return type;
  }

  std::string take_balanced(std::string_view open, std::string_view close) {
    std::string text;
    int depth = 0;
    while (now().kind != token::end) {
      depth += is(open);
      if (is(close) && depth-- == 0) {
        break;
      }
      text += (text.empty() ? "" : " ") + now().spelling;
      next_++;
    }
    return text;
  }

  void read_declarator(declarator &d) {
    while (true) {
      if (take("*") || take("&")) {
        d.pointers++;
        d.before += "*";
      } else if (take("const")) {
        d.const_pointer = true;
        d.before += "const ";
      } else if (now().kind == token::name && (is("volatile") || ignored_words.count(now().spelling))) {
        next_++;
      } else if (!skip_attribute()) {
        break;
      }
    }
    if (is("(") && (after(1).spelling == "*" || after(1).spelling == "&" ||
                    (after(1).kind == token::name && after(2).spelling == ")" && after(3).spelling == "("))) {
      next_++;
      d.before += "(";
      if (d.before.size() > 200) {
        throw problem(now().at, "the declarator is nested too deep");
      }
      read_declarator(d);
      expect(")", "after the declarator in parentheses");
      d.after += ")";
      d.grouped = d.before.find('*') != std::string::npos;
    } else if (now().kind == token::name) {
      d.name = now().spelling;
      d.at = now().at;
      next_++;
    }
    read_suffixes(d);
  }

  void read_suffixes(declarator &d) {
    while (true) {
      if (take("[")) {
        take("static");
        std::string extent = take_balanced("[", "]");
        expect("]", "after the size of an array");
        d.extents.push_back(extent);
        d.after += "[" + extent + "]";
      } else if (is("(") && !d.is_function) {
        next_++;
        d.is_function = true;
        if (d.grouped) { // of a pointer to a function the parameters are not ours
          d.after += "(" + take_balanced("(", ")") + ")";
        } else {
          d.parameters = read_parameters();
        }
        expect(")", "after the parameters");
      } else {
        return;
      }
    }
  }

  static c_type type_of(const c_type &specifiers, const declarator &d) {
    c_type type = specifiers;
    type.pointers = d.pointers + (!d.extents.empty() && !d.grouped);
    type.extents = d.extents;
    type.is_function = d.is_function && d.grouped;
    type.before = std::string(specifiers.is_const ? "const " : "") + (specifiers.is_volatile ? "volatile " : "") +
                  specifiers.base + " " + d.before;
    type.after = d.after;
    type.is_decayed = !d.extents.empty() && !d.grouped;
    if (type.is_decayed) { // T a[3] is T *a, T a[][3] is T (*a)[3]
      std::string rest = d.after.substr(d.after.find(']') + 1);
      type.before += rest.empty() ? "*" : "(*";
      type.after = rest.empty() ? "" : ")" + rest;
    }
    return type;
  }

  std::vector<parameter> read_parameters() {
    std::vector<parameter> all;
    if (is(")") || (is("void") && after(1).spelling == ")")) {
      next_ += is("void");
      return all;
    }
    do {
      if (is("...")) {
        throw problem(now().at, "a function with a variable number of arguments cannot be wrapped");
      }
      place at = now().at;
      c_type specifiers = read_specifiers();
      declarator d;
      read_declarator(d);
      if (d.is_function && !d.grouped) {
        throw problem(at, "a parameter that is a function: write it as a pointer, `(*" + d.name + ")(...)`");
      }
      std::string name = d.name.empty() ? "arg" + std::to_string(all.size()) : d.name;
      for (const parameter &other : all) {
        if (other.name == name) {
          throw problem(d.at, "two parameters are called `" + name + "`");
        }
      }
      all.push_back({name, type_of(specifiers, d), d.name.empty() ? at : d.at});
      if (is("=")) {
        throw problem(now().at,
                      "C has no default arguments; give the value in an intent list: `input: " + name + " = ...`");
      }
    } while (take(","));
    return all;
  }

  prototype read_prototype() {
    place at = now().at;
    c_type specifiers = read_specifiers();
    declarator d;
    read_declarator(d);
    if (d.name.empty() || !d.is_function || d.grouped) {
      throw problem(d.name.empty() ? at : d.at,
                    "expected the prototype of a function, `double hypot(double x, double y)`");
    }
    while (skip_attribute()) {
    }
    if (is("{")) {
      throw problem(now().at, "expected a prototype, not a function with a body; use header_code for definitions");
    }
    prototype made{d.name, {}, d.parameters, d.at};
    d.is_function = false;
    made.result = type_of(specifiers, d);
    return made;
  }

  std::vector<token> tokens_;
  size_t next_ = 0;
};

} // namespace

bool is_type_word(std::string_view word) { return type_words.count(word) > 0; }

std::string canonical_type(const std::vector<std::string> &words) {
  auto count = [&](std::string_view word) { return std::count(words.begin(), words.end(), word); };
  if (words[0] == "struct" || words[0] == "union" || words[0] == "enum" || !is_type_word(words[0])) {
    return joined(words, " ");
  }
  std::string complex = count("_Complex") || count("complex") ? " _Complex" : "";
  std::string sign = count("unsigned") ? "unsigned " : "";
  if (count("double")) {
    return (count("long") ? "long double" : "double") + complex;
  }
  for (const char *plain : {"float", "void", "_Bool", "bool", "_Float16"}) {
    if (count(plain)) {
      return std::string(plain) == "bool" ? "_Bool" : plain + complex;
    }
  }
  if (count("char")) {
    return count("signed") ? "signed char" : sign + "char";
  }
  std::string size = count("short") ? "short" : count("long") == 2 ? "long long" : count("long") ? "long" : "int";
  return complex.empty() ? sign + size : "double _Complex";
}

std::string c_type::declare(const std::string &name) const {
  return name.empty() && !before.empty() && before.back() == ' ' ? before.substr(0, before.size() - 1) + after
                                                                 : before + name + after;
}

std::string prototype::text() const {
  std::vector<std::string> all;
  for (const parameter &p : parameters) {
    all.push_back(p.type.declare(p.name));
  }
  return result.declare(name) + "(" + (all.empty() ? "void" : joined(all, ", ")) + ")";
}

std::vector<token> read_tokens(const std::vector<text_line> &lines) { return lexer().read(lines); }

std::vector<prototype> parse_prototypes(const std::vector<text_line> &lines) {
  return parser(read_tokens(lines)).prototypes();
}

} // namespace kernelgen

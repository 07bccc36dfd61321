#include "kernelgen/expression.h"

#include <algorithm>
#include <set>

namespace kernelgen {

namespace {

// Of a binary operator: larger binds tighter; -1 of anything else.
int precedence(const std::string &sign) {
  static const std::vector<std::set<std::string, std::less<>>> levels = {
      {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
      {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
  for (size_t i = 0; i < levels.size(); i++) {
    if (levels[i].count(sign)) {
      return int(i);
    }
  }
  return -1;
}

class parser {
public:
  explicit parser(const text_line &line) : tokens_(read_tokens({line})) {}

  expression whole() {
    expression e = conditional();
    finish();
    return e;
  }

  argument_text argument() {
    argument_text made;
    if (now().kind != token::name) {
      throw problem(now().at, "expected the name of an argument" + not_this());
    }
    made.name = now().spelling;
    made.at = now().at;
    next_++;
    if (take("(")) {
      made.has_dims = true;
      do {
        made.dims.push_back(conditional());
      } while (take(","));
      expect(")");
    }
    if (take("=")) {
      made.has_value = true;
      made.value = conditional();
    }
    finish();
    return made;
  }

private:
  const token &now() const { return tokens_[next_]; }
  bool is(std::string_view text) const { return now().spelling == text && now().kind != token::text; }
  bool take(std::string_view text) {
    bool found = is(text);
    next_ += found;
    return found;
  }
  std::string not_this() const { return now().kind == token::end ? "" : ", not `" + now().spelling + "`"; }
  void expect(std::string_view text) {
    if (!take(text)) {
      throw problem(now().at, "expected `" + std::string(text) + "`" + not_this());
    }
  }
  void finish() {
    if (now().kind != token::end) {
      throw problem(now().at, "unexpected `" + now().spelling + "`; C that is no expression goes in backquotes");
    }
  }

  // No config nests that deep; recursion has an end.
  struct level {
    parser &of;
    explicit level(parser &p) : of(p) {
      if (++of.depth_ > 200) {
        throw problem(of.now().at, "the expression is nested too deep");
      }
    }
    ~level() { of.depth_--; }
  };

  expression conditional() {
    level deeper(*this);
    expression e = binary(0);
    place at = now().at;
    if (!take("?")) {
      return e;
    }
    expression yes = conditional();
    expect(":");
    expression no = conditional();
    return {expression::conditional, "?", {e, yes, no}, at};
  }

  expression binary(int level) {
    expression left = level == 10 ? unary() : binary(level + 1);
    while (level < 10 && now().kind == token::sign && precedence(now().spelling) == level) {
      token sign = now();
      next_++;
      expression right = level == 9 ? unary() : binary(level + 1);
      left = {expression::binary, sign.spelling, {left, right}, sign.at};
    }
    return left;
  }

  expression unary() {
    level deeper(*this);
    token t = now();
    for (const char *sign : {"-", "+", "!", "~", "&", "*"}) {
      if (take(sign)) {
        return {expression::unary, sign, {unary()}, t.at};
      }
    }
    if (is("(") && is_type_word(tokens_[next_ + 1].spelling)) {
      next_++;
      std::string type;
      for (; now().kind == token::name || is("*"); next_++) {
        type += (type.empty() ? "" : " ") + now().spelling;
      }
      expect(")");
      return {expression::cast, type, {unary()}, t.at};
    }
    return primary();
  }

  expression primary() {
    token t = now();
    if (take("(")) {
      expression inside = conditional();
      expect(")");
      return inside;
    }
    if (t.kind == token::number) {
      next_++;
      bool whole = t.spelling.find_first_not_of("0123456789") == t.spelling.npos;
      if (whole && t.spelling.size() > 1 && t.spelling[0] == '0') {
        throw problem(t.at, "a number that begins with 0 is octal in C: write it without, or in backquotes");
      }
      return {whole ? expression::integer : expression::text, t.spelling, {}, t.at};
    }
    if (t.kind == token::text || t.kind == token::character) {
      next_++;
      bool raw = t.spelling[0] == '`';
      return {expression::text, raw ? t.spelling.substr(1, t.spelling.size() - 2) : t.spelling, {}, t.at};
    }
    if (t.kind != token::name) {
      throw problem(t.at, "expected a number, a name or `(`" + not_this());
    }
    next_++;
    if (!take("(")) {
      return {expression::name, t.spelling, {}, t.at};
    }
    expression call{expression::call, t.spelling, {}, t.at};
    while (!is(")")) {
      call.parts.push_back(conditional());
      if (!take(",")) {
        break;
      }
    }
    expect(")");
    check_call(call);
    return call;
  }

  static void check_call(const expression &call) {
    const std::string &f = call.spelling;
    if (f == "min" || f == "max") {
      if (call.parts.size() < 2) {
        throw problem(call.at, f + " takes at least two values");
      }
      return;
    }
    if (!is_array_function(f)) {
      return;
    }
    bool axis = f == "shape" || f == "stride";
    if (call.parts.size() != (axis ? 2u : 1u) || call.parts[0].kind != expression::name ||
        (axis && (call.parts[1].kind != expression::integer || call.parts[1].spelling.size() > 2))) {
      throw problem(call.at, f + (axis ? " takes an argument and the number of an axis: " + f + "(a, 0)"
                                       : " takes the name of an argument: " + f + "(a)"));
    }
  }

  std::vector<token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
};

} // namespace

std::string expression::str() const {
  auto inside = [&](size_t i) {
    const expression &part = parts[i];
    bool tighter = kind == binary && part.kind == binary && precedence(part.spelling) >= precedence(spelling) + int(i);
    bool enclosed =
        (part.kind == binary && !tighter) || part.kind == conditional || (part.kind == unary && kind == unary);
    return enclosed ? "(" + part.str() + ")" : part.str();
  };
  switch (kind) {
  case call: {
    std::vector<std::string> all;
    for (const expression &p : parts) {
      all.push_back(p.str());
    }
    return spelling + "(" + joined(all, ", ") + ")";
  }
  case unary:
    return spelling + inside(0);
  case cast:
    return "(" + spelling + ")" + inside(0);
  case binary:
    return inside(0) + " " + spelling + " " + inside(1);
  case conditional:
    return inside(0) + " ? " + inside(1) + " : " + inside(2);
  default:
    return spelling;
  }
}

expression parse_expression(const text_line &line) { return parser(line).whole(); }

argument_text parse_argument(const text_line &line) { return parser(line).argument(); }

void visit_names(const expression &e, const std::function<void(const expression &, const std::string &)> &visit) {
  if (e.kind == expression::name) {
    visit(e, "");
  } else if (e.kind == expression::call && is_array_function(e.spelling)) {
    visit(e.parts[0], e.spelling);
  } else {
    for (const expression &part : e.parts) {
      visit_names(part, visit);
    }
  }
}

namespace {

std::optional<int64_t> constant_binary(const expression &e, int64_t left, int64_t right) {
  int64_t made = 0;
  bool divides = e.spelling == "/" || e.spelling == "%";
  bool wrong = divides             ? right == 0 || (right == -1 && left == INT64_MIN)
               : e.spelling == "+" ? __builtin_add_overflow(left, right, &made)
               : e.spelling == "-" ? __builtin_sub_overflow(left, right, &made)
               : e.spelling == "*" ? __builtin_mul_overflow(left, right, &made)
                                   : false;
  if (wrong) {
    throw problem(e.at, "the value of `" + e.str() + "` is no number: it overflows, or is divided by zero");
  }
  if (divides) {
    return e.spelling == "/" ? left / right : left % right;
  }
  return std::string("+-*").find(e.spelling) == std::string::npos ? std::nullopt : std::optional(made);
}

} // namespace

std::optional<int64_t> constant(const expression &e) {
  if (e.kind == expression::integer) {
    int64_t value = 0;
    for (char c : e.spelling) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value)) {
        throw problem(e.at, "the number is too large: it has more than 64 bits");
      }
    }
    return value;
  }
  std::vector<int64_t> values;
  for (const expression &part : e.parts) {
    std::optional<int64_t> value = constant(part);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  if (e.kind == expression::unary && e.spelling == "-") {
    expression zero{expression::integer, "0", {}, e.at};
    return constant_binary({expression::binary, "-", {zero, e.parts[0]}, e.at}, 0, values[0]);
  }
  if (e.kind == expression::call && (e.spelling == "min" || e.spelling == "max")) {
    auto least = std::minmax_element(values.begin(), values.end());
    return e.spelling == "min" ? *least.first : *least.second;
  }
  return e.kind == expression::binary ? constant_binary(e, values[0], values[1]) : std::nullopt;
}

bool is_array_function(std::string_view name) {
  static const std::set<std::string, std::less<>> all = {"len",    "shape",    "ndim",  "size",
                                                         "nbytes", "itemsize", "stride"};
  return all.count(name) > 0;
}

} // namespace kernelgen

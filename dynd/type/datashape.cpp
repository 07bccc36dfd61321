// The parser: a recursive descent with one function for each rule of the grammar in datashape.h, over the tokens of
// lexer.h.
#include "dynd/type/datashape.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/type/default_text.h"
#include "dynd/type/lexer.h"

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
    {"int", scalar_id::int32},      {"real", scalar_id::float64},       {"intptr", scalar_id::int64},
    {"uintptr", scalar_id::uint64}, {"complex", scalar_id::complex128},
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

/// "Float"; also "FloatKind", and ndtypes' "Signed" and "Unsigned".
std::optional<type_family> find_family(std::string_view name) {
  if (name.size() > 4 && name.substr(name.size() - 4) == "Kind")
    name.remove_suffix(4);
  for (size_t i = 0; i < family_count; ++i)
    if (name == family_name[i])
      return type_family(i);
  return name == "Signed"     ? std::optional(type_family::integer)
         : name == "Unsigned" ? std::optional(type_family::unsigned_integer)
                              : std::nullopt;
}

/// Kinds of ndtypes that are no families here. As variables they would match anything.
bool is_unknown_kind(std::string_view name) {
  constexpr std::string_view names[] = {"FixedString",     "FixedBytes",     "Categorical",
                                        "FixedStringKind", "FixedBytesKind", "CategoricalKind"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Variables begin with a capital letter.
bool is_variable(const token &t) {
  return t.kind == token_kind::name && t.text[0] >= 'A' && t.text[0] <= 'Z' && !find_family(t.text);
}

// ---------------------------------------------------------------------------------------------------------------------
// The grammar

class parser {
public:
  explicit parser(std::string_view text) : tokens_(text) {}

  ndt::type parse_whole_text() {
    const token first = tokens_.peek();
    ndt::type result = parse_type(0);
    if (tokens_.peek().is(",") || tokens_.peek().is("->"))
      result = with_place(first, [&] { return parse_bare_signature(first, result); });
    if (tokens_.peek().kind != token_kind::end)
      tokens_.fail_at(tokens_.peek(), "unexpected " + describe(tokens_.peek()) + " after the data type");
    return result;
  }

private:
  struct parameter_list {
    std::vector<ndt::parameter> all;
    bool open = false, keywords = false;
    std::optional<token> of_signature; // the first that no tuple has
  };

  /// A type below `outer_ndim` dimensions.
  ndt::type parse_type(int outer_ndim) { return parse_type_at(tokens_.take(), outer_ndim); }

  ndt::type parse_type_at(const token &first, int outer_ndim) {
    depth_guard guard(*this);
    return with_place(first, [&] { return parse_dimension_or_element(first, outer_ndim); });
  }

  ndt::type parse_dimension_or_element(const token &first, int outer_ndim) {
    if (std::optional<ndt::type> dim = parse_dimension(first, outer_ndim))
      return *dim;
    ndt::type made = first.is("{")            ? parse_struct()
                     : first.is("(")          ? parse_parentheses()
                     : first.is("?")          ? ndt::make_option(parse_type(0))
                     : is_order_symbol(first) ? parse_ordered(first)
                                              : parse_named(first);
    if (tokens_.peek().is("*"))
      tokens_.fail_at(first, "data type " + describe(first) + " is not a dimension");
    return made;
  }

  /// Nothing where no dimension begins here.
  std::optional<ndt::type> parse_dimension(const token &first, int outer_ndim) {
    bool before_star = tokens_.peek().is("*");
    if (first.kind == token_kind::number) {
      intptr_t size = parse_size(first);
      return ndt::make_fixed_dim(size, parse_element(first, outer_ndim));
    }
    if (first.is("...") || (first.kind == token_kind::name && tokens_.peek().is("...")))
      return parse_ellipsis(first, outer_ndim);
    if (first.is_name("strided"))
      return ndt::make_strided_dim(parse_element(first, outer_ndim));
    if (first.is_name("var"))
      return ndt::make_var_dim(parse_element(first, outer_ndim));
    if (first.is_name("fixed"))
      return parse_fixed(first, outer_ndim);
    if (before_star && (is_variable(first) || is_size_name(first)))
      return ndt::make_dim_variable(first.text, parse_element(first, outer_ndim));
    return std::nullopt;
  }

  /// "...", "Dims...", "var..." or "fixed...".
  ndt::type parse_ellipsis(const token &first, int outer_ndim) {
    bool named = !first.is("...");
    if (named && !is_variable(first) && !first.is_name("var") && !first.is_name("fixed"))
      tokens_.fail_at(first, "unrecognized dimension " + describe(first));
    if (named)
      tokens_.take();
    ndt::type element = parse_element(first, outer_ndim);
    for (const type_data *t = element.get(); t->kind >= type_kind::fixed_dim; t = t->element)
      if (t->kind == type_kind::ellipsis)
        tokens_.fail_at(first, "two ellipses in one list of dimensions");
    return ndt::make_ellipsis(named ? first.text : "", element);
  }

  /// "fixed", of any size; "fixed[3]", "fixed(3)" or "fixed(shape=3)".
  ndt::type parse_fixed(const token &first, int outer_ndim) {
    bool square = tokens_.peek().is("[");
    if (!square && !tokens_.peek().is("("))
      return ndt::make_any_fixed_dim(parse_element(first, outer_ndim));
    tokens_.take();
    if (tokens_.peek().is_name("shape")) {
      tokens_.take();
      expect("=", "after \"shape\"");
    }
    const token number = tokens_.take();
    if (number.kind != token_kind::number)
      tokens_.fail_at(number, "expected a dimension size, found " + describe(number));
    intptr_t size = parse_size(number);
    expect(square ? "]" : ")", "after the dimension size");
    return ndt::make_fixed_dim(size, parse_element(first, outer_ndim));
  }

  ndt::type parse_struct() {
    std::vector<std::string> names;
    std::vector<ndt::type> fields;
    bool open = false;
    do {
      if ((open = take_open("}")))
        break;
      const token name = tokens_.take();
      if (name.kind != token_kind::name && name.kind != token_kind::quoted)
        tokens_.fail_at(name, "expected the name of a field, found " + describe(name));
      std::string text = name_of(name);
      if (std::find(names.begin(), names.end(), text) != names.end())
        tokens_.fail_at(name, "two fields are named " + describe(name));
      names.push_back(std::move(text));
      check_counts(names.size(), 0); // before the next search
      expect(":", "after a field's name");
      fields.push_back(parse_type(0));
    } while (take_comma("}"));
    return ndt::make_struct(names, fields, open);
  }

  /// ndtypes' and NumPy's orders of bytes: little, big, the machine's own, none.
  static bool is_order_symbol(const token &t) { return t.is("<") || t.is(">") || t.is("=") || t.is("|"); }

  ndt::type parse_ordered(const token &order) {
    const token name = tokens_.take();
    std::optional<scalar_id> id = name.kind == token_kind::name ? find_scalar(name.text) : std::nullopt;
    if (!id)
      tokens_.fail_at(name, "expected a number's type after " + describe(order) + ", found " + describe(name));
    bool other = order.is(std::endian::native == std::endian::little ? ">" : "<") && scalar_size[size_t(*id)] > 1;
    return other ? ndt::make_byteswap(ndt::make_scalar(*id)) : ndt::make_scalar(*id);
  }

  /// A tuple, or a signature where "->" follows.
  ndt::type parse_parentheses() {
    parameter_list list;
    if (tokens_.peek().is(")")) {
      const token closing = tokens_.take();
      if (!tokens_.peek().is("->"))
        tokens_.fail_at(closing, "unrecognized data type " + describe(closing));
    } else {
      do {
        if ((list.open = take_open(")")))
          break;
        parse_parameter(list);
      } while (take_comma(")"));
    }
    if (tokens_.peek().is("->"))
      return parse_function(list);
    if (list.of_signature)
      tokens_.fail_at(*list.of_signature,
                      describe(*list.of_signature) + " belongs to a signature, and no \"->\" follows");
    std::vector<ndt::type> fields;
    for (const ndt::parameter &p : list.all)
      fields.push_back(p.type);
    return ndt::make_tuple(fields, list.open);
  }

  /// "x: inout N * T", "k: int64 = 1", or the "*" before the keywords.
  void parse_parameter(parameter_list &list) {
    token first = tokens_.take();
    auto note = [&](const token &t) { list.of_signature = list.of_signature ? list.of_signature : t; };
    if (first.is("*")) {
      note(first);
      if (std::exchange(list.keywords, true) || !tokens_.peek().is(","))
        tokens_.fail_at(first, "\"*\" is before the keywords, once");
      return;
    }
    ndt::parameter p;
    p.keyword = list.keywords;
    if ((first.kind == token_kind::name || first.kind == token_kind::quoted) && tokens_.peek().is(":")) {
      note(first);
      p.name = name_of(first);
      for (const ndt::parameter &other : list.all)
        if (other.name == p.name)
          tokens_.fail_at(first, "two parameters are named " + describe(first));
      tokens_.take();
      first = tokens_.take();
    } else if (p.keyword) {
      tokens_.fail_at(first, "expected the name of a keyword, found " + describe(first));
    }
    if ((p.inout = first.is_name("inout"))) {
      note(first);
      first = tokens_.take();
    }
    p.type = parse_type_at(first, 0);
    if (tokens_.peek().is("=")) {
      const token equals = tokens_.take();
      note(equals);
      p.value = read_default_text(tokens_, equals, p.type.get());
    } else if (!p.keyword && !list.all.empty() && !list.all.back().value.empty()) {
      tokens_.fail_at(first, "a parameter without a default follows one with a default");
    }
    list.all.push_back(std::move(p));
    check_counts(list.all.size(), 0);
  }

  /// "-> R". Its dimensions may be named for integer parameters; outside of all else "-> R, S" are several results.
  ndt::type parse_function(const parameter_list &list) {
    tokens_.take();
    const std::vector<ndt::parameter> *outer = std::exchange(sizes_, &list.all);
    std::vector<ndt::type> results = {take_no_results() ? ndt::make_void() : parse_type(0)};
    while (depth_ <= 1 && tokens_.peek().is(",")) {
      tokens_.take();
      results.push_back(parse_type(0));
    }
    sizes_ = outer;
    return ndt::make_function(list.all, results.size() == 1 ? results[0] : ndt::make_tuple(results), list.open);
  }

  /// "()" as the result, where it is not the beginning of another signature.
  bool take_no_results() {
    lexer ahead = tokens_;
    if (!ahead.take().is("(") || !ahead.take().is(")") || ahead.peek().is("->"))
      return false;
    tokens_ = ahead;
    return true;
  }

  /// "T, U -> R": the parameters without parentheses; "void" is none.
  ndt::type parse_bare_signature(const token &first, ndt::type type) {
    const token after = tokens_.peek();
    parameter_list list;
    if (type->kind != type_kind::nothing)
      list.all.push_back({"", type, false, false, ""});
    else if (after.is(","))
      tokens_.fail_at(first, "\"void\" is no parameter beside others");
    while (tokens_.peek().is(",")) {
      tokens_.take();
      if (tokens_.peek().kind == token_kind::end)
        break;
      list.all.push_back({"", parse_type(0), false, false, ""});
      check_counts(list.all.size(), 0);
    }
    if (!tokens_.peek().is("->"))
      tokens_.fail_at(after, "unexpected " + describe(after) + " after the data type");
    return parse_function(list);
  }

  /// The "..." that ends a list: there may be more. A "..." before a star is a dimension.
  bool take_open(const char *closing) {
    if (!tokens_.peek().is("..."))
      return false;
    lexer ahead = tokens_;
    ahead.take();
    if (!ahead.peek().is(closing))
      return false;
    tokens_ = ahead;
    tokens_.take();
    return true;
  }

  /// After a field: true where another one follows, false past the closing bracket. A last comma is allowed.
  bool take_comma(const char *closing) {
    const token next = tokens_.take();
    if (next.is(closing))
      return false;
    if (!next.is(","))
      tokens_.fail_at(next, std::string("expected \",\" or \"") + closing + "\", found " + describe(next));
    if (tokens_.peek().is(closing)) {
      tokens_.take();
      return false;
    }
    return true;
  }

  /// "name" is a scalar, string, bytes, a variable, a family, or a type in brackets.
  ndt::type parse_named(const token &name) {
    if (name.is_name("string"))
      return ndt::make_string();
    if (name.is_name("bytes"))
      return ndt::make_bytes();
    if (name.is_name("void"))
      return ndt::make_void();
    if (name.is_name("fixed_string") || name.is_name("fixed_bytes"))
      return parse_fixed_text(name);
    if (name.kind == token_kind::name && is_unknown_kind(name.text))
      tokens_.fail_at(name, "there is no family " + describe(name));
    if (is_variable(name) && !tokens_.peek().is("*"))
      return ndt::make_variable(name.text);
    if (std::optional<type_family> family = name.kind == token_kind::name ? find_family(name.text) : std::nullopt)
      return is_variable(tokens_.peek()) ? ndt::make_variable(tokens_.take().text, *family) : ndt::make_family(*family);
    auto make = name.is_name("option")     ? ndt::make_option
                : name.is_name("pointer")  ? ndt::make_pointer
                : name.is_name("ref")      ? ndt::make_pointer
                : name.is_name("byteswap") ? ndt::make_byteswap
                                           : nullptr;
    if (!make)
      return parse_scalar(name);
    bool round = tokens_.peek().is("(");
    if (round)
      tokens_.take();
    else
      expect("[", "after " + describe(name));
    ndt::type element = parse_type(0);
    expect(round ? ")" : "]", "after the type in brackets");
    return make(element);
  }

  /// "fixed_string[8]", "fixed_string(8)", "fixed_string(8, 'utf8')"; "fixed_bytes[8]", "fixed_bytes(size=8)".
  ndt::type parse_fixed_text(const token &name) {
    bool text = name.is_name("fixed_string"), round = tokens_.peek().is("(");
    if (round)
      tokens_.take();
    else
      expect("[", "after " + describe(name));
    if (round && !text && tokens_.peek().is_name("size")) {
      tokens_.take();
      expect("=", "after \"size\"");
    }
    const token number = tokens_.take();
    if (number.kind != token_kind::number)
      tokens_.fail_at(number, "expected a number of bytes, found " + describe(number));
    intptr_t size = parse_size(number, "length");
    if (round && text && tokens_.peek().is(",")) {
      tokens_.take();
      const token encoding = tokens_.take();
      if (encoding.kind != token_kind::quoted || unquoted(tokens_, encoding) != "utf8")
        tokens_.fail_at(encoding, "the encoding of a fixed_string is 'utf8', found " + describe(encoding));
    }
    expect(round ? ")" : "]", "after the number of bytes");
    return with_place(number, [&] { return text ? ndt::make_fixed_string(size) : ndt::make_fixed_bytes(size); });
  }

  void expect(const char *symbol, const std::string &where) {
    const token next = tokens_.take();
    if (!next.is(symbol))
      tokens_.fail_at(next, std::string("expected \"") + symbol + "\" " + where + ", found " + describe(next));
  }

  /// What a type refuses is said with its place in the text, where it is not yet.
  template <class Make> ndt::type with_place(const token &t, Make make) {
    try {
      return make();
    } catch (const error &e) {
      std::string_view message = e.what();
      if (message.find('\n') != message.npos || message.substr(0, 11) != "datashape: ")
        throw;
      message.remove_prefix(std::string_view("datashape: ").size());
      tokens_.fail_at(t, std::string(message), e.kind());
    }
  }

  std::string name_of(const token &name) const {
    return name.kind == token_kind::quoted ? unquoted(tokens_, name) : std::string(name.text);
  }

  /// In the result of a signature: an integer parameter, which is a size there.
  bool is_size_name(const token &t) const {
    return sizes_ && t.kind == token_kind::name &&
           std::any_of(sizes_->begin(), sizes_->end(), [&](const ndt::parameter &p) {
             return p.name == t.text && p.type->kind == type_kind::scalar && is_integer(p.type->scalar);
           });
  }

  struct depth_guard {
    explicit depth_guard(parser &p) : p(p) {
      if (++p.depth_ > max_type_depth)
        p.tokens_.fail_at(p.tokens_.peek(), "types nest more than " + std::to_string(max_type_depth) + " deep",
                          error_kind::value);
    }
    ~depth_guard() { --p.depth_; }
    parser &p;
  };

  intptr_t parse_size(const token &number, const std::string &what = "dimension size") {
    if (number.text.front() == '-')
      tokens_.fail_at(number, "negative " + what + " " + std::string(number.text));
    intptr_t size = 0;
    const char *behind = number.text.data() + number.text.size();
    auto [end, status] = std::from_chars(number.text.data(), behind, size);
    if (status != std::errc())
      tokens_.fail_at(number, what + " " + std::string(number.text) + " does not fit in int64", error_kind::overflow);
    if (end != behind)
      tokens_.fail_at(number, what + " " + std::string(number.text) + " is not an integer");
    return size;
  }

  /// What follows a dimension: "*" and the type of its elements.
  ndt::type parse_element(const token &dimension, int outer_ndim) {
    if (outer_ndim >= max_ndim)
      tokens_.fail_at(dimension, "more than " + std::to_string(max_ndim) + " dimensions", error_kind::value);
    const token star = tokens_.peek();
    if (!star.is("*"))
      tokens_.fail_at(star, "expected \"*\" after dimension " + describe(dimension) + ", found " + describe(star));
    tokens_.take();
    return parse_type(outer_ndim + 1);
  }

  ndt::type parse_scalar(const token &name) {
    if (name.kind == token_kind::end || name.is("*"))
      tokens_.fail_at(name, "expected a data type, found " + describe(name));
    std::optional<scalar_id> id =
        name.text == "complex" && tokens_.peek().is("[") ? parse_components() : find_scalar(name.text);
    bool before_star = tokens_.peek().is("*");
    if (!id)
      tokens_.fail_at(name, (before_star ? "unrecognized dimension " : "unrecognized data type ") + describe(name));
    return ndt::make_scalar(*id);
  }

  /// What follows "complex": "[float32]" or "[float64]".
  scalar_id parse_components() {
    tokens_.take();
    const token name = tokens_.take();
    std::optional<scalar_id> component = find_scalar(name.text);
    if (component != scalar_id::float32 && component != scalar_id::float64)
      tokens_.fail_at(name, "the components of a complex number are float32 or float64, found " + describe(name));
    expect("]", "after " + describe(name));
    return complex_type(*component);
  }

  lexer tokens_;
  int depth_ = 0;
  const std::vector<ndt::parameter> *sizes_ = nullptr; // of the signature whose result is being read
};

} // namespace

std::string field_name_text(std::string_view name) {
  return is_identifier(name) ? std::string(name) : quoted_text(name);
}

ndt::type parse_datashape(std::string_view text) { return parser(text).parse_whole_text(); }

ndt::type::type(std::string_view datashape) : type(parse_datashape(datashape)) {}

} // namespace dynd

// The call of one prototype: which form each argument has, its type, its intent.
#include <algorithm>
#include <cctype>

#include "kernelgen/resolve.h"

namespace kernelgen {

namespace {

struct known_type {
  const char *c, *element;
};
const known_type known_types[] = {{"_Bool", "bool"},
                                  {"char", "int8"},
                                  {"signed char", "int8"},
                                  {"unsigned char", "uint8"},
                                  {"short", "int16"},
                                  {"unsigned short", "uint16"},
                                  {"int", "int32"},
                                  {"unsigned int", "uint32"},
                                  {"long", "int64"},
                                  {"unsigned long", "uint64"},
                                  {"long long", "int64"},
                                  {"unsigned long long", "uint64"},
                                  {"float", "float32"},
                                  {"double", "float64"},
                                  {"float _Complex", "complex64"},
                                  {"double _Complex", "complex128"},
                                  {"_Float16", "float16"},
                                  {"int8_t", "int8"},
                                  {"int16_t", "int16"},
                                  {"int32_t", "int32"},
                                  {"int64_t", "int64"},
                                  {"uint8_t", "uint8"},
                                  {"uint16_t", "uint16"},
                                  {"uint32_t", "uint32"},
                                  {"uint64_t", "uint64"},
                                  {"size_t", "uint64"},
                                  {"ssize_t", "int64"},
                                  {"ptrdiff_t", "int64"},
                                  {"intptr_t", "int64"},
                                  {"uintptr_t", "uint64"},
                                  {"uint", "uint32"},
                                  {"ushort", "uint16"},
                                  {"ulong", "uint64"}};

struct scalar_type {
  const char *element, *c;
  int size;
};
const scalar_type scalar_types[] = {{"bool", "_Bool", 1},
                                    {"int8", "int8_t", 1},
                                    {"int16", "int16_t", 2},
                                    {"int32", "int32_t", 4},
                                    {"int64", "int64_t", 8},
                                    {"uint8", "uint8_t", 1},
                                    {"uint16", "uint16_t", 2},
                                    {"uint32", "uint32_t", 4},
                                    {"uint64", "uint64_t", 8},
                                    {"float16", "_Float16", 2},
                                    {"float32", "float", 4},
                                    {"float64", "double", 8},
                                    {"complex64", "float _Complex", 8},
                                    {"complex128", "double _Complex", 16}};

// What values of long double are converted to; nothing of another type.
std::string converted_type(const std::string &c_type) {
  return c_type == "long double" ? "float64" : c_type == "long double _Complex" ? "complex128" : "";
}

const scalar_type *find_scalar(std::string_view element) {
  auto found = std::find_if(std::begin(scalar_types), std::end(scalar_types),
                            [&](const scalar_type &t) { return t.element == element; });
  return found == std::end(scalar_types) ? nullptr : found;
}

class maker {
public:
  maker(const kernel_text &text, const prototype &function, layout_kind kind, const default_use &defaults,
        const module_model &model)
      : text_(text), function_(function), defaults_(defaults), model_(model) {
    made_.kind = kind;
    made_.function = function;
  }

  variant make() {
    for (const parameter &p : function_.parameters) {
      made_.arguments.push_back(make_argument(p));
    }
    check_names();
    make_returned();
    number();
    if (defaults_.may_miss) {
      make_missing();
      made_.skips = text_.made.skips_missing;
    }
    return std::move(made_);
  }

private:
  [[noreturn]] void wrong_argument(const argument &a, const std::string &why) const {
    auto at = text_.where.find(a.name);
    wrong(at == text_.where.end() ? a.at : at->second, text_.made.name, a.name, why);
  }

  argument make_argument(const parameter &p) const {
    argument a;
    a.name = p.name;
    a.type = p.type;
    a.at = p.at;
    auto given = text_.arguments.find(p.name);
    auto intents = text_.intents.find(p.name);
    if (intents == text_.intents.end()) {
      wrong(p.at, text_.made.name, p.name, "it has no intent: put it in input, inplace, inout, output or hide");
    }
    set_intent(a, intents->second);
    a.dims = given->second.dims;
    if (given->second.has_value) {
      a.value = given->second.value;
    }
    set_form(a, given->second.has_dims);
    a.trusted = text_.trusted.count(a.name);
    a.fully_written = text_.fully_written.count(a.name);
    auto fortran = text_.fortran.find(made_.kind);
    a.fortran =
        a.is_array() && a.dims.size() > 1 &&
        (made_.kind == layout_kind::fortran || (fortran != text_.fortran.end() && fortran->second.count(a.name)));
    check_value(a);
    return a;
  }

  void set_intent(argument &a, std::set<intent_kind> intents) const {
    a.is_result = intents.erase(intent_kind::output);
    if (a.is_result) {
      intents.erase(intent_kind::hide); // hidden and a result is a result
    }
    if (intents.size() > 1) {
      wrong_argument(a,
                     "it has several intents that exclude each other; one of input, inplace, inout, hide, and output");
    }
    a.intent = intents.empty() ? intent_kind::output : *intents.begin();
  }

  void set_form(argument &a, bool has_dims) const {
    if (a.value && a.value->kind == expression::call && a.value->spelling == "new") {
      a.form = argument_form::array;
      set_type(a);
      return set_new(a);
    }
    auto of_value = [&](const resource *r) { return a.value && a.value->is_name(r->name); };
    bool is_resource = std::any_of(text_.made.resources.begin(), text_.made.resources.end(), of_value);
    if (is_resource || a.type.is_function || a.type.pointers > 2 || (a.type.pointers == 2 && !has_dims)) {
      a.form = argument_form::opaque;
    } else if (a.type.pointers == 0) {
      a.form = argument_form::value;
      if (has_dims) {
        wrong_argument(a, "it has dimensions, and the function takes one value: " + a.type.declare(a.name));
      }
    } else {
      take_text_extent(a);
      if (!has_dims && !a.type.extents.empty()) {
        for (const std::string &extent : a.type.extents) {
          a.dims.push_back(extent.empty() ? expression{expression::name, "", {}, a.at}
                                          : parse_expression({extent, a.at}));
        }
        if (a.dims[0].spelling.empty()) {
          wrong_argument(a, "it is an array of unknown size: give its dimensions, " + a.name + "(n)");
        }
      }
      a.form = a.dims.empty()         ? argument_form::pointer
               : a.type.pointers == 2 ? argument_form::rows
                                      : argument_form::array;
      check_extents(a);
      if (a.form == argument_form::rows && a.dims.size() != 2) {
        wrong_argument(a, "pointers to rows have two dimensions, " + a.name + "(m, n)");
      }
    }
    set_type(a);
  }

  std::string type_of(const std::string &name, const c_type &type) const {
    auto given = text_.types.find(name);
    return given != text_.types.end() ? given->second : element_type(model_.typemaps, type.base);
  }

  // char name[16], char (*names)[16]: the last size is that of one text.
  void take_text_extent(argument &a) const {
    size_t size = fixed_text_size(type_of(a.name, a.type));
    if (!size || a.type.extents.empty()) {
      return;
    }
    if (constant(parse_expression({a.type.extents.back(), a.at})) != int64_t(size)) {
      wrong_argument(a, "its type " + type_of(a.name, a.type) + " contradicts the prototype: " +
                            a.type.declare(a.name) + " has [" + a.type.extents.back() + "]");
    }
    a.type.extents.pop_back();
  }

  // A text of a fixed length: bytes behind a pointer.
  void check_text(const argument &a) const {
    static const std::set<std::string> bytes = {"char", "signed char", "unsigned char", "int8_t", "uint8_t", "void"};
    if (!bytes.count(a.type.base) || a.type.pointers != 1) {
      wrong_argument(a, a.element + " is behind one pointer to bytes, and the function takes `" + a.type.declare("") +
                            "`");
    }
    if (a.is_fixed_text() && fixed_text_size(a.element) > 65536) {
      wrong_argument(a, "one text has up to 65536 bytes; give it a dimension, " + a.name + "(1)");
    }
  }

  // long double is no type of arrays: its values are converted, one by one.
  void check_long_double(const argument &a) const {
    if (a.element != converted_type(a.type.base)) {
      wrong_argument(a, "values of " + a.type.base + " are converted to " + converted_type(a.type.base) + ", not to " +
                            a.element);
    }
    if (a.is_array()) {
      wrong_argument(a, "arrays of " + a.type.base +
                            " are not wrapped: call the function from one of header_code that takes double");
    }
  }

  void set_type(argument &a) const {
    a.element = type_of(a.name, a.type);
    const scalar_type *scalar = find_scalar(a.element);
    bool of_void = a.type.base == "void", of_long_double = !converted_type(a.type.base).empty();
    a.c_element = (of_void || of_long_double) && scalar       ? scalar->c
                  : of_void && fixed_text_size(a.element) > 0 ? "char"
                                                              : a.type.base;
    if (fixed_text_size(a.element)) {
      check_text(a);
    }
    if (of_long_double && !a.element.empty()) {
      check_long_double(a);
    }
    if (a.form == argument_form::opaque || a.element.empty()) {
      bool hidden = a.intent == intent_kind::hide && !a.is_result;
      if (!hidden) {
        std::string added =
            of_long_double ? converted_type(a.type.base) + "` to typemaps, which converts it" : "type` to typemaps";
        wrong_argument(a, of_void ? "it points to void: say what is there, `types: " + a.name + ": float64`"
                                  : "there is no type for `" + a.type.declare("") +
                                        "`: hide it with a value, or add `" + a.type.base + ": " + added);
      }
      a.form = argument_form::opaque;
      if (!a.value) {
        wrong_argument(a, "it is hidden and has no value, and `" + a.type.declare("") + "` has no zero: " + a.name +
                              " = ...");
      }
    }
  }

  // `hide: work = new(bytes)`: the seed's form of a scratch array.
  void set_new(argument &a) const {
    const scalar_type *scalar = find_scalar(a.element);
    if (a.intent != intent_kind::hide || a.is_result || a.value->parts.size() != 1 || a.type.pointers != 1 || !scalar) {
      wrong_argument(a, "new(bytes) is for hidden arrays");
    }
    expression size{expression::integer, std::to_string(scalar->size), {}, a.at};
    expression less{expression::integer, std::to_string(scalar->size - 1), {}, a.at};
    expression more{expression::binary, "+", {a.value->parts[0], less}, a.at};
    a.dims = {{expression::binary, "/", {more, size}, a.at}};
    a.value.reset();
  }

  // What the wrapper calls its own variables: those of other arguments, and of the library.
  void check_names() const {
    static const char *const endings[] = {"_size",           "_stride",  "_result",  "_result_stride",
                                          "_operand_stride", "_direct",  "_at",      "_wide",
                                          "_rows",           "_operand", "_wanted0", "_wanted1"};
    for (const argument &a : made_.arguments) {
      if (a.name.rfind("dynd_", 0) == 0 || a.name == function_.name) {
        wrong(a.at, text_.made.name, a.name,
              "the wrapper has another meaning for this name: rename it in the prototype");
      }
      for (const char *ending : endings) {
        if (made_.find(a.name + ending)) {
          wrong(made_.find(a.name + ending)->at, text_.made.name, a.name + ending,
                "the wrapper has a variable of this name, of " + a.name + ": rename it in the prototype");
        }
      }
    }
  }

  // T a[3], T (*a)[3]: the dimensions are those of the prototype.
  void check_extents(const argument &a) const {
    size_t n = a.type.extents.size(), expected = n + !a.type.is_decayed;
    if (!a.type.after.empty() && a.dims.size() != expected) {
      wrong_argument(a, "it has " + std::to_string(a.dims.size()) + " dimensions, and the prototype " +
                            std::to_string(expected) + ": " + a.type.declare(a.name));
    }
    for (size_t i = 0; i < n && a.dims.size() >= n; i++) {
      const std::string &extent = a.type.extents[i];
      expression dim = a.dims[a.dims.size() - n + i];
      for (size_t d = 0; a.type.after.empty() && d + 1 < a.dims.size(); d++) { // T a[9] as a matrix
        dim = {expression::binary, "*", {dim, a.dims[d]}, dim.at};
      }
      std::optional<int64_t> wanted = extent.empty() ? std::nullopt : constant(parse_expression({extent, a.at}));
      if (wanted && constant(dim) != wanted) {
        wrong_argument(a, "its size " + dim.str() + " contradicts the prototype, which has [" + extent + "]");
      }
    }
  }

  // An integer of the configuration must be one that the argument can have.
  void check_number(const argument &a) const {
    const scalar_type *scalar = find_scalar(a.element);
    std::optional<int64_t> value = constant(*a.value);
    const expression &inside = a.value->kind == expression::unary ? a.value->parts[0] : *a.value;
    bool integer = scalar && (a.element.rfind("int", 0) == 0 || a.element.rfind("uint", 0) == 0);
    bool literal = inside.kind == expression::text && std::isdigit(static_cast<unsigned char>(inside.spelling[0]));
    if (!integer) {
      return;
    }
    if (literal && inside.spelling.rfind("0x", 0) != 0 && inside.spelling.find_first_of(".eE") != std::string::npos) {
      wrong_argument(a, "its value " + a.value->str() + " is no whole number, and " + a.type.base + " takes one");
    }
    int bits = 8 * scalar->size - (a.element[0] == 'i');
    int64_t most = bits >= 63 ? INT64_MAX : (int64_t(1) << bits) - 1, least = a.element[0] == 'u' ? 0 : -most - 1;
    if (value && (*value < least || *value > most)) {
      wrong_argument(a, "its value " + a.value->str() + " is none that " + a.type.base + " can have");
    }
  }

  void check_value(argument &a) const {
    if (a.value) {
      check_number(a);
    }
    if (a.form == argument_form::value && a.is_written_operand()) {
      a.intent = intent_kind::input; // C cannot change it
    }
    if (a.is_array() && a.value) {
      wrong_argument(a, "an array has no default value");
    }
    a.is_omitted = a.is_given() && defaults_.omitted.count(a.name);
    a.is_optional = a.is_given() && a.value && !a.is_omitted && !(defaults_.plain_written && a.is_written_operand());
    if (a.is_optional && !find_scalar(a.element)) {
      wrong_argument(a, "only a number has a default");
    }
  }

  void make_missing() {
    auto mark = [&](argument &a) {
      if (a.is_written_operand() || (a.result >= 0 && a.operand >= 0)) {
        wrong_argument(a, "it is changed, and cannot be missing: `missing = propagate` is for inputs and outputs");
      }
      a.may_miss = (a.operand >= 0 || a.result >= 0) && !a.is_optional;
      if (a.may_miss && !find_scalar(a.element) && !fixed_text_size(a.element)) {
        wrong_argument(a, "its elements are structs, which cannot be missing here");
      }
    };
    std::for_each(made_.arguments.begin(), made_.arguments.end(), mark);
    mark(made_.result.value);
  }

  void make_returned() {
    const c_type &type = function_.result;
    bool is_void = type.base == "void" && type.pointers == 0;
    std::string text = text_.return_text.empty() ? (is_void ? "none" : "output") : text_.return_text;
    place at = text_.return_text.empty() ? function_.at : text_.return_at;
    returned &r = made_.result;
    if (is_void) {
      if (!text_.return_text.empty() && text != "hide") {
        wrong(at, text_.made.name, "", function_.name + " returns nothing");
      }
      return;
    }
    if (text == "hide" || text == "status") {
      r.kind = return_kind::hide;
      return;
    }
    argument_text given = parse_argument({text == "output" ? "result" : text, at});
    argument &a = r.value;
    a.name = given.name;
    a.at = at;
    a.type = type;
    a.intent = intent_kind::output;
    a.is_result = true;
    a.dims = given.dims;
    r.kind = given.has_dims ? return_kind::array : return_kind::output;
    a.form = given.has_dims ? argument_form::array : argument_form::value;
    a.element = type_of(a.name, type);
    if (size_t size = fixed_text_size(a.element); size && !given.has_dims) {
      a.form = argument_form::pointer;
      a.c_element = type.base;
      return check_text(a);
    }
    if (type.pointers != int(given.has_dims)) {
      wrong(at, text_.made.name, "",
            function_.name + " returns `" + type.declare("") + "`" +
                (type.pointers ? ": give its size, `return: name(n)`, its type if it is a text, `types: result: "
                                 "fixed_string[16]`, or hide it, `return: hide`"
                               : ", which has no dimensions"));
    }
    a.c_element = type.base;
    std::string converted = converted_type(type.base);
    if (a.element.empty()) {
      wrong(at, text_.made.name, "",
            "there is no type for `" + type.base + "`, which " + function_.name +
                " returns: hide it, or add it to typemaps" +
                (converted.empty() ? "" : ", `" + type.base + ": " + converted + "`, which converts it"));
    }
    if (!converted.empty()) {
      check_long_double(a);
      a.c_element = find_scalar(a.element)->c;
    }
  }

  void number() {
    int noperands = 0, nresults = 0;
    for (argument &a : made_.arguments) {
      a.operand = a.is_given() && !a.is_omitted ? noperands++ : -1;
      a.result = a.is_result ? nresults++ : -1;
    }
    if (made_.result.kind == return_kind::output || made_.result.kind == return_kind::array) {
      made_.result.value.result = nresults++;
    }
    if (noperands > 8 || nresults > 8) {
      wrong(function_.at, text_.made.name, "",
            function_.name + " has " + std::to_string(noperands) + " operands and " + std::to_string(nresults) +
                " results; a kernel has up to 8 of each: hide some");
    }
  }

  const kernel_text &text_;
  const prototype &function_;
  const default_use &defaults_;
  const module_model &model_;
  variant made_;
};

} // namespace

const argument *variant::find(std::string_view name) const {
  for (const argument &a : arguments) {
    if (a.name == name) {
      return &a;
    }
  }
  return nullptr;
}

std::string element_type(const std::vector<typemap> &typemaps, const std::string &c_type) {
  for (const typemap &map : typemaps) {
    if (map.c_type == c_type) {
      return map.element;
    }
  }
  for (const known_type &known : known_types) {
    if (known.c == c_type) {
      return known.element;
    }
  }
  return "";
}

bool is_scalar_type(std::string_view element) { return find_scalar(element) != nullptr; }

size_t size_of(std::string_view element) { return size_t(find_scalar(element)->size); }

variant make_variant(const kernel_text &text, const prototype &function, layout_kind kind, const default_use &defaults,
                     const module_model &model) {
  variant made = maker(text, function, kind, defaults, model).make();
  find_sizes(made, text);
  return made;
}

} // namespace kernelgen

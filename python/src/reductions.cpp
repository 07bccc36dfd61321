// The reductions: functions and methods, made from the entries of ops/.
#include "arguments.h"

#include <array>
#include <optional>
#include <string>

#include "dynd/eval/evaluate.h"
#include "dynd/eval/nested.h"

namespace binding {

namespace {

// ---- arguments ----------------------------------------------------------------------------------------------------

// What a reduction is called with; null where it is not given. By position: axis and keepdims.
struct reduction_arguments {
  PyObject *axis = nullptr, *keepdims = nullptr, *where = nullptr, *initial = nullptr, *empty = nullptr,
           *weights = nullptr, *correction = nullptr, *align = nullptr, *dtype = nullptr;
};

constexpr struct {
  const char *name;
  PyObject *reduction_arguments::*argument;
  uint8_t taken_by; // 0: by all
} keyword_list[] = {{"axis", &reduction_arguments::axis, 0},
                    {"keepdims", &reduction_arguments::keepdims, 0},
                    {"align", &reduction_arguments::align, 0},
                    {"dtype", &reduction_arguments::dtype, takes_dtype},
                    {"where", &reduction_arguments::where, takes_where},
                    {"initial", &reduction_arguments::initial, takes_initial},
                    {"empty", &reduction_arguments::empty, takes_empty},
                    {"weights", &reduction_arguments::weights, takes_weights},
                    {"correction", &reduction_arguments::correction, takes_correction},
                    {"ddof", &reduction_arguments::correction, takes_correction}}; // NumPy's name for it

bool add_keyword(const aggregate &what, PyObject *key, PyObject *value, reduction_arguments &to) {
  for (const auto &keyword : keyword_list) {
    bool taken = !keyword.taken_by || (what.keywords & keyword.taken_by);
    if (taken && PyUnicode_CompareWithASCIIString(key, keyword.name) == 0) {
      if (to.*keyword.argument) {
        PyErr_Format(PyExc_TypeError, "%s: repeated keyword argument %R", what.name, key);
        return false;
      }
      to.*keyword.argument = value;
      return true;
    }
  }
  PyErr_Format(PyExc_TypeError, "%s: unexpected keyword argument %R", what.name, key);
  return false;
}

// `first`: how many arguments come before axis.
bool parse(const aggregate &what, PyObject *const *arguments, Py_ssize_t count, Py_ssize_t first, PyObject *keywords,
           reduction_arguments &to) {
  if (count < first || count > first + 2) {
    PyErr_Format(PyExc_TypeError, "%s: takes %s axis= and keepdims=, not %zd arguments", what.name,
                 first ? "an array," : "only", count);
    return false;
  }
  to.axis = count > first ? arguments[first] : nullptr;
  to.keepdims = count > first + 1 ? arguments[first + 1] : nullptr;
  Py_ssize_t nkeywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < nkeywords; i++) {
    if (!add_keyword(what, PyTuple_GET_ITEM(keywords, i), arguments[count + i], to)) {
      return false;
    }
  }
  return true;
}

int axis_of(const char *name, PyObject *axis) { return axis_number(name, axis, "an integer, a tuple of them or None"); }

} // namespace

reduced_axes axes_of(const char *name, PyObject *axis) {
  if (!axis || axis == Py_None) {
    return {};
  }
  if (!PyTuple_Check(axis)) {
    return axis_of(name, axis);
  }
  Py_ssize_t count = PyTuple_GET_SIZE(axis);
  if (count > max_ndim) {
    throw error(error_kind::value, std::string(name) + ": more axes than an array has");
  }
  reduced_axes axes(nullptr, 0);
  for (Py_ssize_t i = 0; i < count; i++) {
    axes.axis[axes.count++] = axis_of(name, PyTuple_GET_ITEM(axis, i));
  }
  return axes;
}

namespace {

bool is_given(PyObject *argument) { return argument && argument != Py_None; }

// A keyword that is one word or nothing: empty="missing", align="left".
bool is_word(const char *name, const char *keyword, const char *word, PyObject *argument) {
  if (!is_given(argument)) {
    return false;
  }
  if (!PyUnicode_Check(argument) || PyUnicode_CompareWithASCIIString(argument, word) != 0) {
    throw error(error_kind::value, std::string(name) + ": " + keyword + " must be '" + word + "' or None");
  }
  return true;
}

// ---- calls --------------------------------------------------------------------------------------------------------

// Nothing but the operand is given: what keywords would cost is a fifth of the call for a small array.
PyObject *reduce(const aggregate &what, PyObject *operand) {
  return guarded([&] {
    nd::array other = is_array(operand) ? nd::array() : to_operand(operand, nullptr, what.name);
    array_block *block = other ? other.get() : unwrap(operand).get();
    return wrap(evaluate(what.id, block, !other && Py_REFCNT(operand) == 1));
  });
}

PyObject *reduce(const aggregate &what, PyObject *operand, const reduction_arguments &arguments) {
  return guarded([&] {
    auto to_array = [&](PyObject *object) {
      return !is_given(object) ? nd::array() : to_operand(object, nullptr, what.name);
    };
    nd::array other = is_array(operand) ? nd::array() : to_operand(operand, nullptr, what.name);
    array_block *block = other ? other.get() : unwrap(operand).get();
    reduction_keywords keywords;
    keywords.keepdims = to_flag(what.name, "keepdims", arguments.keepdims);
    keywords.correction = to_number(what.name, "correction", arguments.correction, 0);
    if (is_given(arguments.dtype)) {
      keywords.dtype = number_type(what.name, to_element_type(what.name, arguments.dtype));
    }
    keywords.empty_missing = is_word(what.name, "empty", "missing", arguments.empty);
    keywords.align_left = is_word(what.name, "align", "left", arguments.align);
    nb::object first;
    if (is_given(arguments.initial)) {
      ndt::type joined = keywords.dtype ? ndt::make_scalar(*keywords.dtype) : ndt::type(elements_of_rows(block->type));
      first = float_beyond(arguments.initial, joined.get());
    }
    nd::array where, initial = to_array(first.ptr()), weights = to_array(arguments.weights);
    keywords.initial = initial.get();
    keywords.weights = weights.get();
    if (is_given(arguments.where) && is_array(arguments.where)) { // no reference: it would be another owner
      keywords.where = unwrap(arguments.where).get();
      keywords.where_last_use = Py_REFCNT(arguments.where) == 1;
    } else {
      where = to_array(arguments.where);
      keywords.where = where.get();
    }
    bool last_use = !other && Py_REFCNT(operand) == 1;
    return wrap(evaluate(what.id, block, last_use, axes_of(what.name, arguments.axis), keywords));
  });
}

template <aggregate_id id>
PyObject *reduction_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  reduction_arguments given;
  const aggregate &what = aggregate_of(id);
  return count == 0 && !keywords                             ? reduce(what, self)
         : parse(what, arguments, count, 0, keywords, given) ? reduce(what, self, given)
                                                             : nullptr;
}

template <aggregate_id id>
PyObject *reduction_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  reduction_arguments given;
  const aggregate &what = aggregate_of(id);
  return count == 1 && !keywords                             ? reduce(what, arguments[0])
         : parse(what, arguments, count, 1, keywords, given) ? reduce(what, arguments[0], given)
                                                             : nullptr;
}

using reduction_call = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
constexpr auto reduction_functions = []<size_t... I>(std::index_sequence<I...>) {
  return std::array<reduction_call, aggregate_count>{reduction_function<aggregate_id(I)>...};
}
(std::make_index_sequence<aggregate_count>());
constexpr auto reduction_methods = []<size_t... I>(std::index_sequence<I...>) {
  return std::array<reduction_call, aggregate_count>{reduction_method<aggregate_id(I)>...};
}
(std::make_index_sequence<aggregate_count>());

PyObject *vecdot_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"a", "b", "axis", "keepdims", "where"};
  PyObject *given[5];
  if (!parse_arguments("vecdot", names, 3, 2, arguments, count, keywords, given)) {
    return nullptr;
  }
  auto [a, b, axis, keepdims, where] = given;
  return guarded([&] {
    nd::array left = to_operand(a, is_array(b) ? &unwrap(b) : nullptr, "vecdot");
    nd::array right = to_operand(b, is_array(a) ? &unwrap(a) : nullptr, "vecdot");
    nd::array mask = is_given(where) ? to_operand(where, nullptr, "vecdot") : nd::array();
    reduction_keywords told{.keepdims = to_flag("vecdot", "keepdims", keepdims), .where = mask.get()};
    return wrap(vecdot(left.get(), right.get(), axis ? axes_of("vecdot", axis) : reduced_axes(-1), told));
  });
}

PyMethodDef vecdot_definition = {
    "vecdot", as_method<vecdot_function>(), METH_FASTCALL | METH_KEYWORDS,
    "vecdot(a, b, /, axis=-1, *, keepdims=False, where=None)\n--\n\nThe sum of the products of two arrays, which "
    "broadcast together outside of the axis, several (a tuple) or\nall (None). Of complex numbers the first one's "
    "conjugates are taken; of integers the products and their\nsum have 64 bits. Missing values are skipped, and "
    "what is not true in where=."};

// ---- help ---------------------------------------------------------------------------------------------------------

std::string parameters(const aggregate &what) {
  std::string text = "axis=None, keepdims=False";
  for (const auto &keyword : keyword_list) {
    if (what.keywords & keyword.taken_by) {
      text += std::string(text.find('*') == text.npos ? ", *, " : ", ") + keyword.name +
              (keyword.taken_by == takes_correction ? "=0" : "=None");
    }
  }
  return text;
}

std::string document(const aggregate &what, const char *first) {
  std::string text = std::string(what.name) + "(" + first + ", " + parameters(what) + ")\n--\n\n" + what.doc + "\n\n";
  text +=
      "(Dims... * T) -> Kept... * R\n\n"
      "axis: the dimension to reduce, negative from the end; a tuple reduces several, None all, as one row in C\n"
      "    order.\n"
      "keepdims: the reduced dimensions stay with size 1, so that the result broadcasts with the operand.\n"
      "align: an axis outside of ragged rows wants rows of equal length below it, or align='left': column j of the\n"
      "    rows that have one, as many columns as the longest row has.\n";
  text +=
      what.keywords & takes_where ? "where: bools that broadcast to the operand; what is not true is skipped.\n" : "";
  text += what.keywords & takes_dtype
              ? "dtype: what the elements are taken as, and the type of the result; integers wrap.\n"
              : "";
  text += what.keywords & takes_initial ? "initial: one value, which joins last.\n" : "";
  text += what.keywords & takes_empty
              ? "empty: 'missing' makes the result missing where there is no element, which is an error without.\n"
              : "";
  text += what.keywords & takes_weights
              ? "weights: numbers that broadcast to the operand; each element counts so often.\n"
              : "";
  text += what.keywords & takes_correction
              ? "correction: how much less than the number of elements the sum of squares is divided by; ddof= is\n"
                "    NumPy's name for it.\n"
              : "";
  text += "Missing values are skipped. A lazy operand is computed in the same pass: (a * b).sum() reads memory once.";
  return text;
}

// Leaked, like the function that it describes.
PyMethodDef *definition(const aggregate &what, reduction_call call, const char *first) {
  auto *text = new std::string(document(what, first));
  return new PyMethodDef{what.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(call)),
                         METH_FASTCALL | METH_KEYWORDS, text->c_str()};
}

} // namespace

void add_reductions(nb::module_ &m) {
  nb::object module_name = nb::str("dynd.nd");
  nb::handle type(reinterpret_cast<PyObject *>(array_type));
  nb::list names;
  for (size_t i = 0; i < aggregate_count; i++) {
    const aggregate &what = aggregate_of(aggregate_id(i));
    m.attr(what.name) =
        steal(PyCFunction_NewEx(definition(what, reduction_functions[i], "a"), nullptr, module_name.ptr()));
    if (what.method) {
      nb::setattr(type, what.name,
                  steal(PyDescr_NewMethod(array_type, definition(what, reduction_methods[i], "$self"))));
    }
    m.attr("operations").attr("append")(nb::make_tuple(what.name, what.doc, "(Dims... * T) -> Kept... * R"));
    names.append(what.name);
  }
  m.attr("reductions") = names;
  m.attr("vecdot") = steal(PyCFunction_NewEx(&vecdot_definition, nullptr, module_name.ptr()));
}

} // namespace binding

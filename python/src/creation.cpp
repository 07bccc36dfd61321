// Arrays from nothing: zeros, ones, full, empty, their _like forms, arange and linspace.
#include "arguments.h"

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "dynd/call/creation.h"

namespace binding {

namespace {

// type= or dtype=, whichever is given. Null: neither was.
ndt::type element_type(const char *name, PyObject *type, PyObject *dtype) {
  auto given = [](PyObject *object) { return object && object != Py_None; };
  if (given(type) && given(dtype)) {
    throw error(error_kind::type, std::string(name) + ": type= and dtype= are the same, give one of them");
  }
  return to_element_type(name, given(type) ? type : dtype);
}

// What an array is made of: a type with sizes in it, or sizes and an element type.
struct made_of {
  ndt::type type;
  std::vector<intptr_t> size = {};
  bool has_sizes = false; ///< else they are in the type

  const intptr_t *sizes() const { return has_sizes ? size.data() : nullptr; }
};

intptr_t to_size(const char *name, PyObject *object) {
  intptr_t size = clipped_integer(name, "a size", object);
  if (size < 0) {
    throw error(error_kind::value, std::string(name) + ": a size must not be negative, got " + integer_text(object));
  }
  return size;
}

bool names_type(PyObject *shape) { return shape && (PyUnicode_Check(shape) || nb::isinstance<ndt::type>(shape)); }

made_of parse_shape(const char *name, PyObject *shape, ndt::type element, scalar_id otherwise) {
  made_of made;
  bool named = names_type(shape);
  if (named && element) {
    throw error(error_kind::type, std::string(name) + ": the type is given twice");
  }
  if (named || !shape) {
    made.type = named ? to_type(shape, name) : element;
    return made;
  }
  made.type = element = element ? element : ndt::make_scalar(otherwise);
  made.has_sizes = true;
  if (PyIndex_Check(shape)) {
    made.size = nd::sizes_with_element(name, {{to_size(name, shape)}}, element);
    made.type = ndt::make_strided_dim(made.type);
    return made;
  }
  nb::object sizes = nb::steal(PySequence_Check(shape) ? PySequence_Tuple(shape) : nullptr);
  if (!sizes.is_valid()) {
    forget_error(PyExc_TypeError);
    throw error(error_kind::type, std::string(name) +
                                      ": shape must be an integer, a tuple of them or datashape text, not " +
                                      Py_TYPE(shape)->tp_name);
  }
  Py_ssize_t ndim = PyTuple_GET_SIZE(sizes.ptr());
  if (ndim > max_ndim) {
    throw error(error_kind::value, std::string(name) + ": an array has at most " + std::to_string(max_ndim) +
                                       " dimensions, not " + std::to_string(ndim));
  }
  for (Py_ssize_t d = 0; d < ndim; d++) {
    made.size.push_back(to_size(name, PyTuple_GET_ITEM(sizes.ptr(), d)));
    made.type = ndt::make_strided_dim(made.type);
  }
  made.size = nd::sizes_with_element(name, made.size, element);
  return made;
}

scalar_id default_type(PyObject *value) {
  return PyBool_Check(value)      ? scalar_id::bool_
         : PyLong_Check(value)    ? scalar_id::int64
         : PyComplex_Check(value) ? scalar_id::complex128
                                  : scalar_id::float64;
}

bool is_number(PyObject *value) {
  return PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value) || PyBool_Check(value);
}

// A number as it is; anything else as what is assigned to elements of the type.
nd::array fill_value(PyObject *value, const ndt::type &type) {
  const type_data *dtype = type ? type->dtype : nullptr;
  if (is_number(value) || is_array(value) || !dtype) {
    return to_operand(dtype ? float_beyond(value, dtype).ptr() : value, nullptr, "full");
  }
  return from_python(value, dtype->kind == type_kind::scalar ? ndt::type() : ndt::type(dtype), access_mode::immutable);
}

// `of_floats`: an integer is float64 where no type is given, as zeros and ones are.
PyObject *make_full(const char *name, bool of_floats, PyObject *shape, PyObject *value, PyObject *type, PyObject *dtype,
                    PyObject *access) {
  return guarded([&] {
    ndt::type element = element_type(name, type, dtype);
    if (!element && !is_number(value) && !names_type(shape)) { // text, an array, a number of NumPy's
      element = to_operand(value, nullptr, name).type().dtype();
    }
    scalar_id otherwise = PyLong_Check(value) && of_floats ? scalar_id::float64 : default_type(value);
    made_of made = parse_shape(name, shape, element, otherwise);
    return wrap(nd::full(made.type, made.sizes(), fill_value(value, made.type),
                         access_or(name, access, access_mode::immutable)));
  });
}

PyObject *make_full_like(const char *name, PyObject *like, PyObject *value, PyObject *type, PyObject *dtype,
                         PyObject *access) {
  return guarded([&] {
    nd::array of = is_array(like) ? unwrap(like) : to_operand(like, nullptr, name);
    ndt::type element = element_type(name, type, dtype);
    element = element ? element : ndt::type(elements_of_rows(of->type));
    return wrap(
        nd::full_like(of, element, fill_value(value, element), access_or(name, access, access_mode::immutable)));
  });
}

// zeros and ones: the value is known.
template <int Value, bool Like>
PyObject *constant_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {Like ? "a" : "shape", "type", "dtype", "access"};
  static const char *const name = Value ? (Like ? "ones_like" : "ones") : (Like ? "zeros_like" : "zeros");
  PyObject *given[4];
  if (!parse_arguments(name, names, 2, Like ? 1 : 0, arguments, count, keywords, given)) {
    return nullptr;
  }
  nb::object value = nb::steal(PyLong_FromLong(Value));
  return Like ? make_full_like(name, given[0], value.ptr(), given[1], given[2], given[3])
              : make_full(name, true, given[0], value.ptr(), given[1], given[2], given[3]);
}

template <bool Like>
PyObject *full_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {Like ? "a" : "shape", "fill_value", "type", "dtype", "access"};
  PyObject *given[5];
  const char *name = Like ? "full_like" : "full";
  if (!parse_arguments(name, names, 3, 2, arguments, count, keywords, given)) {
    return nullptr;
  }
  return Like ? make_full_like(name, given[0], given[1], given[2], given[3], given[4])
              : make_full(name, false, given[0], given[1], given[2], given[3], given[4]);
}

PyObject *empty_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"shape", "type", "dtype", "access"};
  PyObject *given[4];
  if (!parse_arguments("empty", names, 2, 0, arguments, count, keywords, given)) {
    return nullptr;
  }
  return guarded([&] {
    PyObject *shape = given[0] == Py_None ? nullptr : given[0];
    made_of made = parse_shape("empty", shape, element_type("empty", given[1], given[2]), scalar_id::float64);
    return wrap(nd::empty(made.type, made.sizes(), access_or("empty", given[3], access_mode::readwrite)));
  });
}

PyObject *empty_like_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"a", "type", "dtype", "access"};
  PyObject *given[4];
  if (!parse_arguments("empty_like", names, 2, 1, arguments, count, keywords, given)) {
    return nullptr;
  }
  return guarded([&] {
    nd::array of = is_array(given[0]) ? unwrap(given[0]) : to_operand(given[0], nullptr, "empty_like");
    ndt::type element = element_type("empty_like", given[1], given[2]);
    return wrap(nd::empty_like(of, element ? element : ndt::type(elements_of_rows(of->type)),
                               access_or("empty_like", given[3], access_mode::readwrite)));
  });
}

// ---- ranges -------------------------------------------------------------------------------------------------------

std::complex<double> to_complex(const char *name, const char *what, PyObject *object) {
  if (!PyComplex_Check(object)) {
    return to_number(name, what, object, 0);
  }
  Py_complex value = PyComplex_AsCComplex(object);
  return {value.real, value.imag};
}

PyObject *arange_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"start", "stop", "step", "type", "dtype", "access"};
  PyObject *given[6];
  if (!parse_arguments("arange", names, 4, 1, arguments, count, keywords, given)) {
    return nullptr;
  }
  return guarded([&] {
    ndt::type element = element_type("arange", given[3], given[4]);
    bool only_stop = !given[1] || given[1] == Py_None;
    PyObject *parts[] = {only_stop ? nullptr : given[0], only_stop ? given[0] : given[1],
                         given[2] == Py_None ? nullptr : given[2]};
    bool integers = std::all_of(parts, parts + 3, [](PyObject *part) { return !part || PyIndex_Check(part); });
    nd::array made;
    if (integers) {
      auto number = [&](int i, intptr_t otherwise) {
        return parts[i] ? to_integer("arange", names[i], parts[i]) : otherwise;
      };
      made = nd::arange(number(0, 0), number(1, 0), number(2, 1),
                        number_type("arange", element).value_or(scalar_id::int64));
    } else {
      auto number = [&](int i, double otherwise) { return to_number("arange", names[i], parts[i], otherwise); };
      made = nd::arange(number(0, 0), number(1, 0), number(2, 1),
                        number_type("arange", element).value_or(scalar_id::float64));
    }
    return wrap(nd::with_access(made, access_or("arange", given[5], access_mode::immutable)));
  });
}

PyObject *linspace_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"start", "stop", "num", "endpoint", "type", "dtype", "access"};
  PyObject *given[7];
  if (!parse_arguments("linspace", names, 3, 2, arguments, count, keywords, given)) {
    return nullptr;
  }
  return guarded([&] {
    std::optional<scalar_id> type = number_type("linspace", element_type("linspace", given[4], given[5]));
    int64_t number = given[2] ? to_integer("linspace", "num", given[2]) : 50;
    bool endpoint = given[3] ? to_flag("linspace", "endpoint", given[3]) : true;
    std::complex<double> start = to_complex("linspace", "start", given[0]),
                         stop = to_complex("linspace", "stop", given[1]);
    bool complex = PyComplex_Check(given[0]) || PyComplex_Check(given[1]);
    nd::array made = complex
                         ? nd::linspace(start, stop, number, endpoint, type.value_or(scalar_id::complex128))
                         : nd::linspace(start.real(), stop.real(), number, endpoint, type.value_or(scalar_id::float64));
    return wrap(nd::with_access(made, access_or("linspace", given[6], access_mode::immutable)));
  });
}

#define DYND_MADE                                                                                                      \
  "\n\nshape: an integer, a tuple of integers, or a whole type with all sizes in it (\"3 * 4 * float64\").\n"          \
  "type: of the elements, as datashape text (\"float32\"); dtype= is the standard's name for it, and takes NumPy's\n"  \
  "dtypes too. access: \"immutable\" is the default, because then a large array holds the value only once, takes no\n" \
  "time, and operations on it can be lazy; \"rw\" makes an array to be written."
#define DYND_LIKE "\n\nA ragged array keeps its rows. type, dtype: other elements. access: as in nd.zeros."

PyMethodDef creations[] = {
    {"zeros", as_method<constant_function<0, false>>(), METH_FASTCALL | METH_KEYWORDS,
     "zeros(shape, type=None, *, dtype=None, access=None)\n--\n\nAn array of zeros, float64 unless said "
     "otherwise." DYND_MADE
     "\n\n>>> nd.zeros((2, 3), \"int32\")\nnd.array([[0, 0, 0], [0, 0, 0]], type=\"strided * strided * int32\")\n"
     ">>> nd.zeros(\"3 * float32\")\nnd.array([0.0, 0.0, 0.0], type=\"3 * float32\")"},
    {"ones", as_method<constant_function<1, false>>(), METH_FASTCALL | METH_KEYWORDS,
     "ones(shape, type=None, *, dtype=None, access=None)\n--\n\nAn array of ones, float64 unless said "
     "otherwise." DYND_MADE},
    {"full", as_method<full_function<false>>(), METH_FASTCALL | METH_KEYWORDS,
     "full(shape, fill_value, type=None, *, dtype=None, access=None)\n--\n\nAn array of one value. Of a Python number "
     "it "
     "is\nbool, int64, float64 or complex128, unless said otherwise." DYND_MADE},
    {"zeros_like", as_method<constant_function<0, true>>(), METH_FASTCALL | METH_KEYWORDS,
     "zeros_like(a, type=None, *, dtype=None, access=None)\n--\n\nZeros in the shape and type of an array." DYND_LIKE
     "\n\n>>> nd.zeros_like([[1, 2], [3]])\nnd.array([[0, 0], [0]], type=\"strided * var * int32\")"},
    {"ones_like", as_method<constant_function<1, true>>(), METH_FASTCALL | METH_KEYWORDS,
     "ones_like(a, type=None, *, dtype=None, access=None)\n--\n\nOnes in the shape and type of an array." DYND_LIKE},
    {"full_like", as_method<full_function<true>>(), METH_FASTCALL | METH_KEYWORDS,
     "full_like(a, fill_value, type=None, *, dtype=None, access=None)\n--\n\nOne value in the shape and type of an "
     "array." DYND_LIKE},
    {"empty", as_method<empty_function>(), METH_FASTCALL | METH_KEYWORDS,
     "empty(shape, type=None, *, dtype=None, access=\"rw\")\n--\n\nA writable array of a shape, or of a type with all "
     "sizes in it (\"3 * 4 * float64\").\n\nValues of numbers alone are not set. `var` rows are empty and get their "
     "length "
     "from the first assignment to them,\nall at once (a[...] = b) or row by row (a[0] = b; but a[0] alone is a view "
     "of a "
     "row with no elements). Strings are\nempty, what may be missing is missing, pointers point to nothing.\n\n"
     ">>> a = nd.empty(\"2 * var * int32\")\n>>> a[0] = [1, 2, 3]\n>>> a\n"
     "nd.array([[1, 2, 3], []], type=\"2 * var * int32\")\n>>> nd.empty(\"2 * {x: ?int32, hits: var * float64}\")\n"
     "nd.array([{\"x\": None, \"hits\": []}, {\"x\": None, \"hits\": []}], type=\"2 * {x: ?int32, hits: var * "
     "float64}\")"},
    {"empty_like", as_method<empty_like_function>(), METH_FASTCALL | METH_KEYWORDS,
     "empty_like(a, type=None, *, dtype=None, access=\"rw\")\n--\n\nA writable array in the shape and type of another, "
     "its "
     "values not set. A ragged array keeps its rows."},
    {"arange", as_method<arange_function>(), METH_FASTCALL | METH_KEYWORDS,
     "arange(start, stop=None, step=1, type=None, *, dtype=None, access=None)\n--\n\nstart, start + step, ... before "
     "stop; "
     "of one number, 0, 1, ... before it.\n\nint64 of integers, else float64, unless type or dtype says otherwise; "
     "NumPy's bits. Integers that do not fit the\ntype are an error.\n\n>>> nd.arange(1, 2, 0.25)\n"
     "nd.array([1.0, 1.25, 1.5, 1.75], type=\"strided * float64\")"},
    {"linspace", as_method<linspace_function>(), METH_FASTCALL | METH_KEYWORDS,
     "linspace(start, stop, num=50, *, endpoint=True, type=None, dtype=None, access=None)\n--\n\nnum values at equal "
     "distances from start to stop, which is the last one unless endpoint is False; NumPy's bits.\n\n"
     ">>> nd.linspace(0, 1, 5)\nnd.array([0.0, 0.25, 0.5, 0.75, 1.0], type=\"strided * float64\")"},
    {nullptr, nullptr, 0, nullptr}};

} // namespace

void add_creation(nb::module_ &m) { add_method_table(m, creations, "creations"); }

} // namespace binding

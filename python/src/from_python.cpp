// From Python values to arrays: new arrays, operands, and what is assigned.
#include "numbers.h"

#include <cmath>
#include <limits>

#include "dynd/array/layout.h"
#include "dynd/eval/evaluate.h"

namespace binding {

namespace {

// Inside of rows that may be missing too.
ndt::type with_element(const type_data *type, ndt::type element) {
  return ndt::with_dtype(ndt::type(type), has_missing_rows(type)
                                              ? ndt::make_option(with_element(type->dtype->element, element))
                                              : element);
}

} // namespace

ndt::type with_element(const nd::array &a, ndt::type element, const char *operation) {
  if (has_missing_rows(a->type) && element->ndim == 0 && path_ndim(element.get()) == 0) {
    return with_element(a->type, element);
  }
  if (path_ndim(element.get()) != path_ndim(a.type().dtype().get())) {
    throw error(error_kind::type, std::string(operation) + ": elements of type " + std::string(element.str()) +
                                      " have other dimensions than those of " + std::string(a.type().str()) +
                                      "; give the whole type");
  }
  return ndt::with_dtype(a.type(), element);
}

nd::array converted(const nd::array &from, ndt::type type, access_mode access) {
  type = !type ? from.type() : type->ndim == 0 ? with_element(from, type, "array") : type;
  if (ndt::with_dtype(from.type(), type.dtype()) != type) {
    throw error(error_kind::type, "array: cannot make " + std::string(type.str()) + " from " +
                                      std::string(from.type().str()) + ": the dimensions differ");
  }
  return nd::array(copy_values(from.get(), access, type.dtype()));
}

nd::array from_python(PyObject *values, ndt::type type, access_mode access, ndt::type if_none,
                      std::optional<error_mode> assigned) {
  if (is_array(values)) {
    return converted(unwrap(values), type, access);
  }
  if (makes_array(values)) {
    return converted(made_array(values), type, access);
  }
  bool is_bytes = PyByteArray_Check(values) && type && is_text(type->dtype->kind) && !is_string(type->dtype->kind);
  if (has_buffer(values) && !is_bytes) {
    nd::array view = is_masked(values) ? nd::array() : plain_view(values);
    return view ? converted(view, type, access) : copy_of_numpy(values, type, access);
  }
  bool number = PyFloat_CheckExact(values) || PyLong_CheckExact(values);
  if (number && (!type || type->kind == type_kind::scalar)) { // one number, without the search for more
    type = type ? type : ndt::make_scalar(scalar_for(kind_of(values)));
    ref<array_block> block = new_dense(type.get(), nullptr, access);
    store(block->values().address, type->scalar, values, "array", {});
    return nd::array(std::move(block));
  }
  if (!type || type->ndim == 0) {
    type = type_of_values(values, type, if_none, assigned && if_none);
  }
  return read_values(values, type, nullptr, access, assigned);
}

namespace {

// For a large integer, the float64 that gives what the integer itself would, where float64s are compared with
// it: the integer, or one of its two neighbours. No float64 equals an integer between them, as none equals NaN.
//   x < 10**20 + 1 where x < 10**20 + 2**14, x > 10**20 + 1 where x > 10**20; infinity is above all
double beside(PyObject *number, bool negative, comparison asked) {
  constexpr double most = std::numeric_limits<double>::max();
  double nearest = PyLong_AsDouble(number), below = nearest, above = nearest;
  if (PyErr_Occurred()) {
    PyErr_Clear();
    below = negative ? -HUGE_VAL : most;
    above = negative ? -most : HUGE_VAL;
  } else {
    nb::object rounded = steal(PyLong_FromDouble(nearest));
    above = PyObject_RichCompareBool(rounded.ptr(), number, Py_LT) ? std::nextafter(nearest, HUGE_VAL) : nearest;
    below = PyObject_RichCompareBool(rounded.ptr(), number, Py_GT) ? std::nextafter(nearest, -HUGE_VAL) : nearest;
  }
  if (below == above) {
    return nearest;
  }
  bool order = asked == comparison::less || asked == comparison::greater_equal;
  return order                                                             ? above
         : asked == comparison::less_equal || asked == comparison::greater ? below
                                                                           : std::numeric_limits<double>::quiet_NaN();
}

// A Python integer in a comparison, where the other type does not hold it: as int64 or uint64, whichever does, because
// these are compared exactly with integers and float64. Complex numbers are compared with float64.
nd::array to_comparand(PyObject *number, scalar_id other, comparison asked) {
  int overflow;
  long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0 && !is_complex(other)) {
    return nd::scalar_of(scalar_id::int64, &small);
  }
  if (overflow > 0 && !is_complex(other)) {
    unsigned long long large = PyLong_AsUnsignedLongLong(number);
    if (!PyErr_Occurred()) {
      return nd::scalar_of(scalar_id::uint64, &large);
    }
    PyErr_Clear();
  }
  double beyond = beside(number, overflow < 0, asked);
  return nd::scalar_of(scalar_id::float64, &beyond);
}

// Whether a type has an integer as a value; of a floating type, all up to it.
bool holds(scalar_id scalar, PyObject *number) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  int bits = 8 * scalar_size[size_t(scalar)];
  if (is_floating(scalar)) {
    long long most = 1LL << (bits == 16 ? 11 : bits == 32 ? 24 : 53);
    return overflow == 0 && value >= -most && value <= most;
  }
  if (is_signed_integer(scalar)) {
    return overflow == 0 && value >> (bits - 1) == value >> 63;
  }
  if (bits < 64) {
    return overflow == 0 && value >> bits == 0;
  }
  if (overflow == 0) {
    return value >= 0;
  }
  PyLong_AsUnsignedLongLong(number);
  bool past = PyErr_Occurred();
  PyErr_Clear();
  return !past;
}

} // namespace

nd::array missing_value(scalar_id scalar) {
  array_writer writer(ndt::make_option(ndt::make_scalar(scalar)));
  writer.add_nothing({ndt::make_option(ndt::make_scalar(scalar)).get()});
  return nd::array(writer.finish(access_mode::immutable));
}

bool makes_array(PyObject *object) {
  static PyObject *name = PyUnicode_InternFromString("__dynd_array__");
  return _PyType_Lookup(Py_TYPE(object), name); // for most objects, so without an exception
}

nd::array made_array(PyObject *object) {
  nb::object made = steal(PyObject_CallMethod(object, "__dynd_array__", nullptr));
  if (!is_array(made.ptr())) {
    throw error(error_kind::type, type_name(object) + ".__dynd_array__ returns no array");
  }
  return unwrap(made.ptr());
}

std::optional<comparison> asked_beside(const operation &entry, int i) {
  if (!entry.compares) {
    return {};
  }
  unsigned bits = unsigned(entry.relation); // less and greater change places
  return i == 1 ? entry.relation : comparison((bits & ~5u) | (bits & 1) << 2 | (bits & 4) >> 2);
}

bool is_operand(PyObject *object) {
  return is_array(object) || object == Py_None || PyObject_CheckBuffer(object) || is_list(object) ||
         PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) || PyUnicode_Check(object) ||
         PyDict_Check(object) || makes_array(object);
}

nd::array to_operand(PyObject *object, const nd::array *like, const char *operation, std::optional<comparison> asked) {
  if (is_array(object)) {
    return unwrap(object);
  }
  ndt::type element;                // of the other operand
  const type_data *other = nullptr; // the same below options: numbers are weak beside a number
  if (like) {
    element = ndt::type(elements_of_rows(like->get()->type));
    other = without_options(element.get());
    other = other->kind == type_kind::byteswap ? other->element : other;
  }
  bool beside_number = other && other->kind == type_kind::scalar;
  auto scalar_operand = [&](scalar_id scalar) { // what is too large for a floating type is its infinity
    error_mode mode = is_floating(scalar) || is_complex(scalar) ? error_mode::nocheck : error_mode::fractional;
    alignas(16) char value[max_scalar_size];
    store(value, scalar, object, operation, {}, mode);
    return nd::scalar_of(scalar, value);
  };
  if (asked && PyLong_CheckExact(object) && beside_number) {
    bool number = is_integer(other->scalar) || is_floating(other->scalar);
    if (!number || !holds(other->scalar, object)) {
      return to_comparand(object, other->scalar, *asked);
    }
  }
  // NumPy's float64 is a Python float too, but not a weak one: it has a buffer.
  bool number = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
  if (number && !PyObject_CheckBuffer(object)) {
    value_kind kind = kind_of(object);
    return scalar_operand(beside_number && kind != a_bool ? weakly_promoted(kind, other->scalar) : scalar_for(kind));
  }
  if (has_buffer(object)) {
    return view_of_buffer(object);
  }
  if (object == Py_None && beside_number) {
    return missing_value(other->scalar);
  }
  bool missing = object == Py_None && element;
  if (is_list(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object) || missing) {
    // A Python tuple is a list of elements, unless the elements are tuples.
    bool tuples = element && without_options(element.get())->kind == type_kind::tuple;
    return from_python(object, tuples ? element : ndt::type(), access_mode::immutable, element);
  }
  if (object == Py_None) {
    throw error(error_kind::type, std::string(operation) + ": None alone has no type; give one operand that has");
  }
  if (makes_array(object)) {
    return made_array(object);
  }
  throw error(error_kind::type, std::string(operation) + ": operand of type " + type_name(object) + " is not an array");
}

nb::object float_beyond(PyObject *value, const type_data *dtype) {
  dtype = without_options(dtype);
  dtype = dtype->kind == type_kind::byteswap ? dtype->element : dtype;
  bool real = dtype->kind == type_kind::scalar && (is_floating(dtype->scalar) || is_complex(dtype->scalar));
  return real && PyLong_Check(value) && kind_of(value) == a_large_integer ? steal(PyNumber_Float(value))
                                                                          : nb::borrow(value);
}

nd::array to_assigned(PyObject *value, const nd::array &target, error_mode mode) {
  bool scalars = target->has_scalars();
  if (value == Py_None && scalars) {
    std::string type(target.type().dtype().str());
    throw error(error_kind::type, "assign: None to " + type + ", which cannot be missing; ?" + type + " can");
  }
  nb::object number = float_beyond(value, target->type->dtype);
  value = number.ptr();
  bool is_value = PyUnicode_Check(value) || PyBytes_Check(value) || !PyObject_CheckBuffer(value);
  if ((scalars && !is_list(value)) || is_array(value) || !is_value) {
    return to_operand(value, nullptr, "assign");
  }
  ndt::type element = target.type().dtype();
  ndt::type type = without_options(element.get())->nfields ? element : ndt::type();
  return from_python(value, type, access_mode::immutable, target.type(), mode);
}

} // namespace binding

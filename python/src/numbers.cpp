#include "numbers.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/ops/isa.h"
#include "dynd/ops/refusal.h"

namespace binding {

namespace {

[[noreturn]] void too_large(PyObject *number, const place &where) {
  throw error(error_kind::overflow,
              "array: the integer " + integer_text(number) + " does not fit in 64 bits" + where.text());
}

value_kind kind_of_scalar(scalar_id s) {
  return s == scalar_id::bool_    ? a_bool
         : is_complex(s)          ? a_complex
         : is_floating(s)         ? a_float
         : s == scalar_id::uint64 ? a_uint64
                                  : an_int64;
}

// Where the scalars of one of NumPy's types hold their number. That is learned from the buffer that the first of them
// lends: asking each costs half a microsecond.
struct numpy_type {
  PyTypeObject *type;
  intptr_t offset; // from the object; 0 where it holds no number of ours
  scalar_id scalar;
};

numpy_type learn_numpy_type(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  numpy_type learned{type, 0, scalar_id::bool_};
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    forget_refusal();
    return learned;
  }
  intptr_t offset = static_cast<char *>(view.buf) - reinterpret_cast<char *>(object);
  bool inside = offset >= intptr_t(sizeof(PyObject)) && offset + view.itemsize <= type->tp_basicsize;
  if (view.ndim == 0 && inside && scalar_of_format(view, learned.scalar)) {
    learned.offset = offset;
  }
  PyBuffer_Release(&view);
  return learned;
}

} // namespace

numpy_number number_in(PyObject *object) {
  static std::vector<numpy_type> known; // under the interpreter's lock
  PyTypeObject *type = Py_TYPE(object);
  auto found = std::find_if(known.begin(), known.end(), [&](const numpy_type &n) { return n.type == type; });
  if (found == known.end()) {
    // Types that a program makes may come and go, or keep their number elsewhere.
    bool is_numpy = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && std::strncmp(type->tp_name, "numpy.", 6) == 0;
    if (!is_numpy || !PyObject_CheckBuffer(object) || PySequence_Check(object)) {
      return {};
    }
    found = known.insert(known.end(), learn_numpy_type(object));
  }
  return found->offset ? numpy_number{reinterpret_cast<const char *>(object) + found->offset, found->scalar}
                       : numpy_number{};
}

value_kind kind_of(PyObject *object) {
  if (PyBool_Check(object)) {
    return a_bool;
  }
  if (PyFloat_Check(object)) {
    return a_float;
  }
  if (PyLong_Check(object)) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow > 0) {
      unsigned long long large = PyLong_AsUnsignedLongLong(object);
      if (large == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return a_large_integer;
      }
      return a_uint64;
    }
    if (overflow < 0) {
      return a_large_integer;
    }
    return value == int32_t(value) ? an_int32 : an_int64;
  }
  if (PyComplex_Check(object)) {
    return a_complex;
  }
  if (PyUnicode_Check(object) || PyBytes_Check(object)) {
    return no_value;
  }
  if (is_array(object)) {
    const nd::array &a = unwrap(object);
    if (a.ndim() != 0 || !a->has_scalars()) {
      return no_value;
    }
    return kind_of_scalar(a->scalar());
  }
  if (numpy_number number = number_in(object); number.address) {
    return kind_of_scalar(number.scalar);
  }
  if (!PyNumber_Check(object) || PyObject_CheckBuffer(object)) {
    return no_value;
  }
  return PyIndex_Check(object) ? an_int64 : a_float;
}

scalar_id scalar_for(value_kind kind) {
  switch (kind) {
  case a_bool:
    return scalar_id::bool_;
  case an_int64:
    return scalar_id::int64;
  case a_uint64:
  case a_large_integer:
    return scalar_id::uint64;
  case a_float:
    return scalar_id::float64;
  case a_complex:
    return scalar_id::complex128;
  default:
    return scalar_id::int32;
  }
}

scalar_id weakly_promoted(value_kind kind, scalar_id own) {
  bool fits =
      kind <= a_bool || is_complex(own) || (kind <= a_float && is_floating(own)) || (kind < a_float && is_integer(own));
  return fits ? own : kind == a_complex && is_floating(own) ? complex_type(own) : promote(own, scalar_for(kind));
}

namespace {

double to_double(PyObject *object) {
  double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    throw nb::python_error();
  }
  return value;
}

// The number as the type that its kind has, for the conversion to start from.
scalar_id number_of(PyObject *object, value_kind kind, void *value) {
  auto put = [&](auto number) { std::memcpy(value, &number, sizeof(number)); };
  if (kind == a_bool) {
    int truth = PyObject_IsTrue(object);
    if (truth < 0) {
      throw nb::python_error();
    }
    put((unsigned char)truth);
    return scalar_id::bool_;
  }
  if (kind == a_float) {
    put(to_double(object));
    return scalar_id::float64;
  }
  if (kind == a_complex) {
    Py_complex number = PyComplex_AsCComplex(object);
    if (number.real == -1.0 && PyErr_Occurred()) {
      throw nb::python_error();
    }
    put(complex_of<double>{number.real, number.imag});
    return scalar_id::complex128;
  }
  nb::object number = steal(PyNumber_Index(object));
  int overflow;
  long long integer = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow) {
    put(PyLong_AsUnsignedLongLong(number.ptr()));
    if (PyErr_Occurred()) {
      throw nb::python_error();
    }
    return scalar_id::uint64;
  }
  put(integer);
  if (integer != int32_t(integer)) {
    return scalar_id::int64;
  }
  put(int32_t(integer));
  return scalar_id::int32;
}

} // namespace

void store(char *dst, scalar_id scalar, PyObject *object, const char *operation, const place &where, error_mode mode) {
  value_kind kind = kind_of(object);
  if (kind == a_large_integer) {
    if (!is_floating(scalar) && !is_complex(scalar)) {
      too_large(object, where);
    }
    kind = a_float;
  }
  if (kind == no_value) {
    bool text = PyUnicode_Check(object) || PyBytes_Check(object);
    throw error(error_kind::type, std::string(operation ? operation : "assign") + ": cannot make " +
                                      scalar_name[size_t(scalar)] + " from " + type_name(object) + where.text() +
                                      (text ? "; text becomes numbers by assignment or astype" : ""));
  }
  alignas(16) char value[max_scalar_size];
  numpy_number own = number_in(object);
  scalar_id from = own.address ? own.scalar : number_of(object, kind, value);
  if (own.address) {
    std::memcpy(value, own.address, scalar_size[size_t(from)]);
  }
  batch_fn convert = isa().convert_checked(mode, scalar, from);
  if (convert(dst, value, nullptr, nullptr, 1, nullptr) != 0) {
    refusal why = why_refused(scalar, from, value);
    throw error(why.kind, (operation ? std::string(operation) + ": " : "") + why.text + where.text());
  }
}

} // namespace binding

// From arrays to Python values.
#include "values.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/cursor.h"
#include "dynd/ops/isa.h"

namespace binding {

namespace {

PyObject *value_of(scalar_id scalar, const char *at) {
  auto read = [&]<class T>(T) {
    T result;
    std::memcpy(&result, at, sizeof(T));
    return result;
  };
  switch (scalar) {
  case scalar_id::bool_:
    return PyBool_FromLong(*at);
  case scalar_id::int8:
    return PyLong_FromLong(read(int8_t()));
  case scalar_id::int16:
    return PyLong_FromLong(read(int16_t()));
  case scalar_id::int32:
    return PyLong_FromLong(read(int32_t()));
  case scalar_id::int64:
    return PyLong_FromLongLong(read(int64_t()));
  case scalar_id::uint8:
    return PyLong_FromLong(read(uint8_t()));
  case scalar_id::uint16:
    return PyLong_FromLong(read(uint16_t()));
  case scalar_id::uint32:
    return PyLong_FromUnsignedLong(read(uint32_t()));
  case scalar_id::uint64:
    return PyLong_FromUnsignedLongLong(read(uint64_t()));
  case scalar_id::float16: {
    double value;
    isa().convert(scalar_id::float64, scalar)(&value, at, nullptr, nullptr, 1, nullptr);
    return PyFloat_FromDouble(value);
  }
  case scalar_id::complex64: {
    auto value = read(complex_of<float>());
    return PyComplex_FromDoubles(value.real, value.imag);
  }
  case scalar_id::complex128: {
    auto value = read(complex_of<double>());
    return PyComplex_FromDoubles(value.real, value.imag);
  }
  case scalar_id::float32:
    return PyFloat_FromDouble(read(float()));
  case scalar_id::float64:
    return PyFloat_FromDouble(read(double()));
  }
  return nullptr;
}

class value_builder {
public:
  explicit value_builder(bool structs_as_tuples) : tuples_(structs_as_tuples) {}

  nb::object value(const cursor &at) {
    switch (at.kind()) {
    case type_kind::scalar:
      return steal(value_of(at.scalar(), at.address()));
    case type_kind::byteswap: {
      char swapped[max_scalar_size];
      return steal(value_of(at.scalar(), at.value(swapped)));
    }
    case type_kind::string:
    case type_kind::bytes:
    case type_kind::fixed_string:
    case type_kind::fixed_bytes:
      return text(at);
    case type_kind::option:
      return at.is_there() ? value(at.inside()) : nb::none();
    case type_kind::pointer: {
      stream_room room;
      return at.is_null() ? nb::none() : value(at.target(room));
    }
    case type_kind::struct_:
      return tuples_ ? tuple(at) : dict(at);
    case type_kind::tuple:
      return tuple(at);
    default:
      return list(at);
    }
  }

private:
  nb::object text(const cursor &at) {
    std::string_view bytes = at.text();
    if (!is_string(at.kind())) {
      return steal(PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size())));
    }
    PyObject *made = PyUnicode_DecodeUTF8(bytes.data(), Py_ssize_t(bytes.size()), nullptr);
    if (!made && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
      PyErr_Clear();
      throw error(error_kind::value, "tolist: a string is not UTF-8" + where_.text());
    }
    return steal(made);
  }

  nb::object tuple(const cursor &at) {
    int count = at.part().type->nfields;
    nb::object made = steal(PyTuple_New(count));
    place::level level(where_);
    for (int i = 0; i < count; i++) {
      where_.at(i);
      PyTuple_SET_ITEM(made.ptr(), i, value(at.field(i)).release().ptr());
    }
    return made;
  }

  nb::object dict(const cursor &at) {
    const type_data *t = at.part().type;
    const std::vector<nb::object> &keys = keys_.of(t);
    nb::object made = steal(PyDict_New());
    place::level level(where_);
    for (int i = 0; i < t->nfields; i++) {
      where_.at(std::string_view(t->fields[i].name));
      nb::object field = value(at.field(i));
      if (PyDict_SetItem(made.ptr(), keys[size_t(i)].ptr(), field.ptr()) != 0) {
        throw nb::python_error();
      }
    }
    return made;
  }

  nb::object list(const cursor &at) {
    dimension row(at);
    nb::object made = steal(PyList_New(row.size()));
    if (row.element().type->kind == type_kind::scalar) {
      fill_numbers(made.ptr(), row);
      return made;
    }
    stream_room room;
    cursor element = row.enter(0, room);
    place::level level(where_);
    for (int64_t i = 0; i < row.size(); i++, row.next(room)) {
      poll_.step(1);
      where_.at(i);
      PyList_SET_ITEM(made.ptr(), i, value(element).release().ptr());
    }
    return made;
  }

  void fill_numbers(PyObject *list, const dimension &row) {
    scalar_id scalar = row.element().scalar();
    const char *at = row.first();
    intptr_t stride = row.stride();
    for (int64_t i = 0, end; i < row.size(); i = end) {
      end = std::min(row.size(), i + signal_poll::every);
      poll_.step(end - i);
      for (; i < end; i++, at += stride) {
        PyList_SET_ITEM(list, i, steal(value_of(scalar, at)).release().ptr());
      }
    }
  }

  bool tuples_;
  signal_poll poll_;
  place where_;
  field_keys keys_;
};

} // namespace

PyObject *to_values(const nd::array &a, bool structs_as_tuples) {
  stream_room room;
  return value_builder(structs_as_tuples).value({*a.eval().get(), room}).release().ptr();
}

PyObject *to_list(const nd::array &a) { return to_values(a, false); }

nb::object scalar_value(PyObject *self, const char *operation) {
  const nd::array &a = unwrap(self);
  if (a.ndim() != 0) {
    throw error(error_kind::type, std::string(operation) + ": only a zero-dimensional array has one value, not " +
                                      std::string(a.type().str()));
  }
  return steal(to_list(a));
}

} // namespace binding

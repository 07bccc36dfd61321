// From arrays to Python values.
#include "values.h"

#include <cstring>

#include "dynd/array/rows.h"
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
  value_builder(const array_block &block, bool structs_as_tuples) : block_(block), tuples_(structs_as_tuples) {}

  // The value of a part whose streams stand at `at`; at[0] is the part's first.
  nb::object value(const type_part &part, char *const *at) {
    const type_data *t = part.type;
    switch (t->kind) {
    case type_kind::scalar:
      return checked(value_of(t->scalar, at[0]));
    case type_kind::byteswap: {
      char swapped[max_scalar_size];
      std::memcpy(swapped, at[0], scalar_size[size_t(t->element->scalar)]);
      swap_bytes(swapped, t->element->scalar);
      return checked(value_of(t->element->scalar, swapped));
    }
    case type_kind::string:
    case type_kind::bytes:
      return text(part, at);
    case type_kind::option:
      return *at[0] ? value(part.element(), at + 1) : nb::none();
    case type_kind::pointer: {
      int64_t index;
      std::memcpy(&index, at[0], sizeof(index));
      if (index < 0) {
        return nb::none();
      }
      char *inner[max_type_streams];
      move_streams(block_, part.element(), part.dim, index, at + 1, inner);
      return value(part.element(), inner);
    }
    case type_kind::tuple:
    case type_kind::struct_:
      return t->kind == type_kind::struct_ && !tuples_ ? dict(part, at) : tuple(part, at);
    default:
      return list(part, at);
    }
  }

private:
  static nb::object checked(PyObject *made) {
    if (!made) {
      throw nb::python_error();
    }
    return nb::steal(made);
  }

  nb::object text(const type_part &part, char *const *at) {
    row_extent row = read_slot(at[0], block_.streams()[part.stream].kind);
    const char *bytes = at[1] + row.start;
    if (part.type->kind == type_kind::bytes) {
      return checked(PyBytes_FromStringAndSize(bytes, row.size));
    }
    PyObject *made = PyUnicode_DecodeUTF8(bytes, row.size, nullptr);
    if (!made && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
      PyErr_Clear();
      throw error(error_kind::value, "tolist: a string is not UTF-8" + where_.text());
    }
    return checked(made);
  }

  nb::object tuple(const type_part &part, char *const *at) {
    const type_data *t = part.type;
    nb::object made = checked(PyTuple_New(t->nfields));
    place::level level(where_);
    for (int i = 0; i < t->nfields; i++) {
      where_.at(i);
      PyTuple_SET_ITEM(made.ptr(), i, value(part.field(i), at + t->fields[i].stream).release().ptr());
    }
    return made;
  }

  nb::object dict(const type_part &part, char *const *at) {
    const type_data *t = part.type;
    const std::vector<nb::object> &keys = keys_.of(t);
    nb::object made = checked(PyDict_New());
    place::level level(where_);
    for (int i = 0; i < t->nfields; i++) {
      where_.at(std::string_view(t->fields[i].name));
      nb::object field = value(part.field(i), at + t->fields[i].stream);
      if (PyDict_SetItem(made.ptr(), keys[size_t(i)].ptr(), field.ptr()) != 0) {
        throw nb::python_error();
      }
    }
    return made;
  }

  nb::object list(const type_part &part, char *const *at) {
    bool var = part.type->kind == type_kind::var_dim;
    row_extent row = {0, block_.size()[part.dim]};
    int32_t step = 1;
    if (var) {
      row = read_slot(at[0], block_.streams()[part.stream].kind);
      step = block_.streams()[part.stream].step;
    }
    type_part element = part.element();
    nb::object made = checked(PyList_New(row.size));
    if (element.type->kind == type_kind::scalar) {
      intptr_t stride = block_.strides(element.stream)[part.dim];
      const char *first = at[var] + row.start * start_unit(stride, step);
      for (int64_t i = 0; i < row.size; i++) {
        PyList_SET_ITEM(made.ptr(), i, checked(value_of(element.type->scalar, first + i * stride)).release().ptr());
      }
      return made;
    }
    char *inner[max_type_streams];
    place::level level(where_);
    for (int64_t i = 0; i < row.size; i++) {
      where_.at(i);
      move_streams(block_, element, part.dim, i, at + var, inner, row.start, step);
      PyList_SET_ITEM(made.ptr(), i, value(element, inner).release().ptr());
    }
    return made;
  }

  const array_block &block_;
  bool tuples_;
  place where_;
  field_keys keys_;
};

} // namespace

PyObject *to_values(const nd::array &a, bool structs_as_tuples) {
  array_block &block = *a.eval().get();
  char *at[max_type_streams];
  for (int s = 0; s < block.nstreams; s++) {
    at[s] = block.streams()[s].address;
  }
  return value_builder(block, structs_as_tuples).value({block.type}, at).release().ptr();
}

PyObject *to_list(const nd::array &a) { return to_values(a, false); }

} // namespace binding

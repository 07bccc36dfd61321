// From arrays to Python values.
#include "binding.h"

#include <cstring>

#include "dynd/array/rows.h"
#include "dynd/ops/level.h"

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
    level().convert[size_t(scalar_id::float64)][size_t(scalar)](&value, at, nullptr, nullptr, 1, nullptr);
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

PyObject *list_of(const array_block &block, int axis, char *const *at) {
  if (axis == block.ndim) {
    return value_of(block.scalar(), at[block.nstreams - 1]);
  }
  dimension_walk dimension(block, axis, at);
  PyObject *list = PyList_New(dimension.size());
  if (!list) {
    return nullptr;
  }
  char *inner[max_ndim + 1];
  for (int64_t i = 0; i < dimension.size(); i++) {
    dimension.enter(i, inner);
    PyObject *item = list_of(block, axis + 1, inner);
    if (!item) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, i, item);
  }
  return list;
}

} // namespace

PyObject *to_list(const nd::array &a) {
  array_block &block = *a.eval().get();
  char *at[max_ndim + 1];
  for (int s = 0; s < block.nstreams; s++) {
    at[s] = block.streams()[s].address;
  }
  return list_of(block, 0, at);
}

} // namespace binding

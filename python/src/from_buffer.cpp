// Views of memory that Python objects lend: the buffer protocol.
#include "values.h"

#include <cstring>

namespace binding {

bool scalar_of_format(const Py_buffer &view, scalar_id &scalar) {
  const char *format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=' || *format == '<') {
    format++;
  }
  bool complex = *format == 'Z';
  format += complex;
  if (format[0] == 0 || format[1] != 0 || (complex && *format != 'f' && *format != 'd')) {
    return false;
  }
  bool is_signed = std::strchr("bhilqn", *format), is_unsigned = std::strchr("BHILQN", *format);
  if (*format == '?') {
    scalar = scalar_id::bool_;
  } else if (*format == 'e') {
    scalar = scalar_id::float16;
  } else if (*format == 'f' || *format == 'd') {
    scalar = *format == 'f' ? scalar_id::float32 : scalar_id::float64;
    scalar = complex ? complex_type(scalar) : scalar;
  } else if (is_signed || is_unsigned) {
    scalar_id first = is_signed ? scalar_id::int8 : scalar_id::uint8;
    scalar = scalar_id(size_t(first) + size_t(__builtin_ctzl(size_t(view.itemsize))));
  } else {
    return false;
  }
  return size_t(view.itemsize) == scalar_size[size_t(scalar)];
}

namespace {

void release_buffer(void *context) {
  auto *view = static_cast<Py_buffer *>(context);
  give_back([&] { PyBuffer_Release(view); });
  delete view;
}

} // namespace

nd::array plain_view(PyObject *object) {
  auto *view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    delete view;
    PyErr_Clear();
    return nd::array();
  }
  ref<buffer> memory = adopt_memory(view->buf, size_t(view->len), release_buffer, view);
  // An exporter may leave out what follows from the length: one dimension, or C order.
  intptr_t length = view->itemsize ? view->len / view->itemsize : 0;
  const Py_ssize_t *shape = view->shape ? view->shape : &length;
  Py_ssize_t c_order[max_ndim];
  scalar_id scalar;
  if (!scalar_of_format(*view, scalar) || (scalar == scalar_id::uint8 && is_time(object))) {
    if (!PyObject_HasAttrString(object, "dtype")) {
      throw error(error_kind::type, "asarray: no type for elements of format '" +
                                        std::string(view->format ? view->format : "") + "' and " +
                                        std::to_string(view->itemsize) + " bytes");
    }
    return nd::array();
  }
  if (view->ndim > max_ndim) {
    throw error(error_kind::value, "asarray: more than 32 dimensions");
  }
  ndt::type type = ndt::make_scalar(scalar);
  for (int d = 0; d < view->ndim; d++) {
    type = ndt::make_strided_dim(type);
  }
  access_mode access = view->readonly ? access_mode::readonly : access_mode::readwrite;
  intptr_t chained = view->itemsize, count = 1;
  bool dense = true;
  for (int d = view->ndim - 1; d >= 0; d--) {
    c_order[d] = chained;
    dense &= shape[d] == 1 || !view->strides || view->strides[d] == chained;
    chained *= shape[d];
    count *= shape[d];
  }
  const Py_ssize_t *strides = view->strides ? view->strides : c_order;
  ref<array_block> block = new_block(type.get(), access, dense || count == 0 ? flag_dense : 0);
  for (int d = 0; d < view->ndim; d++) {
    block->size()[d] = shape[d];
    block->value_strides()[d] = strides[d];
  }
  block->count = count;
  block->values() = {static_cast<char *>(view->buf), memory.take(), slot_kind::none};
  return nd::array(std::move(block));
}

nd::array view_of_buffer(PyObject *object) {
  if (is_masked(object)) { // what it hides would be taken for values
    throw error(error_kind::type, "asarray: a masked array (" + type_name(object) +
                                      ") would lose its mask; pass x.filled(value), or copy it as ?T with nd.array(x)");
  }
  nd::array view = plain_view(object);
  return view ? view : view_of_numpy(object);
}

} // namespace binding

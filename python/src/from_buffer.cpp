// Views of memory that Python objects lend: the buffer protocol, and NumPy's arrays as they are.
#include "values.h"

#include <bit>
#include <cstring>

#include "dynd/plan/overlap.h"

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
  auto size = size_t(view.itemsize);
  if (*format == '?') {
    scalar = scalar_id::bool_;
  } else if (*format == 'e') {
    scalar = scalar_id::float16;
  } else if (*format == 'f' || *format == 'd') {
    scalar = *format == 'f' ? scalar_id::float32 : scalar_id::float64;
    scalar = complex ? complex_type(scalar) : scalar;
  } else if ((is_signed || is_unsigned) && size <= 8 && std::has_single_bit(size)) {
    scalar_id first = is_signed ? scalar_id::int8 : scalar_id::uint8;
    scalar = scalar_id(size_t(first) + size_t(__builtin_ctzl(size)));
  } else {
    return false;
  }
  return size == scalar_size[size_t(scalar)];
}

namespace {

// How an array of NumPy begins, since its first version.
struct ndarray_fields {
  PyObject_HEAD char *data;
  int ndim;
  Py_ssize_t *shape, *strides;
  PyObject *base, *dtype;
  int flags;
};
constexpr int is_writable = 0x0400, warns_on_write = int(0x80000000u); // of its flags

// That it does is learned from an array that says the same by the buffer protocol; to ask each costs 100 ns. The dtypes
// are the one object that NumPy has for each type; arrays with others, of the other byte order or with metadata, are
// asked.
struct ndarray_layout {
  PyTypeObject *type = nullptr; // null where it is another one
  PyObject *dtype[scalar_count] = {};

  explicit ndarray_layout(PyTypeObject *of) {
    nb::module_ numpy = nb::module_::import_("numpy");
    nb::object probe = numpy.attr("zeros")(nb::make_tuple(2, 3), "int16")
                           .attr("__getitem__")(nb::make_tuple(nb::slice(nb::none(), nb::none(), nb::int_(-1)),
                                                               nb::slice(nb::none(), nb::int_(2), nb::none())));
    const auto *fields = reinterpret_cast<ndarray_fields *>(probe.ptr());
    Py_buffer view;
    if (Py_TYPE(probe.ptr()) != of || size_t(of->tp_basicsize) < sizeof(ndarray_fields) ||
        PyObject_GetBuffer(probe.ptr(), &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
      PyErr_Clear();
      return;
    }
    auto same = [](const Py_ssize_t *a, const Py_ssize_t *b) { return a[0] == b[0] && a[1] == b[1]; };
    bool is_known = fields->data == view.buf && fields->ndim == 2 && same(fields->shape, view.shape) &&
                    same(fields->strides, view.strides) && fields->dtype == probe.attr("dtype").ptr() &&
                    (fields->flags & is_writable);
    PyBuffer_Release(&view);
    probe.attr("setflags")(nb::arg("write") = false);
    if (!is_known || (fields->flags & is_writable)) {
      return;
    }
    for (size_t i = 0; i < scalar_count; i++) {
      dtype[i] = numpy.attr("dtype")(scalar_name[i]).release().ptr();
    }
    type = of;
  }
};

void release_buffer(void *context) {
  auto *view = static_cast<Py_buffer *>(context);
  give_back([&] { PyBuffer_Release(view); });
  delete view;
}

nd::array view_of(const lent_numbers &lent, ref<buffer> memory) {
  if (lent.ndim > max_ndim) {
    throw error(error_kind::value, "asarray: more than " + std::to_string(max_ndim) + " dimensions");
  }
  ndt::type type = ndt::make_scalar(lent.scalar);
  for (int d = 0; d < lent.ndim; d++) {
    type = ndt::make_strided_dim(type);
  }
  access_mode access = lent.readonly ? access_mode::readonly : access_mode::readwrite;
  intptr_t chained = scalar_size[size_t(lent.scalar)];
  ref<array_block> block = new_block(type.get(), access, 0);
  for (int d = lent.ndim - 1; d >= 0; d--) {
    block->size()[d] = lent.shape[d];
    block->value_strides()[d] = lent.strides ? lent.strides[d] : chained; // an exporter may leave out what follows
    chained *= lent.shape[d];
  }
  block->values() = {lent.data, memory.take(), slot_kind::none};
  note_density(*block);
  return nd::array(std::move(block));
}

} // namespace

void release_object(void *object) {
  give_back([&] { Py_DECREF(static_cast<PyObject *>(object)); });
}

ref<buffer> adopt_extent(const char *address, int ndim, const intptr_t *shape, const intptr_t *strides, intptr_t item,
                         void (*give_back)(void *), void *context) {
  touched all = touched_bytes(address, {shape, size_t(ndim)}, strides, item);
  return adopt_memory(reinterpret_cast<void *>(all.low), all.high - all.low, give_back, context);
}

lent_numbers numbers_of_numpy(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  static PyTypeObject *ndarray = nullptr; // under the interpreter's lock
  if (type != ndarray) {
    if (ndarray || (type->tp_flags & Py_TPFLAGS_HEAPTYPE) || std::strcmp(type->tp_name, "numpy.ndarray") != 0) {
      return {};
    }
    ndarray = type;
  }
  static const ndarray_layout layout(type);
  if (!layout.type) {
    return {};
  }
  const auto *fields = reinterpret_cast<ndarray_fields *>(object);
  for (size_t i = 0; i < scalar_count; i++) {
    if (fields->dtype == layout.dtype[i]) {
      bool readonly = !(fields->flags & is_writable) || (fields->flags & warns_on_write);
      return {fields->data, fields->ndim, fields->shape, fields->strides, scalar_id(i), readonly};
    }
  }
  return {};
}

void forget_refusal() {
  for (PyObject *refusal : {PyExc_BufferError, PyExc_TypeError, PyExc_ValueError}) {
    if (PyErr_ExceptionMatches(refusal)) {
      return PyErr_Clear();
    }
  }
  throw nb::python_error();
}

nd::array plain_view(PyObject *object) {
  if (lent_numbers numbers = numbers_of_numpy(object); numbers.ndim >= 0) {
    Py_INCREF(object);
    return view_of(numbers, adopt_extent(numbers.data, numbers.ndim, numbers.shape, numbers.strides,
                                         scalar_size[size_t(numbers.scalar)], release_object, object));
  }
  auto *view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    delete view;
    forget_refusal();
    return nd::array();
  }
  auto *address = static_cast<char *>(view->buf);
  ref<buffer> memory = view->strides ? adopt_extent(address, view->ndim, view->shape, view->strides, view->itemsize,
                                                    release_buffer, view)
                                     : adopt_memory(address, size_t(view->len), release_buffer, view);
  intptr_t length = view->itemsize ? view->len / view->itemsize : 0;
  lent_numbers numbers{address,       view->ndim,       view->shape ? view->shape : &length,
                       view->strides, scalar_id::bool_, view->readonly != 0};
  if (!scalar_of_format(*view, numbers.scalar) || (numbers.scalar == scalar_id::uint8 && is_time(object))) {
    if (!PyObject_HasAttrString(object, "dtype")) {
      throw error(error_kind::type, "asarray: no type for elements of format '" +
                                        std::string(view->format ? view->format : "") + "' and " +
                                        std::to_string(view->itemsize) + " bytes");
    }
    return nd::array();
  }
  return view_of(numbers, std::move(memory));
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

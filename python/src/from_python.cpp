// From Python values to arrays: nested lists, scalars, the buffer protocol.
#include "binding.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/eval/evaluate.h"
#include "dynd/ops/level.h"

namespace binding {

namespace {

std::string type_name(PyObject *object) { return Py_TYPE(object)->tp_name; }

bool is_list(PyObject *object) { return PyList_Check(object) || PyTuple_Check(object); }

// ---- what the values are ------------------------------------------------------------------------------------------

// A scalar's kind, or -1: bool, integer (fits 32 bits, 64, unsigned 64), floating, complex.
enum value_kind { no_value = -1, a_bool, an_int32, an_int64, a_uint64, a_float, a_complex };

[[noreturn]] void too_large(PyObject *number) {
  throw error(error_kind::overflow,
              "array: the integer " + std::string(nb::str(nb::handle(number)).c_str()) + " does not fit in 64 bits");
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
        too_large(object);
      }
      return a_uint64;
    }
    if (overflow < 0) {
      too_large(object);
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
    if (a.ndim() != 0) {
      return no_value;
    }
    scalar_id s = a->scalar();
    return s == scalar_id::bool_    ? a_bool
           : is_complex(s)          ? a_complex
           : is_floating(s)         ? a_float
           : s == scalar_id::uint64 ? a_uint64
                                    : an_int64;
  }
  if (PyObject_CheckBuffer(object) == 0 && PyNumber_Check(object)) {
    return PyIndex_Check(object) ? an_int64 : a_float;
  }
  // NumPy's scalars have a buffer too.
  if (PyNumber_Check(object) && !PySequence_Check(object)) {
    nb::object name = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)), "__name__"));
    if (!name.is_valid()) {
      PyErr_Clear();
    } else if (std::string_view(nb::str(name).c_str()).starts_with("bool")) {
      return a_bool;
    } else if (std::string_view(nb::str(name).c_str()).starts_with("complex")) {
      return a_complex;
    }
    return PyIndex_Check(object) ? an_int64 : a_float;
  }
  return no_value;
}

scalar_id scalar_for(value_kind kind) {
  switch (kind) {
  case a_bool:
    return scalar_id::bool_;
  case an_int64:
    return scalar_id::int64;
  case a_uint64:
    return scalar_id::uint64;
  case a_float:
    return scalar_id::float64;
  case a_complex:
    return scalar_id::complex128;
  default:
    return scalar_id::int32;
  }
}

// A Python number beside an element type: within its kind the type wins, and a complex number only adds the imaginary
// component to a floating type.
scalar_id weakly_promoted(value_kind kind, scalar_id own) {
  bool fits =
      kind <= a_bool || is_complex(own) || (kind <= a_float && is_floating(own)) || (kind < a_float && is_integer(own));
  return fits ? own : kind == a_complex && is_floating(own) ? complex_type(own) : promote(own, scalar_for(kind));
}

// What stands for a list inside a list: an array, a buffer with dimensions, a range. A new list, or the list itself.
nb::object as_list(PyObject *object) {
  if (is_list(object)) {
    return nb::borrow(object);
  }
  if (PyRange_Check(object)) {
    return nb::steal(PySequence_List(object));
  }
  bool ours = is_array(object);
  if (!ours && (!PyObject_CheckBuffer(object) || PyBytes_Check(object))) {
    return nb::object();
  }
  nd::array a = ours ? unwrap(object) : view_of_buffer(object);
  return a.ndim() > 0 ? nb::steal(to_list(a)) : nb::object();
}

// Calls f for every item; the list may be changed by what f calls into.
template <class F> void for_each_item(PyObject *list, F f) {
  Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < size; i++) {
    if (PySequence_Fast_GET_SIZE(list) != size) {
      throw error(error_kind::value, "array: a list changed its length while it was read");
    }
    nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(list, i));
    f(item.ptr());
  }
}

// Lengths of the lists at each depth, and the widest kind of scalar; all scalars must be at one depth.
struct survey {
  int depth = -1;               // of the scalars
  std::vector<intptr_t> length; // of the lists at each depth; -1 where they differ
  value_kind kind = no_value;   // of Python numbers, which are weak
  bool typed = false;           // some elements have a type of their own
  scalar_id strong = scalar_id::bool_;

  void visit(PyObject *object, int at) {
    if (nb::object list = as_list(object); list.is_valid()) {
      note_type(object);
      visit_list(list.ptr(), at);
      return;
    }
    value_kind own = kind_of(object);
    if (own == no_value) {
      throw error(error_kind::type, "array: cannot make an element from " + type_name(object));
    }
    if (depth >= 0 && depth != at) {
      throw error(error_kind::value, "array: values at different depths, " + std::to_string(depth) + " and " +
                                         std::to_string(at) + " lists deep");
    }
    depth = at;
    if (!note_type(object)) {
      kind = own > kind ? own : kind;
    }
  }

  // The type of the elements: Python numbers give way to elements that have one, within their kind.
  scalar_id scalar() const {
    if (!typed) {
      return scalar_for(kind);
    }
    return weakly_promoted(kind, strong);
  }

private:
  void visit_list(PyObject *list, int at) {
    if (at >= max_ndim) {
      throw error(error_kind::value, "array: more than 32 dimensions");
    }
    intptr_t size = PySequence_Fast_GET_SIZE(list);
    if (intptr_t(length.size()) == at) {
      length.push_back(size);
    } else if (length[size_t(at)] != size) {
      length[size_t(at)] = -1;
    }
    for_each_item(list, [&](PyObject *item) { visit(item, at + 1); });
  }

  // An array, or a NumPy value. False for what has no type.
  bool note_type(PyObject *object) {
    if (!is_array(object) && (!PyObject_CheckBuffer(object) || PyBytes_Check(object))) {
      return false;
    }
    scalar_id own = is_array(object) ? unwrap(object)->scalar() : view_of_buffer(object)->scalar();
    strong = typed ? promote(strong, own) : own;
    return typed = true;
  }
};

// ---- one element --------------------------------------------------------------------------------------------------

template <class T> T to_integer(PyObject *object, const char *name, const std::string &who) {
  nb::object number = nb::steal(PyNumber_Index(object));
  if (!number.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
      throw nb::python_error();
    }
    PyErr_Clear();
    // A float without a fraction is an integer too.
    double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      throw error(error_kind::type, who + ": cannot make " + name + " from " + type_name(object));
    }
    if (std::floor(value) != value) {
      throw error(error_kind::value, who + ": fractional part lost while assigning float64 value " +
                                         std::string(nb::str(nb::handle(object)).c_str()) + " to " + name);
    }
    number = nb::steal(PyLong_FromDouble(value));
  }
  bool fits;
  T result;
  if constexpr (std::is_unsigned_v<T>) {
    unsigned long long value = PyLong_AsUnsignedLongLong(number.ptr());
    fits = !PyErr_Occurred() && value == (unsigned long long)T(value);
    result = T(value);
  } else {
    long long value = PyLong_AsLongLong(number.ptr());
    fits = !PyErr_Occurred() && value == (long long)T(value);
    result = T(value);
  }
  if (!fits) {
    PyErr_Clear();
    throw error(error_kind::overflow,
                who + ": overflow while assigning int value " + std::string(nb::str(number).c_str()) + " to " + name);
  }
  return result;
}

double to_double(PyObject *object, const char *name, const std::string &who) {
  double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    bool overflow = PyErr_ExceptionMatches(PyExc_OverflowError);
    if (!overflow && !PyErr_ExceptionMatches(PyExc_TypeError)) {
      throw nb::python_error();
    }
    PyErr_Clear();
    throw error(overflow ? error_kind::overflow : error_kind::type,
                who + ": cannot make " + name + " from " + type_name(object));
  }
  return value;
}

complex_of<double> to_complex(PyObject *object, const char *name, const std::string &who) {
  Py_complex value = PyComplex_AsCComplex(object);
  if (value.real == -1.0 && PyErr_Occurred()) {
    bool overflow = PyErr_ExceptionMatches(PyExc_OverflowError);
    if (!overflow && !PyErr_ExceptionMatches(PyExc_TypeError)) {
      throw nb::python_error();
    }
    PyErr_Clear();
    throw error(overflow ? error_kind::overflow : error_kind::type,
                who + ": cannot make " + name + " from " + type_name(object));
  }
  return {value.real, value.imag};
}

void store(char *dst, scalar_id scalar, PyObject *object, const std::string &who) {
  const char *name = scalar_name[size_t(scalar)];
  auto put = [&](auto value) { std::memcpy(dst, &value, sizeof(value)); };
  switch (scalar) {
  case scalar_id::bool_: {
    int truth = PyObject_IsTrue(object);
    if (truth < 0) {
      throw nb::python_error();
    }
    return put((unsigned char)truth);
  }
  case scalar_id::float16: {
    double value = to_double(object, name, who);
    level().convert[size_t(scalar)][size_t(scalar_id::float64)](dst, &value, nullptr, nullptr, 1, nullptr);
    return;
  }
  case scalar_id::complex64: {
    complex_of<double> value = to_complex(object, name, who);
    return put(complex_of<float>{float(value.real), float(value.imag)});
  }
  case scalar_id::complex128:
    return put(to_complex(object, name, who));
  case scalar_id::float32:
    return put(float(to_double(object, name, who)));
  case scalar_id::float64:
    return put(to_double(object, name, who));
#define DYND_INTEGER(id, ctype)                                                                                        \
  case scalar_id::id:                                                                                                  \
    return put(to_integer<ctype>(object, name, who));
    DYND_INTEGER(int8, int8_t)
    DYND_INTEGER(int16, int16_t)
    DYND_INTEGER(int32, int32_t)
    DYND_INTEGER(int64, int64_t)
    DYND_INTEGER(uint8, uint8_t)
    DYND_INTEGER(uint16, uint16_t)
    DYND_INTEGER(uint32, uint32_t)
    DYND_INTEGER(uint64, uint64_t)
#undef DYND_INTEGER
  }
}

// ---- lists --------------------------------------------------------------------------------------------------------

class list_reader {
public:
  list_reader(ndt::type type, const survey &seen) : type_(type) {
    const type_data *t = type.get();
    for (int d = 0; d < type->ndim; d++, t = t->element) {
      intptr_t found = d < int(seen.length.size()) ? seen.length[size_t(d)] : 1;
      // A dimension that no list reached has size 1 below rows, none of which exist.
      size_[d] = t->kind == type_kind::var_dim ? -1 : t->kind == type_kind::fixed_dim ? t->size : found;
      if (t->kind == type_kind::strided_dim && found < 0) {
        throw error(error_kind::value, "array: lists of different lengths " + std::to_string(d) +
                                           " deep do not fit the strided dimension of " + std::string(type.str()));
      }
      if (size_[d] < 0) {
        offsets_.push_back({0});
        slot_[d] = int(offsets_.size()) - 1;
      }
    }
  }

  nd::array read(PyObject *values, access_mode access) {
    visit(values, 0);
    size_t item = scalar_size[size_t(type_->scalar)];
    ref<array_block> block = offsets_.empty() ? new_dense(type_.get(), size_, access) : build_ragged(access, item);
    if (!values_.empty()) {
      std::memcpy(block->values().address, values_.data(), values_.size());
    }
    return nd::array(std::move(block));
  }

private:
  void visit(PyObject *object, int d) {
    if (d == type_->ndim) {
      if (is_list(object)) {
        throw error(error_kind::value, "array: a list where " + std::string(type_.str()) + " has a scalar");
      }
      size_t at = values_.size();
      values_.resize(at + scalar_size[size_t(type_->scalar)]);
      store(values_.data() + at, type_->scalar, object, "array");
      return;
    }
    nb::object list = as_list(object);
    if (!list.is_valid()) {
      throw error(error_kind::value, "array: a value of type " + type_name(object) + " where " +
                                         std::string(type_.str()) + " has a dimension");
    }
    intptr_t size = PySequence_Fast_GET_SIZE(list.ptr());
    if (size_[d] < 0) {
      std::vector<int64_t> &offsets = offsets_[size_t(slot_[d])];
      offsets.push_back(offsets.back() + size);
    } else if (size != size_[d]) {
      throw error(error_kind::value, "array: a list of length " + std::to_string(size) + " does not fit size " +
                                         std::to_string(size_[d]) + " at axis " + std::to_string(d));
    }
    for_each_item(list.ptr(), [&](PyObject *item) { visit(item, d + 1); });
  }

  ref<array_block> build_ragged(access_mode access, size_t item) {
    uint8_t flags = access == access_mode::immutable ? flag_ours : 0;
    ref<array_block> block = new_block(type_.get(), access, flags);
    int ndim = type_->ndim, outer = -1, s = 0;
    for (int d = 0; d < ndim; d++) {
      block->size()[d] = size_[d];
    }
    for (int d = 0; d < ndim; d++) {
      if (size_[d] >= 0) {
        continue;
      }
      const std::vector<int64_t> &offsets = offsets_[size_t(slot_[d])];
      ref<buffer> memory = allocate_buffer(offsets.size() * sizeof(int64_t));
      std::memcpy(memory->data, offsets.data(), offsets.size() * sizeof(int64_t));
      set_strides(block->strides(s), d, outer, sizeof(int64_t));
      block->streams()[s].address = memory->data;
      block->streams()[s].kind = slot_kind::offsets64;
      block->streams()[s].owner = memory.take();
      outer = d;
      s++;
    }
    set_strides(block->strides(s), ndim, outer, intptr_t(item));
    give_values(block.get(), values_.size());
    return block;
  }

  // The stream of what is at axis `end` (ndim: the values): nothing outside the `var` axis above it, chained below.
  void set_strides(intptr_t *stride, int end, int outer, intptr_t item) {
    for (int d = type_->ndim - 1; d >= 0; d--) {
      stride[d] = d >= end || d < outer ? 0 : item;
      if (d < end && d > outer) {
        item *= size_[d];
      }
    }
  }

  ndt::type type_;
  intptr_t size_[max_ndim];
  int slot_[max_ndim];
  std::vector<std::vector<int64_t>> offsets_;
  std::vector<char> values_;
};

ndt::type deduced_type(const survey &seen, scalar_id scalar) {
  ndt::type type = ndt::make_scalar(scalar);
  for (size_t d = seen.length.size(); d-- > 0;) {
    type = d > 0 && seen.length[d] < 0 ? ndt::make_var_dim(type) : ndt::make_strided_dim(type);
  }
  return type;
}

// ---- the buffer protocol ------------------------------------------------------------------------------------------

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

void release_buffer(void *context) {
  auto *view = static_cast<Py_buffer *>(context);
  if (Py_IsInitialized()) { // after the end of the interpreter the memory is gone with it
    PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(view);
    PyGILState_Release(state);
  }
  delete view;
}

} // namespace

// A NumPy array with a mask: what it hides would be taken for values.
void refuse_mask(PyObject *object) {
  for (PyTypeObject *type = Py_TYPE(object); type; type = type->tp_base) {
    if (std::strcmp(type->tp_name, "MaskedArray") == 0) {
      throw error(error_kind::type, "asarray: a masked array (" + type_name(object) +
                                        ") would lose its mask; pass x.filled(value), or x.data and x.mask");
    }
  }
}

nd::array view_of_buffer(PyObject *object) {
  refuse_mask(object);
  auto *view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    delete view;
    PyErr_Clear();
    nb::object dtype = nb::steal(PyObject_GetAttrString(object, "dtype"));
    PyErr_Clear();
    throw error(error_kind::type, "asarray: cannot make an array from " + type_name(object) +
                                      (dtype.is_valid() ? " of dtype " + std::string(nb::str(dtype).c_str()) : ""));
  }
  ref<buffer> memory = adopt_memory(view->buf, size_t(view->len), release_buffer, view);
  // An exporter may leave out what follows from the length: one dimension, or C order.
  intptr_t length = view->itemsize ? view->len / view->itemsize : 0;
  const Py_ssize_t *shape = view->shape ? view->shape : &length;
  Py_ssize_t c_order[max_ndim];
  scalar_id scalar;
  if (!scalar_of_format(*view, scalar)) {
    throw error(error_kind::type, "asarray: no type for elements of format '" +
                                      std::string(view->format ? view->format : "") + "' and " +
                                      std::to_string(view->itemsize) + " bytes");
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

ndt::type with_scalar(ndt::type type, scalar_id scalar) {
  if (type->kind == type_kind::scalar) {
    return ndt::make_scalar(scalar);
  }
  ndt::type element = with_scalar(type.element(), scalar);
  return type->kind == type_kind::var_dim     ? ndt::make_var_dim(element)
         : type->kind == type_kind::fixed_dim ? ndt::make_fixed_dim(type->size, element)
                                              : ndt::make_strided_dim(element);
}

nd::array from_python(PyObject *values, ndt::type type, access_mode access) {
  bool has_buffer = !is_list(values) && PyObject_CheckBuffer(values) && !PyBytes_Check(values);
  if (is_array(values) || has_buffer) {
    nd::array from = is_array(values) ? unwrap(values) : view_of_buffer(values);
    scalar_id scalar = type ? type->scalar : from->scalar();
    bool dims_fit = !type || type->kind == type_kind::scalar || with_scalar(from.type(), scalar) == type;
    if (!dims_fit) {
      throw error(error_kind::type, "array: cannot make " + std::string(type.str()) + " from " +
                                        std::string(from.type().str()) + ": the dimensions differ");
    }
    return nd::array(copy_values(from.get(), access, type ? type.dtype() : from.type().dtype()));
  }
  survey seen;
  seen.visit(values, 0);
  if (seen.depth >= 0 && seen.depth != int(seen.length.size())) {
    throw error(error_kind::value, "array: values at different depths: lists and scalars are mixed");
  }
  if (!type) {
    type = deduced_type(seen, seen.scalar());
  } else if (type->kind == type_kind::scalar) {
    type = deduced_type(seen, type->scalar);
  }
  return list_reader(type, seen).read(values, access);
}

namespace {

// A Python integer in a comparison with integers: as int64 or uint64, whichever holds it. What neither holds is beyond
// every element, and infinity is too.
nd::array to_comparand(PyObject *number) {
  int overflow;
  long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    return nd::scalar_of(scalar_id::int64, &small);
  }
  if (overflow > 0) {
    unsigned long long large = PyLong_AsUnsignedLongLong(number);
    if (!PyErr_Occurred()) {
      return nd::scalar_of(scalar_id::uint64, &large);
    }
    PyErr_Clear();
  }
  double beyond = overflow * HUGE_VAL;
  return nd::scalar_of(scalar_id::float64, &beyond);
}

// Whether an integer is in the range of an integer type.
bool fits(PyObject *number, scalar_id scalar) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  int bits = 8 * scalar_size[size_t(scalar)];
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

nd::array to_operand(PyObject *object, const nd::array *like, const char *operation, bool compared) {
  if (is_array(object)) {
    return unwrap(object);
  }
  if (compared && like && (*like)->has_scalars() && PyLong_CheckExact(object)) {
    scalar_id own = (*like)->scalar();
    if (is_floating(own)) {
      alignas(8) char value[8];
      store(value, own, object, operation);
      return nd::scalar_of(own, value);
    }
    if (!is_integer(own) || !fits(object, own)) {
      return to_comparand(object);
    }
  }
  // NumPy's float64 is a Python float too, but not a weak one: it has a buffer.
  bool number = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
  if (number && !PyObject_CheckBuffer(object)) {
    value_kind kind = kind_of(object);
    scalar_id scalar = like && kind != a_bool ? weakly_promoted(kind, (*like)->scalar()) : scalar_for(kind);
    alignas(8) char value[max_scalar_size];
    store(value, scalar, object, operation);
    return nd::scalar_of(scalar, value);
  }
  if (is_list(object)) {
    return from_python(object, ndt::type(), access_mode::immutable);
  }
  if (PyObject_CheckBuffer(object) && !PyBytes_Check(object)) {
    return view_of_buffer(object);
  }
  throw error(error_kind::type, std::string(operation) + ": operand of type " + type_name(object) + " is not an array");
}

} // namespace binding

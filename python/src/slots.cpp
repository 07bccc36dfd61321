// The slots of the array type: operators, indexing, conversion, printing. Hand-written, because a call through a slot
// costs half of one through a bound method (bench: a + b of three elements).
#include "values.h"

#include <string>

#include "dynd/call/composed.h"
#include "dynd/call/linear.h"
#include "dynd/eval/evaluate.h"
#include "dynd/ops/op_id.h"

namespace binding {

PyTypeObject *array_type = nullptr, *struct_array_type = nullptr;

namespace {

// ---- objects ------------------------------------------------------------------------------------------------------

// Objects that were dropped, to be used again; under the interpreter's lock.
constexpr int most_kept = 64;
array_object *kept[most_kept];
int kept_count = 0;

void destroy(PyObject *self) {
  auto *object = reinterpret_cast<array_object *>(self);
  object->array.~array();
  PyTypeObject *type = Py_TYPE(self);
  if (kept_count < most_kept) {
    kept[kept_count++] = object;
  } else {
    PyObject_Free(self);
  }
  Py_DECREF(type);
}

} // namespace

PyObject *wrap(nd::array array) {
  PyObject *self;
  const type_data *dtype = array->type->dtype;
  bool scalars =
      dtype->kind == type_kind::scalar || without_options(elements_of_rows(array->type))->kind != type_kind::struct_;
  PyTypeObject *type = scalars ? array_type : struct_array_type;
  if (kept_count > 0) {
    self = PyObject_Init(reinterpret_cast<PyObject *>(kept[--kept_count]), type);
  } else {
    self = reinterpret_cast<PyObject *>(PyObject_New(array_object, type));
    if (!self) {
      throw nb::python_error();
    }
  }
  new (&reinterpret_cast<array_object *>(self)->array) nd::array(std::move(array));
  return self;
}

PyObject *wrap_pair(ref<array_block> *results) {
  nb::object first = nb::steal(wrap(std::move(results[0]))), second = nb::steal(wrap(std::move(results[1])));
  return PyTuple_Pack(2, first.ptr(), second.ptr());
}

ref<array_block> power_of_number(PyObject *base, PyObject *exponent) {
  bool whole = PyLong_CheckExact(exponent);
  if (!is_array(base) || !(whole || PyFloat_CheckExact(exponent))) {
    return {};
  }
  double power = whole ? PyLong_AsDouble(exponent) : PyFloat_AS_DOUBLE(exponent);
  if (power == -1 && PyErr_Occurred()) { // an integer past the range of double
    PyErr_Clear();
    return {};
  }
  return nd::try_power(unwrap(base).get(), {power, whole}, Py_REFCNT(base) == 1);
}

namespace {

// An operand whose Python object has one reference, the evaluation stack's, is dropped right after the operation.
bool is_last_use(PyObject *object) { return Py_REFCNT(object) == 1; }

PyObject *binary(op_id op, PyObject *left, PyObject *right) {
  return guarded([&]() -> PyObject * {
    if (is_array(left) && is_array(right)) [[likely]] {
      array_block *blocks[2] = {unwrap(left).get(), unwrap(right).get()};
      return wrap(evaluate(op, {blocks, 2, unsigned(is_last_use(left)) | unsigned(is_last_use(right)) << 1}));
    }
    const char *name = operation_of(op).name;
    bool left_is = is_array(left);
    if (!is_operand(left_is ? right : left)) {
      Py_RETURN_NOTIMPLEMENTED;
    }
    nd::array other = to_operand(left_is ? right : left, &unwrap(left_is ? left : right), name,
                                 asked_beside(operation_of(op), left_is ? 1 : 0));
    array_block *blocks[2] = {left_is ? unwrap(left).get() : other.get(), left_is ? other.get() : unwrap(right).get()};
    return wrap(evaluate(op, {blocks, 2, unsigned(is_last_use(left_is ? left : right)) << (left_is ? 0 : 1)}));
  });
}

template <op_id op> PyObject *binary_slot(PyObject *left, PyObject *right) { return binary(op, left, right); }

template <op_id op> PyObject *unary_slot(PyObject *self) {
  return guarded([&] {
    array_block *block = unwrap(self).get();
    return wrap(evaluate(op, {&block, 1, is_last_use(self)}));
  });
}

// a ** b, pow(a, b)
PyObject *power_slot(PyObject *base, PyObject *exponent, PyObject *modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow: takes 2 operands; a modulus is not supported");
    return nullptr;
  }
  return guarded([&]() -> PyObject * {
    ref<array_block> result = power_of_number(base, exponent);
    return result ? wrap(std::move(result)) : binary(op_id::pow, base, exponent);
  });
}

PyObject *matmul_slot(PyObject *left, PyObject *right) {
  return guarded([&]() -> PyObject * {
    if (!is_operand(left) || !is_operand(right)) {
      Py_RETURN_NOTIMPLEMENTED;
    }
    return wrap(nd::matmul(to_operand(left, nullptr, "matmul"), to_operand(right, nullptr, "matmul")));
  });
}

PyObject *divmod_slot(PyObject *left, PyObject *right) {
  return guarded([&]() -> PyObject * {
    if (!is_operand(left) || !is_operand(right)) {
      Py_RETURN_NOTIMPLEMENTED;
    }
    nd::array a = to_operand(left, is_array(right) ? &unwrap(right) : nullptr, "divmod");
    nd::array b = to_operand(right, is_array(left) ? &unwrap(left) : nullptr, "divmod");
    array_block *blocks[2] = {a.get(), b.get()};
    ref<array_block> results[2];
    evaluate(op_id::divmod, {blocks, 2}, results);
    return wrap_pair(results);
  });
}

PyObject *compare_slot(PyObject *left, PyObject *right, int operation) {
  switch (operation) {
  case Py_EQ:
    return binary(op_id::equal, left, right);
  case Py_LT:
    return binary(op_id::less, left, right);
  case Py_GT:
    return binary(op_id::greater, left, right);
  case Py_LE:
    return binary(op_id::less_equal, left, right);
  case Py_GE:
    return binary(op_id::greater_equal, left, right);
  case Py_NE:
    return binary(op_id::not_equal, left, right);
  }
  Py_RETURN_NOTIMPLEMENTED;
}

// a += b writes a where that is allowed; an immutable array gives way to a new one, as a tuple does.
template <op_id op> PyObject *inplace_slot(PyObject *self, PyObject *other) {
  if (!is_array(self) || unwrap(self)->access != access_mode::readwrite || !is_operand(other)) {
    return binary(op, self, other);
  }
  return guarded([&]() -> PyObject * {
    nd::array &a = unwrap(self);
    nd::array operand = to_operand(other, &a, operation_of(op).name);
    if (!evaluate_in_place(op, a.get(), operand.get())) {
      array_block *blocks[2] = {a.get(), operand.get()};
      assign(a.get(), evaluate(op, {blocks, 2, is_last_use(other) ? 2u : 0u}).get());
    }
    return Py_NewRef(self);
  });
}

PyObject *inplace_power_slot(PyObject *self, PyObject *exponent, PyObject *) {
  element_kind kind;
  bool has_powers = is_array(self) && find_element_kind(unwrap(self)->type->dtype, kind) &&
                    kind.scalar != scalar_id::bool_; // of those try_power knows
  if (has_powers && PyLong_CheckExact(exponent) && PyLong_AsDouble(exponent) == 2) {
    return inplace_slot<op_id::multiply>(self, self);
  }
  PyErr_Clear(); // an integer past the range of double
  return guarded([&]() -> PyObject * {
    ref<array_block> result = power_of_number(self, exponent);
    if (!result) {
      return inplace_slot<op_id::pow>(self, exponent);
    }
    if (unwrap(self)->access != access_mode::readwrite) {
      return wrap(std::move(result));
    }
    assign(unwrap(self).get(), result.get());
    return Py_NewRef(self);
  });
}

// ---- conversion ---------------------------------------------------------------------------------------------------

int truth(PyObject *self) {
  return guarded_int([&] {
    nd::array &a = unwrap(self);
    if (a.ndim() != 0) {
      throw error(error_kind::value,
                  "bool: the truth of an array with dimensions is ambiguous: " + std::string(a.type().str()));
    }
    nb::object value = scalar_value(self, "bool");
    if (value.is_none()) {
      throw error(error_kind::value, "bool: a missing value is neither true nor false");
    }
    return PyObject_IsTrue(value.ptr());
  });
}

PyObject *as_float(PyObject *self) {
  return guarded([&] { return PyNumber_Float(scalar_value(self, "float").ptr()); });
}

PyObject *as_int(PyObject *self) {
  return guarded([&] { return PyNumber_Long(scalar_value(self, "int").ptr()); });
}

PyObject *as_index(PyObject *self) {
  return guarded([&] {
    element_kind kind;
    if (!find_element_kind(unwrap(self)->type->dtype, kind) || kind.option || !is_integer(kind.scalar)) {
      throw error(error_kind::type, "index: only an integer array can be an index");
    }
    return PyNumber_Index(scalar_value(self, "index").ptr());
  });
}

// Strings may hold what is not UTF-8; it is shown, not refused.
PyObject *shown(const std::string &text) {
  return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace");
}

PyObject *repr(PyObject *self) {
  return guarded([&] { return shown(unwrap(self).str()); });
}

// One string is its text.
PyObject *str(PyObject *self) {
  return guarded([&] {
    const nd::array &a = unwrap(self);
    return is_string(a->type->kind) ? to_list(a) : shown(nd::values_text(a));
  });
}

const char *format_of(scalar_id scalar) {
  static const char *const formats[] = {"?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "Zf", "Zd"};
  static_assert(sizeof(formats) / sizeof(formats[0]) == scalar_count);
  return formats[size_t(scalar)];
}

// Whether the elements follow each other in memory, the first index running fastest.
bool is_fortran_dense(const array_block &block) {
  intptr_t expected = intptr_t(block.item_size());
  for (int d = 0; d < block.ndim && block.count; d++) {
    if (block.size()[d] != 1 && block.value_strides()[d] != expected) {
      return false;
    }
    expected *= block.size()[d];
  }
  return true;
}

// Whether the elements are in the order that a consumer asks for; one that takes no strides takes C's.
bool is_as_asked(const array_block &block, int flags) {
  auto asks = [&](int what) { return (flags & what) == what; };
  bool c = block.flags & flag_dense;
  if (!asks(PyBUF_STRIDES) || asks(PyBUF_C_CONTIGUOUS)) {
    return c;
  }
  return asks(PyBUF_F_CONTIGUOUS)     ? is_fortran_dense(block)
         : asks(PyBUF_ANY_CONTIGUOUS) ? c || is_fortran_dense(block)
                                      : true;
}

// What an immutable array shows is read-only.
int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  return guarded_int([&] {
    array_block *block = unwrap(self).eval().get();
    view->obj = nullptr;
    bool writable = block->access == access_mode::readwrite;
    const char *problem = !block->has_scalars()                   ? "an array of such elements has no buffer"
                          : block->nstreams > 1                   ? "a ragged array has no buffer"
                          : (flags & PyBUF_WRITABLE) && !writable ? "the array cannot be written"
                          : !is_as_asked(*block, flags)           ? "the array is not contiguous"
                                                                  : nullptr;
    if (problem) {
      PyErr_SetString(PyExc_BufferError, problem);
      return -1;
    }
    view->buf = block->values().address;
    view->itemsize = Py_ssize_t(block->item_size());
    view->len = block->count * view->itemsize;
    view->readonly = !writable;
    view->ndim = block->ndim;
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char *>(format_of(block->scalar())) : nullptr;
    view->shape = (flags & PyBUF_ND) ? block->size() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? block->value_strides() : nullptr;
    view->suboffsets = nullptr;
    view->internal = nullptr;
    view->obj = Py_NewRef(self);
    return 0;
  });
}

} // namespace

constexpr const char *array_doc =
    "array(values, type=None, access=None)\n--\n\n"
    "A new array from nested lists, dicts, numbers, text, bytes, None, a NumPy array or another array; the values\n"
    "are copied.\n\n"
    "Lists of unequal lengths make a `var` dimension. A dict makes a struct {x: T}, its fields in the order of their\n"
    "first appearance; lists in a field are `var`. A None, or a key that only some dicts have, makes ?T. Tuples are\n"
    "lists, unless the given type has fields there.\n\n"
    "type is an element type (\"float32\", \"{x: int32, y: ?string}\") or a whole type (\"strided * var * float32\");\n"
    "numbers are checked as nd.assign does. The array is immutable unless access='rw'.\n\n"
    ">>> nd.array([{\"x\": 1, \"s\": \"a\"}, {\"x\": None, \"s\": \"b\"}])\n"
    "nd.array([{\"x\": 1, \"s\": \"a\"}, {\"x\": None, \"s\": \"b\"}], type=\"strided * {x: ?int32, s: string}\")\n"
    ">>> nd.array([[1, 2], [3]])\n"
    "nd.array([[1, 2], [3]], type=\"strided * var * int32\")";

#define DYND_SLOT(id, function)                                                                                        \
  { id, reinterpret_cast<void *>(function) }
// An attribute, or a field where the name is free.
PyObject *get_attribute(PyObject *self, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
    return found;
  }
  PyErr_Clear();
  const type_data *type = without_options(elements_of_rows(unwrap(self)->type));
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(name, &size);
  for (int i = 0; text && i < type->nfields; i++) {
    if (std::string_view(text, size_t(size)) == type->fields[i].name) {
      return get_item(self, name);
    }
  }
  PyErr_Clear();                              // no field has a name that is not UTF-8
  return PyObject_GenericGetAttr(self, name); // the error again
}

PyType_Slot array_slots[] = {DYND_SLOT(Py_tp_dealloc, destroy),
                             DYND_SLOT(Py_tp_new, new_array),
                             {Py_tp_doc, const_cast<char *>(array_doc)},
                             DYND_SLOT(Py_nb_inplace_add, inplace_slot<op_id::add>),
                             DYND_SLOT(Py_nb_inplace_subtract, inplace_slot<op_id::subtract>),
                             DYND_SLOT(Py_nb_inplace_multiply, inplace_slot<op_id::multiply>),
                             DYND_SLOT(Py_nb_inplace_true_divide, inplace_slot<op_id::divide>),
                             DYND_SLOT(Py_nb_add, binary_slot<op_id::add>),
                             DYND_SLOT(Py_nb_subtract, binary_slot<op_id::subtract>),
                             DYND_SLOT(Py_nb_multiply, binary_slot<op_id::multiply>),
                             DYND_SLOT(Py_nb_true_divide, binary_slot<op_id::divide>),
                             DYND_SLOT(Py_nb_inplace_floor_divide, inplace_slot<op_id::floor_divide>),
                             DYND_SLOT(Py_nb_inplace_remainder, inplace_slot<op_id::remainder>),
                             DYND_SLOT(Py_nb_inplace_power, inplace_power_slot),
                             DYND_SLOT(Py_nb_inplace_and, inplace_slot<op_id::bitwise_and>),
                             DYND_SLOT(Py_nb_inplace_or, inplace_slot<op_id::bitwise_or>),
                             DYND_SLOT(Py_nb_inplace_xor, inplace_slot<op_id::bitwise_xor>),
                             DYND_SLOT(Py_nb_inplace_lshift, inplace_slot<op_id::bitwise_left_shift>),
                             DYND_SLOT(Py_nb_inplace_rshift, inplace_slot<op_id::bitwise_right_shift>),
                             DYND_SLOT(Py_nb_floor_divide, binary_slot<op_id::floor_divide>),
                             DYND_SLOT(Py_nb_remainder, binary_slot<op_id::remainder>),
                             DYND_SLOT(Py_nb_power, power_slot),
                             DYND_SLOT(Py_nb_and, binary_slot<op_id::bitwise_and>),
                             DYND_SLOT(Py_nb_or, binary_slot<op_id::bitwise_or>),
                             DYND_SLOT(Py_nb_xor, binary_slot<op_id::bitwise_xor>),
                             DYND_SLOT(Py_nb_lshift, binary_slot<op_id::bitwise_left_shift>),
                             DYND_SLOT(Py_nb_rshift, binary_slot<op_id::bitwise_right_shift>),
                             DYND_SLOT(Py_nb_divmod, divmod_slot),
                             DYND_SLOT(Py_nb_matrix_multiply, matmul_slot),
                             DYND_SLOT(Py_nb_invert, unary_slot<op_id::bitwise_invert>),
                             DYND_SLOT(Py_nb_negative, unary_slot<op_id::negative>),
                             DYND_SLOT(Py_nb_positive, unary_slot<op_id::positive>),
                             DYND_SLOT(Py_nb_absolute, unary_slot<op_id::abs>),
                             DYND_SLOT(Py_nb_bool, truth),
                             DYND_SLOT(Py_nb_float, as_float),
                             DYND_SLOT(Py_nb_int, as_int),
                             DYND_SLOT(Py_nb_index, as_index),
                             DYND_SLOT(Py_tp_richcompare, compare_slot),
                             DYND_SLOT(Py_tp_hash, PyObject_HashNotImplemented),
                             DYND_SLOT(Py_mp_subscript, get_item),
                             DYND_SLOT(Py_mp_ass_subscript, set_item),
                             DYND_SLOT(Py_mp_length, length),
                             DYND_SLOT(Py_sq_length, length),
                             DYND_SLOT(Py_sq_item, get_element),
                             DYND_SLOT(Py_tp_iter, iterate),
                             DYND_SLOT(Py_tp_repr, repr),
                             DYND_SLOT(Py_tp_str, str),
                             DYND_SLOT(Py_bf_getbuffer, get_buffer),
                             {0, nullptr}};
PyType_Slot struct_array_slots[] = {
    DYND_SLOT(Py_tp_dealloc, destroy), DYND_SLOT(Py_tp_getattro, get_attribute), {0, nullptr}};
#undef DYND_SLOT

void make_array_types() {
  PyType_Spec spec = {"dynd.nd.array", sizeof(array_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, array_slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type || PyObject_SetAttrString(type, "__array_ufunc__", Py_None) != 0) { // NumPy leaves operators to it
    throw nb::python_error();
  }
  PyType_Spec struct_spec = {"dynd.nd.array", sizeof(array_object), 0, Py_TPFLAGS_DEFAULT, struct_array_slots};
  PyObject *struct_type = PyType_FromSpecWithBases(&struct_spec, type);
  if (!struct_type) {
    throw nb::python_error();
  }
  array_type = reinterpret_cast<PyTypeObject *>(type);
  array_type->tp_flags &= ~Py_TPFLAGS_BASETYPE; // nothing else is derived from it
  array_type->tp_vectorcall = call_array_type;
  struct_array_type = reinterpret_cast<PyTypeObject *>(struct_type);
  struct_array_type->tp_vectorcall = call_array_type;
}

} // namespace binding

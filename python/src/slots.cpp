// The slots of the array type: operators, indexing, conversion, printing. Hand-written, because a call through a slot
// costs half of one through a bound method (bench: a + b of three elements).
#include "values.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/eval/evaluate.h"

namespace binding {

PyTypeObject *array_type = nullptr;

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
  if (kept_count > 0) {
    self = PyObject_Init(reinterpret_cast<PyObject *>(kept[--kept_count]), array_type);
  } else {
    self = reinterpret_cast<PyObject *>(PyObject_New(array_object, array_type));
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

namespace {

template <class F> PyObject *guarded(F f) noexcept {
  try {
    return f();
  } catch (...) {
    return raise_current();
  }
}

template <class F> int guarded_int(F f) noexcept {
  try {
    return f();
  } catch (...) {
    raise_current();
    return -1;
  }
}

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
    bool compared = operation_of(op).compares;
    nd::array other = to_operand(left_is ? right : left, &unwrap(left_is ? left : right), name, compared);
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
  return binary(op_id::pow, base, exponent);
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
  PyObject *result = binary(op, self, other);
  if (!result || result == Py_NotImplemented || !is_array(self) || unwrap(self)->access != access_mode::readwrite) {
    return result;
  }
  return guarded([&] {
    nb::object keep = nb::steal(result);
    assign(unwrap(self).get(), unwrap(result).get());
    return Py_NewRef(self);
  });
}

PyObject *inplace_power_slot(PyObject *self, PyObject *exponent, PyObject *) {
  return inplace_slot<op_id::pow>(self, exponent);
}

// ---- indexing -----------------------------------------------------------------------------------------------------

nd::index one_index(PyObject *object) {
  nd::index result{};
  if (object == Py_Ellipsis) {
    result.kind = nd::index::ellipsis;
  } else if (object == Py_None) {
    result.kind = nd::index::new_axis;
  } else if (PySlice_Check(object)) {
    result.kind = nd::index::slice;
    auto *slice = reinterpret_cast<PySliceObject *>(object);
    auto part = [](PyObject *value) -> std::optional<intptr_t> {
      if (value == Py_None) {
        return std::nullopt;
      }
      // As Python does: what is beyond the ends is cut.
      intptr_t number = PyNumber_AsSsize_t(value, nullptr);
      if (number == -1 && PyErr_Occurred()) {
        throw nb::python_error();
      }
      return number;
    };
    result.start = part(slice->start);
    result.stop = part(slice->stop);
    result.step = part(slice->step);
  } else if (PyIndex_Check(object) && !PyBool_Check(object)) {
    result.kind = nd::index::integer;
    result.at = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (result.at == -1 && PyErr_Occurred()) {
      throw nb::python_error();
    }
  } else {
    throw error(error_kind::index,
                std::string("index: an index must be an integer, a slice, `...` or None, not ") +
                    Py_TYPE(object)->tp_name +
                    (PyUnicode_Check(object) ? "; a field's name is an index by itself: a[\"x\"][0]" : ""));
  }
  return result;
}

// a["x"]: a field of the structs, as a view.
nd::array field_array(const nd::array &a, PyObject *key) {
  const type_data *t = below_options(a->type->dtype);
  std::string_view name = utf8_of(key, {});
  std::string known;
  for (int i = 0; t->kind == type_kind::struct_ && i < t->nfields; i++) {
    if (t->fields[i].name == name) {
      return nd::field(a, name);
    }
    known += (i ? ", " : "") + field_name_text(t->fields[i].name);
  }
  if (known.empty()) {
    return nd::field(a, name); // says that there are no structs
  }
  std::string text = "no field " + field_name_text(name) + "; there are " + known;
  PyErr_SetString(PyExc_KeyError, text.c_str());
  throw nb::python_error();
}

nd::array index_array(const nd::array &a, PyObject *key) {
  if (PyUnicode_Check(key)) {
    return field_array(a, key);
  }
  if (!PyTuple_Check(key)) {
    nd::index index = one_index(key);
    return nd::at(a, {&index, 1});
  }
  std::vector<nd::index> indices;
  for (intptr_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
    indices.push_back(one_index(PyTuple_GET_ITEM(key, i)));
  }
  return nd::at(a, indices);
}

// An element of an immutable array is a value of its own: it keeps nothing alive.
nd::array without_owner(nd::array element, const nd::array &from) {
  if (element.ndim() == 0 && element->has_scalars() && from->access == access_mode::immutable) {
    return nd::scalar_of(element->scalar(), element->values().address);
  }
  return element;
}

// a[i] of a dense one-dimensional array, the common case; null if it is not that.
PyObject *element_at(const nd::array &a, intptr_t i) {
  array_block *block = a.get();
  if (block->ndim != 1 || block->nstreams != 1 || !block->has_scalars() || block->access != access_mode::immutable ||
      block->state.load(std::memory_order_acquire) != array_state::ready) {
    return nullptr;
  }
  intptr_t size = block->size()[0];
  if (i < -size || i >= size) {
    return nullptr; // the general way makes the message
  }
  return wrap(
      nd::scalar_of(block->scalar(), block->values().address + (i < 0 ? i + size : i) * block->value_strides()[0]));
}

// The same for a[i:j] of a one-dimensional array.
PyObject *slice_of(const nd::array &a, PyObject *key) {
  array_block *block = a.get();
  if (block->ndim != 1 || block->nstreams != 1 || !block->has_scalars() ||
      block->state.load(std::memory_order_acquire) != array_state::ready) {
    return nullptr;
  }
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(key, &start, &stop, &step) != 0) {
    throw nb::python_error();
  }
  Py_ssize_t count = PySlice_AdjustIndices(block->size()[0], &start, &stop, step);
  if (step != 1 || block->type->kind == type_kind::fixed_dim) {
    return nullptr;
  }
  size_t bytes = size_t(count) * block->item_size();
  if (block->access == access_mode::immutable && (block->flags & flag_dense) && bytes <= 64 && bytes % 8 == 0) {
    // A copy of a few elements is cheaper than counting one more owner.
    intptr_t size = count;
    ref<array_block> part = new_dense(block->type, &size);
    const char *from = block->values().address + size_t(start) * block->item_size();
    for (size_t i = 0; i < bytes; i += 8) {
      std::memcpy(part->values().address + i, from + i, 8);
    }
    return wrap(std::move(part));
  }
  ref<array_block> view = new_block(block->type, block->access, block->flags);
  view->size()[0] = view->count = count;
  intptr_t stride = view->value_strides()[0] = block->value_strides()[0];
  counted *owner = block->values().owner ? block->values().owner : block;
  retain(owner);
  view->values() = {block->values().address + start * stride, owner, slot_kind::none};
  return wrap(std::move(view));
}

PyObject *get_item(PyObject *self, PyObject *key) {
  return guarded([&]() -> PyObject * {
    nd::array &a = unwrap(self);
    if (PySlice_Check(key)) {
      if (PyObject *part = slice_of(a, key)) {
        return part;
      }
    }
    if (PyLong_CheckExact(key)) {
      intptr_t i = PyLong_AsSsize_t(key);
      if (i == -1 && PyErr_Occurred()) {
        PyErr_Clear();
      } else if (PyObject *element = element_at(a, i)) {
        return element;
      }
    }
    return wrap(without_owner(index_array(a, key), a));
  });
}

PyObject *get_element(PyObject *self, Py_ssize_t i) {
  return guarded([&]() -> PyObject * {
    nd::array &a = unwrap(self);
    if (PyObject *element = element_at(a, i)) {
      return element;
    }
    return wrap(without_owner(nd::at(a, i), a));
  });
}

// A row that is indexed is strided and keeps its length. A row that has no memory yet is taken as the only row of a
// slice instead: there it is `var`, and gets its length from what is assigned. Nothing if the integers that the key
// begins with name no such row.
std::optional<nd::array> row_to_be(const nd::array &a, PyObject *key, const nd::array &target) {
  std::vector<nd::index> indices, inside; // what names the row, and what comes after it
  intptr_t keys = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
  for (intptr_t i = 0; i < keys; i++) {
    PyObject *one = PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key;
    if (i == 0 && !PyIndex_Check(one)) {
      return std::nullopt;
    }
    (inside.empty() && PyIndex_Check(one) ? indices : inside).push_back(one_index(one));
  }
  int count = int(indices.size());
  if (count == 0 || a.ndim() != target.ndim() + count || !a->is_var(count) || target->size()[0] != 0) {
    return std::nullopt;
  }
  intptr_t at = indices.back().at;
  indices.back() = {nd::index::slice, 0, at, {}, {}};
  if (at != -1) {
    indices.back().stop = at + 1;
  }
  nd::array row = nd::at(a, indices);
  stream_room room, inner;
  bool to_be = !dimension(cursor::over_rows(*row.get(), room)).enter(0, inner).has_memory();
  indices.insert(indices.end(), inside.begin(), inside.end());
  return to_be ? std::optional(inside.empty() ? row : nd::at(a, indices)) : std::nullopt;
}

int set_item(PyObject *self, PyObject *key, PyObject *value) {
  return guarded_int([&] {
    if (!value) {
      throw error(error_kind::type, "assign: elements of an array cannot be deleted");
    }
    nd::array &a = unwrap(self);
    nd::array target = index_array(a, key);
    if (a->access == access_mode::readwrite && target->access == access_mode::immutable) {
      throw error(error_kind::type, "assign: one element of every row is a copy; assign to a slice, a[:, i:i + 1]");
    }
    nd::array source = to_assigned(value, target);
    if (target.ndim() > 0 && source.ndim() <= target.ndim()) {
      if (std::optional<nd::array> row = row_to_be(a, key, target)) {
        target = *row;
      }
    }
    assign(target.get(), source.get());
    return 0;
  });
}

Py_ssize_t length(PyObject *self) {
  array_block *block = unwrap(self).get();
  if (block->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "len: a zero-dimensional array has no length");
    return -1;
  }
  // A `var` dimension with nothing outside of it is one row.
  stream_room room;
  return cursor::over_rows(*block, room).size();
}

PyObject *iterate(PyObject *self) {
  if (unwrap(self).ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration: a zero-dimensional array has no elements to iterate over");
    return nullptr;
  }
  return PySeqIter_New(self);
}

// ---- conversion ---------------------------------------------------------------------------------------------------

nb::object scalar_value(PyObject *self, const char *what) {
  nd::array &a = unwrap(self);
  if (a.ndim() != 0) {
    throw error(error_kind::type, std::string(what) + ": only a zero-dimensional array has one value, not " +
                                      std::string(a.type().str()));
  }
  return nb::steal(to_list(a));
}

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
    if (!unwrap(self)->has_scalars() || !is_integer(unwrap(self)->scalar())) {
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
    return a->type->kind == type_kind::string ? to_list(a) : shown(nd::values_text(a));
  });
}

const char *format_of(scalar_id scalar) {
  static const char *const formats[] = {"?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "Zf", "Zd"};
  static_assert(sizeof(formats) / sizeof(formats[0]) == scalar_count);
  return formats[size_t(scalar)];
}

// What an immutable array shows is read-only.
int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  return guarded_int([&] {
    array_block *block = unwrap(self).eval().get();
    view->obj = nullptr;
    bool writable = block->access == access_mode::readwrite;
    bool contiguous = (flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
    const char *problem = !block->has_scalars()                        ? "an array of such elements has no buffer"
                          : block->nstreams > 1                        ? "a ragged array has no buffer"
                          : (flags & PyBUF_WRITABLE) && !writable      ? "the array cannot be written"
                          : contiguous && !(block->flags & flag_dense) ? "the array is not contiguous"
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
                             DYND_SLOT(Py_nb_invert, unary_slot<op_id::bitwise_invert>),
                             DYND_SLOT(Py_nb_negative, unary_slot<op_id::negative>),
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
#undef DYND_SLOT

PyTypeObject *make_array_type() {
  PyType_Spec spec = {"dynd.nd.array", sizeof(array_object), 0, Py_TPFLAGS_DEFAULT, array_slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type || PyObject_SetAttrString(type, "__array_ufunc__", Py_None) != 0) { // NumPy leaves operators to it
    throw nb::python_error();
  }
  return reinterpret_cast<PyTypeObject *>(type);
}

} // namespace binding

// The array as a Python sequence: indexing, assignment to an index, length and iteration.
#include "values.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/array/view.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/select.h"

namespace binding {

namespace {

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
    throw error(
        error_kind::index,
        std::string("index: an index must be an integer, a slice, `...`, None, an array of integers or bools, or "
                    "a field's name, not ") +
            Py_TYPE(object)->tp_name);
  }
  return result;
}

// a["x"]: a field of the structs, as a view.
nd::array field_array(const nd::array &a, PyObject *key) {
  const type_data *t = without_options(elements_of_rows(a->type));
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

// a[["x", "y"]].
bool is_list_of_names(PyObject *key) {
  bool names = PyList_Check(key) && PyList_GET_SIZE(key) > 0;
  for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(key); i++) {
    names = PyUnicode_Check(PyList_GET_ITEM(key, i));
  }
  return names;
}

nd::array fields_array(const nd::array &a, PyObject *key) {
  std::vector<std::string> names;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); i++) {
    field_array(a, PyList_GET_ITEM(key, i)); // says where there is none
    names.emplace_back(utf8_of(PyList_GET_ITEM(key, i), {}));
  }
  return nd::fields(a, names);
}

// A list, an array or a buffer with dimensions is an index array; what has none is an integer.
bool is_index_array(PyObject *object) {
  if (is_array(object)) {
    return unwrap(object).ndim() > 0 || !PyIndex_Check(object) || unwrap(object)->scalar() == scalar_id::bool_;
  }
  if (PyList_Check(object) || PyRange_Check(object)) {
    return true;
  }
  Py_buffer view;
  if (!has_buffer(object)) {
    return false;
  }
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) != 0) {
    forget_refusal();
    return false;
  }
  int ndim = view.ndim;
  PyBuffer_Release(&view);
  return ndim > 0;
}

nd::array to_index_array(PyObject *object) {
  if (PyRange_Check(object)) {
    return to_index_array(steal(PySequence_List(object)).ptr());
  }
  return integers(object, "index");
}

// A key taken apart: the array with the fields that are named, and what is selected of it.
struct parsed_key {
  nd::array base;
  std::vector<selector> selectors;
  bool arrays = false;

  parsed_key(const nd::array &a, PyObject *key) : base(a) {
    intptr_t count = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    for (intptr_t i = 0; i < count; i++) {
      add(PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key);
    }
  }

  nd::array select() const { return dynd::select(base, selectors); }

private:
  void add(PyObject *one) {
    if (PyUnicode_Check(one)) {
      base = field_array(base, one);
    } else if (is_list_of_names(one)) {
      base = fields_array(base, one);
    } else if (is_index_array(one)) {
      selectors.push_back({{}, to_index_array(one)});
      arrays = true;
    } else {
      selectors.push_back({one_index(one), {}});
    }
  }
};

nd::array index_array(const nd::array &a, PyObject *key) {
  parsed_key parsed(a, key);
  return parsed.selectors.empty() ? parsed.base : parsed.select();
}

// An element of an immutable array is a value of its own: it keeps nothing alive.
nd::array without_owner(nd::array element, const nd::array &from) {
  if (element.ndim() == 0 && element->has_scalars() && from->access == access_mode::immutable) {
    return nd::scalar_of(element->scalar(), element->values().address);
  }
  return element;
}

// a[i] over the outermost dimension. A C++ exception costs more than the whole of it: an index that is out of bounds is
// reported without one. An element of a dense one-dimensional array, the usual case, needs no view.
PyObject *element_at(const nd::array &a, intptr_t i) {
  array_block *block = a.get();
  if (block->ndim > 0 && !block->is_var(0)) {
    intptr_t size = block->size()[0];
    if (i < -size || i >= size) {
      PyErr_SetString(PyExc_IndexError, nd::out_of_bounds_text(i, 0, "", size).c_str());
      return nullptr;
    }
    if (block->ndim == 1 && block->nstreams == 1 && block->has_scalars() && block->access == access_mode::immutable &&
        block->is_ready()) {
      return wrap(
          nd::scalar_of(block->scalar(), block->values().address + (i < 0 ? i + size : i) * block->value_strides()[0]));
    }
  }
  if (block->ndim == 0 && has_missing_rows(block->type)) {
    const selector only{{nd::index::integer, i, {}, {}, {}}, {}};
    return wrap(select(a, {&only, 1}));
  }
  return wrap(without_owner(nd::at(a, i), a));
}

// Where a[i] or a[i, j] is, of numbers that are there; null where it is something else, or out of bounds.
char *place_of_number(const nd::array &a, PyObject *key) {
  array_block *block = a.get();
  bool many = PyTuple_CheckExact(key);
  if (block->ndim == 0 || block->type->var_count || !block->has_scalars() || !block->is_ready() ||
      (many ? PyTuple_GET_SIZE(key) : 1) != block->ndim) {
    return nullptr;
  }
  char *place = block->values().address;
  for (int d = 0; d < block->ndim; d++) {
    PyObject *one = many ? PyTuple_GET_ITEM(key, d) : key;
    int beyond = 0;
    intptr_t i = PyLong_CheckExact(one) ? PyLong_AsLongAndOverflow(one, &beyond) : 0, size = block->size()[d];
    if (!PyLong_CheckExact(one) || beyond || i < -size || i >= size) {
      return nullptr;
    }
    place += (i < 0 ? i + size : i) * block->value_strides()[d];
  }
  return place;
}

// a[i:j:k] of a one-dimensional array; null if it is not that.
PyObject *slice_of(const nd::array &a, PyObject *key) {
  array_block *block = a.get();
  if (block->ndim != 1 || block->nstreams != 1 || !block->has_scalars() || !block->is_ready()) {
    return nullptr;
  }
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(key, &start, &stop, &step) != 0) {
    throw nb::python_error();
  }
  Py_ssize_t count = PySlice_AdjustIndices(block->size()[0], &start, &stop, step);
  if (block->type->kind == type_kind::fixed_dim) {
    return nullptr;
  }
  size_t bytes = size_t(count) * block->item_size();
  bool copied = step == 1 && block->access == access_mode::immutable && (block->flags & flag_dense);
  if (copied && bytes <= 64 && bytes % 8 == 0) {
    // A copy of a few elements is cheaper than counting one more owner.
    intptr_t size = count;
    ref<array_block> part = new_dense(block->type, &size);
    const char *from = block->values().address + size_t(start) * block->item_size();
    for (size_t i = 0; i < bytes; i += 8) {
      std::memcpy(part->values().address + i, from + i, 8);
    }
    return wrap(std::move(part));
  }
  ref<array_block> view = new_block(block->type, block->access, block->flags & ~flag_dense);
  intptr_t stride = block->value_strides()[0];
  view->size()[0] = count;
  view->value_strides()[0] = count > 1 ? stride * step : stride; // of one element, any step
  view->values() = shared_stream(*block, 0);
  view->values().address += count > 0 ? start * stride : 0;
  note_density(*view);
  return wrap(std::move(view));
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

// ---- iteration ----------------------------------------------------------------------------------------------------

struct iterator_object {
  PyObject_HEAD PyObject *array; ///< null at the end
  Py_ssize_t next;
};

PyTypeObject *iterator_type = nullptr;

void destroy_iterator(PyObject *self) {
  Py_XDECREF(reinterpret_cast<iterator_object *>(self)->array);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject *next_element(PyObject *self) {
  auto *iterator = reinterpret_cast<iterator_object *>(self);
  if (!iterator->array || iterator->next >= length(iterator->array)) {
    Py_CLEAR(iterator->array);
    return nullptr;
  }
  constexpr Py_ssize_t unasked = 1 << 15; // elements between two looks at Ctrl-C: `list(a)` itself never looks
  if (iterator->next % unasked == unasked - 1 && PyErr_CheckSignals() != 0) {
    return nullptr;
  }
  return get_element(iterator->array, iterator->next++);
}

PyObject *remaining(PyObject *self, PyObject *) {
  auto *iterator = reinterpret_cast<iterator_object *>(self);
  return PyLong_FromSsize_t(iterator->array ? length(iterator->array) - iterator->next : 0);
}

PyTypeObject *make_iterator_type() {
  static PyMethodDef methods[] = {{"__length_hint__", remaining, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(destroy_iterator)},
                                {Py_tp_iter, reinterpret_cast<void *>(PyObject_SelfIter)},
                                {Py_tp_iternext, reinterpret_cast<void *>(next_element)},
                                {Py_tp_methods, methods},
                                {}};
  PyType_Spec spec = {"dynd.nd.array_iterator", sizeof(iterator_object), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
}

} // namespace

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
      if (i != -1 || !PyErr_Occurred()) {
        return element_at(a, i);
      }
      PyErr_Clear();
    }
    if (char *place = a->access == access_mode::immutable ? place_of_number(a, key) : nullptr) {
      return wrap(nd::scalar_of(a->scalar(), place));
    }
    return wrap(without_owner(index_array(a, key), a));
  });
}

PyObject *get_element(PyObject *self, Py_ssize_t i) {
  return guarded([&] { return element_at(unwrap(self), i); });
}

int set_item(PyObject *self, PyObject *key, PyObject *value) {
  return guarded_int([&] {
    if (!value) {
      throw error(error_kind::type, "assign: elements of an array cannot be deleted");
    }
    nd::array &a = unwrap(self);
    bool is_number = PyFloat_CheckExact(value) || PyLong_CheckExact(value);
    if (char *place = is_number && a->access == access_mode::readwrite ? place_of_number(a, key) : nullptr) {
      nd::array number = to_assigned(value, a);
      if (try_direct_number(place, a->scalar(), *number.get(), error_mode::fractional, thread_settings())) {
        return 0;
      }
    }
    parsed_key parsed(a, key);
    if (parsed.arrays || selects_in_missing_rows(parsed.base, parsed.selectors)) {
      assign_selected(parsed.base, parsed.selectors, to_assigned(value, parsed.base));
      return 0;
    }
    nd::array target = parsed.selectors.empty() ? parsed.base : parsed.select();
    if (a->access == access_mode::readwrite && target->access == access_mode::immutable) { // an element of every row
      assign_selected(parsed.base, parsed.selectors, to_assigned(value, target));
      return 0;
    }
    nd::array source = to_assigned(value, target);
    if (target.ndim() > 0 && source.ndim() <= target.ndim() && parsed.base.get() == a.get()) {
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
    bool is_row = has_missing_rows(block->type);
    stream_room room = {};
    if (is_row && cursor(*block, room).is_there()) {
      return cursor(*block, room).inside().size();
    }
    PyErr_SetString(PyExc_TypeError,
                    is_row ? "len: the row is missing" : "len: a zero-dimensional array has no length");
    return -1;
  }
  // A `var` dimension with nothing outside of it is one row.
  stream_room room;
  return cursor::over_rows(*block, room).size();
}

PyObject *iterate(PyObject *self) {
  if (unwrap(self).ndim() == 0 && !has_missing_rows(unwrap(self)->type)) {
    PyErr_SetString(PyExc_TypeError, "iteration: a zero-dimensional array has no elements to iterate over");
    return nullptr;
  }
  if (!iterator_type && !(iterator_type = make_iterator_type())) {
    return nullptr;
  }
  auto *iterator = PyObject_New(iterator_object, iterator_type);
  if (iterator) {
    iterator->array = Py_NewRef(self);
    iterator->next = 0;
  }
  return reinterpret_cast<PyObject *>(iterator);
}

} // namespace binding

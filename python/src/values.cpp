#include "values.h"

namespace binding {

std::string place::text() const {
  std::string text;
  for (const level *l = innermost_; l; l = l->outer_) {
    std::string step = l->index_ < 0 ? '"' + std::string(l->name_) + '"' : std::to_string(l->index_);
    text = text.empty() ? step : step + ", " + text;
  }
  return text.empty() ? text : " at index (" + text + (depth_ == 1 ? ",)" : ")");
}

const std::vector<nb::object> &field_keys::of(const type_data *type) {
  for (const auto &known : known_) {
    if (known->type == type) {
      return known->keys;
    }
  }
  std::vector<nb::object> keys;
  for (int i = 0; i < type->nfields; i++) {
    keys.push_back(nb::steal(PyUnicode_InternFromString(type->fields[i].name)));
    if (!keys.back().is_valid()) {
      throw nb::python_error();
    }
  }
  known_.push_back(std::make_unique<entry>(entry{type, std::move(keys)}));
  return known_.back()->keys;
}

nb::object as_list(PyObject *object) {
  if (is_list(object)) {
    return nb::borrow(object);
  }
  if (PyRange_Check(object)) {
    return steal(PySequence_List(object));
  }
  bool ours = is_array(object);
  if (!ours && !has_buffer(object)) {
    return nb::object();
  }
  nd::array a = ours ? unwrap(object) : view_of_buffer(object);
  return a.ndim() > 0 ? nb::steal(to_list(a)) : nb::object();
}

dense_rows::dense_rows(PyObject *object) {
  bool ours = is_array(object);
  if (!ours && (is_list(object) || !has_buffer(object) || PyByteArray_Check(object))) {
    return;
  }
  if (lent_numbers lent = numbers_of_numpy(object); lent.ndim > 0) {
    numbers_ = lent;
    return;
  }
  nd::array a = ours ? unwrap(object) : view_of_buffer(object);
  if (a.ndim() > 0 && a->has_scalars() && a->nstreams == 1) {
    view_ = a.eval();
    numbers_ = {a->values().address, a.ndim(), a->size(), a->value_strides(), a->scalar(), true};
  }
}

std::vector<nd::array> operands(nb::handle arrays, const char *name) {
  std::vector<nd::array> all;
  for (nb::handle a : nb::borrow<nb::sequence>(arrays)) {
    all.push_back(operand(a, name));
  }
  return all;
}

nd::array integers(nb::handle a, const char *name) {
  if (PyList_Check(a.ptr()) && PyList_GET_SIZE(a.ptr()) == 0) {
    intptr_t none = 0;
    return nd::array(new_dense(ndt::make_strided_dim(ndt::make_scalar(scalar_id::int64)).get(), &none));
  }
  return operand(a, name);
}

nb::object without_array(PyObject *object) {
  if (!is_array(object) || unwrap(object)->has_scalars()) {
    return nb::borrow(object);
  }
  return steal(to_list(unwrap(object)));
}

std::string_view utf8_of(PyObject *text, const place &where) {
  Py_ssize_t size;
  const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (!bytes) {
    forget_error(PyExc_UnicodeEncodeError);
    throw error(error_kind::value, "array: text with a lone surrogate is not Unicode" + where.text());
  }
  return {bytes, size_t(size)};
}

void changed_while_read(const char *what) {
  throw error(error_kind::value, std::string("array: ") + what + " changed its length while it was read");
}

} // namespace binding

// The type of Python values that have none: a survey of nested lists, records, texts and numbers.
#include "numbers.h"

#include <memory>
#include <utility>

namespace binding {

namespace {

// What was seen at one place of the values, over all values there: below lists, or in one field of dicts.
struct seen {
  enum shape_t : uint8_t { nothing, a_number, a_text, some_bytes, a_mixture, a_list, a_record, an_element };
  shape_t shape = nothing;
  bool missing = false;       // None among them
  bool typed = false;         // some numbers have a type of their own
  value_kind kind = no_value; // of Python numbers, which are weak
  scalar_id strong = scalar_id::bool_;
  intptr_t length = -2;       // of the lists; -1 where they differ
  intptr_t records = 0;       // how many dicts
  std::unique_ptr<seen> item; // of the lists
  struct field;
  std::vector<field> fields; // of the dicts, in the order of their first appearance

  // The type of the numbers: Python numbers give way to elements that have one, within their kind.
  scalar_id scalar() const {
    if (!typed) {
      return scalar_for(kind);
    }
    return weakly_promoted(kind, strong);
  }
};

struct seen::field {
  nb::object key;
  std::string name;
  seen value;
  intptr_t count = 0; // how many dicts have it
};

constexpr int deepest = 128; // lists and dicts; datashape text ends there too

// Looks at all values. Where the type of the elements is given, only at the lists around them; a tuple is then an
// element if elements have fields, as in NumPy. Text beside a number is an error unless `mixtures` may be.
class survey {
public:
  survey(ndt::type element, bool mixtures) : element_(element), mixtures_(mixtures) {
    const type_data *t = element.get();
    while (t && t->element && t->kind != type_kind::byteswap) {
      t = t->element;
    }
    tuples_are_elements_ = t && t->nfields > 0;
    bytes_are_elements_ = t && (t->kind == type_kind::bytes || t->kind == type_kind::fixed_bytes);
  }

  void visit(seen &at, PyObject *object) {
    if (object == Py_None && !element_) {
      at.missing = true;
      return;
    }
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) { // the usual case, without the questions below
      note(at, element_ ? seen::an_element : seen::a_number);
      note_kind(at, element_ ? no_value : kind_of(object));
      return;
    }
    if (numpy_number number = number_in(object); number.address) {
      note(at, element_ ? seen::an_element : seen::a_number);
      return note_scalar(at, number.scalar);
    }
    if (dense_rows rows(object); rows) {
      return visit_rows(at, rows);
    }
    nb::object value = without_array(object);
    object = value.ptr();
    bool is_element = PyTuple_Check(object) ? tuples_are_elements_ : bytes_are_elements_ && PyByteArray_Check(object);
    if (nb::object list = is_element ? nb::object() : as_list(object); list.is_valid()) {
      visit_list(at, object, list.ptr());
    } else if (element_) {
      if (object != Py_None) {
        note(at, seen::an_element);
      }
    } else if (PyDict_Check(object)) {
      note(at, seen::a_record);
      visit_dict(at, object);
    } else if (PyUnicode_Check(object)) {
      note(at, seen::a_text);
    } else if (PyBytes_Check(object)) {
      note(at, seen::some_bytes);
    } else {
      visit_number(at, object);
    }
  }

private:
  void note(seen &at, seen::shape_t shape) {
    if (at.shape == shape) {
      return;
    }
    auto is_simple = [](seen::shape_t s) { return s >= seen::a_number && s <= seen::a_mixture; };
    if (mixtures_ && is_simple(shape) && is_simple(at.shape)) {
      at.shape = seen::a_mixture;
      return;
    }
    if (at.shape != seen::nothing) {
      static const char *const names[] = {"", "a number", "text", "bytes", "a value", "a list", "a dict", "an element"};
      bool depth = shape == seen::a_list || at.shape == seen::a_list;
      throw error(depth ? error_kind::value : error_kind::type,
                  std::string("array: ") + (depth ? "values at different depths: " : "") + names[shape] + " beside " +
                      names[at.shape] + where_.text());
    }
    at.shape = shape;
  }

  void visit_number(seen &at, PyObject *object) {
    value_kind own = kind_of(object);
    if (own == no_value) {
      throw error(error_kind::type, "array: cannot make an element from " + type_name(object) + where_.text());
    }
    note(at, seen::a_number);
    if (!note_type(at, object)) {
      note_kind(at, own);
    }
  }

  static void note_kind(seen &at, value_kind kind) { at.kind = kind > at.kind ? kind : at.kind; }

  static void note_scalar(seen &at, scalar_id scalar) {
    at.strong = at.typed ? promote(at.strong, scalar) : scalar;
    at.typed = true;
  }

  // An array, or a NumPy value. False for what has no type.
  bool note_type(seen &at, PyObject *object) {
    if (!is_array(object) && !has_buffer(object)) {
      return false;
    }
    nd::array a = is_array(object) ? unwrap(object) : view_of_buffer(object);
    if (!a->has_scalars()) {
      return false;
    }
    note_scalar(at, a->scalar());
    return true;
  }

  // The elements of an array have a type, even where there are none.
  void note_content(seen &at, PyObject *object) {
    seen *bottom = &at;
    for (int d = is_array(object) ? unwrap(object).ndim() : view_of_buffer(object).ndim(); d > 0; d--) {
      bottom = &item_of(*bottom);
    }
    note_type(*bottom, object);
  }

  static seen &item_of(seen &list) {
    if (!list.item) {
      list.item = std::make_unique<seen>();
    }
    return *list.item;
  }

  void note_list(seen &at, intptr_t size) {
    note(at, seen::a_list);
    if (++lists_ > max_ndim || where_.depth() >= deepest) {
      throw error(error_kind::value, lists_ > max_ndim ? "array: more than " + std::to_string(max_ndim) + " dimensions"
                                                       : "array: values nest more than 128 deep");
    }
    at.length = at.length == -2 || at.length == size ? size : -1;
  }

  // The lists that an array of numbers would be, without making them.
  void visit_rows(seen &at, const dense_rows &rows) {
    seen *bottom = &at;
    for (int d = 0; d < rows->ndim; d++) {
      note_list(*bottom, rows->shape[d]);
      bottom = &item_of(*bottom);
    }
    lists_ -= rows->ndim;
    note(*bottom, element_ ? seen::an_element : seen::a_number);
    note_scalar(*bottom, rows->scalar);
  }

  void visit_list(seen &at, PyObject *object, PyObject *list) {
    note_list(at, PySequence_Fast_GET_SIZE(list));
    item_of(at);
    if (!element_ && !is_list(object) && !PyRange_Check(object)) {
      note_content(at, object);
    }
    place::level level(where_);
    for_each_item(list, poll_, [&](PyObject *item, intptr_t i) {
      where_.at(i);
      visit(*at.item, item);
    });
    lists_--;
  }

  void visit_dict(seen &at, PyObject *dict) {
    if (where_.depth() >= deepest) {
      throw error(error_kind::value, "array: values nest more than 128 deep");
    }
    at.records++;
    int lists = std::exchange(lists_, 0);
    bool mixtures = std::exchange(mixtures_, false); // the type that they would take is not that of a field
    place::level level(where_);
    Py_ssize_t size = PyDict_Size(dict), position = 0;
    PyObject *next_key, *next_value;
    for (size_t i = 0; PyDict_Next(dict, &position, &next_key, &next_value); i++) {
      nb::object key = nb::borrow(next_key), value = nb::borrow(next_value);
      size_t f = find_field(at, key.ptr(), i);
      where_.at(std::string_view(at.fields[f].name));
      at.fields[f].count++;
      visit(at.fields[f].value, value.ptr());
      if (PyDict_Size(dict) != size) {
        changed_while_read("a dict");
      }
    }
    lists_ = lists;
    mixtures_ = mixtures;
  }

  // Dicts usually have the same keys in the same order.
  size_t find_field(seen &at, PyObject *key, size_t guess) {
    if (guess < at.fields.size() && at.fields[guess].key.ptr() == key) {
      return guess;
    }
    if (!PyUnicode_Check(key)) {
      throw error(error_kind::type, "array: the keys of a dict are the names of fields, so they are text, not " +
                                        type_name(key) + where_.text());
    }
    std::string_view name = utf8_of(key, where_);
    for (size_t f = 0; f < at.fields.size(); f++) {
      if (at.fields[f].name == name) {
        return f;
      }
    }
    check_counts(at.fields.size() + 1, 0);
    at.fields.push_back({nb::borrow(key), std::string(name), {}, 0});
    return at.fields.size() - 1;
  }

  ndt::type element_;
  bool mixtures_;
  bool tuples_are_elements_, bytes_are_elements_;
  signal_poll poll_;
  place where_;
  int lists_ = 0; // around the value, from the innermost record on
};

// What is in a list for this type; the type itself where it has no more dimensions.
ndt::type in_list(ndt::type type) {
  const type_data *list = without_options(type.get());
  return list->ndim ? ndt::type(list->element) : type;
}

// The type of what was seen. Dimensions outside of the elements have one size where their lists have one length; those
// inside of a field or a value that may be missing are `var`: one record does not know the next. `if_none`: of the
// destination, for what has no type of its own.
ndt::type deduced_type(const seen &at, bool outside, bool first, ndt::type if_none, const std::string &field) {
  ndt::type type;
  switch (at.shape) {
  case seen::nothing:
    if (at.missing && !if_none) {
      throw error(error_kind::type, "array: None alone has no type" + (field.empty() ? "" : ", in the field " + field) +
                                        "; give one, for example type=\"?float64\"");
    }
    type = if_none && !at.typed ? if_none.dtype() : ndt::make_scalar(at.scalar());
    break;
  case seen::a_text:
    type = ndt::make_string();
    break;
  case seen::some_bytes:
    type = ndt::make_bytes();
    break;
  case seen::a_mixture:
    type = if_none.dtype();
    while (path_ndim(type.get()) > 0) { // rows behind an option or a pointer
      type = type.element().dtype();
    }
    break;
  case seen::a_list: {
    outside &= !at.missing;
    type = deduced_type(*at.item, outside, false, if_none ? in_list(if_none) : if_none, field);
    type = outside && (first || at.length >= 0) ? ndt::make_strided_dim(type) : ndt::make_var_dim(type);
    break;
  }
  case seen::a_record: {
    std::vector<std::string> names;
    std::vector<ndt::type> fields;
    for (const seen::field &f : at.fields) {
      names.push_back(f.name);
      ndt::type own = deduced_type(f.value, false, false, {}, field_name_text(f.name));
      fields.push_back(f.count < at.records && own->kind != type_kind::option ? ndt::make_option(own) : own);
    }
    if (fields.empty()) {
      throw error(error_kind::type, "array: dicts without keys have no type");
    }
    type = ndt::make_struct(names, fields);
    break;
  }
  default: { // integers that no integer type holds are floats beside floats
    const type_data *wanted = if_none ? without_options(if_none->dtype) : nullptr;
    bool real =
        wanted && wanted->kind == type_kind::scalar && (is_floating(wanted->scalar) || is_complex(wanted->scalar));
    bool beyond = at.kind == a_large_integer && !at.typed;
    type = ndt::make_scalar(real && beyond ? scalar_id::float64 : at.scalar());
  }
  }
  return at.missing && type->kind != type_kind::option ? ndt::make_option(type) : type;
}

// How many lists one value of the type takes.
int lists_of(const type_data *t) {
  int lists = 0;
  for (; t->element && t->kind != type_kind::byteswap; t = t->element) {
    lists += t->kind >= type_kind::fixed_dim;
  }
  return lists;
}

// The dimensions that the lists around the elements make.
ndt::type with_seen_dimensions(const seen &at, ndt::type element) {
  std::vector<intptr_t> lengths;
  for (const seen *s = &at; s && s->shape == seen::a_list; s = s->item.get()) {
    lengths.push_back(s->length);
  }
  ndt::type type = element;
  for (int d = int(lengths.size()) - lists_of(element.get()); d-- > 0;) {
    type = d > 0 && lengths[size_t(d)] < 0 ? ndt::make_var_dim(type) : ndt::make_strided_dim(type);
  }
  return type;
}

} // namespace

ndt::type type_of_values(PyObject *values, ndt::type element, ndt::type if_none, bool mixtures) {
  seen all;
  survey(element, mixtures).visit(all, values);
  return element ? with_seen_dimensions(all, element) : deduced_type(all, true, true, if_none, "");
}

} // namespace binding

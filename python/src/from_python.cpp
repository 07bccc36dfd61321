// From Python values to arrays: the type of nested lists, records, texts and numbers; the buffer protocol.
#include "values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "dynd/eval/evaluate.h"
#include "dynd/kernel/conversion.h"

namespace binding {

namespace {

// ---- what the values are ------------------------------------------------------------------------------------------

// A scalar's kind, or -1: bool, integer (fits 32 bits, 64, unsigned 64), floating, complex.
enum value_kind { no_value = -1, a_bool, an_int32, an_int64, a_uint64, a_float, a_complex };

[[noreturn]] void too_large(PyObject *number, const place &where) {
  throw error(error_kind::overflow, "array: the integer " + std::string(nb::str(nb::handle(number)).c_str()) +
                                        " does not fit in 64 bits" + where.text());
}

value_kind kind_of(PyObject *object, const place &where) {
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
        too_large(object, where);
      }
      return a_uint64;
    }
    if (overflow < 0) {
      too_large(object, where);
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
    if (a.ndim() != 0 || !a->has_scalars()) {
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

// What was seen at one place of the values, over all that stands there: below lists, or in one field of dicts.
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
    bytes_are_elements_ = t && t->kind == type_kind::bytes;
  }

  void visit(seen &at, PyObject *object) {
    if (object == Py_None && !element_) {
      at.missing = true;
      return;
    }
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) { // the usual case, without the questions below
      note(at, element_ ? seen::an_element : seen::a_number);
      note_kind(at, element_ ? no_value : kind_of(object, where_));
      return;
    }
    nb::object value = without_array(object);
    object = value.ptr();
    bool is_element = PyTuple_Check(object) ? tuples_are_elements_ : bytes_are_elements_ && PyByteArray_Check(object);
    if (nb::object list = is_element ? nb::object() : as_list(object); list.is_valid()) {
      note(at, seen::a_list);
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
    value_kind own = kind_of(object, where_);
    if (own == no_value) {
      throw error(error_kind::type, "array: cannot make an element from " + type_name(object) + where_.text());
    }
    note(at, seen::a_number);
    if (!note_type(at, object)) {
      note_kind(at, own);
    }
  }

  static void note_kind(seen &at, value_kind kind) { at.kind = kind > at.kind ? kind : at.kind; }

  // An array, or a NumPy value. False for what has no type.
  bool note_type(seen &at, PyObject *object) {
    if (!is_array(object) && !has_buffer(object)) {
      return false;
    }
    nd::array a = is_array(object) ? unwrap(object) : view_of_buffer(object);
    if (!a->has_scalars()) {
      return false;
    }
    at.strong = at.typed ? promote(at.strong, a->scalar()) : a->scalar();
    return at.typed = true;
  }

  // The elements of an array have a type, even where there are none.
  void note_content(seen &at, PyObject *object) {
    seen *bottom = &at;
    for (int d = is_array(object) ? unwrap(object).ndim() : view_of_buffer(object).ndim(); d > 0; d--) {
      if (!bottom->item) {
        bottom->item = std::make_unique<seen>();
      }
      bottom = bottom->item.get();
    }
    note_type(*bottom, object);
  }

  void visit_list(seen &at, PyObject *object, PyObject *list) {
    if (++lists_ > max_ndim || where_.depth() >= deepest) {
      throw error(error_kind::value,
                  lists_ > max_ndim ? "array: more than 32 dimensions" : "array: values nest more than 128 deep");
    }
    intptr_t size = PySequence_Fast_GET_SIZE(list);
    at.length = at.length == -2 || at.length == size ? size : -1;
    if (!at.item) {
      at.item = std::make_unique<seen>();
    }
    if (!element_ && !is_list(object) && !PyRange_Check(object)) {
      note_content(at, object);
    }
    place::level level(where_);
    for_each_item(list, [&](PyObject *item, intptr_t i) {
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
    at.fields.push_back({nb::borrow(key), std::string(name), {}, 0});
    return at.fields.size() - 1;
  }

  ndt::type element_;
  bool mixtures_;
  bool tuples_are_elements_, bytes_are_elements_;
  place where_;
  int lists_ = 0; // around the value, from the innermost record on
};

// What is in a list for this type; the type itself where it has no more dimensions.
ndt::type in_list(ndt::type type) {
  const type_data *list = below_options(type.get());
  return list->ndim ? ndt::type(list->element) : type;
}

// The type of what was seen. Dimensions outside of the elements have one size where their lists have one length; those
// inside of a field or a value that may be missing are `var`: one record does not know the others. `if_none`: of the
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
  default:
    type = ndt::make_scalar(at.scalar());
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

// ---- one number ---------------------------------------------------------------------------------------------------

double to_double(PyObject *object) {
  double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    throw nb::python_error();
  }
  return value;
}

// The number as the type that its kind has, for the conversion to start from.
scalar_id number_of(PyObject *object, value_kind kind, void *value) {
  auto put = [&](auto number) { std::memcpy(value, &number, sizeof(number)); };
  if (kind == a_bool) {
    int truth = PyObject_IsTrue(object);
    if (truth < 0) {
      throw nb::python_error();
    }
    put((unsigned char)truth);
    return scalar_id::bool_;
  }
  if (kind == a_float) {
    put(to_double(object));
    return scalar_id::float64;
  }
  if (kind == a_complex) {
    Py_complex number = PyComplex_AsCComplex(object);
    if (number.real == -1.0 && PyErr_Occurred()) {
      throw nb::python_error();
    }
    put(complex_of<double>{number.real, number.imag});
    return scalar_id::complex128;
  }
  nb::object number = nb::steal(PyNumber_Index(object));
  if (!number.is_valid()) {
    throw nb::python_error();
  }
  int overflow;
  long long integer = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow) {
    put(PyLong_AsUnsignedLongLong(number.ptr()));
    if (PyErr_Occurred()) {
      throw nb::python_error();
    }
    return scalar_id::uint64;
  }
  put(integer);
  if (integer != int32_t(integer)) {
    return scalar_id::int64;
  }
  put(int32_t(integer));
  return scalar_id::int32;
}

} // namespace

void store(char *dst, scalar_id scalar, PyObject *object, const char *operation, const place &where, error_mode mode) {
  int too_large = 0; // for 64 bits; a floating type holds it nevertheless
  if (PyLong_Check(object) && (is_floating(scalar) || is_complex(scalar))) {
    PyLong_AsLongLongAndOverflow(object, &too_large);
  }
  value_kind kind = too_large ? a_float : kind_of(object, where);
  if (kind == no_value) {
    bool text = PyUnicode_Check(object) || PyBytes_Check(object);
    throw error(error_kind::type, std::string(operation ? operation : "assign") + ": cannot make " +
                                      scalar_name[size_t(scalar)] + " from " + type_name(object) + where.text() +
                                      (text ? "; text becomes numbers by assignment or astype" : ""));
  }
  alignas(16) char value[max_scalar_size];
  scalar_id from = number_of(object, kind, value);
  block_fn convert = isa().convert_checked(mode, scalar, from);
  if (convert(dst, value, nullptr, nullptr, 1, nullptr) != 0) {
    refusal why = why_refused(scalar, from, value);
    throw error(why.kind, (operation ? std::string(operation) + ": " : "") + why.text + where.text());
  }
}

namespace {

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

nd::array view_of_buffer(PyObject *object) {
  if (is_masked(object)) { // what it hides would be taken for values
    throw error(error_kind::type, "asarray: a masked array (" + type_name(object) +
                                      ") would lose its mask; pass x.filled(value), or copy it as ?T with nd.array(x)");
  }
  auto *view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    delete view;
    PyErr_Clear();
    return view_of_numpy(object);
  }
  ref<buffer> memory = adopt_memory(view->buf, size_t(view->len), release_buffer, view);
  // An exporter may leave out what follows from the length: one dimension, or C order.
  intptr_t length = view->itemsize ? view->len / view->itemsize : 0;
  const Py_ssize_t *shape = view->shape ? view->shape : &length;
  Py_ssize_t c_order[max_ndim];
  scalar_id scalar;
  if (!scalar_of_format(*view, scalar)) {
    if (PyObject_HasAttrString(object, "dtype")) {
      return view_of_numpy(object);
    }
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

ndt::type with_scalar(ndt::type type, scalar_id scalar) { return ndt::with_dtype(type, ndt::make_scalar(scalar)); }

ndt::type with_element(const nd::array &a, ndt::type element, const char *operation) {
  if (path_ndim(element.get()) != path_ndim(a.type().dtype().get())) {
    throw error(error_kind::type, std::string(operation) + ": elements of type " + std::string(element.str()) +
                                      " have other dimensions than those of " + std::string(a.type().str()) +
                                      "; give the whole type");
  }
  return ndt::with_dtype(a.type(), element);
}

nd::array converted(const nd::array &from, ndt::type type, access_mode access) {
  type = !type ? from.type() : type->ndim == 0 ? with_element(from, type, "array") : type;
  if (ndt::with_dtype(from.type(), type.dtype()) != type) {
    throw error(error_kind::type, "array: cannot make " + std::string(type.str()) + " from " +
                                      std::string(from.type().str()) + ": the dimensions differ");
  }
  return nd::array(copy_values(from.get(), access, type.dtype()));
}

nd::array from_python(PyObject *values, ndt::type type, access_mode access, ndt::type if_none,
                      std::optional<error_mode> assigned) {
  if (is_array(values)) {
    return converted(unwrap(values), type, access);
  }
  bool is_bytes = PyByteArray_Check(values) && type && type->dtype->kind == type_kind::bytes;
  if (has_buffer(values) && !is_bytes) {
    if (nd::array copy = copy_of_numpy(values, type, access)) {
      return copy;
    }
    return converted(view_of_buffer(values), type, access);
  }
  bool number = PyFloat_CheckExact(values) || PyLong_CheckExact(values);
  if (number && (!type || type->kind == type_kind::scalar)) { // one number, without the search for more
    type = type ? type : ndt::make_scalar(scalar_for(kind_of(values, {})));
    ref<array_block> block = new_dense(type.get(), nullptr, access);
    store(block->values().address, type->scalar, values, "array", {});
    return nd::array(std::move(block));
  }
  if (!type || type->ndim == 0) {
    seen all;
    survey(type, assigned && if_none).visit(all, values);
    type = type ? with_seen_dimensions(all, type) : deduced_type(all, true, true, if_none, "");
  }
  return read_values(values, type, nullptr, access, assigned);
}

const type_data *below_options(const type_data *t) {
  while (t->kind == type_kind::option || t->kind == type_kind::pointer) {
    t = t->element;
  }
  return t;
}

namespace {

// A Python integer in a comparison, where the other type does not hold it: as int64 or uint64, whichever does, because
// these are compared exactly. What neither holds is a float64, at most the greatest, which infinity is above.
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
  double beyond = PyLong_AsDouble(number);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    beyond = overflow * std::numeric_limits<double>::max();
  } else if (beyond == -0x1p63) { // rounded to what int64 has
    beyond = std::nextafter(beyond, -HUGE_VAL);
  }
  return nd::scalar_of(scalar_id::float64, &beyond);
}

// Whether a type has an integer as a value; of a floating type, all up to it.
bool holds(scalar_id scalar, PyObject *number) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  int bits = 8 * scalar_size[size_t(scalar)];
  if (is_floating(scalar)) {
    long long most = 1LL << (bits == 16 ? 11 : bits == 32 ? 24 : 53);
    return overflow == 0 && value >= -most && value <= most;
  }
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
  ndt::type element; // what None alone is one of
  if (like && (compared || !(*like)->has_scalars())) {
    element = like->type().dtype();
  }
  if (like && !(*like)->has_scalars()) {
    like = nullptr;
  }
  auto scalar_operand = [&](scalar_id scalar) { // what is too large for a floating type is its infinity
    error_mode mode = is_floating(scalar) || is_complex(scalar) ? error_mode::nocheck : error_mode::fractional;
    alignas(16) char value[max_scalar_size];
    store(value, scalar, object, operation, {}, mode);
    return nd::scalar_of(scalar, value);
  };
  const type_data *other = element ? below_options(element.get()) : nullptr;
  if (compared && PyLong_CheckExact(object) && other && other->kind == type_kind::scalar) {
    bool number = is_integer(other->scalar) || is_floating(other->scalar);
    if (!number || !holds(other->scalar, object)) {
      return to_comparand(object);
    }
  }
  // NumPy's float64 is a Python float too, but not a weak one: it has a buffer.
  bool number = PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
  if (number && !PyObject_CheckBuffer(object)) {
    value_kind kind = kind_of(object, {});
    return scalar_operand(like && kind != a_bool ? weakly_promoted(kind, (*like)->scalar()) : scalar_for(kind));
  }
  if (has_buffer(object)) {
    return view_of_buffer(object);
  }
  bool missing = object == Py_None && element;
  if (is_list(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object) || missing) {
    // A Python tuple is a list of elements, unless the elements are tuples.
    bool tuples = element && below_options(element.get())->kind == type_kind::tuple;
    return from_python(object, tuples ? element : ndt::type(), access_mode::immutable, element);
  }
  if (object == Py_None) {
    throw error(error_kind::type, std::string(operation) + ": None is no operand; tolist() shows what is missing");
  }
  throw error(error_kind::type, std::string(operation) + ": operand of type " + type_name(object) + " is not an array");
}

nd::array to_assigned(PyObject *value, const nd::array &target, error_mode mode) {
  bool scalars = target->has_scalars();
  if (value == Py_None && scalars) {
    std::string type(target.type().dtype().str());
    throw error(error_kind::type, "assign: None to " + type + ", which cannot be missing; ?" + type + " can");
  }
  bool is_value = PyUnicode_Check(value) || PyBytes_Check(value) || !PyObject_CheckBuffer(value);
  if ((scalars && !is_list(value)) || is_array(value) || !is_value) {
    return to_operand(value, nullptr, "assign");
  }
  ndt::type element = target.type().dtype();
  ndt::type type = below_options(element.get())->nfields ? element : ndt::type();
  return from_python(value, type, access_mode::immutable, target.type(), mode);
}

} // namespace binding

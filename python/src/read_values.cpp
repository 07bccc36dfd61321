// Reading Python values of a type that is known: a walk over the type, which says what must be at each place.
#include "numbers.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/observe.h"
#include "dynd/ops/isa.h"

namespace binding {

namespace {

// The least and the greatest integer of a type, as far as int64 goes; an empty range for what is no integer.
struct integer_range {
  int64_t least = 0, greatest = -1;
};

integer_range range_of(scalar_id scalar) {
  if (!is_integer(scalar)) {
    return {};
  }
  int bits = 8 * scalar_size[size_t(scalar)];
  if (is_signed_integer(scalar)) {
    return {INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits)};
  }
  return {0, bits == 64 ? INT64_MAX : (int64_t(1) << bits) - 1};
}

class value_reader {
public:
  value_reader(ndt::type type, std::optional<error_mode> assigned) : type_(type), writer_(type), assigned_(assigned) {}

  nd::array read(PyObject *values, const intptr_t *size, access_mode access) {
    for (int d = 0; size && d < type_->ndim; d++) {
      if (type_.at_depth(d)->kind == type_kind::strided_dim) {
        writer_.add_size(d, size[d]);
      }
    }
    visit({type_.get()}, values);
    // What pointers will point to, other texts, and other rows of records come from pools, which a copy has.
    const type_data *t = type_->dtype;
    bool pools = access == access_mode::readwrite && std::any_of(t->roles, t->roles + t->nstreams, has_pool);
    nd::array made(writer_.finish(pools ? access_mode::immutable : access));
    return pools ? nd::array(copy_values(made.get(), access, type_.dtype())) : made;
  }

private:
  void visit(const type_part &part, PyObject *object) {
    if (part.is_dim() && !is_list(object)) {
      if (dense_rows rows(object); rows && can_copy(part, rows)) {
        return visit_rows(part, rows, rows->data, 0);
      }
    }
    nb::object value = as_element(part.type, without_array(object));
    object = value.ptr();
    switch (part.type->kind) {
    case type_kind::scalar:
      return visit_scalar(part, part.type->scalar, object, false);
    case type_kind::byteswap:
      return visit_scalar(part, part.type->element->scalar, object, true);
    case type_kind::string:
      return writer_.add_text(part.stream, text_in(part, object));
    case type_kind::bytes:
      return writer_.add_text(part.stream, bytes_in(part, object));
    case type_kind::fixed_string:
    case type_kind::fixed_bytes:
      return visit_fixed(part, object);
    case type_kind::option:
      writer_.add_valid(part.stream, object != Py_None);
      return object == Py_None ? writer_.add_nothing(part.element()) : visit(part.element(), object);
    case type_kind::pointer:
      return visit_pointer(part, object);
    case type_kind::tuple:
    case type_kind::struct_:
      return PyDict_Check(object) ? visit_dict(part, object) : visit_fields(part, object);
    default:
      return visit_list(part, object);
    }
  }

  [[noreturn]] void refuse(const type_part &part, PyObject *object) {
    throw error(error_kind::type,
                "array: cannot make " + std::string(part.type->text) + " from " + type_name(object) + where_.text());
  }

  // In an assignment text becomes numbers and numbers text, as they do between arrays; other values are as they were.
  nb::object as_element(const type_data *type, nb::object value) {
    if (!assigned_ || value.is_none() || !is_other_kind(type, value.ptr())) {
      return value;
    }
    observed_scope unwatched(nullptr); // an intermediate value is not what is watched
    try {
      nd::array own = from_python(value.ptr(), {}, access_mode::immutable);
      if (own.ndim() > 0) {
        return value;
      }
      nd::array converted(convert_values(own.get(), access_mode::immutable, ndt::type(type), *assigned_));
      return nb::steal(to_list(converted));
    } catch (const error &e) {
      throw error(e.kind(), e.what() + where_.text());
    }
  }

  // Text where a number should be, or the reverse.
  static bool is_other_kind(const type_data *type, PyObject *object) {
    while (type->kind == type_kind::option) {
      type = type->element;
    }
    switch (type->kind) {
    case type_kind::scalar:
    case type_kind::byteswap:
      return PyUnicode_Check(object) || PyBytes_Check(object);
    case type_kind::string:
    case type_kind::fixed_string:
      return !PyUnicode_Check(object);
    case type_kind::bytes:
    case type_kind::fixed_bytes:
      return !PyBytes_Check(object) && !PyByteArray_Check(object);
    default:
      return false;
    }
  }

  void put_number(char *dst, scalar_id scalar, PyObject *object) {
    store(dst, scalar, object, assigned_ ? nullptr : "array", where_, assigned_.value_or(error_mode::fractional));
  }

  void visit_scalar(const type_part &part, scalar_id scalar, PyObject *object, bool swapped) {
    alignas(16) char value[max_scalar_size];
    size_t size = scalar_size[size_t(scalar)];
    put_number(value, scalar, object);
    if (swapped) {
      isa().swap_bytes(scalar)(value, value, nullptr, nullptr, 1, nullptr);
    }
    writer_.add_value(part.stream, value, size);
  }

  std::string_view text_in(const type_part &part, PyObject *object) {
    return PyUnicode_Check(object) ? utf8_of(object, where_) : (refuse(part, object), std::string_view());
  }

  std::string_view bytes_in(const type_part &part, PyObject *object) {
    if (PyBytes_Check(object)) {
      return {PyBytes_AS_STRING(object), size_t(PyBytes_GET_SIZE(object))};
    }
    if (PyByteArray_Check(object)) {
      return {PyByteArray_AS_STRING(object), size_t(PyByteArray_GET_SIZE(object))};
    }
    refuse(part, object);
  }

  void visit_fixed(const type_part &part, PyObject *object) {
    const type_data *t = part.type;
    std::string_view text = is_string(t->kind) ? text_in(part, object) : bytes_in(part, object);
    bool cut = assigned_ == error_mode::nocheck;
    if (!store_fixed_text(writer_.add_space(part.stream, size_t(t->size)), t, text, cut)) {
      throw error(text.size() > size_t(t->size) ? error_kind::overflow : error_kind::value,
                  "array: " + std::string(is_string(t->kind) ? "a text" : "a value") + " of " +
                      std::to_string(text.size()) + " bytes for " + t->text + where_.text());
    }
  }

  // None is a null pointer, unless what it points to can be missing itself. The content has an element for every
  // pointer, so that their numbers are those of the pointers.
  void visit_pointer(const type_part &part, PyObject *object) {
    if (object == Py_None && part.type->element->kind != type_kind::option) {
      int64_t nothing = -1;
      writer_.add_value(part.stream, &nothing, sizeof(nothing));
      return writer_.add_nothing(part.element());
    }
    writer_.add_pointer(part.stream);
    visit(part.element(), object);
  }

  void visit_fields(const type_part &part, PyObject *object) {
    const type_data *t = part.type;
    if (!is_list(object)) {
      refuse(part, object);
    }
    intptr_t size = PySequence_Fast_GET_SIZE(object);
    if (size != t->nfields) {
      throw error(error_kind::value, "array: " + std::to_string(size) + " values for the " +
                                         std::to_string(t->nfields) + " fields of " + t->text + where_.text());
    }
    place::level level(where_);
    for_each_item(object, poll_, [&](PyObject *item, intptr_t i) {
      where_.at(i);
      visit(part.field(int(i)), item);
    });
  }

  // A key may be missing where its field may.
  void visit_dict(const type_part &part, PyObject *dict) {
    const type_data *t = part.type;
    if (t->kind == type_kind::tuple) {
      refuse(part, dict);
    }
    const std::vector<nb::object> &keys = keys_.of(t);
    Py_ssize_t found = 0;
    for (int i = 0; i < t->nfields; i++) {
      nb::object value = nb::borrow(PyDict_GetItemWithError(dict, keys[size_t(i)].ptr()));
      if (!value.is_valid() && PyErr_Occurred()) {
        throw nb::python_error();
      }
      if (!value.is_valid() && t->fields[i].type->kind != type_kind::option) {
        throw error(error_kind::value,
                    "array: no key " + quoted(keys[size_t(i)]) + " for the field of " + t->text + where_.text());
      }
      found += value.is_valid();
      place::level level(where_);
      where_.at(std::string_view(t->fields[i].name));
      visit(part.field(i), value.is_valid() ? value.ptr() : Py_None);
    }
    if (found != PyDict_Size(dict)) {
      refuse_key(t, dict, keys);
    }
  }

  [[noreturn]] void refuse_key(const type_data *t, PyObject *dict, const std::vector<nb::object> &keys) {
    nb::object own = steal(PyDict_Keys(dict));
    for (nb::handle key : own) {
      if (std::none_of(keys.begin(), keys.end(), [&](const nb::object &k) { return k.equal(key); })) {
        throw error(error_kind::value,
                    "array: the key " + quoted(key) + " is not a field of " + t->text + where_.text());
      }
    }
    changed_while_read("a dict");
  }

  static std::string quoted(nb::handle key) { return nb::repr(key).c_str(); }

  void add_size(const type_part &part, intptr_t size) {
    if (part.is_var()) {
      writer_.add_row(part.stream, size);
    } else if (!writer_.add_size(part.dim, size)) {
      throw error(error_kind::value, "array: a list of length " + std::to_string(size) + " does not fit size " +
                                         std::to_string(writer_.size(part.dim)) + " of " + std::string(type_.str()) +
                                         where_.text());
    }
  }

  // Whether an array of numbers is what the type has here: as many dimensions, and then a scalar that no value of the
  // array's type is refused for.
  static bool can_copy(type_part part, const dense_rows &rows) {
    for (int d = 0; d < rows->ndim; d++, part = part.element()) {
      if (!part.is_dim()) {
        return false;
      }
    }
    return part.type->kind == type_kind::scalar && promote(part.type->scalar, rows->scalar) == part.type->scalar;
  }

  // The rows of an array from dimension d on, which begin at `from`.
  void visit_rows(const type_part &part, const dense_rows &rows, const char *from, int d) {
    intptr_t size = rows->shape[d], stride = rows->strides[d];
    add_size(part, size);
    type_part element = part.element();
    if (d + 1 < rows->ndim) {
      type_part inner = element;
      for (int e = d + 1; size == 0 && e < rows->ndim && !inner.is_var(); e++, inner = inner.element()) {
        add_size(inner, rows->shape[e]); // what no row can say
      }
      place::level level(where_);
      for (intptr_t i = 0; i < size; i++) {
        where_.at(i);
        visit_rows(element, rows, from + i * stride, d + 1);
      }
      return;
    }
    scalar_id to = element.type->scalar;
    size_t item = scalar_size[size_t(to)];
    char *dst = writer_.add_space(element.stream, size_t(size) * item);
    batch_fn convert = isa().convert(to, rows->scalar);
    const size_t own = scalar_size[size_t(rows->scalar)];
    const bool packed = stride == intptr_t(own);
    const intptr_t most = packed ? signal_poll::every : gathered;
    alignas(64) char values[gathered * max_scalar_size + past_end];
    for (intptr_t done = 0, n; done < size; done += n) {
      n = std::min(most, size - done);
      const char *some = from + done * stride;
      if (!packed) {
        isa().fetch(log2_size(rows->scalar)).load_strided(values, some, stride, size_t(n));
      }
      convert(dst + size_t(done) * item, packed ? some : values, nullptr, nullptr, size_t(n), nullptr);
      poll_.step(n);
    }
  }
  static constexpr intptr_t gathered = 512,
                            past_end = 128; // numbers with gaps; bytes that a fetch may write behind them

  void visit_list(const type_part &part, PyObject *object) {
    nb::object list = as_list(object);
    if (!list.is_valid()) {
      throw error(object == Py_None ? error_kind::type : error_kind::value,
                  "array: a value of type " + type_name(object) + " where " + std::string(type_.str()) +
                      " has a dimension" + where_.text());
    }
    add_size(part, PySequence_Fast_GET_SIZE(list.ptr()));
    type_part element = part.element();
    place::level level(where_);
    if (element.type->kind == type_kind::scalar) {
      return visit_numbers(element, list.ptr());
    }
    intptr_t rows = PySequence_Fast_GET_SIZE(list.ptr());
    for_each_item(list.ptr(), poll_, [&](PyObject *item, intptr_t i) {
      where_.at(i);
      visit(element, item);
      if (i == 0 && where_.depth() == 1) {
        expect_rows(element, rows);
      }
    });
  }

  // The rows of the outermost list are all like the first, where their type says so.
  void expect_rows(const type_part &row, intptr_t count) {
    const type_data *t = row.type;
    intptr_t bytes = t->scalar == not_scalar ? 0 : intptr_t(scalar_size[size_t(t->scalar)]);
    type_part part = row;
    for (; part.is_dim() && !part.is_var(); part = part.element()) {
      bytes *= writer_.size(part.dim);
    }
    if (part.type->kind == type_kind::scalar && !__builtin_mul_overflow(bytes, count, &bytes) && bytes > 0) {
      writer_.expect(part.stream, size_t(bytes));
    }
  }

  // A list of scalars. What it usually holds, Python's own int and float, is read in place: no user code runs.
  void visit_numbers(const type_part &part, PyObject *list) {
    scalar_id scalar = part.type->scalar;
    size_t item = scalar_size[size_t(scalar)], size = size_t(PySequence_Fast_GET_SIZE(list));
    integer_range range = range_of(scalar);
    char *dst = writer_.add_space(part.stream, size * item);
    auto check = [&] { // after what may have run user code
      if (size_t(PySequence_Fast_GET_SIZE(list)) != size) {
        changed_while_read("a list");
      }
    };
    for (size_t i = 0; i < size; i++, dst += item) {
      if (i % signal_poll::every == 0) {
        poll_.step(std::min(intptr_t(size - i), signal_poll::every));
        check();
      }
      PyObject *object = PySequence_Fast_GET_ITEM(list, i);
      if (PyFloat_CheckExact(object) && scalar == scalar_id::float64) {
        std::memcpy(dst, &reinterpret_cast<PyFloatObject *>(object)->ob_fval, sizeof(double));
        continue;
      }
      if (numpy_number number = number_in(object); number.address && number.scalar == scalar) {
        with_item(item, [&](auto size) { std::memcpy(dst, number.address, size); }); // no call
        continue;
      }
      if (PyLong_CheckExact(object)) {
        int overflow;
        int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (!overflow && value >= range.least && value <= range.greatest) {
          with_item(item, [&](auto size) { std::memcpy(dst, &value, size); }); // its low bytes: little-endian
          continue;
        }
      }
      where_.at(intptr_t(i));
      if (is_list(object)) {
        throw error(error_kind::value,
                    "array: a list where " + std::string(type_.str()) + " has a scalar" + where_.text());
      }
      nb::object value = as_element(part.type, without_array(object));
      put_number(dst, scalar, value.ptr());
      check();
    }
  }

  ndt::type type_;
  array_writer writer_;
  std::optional<error_mode> assigned_;
  signal_poll poll_;
  place where_;
  field_keys keys_;
};

} // namespace

nd::array read_values(PyObject *values, ndt::type type, const intptr_t *size, access_mode access,
                      std::optional<error_mode> assigned) {
  return value_reader(type, assigned).read(values, size, access);
}

} // namespace binding

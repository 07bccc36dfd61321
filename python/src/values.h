// What reading, writing and deducing the type of Python values share: where a value is, what counts as a list, the
// keys of records.
#pragma once

#include "binding.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace binding {

/// Where a value is in nested lists and records, for messages: ` at index (2, "x", 0)`. A chain of levels on the
/// stack of the code that walks the values, so that knowing the place costs next to nothing.
class place {
public:
  /// One more list or record while it lives.
  class level {
  public:
    explicit level(place &where) : where_(where), outer_(where.innermost_) {
      where.innermost_ = this;
      where.depth_++;
    }
    ~level() {
      where_.innermost_ = outer_;
      where_.depth_--;
    }
    level(const level &) = delete;
    level &operator=(const level &) = delete;

  private:
    friend class place;
    place &where_;
    level *outer_;
    intptr_t index_ = 0;
    std::string_view name_; // of a field, where the index is -1; outlives the level
  };

  void at(intptr_t index) { innermost_->index_ = index; }
  void at(std::string_view name) {
    innermost_->index_ = -1;
    innermost_->name_ = name;
  }
  int depth() const { return depth_; }
  /// Nothing where there is only one value.
  std::string text() const;

private:
  level *innermost_ = nullptr;
  int depth_ = 0;
};

/// The names of a struct's fields as Python text, made once.
class field_keys {
public:
  const std::vector<nb::object> &of(const type_data *type);

private:
  struct entry {
    const type_data *type;
    std::vector<nb::object> keys;
  };
  std::vector<std::unique_ptr<entry>> known_; // what is handed out stays where it is
};

inline std::string type_name(PyObject *object) { return Py_TYPE(object)->tp_name; }

inline bool is_list(PyObject *object) { return PyList_Check(object) || PyTuple_Check(object); }

/// Whether the object lends memory. Text, bytes and lists are values, even where they do.
inline bool has_buffer(PyObject *object) {
  return PyObject_CheckBuffer(object) && !is_list(object) && !PyBytes_Check(object) && !PyUnicode_Check(object);
}

/// Drops the exception of an object that does not lend its memory (NumPy's is a ValueError, for types without a
/// format); others go on.
void forget_refusal();

/// What counts as a list inside a list: an array, a buffer with dimensions, a range. A new list, the list itself, or
/// nothing.
nb::object as_list(PyObject *object);

/// Numbers in memory of another owner, as it says where they are: for as long as no other code runs. Strides may be
/// null: C order.
struct lent_numbers {
  char *data = nullptr;
  int ndim = -1; ///< -1: there are none
  const intptr_t *shape = nullptr, *strides = nullptr;
  scalar_id scalar = scalar_id::bool_;
  bool readonly = true;
};

/// What gives back a reference to the Python object that is a buffer's context.
void release_object(void *object);
/// Memory that elements of `item` bytes are in, from the lowest one to the end of the highest: strides may be negative,
/// and leave gaps. What is assigned to is compared with all of it.
ref<buffer> adopt_extent(const char *address, int ndim, const intptr_t *shape, const intptr_t *strides, intptr_t item,
                         void (*give_back)(void *), void *context);

/// What an array of NumPy has in it; nothing where it is no plain array of numbers, or something else.
lent_numbers numbers_of_numpy(PyObject *object);

/// An array or a buffer of numbers with dimensions of one size, in a list; nothing for anything else.
class dense_rows {
public:
  explicit dense_rows(PyObject *object);
  explicit operator bool() const { return numbers_.ndim > 0; }
  const lent_numbers *operator->() const { return &numbers_; }

private:
  nd::array view_; // of what is not NumPy's
  lent_numbers numbers_;
};

/// What bound functions take and give: an operand, a sequence of them, an array as a new Python object.
inline nd::array operand(nb::handle a, const char *name) { return to_operand(a.ptr(), nullptr, name); }
std::vector<nd::array> operands(nb::handle arrays, const char *name);
/// A Python integer beyond 64 bits as a float, where it meets floating-point or complex numbers; anything else as it
/// is.
nb::object float_beyond(PyObject *value, const type_data *dtype);
/// An index, lengths or numbers of times: a list without items is one of integers.
nd::array integers(nb::handle a, const char *name);
inline nb::object wrapped(nd::array a) { return nb::steal(wrap(std::move(a))); }

/// An element of an array that is no number as the Python value it is; anything else as it is.
nb::object without_array(PyObject *object);

/// Text as UTF-8, valid as long as the object lives. A value error where it is half of a pair (a lone surrogate).
std::string_view utf8_of(PyObject *text, const place &where);

[[noreturn]] void changed_while_read(const char *what);

/// Looks for Ctrl-C every some thousand values; a signal handler may run here, and raise.
class signal_poll {
public:
  void step(intptr_t values) {
    if ((unpolled_ += values) >= every) {
      unpolled_ = 0;
      if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
    }
  }
  static constexpr intptr_t every = 4096;

private:
  intptr_t unpolled_ = 0;
};

/// Calls f(item, i) for every item; the list may be changed by what f calls into.
template <class F> void for_each_item(PyObject *list, signal_poll &poll, F f) {
  Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t i = 0, end; i < size; i = end) {
    end = std::min(size, i + signal_poll::every);
    poll.step(end - i);
    for (; i < end; i++) {
      if (PySequence_Fast_GET_SIZE(list) != size) {
        changed_while_read("a list");
      }
      nb::object item = nb::borrow(PySequence_Fast_GET_ITEM(list, i));
      f(item.ptr(), i);
    }
  }
}

/// Writes a Python number as an element of that type, checked as an assignment is. Where the operation is assignment
/// itself (null) a message does not name it.
void store(char *dst, scalar_id scalar, PyObject *object, const char *operation, const place &where,
           error_mode mode = error_mode::fractional);

/// The type of values. `element`: of their elements, where it is known; then only the lists around them are surveyed.
/// `if_none`: of the destination, for what has no type of its own. `mixtures`: text beside numbers is no error.
ndt::type type_of_values(PyObject *values, ndt::type element, ndt::type if_none, bool mixtures);

/// A copy as an element type or a whole type with the same dimensions.
nd::array converted(const nd::array &from, ndt::type type, access_mode access);

/// Reads values of a type that is known. `size`, where it is not null, has the sizes of the dimensions outside of the
/// elements (what cannot be seen of lists without items). `assigned`: as in from_python.
nd::array read_values(PyObject *values, ndt::type type, const intptr_t *size, access_mode access,
                      std::optional<error_mode> assigned = {});

/// The type of the elements of a buffer, if it is a scalar's in this CPU's byte order.
bool scalar_of_format(const Py_buffer &view, scalar_id &scalar);

/// Python values of an array, its structs as dicts or as tuples. A new reference.
PyObject *to_values(const nd::array &a, bool structs_as_tuples);

/// A view of memory that the object lends as numbers in this CPU's byte order; null where that is not so.
nd::array plain_view(PyObject *object);

/// NumPy arrays that are no plain buffers. A view: records, the other byte order. A copy: texts and masked arrays too.
nd::array view_of_numpy(PyObject *object);
nd::array copy_of_numpy(PyObject *object, ndt::type type, access_mode access);
bool is_masked(PyObject *object);
/// Whether it is a date or a duration of NumPy, which lend their bytes.
bool is_time(PyObject *object);

} // namespace binding

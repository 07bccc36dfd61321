// What the files of the binding share: the Python type of arrays, wrapping and unwrapping, and errors.
// The binding only converts and calls; what an operation means is decided in dynd/.
#pragma once

#include <nanobind/nanobind.h>

#include <cxxabi.h>
#include <unistd.h>

#include <optional>

#include "dynd/array/array.h"
#include "dynd/base/errors.h"
#include "dynd/call/callable.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/nested.h"
#include "dynd/type/error_mode.h"

namespace binding {

namespace nb = nanobind;
using namespace dynd;

/// The Python type `nd.array`, a plain heap type: its objects come and go with every operation, and that costs half
/// of what a bound class costs.
extern PyTypeObject *array_type;
/// The same for arrays of structs, whose fields are attributes: a type that looks attributes up in a way of its own has
/// no short way to its methods in Python, which costs 20 ns in every call of one.
extern PyTypeObject *struct_array_type;

struct array_object {
  PyObject_HEAD nd::array array;
};

inline bool is_array(PyObject *object) { return Py_TYPE(object) == array_type || Py_TYPE(object) == struct_array_type; }
inline nd::array &unwrap(PyObject *object) { return reinterpret_cast<array_object *>(object)->array; }

/// A new reference.
PyObject *wrap(nd::array array);
inline PyObject *wrap(ref<array_block> block) { return wrap(nd::array(std::move(block))); }

/// The results of an operation that has two, as a tuple.
PyObject *wrap_pair(ref<array_block> *results);

/// Calls what takes Python's lock. While the interpreter ends, Python ends a thread that wants the lock by unwinding
/// its stack, which no destructor survives: such a thread sleeps instead, until the process is gone.
template <class F> auto or_sleep(F take) {
  try {
    return take();
  } catch (abi::__forced_unwind &) {
    for (;;) {
      pause();
    }
  }
}

/// Gives an object's memory or reference back with Python's lock. After the end of the interpreter it is gone anyway.
template <class F> void give_back(F release) {
  if (Py_IsInitialized()) {
    PyGILState_STATE state = or_sleep(PyGILState_Ensure);
    release();
    PyGILState_Release(state);
  }
}

/// Sets the Python exception for an error, or for the C++ exception that is being handled. Returns null.
PyObject *raise(const error &e);
PyObject *raise_current();

/// What a slot does, with C++ exceptions as Python's. Our errors are caught as such: to throw once more costs a
/// microsecond.
template <class F> PyObject *guarded(F f) noexcept {
  try {
    return f();
  } catch (const error &e) {
    return raise(e);
  } catch (...) {
    return raise_current();
  }
}

/// The same for slots that return a number.
template <class F> int guarded_int(F f) noexcept {
  try {
    return f();
  } catch (const error &e) {
    raise(e);
  } catch (...) {
    raise_current();
  }
  return -1;
}

/// An object of another class that is an array when it is asked for one (__dynd_array__), as groups are.
bool makes_array(PyObject *object);
nd::array made_array(PyObject *object);

/// Whether to_operand takes such an object. An operator leaves others to the object's own operators.
bool is_operand(PyObject *object);
/// Anything that can be an operand: an array as it is, else what `nd.asarray` makes of it. A Python scalar takes the
/// type of the array it meets (`like`, may be null): it is weak. (What is assigned has its own type: it is checked.)
/// An integer that is only compared (`asked`: how the other operand is with it) need not fit that type. None is a
/// missing value of it.
nd::array to_operand(PyObject *object, const nd::array *like, const char *operation,
                     std::optional<comparison> asked = {});
/// Drops an exception of that kind, where there is one; others go on.
inline void forget_error(PyObject *kind) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(kind)) {
    throw nb::python_error();
  }
  PyErr_Clear();
}
/// What an operation asks of operand 1 - i where operand i is a number; none where it does not compare.
std::optional<comparison> asked_beside(const operation &entry, int i);

/// An array to the power of 2, 3, -1 or 0.5, as a Python int or float: by definition products, the reciprocal and the
/// square root. Null for other exponents, for -1 of integers, and for what has no powers.
ref<array_block> power_of_number(PyObject *base, PyObject *exponent);

/// A missing value of ?T, without dimensions.
nd::array missing_value(scalar_id scalar);

/// The same for an assignment: values have their own type. Where Python gives none (records by position, None alone,
/// text beside numbers) they take the target's type, and every value is converted to it as the mode says.
nd::array to_assigned(PyObject *value, const nd::array &target, error_mode mode = error_mode::fractional);

/// An ndt.type or datashape text; None gives no type.
ndt::type to_type(nb::handle object, const char *operation);
/// The type of an array with other elements. These have as many dimensions as the array's own, or it would not be clear
/// which of the array's go into them: then a type error.
ndt::type with_element(const nd::array &a, ndt::type element, const char *operation);

/// Nested lists, records, texts, numbers, None, and what has the buffer protocol. `type` may be null (deduced), an
/// element type or a whole type. Always a copy. `if_none`: the whole type that they go to, for what has none, nothing
/// but None; without one that is an error. `assigned`: values are converted as an assignment in that mode does it, and
/// text beside numbers has no type.
nd::array from_python(PyObject *values, ndt::type type, access_mode access, ndt::type if_none = {},
                      std::optional<error_mode> assigned = {});
/// A view of what has the buffer protocol; an error if it has not.
nd::array view_of_buffer(PyObject *object);

/// Nested lists of Python values; a 0-dimensional array gives the value itself. A new reference.
PyObject *to_list(const nd::array &a);
/// The one value of a 0-dimensional array; any other is a type error of the operation.
nb::object scalar_value(PyObject *self, const char *operation);

/// np.asarray(a): a view of scalars, a structured copy of structs, objects for texts.
nb::object to_numpy(nb::handle self, nb::handle dtype, nb::handle copy);

/// What pickle keeps of an array: the arguments that make it again.
nb::object reduced_to_bytes(const nd::array &a, int protocol);
/// axis= of a reduction: an integer, a tuple of them, or None for all.
reduced_axes axes_of(const char *name, PyObject *axis);

/// The slots of the array type that make it a sequence.
PyObject *get_item(PyObject *self, PyObject *key);
PyObject *get_element(PyObject *self, Py_ssize_t i);
int set_item(PyObject *self, PyObject *key, PyObject *value);
Py_ssize_t length(PyObject *self);
PyObject *iterate(PyObject *self);

/// Makes the types of arrays; calling one is nd.array.
void make_array_types();
PyObject *new_array(PyTypeObject *type, PyObject *arguments, PyObject *keywords);
PyObject *call_array_type(PyObject *type, PyObject *const *arguments, size_t count, PyObject *names);

/// The Python object of a callable.
nb::object new_callable(const nd::callable &function);
/// That of an operation of the library, which is called by `call`. `text` is its documentation, with the line of its
/// signature that help() shows.
nb::object new_operation(const nd::callable &function, const std::string &text, vectorcallfunc call);
/// Calls a callable by its overloads.
PyObject *call_overloads(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names);

/// What None is for operand i, where the others are known and those that are None are null.
using value_of_none = nd::array (*)(int i, array_block *const (&operands)[3]);
/// Calls an operation of the library. Without a function for it, None is a missing value.
PyObject *call_operation(op_id op, PyObject *const *arguments, Py_ssize_t count, value_of_none none = nullptr);

/// An operation whose function has names for its operands, or more than its operands (keywords.cpp).
struct named_operation {
  op_id id;
  vectorcallfunc call;
  const char *parameters, *doc; ///< for help(); the latter follows the entry's own
  PyMethodDef method;           ///< of arrays
};
/// Null where it is none.
named_operation *find_named_operation(op_id id);
/// A new reference that a function of Python's gave; null is the error that it has set.
inline nb::object steal(PyObject *object) {
  if (!object) {
    throw nb::python_error();
  }
  return nb::steal(object);
}

/// What such an object holds; null for any other object.
const nd::callable *callable_in(PyObject *object);

void add_types(nb::module_ &m);
void add_functions(nb::module_ &m);
void add_reductions(nb::module_ &m);
void add_keyword_functions(nb::module_ &m);
void add_callables(nb::module_ &m);
void add_elsewhere(nb::module_ &m);
void add_linear(nb::module_ &m);
void add_kernels(nb::module_ &m);
void add_conversions(nb::module_ &m);
void add_pickle(nb::module_ &m);
void add_scans(nb::module_ &m);
void add_creation(nb::module_ &m);
void add_order(nb::module_ &m);
void add_structure(nb::module_ &m);
void add_groups(nb::module_ &m);

} // namespace binding

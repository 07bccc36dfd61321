// Python numbers: what kind a value is, and which scalar type it takes.
#pragma once

#include "values.h"

namespace binding {

/// A scalar's kind: bool, integer (fits 32 bits, 64, unsigned 64, none of them), floating, complex.
enum value_kind { no_value = -1, a_bool, an_int32, an_int64, a_uint64, a_large_integer, a_float, a_complex };

/// no_value for what is no number.
value_kind kind_of(PyObject *object);

/// The address and the type of the number that one of NumPy's scalars holds; a null address for anything else.
struct numpy_number {
  const char *address = nullptr;
  scalar_id scalar = scalar_id::bool_;
};
numpy_number number_in(PyObject *object);

/// The type of a number that is alone. A large integer does not fit its type, which storing it says.
scalar_id scalar_for(value_kind kind);

/// A Python number beside an element type: within its kind the type wins, and a complex number only adds the imaginary
/// component to a floating type.
scalar_id weakly_promoted(value_kind kind, scalar_id own);

} // namespace binding

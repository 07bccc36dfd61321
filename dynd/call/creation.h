// Arrays from nothing but a type, sizes and a value, or a range.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "dynd/array/array.h"

namespace dynd::nd {

/// A new array that nothing else has seen, with that access. Rows and texts are copied.
array with_access(const array &made, access_mode access);

/// The array, or a copy where it may be written.
array immutable_of(const array &a);

/// The sizes for full() and empty() where an element type has dimensions itself: fixed ones, or `var`, of rows without
/// elements. A type error of the operation where the type does not say a size.
///   {3}, "4 * int32": {3, 4}
std::vector<intptr_t> sizes_with_element(const char *name, std::span<const intptr_t> outer, ndt::type element);

/// An array of that type whose elements are all `value`, converted to theirs. `size` as for empty(). Large immutable
/// arrays of numbers hold the value once.
array full(ndt::type type, const intptr_t *size, const array &value, access_mode access = access_mode::immutable);

/// The same with the dimensions of `like`, its rows included, and elements of another type. Its values are not read.
array full_like(const array &like, ndt::type dtype, const array &value, access_mode access = access_mode::immutable);
/// An array of that kind without values of its own.
array empty_like(const array &like, ndt::type dtype, access_mode access = access_mode::readwrite);

/// start, start + step, ... as long as they are before `stop`; float64, or what they are converted to. The second value
/// decides how far apart all are, as in NumPy: start + i * ((start + step) - start).
array arange(double start, double stop, double step, scalar_id type = scalar_id::float64);
/// Integers are exact, in any type; one that does not fit is an error (overflow).
array arange(int64_t start, int64_t stop, int64_t step, scalar_id type = scalar_id::int64);

/// `count` values from start to stop, which is the last with `endpoint`. Computed in float64, as in NumPy; integers are
/// rounded down.
array linspace(double start, double stop, int64_t count, bool endpoint = true, scalar_id type = scalar_id::float64);
/// The same of complex numbers.
array linspace(std::complex<double> start, std::complex<double> stop, int64_t count, bool endpoint = true,
               scalar_id type = scalar_id::complex128);

} // namespace dynd::nd

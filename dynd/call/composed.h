// Functions with settings, put together from operations: lazy and fused as these are.
#pragma once

#include <optional>

#include "dynd/array/array.h"
#include "dynd/eval/evaluate.h"

namespace dynd::nd {

/// To `decimals` places after the point, before it where negative; ties go to the even digit. Integers keep their type
/// and are exact, wrapping. Floating-point numbers are scaled by a power of ten, rounded, and scaled back, as NumPy
/// does it; where the first product overflows, the number has no such places and stays as it is. Complex ones are
/// rounded in both components.
array round(const array &a, intptr_t decimals);

/// Bounds of clip; a null array is no bound.
struct clip_bounds {
  array min = {}, max = {};
};
/// Each element, but at least bounds.min and at most bounds.max, which has the last word.
array clip(array a, const clip_bounds &bounds);
/// The bound that no element passes, above or below, of the type that clip computes such operands in (null: none).
array no_bound(bool above, array_block *const (&operands)[3]);

/// An exponent that is a number without a type of its own, as 2 and 0.5 are in Python.
struct plain_exponent {
  double value;
  bool whole; ///< written as an integer, which leaves integers what they are
};
/// a ** exponent where it is 2, 3, -1 or 0.5, by square, multiply, reciprocal and sqrt: exact where these are, and many
/// times as fast. Null where it is another number, or the elements are no numbers that these take. `last_use`: the
/// caller drops the array afterwards.
ref<array_block> try_power(array_block *a, plain_exponent exponent, bool last_use);

/// NaN and the infinities replaced, of complex numbers in each component; without values the largest number of the type
/// and its negative stand for the infinities.
array nan_to_num(const array &a, double nan = 0, std::optional<double> posinf = std::nullopt,
                 std::optional<double> neginf = std::nullopt);

/// Whether |a - b| <= atol + rtol * |b|, or both are the same; with equal_nan NaN is close to NaN. Integers are
/// compared as float64.
array isclose(const array &a, const array &b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

/// log(sum(exp(a))) along axes, relative to the largest element, so that nothing overflows; of nothing minus infinity.
/// Elements where the mask is not true are skipped.
array logsumexp(const array &a, const reduced_axes &axes = {}, bool keepdims = false, const array &mask = {});

/// exp(a) divided by its sum along axes, relative to the largest element.
array softmax(const array &a, const reduced_axes &axes = -1);

} // namespace dynd::nd

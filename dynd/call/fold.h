// The left fold of rows by any callable of two operands.
#pragma once

#include <optional>

#include "dynd/call/callable.h"

namespace dynd::nd {

/// f(f(f(identity, a0), a1), a2) along an axis, or over everything in C order. What takes one row, (N * T) -> R, is
/// called with the rows instead. f gives what it takes first: numbers, or other elements, of which one of every row is
/// taken by a call. Of no elements it is the identity; without one an error. Missing elements are left out.
array fold(const callable &f, const array &a, std::optional<int> axis = std::nullopt, const array &identity = {});

} // namespace dynd::nd

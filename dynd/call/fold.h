// The left fold of rows by any callable of two operands.
#pragma once

#include <optional>

#include "dynd/call/callable.h"

namespace dynd::nd {

/// f(f(f(identity, a0), a1), a2) along an axis, or over everything in C order. What takes one row, (N * T) -> R, is
/// called with the rows instead. f takes scalars and gives what it takes first. Of no elements it is the identity;
/// without one an error that names the row. Missing elements are left out.
array fold(const callable &f, const array &a, std::optional<int> axis = std::nullopt, const array &identity = {});

} // namespace dynd::nd

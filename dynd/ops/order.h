// The order of numbers of any two types, exactly: neither is rounded to a common type.
#pragma once

#include "dynd/type/scalar.h"

namespace dynd {

/// What a comparison of two values gives; a set of them is what makes a predicate true.
enum outcome : int { less = 1, equal = 2, greater = 4, unordered = 8 };

template <class T> outcome outcome_of(const T &left, const T &right) {
  return left < right ? less : left > right ? greater : left == right ? equal : unordered;
}

/// A scalar in this or the other order of bytes.
struct number_layout {
  scalar_id scalar;
  bool swapped;
};

/// Compares the numbers at two addresses, of any alignment.
using number_order = outcome (*)(const char *left, const number_layout &left_layout, const char *right,
                                 const number_layout &right_layout);

/// `total`: for sorting. NaN comes last and equals NaN; otherwise it is in no order. Complex numbers go by their real
/// components, then by the imaginary.
number_order order_of_numbers(const number_layout &left, const number_layout &right, bool total);

} // namespace dynd

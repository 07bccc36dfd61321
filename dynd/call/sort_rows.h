// Rows of a list in order: permutations, and numbers. Private to dynd/call/.
#pragma once

#include "dynd/call/order_keys.h"

namespace dynd::nd {

/// The positions within each row, in the order of the keys; stable.
void argsort_rows(const char *name, const order_keys &keys, const row_offsets &rows, int64_t *to);

/// Positions within rows become places in the list.
void add_row_starts(const char *name, const row_offsets &rows, int64_t *positions);

/// Rows of numbers, as `native_list` gives them, sorted: a new list. NaNs are last, in their order.
array sorted_numbers(const char *name, const array &list, scalar_id scalar, const row_offsets &rows, bool descending);

/// Only the first elements of the rows in order, as many of each as `taken` has rows for: the same without sorting all.
array first_numbers(const char *name, const array &list, scalar_id scalar, const row_offsets &rows,
                    const row_offsets &taken, bool descending);
/// Their places in the list.
void first_of_rows(const char *name, const order_keys &keys, const row_offsets &rows, const row_offsets &taken,
                   int64_t *to);

} // namespace dynd::nd

// The structure of arrays: lengths of rows, joining and splitting axes, rows that are longer, shorter, repeated or put
// behind each other, fields. Elements may be of any type. Axes are negative from the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"

namespace dynd::nd {

/// The lengths of the rows of an axis, int64.
array num(const array &a, int axis = -1);
/// The position of each element in its row of the axis, and the number of that row in C order; int64.
array local_index(const array &a, int axis = -1);
array row_index(const array &a, int axis = -1);

/// All elements as one row; or with an axis, that one joined with the one outside of it. A view where it can be.
array flatten(const array &a, std::optional<int> axis = std::nullopt);
/// The axis cut into rows of these lengths: one-dimensional for axis 0, else with the rows of the axis. They must add
/// up.
array unflatten(const array &a, const array &lengths, int axis = 0);

/// Rows shorter than `width` become as long, with `value`; without one they are missing there. Longer ones stay, unless
/// `clip`.
array pad(const array &a, intptr_t width, const array &value = {}, bool clip = false, int axis = -1);
/// The same with rows that are cut too, as an axis of one size.
array to_dense(const array &a, intptr_t width, const array &value = {}, int axis = -1);
/// The first lengths[i] elements of each row of the axis.
array from_dense(const array &a, const array &lengths, int axis = -1);

/// Arrays of one type and number of dimensions behind each other along an axis, inside rows too.
array concat(std::span<const array> arrays, int axis = 0);
/// Arrays side by side along a new axis.
array stack(std::span<const array> arrays, int axis = 0);

/// Each element of the axis several times: one number for all, or an array with one for each position of the axis, or
/// with the rows of the axis. Without an axis, of the array as one row.
array repeat(const array &a, const array &repeats, std::optional<int> axis = std::nullopt);
/// The rows of the last axes, several times behind each other: reps[d] times along axis d.
array tile(const array &a, std::span<const intptr_t> reps);
/// The reverse order along axes, as a view; without them, along all.
array flip(const array &a, std::optional<std::span<const int>> axes = std::nullopt);
/// Elements moved `shift` positions on within their rows, those at the end to the beginning; without an axis, of the
/// array as one row, in its shape.
array roll(const array &a, intptr_t shift, std::optional<int> axis = std::nullopt);
/// All windows of so many neighbours along an axis, as a view: an axis of that size inside of it. A row that is shorter
/// has none.
array rolling(const array &a, intptr_t window, int axis = -1);
/// The lengths of runs of equal elements of the axis, which may be rows; int64.
array run_lengths(const array &a, int axis = -1);

/// All arrays in their common shape. `name`: whose error it is where they have none.
std::vector<array> broadcast_arrays(std::span<const array> arrays, const char *name = "broadcast_arrays");
/// Structs (or without names, tuples) of elements of arrays, which are broadcast; views where no rows stretch.
array zip(std::span<const std::string> names, std::span<const array> arrays);
/// The fields of structs or tuples, as views.
std::vector<array> unzip(const array &a);
/// The structs with one more field, or with another in its place.
array with_field(const array &a, const std::string &name, const array &values);
array without_field(const array &a, std::span<const std::string> names);
array rename(const array &a, std::span<const std::string> from, std::span<const std::string> to);

/// An axis of a shape that is ragged; no size that a caller may have computed.
inline constexpr intptr_t ragged_size = INTPTR_MIN;
/// The array in another shape, a view where it can be. Ragged axes stay; outside, between and inside of them one size
/// may be -1.
array reshape(const array &a, std::span<const intptr_t> shape);
/// The axes in another order: a view, or where a ragged one is moved or moved over a copy; its rows are equally long
/// then, else it is an error.
array permute_dims(const array &a, std::span<const int> axes);
/// Axes of size 1 removed; without any given, all of these.
array squeeze(const array &a, std::optional<std::span<const int>> axes = std::nullopt);
array expand_dims(const array &a, int axis = 0);

} // namespace dynd::nd

// A place in an array: a part of its type, with the part's streams at one element of what is outside of it.
//
// Walks over an array that are not kernels use it. What a kind of dimension is (slots, steps, rows without memory) is
// known here, in one kernel level, and where many rows are gone through at once: whoever adds a kind of dimension finds
// these with `grep -E "read_slot|start_unit|has_no_memory"`. A cursor owns nothing: the addresses of the streams are
// in an array of the caller, a stream_room for each dimension or pointer that is entered.
//
//   strided * {id: int32, hits: var * float32}
//
//   stream_room outer, inner, innermost;
//   dimension structs(cursor(block, outer));                         // structs.size() of them
//   cursor hits = structs.enter(2, inner).field(1);                  // a row: hits.size(), hits.row()
//   const char *value = dimension(hits).enter(0, innermost).address();
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "dynd/array/block.h"
#include "dynd/type/fixed_text.h"
#include "dynd/type/part.h"
#include "dynd/type/slots.h"

namespace dynd {

/// A row of a writable array that gets its memory, and with it its length, from the first assignment.
inline bool has_no_memory(const row_extent &row) { return row.start == -1 && row.size == 0; }

/// How far apart, in a stream of that stride, the elements are in which the starts of rows count.
intptr_t divided_unit(intptr_t stride, int32_t step); // a call: inline, a compiler would divide by 1 too, in every row
inline intptr_t start_unit(intptr_t stride, int32_t step) { return step == 1 ? stride : divided_unit(stride, step); }

/// Room for the addresses of the streams of any part; not set.
using stream_room = char *[max_type_streams];

class cursor {
public:
  /// The whole array, whose values are there (nd::array::eval).
  cursor(const array_block &block, char **room) : cursor(block, room, block.nstreams) {}
  /// The rows of an array, lazy or not: its values are not read, and elements have no addresses.
  static cursor over_rows(const array_block &block, char **room) { return {block, room, block.type->var_count}; }
  /// A part with its streams at `at`; at[0] is the part's first. Streams from the number `end` on do not move.
  cursor(const array_block &block, const type_part &part, char *const *at, int end = max_type_streams)
      : block_(&block), part_(part), at_(at), end_(end) {}

  const array_block &block() const { return *block_; }
  const type_part &part() const { return part_; }
  type_kind kind() const { return part_.type->kind; }
  char *const *streams() const { return at_; }
  bool is_dim() const { return part_.is_dim(); }
  bool is_var() const { return part_.is_var(); }

  /// Of a dimension: where its elements are in the content, {0, size} where all rows have one size.
  row_extent row() const {
    return is_var() ? read_slot(at_[0], slots().kind) : row_extent{0, block_->size()[part_.dim]};
  }
  int64_t size() const { return row().size; }
  bool has_memory() const { return !is_var() || !has_no_memory(row()); }

  cursor field(int i) const { return {*block_, part_.field(i), at_ + part_.type->fields[i].stream, end_}; }
  /// Of an option.
  bool is_there() const { return *at_[0] != 0; }
  /// What is inside of an option. Of a dimension or pointer: its element as a type, where there is none to enter.
  cursor inside() const {
    type_part element = part_.element();
    return {*block_, element, at_ + (element.stream - part_.stream), end_};
  }
  /// Of a pointer.
  bool is_null() const { return pointed_to() < 0; }
  cursor target(char **room) const;

  /// Of a scalar, or of whatever the part's first stream has.
  char *address() const { return at_[0]; }
  scalar_id scalar() const { return part_.scalar(); }
  /// A scalar in the byte order of this CPU: in the array, or in `room` where it had to be swapped.
  const char *value(char *room) const;
  /// Of texts and bytes.
  std::string_view text() const {
    if (is_fixed_text(kind())) {
      return read_fixed_text(at_[0], part_.type);
    }
    row_extent row = read_slot(at_[0], slots().kind);
    return {at_[1] + row.start, size_t(row.size)};
  }

private:
  friend class dimension;

  cursor(const array_block &block, char **room, int end) : block_(&block), part_{block.type}, at_(room), end_(end) {
    for (int s = 0; s < end; s++) {
      room[s] = block.streams()[s].address;
    }
  }

  const stream &slots() const { return block_->streams()[part_.stream]; }
  int64_t pointed_to() const {
    int64_t index;
    std::memcpy(&index, at_[0], sizeof(index));
    return index;
  }

  const array_block *block_;
  type_part part_;
  char *const *at_;
  int end_;
};

/// The elements of the dimension that a cursor is at. The row is read once.
class dimension {
public:
  explicit dimension(const cursor &at) : dimension(at, at.row(), at.is_var() ? at.slots().step : 1) {}

  const row_extent &row() const { return row_; }
  int64_t size() const { return row_.size; }
  type_part element() const { return inner_.part_; }
  cursor enter(int64_t i, char **room) const {
    const intptr_t *stride = stride_;
    for (int s = 0; s < count_; s++, stride += inner_.block_->all_ndim) {
      room[s] = inner_.at_[s] + row_.start * start_unit(*stride, step_) + i * *stride;
    }
    cursor inner = inner_;
    inner.at_ = room;
    return inner;
  }
  /// From one element that was entered to the next: a cursor into this room is there then.
  void next(char **room) const {
    const intptr_t *stride = stride_;
    for (int s = 0; s < count_; s++, stride += inner_.block_->all_ndim) {
      room[s] += *stride;
    }
  }
  /// The first stream of element 0, and the bytes from one element to the next.
  char *first() const { return inner_.at_[0] + row_.start * start_unit(*stride_, step_); }
  intptr_t stride() const { return *stride_; }

private:
  friend class cursor;

  dimension(const cursor &at, row_extent row, int32_t step)
      : inner_(at.inside()), stride_(inner_.block_->strides(inner_.part_.stream) + at.part_.dim), row_(row),
        step_(step), count_(std::min<int>(inner_.part_.type->nstreams, inner_.end_ - inner_.part_.stream)) {}

  cursor inner_;           // of the elements, their streams before they move
  const intptr_t *stride_; // of the first of these, along this dimension
  row_extent row_;
  int32_t step_;
  int count_; // of the streams that move
};

inline cursor cursor::target(char **room) const { return dimension(*this, {pointed_to(), 1}, 1).enter(0, room); }

template <class F> bool visit_place(const cursor &at, const intptr_t *index, F &f) {
  if constexpr (std::is_void_v<decltype(f(at, index))>) {
    f(at, index);
    return true;
  } else {
    return f(at, index);
  }
}

template <class F> bool visit_places(const cursor &outside, int d, int depth, intptr_t *index, F &f) {
  dimension elements(outside);
  stream_room room;
  cursor at = elements.enter(0, room);
  for (int64_t i = 0; i < elements.size(); i++, elements.next(room)) {
    index[d] = i;
    if (!(d + 1 == depth ? visit_place(at, index, f) : visit_places(at, d + 1, depth, index, f))) {
      return false;
    }
  }
  return true;
}

/// Calls f(place, index) for every place that is `depth` dimensions inside, in C order; `index` has depth entries. From
/// a whole array these are the rows of its dimension `depth`. f may return false to stop; then this returns false too.
template <class F> bool for_each_place(const cursor &outside, int depth, F &&f) {
  intptr_t index[max_ndim] = {};
  return depth ? visit_places(outside, 0, depth, index, f) : visit_place(outside, index, f);
}

/// For messages: "row 2", "row (0, 1)"; "the rows" where nothing is outside of them.
std::string row_text(std::span<const intptr_t> index);
/// The same without the word: "2", "(0, 1)".
std::string index_text(std::span<const intptr_t> index);

} // namespace dynd

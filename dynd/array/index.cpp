// Indexing: a[i, 1:2, ..., None].
#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/array/view_parts.h"
#include "dynd/base/interpreter.h"

namespace dynd {

namespace nd {

namespace {

// Python's rule for a slice over `size` elements: the first, how many, and the step.
struct slice_extent {
  intptr_t first, count, step;
};

inline slice_extent resolve(const index &i, intptr_t size) {
  intptr_t step = i.step.value_or(1);
  if (step == 0) {
    fail(error_kind::value, "index: slice step cannot be zero");
  }
  intptr_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  auto clamp = [&](intptr_t at) {
    at += at < 0 ? size : 0;
    return std::clamp(at, lowest, highest);
  };
  intptr_t start = i.start ? clamp(*i.start) : (step < 0 ? size - 1 : 0);
  intptr_t stop = i.stop ? clamp(*i.stop) : (step < 0 ? -1 : size);
  intptr_t count = 0;
  if (step > 0 && start < stop) {
    count = step == 1 ? stop - start : (stop - start - 1) / step + 1; // a division for each row takes longer
  } else if (step < 0 && stop < start) {
    count = step == INTPTR_MIN ? 1 : (start - stop - 1) / -step + 1;
  }
  return {start, count, step};
}

bool is_whole(const index &i) { return i.kind == index::slice && !i.start && !i.stop && i.step.value_or(1) == 1; }

// Rows of scalars whose offsets follow each other, over values that begin at one place: a loop over the offsets reads
// them, without a cursor for each row.
struct scalar_rows {
  offsets_run rows; ///< none where it is not so
  const char *values = nullptr;
  intptr_t unit = 0, stride = 0; ///< between places that starts count, and between elements of a row
  size_t item = 0;

  const char *row(intptr_t r) const { return values + rows[r] * unit; }
};

scalar_rows scalar_rows_at(const array_block &block, int axis) {
  int s = block.slot_stream(axis);
  const intptr_t *stride = block.strides(s + 1);
  bool one_place = axis + 1 == block.ndim && block.has_scalars();
  for (int d = 0; d < axis; d++) {
    one_place &= stride[d] == 0 || (!block.is_var(d) && block.size()[d] == 1);
  }
  if (!one_place) {
    return {};
  }
  intptr_t unit = start_unit(stride[axis], block.streams()[s].step);
  return {rows_of(block, s), block.values().address, unit, stride[axis], block.item_size()};
}

// Element i of every row. False where a row has none.
bool take_elements(const scalar_rows &from, intptr_t i, char *to) {
  interruptible_walk walk;
  return with_item(from.item, [&](auto item) {
    for (intptr_t r = 0; r < from.rows.rows; r++, to += item) {
      walk.step("index");
      int64_t size = from.rows[r + 1] - from.rows[r], at = i < 0 ? i + size : i;
      if (at < 0 || at >= size) {
        return false;
      }
      std::memcpy(to, from.row(r) + at * from.stride, item);
    }
    return true;
  });
}

void copy_slices(const scalar_rows &from, const index &i, char *to) {
  interruptible_walk walk;
  with_item(from.item, [&](auto item) {
    for (intptr_t r = 0; r < from.rows.rows; r++) {
      slice_extent extent = resolve(i, from.rows[r + 1] - from.rows[r]);
      intptr_t stride = intptr_t(size_t(extent.step) * size_t(from.stride)); // of one element, any step
      const char *at = from.row(r) + extent.first * from.stride;
      walk.step("index", uint64_t(extent.count) + 1);
      for (intptr_t k = 0; k < extent.count; k++, at += stride, to += item) {
        std::memcpy(to, at, item);
      }
    }
  });
}

constexpr intptr_t most_copied = 256; // bytes of a row's slice, on average, that are copied rather than viewed

class indexer {
public:
  indexer(const array &a, std::span<const index> indices) : a_(a), parts_(a), indices_(indices) {}

  array run() {
    int consumed = 0, ellipses = 0;
    for (const index &i : indices_) {
      consumed += i.kind == index::integer || i.kind == index::slice;
      ellipses += i.kind == index::ellipsis;
    }
    check_index_counts(ellipses, consumed, parts_.ndim);
    int skipped = parts_.ndim - consumed;
    for (const index &i : indices_) {
      switch (i.kind) {
      case index::ellipsis:
        at_ += skipped;
        axis_ += skipped;
        break;
      case index::new_axis:
        resolve_taken_row();
        parts_.insert_axis(at_++);
        break;
      case index::integer:
        take(i.at);
        break;
      case index::slice:
        cut(i);
        break;
      }
      changed_ |= i.kind != index::ellipsis && !is_whole(i);
    }
    resolve_taken_row();
    return parts_.build();
  }

private:
  // A row that was picked out of a ragged array has one size.
  void resolve_taken_row() {
    if (ntaken_ > 0 && parts_.ndim > 0 && parts_.is_var(0)) {
      parts_.resolve_row();
    }
  }

  // Rows of which every one is to be indexed. With nothing outside, a `var` dimension is one row, of one size.
  bool inside_rows() {
    if (parts_.is_var(at_) && at_ == 0) {
      parts_.resolve_row();
    }
    return parts_.is_var(at_);
  }

  // The array as the indices before this one made it.
  const array_block &so_far() {
    if (changed_) {
      so_far_ = parts_.build();
    }
    return changed_ ? *so_far_.get() : *a_.get();
  }

  // At least those that the indices have left.
  bool has_many_rows() const { return has_many_places(*a_.get(), a_->ndim - 1); }

  buffer *new_memory(size_t bytes) {
    memory_.push_back(allocate_buffer(bytes));
    return memory_.back().get();
  }

  buffer *keep(const void *data, size_t bytes) {
    buffer *memory = new_memory(bytes);
    if (bytes) {
      std::memcpy(memory->data, data, bytes);
    }
    return memory;
  }

  // New slots for the `var` dimensions outside of axis at_, as if everything followed each other in C order: offsets,
  // unless some row has no memory, which only a pair can say.
  void pack_outside(const cursor &whole) {
    for (int d = 0, s = 0; d < at_; d++) {
      if (!whole.block().is_var(d)) {
        continue;
      }
      if (offsets_run rows = rows_of(whole.block(), s)) { // they do already
        pack_offsets(s, d, rows.rows, [&](intptr_t r) { return rows[r] - rows.first(); });
      } else {
        pack_rows(whole, s, d);
      }
      s++;
    }
  }

  template <class F> void pack_offsets(int s, int d, intptr_t rows, F offset_at) {
    buffer *memory = new_memory(size_t(rows + 1) * sizeof(int64_t));
    auto *to = reinterpret_cast<int64_t *>(memory->data);
    for (intptr_t r = 0; r <= rows; r++) {
      walk_.step("index");
      to[r] = offset_at(r);
    }
    parts_.pack(s, d, sizeof(int64_t), memory, slot_kind::offsets64);
  }

  void pack_rows(const cursor &whole, int s, int d) {
    std::vector<row_extent> pairs;
    bool all_have_memory = true;
    int64_t next = 0;
    for_each_place(whole, d, [&](const cursor &place, const intptr_t *) {
      walk_.step("index");
      row_extent row = place.row();
      all_have_memory &= !has_no_memory(row);
      pairs.push_back({has_no_memory(row) ? -1 : next, row.size});
      next += row.size;
    });
    auto rows = intptr_t(pairs.size());
    if (all_have_memory) {
      pack_offsets(s, d, rows, [&](intptr_t r) { return r < rows ? pairs[size_t(r)].start : next; });
    } else {
      parts_.pack(s, d, sizeof(row_extent), keep(pairs.data(), pairs.size() * sizeof(row_extent)), slot_kind::pairs64);
    }
  }

  // Slices of short rows that no owner can write are copied: what reads them then finds rows that follow each other.
  bool copy_cut_rows(const cursor &whole, const index &i) {
    scalar_rows from = scalar_rows_at(whole.block(), at_);
    if (!from.rows || parts_.access != access_mode::immutable) {
      return false;
    }
    intptr_t rows = from.rows.rows;
    buffer *slots = new_memory(size_t(rows + 1) * sizeof(int64_t));
    auto *offsets = reinterpret_cast<int64_t *>(slots->data);
    offsets[0] = 0;
    for (intptr_t r = 0; r < rows; r++) {
      walk_.step("index");
      offsets[r + 1] = offsets[r] + resolve(i, from.rows[r + 1] - from.rows[r]).count;
    }
    if (offsets[rows] > rows * most_copied / intptr_t(from.item)) {
      return false;
    }
    buffer *values = new_memory(size_t(offsets[rows]) * from.item);
    copy_slices(from, i, values->data);
    pack_outside(whole);
    int s = whole.block().slot_stream(at_);
    parts_.pack(s, at_, sizeof(int64_t), slots, slot_kind::offsets64);
    parts_.pack(s + 1, at_ + 1, intptr_t(from.item), values, slot_kind::none);
    parts_.ours = true;
    return true;
  }

  // a[:, i:j:k]: new slots, one for each row; the content is shared.
  void cut_rows(const index &i) {
    stream_room room;
    cursor whole = cursor::over_rows(so_far(), room);
    without_interpreter unlocked(has_many_rows());
    if (copy_cut_rows(whole, i)) {
      return;
    }
    int s = whole.block().slot_stream(at_);
    intptr_t own = parts_.step[s], longest = 0;
    growing_buffer slots;
    slots.reserve(size_t(rows_of(whole.block(), s).rows) * sizeof(row_extent)); // 0 where they do not follow each other
    parts_.pin(s);
    for_each_place(whole, at_, [&](const cursor &place, const intptr_t *) {
      walk_.step("index");
      row_extent row = place.row();
      slice_extent extent = resolve(i, row.size);
      longest = std::max(longest, extent.count);
      // Every slice of a row without memory (start -1) is such a row. It gets no memory through the slice.
      row_extent cut = {extent.count ? row.start + extent.first * own : has_no_memory(row) ? -1 : 0, extent.count};
      std::memcpy(slots.add(sizeof(cut)), &cut, sizeof(cut));
    });
    intptr_t step = i.step.value_or(1), all;
    if (longest <= 1) {
      step = 1; // no row has a second element to step to
    }
    if (__builtin_mul_overflow(own, step, &all) || all != int32_t(all)) {
      fail(error_kind::index, "index: inside the rows of axis " + std::to_string(axis_) +
                                  " the step of a slice must fit 32 bits, not " + std::to_string(step));
    }
    pack_outside(whole);
    memory_.push_back(slots.finish());
    parts_.pack(s, at_, sizeof(row_extent), memory_.back().get(), slot_kind::pairs64);
    parts_.step[s] = int32_t(all);
    for (int below = s + 1; below < parts_.nstreams; below++) {
      parts_.stride(below)[at_] *= step;
    }
  }

  // a[:, i]: one element of every row. They are anywhere in the content: values are copied; of rows below, the slots
  // are copied and the content is shared.
  void take_from_rows(intptr_t i) {
    int end = at_ + 1;
    while (end < parts_.ndim && !parts_.is_var(end)) {
      end++;
    }
    bool values = end == parts_.ndim;
    if (values && !a_->has_scalars()) {
      fail(error_kind::index, "index: an integer inside the rows of axis " + std::to_string(axis_) +
                                  ", of elements of " + std::string(parts_.dtype.str()) +
                                  ": index the axes before it with integers");
    }
    stream_room room;
    cursor whole(so_far(), room);
    without_interpreter unlocked(has_many_rows());
    intptr_t item = values ? intptr_t(a_->item_size()) : intptr_t(sizeof(row_extent));
    int s = whole.block().slot_stream(at_);
    scalar_rows from = scalar_rows_at(whole.block(), at_);
    buffer *taken = from.rows ? new_memory(size_t(from.rows.rows * item)) : nullptr;
    if (!from.rows || !take_elements(from, i, taken->data)) {
      std::vector<char> each = take_from_each(whole, i, end, values, size_t(item));
      taken = keep(each.data(), each.size());
    }
    pack_outside(whole);
    int32_t step = parts_.step[s + 1];
    parts_.pin(s);
    parts_.pin(s + 1);
    parts_.remove_stream(s);
    parts_.remove_axis(at_);
    parts_.pack(s, end - 1, item, taken, values ? slot_kind::none : slot_kind::pairs64);
    parts_.step[s] = step;
    if (values) {
      parts_.access = access_mode::immutable;
      parts_.ours = true;
    }
    axis_++;
  }

  // The bytes of element i of every row of axis at_, down to the axis `end`: values, or slots.
  std::vector<char> take_from_each(const cursor &whole, intptr_t i, int end, bool values, size_t item) {
    std::vector<char> taken;
    taken.reserve(size_t(rows_of(whole.block(), whole.block().slot_stream(at_)).rows) * item);
    auto add = [&](const char *from) { taken.insert(taken.end(), from, from + item); };
    stream_room room;
    for_each_place(whole, at_, [&](const cursor &place, const intptr_t *index) {
      walk_.step("index");
      dimension row(place);
      if (i < -row.size() || i >= row.size()) {
        fail_in_row(i, {index, size_t(at_)}, row.size());
      }
      intptr_t positive = i < 0 ? i + row.size() : i;
      if (values && end == at_ + 1) { // the usual case
        return add(row.first() + positive * row.stride());
      }
      for_each_place(row.enter(positive, room), end - at_ - 1, [&](const cursor &part, const intptr_t *) {
        row_extent slot = values ? row_extent() : part.row();
        add(values ? part.address() : reinterpret_cast<const char *>(&slot));
      });
    });
    return taken;
  }

  [[noreturn]] void fail_in_row(intptr_t i, std::span<const intptr_t> index, intptr_t size) {
    fail(error_kind::index, out_of_bounds_text(i, axis_, row_text(index), size));
  }

  void take(intptr_t i) {
    if (inside_rows()) {
      take_from_rows(i);
      return;
    }
    intptr_t size = parts_.size[at_];
    if (i < -size || i >= size) {
      bool in_row = a_->is_var(axis_) && ntaken_ > 0; // else it is the only row
      fail(error_kind::index, out_of_bounds_text(i, axis_, in_row ? row_text({taken_, ntaken_}) : "", size));
    }
    intptr_t positive = i < 0 ? i + size : i;
    parts_.shift(at_, positive);
    parts_.remove_axis(at_);
    taken_[ntaken_++] = positive;
    axis_++;
  }

  void cut(const index &i) {
    if (!is_whole(i) && inside_rows()) {
      cut_rows(i);
    } else if (!is_whole(i)) {
      slice_extent extent = resolve(i, parts_.size[at_]);
      if (extent.count > 0) {
        parts_.shift(at_, extent.first);
      }
      for (int s = 0; s < parts_.nstreams; s++) {
        intptr_t &stride = parts_.stride(s)[at_];
        stride = intptr_t(size_t(stride) * size_t(extent.count > 1 ? extent.step : 1));
      }
      bool changed = extent.count != parts_.size[at_];
      parts_.size[at_] = extent.count;
      if (changed) {
        parts_.set_kind(at_, type_kind::strided_dim); // `3 * T` cut to 2 is not `3 * T` any more
      }
    }
    at_++;
    axis_++;
  }

  const array &a_;
  view_parts parts_;
  std::span<const index> indices_;
  int at_ = 0;           // the dimension of the view that is next
  int axis_ = 0;         // the axis of the array that it was
  bool changed_ = false; // by the indices so far
  array so_far_;         // what they made, where rows had to be walked
  size_t ntaken_ = 0;    // the integers so far, for messages
  intptr_t taken_[max_ndim];
  std::vector<ref<buffer>> memory_; // of new streams, until the view owns them
  interruptible_walk walk_;
};

} // namespace

std::string out_of_bounds_text(intptr_t i, int axis, const std::string &row, intptr_t size) {
  return "index " + std::to_string(i) + " is out of bounds for axis " + std::to_string(axis) +
         (row.empty() ? "" : " of " + row) + " with size " + std::to_string(size);
}

void check_index_counts(int ellipses, int taken, int ndim) {
  if (ellipses > 1) {
    fail(error_kind::index, "index: more than one ellipsis");
  }
  if (taken > ndim) {
    fail(error_kind::index,
         "index: too many indices: " + std::to_string(taken) + " for " + std::to_string(ndim) + " dimension(s)");
  }
}

array at(const array &a, std::span<const index> indices) {
  materialize(a.get());
  return indexer(a, indices).run();
}

array at(const array &a, intptr_t i) {
  index one = index::number(i);
  return at(a, {&one, 1});
}

} // namespace nd

} // namespace dynd

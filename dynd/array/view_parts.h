// An array taken apart to make a view of it: sizes and strides that can be changed, and an array that is built of them.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/memory/pool.h"

namespace dynd::nd {

/// The dimensions from the outside in, and the streams with strides for each of them. Dimensions inside of the elements
/// come behind those outside.
struct view_parts {
  int ndim = 0, all_ndim = 0, nstreams = 0;
  intptr_t size[max_type_streams + max_ndim];
  type_kind kind[max_ndim];
  char *address[max_type_streams];
  slot_kind slots[max_type_streams];
  int32_t step[max_type_streams];
  counted *owner[max_type_streams];
  ndt::type dtype;
  access_mode access;
  bool ours;

  explicit view_parts(const array &a) {
    array_block *block = a.get();
    ndim = block->ndim;
    all_ndim = block->all_ndim;
    nstreams = block->nstreams;
    access = block->access;
    ours = block->flags & flag_ours;
    pitch_ = size_t(all_ndim + max_ndim - ndim); // an index may add axes
    if (pitch_ * size_t(nstreams) > std::size(few_)) {
      many_.resize(pitch_ * size_t(nstreams));
    }
    const type_data *type = block->type;
    for (int d = 0; d < ndim; d++, type = type->element) {
      kind[d] = type->kind;
      whole_[d] = type;
    }
    dtype = ndt::type(type);
    std::copy_n(block->size(), all_ndim, size);
    for (int s = 0; s < nstreams; s++) {
      const stream &from = block->streams()[s];
      address[s] = from.address;
      slots[s] = from.kind;
      step[s] = from.step;
      owner[s] = from.owner ? from.owner : block;
      std::copy_n(block->strides(s), all_ndim, stride(s));
    }
  }

  intptr_t *stride(int s) { return (many_.empty() ? few_ : many_.data()) + size_t(s) * pitch_; }
  const intptr_t *stride(int s) const { return (many_.empty() ? few_ : many_.data()) + size_t(s) * pitch_; }

  void remove_axis(int d) {
    for (int s = 0; s < nstreams; s++) {
      std::copy(stride(s) + d + 1, stride(s) + all_ndim, stride(s) + d);
    }
    std::copy(size + d + 1, size + all_ndim, size + d);
    std::copy(kind + d + 1, kind + ndim, kind + d);
    std::copy(whole_ + d + 1, whole_ + ndim, whole_ + d);
    std::fill_n(whole_, d, nullptr);
    ndim--;
    all_ndim--;
  }

  void insert_axis(int d) {
    check_ndim("array", ndim + 1);
    for (int s = 0; s < nstreams; s++) {
      std::copy_backward(stride(s) + d, stride(s) + all_ndim, stride(s) + all_ndim + 1);
      stride(s)[d] = 0;
    }
    std::copy_backward(size + d, size + all_ndim, size + all_ndim + 1);
    std::copy_backward(kind + d, kind + ndim, kind + ndim + 1);
    std::copy_backward(whole_ + d, whole_ + ndim, whole_ + ndim + 1);
    size[d] = 1;
    set_kind(d, type_kind::strided_dim);
    ndim++;
    all_ndim++;
  }

  void remove_stream(int s) {
    for (; s + 1 < nstreams; s++) {
      std::copy_n(stride(s + 1), all_ndim, stride(s));
      address[s] = address[s + 1];
      slots[s] = slots[s + 1];
      step[s] = step[s + 1];
      owner[s] = owner[s + 1];
    }
    nstreams--;
  }

  /// Before the starts of its rows are used for a view.
  void pin(int s) { dynd::pin(owner[s]); }

  bool is_var(int d) const { return kind[d] == type_kind::var_dim; }

  void set_kind(int d, type_kind to) {
    kind[d] = to;
    std::fill_n(whole_, d + 1, nullptr);
  }

  // Stream s becomes items that follow each other over the dimensions from the `var` one outside of it (or the first)
  // up to `end`.
  //   slots of (2, var, 3, var), end 3, 16 bytes each: strides 0 48 16 0
  void pack(int s, int end, intptr_t item, buffer *memory, slot_kind kind_of_slots) {
    address[s] = memory->data;
    owner[s] = memory;
    slots[s] = kind_of_slots;
    step[s] = 1;
    set_item_strides(stride(s), size, end - 1, item);
    std::fill(stride(s) + end, stride(s) + all_ndim, 0);
  }

  // The outermost dimension is `var` and nothing is outside of it: it is one row, and so has one size.
  void resolve_row() {
    pin(0);
    row_extent row = read_slot(address[0], slots[0]);
    for (int s = 1; s < nstreams; s++) {
      address[s] += row.start * start_unit(stride(s)[0], step[0]);
    }
    remove_stream(0);
    size[0] = row.size;
    set_kind(0, type_kind::strided_dim);
  }

  void shift(int d, intptr_t elements) {
    for (int s = 0; s < nstreams; s++) {
      address[s] += elements * stride(s)[d];
    }
  }

  array build() const {
    int same = 0; // the dimensions from here on are as they were: their type is known
    while (same < ndim && !whole_[same]) {
      same++;
    }
    ndt::type type = same < ndim ? ndt::type(whole_[same]) : dtype;
    for (int d = same - 1; d >= 0; d--) {
      type = ndt::make_dim(kind[d], size[d], type);
    }
    ref<array_block> block = new_block(type.get(), access, ours ? flag_ours : 0);
    std::copy_n(size, all_ndim, block->size());
    for (int s = 0; s < nstreams; s++) {
      std::copy_n(stride(s), all_ndim, block->strides(s));
      retain(owner[s]);
      block->streams()[s] = {address[s], owner[s], slots[s], step[s]};
    }
    note_density(*block);
    return array(std::move(block));
  }

private:
  const type_data *whole_[max_ndim]; ///< the type from a dimension on; null where that has changed
  size_t pitch_;
  intptr_t few_[(max_ndim + 1) * max_ndim]; // all that arrays of scalars need
  std::vector<intptr_t> many_;
};

} // namespace dynd::nd

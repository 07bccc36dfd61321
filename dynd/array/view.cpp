#include "dynd/array/view.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"

namespace dynd::nd {

namespace {

// An array taken apart: its dimensions from the outside in, and its streams with strides for each of them. Dimensions
// inside of the elements come along behind the others.
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
    ndim--;
    all_ndim--;
  }

  void insert_axis(int d) {
    if (ndim == max_ndim) {
      fail(error_kind::value, "index: more than 32 dimensions");
    }
    for (int s = 0; s < nstreams; s++) {
      std::copy_backward(stride(s) + d, stride(s) + all_ndim, stride(s) + all_ndim + 1);
      stride(s)[d] = 0;
    }
    std::copy_backward(size + d, size + all_ndim, size + all_ndim + 1);
    std::copy_backward(kind + d, kind + ndim, kind + ndim + 1);
    size[d] = 1;
    kind[d] = type_kind::strided_dim;
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

  // Stream s becomes items that follow each other over the dimensions from the `var` one outside of it (or the first)
  // up to `end`.
  //   slots of (2, var, 3, var), end 3, 16 bytes each: strides 0 48 16 0
  void pack(int s, int end, intptr_t item, buffer *memory, slot_kind kind_of_slots) {
    address[s] = memory->data;
    owner[s] = memory;
    slots[s] = kind_of_slots;
    step[s] = 1;
    bool outside = false; // of the `var` dimension that the stream is in
    for (int d = all_ndim - 1; d >= 0; d--) {
      stride(s)[d] = d >= end || outside ? 0 : item;
      if (d < end && !outside) {
        outside = kind[d] == type_kind::var_dim;
        item *= outside ? 1 : size[d];
      }
    }
  }

  // The outermost dimension is `var` and nothing is outside of it: it is one row, and so has one size.
  void resolve_row() {
    row_extent row = read_slot(address[0], slots[0]);
    for (int s = 1; s < nstreams; s++) {
      address[s] += row.start * start_unit(stride(s)[0], step[0]);
    }
    remove_stream(0);
    size[0] = row.size;
    kind[0] = type_kind::strided_dim;
  }

  void shift(int d, intptr_t elements) {
    for (int s = 0; s < nstreams; s++) {
      address[s] += elements * stride(s)[d];
    }
  }

  array build() const {
    ndt::type type = dtype;
    for (int d = ndim - 1; d >= 0; d--) {
      type = kind[d] == type_kind::var_dim     ? ndt::make_var_dim(type)
             : kind[d] == type_kind::fixed_dim ? ndt::make_fixed_dim(size[d], type)
                                               : ndt::make_strided_dim(type);
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
  size_t pitch_;
  intptr_t few_[(max_ndim + 1) * max_ndim]; // all that arrays of scalars need
  std::vector<intptr_t> many_;
};

// Python's rule for a slice over `size` elements: the first, how many, and the step.
struct slice_extent {
  intptr_t first, count, step;
};

slice_extent resolve(const index &i, intptr_t size) {
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
    count = (stop - start - 1) / step + 1;
  } else if (step < 0 && stop < start) {
    count = step == INTPTR_MIN ? 1 : (start - stop - 1) / -step + 1;
  }
  return {start, count, step};
}

bool is_whole(const index &i) { return i.kind == index::slice && !i.start && !i.stop && i.step.value_or(1) == 1; }

// All rows of the `var` dimension `axis`, in C order, whatever is outside of them. Notes the rows of the `var`
// dimensions outside as if everything followed each other, which is how new slots are laid out.
class row_walk {
public:
  row_walk(const view_parts &parts, int axis) : parts_(parts), axis_(axis) {
    for (int d = 0; d < axis; d++) {
      slots_ += parts.kind[d] == type_kind::var_dim;
    }
    outer_rows.resize(size_t(slots_));
    next_.resize(size_t(slots_));
  }

  /// The stream of the rows' slots.
  int slots() const { return slots_; }

  /// Calls f(extent of the row, its index over the dimensions outside).
  template <class F> void run(F f) { visit(0, 0, parts_.address, f); }

  std::vector<std::vector<row_extent>> outer_rows; ///< of each `var` dimension outside

private:
  // `var` is the number of `var` dimensions before d; the streams of these and of the rows stand at `at`.
  template <class F> void visit(int d, int var, char *const *at, F &f) {
    if (d == axis_) {
      f(read_slot(at[slots_], parts_.slots[slots_]), index_);
      return;
    }
    bool rows = parts_.kind[d] == type_kind::var_dim;
    row_extent row = {0, parts_.size[d]};
    if (rows) {
      row = read_slot(at[var], parts_.slots[var]);
      outer_rows[size_t(var)].push_back(has_no_memory(row) ? row : row_extent{next_[size_t(var)], row.size});
      next_[size_t(var)] += row.size;
    }
    char *inner[max_ndim + 1];
    for (int s = 0; s <= slots_; s++) {
      bool moves = rows && s > var;
      inner[s] = at[s] + (moves ? row.start * start_unit(parts_.stride(s)[d], parts_.step[var]) : 0);
    }
    for (int64_t i = 0; i < row.size; i++) {
      index_[d] = i;
      visit(d + 1, var + rows, inner, f);
      for (int s = 0; s <= slots_; s++) {
        inner[s] += parts_.stride(s)[d];
      }
    }
  }

  const view_parts &parts_;
  int axis_, slots_ = 0;
  std::vector<int64_t> next_; // where the next of the outer rows begins
  intptr_t index_[max_ndim] = {};
};

class indexer {
public:
  indexer(const array &a, std::span<const index> indices) : a_(a), parts_(a), indices_(indices) {}

  array run() {
    int consumed = 0, ellipses = 0;
    for (const index &i : indices_) {
      consumed += i.kind == index::integer || i.kind == index::slice;
      ellipses += i.kind == index::ellipsis;
    }
    if (ellipses > 1) {
      fail(error_kind::index, "index: more than one ellipsis");
    }
    if (consumed > parts_.ndim) {
      fail(error_kind::index, "index: too many indices: " + std::to_string(consumed) + " for " +
                                  std::to_string(parts_.ndim) + " dimension(s)");
    }
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
    }
    resolve_taken_row();
    return parts_.build();
  }

private:
  // A row that was picked out of a ragged array has one size.
  void resolve_taken_row() {
    if (!taken_.empty() && parts_.ndim > 0 && parts_.kind[0] == type_kind::var_dim) {
      parts_.resolve_row();
    }
  }

  // Rows of which every one is to be indexed. With nothing outside, a `var` dimension is one row, of one size.
  bool inside_rows() {
    if (parts_.kind[at_] != type_kind::var_dim) {
      return false;
    }
    if (at_ == 0) {
      parts_.resolve_row();
    }
    return at_ > 0;
  }

  buffer *keep(const void *data, size_t bytes) {
    memory_.push_back(allocate_buffer(bytes));
    if (bytes) {
      std::memcpy(memory_.back()->data, data, bytes);
    }
    return memory_.back().get();
  }

  // As offsets, unless some row has no memory: that only a pair can say.
  void pack_rows(int s, int d, const std::vector<row_extent> &rows) {
    if (std::any_of(rows.begin(), rows.end(), has_no_memory)) {
      return parts_.pack(s, d, sizeof(row_extent), keep(rows.data(), rows.size() * sizeof(row_extent)),
                         slot_kind::pairs64);
    }
    std::vector<int64_t> offsets = {0};
    for (const row_extent &row : rows) {
      offsets.push_back(row.start + row.size);
    }
    parts_.pack(s, d, sizeof(int64_t), keep(offsets.data(), offsets.size() * sizeof(int64_t)), slot_kind::offsets64);
  }

  // New slots for the `var` dimensions outside of the rows that were walked: those of the walk's order.
  void pack_outside(const row_walk &walk) {
    for (int s = 0, d = 0; s < walk.slots(); d++) {
      if (parts_.kind[d] == type_kind::var_dim) {
        pack_rows(s, d, walk.outer_rows[size_t(s)]);
        s++;
      }
    }
  }

  // a[:, i:j:k]: new slots, one for each row; the content is shared.
  void cut_rows(const index &i) {
    row_walk walk(parts_, at_);
    int s = walk.slots();
    intptr_t own = parts_.step[s], longest = 0;
    std::vector<row_extent> slots;
    walk.run([&](row_extent row, const intptr_t *) {
      slice_extent extent = resolve(i, row.size);
      longest = std::max(longest, extent.count);
      // Of a row without memory (start -1) every part is one, which can get none here: nobody would look for it.
      slots.push_back({extent.count ? row.start + extent.first * own : has_no_memory(row) ? -1 : 0, extent.count});
    });
    intptr_t step = i.step.value_or(1), all;
    if (longest <= 1) {
      step = 1; // nobody takes one
    }
    if (__builtin_mul_overflow(own, step, &all) || all != int32_t(all)) {
      fail(error_kind::index, "index: inside the rows of axis " + std::to_string(axis_) +
                                  " the step of a slice must fit 32 bits, not " + std::to_string(step));
    }
    pack_outside(walk);
    buffer *memory = keep(slots.data(), slots.size() * sizeof(row_extent));
    parts_.pack(s, at_, sizeof(row_extent), memory, slot_kind::pairs64);
    parts_.step[s] = int32_t(all);
    for (int below = s + 1; below < parts_.nstreams; below++) {
      parts_.stride(below)[at_] *= step;
    }
  }

  // a[:, i]: one element of every row. They lie anywhere: values are copied, of rows below the slots are, and the
  // content is shared.
  void take_from_rows(intptr_t i) {
    row_walk walk(parts_, at_);
    int s = walk.slots(), below = s + 1, end = at_ + 1;
    while (end < parts_.ndim && parts_.kind[end] != type_kind::var_dim) {
      end++;
    }
    bool values = end == parts_.ndim;
    if (values && !a_->has_scalars()) {
      fail(error_kind::index, "index: an integer inside the rows of axis " + std::to_string(axis_) +
                                  ", of elements of " + std::string(parts_.dtype.str()) +
                                  ": index the axes before it with integers");
    }
    intptr_t item = values ? intptr_t(a_->item_size()) : intptr_t(sizeof(row_extent));
    const intptr_t *stride = parts_.stride(below);
    std::vector<char> taken;
    walk.run([&](row_extent row, const intptr_t *index) {
      if (i < -row.size || i >= row.size) {
        std::string where;
        for (int d = 0; d < at_; d++) {
          where += (d ? ", " : "") + std::to_string(index[d]);
        }
        fail(error_kind::index, "index " + std::to_string(i) + " is out of bounds for axis " + std::to_string(axis_) +
                                    " of row " + (at_ > 1 ? "(" + where + ")" : where) + " with size " +
                                    std::to_string(row.size));
      }
      const char *from = parts_.address[below] + row.start * start_unit(stride[at_], parts_.step[s]) +
                         (i < 0 ? i + row.size : i) * stride[at_];
      copy_items(at_ + 1, end, from, stride, [&](const char *at) {
        row_extent slot;
        if (!values) {
          slot = read_slot(at, parts_.slots[below]);
          at = reinterpret_cast<const char *>(&slot);
        }
        taken.insert(taken.end(), at, at + item);
      });
    });
    pack_outside(walk);
    int32_t step = parts_.step[below];
    parts_.remove_stream(s);
    parts_.remove_axis(at_);
    parts_.pack(s, end - 1, item, keep(taken.data(), taken.size()), values ? slot_kind::none : slot_kind::pairs64);
    parts_.step[s] = step;
    if (values) {
      parts_.access = access_mode::immutable;
      parts_.ours = true;
    }
    axis_++;
  }

  template <class F> void copy_items(int d, int end, const char *from, const intptr_t *stride, F f) {
    if (d == end) {
      f(from);
      return;
    }
    for (intptr_t j = 0; j < parts_.size[d]; j++) {
      copy_items(d + 1, end, from + j * stride[d], stride, f);
    }
  }

  void take(intptr_t i) {
    if (inside_rows()) {
      take_from_rows(i);
      return;
    }
    intptr_t size = parts_.size[at_];
    if (i < -size || i >= size) {
      std::string row;
      if (a_->size()[axis_] < 0) {
        row = " of row " + taken_;
      }
      fail(error_kind::index, "index " + std::to_string(i) + " is out of bounds for axis " + std::to_string(axis_) +
                                  row + " with size " + std::to_string(size));
    }
    intptr_t positive = i < 0 ? i + size : i;
    parts_.shift(at_, positive);
    parts_.remove_axis(at_);
    taken_ += (taken_.empty() ? "" : ", ") + std::to_string(positive);
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
        parts_.kind[at_] = type_kind::strided_dim; // `3 * T` cut to 2 is not `3 * T` any more
      }
    }
    at_++;
    axis_++;
  }

  const array &a_;
  view_parts parts_;
  std::span<const index> indices_;
  int at_ = 0;   // the dimension of the view that is next
  int axis_ = 0; // the axis of the array that it was
  std::string taken_;
  std::vector<ref<buffer>> memory_; // of new streams, until the view owns them
};

} // namespace

array at(const array &a, std::span<const index> indices) {
  force(a.get());
  return indexer(a, indices).run();
}

array at(const array &a, intptr_t i) {
  index one{index::integer, i, {}, {}, {}};
  return at(a, {&one, 1});
}

array transposed(const array &a, std::span<const int> axes) {
  force(a.get());
  if (a->type->var_count) {
    fail(error_kind::type, "transpose: a ragged array cannot be transposed: " + std::string(a.type().str()));
  }
  view_parts from(a), to(a);
  bool seen[max_ndim] = {};
  for (size_t d = 0; d < axes.size(); d++) {
    int axis = axes[d];
    if (axes.size() != size_t(from.ndim) || axis < 0 || axis >= from.ndim || seen[axis]) {
      fail(error_kind::value, "transpose: the axes are not a permutation of the dimensions");
    }
    seen[axis] = true;
    to.size[d] = from.size[axis];
    to.kind[d] = from.kind[axis];
    for (int s = 0; s < from.nstreams; s++) {
      to.stride(s)[d] = from.stride(s)[axis];
    }
  }
  return to.build();
}

array transposed(const array &a) {
  int axes[max_ndim];
  for (int d = 0; d < a.ndim(); d++) {
    axes[d] = a.ndim() - 1 - d;
  }
  return transposed(a, {axes, size_t(a.ndim())});
}

array with_unit_axis(const array &a, int axis) {
  force(a.get());
  view_parts parts(a);
  parts.insert_axis(axis);
  return parts.build();
}

array field(const array &a, std::string_view name) {
  array_block *from = a.get();
  // Its streams are the slots outside, those of options and pointers on the way, and the field's own; so its
  // dimensions.
  std::vector<int> streams, dims;
  std::vector<type_kind> around;
  for (int s = 0; s < from->type->var_count; s++) {
    streams.push_back(s);
  }
  for (int d = 0; d < from->ndim; d++) {
    dims.push_back(d);
  }
  type_part part{from->type->dtype, from->type->var_count, from->ndim};
  for (; part.type->kind == type_kind::option || part.type->kind == type_kind::pointer; part = part.element()) {
    around.push_back(part.type->kind);
    streams.push_back(part.stream);
    if (part.restarts()) {
      dims.push_back(part.dim);
    }
  }
  if (part.type->kind != type_kind::struct_) {
    fail(error_kind::type,
         "field: " + field_name_text(name) + " of " + std::string(a.type().str()) + ": the elements are not structs");
  }
  int found = 0;
  while (found < part.type->nfields && part.type->fields[found].name != name) {
    found++;
  }
  if (found == part.type->nfields) {
    fail(error_kind::index, "field: no field " + field_name_text(name) + " in " + std::string(a.type().str()));
  }
  part = part.field(found);
  for (int s = 0; s < part.type->nstreams; s++) {
    streams.push_back(part.stream + s);
  }
  for (int d = 0; d < part.type->all_ndim; d++) {
    dims.push_back(part.dim + d);
  }
  ndt::type type(part.type);
  for (size_t i = around.size(); i-- > 0;) {
    if (around[i] == type_kind::option && type->kind == type_kind::option) {
      fail(error_kind::type, "field: " + field_name_text(name) + " of " + std::string(a.type().str()) +
                                 " may be missing for two reasons; take the structs that are there first");
    }
    type = around[i] == type_kind::option ? ndt::make_option(type) : ndt::make_pointer(type);
  }
  type = ndt::with_dtype(a.type(), type);
  ref<array_block> block = new_block(type.get(), from->access, from->flags & flag_ours);
  for (size_t d = 0; d < dims.size(); d++) {
    block->size()[d] = from->size()[dims[d]];
  }
  for (size_t s = 0; s < streams.size(); s++) {
    const stream &own = from->streams()[streams[s]];
    counted *owner = own.owner ? own.owner : from;
    retain(owner);
    block->streams()[s] = {own.address, owner, own.kind, own.step};
    for (size_t d = 0; d < dims.size(); d++) {
      block->strides(int(s))[d] = from->strides(streams[s])[dims[d]];
    }
  }
  note_density(*block);
  return array(std::move(block));
}

} // namespace dynd::nd

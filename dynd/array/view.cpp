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
  counted *owner[max_type_streams];
  ndt::type dtype;

  explicit view_parts(const array &a) {
    array_block *block = a.get();
    ndim = block->ndim;
    all_ndim = block->all_ndim;
    nstreams = block->nstreams;
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

  // The outermost dimension is `var` and nothing is outside of it: it is one row, and so has one size.
  void resolve_row() {
    row_extent row = read_slot(address[0], slots[0]);
    for (int s = 1; s < nstreams; s++) {
      address[s] += row.start * stride(s)[0];
      std::copy_n(stride(s), all_ndim, stride(s - 1));
      address[s - 1] = address[s];
      slots[s - 1] = slots[s];
      owner[s - 1] = owner[s];
    }
    nstreams--;
    size[0] = row.size;
    kind[0] = type_kind::strided_dim;
  }

  void shift(int d, intptr_t elements) {
    for (int s = 0; s < nstreams; s++) {
      address[s] += elements * stride(s)[d];
    }
  }

  array build(const array &like) const {
    ndt::type type = dtype;
    for (int d = ndim - 1; d >= 0; d--) {
      type = kind[d] == type_kind::var_dim     ? ndt::make_var_dim(type)
             : kind[d] == type_kind::fixed_dim ? ndt::make_fixed_dim(size[d], type)
                                               : ndt::make_strided_dim(type);
    }
    array_block *from = like.get();
    ref<array_block> block = new_block(type.get(), from->access, from->flags & flag_ours);
    std::copy_n(size, all_ndim, block->size());
    for (int s = 0; s < nstreams; s++) {
      std::copy_n(stride(s), all_ndim, block->strides(s));
      retain(owner[s]);
      block->streams()[s] = {address[s], owner[s], slots[s]};
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
    return parts_.build(copied_ ? copied_ : a_);
  }

private:
  // A row that was picked out of a ragged array has one size.
  void resolve_taken_row() {
    if (!taken_.empty() && parts_.ndim > 0 && parts_.kind[0] == type_kind::var_dim) {
      parts_.resolve_row();
    }
  }

  // A `var` dimension can be indexed once nothing is left outside of it.
  void need_one_row(const char *what) {
    if (parts_.kind[at_] != type_kind::var_dim) {
      return;
    }
    if (at_ > 0) {
      fail(error_kind::index, std::string("index: ") + what + " inside the rows of axis " + std::to_string(axis_) +
                                  ", itself inside ragged rows: index the axes before it with integers");
    }
    parts_.resolve_row();
  }

  // Rows of which every one is to be indexed: the dimensions outside have one size each.
  bool inside_rows() const {
    bool strided_outside = at_ > 0 && parts_.kind[at_] == type_kind::var_dim;
    for (int d = 0; d < at_; d++) {
      strided_outside &= parts_.kind[d] != type_kind::var_dim;
    }
    return strided_outside;
  }

  // Calls f(slot, row number, index of the row) for every row, in C order.
  template <class F> void for_each_row(F f) {
    intptr_t index[max_ndim] = {};
    intptr_t rows = 1;
    for (int d = 0; d < at_; d++) {
      rows *= parts_.size[d];
    }
    for (intptr_t r = 0; r < rows; r++) {
      const char *slot = parts_.address[0];
      for (int d = 0; d < at_; d++) {
        slot += index[d] * parts_.stride(0)[d];
      }
      f(read_slot(slot, parts_.slots[0]), r, index);
      for (int d = at_ - 1; d >= 0 && ++index[d] == parts_.size[d]; d--) {
        index[d] = 0;
      }
    }
  }

  // a[:, i:j]: new slots, one for each row; the content is shared. Backwards the content's stride is negative, and so
  // are the starts.
  void cut_rows(const index &i) {
    intptr_t step = i.step.value_or(1);
    if (step != 1 && step != -1) {
      fail(error_kind::index, "index: inside the rows of axis " + std::to_string(axis_) +
                                  " the step of a slice must be 1 or -1, not " + std::to_string(step));
    }
    intptr_t rows = 1;
    for (int d = 0; d < at_; d++) {
      rows *= parts_.size[d];
    }
    new_slots_ = allocate_buffer(size_t(rows) * sizeof(row_extent));
    auto *slots = reinterpret_cast<row_extent *>(new_slots_->data);
    for_each_row([&](row_extent row, intptr_t r, const intptr_t *) {
      slice_extent extent = resolve(i, row.size);
      slots[r] = {step * (row.start + extent.first), extent.count};
    });
    parts_.address[0] = new_slots_->data;
    parts_.owner[0] = new_slots_.get();
    parts_.slots[0] = slot_kind::pairs64;
    intptr_t stride = sizeof(row_extent);
    for (int d = at_ - 1; d >= 0; d--) {
      parts_.stride(0)[d] = stride;
      stride *= parts_.size[d];
    }
    for (int s = 1; s < parts_.nstreams; s++) {
      parts_.stride(s)[at_] *= step;
    }
  }

  // a[:, i]: one element of every row. They lie anywhere, so this is a copy.
  void take_from_rows(intptr_t i) {
    if (parts_.nstreams != 2 || !a_->has_scalars()) {
      fail(error_kind::index, "index: an integer inside the rows of axis " + std::to_string(axis_) +
                                  ", with ragged rows below them: index the axes before it with integers");
    }
    intptr_t size[max_ndim];
    std::copy_n(parts_.size, at_, size);
    std::copy(parts_.size + at_ + 1, parts_.size + parts_.ndim, size + at_);
    ndt::type type = ndt::make_scalar(a_->scalar());
    for (int d = parts_.ndim - 1; d >= 0; d--) {
      type = d == at_ ? type : ndt::make_strided_dim(type);
    }
    copied_ = array(new_dense(type.get(), size));
    size_t item = a_->item_size();
    char *to = copied_->values().address;
    for_each_row([&](row_extent row, intptr_t, const intptr_t *index) {
      if (i < -row.size || i >= row.size) {
        std::string where;
        for (int d = 0; d < at_; d++) {
          where += (d ? ", " : "") + std::to_string(index[d]);
        }
        fail(error_kind::index, "index " + std::to_string(i) + " is out of bounds for axis " + std::to_string(axis_) +
                                    " of row " + (at_ > 1 ? "(" + where + ")" : where) + " with size " +
                                    std::to_string(row.size));
      }
      const char *from = parts_.address[1] + (row.start + (i < 0 ? i + row.size : i)) * parts_.stride(1)[at_];
      copy_elements(at_ + 1, from, to, item);
    });
    parts_ = view_parts(copied_);
    axis_++;
  }

  void copy_elements(int d, const char *from, char *&to, size_t item) {
    if (d == parts_.ndim) {
      std::memcpy(to, from, item);
      to += item;
      return;
    }
    for (intptr_t j = 0; j < parts_.size[d]; j++) {
      copy_elements(d + 1, from + j * parts_.stride(1)[d], to, item);
    }
  }

  void take(intptr_t i) {
    if (inside_rows()) {
      take_from_rows(i);
      return;
    }
    need_one_row("an integer");
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
      need_one_row("a slice");
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
  ref<buffer> new_slots_;
  array copied_;
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
  return to.build(a);
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
  return parts.build(a);
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
    block->streams()[s] = {own.address, owner, own.kind};
    for (size_t d = 0; d < dims.size(); d++) {
      block->strides(int(s))[d] = from->strides(streams[s])[dims[d]];
    }
  }
  note_density(*block);
  return array(std::move(block));
}

} // namespace dynd::nd

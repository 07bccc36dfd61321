#include "dynd/eval/elements.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/assign.h"
#include "dynd/kernel/dims.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

std::string index_text(const std::vector<intptr_t> &index) {
  std::string text = " at index (";
  for (size_t i = 0; i < index.size(); i++) {
    text += (i ? ", " : "") + std::to_string(index[i]);
  }
  return index.empty() ? "" : text + (index.size() == 1 ? ",)" : ")");
}

/// Where the element is that a kernel works on: level d tells of its place in dimension d - 1.
class place_recorder : public kernel_observer {
public:
  explicit place_recorder(int ndim) : index(size_t(ndim)) {}
  void call(int level, intptr_t at, char *const *) override {
    if (level > 0) {
      index[size_t(level) - 1] = at;
    }
  }
  std::vector<intptr_t> index;
};

// ---- rows of the destination and of the source
// ------------------------------------------------------------------------

bool has_role(const type_data *type, stream_role role) {
  return std::find(type->roles, type->roles + type->nstreams, role) != type->roles + type->nstreams;
}

/// Whether there is something to look at before an assignment: rows on either side, pointers of the destination.
bool has_rows(const type_data *dst, const type_data *src) {
  return has_role(dst, stream_role::rows) || has_role(src, stream_role::rows) || has_role(dst, stream_role::index);
}

/// Compares the lengths of all rows, those inside of elements too, before anything is written; and looks for pointers
/// of the destination that point to nothing and can get no memory.
class row_check {
public:
  row_check(array_block *dst, array_block *src) : dst_(*dst), src_(*src) {}

  void run() {
    if (has_rows(dst_.type, src_.type)) {
      side dst{dst_, {dst_.type}, false}, src{src_, {src_.type}, false};
      visit(dst, src);
    }
  }

private:
  // A part of an array, with its streams at one element of what is outside; `fresh`: in a row that has no memory yet;
  // `hidden`: in a value that is missing, so that nobody sees the length of its rows.
  struct side {
    const array_block &block;
    type_part part;
    bool fresh, hidden = false;
    char *at[max_type_streams];

    side(const array_block &b, type_part p, bool f) : block(b), part(p), fresh(f) {
      for (int s = 0; s < b.nstreams; s++) {
        at[s] = b.streams()[s].address;
      }
    }
    side(const side &other) : block(other.block), part(other.part), fresh(other.fresh), hidden(other.hidden) {
      std::copy_n(other.at, part.type->nstreams, at);
    }
    side(const side &outer, type_part p) : block(outer.block), part(p), fresh(outer.fresh), hidden(outer.hidden) {
      std::copy_n(outer.at + p.stream - outer.part.stream, p.type->nstreams, at);
    }
    bool is_dim() const { return part.type->ndim > 0; }
    /// The dimension's rows; of a fresh one nothing is known.
    row_extent row() const {
      if (part.type->kind != type_kind::var_dim) {
        return {0, block.size()[part.dim]};
      }
      return fresh ? row_extent{-1, 0} : read_slot(at[0], block.streams()[part.stream].kind);
    }
    /// To element i of the row that begins at `start`.
    void enter(int64_t start, int64_t i) {
      type_part inside = part.element();
      int own = inside.stream - part.stream, dim = part.dim;
      int32_t step = own ? block.streams()[part.stream].step : 1;
      for (int s = 0; s < inside.type->nstreams; s++) {
        intptr_t stride = block.strides(inside.stream + s)[dim];
        at[s] = at[s + own] + (fresh ? 0 : start * start_unit(stride, step) + i * stride);
      }
      part = inside;
    }
  };

  void visit(const side &dst, const side &src) {
    if (!has_rows(dst.part.type, src.part.type)) {
      return;
    }
    type_kind to = dst.part.type->kind, from = src.part.type->kind;
    bool from_first = goes_first(src.part.type, dst.part.type);
    if (to == type_kind::pointer || (from == type_kind::pointer && from_first)) {
      return visit_pointer(dst, src);
    }
    if (from == type_kind::option && from_first) {
      return *src.at[0] ? visit(dst, side(src, src.part.element())) : void();
    }
    if (to == type_kind::option) {
      side inner(dst, dst.part.element());
      inner.hidden |= !dst.fresh && !*dst.at[0];
      return visit(inner, src);
    }
    if (dst.is_dim()) {
      return visit_dimension(dst, src);
    }
    for (int i = 0; i < dst.part.type->nfields && src.part.type->nfields; i++) {
      int other = i;
      if (to == type_kind::struct_ && from == type_kind::struct_) {
        for (other = 0; std::strcmp(src.part.type->fields[other].name, dst.part.type->fields[i].name) != 0; other++) {
        }
      }
      visit(side(dst, dst.part.field(i)), side(src, src.part.field(other)));
    }
  }

  void visit_pointer(const side &dst, const side &src) {
    bool from = src.part.type->kind == type_kind::pointer;
    side next(from ? src : dst);
    int64_t index = -1;
    if (!next.fresh) {
      std::memcpy(&index, next.at[0], sizeof(index));
    }
    if (from && index < 0) {
      return; // null: the kernel says so
    }
    if (index < 0 && !as_pool(next.block.streams()[next.part.stream].owner)) {
      fail(error_kind::value, "assign: a pointer points to nothing" + (path_.empty() ? "" : ", in " + where()));
    }
    next.fresh |= index < 0;
    next.enter(index, 0);
    return from ? visit(dst, next) : visit(next, src);
  }

  void visit_dimension(const side &dst, const side &src) {
    bool both = src.part.type->ndim == dst.part.type->ndim;
    row_extent to = dst.row(), from = both ? src.row() : row_extent{0, 1};
    bool var = dst.part.type->kind == type_kind::var_dim;
    bool fresh =
        var && (dst.fresh || (to.start == -1 && to.size == 0 && as_pool(dst.block.streams()[dst.part.stream].owner)));
    int64_t length = fresh ? from.size : to.size;
    if (from.size != length && (from.size != 1 || (var && dst.hidden))) {
      fail(error_kind::broadcast, "assign: cannot broadcast " + where() + ": lengths " + std::to_string(from.size) +
                                      " and " + std::to_string(length));
    }
    for (int64_t i = 0; i < length; i++) {
      side inner_dst(dst), inner_src(src);
      inner_dst.fresh |= fresh;
      inner_dst.enter(to.start, i);
      if (both) {
        inner_src.enter(from.start, from.size == 1 ? 0 : i);
      }
      path_.push_back(i);
      visit(inner_dst, inner_src);
      path_.pop_back();
    }
  }

  std::string where() const {
    std::string text;
    for (intptr_t i : path_) {
      text += (text.empty() ? "" : ", ") + std::to_string(i);
    }
    return path_.empty() ? "the rows" : "row " + (path_.size() > 1 ? "(" + text + ")" : text);
  }

  const array_block &dst_, &src_;
  std::vector<intptr_t> path_;
};

// ---- overlap
// ------------------------------------------------------------------------------------------------------------

// The bytes of a stream that do not depend on rows; nothing where they do.
byte_interval touched_by(const array_block &block, int s) {
  intptr_t size[max_type_streams];
  for (int d = 0; d < block.all_ndim; d++) {
    size[d] = block.size()[d] < 0 ? 1 : block.size()[d];
  }
  return touched_bytes(block.streams()[s].address, {size, size_t(block.all_ndim)}, block.strides(s), 16);
}

// By owners, and where memory is foreign by addresses: different owners may lend the same.
bool may_share(const array_block &a, const array_block &b) {
  for (int s = 0; s < a.nstreams; s++) {
    for (int t = 0; t < b.nstreams; t++) {
      const counted *first = a.streams()[s].owner, *second = b.streams()[t].owner;
      if (first == second && (first || &a == &b)) {
        return true;
      }
      if (may_overlap(touched_by(a, s), touched_by(b, t))) {
        return true;
      }
    }
  }
  return false;
}

// ---- running an assignment
// ------------------------------------------------------------------------------------------------

struct assign_call {
  arrmeta_of dst_meta, src_meta;
  std::vector<char *> stream;

  assign_call(array_block *dst, array_block *src) : dst_meta(*dst), src_meta(*src) {
    for (array_block *block : {dst, src}) {
      for (int s = 0; s < block->nstreams; s++) {
        stream.push_back(block->streams()[s].address);
      }
    }
    for (int s = 0; s < dst->nstreams; s++) {
      stream_role role = dst->type->roles[s];
      if (role == stream_role::rows || role == stream_role::texts || role == stream_role::index) {
        stream.push_back(reinterpret_cast<char *>(as_pool(dst->streams()[s].owner)));
      }
    }
  }

  /// Whether some value may be refused. What cannot be assigned at all is an error.
  bool build(ckernel_builder &kernel, array_block *dst, array_block *src, error_mode mode, assign_walk walk) {
    try {
      return make_whole_assignment(kernel, ndt::type(dst->type), dst_meta.get(), ndt::type(src->type), src_meta.get(),
                                   mode, walk);
    } catch (const error &e) {
      fail(e.kind(), "assign: " + std::string(e.what()));
    }
  }

  int run(const ckernel_builder &kernel, dynd_frame &frame) {
    auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
    return reinterpret_cast<streams_strided_t>(root->function)(stream.data(), no_stride(), 1, root, &frame);
  }

private:
  static const intptr_t *no_stride() {
    static const intptr_t zeros[max_call_streams] = {};
    return zeros;
  }
};

// Which element it is: the kernel is run again in C order, and stops there.
[[noreturn]] void fail_at_element(assign_call &call, array_block *dst, array_block *src, error_mode mode, int status,
                                  std::string text) {
  ckernel_builder kernel;
  call.build(kernel, dst, src, mode, assign_walk::observed);
  work_frame frame(kernel.scratch_size);
  place_recorder places(dst->ndim);
  frame.engine = &places;
  std::string where;
  if (int again = call.run(kernel, frame)) {
    status = again;
    text = frame.text;
    where = index_text(places.index);
  }
  fail(kind_of(status), "assign: " + (text.empty() ? "failed" : text) + where);
}

bool has_fields(const type_data *type) {
  const type_data *t = type->dtype;
  return t->nfields > 0 || (t->element && t->kind != type_kind::byteswap && has_fields(t->element));
}

void assign_now(array_block *dst, array_block *src, error_mode mode) {
  assign_call call(dst, src);
  ckernel_builder kernel;
  call.build(kernel, dst, src, mode, assign_walk::planned);
  work_frame frame(kernel.scratch_size);
  if (int status = call.run(kernel, frame)) {
    fail_at_element(call, dst, src, mode, status, frame.text);
  }
}

// The length of the rows at an axis outside of the elements, as far as one can be told: that of the first row that is
// not of length 1; -1 where there is no row.
intptr_t length_of_rows(const array_block &block, int axis, int at_axis, char *const *at) {
  dimension_walk dimension(block, at_axis, at, block.type->var_count);
  if (at_axis == axis) {
    return dimension.size();
  }
  intptr_t found = -1;
  char *inner[max_ndim];
  for (int64_t i = 0; i < dimension.size() && (found == -1 || found == 1); i++) {
    dimension.enter(i, inner);
    intptr_t own = length_of_rows(block, axis, at_axis + 1, inner);
    found = own < 0 ? found : own;
  }
  return found;
}

intptr_t length_of_rows(const array_block &block, int axis) {
  char *at[max_ndim];
  for (int s = 0; s < block.type->var_count; s++) {
    at[s] = block.streams()[s].address;
  }
  return axis < block.ndim ? length_of_rows(block, axis, 0, at) : -1;
}

// The sizes of an array of `type` that takes the values of `part`: strided dimensions have those of the source.
void find_sizes(type_part type, const array_block &src, type_part part, intptr_t *size) {
  auto is_around = [](const type_part &p) {
    return p.type->kind == type_kind::option || p.type->kind == type_kind::pointer;
  };
  while (is_around(type)) {
    type = type.element();
  }
  while (is_around(part)) {
    part = part.element();
  }
  if (type.type->ndim) {
    bool both = part.type->ndim == type.type->ndim;
    size[type.dim] = both ? src.size()[part.dim] : 1;
    if (size[type.dim] < 0 && type.type->kind == type_kind::strided_dim) {
      size[type.dim] = length_of_rows(src, part.dim);
    }
    return find_sizes(type.element(), src, both ? part.element() : part, size);
  }
  if (part.type->ndim) {
    return; // more dimensions than the destination has: the kernel says so
  }
  for (int i = 0; i < type.type->nfields; i++) {
    int other = i;
    if (type.type->kind == type_kind::struct_ && part.type->kind == type_kind::struct_) {
      for (other = 0;
           other < part.type->nfields && std::strcmp(part.type->fields[other].name, type.type->fields[i].name) != 0;
           other++) {
      }
    }
    if (other < part.type->nfields) {
      find_sizes(type.field(i), src, part.field(other), size);
    }
  }
}

} // namespace

void assign_elements(array_block *dst, array_block *src, error_mode mode) {
  force(src);
  // What the types and sizes refuse is refused before anything is looked at, and row lengths before anything is
  // written.
  assign_call call(dst, src);
  ckernel_builder kernel;
  bool refuses = call.build(kernel, dst, src, mode, assign_walk::planned);
  row_check(dst, src).run();
  // A struct is assigned whole or not at all: first to a new array, where nobody sees what was done before a refusal.
  bool whole = refuses && has_fields(dst->type);
  if (whole || may_share(*dst, *src)) {
    ndt::type dtype(whole ? dst->type->dtype : src->type->dtype);
    ndt::type type = ndt::with_dtype(ndt::type(src->type), dtype);
    ref<array_block> apart = convert_elements(src, type.get(), access_mode::immutable, mode);
    assign_now(dst, apart.get(), whole ? error_mode::nocheck : mode);
    return;
  }
  work_frame frame(kernel.scratch_size);
  if (int status = call.run(kernel, frame)) {
    fail_at_element(call, dst, src, mode, status, frame.text);
  }
}

ref<array_block> convert_elements(array_block *src, const type_data *type, access_mode access, error_mode mode) {
  force(src);
  intptr_t size[max_type_streams];
  std::fill_n(size, type->all_ndim, -1);
  find_sizes({type}, *src, {src->type}, size);
  ref<array_block> result = new_empty(type, size);
  row_check(result.get(), src).run();
  assign_now(result.get(), src, mode);
  if (access == access_mode::immutable) {
    settle(*result);
    note_density(*result);
  }
  return result;
}

// ---- kernels over elements
// ------------------------------------------------------------------------------------------------

namespace {

// All streams of all operands over the axes of the shape, and the levels that walk these.
class element_call {
public:
  element_call(const space &shape, array_block *const *operands, int noperands) : shape_(shape) {
    for (int o = 0; o < noperands; o++) {
      const array_block &block = *operands[o];
      metas_.push_back(std::make_unique<arrmeta_of>(block));
      int var = block.type->var_count, missing = shape.ndim - block.ndim;
      operands_.push_back({{block.type->dtype, var, block.ndim}, metas_.back()->get(), int(stream_.size())});
      for (int s = 0; s < block.nstreams; s++) {
        stream_.push_back(block.streams()[s].address);
        for (int d = 0; d < shape.ndim; d++) {
          intptr_t own = d < missing ? 1 : block.size()[d - missing];
          stride_.push_back(d < missing ? 0 : broadcast_stride(own, block.strides(s)[d - missing]));
        }
      }
      blocks_.push_back(&block);
    }
    if (stream_.size() > size_t(max_call_streams)) {
      fail_too_many_streams();
    }
  }

  void build(ckernel_builder &out, const element_kernel &make, bool observed) {
    size_t offset = 0;
    for (int d = 0; d < shape_.ndim; d++) {
      offset = observed ? begin_observed(out, offset, count(), d) : offset;
      offset = dimension(out, offset, d);
    }
    offset = observed ? begin_observed(out, offset, count(), shape_.ndim) : offset;
    make(out, offset, operands_.data());
  }

  int run(const ckernel_builder &kernel, dynd_frame &frame) {
    std::vector<intptr_t> stride(stream_.size(), 0);
    auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
    return reinterpret_cast<streams_strided_t>(root->function)(stream_.data(), stride.data(), 1, root, &frame);
  }

private:
  int count() const { return int(stream_.size()); }

  size_t dimension(ckernel_builder &out, size_t offset, int d) {
    std::vector<intptr_t> stride;
    for (size_t s = 0; s < stream_.size(); s++) {
      stride.push_back(stride_[s * size_t(shape_.ndim) + size_t(d)]);
    }
    std::vector<var_slots> slots;
    std::vector<int8_t> follows(stream_.size(), -1);
    std::vector<intptr_t> unit = stride; // what the starts of rows count in
    for (size_t o = 0; o < blocks_.size(); o++) {
      const array_block &block = *blocks_[o];
      int axis = d - (shape_.ndim - block.ndim);
      if (axis < 0 || block.size()[axis] >= 0) {
        continue;
      }
      int s = 0;
      for (int e = 0; e < axis; e++) {
        s += block.size()[e] < 0;
      }
      for (int below = s + 1; below < block.nstreams; below++) {
        size_t at = size_t(operands_[o].first + below);
        follows[at] = int8_t(slots.size());
        unit[at] = start_unit(stride[at], block.streams()[s].step);
      }
      slots.push_back({operands_[o].first + s, block.streams()[s].kind});
    }
    if (slots.empty()) {
      return begin_strided_dim(out, offset, count(), shape_.size[d], stride.data());
    }
    // The outputs come first and have the shape's rows: theirs is the length.
    return begin_var_dim(
        out, offset,
        {count(), shape_.size[d], int(slots.size()), slots.data(), follows.data(), stride.data(), unit.data()});
  }

  const space &shape_;
  std::vector<const array_block *> blocks_;
  std::vector<std::unique_ptr<arrmeta_of>> metas_;
  std::vector<kernel_operand> operands_;
  std::vector<char *> stream_;
  std::vector<intptr_t> stride_; // of each stream, ndim of them
};

} // namespace

void run_elements(const char *name, const space &shape, array_block *const *operands, int noperands,
                  const element_kernel &make) {
  for (int o = 0; o < noperands; o++) {
    force(operands[o]);
  }
  element_call call(shape, operands, noperands);
  ckernel_builder kernel;
  call.build(kernel, make, false);
  work_frame frame(kernel.scratch_size);
  int status = call.run(kernel, frame);
  if (!status) {
    return;
  }
  ckernel_builder observed;
  call.build(observed, make, true);
  work_frame again(observed.scratch_size);
  place_recorder places(shape.ndim);
  again.engine = &places;
  std::string text = frame.text, where;
  if (int second = call.run(observed, again)) {
    status = second;
    text = again.text;
    where = index_text(places.index);
  }
  fail(kind_of(status), std::string(name) + ": " + (text.empty() ? "failed" : text) + where);
}

ref<array_block> new_elements(const space &shape, ndt::type dtype) {
  // A stream at a time: each is that of an array of scalars of its size.
  ref<array_block> result;
  for (int s = 0; s < dtype->nstreams; s++) {
    bool value = dtype->roles[s] == stream_role::values;
    ref<array_block> column = new_result(shape, value ? stream_scalar(dtype.get(), s) : scalar_id::bool_);
    allocate_values(column.get(), shape);
    if (!result) {
      ndt::type type = ndt::with_dtype(ndt::type(column->type), dtype);
      result = new_block(type.get(), access_mode::immutable, flag_ours);
      std::copy_n(column->size(), shape.ndim, result->size());
    }
    for (int from = s == 0 ? 0 : column->nstreams - 1; from < column->nstreams; from++) {
      int to = from + s;
      result->streams()[to] = column->streams()[from];
      counted *owner = column->streams()[from].owner;
      retain(owner ? owner : column.get());
      result->streams()[to].owner = owner ? owner : column.get();
      std::copy_n(column->strides(from), shape.ndim, result->strides(to));
    }
  }
  note_density(*result);
  return result;
}

} // namespace dynd

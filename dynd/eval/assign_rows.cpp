#include "dynd/eval/assign_rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dynd/array/cursor.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/run.h"
#include "dynd/kernel/assign.h"
#include "dynd/memory/pool.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

class row_check {
public:
  row_check(const char *name, array_block *dst, array_block *src, std::vector<given_row> *given)
      : name_(name), dst_(*dst), src_(*src), given_(given) {}

  void run() {
    without_interpreter unlocked(has_many_places(dst_, dst_.ndim));
    stream_room dst, src;
    visit({cursor(dst_, dst)}, {cursor(src_, src)});
  }

private:
  // A place in an array. `fresh`: in a row or behind a pointer that has no memory yet; `hidden`: in a value that is
  // missing, so that the length of its rows cannot be seen; `exact`: in a record, where nothing stretches.
  struct side {
    cursor at;
    bool fresh = false, hidden = false, exact = false;

    const type_data *type() const { return at.part().type; }
    side inside(const cursor &place) const { return {place, fresh, hidden, exact}; }
    row_pool *pool() const { return as_pool(at.block().streams()[at.part().stream].owner); }
    /// The dimension's row; of a fresh one nothing is known.
    row_extent row() const { return fresh && at.is_var() ? row_extent{-1, 0} : at.row(); }
  };

  void visit(const side &dst, const side &src) {
    if (!has_rows_to_check(dst.type(), src.type())) {
      return;
    }
    type_kind to = dst.at.kind(), from = src.at.kind();
    bool from_first = goes_first(src.type(), dst.type());
    if (from == type_kind::pointer && (from_first || to == type_kind::pointer)) {
      stream_room room;
      return src.at.is_null() ? void() : visit(dst, src.inside(src.at.target(room))); // null: the kernel says so
    }
    if (to == type_kind::pointer) {
      return visit_pointer(dst, src);
    }
    if (from == type_kind::option && from_first) {
      return src.at.is_there() ? visit(dst, src.inside(src.at.inside())) : void();
    }
    if (to == type_kind::option) {
      return visit({dst.at.inside(), dst.fresh, dst.hidden || (!dst.fresh && !dst.at.is_there()), dst.exact}, src);
    }
    if (dst.at.is_dim()) {
      return visit_dimension(dst, src);
    }
    for (int i = 0; i < dst.type()->nfields && src.type()->nfields && !given_; i++) {
      visit({dst.at.field(i), dst.fresh, dst.hidden, true},
            src.inside(src.at.field(partner_field(dst.type(), src.type(), i))));
    }
  }

  void visit_pointer(const side &dst, const side &src) {
    if (!dst.fresh && !dst.at.is_null()) {
      stream_room room;
      return visit(dst.inside(dst.at.target(room)), src);
    }
    if (!dst.pool()) {
      fail(error_kind::value,
           name_ + ": a pointer points to nothing" + (path_.empty() ? "" : ", in " + row_text(path_)));
    }
    visit({dst.at.inside(), true, dst.hidden, dst.exact}, src);
  }

  void visit_dimension(const side &dst, const side &src) {
    bool both = path_ndim(src.type()) == path_ndim(dst.type()), var = dst.at.is_var();
    row_extent to = dst.row(), from = both ? src.row() : row_extent{0, 1};
    bool replaced = dst.exact && from.size != to.size && dst.pool();
    bool fresh = var && (dst.fresh || has_no_memory(to) || replaced);
    if (fresh && !dst.pool() && from.size != 0) {
      fail(error_kind::value, name_ + ": a part of a row that has no memory yet cannot get any, in " + row_text(path_) +
                                  "; assign to the whole row first");
    }
    if (given_ && fresh && dst.at.part().dim < dst_.ndim) {
      to = give(dst, from);
      fresh = false;
    }
    int64_t length = fresh ? from.size : to.size;
    if (from.size != length && (from.size != 1 || dst.exact || (var && dst.hidden))) {
      bool meant = src_.ndim == 1 && !src_.is_var(0) && dst_.ndim > 1 && src_.size()[0] == dst_.size()[0];
      fail(error_kind::broadcast, name_ + ": cannot broadcast " + row_text(path_) + ": lengths " +
                                      std::to_string(from.size) + " and " + std::to_string(length) +
                                      (meant ? one_value_for_each_row_hint : ""));
    }
    if (has_rows_to_check(dst.type()->element, both ? src.type()->element : src.type())) {
      visit_elements({dst.at, dst.fresh || fresh, dst.hidden, dst.exact}, src, both, from.size, length);
    }
  }

  void visit_elements(const side &dst, const side &src, bool both, int64_t source_length, int64_t length) {
    stream_room dst_room, src_room;
    for (int64_t i = 0; i < length; i++) {
      side inner_dst = dst.inside(dst.fresh ? dst.at.inside() : dimension(dst.at).enter(i, dst_room));
      side inner_src = both ? src.inside(dimension(src.at).enter(source_length == 1 ? 0 : i, src_room)) : src;
      path_.push_back(i);
      walk_.step(name_.c_str());
      visit(inner_dst, inner_src);
      path_.pop_back();
    }
  }

  // A row without memory stays one where the source's row has none either.
  row_extent give(const side &dst, const row_extent &from) {
    if (has_no_memory(from) || !dst.pool()) {
      return {-1, 0};
    }
    row_extent row = {dst.pool()->take(from.size), from.size};
    if (row.start < 0) {
      fail(error_kind::memory, name_ + ": no memory for a row of " + std::to_string(from.size));
    }
    given_->push_back({dst.at.address(), dst.pool()});
    std::memcpy(dst.at.address(), &row, sizeof(row));
    return row;
  }

  const std::string name_;
  const array_block &dst_, &src_;
  std::vector<given_row> *given_; // not null: rows without memory get it, and their slots are listed here
  std::vector<intptr_t> path_;
  interruptible_walk walk_;
};

// Whether the rows outside of the elements need no check, row by row: they have the same memory or the same lengths, or
// the one length that the other array has there.
bool has_same_rows(const array_block *dst, const array_block *src) {
  bool same = dst->ndim == src->ndim && !has_rows_to_check(dst->type->dtype, src->type->dtype);
  for (int d = 0, s = 0, t = 0; d < dst->ndim && same; d++) {
    offsets_run to = dst->is_var(d) ? rows_of(*dst, s) : offsets_run();
    offsets_run from = src->is_var(d) ? rows_of(*src, t) : offsets_run();
    if (dst->is_var(d) && src->is_var(d)) {
      same = to && from && same_row_lengths(to, dst->streams()[s].owner, from, src->streams()[t].owner);
    } else {
      intptr_t wanted = to ? length_of_rows(to) : dst->size()[d], own = from ? length_of_rows(from) : src->size()[d];
      same = wanted >= 0 && wanted == own;
    }
    s += dst->is_var(d);
    t += src->is_var(d);
  }
  return same;
}

// The length of the rows at an axis, as far as one can be told: that of the first row that is not of length 1; -1 where
// there is no row, or the axis is inside of the elements.
intptr_t first_length(const array_block &block, int axis) {
  intptr_t found = -1;
  stream_room room;
  if (axis < block.ndim) {
    for_each_place(cursor::over_rows(block, room), axis, [&](const cursor &row, const intptr_t *) {
      found = row.size();
      return found == 1;
    });
  }
  return found;
}

// The sizes of an array of `type` that takes the values of `part`: strided dimensions have those of the source.
void sizes_like(type_part type, const array_block &src, type_part part, intptr_t *size) {
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
    bool both = path_ndim(part.type) == path_ndim(type.type);
    size[type.dim] = both ? src.size()[part.dim] : 1;
    if (size[type.dim] < 0 && type.type->kind == type_kind::strided_dim) {
      size[type.dim] = first_length(src, part.dim);
    }
    return sizes_like(type.element(), src, both ? part.element() : part, size);
  }
  if (part.type->ndim) {
    return; // more dimensions than the destination has: the kernel says so
  }
  for (int i = 0; i < type.type->nfields; i++) {
    int other = partner_field(type.type, part.type, i);
    if (other >= 0 && other < part.type->nfields) {
      sizes_like(type.field(i), src, part.field(other), size);
    }
  }
}

// What a stream may touch: below rows, texts and pointers anywhere in its owner's memory, else what its strides reach.
touched touched_by(const array_block &block, int s) {
  const stream &own = block.streams()[s];
  intptr_t size[max_type_streams];
  bool below = block.type->roles[s] == stream_role::chars;
  for_each_part({block.type}, [&](const type_part &part, const dim_path *) {
    if (part.restarts()) {
      below |= block.strides(s)[part.dim] != 0; // along the content
      size[part.dim] = 1;
    } else if (part.is_dim()) {
      size[part.dim] = block.size()[part.dim];
    }
  });
  if (!below) {
    return touched_bytes(own.address, {size, size_t(block.all_ndim)}, block.strides(s),
                         intptr_t(stream_item(block, s)));
  }
  if (buffer *memory = as_buffer(own.owner)) {
    auto low = reinterpret_cast<uintptr_t>(memory->data);
    return {low, low + memory->size};
  }
  array_block *holder = own.owner ? as_block(own.owner) : const_cast<array_block *>(&block);
  if (holder) { // small data, each stream 16-byte aligned
    auto low = reinterpret_cast<uintptr_t>(small_data(holder));
    return {low, low + inline_limit + 16 * size_t(holder->nstreams)};
  }
  row_pool *pool = as_pool(own.owner);
  std::span<const char> memory = pool ? pool->memory_around(own.address) : std::span<const char>();
  auto low = reinterpret_cast<uintptr_t>(memory.data()); // NumPy may show it too
  return memory.empty() ? touched{0, UINTPTR_MAX} : touched{low, low + memory.size()};
}

// Slots are written only where rows, texts or pointers get memory from a pool.
bool is_written(const array_block &block, int s) {
  return !has_pool(block.type->roles[s]) || as_pool(block.streams()[s].owner);
}

} // namespace

bool has_rows_to_check(const type_data *dst, const type_data *src) {
  return has_role(dst, stream_role::rows) || has_role(src, stream_role::rows) || has_role(dst, stream_role::index);
}

void check_sizes(const char *name, const array_block *dst, const array_block *src) {
  bool fits = src->ndim <= dst->ndim;
  for (int d = 0; d < src->ndim && fits; d++) {
    int to = dst->ndim - src->ndim + d;
    intptr_t own = src->size()[d];
    fits = src->is_var(d) || dst->is_var(to) || own == 1 || own == dst->size()[to];
  }
  if (!fits) {
    fail(error_kind::broadcast, std::string(name) + ": cannot broadcast " + space_text(const_cast<array_block *>(src)) +
                                    " to " + space_text(const_cast<array_block *>(dst)));
  }
}

void check_rows(const char *name, array_block *dst, array_block *src) {
  if (has_rows_to_check(dst->type, src->type) && !has_same_rows(dst, src)) {
    row_check(name, dst, src, nullptr).run();
  }
}

void given_rows::give(const char *name, array_block *dst, array_block *src) {
  for (int s = 0; s < dst->type->var_count; s++) {
    if (as_pool(dst->streams()[s].owner)) {
      return row_check(name, dst, src, &rows_).run();
    }
  }
}

given_rows::~given_rows() {
  const row_extent nothing = {-1, 0};
  for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) { // what is taken next begins with the first
    row_extent given = read_slot(row->slot, slot_kind::pairs64);
    std::memcpy(row->slot, &nothing, sizeof(nothing));
    row->pool->give_back(given.start, given.size);
  }
}

void sizes_like(const type_data *type, const array_block &src, intptr_t *size) {
  std::fill_n(size, type->all_ndim, -1);
  sizes_like({type}, src, {src.type}, size);
}

namespace {

// From the innermost axis in memory on, each steps over all that is inside of it. Rows do not overlap in their content,
// whose axes are the last `var` one and those inside.
bool has_own_places(const array_block &block, int stream) {
  intptr_t extent = intptr_t(stream_item(block, stream));
  const intptr_t *stride = block.strides(stream);
  small_vector<int, max_ndim> axes;
  int nvar = block.type->var_count;
  for (int d = nvar ? block.var_axis(nvar - 1) : 0; d < block.ndim; d++) {
    if (block.is_var(d) || block.size()[d] > 1) {
      axes.push_back(d);
    }
  }
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return std::abs(stride[a]) < std::abs(stride[b]); });
  for (int d : axes) {
    if (std::abs(stride[d]) < extent) {
      return false;
    }
    extent = block.is_var(d) ? INTPTR_MAX : extent + std::abs(stride[d]) * (block.size()[d] - 1);
  }
  return true;
}

} // namespace

bool has_own_places(const array_block &block) {
  bool own = true;
  for (int s = block.type->var_count; s < block.nstreams && own; s++) {
    own = has_own_places(block, s);
  }
  return own || std::count(block.size(), block.size() + block.ndim, 0);
}

bool may_write_to(const array_block &dst, const array_block &src) {
  for (int s = 0; s < dst.nstreams; s++) {
    for (int t = 0; t < src.nstreams && is_written(dst, s); t++) {
      const counted *first = dst.streams()[s].owner, *second = src.streams()[t].owner;
      bool one_pool = first && first == second && as_pool(dst.streams()[s].owner);
      if (one_pool || may_overlap(touched_by(dst, s), touched_by(src, t))) {
        return true;
      }
    }
  }
  return false;
}

} // namespace dynd

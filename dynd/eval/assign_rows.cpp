#include "dynd/eval/assign_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/eval/row_lengths.h"
#include "dynd/kernel/assign.h"
#include "dynd/memory/pool.h"

namespace dynd {

namespace {

bool has_role(const type_data *type, stream_role role) {
  return std::find(type->roles, type->roles + type->nstreams, role) != type->roles + type->nstreams;
}

} // namespace

bool has_rows_to_check(const type_data *dst, const type_data *src) {
  return has_role(dst, stream_role::rows) || has_role(src, stream_role::rows) || has_role(dst, stream_role::index);
}

namespace {

class row_check {
public:
  row_check(const char *name, array_block *dst, array_block *src, std::vector<char *> *given)
      : name_(name), dst_(*dst), src_(*src), given_(given) {}

  void run() {
    side dst{dst_, {dst_.type}, false}, src{src_, {src_.type}, false};
    visit(dst, src);
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
    if (!has_rows_to_check(dst.part.type, src.part.type)) {
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
    for (int i = 0; i < dst.part.type->nfields && src.part.type->nfields && !given_; i++) {
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
      fail(error_kind::value, "a pointer points to nothing" + (path_.empty() ? "" : ", in " + where()));
    }
    next.fresh |= index < 0;
    next.enter(index, 0);
    return from ? visit(dst, next) : visit(next, src);
  }

  void visit_dimension(const side &dst, const side &src) {
    bool both = path_ndim(src.part.type) == path_ndim(dst.part.type);
    row_extent to = dst.row(), from = both ? src.row() : row_extent{0, 1};
    bool var = dst.part.type->kind == type_kind::var_dim;
    bool fresh = var && (dst.fresh || has_no_memory(to));
    if (fresh && !as_pool(dst.block.streams()[dst.part.stream].owner) && from.size != 0) {
      fail(error_kind::value, name_ + ": a part of a row that has no memory yet cannot get any, in " + where() +
                                  "; assign to the whole row first");
    }
    if (given_ && fresh && dst.part.dim < dst_.ndim) {
      to = give(dst, from);
      fresh = false;
    }
    int64_t length = fresh ? from.size : to.size;
    if (from.size != length && (from.size != 1 || (var && dst.hidden))) {
      bool meant = src_.ndim == 1 && !src_.is_var(0) && dst_.ndim > 1 && src_.size()[0] == dst_.size()[0];
      fail(error_kind::broadcast, name_ + ": cannot broadcast " + where() + ": lengths " + std::to_string(from.size) +
                                      " and " + std::to_string(length) + (meant ? one_value_a_row_hint : ""));
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

  // From a row without memory a row without memory stays one.
  row_extent give(const side &dst, const row_extent &from) {
    row_pool *pool = as_pool(dst.block.streams()[dst.part.stream].owner);
    if (has_no_memory(from) || !pool) {
      return {-1, 0};
    }
    row_extent row = {pool->take(from.size), from.size};
    if (row.start < 0) {
      fail(error_kind::memory, name_ + ": no memory for a row of " + std::to_string(from.size));
    }
    given_->push_back(dst.at[0]);
    std::memcpy(dst.at[0], &row, sizeof(row));
    return row;
  }

  std::string where() const {
    std::string text;
    for (intptr_t i : path_) {
      text += (text.empty() ? "" : ", ") + std::to_string(i);
    }
    return path_.empty() ? "the rows" : "row " + (path_.size() > 1 ? "(" + text + ")" : text);
  }

  const std::string name_;
  const array_block &dst_, &src_;
  std::vector<char *> *given_; // not null: rows without memory get it, and their slots are listed here
  std::vector<intptr_t> path_;
};

} // namespace

namespace {

// Rows outside of the elements that need no look: those of the same memory, or known to have the same lengths.
bool has_same_rows(const array_block *dst, const array_block *src) {
  const type_data *a = dst->type, *b = src->type;
  bool same = dst->ndim == src->ndim && a->var_count == b->var_count &&
              std::equal(dst->size(), dst->size() + dst->ndim, src->size()) &&
              !has_rows_to_check(a->dtype, b->dtype);
  for (int s = 0; s < a->var_count && same; s++) {
    offsets_run to = rows_of(*dst, s), from = rows_of(*src, s);
    same = to && from && same_row_lengths(to, dst->streams()[s].owner, from, src->streams()[s].owner);
  }
  return same;
}

} // namespace

void check_sizes(const char *name, const array_block *dst, const array_block *src) {
  bool fits = src->ndim <= dst->ndim;
  for (int d = 0; d < src->ndim && fits; d++) {
    int to = dst->ndim - src->ndim + d;
    intptr_t own = src->size()[d];
    fits = src->is_var(d) || dst->is_var(to) || own == 1 || own == dst->size()[to];
  }
  if (!fits) {
    fail(error_kind::broadcast, std::string(name) + ": cannot broadcast " + space_text(const_cast<array_block *>(src)) + " to " +
                                    space_text(const_cast<array_block *>(dst)));
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
      return row_check(name, dst, src, &slots_).run();
    }
  }
}

given_rows::~given_rows() {
  const int64_t nothing[2] = {-1, 0};
  for (char *slot : slots_) {
    std::memcpy(slot, nothing, sizeof(nothing));
  }
}

namespace {

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
    bool both = path_ndim(part.type) == path_ndim(type.type);
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

void find_sizes(const type_data *type, const array_block &src, intptr_t *size) {
  std::fill_n(size, type->all_ndim, -1);
  find_sizes({type}, src, {src.type}, size);
}

} // namespace dynd

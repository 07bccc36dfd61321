// Assignment to and from elements of any type: checks, then one kernel of the factory (kernel/assign.h).
#include "dynd/eval/elements.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/observe.h"
#include "dynd/kernel/assign.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

// ---- rows of the destination and of the source --------------------------------------------------------------------

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
      fail(error_kind::value, "assign: a part of a row that has no memory yet cannot get any, in " + where() +
                                  "; assign to the whole row first");
    }
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

// ---- overlap ------------------------------------------------------------------------------------------------------

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

// ---- running an assignment ----------------------------------------------------------------------------------------

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
  bool build(ckernel_builder &kernel, array_block *dst, array_block *src, error_mode mode,
             std::vector<assign_part> *parts = nullptr, std::vector<assign_level> *levels = nullptr) {
    try {
      return make_whole_assignment(kernel, ndt::type(dst->type), dst_meta.get(), ndt::type(src->type), src_meta.get(),
                                   mode, parts, levels);
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

/// Where an observed assignment is: the way to the part that was told of last.
class part_recorder : public kernel_observer {
public:
  explicit part_recorder(const std::vector<assign_part> &parts) : parts_(parts), index_(parts.size()) {}
  void call(int part, intptr_t at, char *const *) override {
    part_ = part;
    index_[size_t(part)] = at;
  }
  /// " at index (2, \"x\", 0)"; nothing where it is the whole.
  std::string where() const {
    std::vector<std::string> way;
    for (int p = part_; parts_[size_t(p)].parent >= 0; p = parts_[size_t(p)].parent) {
      const std::string &field = parts_[size_t(p)].field;
      way.push_back(field.empty() ? std::to_string(index_[size_t(p)]) : field);
    }
    std::reverse(way.begin(), way.end());
    return way.empty() ? "" : " at index " + index_text(way);
  }

private:
  const std::vector<assign_part> &parts_;
  std::vector<intptr_t> index_; // of each part, in the dimension that it is an element of
  int part_ = 0;
};

// Which element it is: the kernel is run again in C order, and stops there.
[[noreturn]] void fail_at_element(assign_call &call, array_block *dst, array_block *src, error_mode mode, int status,
                                  std::string text) {
  ckernel_builder kernel;
  std::vector<assign_part> parts;
  call.build(kernel, dst, src, mode, &parts);
  work_frame frame(kernel.scratch_size);
  part_recorder places(parts);
  frame.engine = &places;
  std::string where;
  if (int again = call.run(kernel, frame)) {
    status = again;
    text = frame.text;
    where = places.where();
  }
  // What is said of a value stands alone, as it does where the elements are scalars.
  error_kind kind = kind_of(status);
  bool of_value = !text.empty() && (kind == error_kind::value || kind == error_kind::overflow);
  fail(kind, (of_value ? "" : "assign: ") + (text.empty() ? "failed" : text) + where);
}

bool has_fields(const type_data *type) {
  const type_data *t = type->dtype;
  return t->nfields > 0 || (t->element && t->kind != type_kind::byteswap && has_fields(t->element));
}

// ---- what explain and trace see -----------------------------------------------------------------------------------

std::string part_name(const array_block &block, const type_part &part) {
  return !part.type->ndim ? part.type->text : block.size()[part.dim] < 0 ? "var" : "strided";
}

/// Records the calls for every part down to the elements: values of the source, and what stands at the destination.
class call_recorder : public kernel_observer {
public:
  call_recorder(const array_block &dst, const array_block &src, const std::vector<assign_part> &parts,
                observation &seen)
      : dst_(dst), src_(src), parts_(parts), seen_(seen) {}

  void call(int level, intptr_t, char *const *stream) override {
    if (level > dst_.ndim) {
      return; // inside of an element
    }
    if (seen_.calls.size() == most_traced_calls) {
      seen_.more_calls++;
      return;
    }
    const type_part &dst = parts_[size_t(level)].dst, &src = parts_[size_t(level)].src;
    bool stands = path_ndim(src.type) < path_ndim(dst.type); // the source, in this dimension
    std::string from = !dst.type->ndim ? src.type->text : stands ? "scalar" : part_name(src_, src);
    std::string name = from + " to " + part_name(dst_, dst);
    std::string source = nd::values_text_at(src_, src, stream + dst_.nstreams);
    seen_.calls.push_back({level, name, {source}, nd::values_text_at(dst_, dst, stream)});
  }

private:
  const array_block &dst_, &src_;
  const std::vector<assign_part> &parts_;
  observation &seen_;
};

void explain(const ckernel_builder &kernel, const array_block &dst, const array_block &src,
             std::vector<assign_level> levels, observation &seen) {
  explained_kernel made{"assign",
                        {std::string("to   ") + dst.type->text + " " + space_text(dst),
                         std::string("from ") + src.type->text + " " + space_text(src)},
                        0,
                        kernel.scratch_size,
                        nd::count_elements(dst),
                        {}};
  for (assign_level &level : levels) {
    made.kernel_bytes = std::max(made.kernel_bytes, level.offset + level.size);
    made.levels.push_back({level.offset, level.size, std::move(level.text), level.depth});
  }
  seen.kernels.push_back(std::move(made));
}

void assign_now(array_block *dst, array_block *src, error_mode mode) {
  assign_call call(dst, src);
  ckernel_builder kernel;
  observation *watching = current_observation();
  bool tracing = watching && watching->tracing;
  std::vector<assign_part> parts;
  std::vector<assign_level> levels;
  call.build(kernel, dst, src, mode, tracing ? &parts : nullptr, watching ? &levels : nullptr);
  work_frame frame(kernel.scratch_size);
  std::optional<call_recorder> recorder;
  if (tracing) {
    frame.engine = &recorder.emplace(*dst, *src, parts, *watching);
  }
  if (int status = call.run(kernel, frame)) {
    fail_at_element(call, dst, src, mode, status, frame.text);
  }
  if (watching) { // now that rows have their lengths
    explain(kernel, *dst, *src, std::move(levels), *watching);
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

ref<array_block> unwatched_copy(array_block *block) {
  unwatched_scope unwatched;
  return convert_elements(block, block->type, access_mode::readwrite, error_mode::nocheck);
}

// A struct is assigned whole or not at all: first to an array like the destination, where nobody sees what was done
// before a refusal. Its rows have the same lengths, so that a value is refused only where it has a place to go to.
void try_elements(array_block *dst, array_block *src, error_mode mode) {
  ref<array_block> like = has_rows(dst->type, dst->type) ? unwatched_copy(dst) : new_empty(dst->type, dst->size());
  unwatched_scope unwatched;
  assign_now(like.get(), src, mode);
}

} // namespace

void assign_elements(array_block *dst, array_block *src, error_mode mode) {
  force(src);
  // What the types and sizes refuse is refused before anything is looked at, and row lengths before anything is
  // written.
  assign_call call(dst, src);
  ckernel_builder kernel;
  bool refuses = call.build(kernel, dst, src, mode);
  row_check(dst, src).run();
  if (refuses && has_fields(dst->type)) {
    try_elements(dst, src, mode);
  }
  if (may_share(*dst, *src)) {
    return assign_now(dst, unwatched_copy(src).get(), mode);
  }
  if (current_observation()) {
    return assign_now(dst, src, mode);
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

} // namespace dynd

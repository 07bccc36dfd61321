// The factory: walks the two types together and puts the levels one behind the other.
#include "dynd/kernel/assign.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynd/base/errors.h"
#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/chain.h"
#include "dynd/kernel/dims.h"
#include "dynd/kernel/level.h"
#include "dynd/plan/tile.h"

namespace dynd {

namespace {

bool has_pool(stream_role role) {
  return role == stream_role::rows || role == stream_role::texts || role == stream_role::index;
}

bool is_text(const type_data *type) { return type->kind == type_kind::string || type->kind == type_kind::bytes; }

// ---- the levels that only this file needs -------------------------------------------------------------------------

struct adapter_kernel {
  ckernel_prefix base;
  uint32_t child, unused;
};

int streams_single(char *const *stream, const ckernel_prefix *self, dynd_frame *frame) {
  return call_strided(child_of(reinterpret_cast<const adapter_kernel *>(self)), stream, no_stride, 1, frame);
}

int unary_strided(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                  const ckernel_prefix *self, dynd_frame *frame) {
  char *stream[2] = {dst, const_cast<char *>(src)};
  intptr_t stride[2] = {dst_stride, src_stride};
  return call_strided(child_of(reinterpret_cast<const adapter_kernel *>(self)), stream, stride, count, frame);
}

int unary_single(char *dst, const char *src, const ckernel_prefix *self, dynd_frame *frame) {
  return unary_strided(dst, 0, src, 0, 1, self, frame);
}

template <class Function> size_t begin_adapter(ckernel_builder &out, size_t offset, Function function) {
  auto *k = begin_level<adapter_kernel>(out, offset, sizeof(adapter_kernel), nullptr);
  k->base.function = reinterpret_cast<void *>(function);
  return offset + sizeof(adapter_kernel);
}

// ---- the walk over the types --------------------------------------------------------------------------------------

class assignment {
public:
  assignment(ckernel_builder &out, const element_assignment &what, bool planned)
      : out_(out), mode_(what.mode), dst_(what.dst), src_(what.src), first_pool_(what.first_pool),
        nstreams_(what.first_pool + pool_count(what.dst.type())), planned_(planned),
        skips_missing_(what.skips_missing) {}

  bool may_refuse = false;
  std::vector<explained_level> *levels = nullptr; ///< told of every level

  size_t build(size_t offset) { return any(offset, dst_, src_); }

private:
  size_t any(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    // Pointers before options: an option behind a pointer goes with an option of the other side.
    const type_data *to = dst.type(), *from = src.type();
    if (to->kind == type_kind::pointer || (from->kind == type_kind::pointer && goes_first(from, to))) {
      return pointed(offset, dst, src);
    }
    bool to_option = to->kind == type_kind::option && goes_first(to, from);
    if (to_option || (from->kind == type_kind::option && goes_first(from, to))) {
      return option(offset, dst, src);
    }
    if (to->ndim || from->ndim) {
      return dimensions(offset, dst, src);
    }
    return element(offset, dst, src);
  }

  // One pointer. The source's comes first, so that a null one is found before the destination gets memory.
  size_t pointed(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    bool to = dst.type()->kind == type_kind::pointer;
    if (src.type()->kind == type_kind::pointer) {
      may_refuse |= !to;
      offset = note(offset, begin_source_pointer(out_, offset, src, nstreams_, to ? dst.stream() : -1),
                    [&] { return "pointer of the source: " + pair_text(dst, src); });
      return any(offset, dst, src.element());
    }
    offset = note(offset, begin_pointer(out_, offset, dst, nstreams_, pool_of(dst)),
                  [&] { return "pointer of the destination: " + pair_text(dst, src); });
    return any(offset, dst.element(), src);
  }

  /// Tells `levels` of the level at `offset`, which ends (or whose child begins) at `end`; returns `end`.
  template <class Text> size_t note(size_t offset, size_t end, Text text) {
    if (levels) {
      levels->push_back({offset, end - offset, text(), depth_++});
    }
    return end;
  }

  static std::string pair_text(const kernel_operand &dst, const kernel_operand &src) {
    return std::string(src.type()->text) + " to " + dst.type()->text;
  }

  // ---- dimensions

  // Strided dimensions from here on, as one list: to be planned, or taken in their order.
  struct strided_run {
    int count = 0;
    intptr_t size[max_ndim];
    int dst_dim[max_ndim], src_dim[max_ndim]; // -1: the source has one element for all of them
  };

  static bool has_one_size(const kernel_operand &operand) {
    type_kind kind = operand.type()->kind;
    return kind == type_kind::fixed_dim || kind == type_kind::strided_dim;
  }

  size_t dimensions(size_t offset, kernel_operand dst, kernel_operand src) {
    const kernel_operand whole_dst = dst, whole_src = src;
    int missing = path_ndim(dst.type()) - path_ndim(src.type()); // dimensions that only the destination has
    if (missing < 0) {
      cannot_broadcast(whole_dst, whole_src);
    }
    strided_run run;
    while (has_one_size(dst)) {
      bool both = missing == 0;
      if (both && !has_one_size(src)) { // rows, or what goes before the dimension
        break;
      }
      intptr_t size = both ? src.size() : 1;
      if (size != dst.size() && (size != 1 || in_record_)) {
        cannot_broadcast(whole_dst, whole_src);
      }
      run.size[run.count] = dst.size();
      run.dst_dim[run.count] = dst.part.dim;
      run.src_dim[run.count++] = both && src.size() != 1 ? src.part.dim : -1;
      dst = dst.element();
      src = both ? src.element() : src;
      missing -= !both;
    }
    if (run.count) {
      bool scalars = dst.type()->kind == type_kind::scalar && src.type()->kind == type_kind::scalar;
      if (planned_ && nstreams_ <= max_streams) {
        return scalars ? planned_scalars(offset, run, dst, src) : planned_loops(offset, run, dst, src);
      }
      return loops_in_order(offset, run, dst, src);
    }
    bool both = missing == 0;
    offset =
        note(offset, begin_rows(out_, offset, {nstreams_, &dst, both ? &src : nullptr, pool_of(dst), in_record_}), [&] {
          auto size = [](const kernel_operand &o) {
            return o.size() < 0 ? "rows" : "size " + std::to_string(o.size());
          };
          return "rows: " + (both ? size(src) : "one value") + " to " + size(dst);
        });
    return any(offset, dst.element(), both ? src.element() : src);
  }

  /// Of every stream along the i-th dimension of the run; 0 of pools and scratch.
  void strides_of(const strided_run &run, int i, intptr_t *stride) {
    std::fill_n(stride, nstreams_, 0);
    for (int s = 0; s < dst_.type()->nstreams; s++) {
      stride[dst_.stream() + s] = dst_.stride(dst_.part.stream + s, run.dst_dim[i]);
    }
    for (int s = 0; s < src_.type()->nstreams && run.src_dim[i] >= 0; s++) {
      stride[src_.stream() + s] = src_.stride(src_.part.stream + s, run.src_dim[i]);
    }
  }

  size_t loops_in_order(size_t offset, const strided_run &run, const kernel_operand &dst, const kernel_operand &src) {
    intptr_t stride[max_call_streams];
    for (int i = 0; i < run.count; i++) {
      strides_of(run, i, stride);
      offset = note(offset, begin_strided_dim(out_, offset, nstreams_, run.size[i], stride),
                    [&] { return "strided_dim size " + std::to_string(run.size[i]); });
    }
    return any(offset, dst, src);
  }

  void plan(const strided_run &run, nest &loops, intptr_t *item) {
    start_nest(loops, {run.size, size_t(run.count)});
    intptr_t stride[max_ndim][max_streams], own[max_ndim];
    for (int i = 0; i < run.count; i++) {
      strides_of(run, i, stride[i]);
    }
    for (int s = 0; s < nstreams_; s++) {
      for (int i = 0; i < run.count; i++) {
        own[i] = stride[i][s];
      }
      add_stream(loops, {run.size, size_t(run.count)}, own);
      item[s] = 8;
    }
    note_items(dst_, item);
    note_items(src_, item);
    plan_loops(loops, item);
  }

  static void note_items(const kernel_operand &operand, intptr_t *item) {
    const type_data *t = operand.type();
    for (int s = 0; s < t->nstreams; s++) {
      slot_kind kind = slot_kind(operand.meta->kind[operand.part.stream + s]);
      item[operand.stream() + s] = intptr_t(stream_item(t, s, kind));
    }
  }

  size_t begin_loops(size_t offset, const nest &loops, int count) {
    if (std::any_of(loops.offset, loops.offset + nstreams_, [](intptr_t by) { return by != 0; })) {
      offset = begin_shift(out_, offset, nstreams_, loops.offset);
    }
    for (int i = 0; i < count; i++) {
      offset = note(offset, begin_strided_dim(out_, offset, nstreams_, loops.loops[i].size, loops.loops[i].stride),
                    [&] { return "strided_dim size " + std::to_string(loops.loops[i].size) + ", planned"; });
    }
    return offset;
  }

  size_t planned_loops(size_t offset, const strided_run &run, const kernel_operand &dst, const kernel_operand &src) {
    nest loops;
    intptr_t item[max_streams];
    plan(run, loops, item);
    return any(begin_loops(offset, loops, loops.loop_count), dst, src);
  }

  // Scalars at the bottom: where source and destination disagree about the fastest axis, the chain's panels.
  size_t planned_scalars(size_t offset, const strided_run &run, const kernel_operand &dst, const kernel_operand &src) {
    nest loops;
    intptr_t item[max_streams];
    plan(run, loops, item);
    walk how = loops.loop_count > 1 ? plan_walk(loops, item) : walk{walk_kind::flat, 0};
    if (how.kind == walk_kind::flat) {
      return element(begin_loops(offset, loops, loops.loop_count), dst, src);
    }
    program p;
    p.add_output(p.assigned(p.add_source(src.type()->scalar), dst.type()->scalar, mode_));
    may_refuse |= p.can_fail(p.steps[0]);
    chain_layout layout;
    layout.kind = how.kind == walk_kind::panel ? chain_kind::panel : chain_kind::small_rows;
    layout.axis_size = loops.innermost().size;
    for (int s : {dst.stream(), src.stream()}) {
      chain_port &port = layout.ports.push_back({});
      port.stream = uint16_t(s);
      port.axis_stride = loops.innermost().stride[s];
      port.fetched = how.kind == walk_kind::panel && s == src.stream() && (how.fetched >> s & 1);
    }
    return make_chain(out_, begin_loops(offset, loops, loops.loop_count - 1), p, layout);
  }

  // ---- elements

  size_t element(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    const type_data *to = dst.type(), *from = src.type();
    if (is_text(to) || is_text(from)) {
      return text(offset, dst, src);
    }
    if (to->kind == type_kind::byteswap || from->kind == type_kind::byteswap) {
      return swapped(offset, dst, src);
    }
    if (to->nfields && from->nfields) {
      return fields(offset, dst, src);
    }
    if (to->kind != type_kind::scalar || from->kind != type_kind::scalar) {
      cannot_assign(dst, src);
    }
    may_refuse |= isa().refuses(mode_, to->scalar, from->scalar);
    return note(offset, make_convert_leaf(out_, offset, dst.stream(), to->scalar, src.stream(), from->scalar, mode_),
                [&] { return "convert " + pair_text(dst, src); });
  }

  static const type_data *bottom_of(const type_data *type) {
    while (type->element) {
      type = type->element;
    }
    return type;
  }

  size_t option(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    option_spec spec{missing_rule::kept, nstreams_, -1, -1, {}};
    bool to = dst.type()->kind == type_kind::option, from = src.type()->kind == type_kind::option;
    if (to) {
      spec.dst = dst.stream();
    }
    if (from) {
      spec.src = src.stream();
      spec.rule = to || skips_missing_ ? missing_rule::kept : missing_rule::refused;
      may_refuse |= !to;
    }
    kernel_operand there = from ? src.element() : src;
    if (to && is_text(there.type()) && !is_text(bottom_of(dst.type()))) {
      spec.rule = missing_rule::read_from_text;
      spec.text = {there.stream(), there.slots()};
    }
    offset = note(offset, begin_option(out_, offset, spec), [&] { return "option: " + pair_text(dst, src); });
    return any(offset, to ? dst.element() : dst, there);
  }

  // The other order of bytes on one side or both: a chain that swaps them, with the conversion in between.
  size_t swapped(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    scalar_id to = dst.part.scalar(), from = src.part.scalar();
    if (to == not_scalar || from == not_scalar) {
      cannot_assign(dst, src);
    }
    bool to_swapped = dst.type()->kind == type_kind::byteswap, from_swapped = src.type()->kind == type_kind::byteswap;
    program p;
    uint8_t value = p.add_source(from);
    value = p.assigned(from_swapped ? p.swapped(value) : value, to, mode_);
    may_refuse |= p.can_fail(p.steps[p.nsteps - 1]);
    p.add_output(to_swapped ? p.swapped(value) : value);
    chain_layout layout;
    layout.ports.push_back({}).stream = uint16_t(dst.stream());
    layout.ports.push_back({}).stream = uint16_t(src.stream());
    return note(offset, make_chain(out_, offset, p, layout), [&] { return "swap bytes: " + pair_text(dst, src); });
  }

  size_t text(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    const type_data *to = dst.type(), *from = src.type();
    if (is_text(to) && is_text(from)) {
      bool checked = to->kind == type_kind::string && from->kind == type_kind::bytes;
      may_refuse |= checked;
      return note(
          offset,
          make_text_leaf(out_, offset, {dst.stream(), dst.slots()}, pool_of(dst), {src.stream(), src.slots()}, checked),
          [&] { return "text " + pair_text(dst, src); });
    }
    if (to->kind == type_kind::string && src.part.scalar() != not_scalar) {
      return note(offset, make_format_leaf(out_, offset, {dst.stream(), dst.slots()}, pool_of(dst), number_of(src)),
                  [&] { return "format " + pair_text(dst, src); });
    }
    if (dst.part.scalar() != not_scalar && from->kind == type_kind::string) {
      may_refuse |= mode_ != error_mode::nocheck;
      return note(offset, make_parse_leaf(out_, offset, number_of(dst), {src.stream(), src.slots()}, mode_),
                  [&] { return "parse " + pair_text(dst, src); });
    }
    cannot_assign(dst, src);
  }

  static number_operand number_of(const kernel_operand &operand) {
    return {operand.stream(), operand.part.scalar(), operand.type()->kind == type_kind::byteswap};
  }

  size_t fields(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    const type_data *to = dst.type(), *from = src.type();
    if (to->nfields != from->nfields) {
      cannot_assign(dst, src, ": " + std::to_string(from->nfields) + " field(s) for " + std::to_string(to->nfields));
    }
    size_t begin = offset;
    bool outside = std::exchange(in_record_, true);
    offset = note(offset, begin_fields(out_, offset, to->nfields, nstreams_),
                  [&] { return "fields: " + std::to_string(to->nfields) + " children"; });
    for (int i = 0; i < to->nfields; i++) {
      int other = partner_field(to, from, i); // a tuple on either side: by position
      if (other < 0) {
        cannot_assign(dst, src, ": there is no field " + field_name_text(to->fields[i].name));
      }
      set_field(out_, begin, i, offset, to->fields[i].name);
      int depth = depth_;
      offset = any(offset, dst.field(i), src.field(other));
      depth_ = depth;
    }
    in_record_ = outside;
    return offset;
  }

  // ---- what cannot be

  [[noreturn]] static void cannot_assign(const kernel_operand &dst, const kernel_operand &src,
                                         const std::string &why = "") {
    fail(error_kind::type,
         "cannot assign " + std::string(src.type()->text) + " to " + std::string(dst.type()->text) + why);
  }

  [[noreturn]] static void cannot_broadcast(const kernel_operand &dst, const kernel_operand &src) {
    fail(error_kind::broadcast, "cannot broadcast " + shape_text(src) + " to " + shape_text(dst));
  }

  static std::string shape_text(kernel_operand operand) {
    std::string text = std::string(operand.type()->text) + " (";
    int ndim = path_ndim(operand.type());
    for (int d = 0; d < ndim; operand = operand.element()) {
      if (operand.type()->ndim) {
        text += (d++ ? ", " : "") + (operand.size() < 0 ? "var" : std::to_string(operand.size()));
      }
    }
    return text + (ndim == 1 ? ",)" : ")");
  }

  // The stream of the pool that a part of the destination gets memory from.
  int pool_of(const kernel_operand &dst) const {
    const stream_role *roles = dst_.type()->roles;
    return first_pool_ + int(std::count_if(roles, roles + dst.part.stream - dst_.part.stream, has_pool));
  }

  ckernel_builder &out_;
  error_mode mode_;
  kernel_operand dst_, src_;
  int first_pool_, nstreams_, depth_ = 0;
  bool planned_, skips_missing_;
  bool in_record_ = false; // nothing broadcasts there: a record is one value
};

} // namespace

bool goes_first(const type_data *outer, const type_data *other) {
  return other->ndim == 0 || path_ndim(outer) >= path_ndim(other);
}

int pool_count(const type_data *dst) {
  // The memory that a pool gives is a stream besides that of the slots.
  return dst->nstreams == 1 ? 0 : int(std::count_if(dst->roles, dst->roles + dst->nstreams, has_pool));
}

namespace {

// Scalars need no layout; what has slots or dimensions does.
void need_meta(ndt::type type, const dynd_arrmeta *meta) {
  bool plain = type->all_ndim == 0 && pool_count(type.get()) == 0;
  if (!meta && !plain) {
    fail(error_kind::type, "assignment: " + std::string(type.str()) + " needs its arrmeta");
  }
  if (meta && (meta->version != DYND_ABI_VERSION || meta->size < sizeof(dynd_arrmeta))) {
    fail(error_kind::type, "assignment: the arrmeta has version " + std::to_string(meta->version) + " and " +
                               std::to_string(meta->size) + " bytes, this library's has version " +
                               std::to_string(DYND_ABI_VERSION) + " and " + std::to_string(sizeof(dynd_arrmeta)));
  }
  if (meta && (meta->ndim != type->all_ndim || meta->nstreams != type->nstreams)) {
    fail(error_kind::type, "assignment: the arrmeta is not that of " + std::string(type.str()));
  }
}

} // namespace

size_t make_assignment_kernel(ckernel_builder &out, size_t offset, ndt::type dst, const dynd_arrmeta *dst_meta,
                              ndt::type src, const dynd_arrmeta *src_meta, kernel_request_t request, error_mode mode) {
  if (unsigned(request) > kernel_request_strided_multistride) {
    fail(error_kind::value, "assignment: invalid kernel request " + std::to_string(int(request)));
  }
  if (size_t(mode) >= error_mode_count) {
    fail(error_kind::value, "assignment: invalid error mode " + std::to_string(int(mode)));
  }
  need_meta(dst, dst_meta);
  need_meta(src, src_meta);
  element_assignment what{
      {{dst.get()}, dst_meta, 0}, {{src.get()}, src_meta, dst->nstreams}, dst->nstreams + src->nstreams, mode};
  bool planned = request == kernel_request_single_multistride || request == kernel_request_strided_multistride;
  bool single = request == kernel_request_single || request == kernel_request_single_multistride;
  if (dst->nstreams == 1 && src->nstreams == 1 && pool_count(dst.get()) == 0) {
    offset = single ? begin_adapter(out, offset, unary_single) : begin_adapter(out, offset, unary_strided);
  } else if (single) {
    offset = begin_adapter(out, offset, streams_single);
  }
  return make_element_assignment(out, offset, what, planned);
}

size_t make_element_assignment(ckernel_builder &out, size_t offset, const element_assignment &what, bool planned,
                               std::vector<explained_level> *levels) {
  assignment made(out, what, planned);
  made.levels = levels;
  return made.build(offset);
}

bool may_refuse(const element_assignment &what) {
  ckernel_builder out;
  assignment made(out, what, false);
  made.build(0);
  return made.may_refuse;
}

} // namespace dynd

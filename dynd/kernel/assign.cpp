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
#include "dynd/plan/nest.h"

namespace dynd {

namespace {

/// The number of streams of a call that are pools of the destination.
int pool_count(const type_data *dst) {
  // The memory that a pool gives is a stream besides that of the slots.
  return dst->nstreams == 1 ? 0 : int(std::count_if(dst->roles, dst->roles + dst->nstreams, has_pool));
}

class assignment {
public:
  assignment(ckernel_builder &out, const element_assignment &what, bool planned, std::vector<explained_level> *levels)
      : out_(out), what_(what), nstreams_(what.first_pool + pool_count(what.dst.type())),
        planned_(planned && nstreams_ <= max_streams), levels_(levels), depth_(levels ? int(levels->size()) : 0) {}

  bool may_refuse = false;

  size_t build(size_t offset) { return any(offset, what_.dst, what_.src); }

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
    bool to = dst.type()->kind == type_kind::pointer, from = src.type()->kind == type_kind::pointer;
    may_refuse |= !to;
    pointer_spec spec{nstreams_, to ? pool_of(dst) : -1, from && to ? dst.stream() : -1};
    offset = note(offset, begin_pointer(out_, offset, from ? src : dst, spec), [&] {
      return std::string("pointer of the ") + (from ? "source: " : "destination: ") + pair_text(dst, src);
    });
    return any(offset, from ? dst : dst.element(), from ? src.element() : src);
  }

  /// Tells of the level at `offset`, which ends (or whose child begins) at `end`; returns `end`.
  template <class Text> size_t note(size_t offset, size_t end, Text text) {
    if (levels_) {
      levels_->push_back({offset, end - offset, text(), depth_++});
    }
    return end;
  }

  static std::string pair_text(const kernel_operand &dst, const kernel_operand &src) {
    return std::string(src.type()->text) + " to " + dst.type()->text;
  }

  // ---- dimensions

  static bool has_one_size(const kernel_operand &operand) { return operand.part.is_dim() && !operand.part.is_var(); }

  // All dimensions of one size from here on, or one with rows.
  size_t dimensions(size_t offset, kernel_operand dst, kernel_operand src) {
    const kernel_operand whole_dst = dst, whole_src = src;
    int missing = path_ndim(dst.type()) - path_ndim(src.type()); // dimensions that only the destination has
    if (missing < 0) {
      cannot_broadcast(whole_dst, whole_src);
    }
    if (!has_one_size(dst) || (missing == 0 && !has_one_size(src))) {
      return rows(offset, dst, src, missing == 0);
    }
    nest loops;
    loops.stream_count = nstreams_;
    while (has_one_size(dst) && (missing > 0 || has_one_size(src))) {
      bool both = missing == 0;
      intptr_t size = both ? src.size() : 1;
      if (size != dst.size() && (size != 1 || in_record_)) {
        cannot_broadcast(whole_dst, whole_src);
      }
      intptr_t stride[max_call_streams];
      std::fill_n(stride, nstreams_, 0);
      find_content_strides(dst, stride);
      if (both && src.size() != 1) {
        find_content_strides(src, stride);
      }
      if (planned_) {
        add_loop(loops, dst.size(), stride);
      } else {
        offset = strided_level(offset, dst.size(), stride);
      }
      dst = dst.element();
      src = both ? src.element() : src;
      missing -= !both;
    }
    drop_unit_axes(loops);
    order_axes(loops);
    coalesce_axes(loops);
    for (int i = 0; i < loops.loop_count; i++) {
      offset = strided_level(offset, loops.loops[i].size, loops.loops[i].stride);
    }
    return any(offset, dst, src);
  }

  size_t strided_level(size_t offset, intptr_t size, const intptr_t *stride) {
    return note(offset, begin_strided_dim(out_, offset, nstreams_, size, stride),
                [&] { return "strided_dim size " + std::to_string(size); });
  }

  size_t rows(size_t offset, const kernel_operand &dst, const kernel_operand &src, bool both) {
    var_slots slots[2] = {slots_of(dst), both ? slots_of(src) : var_slots{0, slot_kind::none, 1}};
    int16_t follows[max_call_streams];
    intptr_t stride[max_call_streams], unit[max_call_streams];
    std::fill_n(follows, nstreams_, -1);
    std::fill_n(stride, nstreams_, 0);
    std::fill_n(unit, nstreams_, 0);
    for (const kernel_operand *operand : {&dst, &src}) {
      if (operand == &dst || both) {
        find_content_strides(*operand, stride, unit);
        std::fill_n(follows + operand->stream(), operand->type()->nstreams, operand == &src);
      }
    }
    int pool = dst.part.is_var() ? pool_of(dst) : -1;
    size_t child = begin_var_dim(out_, offset, {nstreams_, 2, slots, follows, stride, unit, pool, in_record_});
    note(offset, child, [&] {
      auto text = [](const var_slots &of) {
        return of.kind == slot_kind::none ? "size " + std::to_string(of.size) : "rows";
      };
      return "rows: " + (both ? text(slots[1]) : "one value") + " to " + text(slots[0]);
    });
    return any(child, dst.element(), both ? src.element() : src);
  }

  // ---- elements

  size_t element(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    if (dst.part.is_text() || src.part.is_text()) {
      return text(offset, dst, src);
    }
    if (dst.type()->nfields && src.type()->nfields) {
      return fields(offset, dst, src);
    }
    return number(offset, dst, src);
  }

  size_t option(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    option_spec spec{nstreams_};
    bool to = dst.type()->kind == type_kind::option, from = src.type()->kind == type_kind::option;
    if (to) {
      spec.dst = dst.stream();
    }
    if (from) {
      spec.src[0] = src.stream();
      spec.refuses = !to && !what_.skips_missing;
      may_refuse |= !to;
    }
    kernel_operand there = from ? src.element() : src;
    type_part bottom = dst.part;
    while (bottom.type->element) {
      bottom = bottom.element();
    }
    if (to && there.part.is_text() && !bottom.is_text()) {
      spec.text = there.texts();
    }
    offset = note(offset, begin_option(out_, offset, spec), [&] { return "option: " + pair_text(dst, src); });
    return any(offset, to ? dst.element() : dst, there);
  }

  size_t number(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    scalar_id to = dst.part.scalar(), from = src.part.scalar();
    if (to == not_scalar || from == not_scalar) {
      cannot_assign(dst, src);
    }
    may_refuse |= isa().refuses(what_.mode, to, from);
    bool swaps = dst.type()->kind == type_kind::byteswap || src.type()->kind == type_kind::byteswap;
    size_t end = swaps ? make_swapping_chain(offset, dst, src) : make_convert_leaf(out_, offset, dst, src, what_.mode);
    return note(offset, end, [&] { return "convert " + pair_text(dst, src); });
  }

  // The other order of bytes on one side or both: a chain that swaps them, with the conversion in between.
  size_t make_swapping_chain(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    program p;
    uint8_t value = p.add_source(src.part.scalar());
    value = src.type()->kind == type_kind::byteswap ? p.swapped(value) : value;
    value = p.assigned(value, dst.part.scalar(), what_.mode);
    p.add_output(dst.type()->kind == type_kind::byteswap ? p.swapped(value) : value);
    chain_layout layout;
    layout.ports.push_back({}).stream = uint16_t(dst.stream());
    layout.ports.push_back({}).stream = uint16_t(src.stream());
    return make_chain(out_, offset, p, layout);
  }

  size_t text(size_t offset, const kernel_operand &dst, const kernel_operand &src) {
    const type_data *to = dst.type(), *from = src.type();
    bool copies = dst.part.is_text() && src.part.is_text();
    bool formats = is_string(to->kind) && src.part.scalar() != not_scalar;
    bool parses = is_string(from->kind) && dst.part.scalar() != not_scalar;
    if (!copies && !formats && !parses) {
      cannot_assign(dst, src);
    }
    bool checked = what_.mode != error_mode::nocheck;
    may_refuse |= copies ? checks_utf8(to, from) || (checked && !always_fits(to, from))
                         : checked && (parses || is_fixed_text(to->kind));
    return note(offset, make_text_leaf(out_, offset, dst, pool_of(dst), src, what_.mode), [&] {
      return (copies ? "text " : formats ? "format " : "parse ") + pair_text(dst, src);
    });
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
        text += (d++ ? ", " : "") + (operand.part.is_var() ? "var" : std::to_string(operand.size()));
      }
    }
    return text + (ndim == 1 ? ",)" : ")");
  }

  // The stream of the pool that a part of the destination gets memory from.
  int pool_of(const kernel_operand &dst) const {
    const stream_role *roles = what_.dst.type()->roles;
    return what_.first_pool + int(std::count_if(roles, roles + dst.part.stream - what_.dst.part.stream, has_pool));
  }

  ckernel_builder &out_;
  const element_assignment &what_;
  int nstreams_;
  bool planned_;
  std::vector<explained_level> *levels_; // told of every level
  int depth_;                            // of the next level
  bool in_record_ = false;               // nothing broadcasts there: a record is one value
};

} // namespace

bool goes_first(const type_data *outer, const type_data *other) {
  return other->ndim == 0 || path_ndim(outer) >= path_ndim(other);
}

size_t make_assignment_kernel(ckernel_builder &out, size_t offset, const element_assignment &what,
                              kernel_request_t request, std::vector<explained_level> *levels) {
  if (request != kernel_request_strided && request != kernel_request_strided_multistride) {
    fail(error_kind::value,
         "assignment: a kernel is made for strided calls, not for request " + std::to_string(request));
  }
  return assignment(out, what, request == kernel_request_strided_multistride, levels).build(offset);
}

bool may_refuse(const element_assignment &what) {
  ckernel_builder out;
  assignment made(out, what, false, nullptr);
  made.build(0);
  return made.may_refuse;
}

} // namespace dynd

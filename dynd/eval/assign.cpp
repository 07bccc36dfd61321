// Assignment: checks, then one task, whose leaf is a program where the elements are made of numbers, else a kernel over
// elements (kernel/assign.h).
#include <algorithm>
#include <forward_list>
#include <string>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/eval/assign_rows.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/run.h"
#include "dynd/kernel/assign.h"
#include "dynd/memory/pool.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

// How many dimensions of each side are the space's: those that are lined up, from the outside in, before an option or a
// pointer on either side is in the way.
//   2 * ?var * T from 2 * 3 * T: 1 and 1      3 * T from pointer[3 * T]: 0 and 0
struct split {
  int dst, src;
  split(const type_data *to, const type_data *from) {
    int inside = std::max(path_ndim(to) - to->ndim, path_ndim(from) - from->ndim);
    dst = std::max(0, path_ndim(to) - inside);
    src = std::max(0, path_ndim(from) - inside);
  }
};

// ---- a kernel over elements ---------------------------------------------------------------------------------------

// The streams behind those of both operands: the pools that the destination's elements get memory from.
void add_pools(task &t, array_block *dst) {
  for (int s = t.operands[0].var_count(); s < dst->nstreams; s++) {
    if (has_pool(dst->type->roles[s])) {
      t.ports.push_back({-1, 0, reinterpret_cast<char *>(as_pool(dst->streams()[s].owner))});
    }
  }
}

// Whether some value may be refused. What the types and sizes refuse is an error here.
bool check_types(const char *name, array_block *dst, array_block *src, error_mode mode) {
  arrmeta_of to(*dst), from(*src);
  element_assignment whole{
      {{dst->type}, to.get(), 0}, {{src->type}, from.get(), dst->nstreams}, dst->nstreams + src->nstreams, mode};
  try {
    return may_refuse(whole);
  } catch (const error &e) {
    fail(e.kind(), name + (": " + std::string(e.what())));
  }
}

void run_kernel(const char *name, array_block *dst, array_block *src, error_mode mode, const settings &how,
                bool skips_missing = false) {
  task t;
  t.name = name;
  t.how = how;
  t.assigns = true;
  t.divides = true;
  t.leaf = [=](ckernel_builder &out, size_t offset, const kernel_operand *operands, kernel_request_t request,
               std::vector<explained_level> *levels) {
    int first_pool = operands[1].stream() + operands[1].type()->nstreams;
    return make_assignment_kernel(out, offset, {operands[0], operands[1], first_pool, mode, skips_missing}, request,
                                  levels);
  };
  split at(dst->type, src->type);
  space_of({dst, at.dst}, t.shape);
  t.noutputs = 1;
  t.add_operand({dst, at.dst});
  t.add_operand({src, at.src});
  add_pools(t, dst);
  lower(t);
  run_task(t);
}

// ---- a program ----------------------------------------------------------------------------------------------------

constexpr int most_values = 30; // numbers of one element; more take a kernel over elements

// Whether both are numbers, in either order of bytes, that may be missing, or structs and tuples of these, with fields
// that have each other. `values` counts the numbers.
bool are_numbers(const type_data *dst, const type_data *src, int &values) {
  element_kind to, from;
  if (!dst->nfields || !src->nfields) {
    return find_element_kind(dst, to) && find_element_kind(src, from) && ++values <= most_values;
  }
  bool same = dst->nfields == src->nfields;
  for (int i = 0; i < dst->nfields && same; i++) {
    int other = partner_field(dst, src, i);
    same = other >= 0 && are_numbers(dst->fields[i].type, src->fields[other].type, values);
  }
  return same;
}

bool takes_program(const type_data *dst, const type_data *src) {
  int values = 0;
  return are_numbers(dst, src, values);
}

// The steps of a program that assigns elements made of numbers: one for each of them. It must live as long as the task.
class assignment_steps {
public:
  assignment_steps(fused_task &fused, array_block *dst, error_mode mode) : fused_(fused), dst_(dst), mode_(mode) {}

  void add(const type_part &to, array_block *src, const type_part &from, const std::string &path = "") {
    for (int i = 0; i < to.type->nfields; i++) {
      std::string deeper = path + (path.empty() ? "" : ", ") + index_of(to.type, i);
      add(to.field(i), src, from.field(partner_field(to.type, from.type, i)), deeper);
    }
    if (to.type->nfields == 0) {
      add_value(to, fused_.read(src, from), path);
    }
  }

  void add_value(const type_part &to, const value_registers &from, const std::string &path = "") {
    program &p = fused_.t.p;
    element_kind kind;
    find_element_kind(to.type, kind);
    const char *field = path.empty() ? nullptr : paths_.emplace_front(path).c_str();
    int stream = to.stream;
    if (kind.option) {
      uint8_t valid = p.assigned(fused_.valid_or_true(from), scalar_id::bool_, error_mode::nocheck);
      fused_.add_output(valid, dst_, stream++);
    } else if (from.valid != no_register) {
      p.require(from.valid, field);
    }
    uint8_t value = p.assigned(from.value, kind.scalar, mode_, from.valid, field);
    fused_.add_output(kind.swapped ? p.swapped(value) : value, dst_, stream);
  }

private:
  static std::string index_of(const type_data *type, int i) {
    if (!type->fields[i].name) {
      return std::to_string(i);
    }
    std::string name = field_name_text(type->fields[i].name);
    return name[0] == '"' ? name : '"' + name + '"';
  }

  fused_task &fused_;
  array_block *dst_;
  error_mode mode_;
  std::forward_list<std::string> paths_; // that steps point to; costs nothing where there is none
};

// Assigns the source to `dst`, whose memory is there. A lazy source is absorbed where no value can be refused; else it
// is materialized first, so that a message can name the value.
void run_program(const char *name, array_block *dst, array_block *src, error_mode mode, const settings &how) {
  fused_task fused(name, how);
  assignment_steps steps(fused, dst, mode);
  type_part to = element_part(*dst);
  fused.t.assigns = true;
  space_of(dst, fused.t.shape);
  if (src->lazy && src->lazy->of_elements) {
    materialize(src);
  }
  if (!src->is_ready()) {
    element_kind into, from;
    find_element_kind(dst->type->dtype, into);
    find_element_kind(src->type->dtype, from);
    if (isa().refuses(mode, into.scalar, from.scalar) || (from.option && !into.option)) {
      materialize(src);
    }
    fused.claim({src}, 0, *dst, 1);
    fused.add_claimed();
    steps.add_value(to, fused.registers_of(src));
    fused.add_claimed_outputs();
  } else {
    steps.add(to, src, element_part(*src));
  }
  fused.lower_operands();
  fused.run();
  fused.finish();
}

bool has_fields(const type_data *type) {
  const type_data *t = type->dtype;
  return t->nfields > 0 || (t->element && t->kind != type_kind::byteswap && has_fields(t->element));
}

// A new array of `type` that takes the values of `src`; its rows have no memory yet.
ref<array_block> new_for(const type_data *type, const array_block &src) {
  intptr_t size[max_type_streams];
  sizes_like(type, src, size);
  return new_empty(type, size);
}

ref<array_block> convert(const char *name, array_block *src, const type_data *type, access_mode access, error_mode mode,
                         const settings &how);

// A struct is assigned whole or not at all: first to an array like the destination, so that the destination does not
// change before a refusal. The rows of that array have the same lengths, so only values that have a place are tried.
void try_elements(const char *name, array_block *dst, array_block *src, error_mode mode) {
  ref<array_block> like = has_rows_to_check(dst->type, dst->type)
                              ? convert("copy", dst, dst->type, access_mode::readwrite, error_mode::nocheck, unwatched)
                              : new_empty(dst->type, dst->size());
  run_kernel(name, like.get(), src, mode, unwatched);
}

// The source with memory of its own where it may share the destination's.
ref<array_block> apart_from(array_block *dst, array_block *src) {
  if (!may_write_to(*dst, *src)) {
    return ref<array_block>::share(src);
  }
  return convert("copy", src, src->type, access_mode::readwrite, error_mode::nocheck, unwatched);
}

// An assignment without the direct step. A fresh destination has memory of its own.
void assign_now(const char *name, array_block *dst, array_block *src, error_mode mode, const settings &how,
                bool fresh = false) {
  materialize(src);
  bool program = takes_program(dst->type->dtype, src->type->dtype);
  bool refuses = false;
  if (program) {
    check_sizes(name, dst, src);
  } else {
    refuses = check_types(name, dst, src, mode); // and sizes, through options and pointers
  }
  check_rows(name, dst, src);
  ref<array_block> source = fresh ? ref<array_block>::share(src) : apart_from(dst, src);
  given_rows rows;
  rows.give(name, dst, source.get());
  if (program) {
    run_program(name, dst, source.get(), mode, how);
  } else {
    if (refuses && has_fields(dst->type)) {
      try_elements(name, dst, source.get(), mode);
    }
    run_kernel(name, dst, source.get(), mode, how);
  }
  rows.keep();
}

// A new array of that whole type with the source's values.
ref<array_block> convert(const char *name, array_block *src, const type_data *type, access_mode access, error_mode mode,
                         const settings &how) {
  if (type == src->type && !how.watching) {
    return ref<array_block>::share(gather_whole(nd::array(ref<array_block>::share(src)), access).get());
  }
  materialize(src);
  ref<array_block> result = new_for(type, *src);
  assign_now(name, result.get(), src, mode, how, true);
  if (access == access_mode::immutable) {
    settle(*result);
    note_density(*result);
  }
  return result;
}

// The fill, with nothing missing in it: that is refused.
ref<array_block> without_missing(const char *name, array_block *fill) {
  const type_data *dtype = fill->type->dtype;
  bool option = false;
  while (dtype->kind == type_kind::option || dtype->kind == type_kind::pointer) {
    option |= dtype->kind == type_kind::option;
    dtype = dtype->element;
  }
  if (!option) {
    return ref<array_block>::share(fill);
  }
  ndt::type type = ndt::with_dtype(ndt::type(fill->type), ndt::type(dtype));
  return convert(name, fill, type.get(), access_mode::immutable, error_mode::nocheck, unwatched);
}

// The fill for every element of the source that is missing, an array like the source; the others are missing in it.
ref<array_block> fill_for_missing(const char *name, array_block *source, array_block *fill) {
  ref<array_block> filler = new_for(source->type, *source);
  given_rows rows;
  rows.give(name, filler.get(), source);
  assign_now(name, filler.get(), without_missing(name, fill).get(), error_mode::fractional, unwatched, true);
  rows.keep();
  fused_task fused(name, unwatched);
  space_of(filler.get(), fused.t.shape);
  int valid = source->type->var_count;
  uint8_t missing =
      fused.t.p.add_operation(logic::inverted, scalar_id::bool_, {fused.source(source, valid, scalar_id::bool_)});
  fused.add_output(missing, filler.get(), valid);
  fused.lower_operands();
  fused.run();
  return filler;
}

// Converted to an element type; a program where the elements are made of numbers.
ref<array_block> copy_as(const char *name, array_block *source, access_mode access, ndt::type dtype, error_mode mode,
                         const settings &how) {
  if (ref<array_block> result = try_direct_copy(source, access, dtype, mode, how)) {
    return result;
  }
  if (!takes_program(dtype.get(), source->type->dtype)) {
    ndt::type type = ndt::with_dtype(ndt::type(source->type), dtype);
    return convert(name, source, type.get(), access, mode, how);
  }
  space shape;
  broadcast_space(name, {source}, shape);
  ref<array_block> result = new_result(shape, dtype, is_tracing(how));
  result->access = access;
  if (access != access_mode::immutable) {
    result->flags &= uint8_t(~flag_ours);
  }
  run_program(name, result.get(), source, mode, how);
  return result;
}

} // namespace

// An element comes from the source or from the fill, whole: the rows inside of it may have other lengths there.
ref<array_block> fill_elements(const char *name, array_block *source, array_block *fill, const settings &how) {
  materialize(source);
  materialize(fill);
  ref<array_block> filler = fill_for_missing(name, source, fill);
  ndt::type type = ndt::with_dtype(ndt::type(source->type), ndt::type(source->type->dtype->element));
  ref<array_block> result = new_for(type.get(), *source);
  given_rows rows;
  for (array_block *from : {filler.get(), source}) {
    rows.give(name, result.get(), from);
    run_kernel(name, result.get(), from, error_mode::nocheck, how, true);
  }
  rows.keep();
  settle(*result);
  return result;
}

void check_writable(const array_block &dst) {
  if (dst.access != access_mode::readwrite) {
    fail(error_kind::type, std::string("assign: the destination is ") +
                               (dst.access == access_mode::immutable ? "immutable" : "readonly") +
                               "; make it with access='rw'");
  }
}

void assign(array_block *dst, array_block *src, error_mode mode) { assign(dst, src, thread_settings(), mode); }

void assign(array_block *dst, array_block *src, const settings &how, error_mode mode) {
  check_writable(*dst);
  if (!try_direct_assign(dst, src, mode, how)) {
    assign_now("assign", dst, src, mode, how);
  }
}

ref<array_block> convert_values(array_block *source, access_mode access, ndt::type type, error_mode mode) {
  check_data_type(type.get(), "astype");
  const settings &how = thread_settings();
  if (ndt::with_dtype(ndt::type(source->type), type.dtype()) == type) {
    return copy_as("astype", source, access, type.dtype(), mode, how);
  }
  return convert("astype", source, type.get(), access, mode, how);
}

ref<array_block> copy_values(array_block *source, access_mode access, ndt::type dtype, error_mode mode) {
  check_data_type(dtype.get(), "copy");
  return copy_as("copy", source, access, dtype, mode, unwatched);
}

} // namespace dynd

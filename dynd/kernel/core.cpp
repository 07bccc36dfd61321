#include "dynd/kernel/core.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/kernel/level.h"

namespace dynd {

namespace {

constexpr size_t row_batch = 256; // outer elements whose slots are read at once

struct core_level {
  ckernel_prefix base; // destroys the child and lets go of the deferred kernel
  const deferred_ckernel *deferred;
  core_operation_t call;
  size_t scratch; // tables of row_batch addresses for each ragged operand, then of sizes
  uint8_t noperands, nsizes, nmade;
  bool ragged;
  core_stream operand[max_core_operands];
  int8_t size_from[max_core_sizes]; // the operand whose rows say it, or -1: it is the same for all
  intptr_t size[max_core_sizes];
  int16_t made[max_core_operands]; // streams
  int8_t made_size[max_core_operands];

  const ckernel_prefix *child() const { return &(this + 1)->base; }
};
static_assert(sizeof(core_level) % 8 == 0);

void destroy_core_level(ckernel_prefix *self) {
  auto *f = reinterpret_cast<core_level *>(self);
  destroy_child(&(f + 1)->base);
  if (f->deferred && f->deferred->release) {
    f->deferred->release(f->deferred);
  }
}

// What one call of the kernel gets; `table` has room for the rows and sizes of a batch.
struct core_arguments {
  char *data[max_core_operands];
  intptr_t stride[max_core_operands];
  const int64_t *row[max_core_operands];
  const int64_t *dim[max_core_sizes];
  intptr_t dim_step[max_core_sizes];
  int64_t *made[max_core_operands];
};

// Offsets that follow each other, over content that does not move: what vectorises.
template <class Offset> void read_offsets(const Offset *offset, intptr_t unit, size_t n, int64_t *row, int64_t *size) {
  for (size_t i = 0; i < n; i++) {
    row[i] = int64_t(offset[i]) * unit;
  }
  for (size_t i = 0; size && i < n; i++) {
    size[i] = int64_t(offset[i + 1]) - int64_t(offset[i]);
  }
}

// The rows of operand o of n outer elements from `begin` on: where they are, and, if they say a size, how long.
void read_rows(const core_stream &o, char *const *stream, const intptr_t *stride, size_t begin, size_t n, int64_t *row,
               int64_t *size) {
  const char *slot = stream[o.slots] + intptr_t(begin) * stride[o.slots];
  intptr_t unit = o.unit / o.step, from = intptr_t(begin) * stride[o.stream];
  if (stride[o.stream] == 0 && stride[o.slots] == slot_size(o.kind) && o.kind != slot_kind::pairs64) {
    return o.kind == slot_kind::offsets64 ? read_offsets(reinterpret_cast<const int64_t *>(slot), unit, n, row, size)
                                          : read_offsets(reinterpret_cast<const int32_t *>(slot), unit, n, row, size);
  }
  for (size_t i = 0; i < n; i++, slot += stride[o.slots], from += stride[o.stream]) {
    row_extent extent = read_slot(slot, o.kind);
    row[i] = from + (extent.size ? extent.start * unit : 0);
    if (size) {
      size[i] = extent.size;
    }
  }
}

// Of a kernel that makes rows: it must have said how many elements, and not more than there is room for.
int check_made(const core_level *f, const core_arguments &at, size_t n, dynd_frame *frame) {
  for (int m = 0; m < f->nmade; m++) {
    int s = f->made_size[m];
    for (size_t i = 0; i < n; i++) {
      int64_t room = at.dim[s][intptr_t(i) * at.dim_step[s]];
      if (at.made[m][i] < 0 || at.made[m][i] > room) {
        fail_element(frame, i);
        return report(frame, dynd_error_internal, "the kernel made %lld elements, where it had announced at most %lld",
                      (long long)at.made[m][i], (long long)room);
      }
    }
  }
  return dynd_ok;
}

int core_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame) {
  auto *f = reinterpret_cast<const core_level *>(self);
  core_arguments at;
  int64_t *table = reinterpret_cast<int64_t *>(frame->scratch + f->scratch);
  size_t failed;
  dynd_core_call call = {
      sizeof(dynd_core_call), DYND_ABI_VERSION, 0, at.data, at.stride, at.row, at.dim, at.dim_step, at.made, &failed};
  size_t most = f->ragged || f->nmade ? row_batch : count;
  for (size_t begin = 0; begin < count; begin += most) {
    size_t n = std::min(most, count - begin);
    for (int s = 0; s < f->nsizes; s++) {
      at.dim[s] = f->size_from[s] < 0 ? reinterpret_cast<const int64_t *>(&f->size[s])
                                      : table + size_t(f->noperands + s) * row_batch;
      at.dim_step[s] = f->size_from[s] < 0 ? 0 : 1;
    }
    for (int o = 0; o < f->noperands; o++) {
      const core_stream &own = f->operand[o];
      at.stride[o] = stride[own.stream];
      at.row[o] = nullptr;
      at.data[o] = stream[own.stream];
      if (own.slots < 0) {
        at.data[o] += intptr_t(begin) * stride[own.stream];
        continue;
      }
      int64_t *sizes = nullptr;
      for (int s = 0; s < f->nsizes; s++) {
        sizes = f->size_from[s] == o ? table + size_t(f->noperands + s) * row_batch : sizes;
      }
      read_rows(own, stream, stride, begin, n, table + size_t(o) * row_batch, sizes);
      at.row[o] = table + size_t(o) * row_batch;
    }
    int64_t *made_table = table + size_t(f->noperands + f->nsizes) * row_batch;
    for (int m = 0; m < f->nmade; m++) {
      at.made[m] = made_table + size_t(m) * row_batch;
      std::fill_n(at.made[m], n, int64_t(-1));
    }
    call.count = n;
    failed = n;
    int status = f->call(&call, f->child(), frame);
    if (status && failed < n) {
      fail_element(frame, failed);
    }
    status = status ? status : check_made(f, at, n, frame);
    if (status) {
      add_to_failed_index(frame, begin);
      return status;
    }
    for (int m = 0; m < f->nmade; m++) {
      char *to = stream[f->made[m]] + intptr_t(begin) * stride[f->made[m]];
      for (size_t i = 0; i < n; i++) {
        std::memcpy(to + intptr_t(i) * stride[f->made[m]], &at.made[m][i], sizeof(int64_t));
      }
    }
  }
  return dynd_ok;
}

// ---- kernels without core dimensions, on elements that are no scalars --------------------------------------------

int call_unary(const dynd_core_call *call, const ckernel_prefix *kernel, dynd_frame *frame) {
  return kernel->get_function<unary_strided_operation_t>()(call->data[0], call->stride[0], call->data[1],
                                                           call->stride[1], call->count, kernel, frame);
}

int call_expr(const dynd_core_call *call, const ckernel_prefix *kernel, dynd_frame *frame) {
  return kernel->get_function<expr_strided_operation_t>()(call->data[0], call->stride[0], call->data + 1,
                                                          call->stride + 1, call->count, kernel, frame);
}

int call_multi(const dynd_core_call *call, const ckernel_prefix *kernel, dynd_frame *frame) {
  return kernel->get_function<multi_strided_operation_t>()(call->data, call->stride, call->count, kernel, frame);
}

core_operation_t call_of(const deferred_ckernel &kernel, const ckernel_prefix *made) {
  switch (kernel.prototype) {
  case unary_operation_funcproto_id:
    return call_unary;
  case expr_operation_funcproto_id:
    return call_expr;
  case multi_operation_funcproto_id:
    return call_multi;
  default:
    return made->get_function<core_operation_t>();
  }
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

struct measure_level {
  ckernel_prefix base;
  uint8_t noperands, nsizes;
  core_stream operand[max_core_operands];
  int8_t size_of[max_core_operands]; // of its first core dimension, where that is ragged
  int8_t number[max_core_operands];  // as the caller counts the operands
  intptr_t wanted[max_core_sizes];
  int16_t written[max_core_sizes];
  char name[max_core_sizes][16];
};

int measure_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  auto *f = reinterpret_cast<const measure_level *>(self);
  for (size_t i = 0; i < count; i++) {
    int64_t size[max_core_sizes];
    int from[max_core_sizes];
    for (int s = 0; s < f->nsizes; s++) {
      size[s] = f->wanted[s];
      from[s] = -1;
    }
    for (int o = 0; o < f->noperands; o++) {
      const core_stream &own = f->operand[o];
      if (own.slots < 0) {
        continue;
      }
      int s = f->size_of[o];
      int64_t length = read_slot(stream[own.slots] + intptr_t(i) * stride[own.slots], own.kind).size;
      if (size[s] >= 0 && size[s] != length) {
        fail_element(frame, i);
        return from[s] < 0
                   ? report(frame, dynd_error_broadcast, "operand %d has a row of %lld where %s is %lld", f->number[o],
                            (long long)length, f->name[s], (long long)size[s])
                   : report(frame, dynd_error_broadcast, "%s is %lld in operand %d and %lld in operand %d", f->name[s],
                            (long long)size[s], f->number[from[s]], (long long)length, f->number[o]);
      }
      size[s] = length;
      from[s] = o;
    }
    for (int s = 0; s < f->nsizes; s++) {
      if (f->written[s] >= 0) {
        std::memcpy(stream[f->written[s]] + intptr_t(i) * stride[f->written[s]], &size[s], sizeof(int64_t));
      }
    }
  }
  return dynd_ok;
}

// Which operand's rows say a size; -1 where it is the same for all.
int first_with_rows(const core_function &f, const core_stream *streams, int size) {
  for (size_t o = 0; o < f.operands.size(); o++) {
    if (streams[o].slots >= 0 && f.operands[o].sizes[0] == size) {
      return int(o);
    }
  }
  return -1;
}

} // namespace

core_function::~core_function() {
  const core_direct *made = direct.load(std::memory_order_acquire);
  with_interpreter locked(made && has(dynd_callable_python_lock));
  delete made;
}

size_t make_core(ckernel_builder &out, size_t offset, const core_function &f, const core_stream *streams,
                 const dynd_arrmeta *const *arrmeta, const intptr_t *size, const std::vector<int> &made) {
  size_t begin = offset + sizeof(core_level), noperands = f.operands.size();
  out.ensure_capacity(begin);
  size_t tables = noperands + f.sizes.size() + made.size();
  size_t scratch = ckernel_builder_reserve_scratch(&out, tables * row_batch * sizeof(int64_t));
  auto *level = out.get_at<core_level>(offset);
  level->base.function = reinterpret_cast<void *>(core_strided);
  level->scratch = scratch;
  level->noperands = uint8_t(noperands);
  level->nsizes = uint8_t(f.sizes.size());
  level->nmade = uint8_t(made.size());
  const char *names[max_core_operands];
  std::string text[max_core_operands];
  for (size_t o = 0; o < noperands; o++) {
    level->operand[o] = streams[o];
    level->ragged |= streams[o].slots >= 0;
    text[o] = f.operands[o].dtype.str();
    for (size_t d = f.operands[o].sizes.size(); d-- > 0;) {
      text[o] = std::string(d == 0 && streams[o].slots >= 0 ? "var * " : "strided * ") + text[o];
    }
    names[o] = text[o].c_str();
  }
  int next = 0;
  for (size_t s = 0; s < f.sizes.size(); s++) {
    level->size_from[s] = int8_t(size[s] >= 0 ? -1 : first_with_rows(f, streams, int(s)));
    level->size[s] = size[s];
    if (f.sizes[s].made) {
      level->made_size[next] = int8_t(s);
      level->made[next] = int16_t(made[size_t(next)]);
      next++;
    }
  }
  level->base.destructor = destroy_core_level;
  if (f.kernel->retain) {
    f.kernel->retain(f.kernel);
  }
  level->deferred = f.kernel;
  external_bind bind(*f.kernel, names, arrmeta, int(noperands), f.keywords.get());
  size_t end = bind.instantiate(out, begin);
  level = out.get_at<core_level>(offset);
  level->call = call_of(*f.kernel, out.get_at<ckernel_prefix>(begin));
  return end;
}

size_t make_core_measure(ckernel_builder &out, size_t offset, const core_function &f, const core_stream *streams,
                         const intptr_t *wanted, const int *written) {
  auto *level = make_leaf<measure_level>(out, offset, measure_strided, (sizeof(measure_level) + 7) / 8 * 8);
  level->noperands = uint8_t(f.operands.size());
  level->nsizes = uint8_t(f.sizes.size());
  for (size_t o = 0; o < f.operands.size(); o++) {
    level->operand[o] = streams[o];
    level->number[o] = int8_t(f.operands[o].parameter);
    level->size_of[o] = streams[o].slots >= 0 ? f.operands[o].sizes[0] : int8_t(-1);
  }
  for (size_t s = 0; s < f.sizes.size(); s++) {
    level->wanted[s] = wanted[s];
    level->written[s] = int16_t(written[s]);
    std::string name = f.sizes[s].name.substr(0, sizeof(level->name[s]) - 1);
    std::memcpy(level->name[s], name.c_str(), name.size() + 1);
  }
  return offset + (sizeof(measure_level) + 7) / 8 * 8;
}

} // namespace dynd

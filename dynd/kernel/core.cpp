#include "dynd/kernel/core.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/kernel/core_blocks.h"
#include "dynd/kernel/level.h"

namespace dynd {

namespace {

constexpr int same_for_all = -1, is_made = -2; // where a size comes from
constexpr int64_t not_said = -1;               // a kernel has not said yet how many elements it has made

/// What a level has on the heap, where it has any of it.
struct level_extras : core_extras {
  level_extras(core_extras own, const core_function &f)
      : core_extras(std::move(own)), bind(*f.kernel, nullptr, nullptr, 0, f.keywords.get()) {}
  external_bind bind; // what output_bound gets: keywords
};

struct core_level {
  ckernel_prefix base; // destroys the child and lets go of the deferred kernel
  const deferred_ckernel *deferred;
  const level_extras *extras; // owned; null where all operands are used as they are
  core_operation_t call;
  size_t scratch; // tables of core_batch numbers for each operand and size, then two for each that is made
  size_t packed;  // scratch for blocks that are brought into it
  uint8_t noperands, nsizes;
  bool batched;
  core_stream operand[max_core_operands];
  int8_t size_from[max_core_sizes]; // the operand whose rows say it, same_for_all, or is_made
  intptr_t size[max_core_sizes];
  int8_t made_size[max_core_operands]; // of each of extras->made

  const ckernel_prefix *child() const { return &(this + 1)->base; }
};
static_assert(sizeof(core_level) % 8 == 0);

void destroy_core_level(ckernel_prefix *self) {
  auto *f = reinterpret_cast<core_level *>(self);
  destroy_child(&(f + 1)->base);
  if (f->deferred && f->deferred->release) {
    f->deferred->release(f->deferred);
  }
  delete f->extras;
}

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

/// One call of the level: the kernel is called for a batch of outer elements after another.
class core_batches {
public:
  core_batches(const core_level *f, char *const *stream, const intptr_t *stride, dynd_frame *frame)
      : f_(f), stream_(stream), stride_(stride), frame_(frame),
        table_(reinterpret_cast<int64_t *>(frame->scratch + f->scratch)) {}

  int run(size_t count) {
    std::optional<packed_blocks> packed;
    if (f_->extras && !f_->extras->packed.empty()) {
      packed.emplace(f_->extras->packed, stream_, stride_, frame_->scratch + f_->packed);
    }
    size_t n, most = f_->batched ? core_batch : count;
    for (size_t begin = 0; begin < count; begin += n) {
      n = std::min(most, count - begin);
      place(begin, n);
      if (packed && (n = packed->take(at_, begin, n, table_)) == 0) {
        return report(frame_, dynd_error_memory, "no memory for a core block");
      }
      int status = f_->extras ? give_rows(n) : int(dynd_ok);
      status = status ? status : call(n);
      status = status || !f_->extras ? status : check_rows(n);
      if (status) {
        add_to_failed_index(frame_, begin);
        return status;
      }
      if (packed) {
        packed->give_back(at_);
      }
      if (f_->extras) {
        keep_rows(begin, n);
      }
    }
    return dynd_ok;
  }

private:
  int64_t *rows_table(int operand) const { return table_ + size_t(operand) * core_batch; }
  int64_t *size_table(int size) const { return table_ + size_t(f_->noperands + size) * core_batch; }
  int64_t *made_table(size_t m) const { return table_ + (size_t(f_->noperands + f_->nsizes) + 2 * m) * core_batch; }
  int64_t *place_table(size_t m) const { return made_table(m) + core_batch; }

  void place(size_t begin, size_t n) {
    for (int s = 0; s < f_->nsizes; s++) {
      bool same = f_->size_from[s] == same_for_all;
      at_.dim[s] = same ? reinterpret_cast<const int64_t *>(&f_->size[s]) : size_table(s);
      at_.dim_step[s] = same ? 0 : 1;
    }
    for (int o = 0; o < f_->noperands; o++) {
      const core_stream &own = f_->operand[o];
      at_.row[o] = nullptr;
      at_.stride[o] = own.stream < 0 ? 0 : stride_[own.stream];
      at_.data[o] = own.stream < 0 ? nullptr : stream_[own.stream];
      if (own.slots < 0) {
        at_.data[o] += intptr_t(begin) * at_.stride[o];
        continue;
      }
      int64_t *sizes = nullptr;
      for (int s = 0; s < f_->nsizes; s++) {
        sizes = f_->size_from[s] == o ? size_table(s) : sizes;
      }
      read_rows(own, stream_, stride_, begin, n, rows_table(o), sizes);
      at_.row[o] = rows_table(o);
    }
  }

  int call(size_t n) {
    size_t failed = n;
    dynd_core_call call = {sizeof(dynd_core_call), DYND_ABI_VERSION, n,       at_.data, at_.stride, at_.row, at_.dim,
                           at_.dim_step,           at_.made,         &failed, make_row, this};
    int status = f_->call(&call, f_->child(), frame_);
    if (status && failed < n) {
      fail_element(frame_, failed);
    }
    return status;
  }

  // ---- rows that the kernel makes ---------------------------------------------------------------------------------

  // Their memory, where the kernel has said how much it needs; else it asks for it.
  int give_rows(size_t n) {
    for (size_t m = 0; m < f_->extras->made.size(); m++) {
      at_.made[m] = made_table(m);
      std::fill_n(at_.made[m], n, not_said);
      std::fill_n(place_table(m), n, int64_t(0));
      std::fill_n(size_table(f_->made_size[m]), n, int64_t(0));
      int status = f_->deferred->output_bound ? give_rows(m, n) : int(dynd_ok);
      if (status) {
        return status;
      }
    }
    return dynd_ok;
  }

  int give_rows(size_t m, size_t n) {
    const core_made &own = f_->extras->made[m];
    int64_t *rows = rows_table(own.operand), total = 0;
    for (size_t i = 0; i < n; i++) {
      int64_t sizes[max_core_sizes], bytes;
      for (int s = 0; s < f_->nsizes; s++) {
        sizes[s] = f_->size_from[s] == is_made ? -1 : at_.size(s, i);
      }
      int64_t most = f_->deferred->output_bound(f_->deferred, &f_->extras->bind.get(), sizes, own.operand);
      if (most < 0) {
        fail_element(frame_, i);
        return report(frame_, int(kind_of(most)), "output_bound failed");
      }
      rows[i] = total;
      size_table(f_->made_size[m])[i] = most;
      if (__builtin_mul_overflow(most, own.each, &bytes) || __builtin_add_overflow(total, bytes, &total)) {
        return report(frame_, dynd_error_memory, "the result is too large");
      }
    }
    at_.data[own.operand] = take_memory(size_t(total));
    if (!at_.data[own.operand]) {
      return report(frame_, dynd_error_memory, "no memory for the result");
    }
    at_.row[own.operand] = rows;
    for (size_t i = 0; i < n; i++) {
      place_table(m)[i] = int64_t(reinterpret_cast<intptr_t>(at_.data[own.operand]) + rows[i]);
    }
    return dynd_ok;
  }

  char *take_memory(size_t bytes) noexcept {
    try {
      return f_->extras->memory->take(bytes);
    } catch (...) {
      return nullptr;
    }
  }

  static char *make_row(const dynd_core_call *call, int destination, size_t i, int64_t count) {
    auto *self = static_cast<core_batches *>(call->engine);
    const level_extras *extras = self->f_->extras;
    for (size_t m = 0; extras && m < extras->made.size(); m++) {
      const core_made &own = extras->made[m];
      int64_t bytes;
      if (own.operand != destination || self->f_->deferred->output_bound || i >= call->count || count < 0 ||
          __builtin_mul_overflow(count, own.each, &bytes)) {
        continue;
      }
      char *memory = self->take_memory(size_t(bytes));
      self->place_table(m)[i] = int64_t(reinterpret_cast<intptr_t>(memory));
      self->at_.made[m][i] = self->size_table(self->f_->made_size[m])[i] = memory ? count : 0;
      return memory;
    }
    return nullptr;
  }

  // The kernel must have said how many elements it has made, and not more than there is room for.
  int check_rows(size_t n) {
    for (size_t m = 0; m < f_->extras->made.size(); m++) {
      for (size_t i = 0; i < n; i++) {
        int64_t room = at_.size(f_->made_size[m], i), made = at_.made[m][i];
        if (made == not_said) {
          return report(frame_, dynd_error_internal, "the kernel has not said how many elements it made%s",
                        f_->deferred->output_bound ? "" : ": it calls dynd_core_make for every outer element");
        }
        if (made < 0 || made > room) {
          return report(frame_, dynd_error_internal,
                        "the kernel made %lld elements, where it had announced at most %lld", (long long)made,
                        (long long)room);
        }
      }
    }
    return dynd_ok;
  }

  void keep_rows(size_t begin, size_t n) const {
    for (size_t m = 0; m < f_->extras->made.size(); m++) {
      const core_made &own = f_->extras->made[m];
      auto keep = [&](int stream, const int64_t *numbers) {
        char *to = stream_[stream] + intptr_t(begin) * stride_[stream];
        for (size_t i = 0; i < n; i++) {
          std::memcpy(to + intptr_t(i) * stride_[stream], &numbers[i], sizeof(int64_t));
        }
      };
      keep(own.counts, at_.made[m]);
      keep(own.places, place_table(m));
    }
  }

  const core_level *f_;
  char *const *stream_;
  const intptr_t *stride_;
  dynd_frame *frame_;
  int64_t *table_;
  core_arguments at_;
};

int core_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame) {
  return core_batches(reinterpret_cast<const core_level *>(self), stream, stride, frame).run(count);
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
  int8_t wanted_by[max_core_sizes]; // the operand that has it, as the caller counts; -1: the signature or a keyword
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
        int other = from[s] < 0 ? f->wanted_by[s] : f->number[from[s]];
        return other < 0 ? report(frame, dynd_error_broadcast, "operand %d has a row of %lld where it takes %lld",
                                  f->number[o], (long long)length, (long long)size[s])
                         : report(frame, dynd_error_broadcast, "%s is %lld in operand %d and %lld in operand %d",
                                  f->name[s], (long long)size[s], other, (long long)length, f->number[o]);
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

// Which operand has a size in a dimension that is not ragged; as the caller counts them, -1 where none has.
int first_with_size(const core_function &f, const core_stream *streams, int size) {
  for (size_t o = size_t(f.noutputs); o < f.operands.size(); o++) {
    const std::vector<int8_t> &own = f.operands[o].sizes;
    if (std::find(own.begin() + (streams[o].slots >= 0), own.end(), size) != own.end()) {
      return f.operands[o].parameter;
    }
  }
  return -1;
}

} // namespace

std::string type_text(const core_operand &operand, bool ragged) {
  std::string text;
  for (size_t d = 0; d < operand.sizes.size(); d++) {
    text += d == 0 && ragged ? "var * " : "strided * ";
  }
  return text + std::string(operand.dtype.str());
}

core_function::~core_function() {
  ref<counted> made = ref<counted>::adopt(direct.load(std::memory_order_acquire));
  with_interpreter locked(made && has(dynd_callable_python_lock));
  made = {};
}

size_t make_core(ckernel_builder &out, size_t offset, const core_function &f, const core_stream *streams,
                 const dynd_arrmeta *const *arrmeta, const intptr_t *size, core_extras extras) {
  size_t begin = offset + sizeof(core_level), noperands = f.operands.size();
  out.ensure_capacity(begin);
  size_t tables = noperands + f.sizes.size() + 2 * extras.made.size();
  auto *level = out.get_at<core_level>(offset);
  level->base.function = reinterpret_cast<void *>(core_strided);
  level->base.destructor = destroy_core_level;
  level->scratch = ckernel_builder_reserve_scratch(&out, tables * core_batch * sizeof(int64_t));
  level->packed = extras.packed.empty() ? 0 : ckernel_builder_reserve_scratch(&out, packed_bytes);
  level->noperands = uint8_t(noperands);
  level->nsizes = uint8_t(f.sizes.size());
  level->batched = !extras.packed.empty() || !extras.made.empty();
  const char *names[max_core_operands];
  std::string text[max_core_operands];
  for (size_t o = 0; o < noperands; o++) {
    level->operand[o] = streams[o];
    level->batched |= streams[o].slots >= 0;
    text[o] = type_text(f.operands[o], streams[o].slots >= 0 || streams[o].stream < 0);
    names[o] = text[o].c_str();
  }
  int next = 0;
  for (size_t s = 0; s < f.sizes.size(); s++) {
    level->size_from[s] = int8_t(f.sizes[s].made ? is_made
                                 : size[s] >= 0  ? same_for_all
                                                 : first_with_rows(f, streams, int(s)));
    level->size[s] = size[s];
    if (f.sizes[s].made) {
      level->made_size[next++] = int8_t(s);
    }
  }
  if (f.kernel->retain) {
    f.kernel->retain(f.kernel);
  }
  level->deferred = f.kernel;
  if (!extras.packed.empty() || !extras.made.empty()) {
    level->extras = new level_extras(std::move(extras), f);
  }
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
    level->wanted_by[s] = int8_t(first_with_size(f, streams, int(s)));
    level->written[s] = int16_t(written[s]);
    std::string name = f.sizes[s].name.substr(0, sizeof(level->name[s]) - 1);
    std::memcpy(level->name[s], name.c_str(), name.size() + 1);
  }
  return offset + (sizeof(measure_level) + 7) / 8 * 8;
}

} // namespace dynd

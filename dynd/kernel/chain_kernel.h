// What a chain is in memory, and what all its walks share. Private to dynd/kernel/chain*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynd/kernel/chain.h"
#include "dynd/kernel/foreign.h"

namespace dynd::chain {

constexpr size_t block = 64;         // elements of a flat block
constexpr size_t group = 128;        // elements of a block of whole rows
constexpr size_t window = 256;       // elements of a block of ragged rows: a power of two of blocks
constexpr size_t reduce_block = 512; // elements of a flat block that ends in a reduction: a power of two of blocks
constexpr size_t register_padding = 128;

struct chain_step {
  block_fn function; // null: the stranger's kernel, behind chain_kernel::foreign
  uint8_t a, b, c, dst, dst2;
};

// The operands of a stranger's kernel, in the order of its streams, outputs first; its kernel is right behind.
struct foreign_operands {
  size_t count;
  struct {
    uint8_t reg, size; // size: of an element
  } operand[max_foreign_operands];

  const ckernel_prefix *kernel() const { return reinterpret_cast<const ckernel_prefix *>(this + 1); }
};
static_assert(sizeof(foreign_operands) % 8 == 0);

struct chain_port {
  chain_operand where;
  uint32_t scratch; // of its register
  uint8_t reg, log2;
};

// The kernel: this, then the ports (outputs, sources), the temporaries' (register, scratch) pairs, the steps, then a
// stranger's kernel with its foreign_operands before it.
struct chain_kernel {
  ckernel_prefix base;
  const reduce_functions *reduce;
  block_fn combine;
  intptr_t axis_size;
  uint32_t ports, temporaries, steps, panels; // offsets from the kernel; panels: scratch offset
  uint32_t foreign;                           // offset of the foreign_operands; 0 for none, or not yet
  uint32_t prefetch_distance;                 // 0: sources are in the cache
  uint16_t shape_slots;
  uint16_t nstreams; // up to the highest that is looked at
  uint8_t noutputs, nsources, nsteps, ntemporaries;
  uint8_t reduced; // register that the reduction reads
  uint8_t reduced_log2;
  bool empty_fails;
  bool whole_calls; // one step: a contiguous call need not be cut into blocks
  bool transposes;  // panel: nothing but a copy, past the cache

  template <class T> const T *at(uint32_t offset) const {
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(this) + offset);
  }
  const chain_port *outputs() const { return at<chain_port>(ports); }
  const chain_port *sources() const { return outputs() + noutputs; }
};

struct temporary {
  uint32_t scratch, reg;
};

inline int bad_value(dynd_frame *frame) {
  frame->kind = dynd_error_value;
  return dynd_error_value;
}

int run_foreign(const chain_kernel *k, char *const *reg, size_t n, dynd_frame *frame);

// Runs the steps on n elements; every register's pointer is set. Not zero: an error status.
inline int run_steps(const chain_kernel *k, char *const *reg, size_t n, dynd_frame *frame) {
  const chain_step *step = k->at<chain_step>(k->steps), *end = step + k->nsteps;
  uint32_t bad = 0;
  for (; step != end; step++) {
    if (step->function) [[likely]] {
      bad |= step->function(reg[step->dst], reg[step->a], reg[step->b], reg[step->c], n, reg[step->dst2]);
    } else if (int status = run_foreign(k, reg, n, frame)) {
      return status;
    }
  }
  return bad ? bad_value(frame) : dynd_ok;
}

inline void set_temporaries(const chain_kernel *k, char **reg, dynd_frame *frame) {
  reg[no_register] = nullptr;
  const temporary *t = k->at<temporary>(k->temporaries);
  for (int i = 0; i < k->ntemporaries; i++) {
    reg[t[i].reg] = frame->scratch + t[i].scratch;
  }
}

inline const fetch_functions &fetch_of(const chain_port &port) { return isa().fetch(port.log2); }

// Another thread may set it.
inline bool cancelled(const dynd_frame *frame) {
  return frame->cancel && __atomic_load_n(frame->cancel, __ATOMIC_RELAXED);
}

// Brings what comes `distance` bytes later towards the cache; n bytes of it.
inline void prefetch(const char *at, uint32_t distance, size_t n) {
  for (size_t line = 0; line < n; line += 64) {
    __builtin_prefetch(at + distance + line);
  }
}

constexpr size_t columns_at_once = 128; // that are reduced side by side

// The walks, by chain_kind; requests strided.
int flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                 dynd_frame *frame);
int lanes_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame);
int row_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                dynd_frame *frame);
int small_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame);
int long_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame);
int columns_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame);
int panel_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame);
int var_rows_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame);
int foreign_flat_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                         dynd_frame *frame);

} // namespace dynd::chain

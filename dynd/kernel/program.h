// A program: the operations of a fused group, over registers that each hold a block of elements.
//
// Registers 0 .. nsources - 1 are the sources, in order; every step writes a new one. Conversions are steps like any
// other, so a step sees operands of one type. A program knows nothing of sizes, strides or addresses.
#pragma once

#include "dynd/abi/callable.h"
#include "dynd/ops/level.h"

namespace dynd {

inline constexpr int max_registers = 128;
inline constexpr int max_outputs = 33;
inline constexpr uint8_t no_register = 255;

struct program_step {
  block_fn function;               ///< null for a foreign kernel
  block_fn stream_function;        ///< the same with streaming stores, null when there is none
  const deferred_ckernel *foreign; ///< a stranger's kernel, else null
  const char *name;                ///< for explain, trace and messages
  uint8_t a, b, c;                 ///< source registers, no_register where unused
  uint8_t dst, dst2;
};

struct program {
  uint8_t nsources = 0, nregisters = 0, nsteps = 0, noutputs = 0;
  const reduce_functions *reduce = nullptr; ///< the one output is reduced by this
  block_fn combine = nullptr;               ///< two accumulators to one, elementwise
  bool empty_fails = false;                 ///< an empty row is an error (it has no smallest element)
  scalar_id type[max_registers];            ///< of each register
  program_step steps[max_registers];
  uint8_t output[max_outputs]; ///< registers that leave the program

  uint8_t add_source(scalar_id scalar) {
    type[nregisters] = scalar;
    nsources++;
    return nregisters++;
  }
  /// Adds a step whose first output is of type `result`; returns its register.
  uint8_t add_step(program_step step, scalar_id result) {
    step.dst = nregisters;
    type[nregisters] = result;
    steps[nsteps++] = step;
    return nregisters++;
  }
  /// The register converted to `to`; an earlier conversion of the same register is used again.
  uint8_t converted(uint8_t reg, scalar_id to);
};

inline int log2_size(scalar_id scalar) { return __builtin_ctz(scalar_size[size_t(scalar)]); }

} // namespace dynd

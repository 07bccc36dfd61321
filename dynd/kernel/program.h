// A program: the operations of a fused group, over registers that each hold a block of elements.
//
// Registers 0 .. nsources - 1 are the sources, in order; every step writes a new one. Conversions are steps like any
// other, so a step sees operands of one type. A program knows nothing of sizes, strides or addresses.
#pragma once

#include <span>

#include "dynd/kernel/foreign.h"
#include "dynd/ops/isa.h"

namespace dynd {

inline constexpr int max_registers = 128;
inline constexpr int max_outputs = 40;
inline constexpr uint8_t no_register = 255;

struct program_step {
  block_fn function;               ///< null for a foreign kernel
  block_fn stream_function;        ///< the same with streaming stores, null when there is none
  const deferred_ckernel *foreign; ///< a stranger's kernel, which has its registers in program::foreign; else null
  const char *name;                ///< for explain, trace and messages
  uint8_t a, b, c;                 ///< source registers, no_register where unused
  uint8_t dst, dst2;
};

/// What a stranger's kernel reads and writes, in the order of its signature, outputs first.
struct foreign_registers {
  uint8_t noutputs = 0, nsources = 0; ///< none: no stranger's kernel is among the steps
  uint8_t reg[max_foreign_operands];
};

struct program {
  uint8_t nsources = 0, nregisters = 0, nsteps = 0, noutputs = 0;
  const reduce_functions *reduce = nullptr; ///< the one output is reduced by this
  block_fn combine = nullptr;               ///< two accumulators to one, elementwise
  bool empty_fails = false;                 ///< an empty row is an error (it has no smallest element)
  scalar_id type[max_registers];            ///< of each register
  program_step steps[max_registers];
  foreign_registers foreign;   ///< of the one step that is a stranger's kernel
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
  /// Adds the step for a stranger's kernel, with the registers of its sources; there can be one in a program. Its
  /// outputs get new registers.
  void add_foreign(const deferred_ckernel &kernel, const foreign_types &types, const uint8_t *sources);
  /// The registers that a step reads, and those that it writes: calls f(register) for each.
  template <class F> void for_reads(const program_step &step, F f) const {
    const uint8_t own[] = {step.a, step.b, step.c};
    for (uint8_t reg :
         !step.foreign ? std::span<const uint8_t>(own) : std::span(foreign.reg + foreign.noutputs, foreign.nsources)) {
      if (reg != no_register) {
        f(reg);
      }
    }
  }
  template <class F> void for_writes(const program_step &step, F f) const {
    const uint8_t own[] = {step.dst, step.dst2};
    for (uint8_t reg : !step.foreign ? std::span<const uint8_t>(own) : std::span(foreign.reg, foreign.noutputs)) {
      if (reg != no_register) {
        f(reg);
      }
    }
  }
  /// The register converted to `to`; an earlier conversion of the same register is used again.
  uint8_t converted(uint8_t reg, scalar_id to);
};

inline int log2_size(scalar_id scalar) { return __builtin_ctz(scalar_size[size_t(scalar)]); }

} // namespace dynd

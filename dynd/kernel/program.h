// A program: the steps of a fused evaluation, over registers that each hold a batch of elements.
//
// A step says what it does, not how: operation, conversion, external kernel, with its types and registers. The
// functions are looked up when a chain is made. Every source has a register, and every step writes new ones; a step
// that is there already is used again.
// Conversions are steps like any other, so a step sees operands of the types it wants. A value that may be missing is
// two registers: its validity, a bool, and a value that is garbage where the validity is false. A program knows nothing
// of sizes, strides or addresses.
//
// A staged program has registers of rows too, which hold one value for each logical row of the batch: a fold of
// elements, or what steps make of such. Repeated over their rows they are registers of elements again. So all passes
// over a row are one program (docs/decisions/0030). The mean: row r1=sum(r0), row r2=length(), row r3=divide(r1, r2).
#pragma once

#include <algorithm>
#include <initializer_list>

#include "dynd/kernel/external.h"
#include "dynd/ops/isa.h"
#include "dynd/ops/operation.h"
#include "dynd/type/error_mode.h"

namespace dynd {

// A register is a byte. What puts a program together keeps to these limits: a lazy group (eval/group.h), an assignment
// or comparison by the numbers of one element (eval/assign.cpp, compare.cpp); what has more is computed in parts, or by
// a kernel over elements.
inline constexpr int max_registers = 250;
inline constexpr int max_steps = max_registers;                                // nearly all of them write one
inline constexpr int max_outputs = 100, max_sources = 120, max_reductions = 8; // reductions: and folds of a stage
inline constexpr int max_stages = 8;
inline constexpr uint8_t no_register = 255;

enum class step_kind : uint8_t {
  operation,  ///< an entry of operations.def, computed in `type`
  conversion, ///< to `type`, checked as `mode` says
  swap_bytes, ///< of scalars of `type`
  require,    ///< fails where a validity is false
  scan,       ///< the running values of rows: an operation combines each with the next element
  external,   ///< an external kernel: of a plug-in or of user code
  fold,       ///< the elements of each row, by `reduction`, to a register of rows
  repeat,     ///< each row's value, for all elements of the row
  length      ///< the number of elements of each row, int64
};

struct program_step {
  step_kind kind;
  op_id op;
  reduction_id reduction; ///< of a fold, or for which a step fills
  scalar_id type;
  error_mode mode;
  uint8_t nreads, nwrites;
  /// A register of bools: an element fails only where it is true. no_register: everywhere.
  uint8_t valid;
  bool fills;            ///< where(valid, x, what the reduction of nothing gives)
  uint8_t first_operand; ///< of an external kernel: where its registers begin in program::external_registers
  uint8_t reads[3], writes[2];
  const external_function *external;
  const char *field; ///< what a failure adds to the index of the element; lives as long as the evaluation
};

/// A register that leaves the program: its elements, or what a reduction makes of each logical row of them.
struct program_output {
  uint8_t reg;
  bool reduced;
  reduction_id reduction;
  bool empty_fails; ///< a row without elements is an error: it has no smallest one
};

struct program {
  uint8_t nsources = 0, nregisters = 0, nsteps = 0, noutputs = 0;
  uint8_t nexternal = 0; ///< entries of external_registers
  scalar_id type[max_registers];
  bool row[max_registers];     ///< it holds one value for each logical row
  uint8_t source[max_sources]; ///< their registers
  program_step steps[max_steps];
  program_output output[max_outputs];
  uint8_t external_registers[max_registers]; ///< lazy operations are bounded by registers (eval/group.h)

  program() {} // leaves the arrays alone
  uint8_t add_source(scalar_id scalar);
  /// Computes `op` in that type; the operands are registers of the types that the operation wants, of a comparison also
  /// of two types that no common type holds. `results` has a place for each output.
  void add_operation(op_id op, scalar_id computation, const uint8_t *operands, int count, uint8_t *results,
                     uint8_t valid = no_register);
  uint8_t add_operation(op_id op, scalar_id computation, std::initializer_list<uint8_t> operands,
                        uint8_t valid = no_register);
  void add_external(const external_function &function, const uint8_t *sources, uint8_t *results,
                    uint8_t valid = no_register);
  /// The register converted unchecked; an earlier conversion of the same register is used again.
  uint8_t converted(uint8_t reg, scalar_id to);
  /// The same checked, always by a new step, also where the type stays: the step is what writes an output.
  uint8_t assigned(uint8_t reg, scalar_id to, error_mode mode, uint8_t valid = no_register,
                   const char *field = nullptr);
  uint8_t swapped(uint8_t reg);
  void require(uint8_t valid, const char *field);
  /// Steps over rows, as above. Operations and conversions of registers of rows, and of constants, give such again.
  uint8_t folded(uint8_t reg, reduction_id reduction);
  uint8_t repeated(uint8_t row_reg);
  uint8_t row_length();
  /// The running values of each row, by an operation (T, T) -> T; a program has one scan. `initial`, unless it is
  /// no_register, holds what comes before the first element; elements whose validity is false are left out.
  uint8_t scanned(op_id op, uint8_t reg, uint8_t initial = no_register, uint8_t valid = no_register);
  void add_output(uint8_t reg) { add_output({reg, false, {}, false}); }
  void add_reduced(uint8_t reg, reduction_id reduction, bool empty_fails) {
    add_output({reg, true, reduction, empty_fails});
  }

  bool is_staged() const {
    return std::any_of(steps, steps + nsteps, [](const program_step &step) { return step.kind == step_kind::fold; });
  }
  /// Whether it computes something of whole rows. Reduced outputs are the last.
  bool reduces() const { return (noutputs && output[noutputs - 1].reduced) || is_staged(); }
  /// The number of the source that the register is; -1: it is none.
  int source_of(uint8_t reg) const {
    const uint8_t *found = std::find(source, source + nsources, reg);
    return found == source + nsources ? -1 : int(found - source);
  }
  /// The registers that a step reads, and those that it writes: calls f(register) for each.
  template <class F> void for_reads(const program_step &step, F f) const {
    const uint8_t *reg = step.reads;
    if (step.kind == step_kind::external) {
      reg = external_registers + step.first_operand + step.nwrites;
    }
    for (int i = 0; i < step.nreads; i++) {
      f(reg[i]);
    }
    if (step.valid != no_register) {
      f(step.valid);
    }
  }
  template <class F> void for_writes(const program_step &step, F f) const {
    const uint8_t *reg = step.kind == step_kind::external ? external_registers + step.first_operand : step.writes;
    for (int i = 0; i < step.nwrites; i++) {
      f(reg[i]);
    }
  }
  /// "add", "float64", the name of an external kernel.
  const char *name_of(const program_step &step) const;
  /// Whether some value can make the step fail.
  bool can_fail(const program_step &step) const;
  /// The compiled loop of a step that is not external.
  batch_fn loop_of(const program_step &step, int constant = -1) const;
  /// The same with streaming stores; null where there is none.
  batch_fn stream_loop_of(const program_step &step) const;

private:
  void add_output(const program_output &o);
  program_step &add_step(step_kind kind, scalar_id type);
  /// A step with one register to read and one to write.
  program_step &add_unary(step_kind kind, scalar_id type, uint8_t reg, bool of_rows);
  /// A step like that which is there already; null: none.
  template <class Same> const program_step *find_step(step_kind kind, const uint8_t *reads, int count, Same same) const;
  uint8_t add_register(scalar_id scalar, bool of_rows = false);
};

inline int log2_size(scalar_id scalar) { return __builtin_ctz(scalar_size[size_t(scalar)]); }

} // namespace dynd

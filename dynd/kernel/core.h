// A kernel with core dimensions as a kernel level: every call gets the core blocks of many outer elements.
//
// The level turns streams into what dynd_core_call says: where a core block is a ragged row, its slots are read for a
// batch of outer elements, so that the kernel sees addresses and sizes only.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dynd/base/counted.h"
#include "dynd/kernel/external.h"
#include "dynd/kernel/operand.h"
#include "dynd/memory/buffer.h"

namespace dynd {

inline constexpr int max_core_operands = max_external_operands, max_core_sizes = 16;

/// An operand of a core kernel, from its signature with the types put in.
struct core_operand {
  ndt::type dtype;           ///< a scalar, ?T of one, or a struct or tuple of scalars, as C has it in memory
  std::vector<int8_t> sizes; ///< of each core dimension, outermost first: which of core_function::sizes it has
  bool inout = false;
  int parameter = -1; ///< of a source: its number among the operands of the call
};

/// Its type as a kernel is told it; `ragged`: its first core dimension is.
std::string type_text(const core_operand &operand, bool ragged);

/// A size: of a variable, of a `var` dimension, or a number.
struct core_size {
  std::string name;    ///< for messages
  intptr_t fixed = -1; ///< what it must be, where the signature or a keyword says it
  bool made = false;   ///< the kernel says it: a `var` destination
  int computed = -1;   ///< which of the results of `output_sizes` it is
};

/// A deferred kernel of the core prototype (or any other, of operands that are no scalars), for given types.
struct core_function : counted {
  const deferred_ckernel *kernel = nullptr;
  int noutputs = 0;                   ///< without those that are read and written
  std::vector<core_operand> operands; ///< outputs, then sources
  std::vector<core_size> sizes;
  std::shared_ptr<const keyword_values> keywords;
  std::unique_ptr<const core_function> output_sizes; ///< of sizes that no operand has; may be null
  /// What the direct step keeps of the first small call (eval/core_direct.cpp), owned; null before there was any.
  mutable std::atomic<counted *> direct = nullptr;

  core_function() = default;
  core_function(const core_function &) = delete;
  core_function &operator=(const core_function &) = delete;
  ~core_function();
  bool has(uint32_t flags) const { return (kernel->flags & flags) == flags; }
};

/// Where an operand is among the streams of the call, and its core dimensions.
struct core_stream {
  int stream;     ///< its values, of a struct those of the first field
  int slots = -1; ///< where its first core dimension is ragged: the stream of the slots
  slot_kind kind = slot_kind::none;
  int32_t step = 1;
  intptr_t unit = 0; ///< bytes from an element of that dimension to the next
};

/// A stream of an element in a packed block, of `width` bytes.
struct packed_stream {
  int width;
  intptr_t offset;              ///< inside of the element, as C has it
  std::vector<intptr_t> stride; ///< in the array, of each core dimension
};

/// An operand whose blocks are not as the kernel wants them: it gets copies, dense and in one order.
struct packed_operand {
  int operand;
  core_stream from;
  bool read, written, f_order;
  intptr_t item;             ///< bytes of an element, as C has it
  std::vector<int8_t> sizes; ///< as in core_operand
  std::vector<packed_stream> streams;
};

/// A destination whose rows the kernel makes: the streams of two int64 arrays, for how many elements there are and for
/// the address of the first; bytes of an element.
struct core_made {
  int operand, counts, places;
  intptr_t each;
};

/// Memory for rows that kernels make, as long as an evaluation runs. Any thread may take some.
class row_memory {
public:
  /// Zeros.
  char *take(size_t bytes);

private:
  std::mutex mutex_; // guards what follows
  std::vector<ref<buffer>> chunks_;
  char *next_ = nullptr;
  size_t left_ = 0;
};

/// What a level has where operands are not used as they are.
struct core_extras {
  std::vector<packed_operand> packed;
  std::vector<core_made> made;
  row_memory *memory = nullptr; ///< of the rows that are made
};

/// Puts the level at `offset`, and the kernel behind it. `size` has the sizes, -1 where they differ.
size_t make_core(ckernel_builder &out, size_t offset, const core_function &f, const core_stream *streams,
                 const dynd_arrmeta *const *arrmeta, const intptr_t *size, core_extras extras);

/// A level that compares the sizes which operands have for the same name, and writes those that differ between outer
/// elements. `wanted` has the size where it is the same for all, else -1; `written` the stream for each size, or -1.
size_t make_core_measure(ckernel_builder &out, size_t offset, const core_function &f, const core_stream *streams,
                         const intptr_t *wanted, const int *written);

} // namespace dynd

// What explain and trace see of an evaluation.
#pragma once

#include <string>
#include <vector>

#include "dynd/eval/tree.h"

namespace dynd {

/// One kernel that was built.
struct explained_kernel {
  std::string operation;
  std::vector<std::string> operands; ///< outputs, then sources: type and sizes
  size_t kernel_bytes, scratch_bytes;
  intptr_t elements;
  std::vector<explained_level> levels;
};

/// One call of one level of a kernel that is run element by element.
struct traced_call {
  int level;
  std::string name;                 ///< "var to strided", "int32 to int32", "strided", "add"
  std::vector<std::string> sources; ///< the values the call gets
  std::string destination;          ///< what is there before the call
};

/// The kernel of an evaluation, kept: what is needed to call it on other memory of the same layout.
struct kept_kernel {
  ckernel_builder kernel;
  root_call call;
  /// Of each stream of the call that a leaf reads or writes: which operand it is of, and where it begins in that.
  struct port {
    int operand;
    intptr_t offset;
  };
  std::vector<port> ports;
  std::vector<ref<array_block>> operands; ///< outputs, then sources
  int noutputs = 0;
};

/// While one is set, evaluations of this thread report to it and the direct step is off. Tracing runs everything in
/// order, one call for each element (a reduction: for each row), and nothing is lazy.
struct observation {
  bool tracing = false;
  std::vector<explained_kernel> kernels;
  std::vector<traced_call> calls; ///< the first most_traced_calls
  size_t more_calls = 0;          ///< that were made after those
  kept_kernel *keep = nullptr;    ///< if any: the first kernel goes there, and does not run
};

inline bool is_tracing(const settings &how) { return how.watching && how.watching->tracing; }

/// More calls than these are counted, not kept.
inline constexpr size_t most_traced_calls = 10000;

/// Runs the lowered task element by element, and records every call. A status, and what was said of a failure.
int run_traced(task &t, observation &seen, std::string &failure);

/// A reduction of everything, as the one call that it is.
void trace_one_row(const task &t, observation &seen);

/// The operands as explain shows them; before planning rewrites them.
std::vector<std::string> operand_texts(const task &t);
void explain(const task &t, const ckernel_builder &kernel, intptr_t elements, std::vector<std::string> operands,
             std::vector<explained_level> levels);

std::string explanation_text(const observation &seen);
std::string trace_text(const observation &seen);

} // namespace dynd

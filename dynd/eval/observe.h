// What explain and trace see of the evaluations of this thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dynd/eval/tree.h"
#include "dynd/kernel/dims.h"

namespace dynd {

/// One kernel that was built.
struct explained_kernel {
  std::string operation;
  std::vector<std::string> operands; ///< outputs, then sources: type and sizes
  size_t kernel_bytes, scratch_bytes;
  intptr_t elements;
  std::vector<explained_level> levels;
};

/// One call of one level of an unplanned kernel.
struct traced_call {
  int level;
  std::string name;                 ///< "var to strided", "int32 to int32", "strided", "add"
  std::vector<std::string> sources; ///< the values the call gets
  std::string destination;          ///< what stands there before the call
};

/// While one is set, evaluations of this thread report to it and the direct step is off. Tracing runs everything
/// unplanned, one call for each element (a reduction: for each row), and nothing waits.
struct observation {
  bool tracing = false;
  std::vector<explained_kernel> kernels;
  std::vector<traced_call> calls; ///< the first most_traced_calls
  size_t more_calls = 0;          ///< that were made after those
};

/// More calls than these are counted, not kept: nobody reads them.
inline constexpr size_t most_traced_calls = 10000;

observation *&current_observation();

/// Nothing is watched while it lives: a copy on the way is not what somebody wants to see.
class unwatched_scope {
public:
  unwatched_scope() : watching_(std::exchange(current_observation(), nullptr)) {}
  ~unwatched_scope() { current_observation() = watching_; }
  unwatched_scope(const unwatched_scope &) = delete;
  unwatched_scope &operator=(const unwatched_scope &) = delete;

private:
  observation *watching_;
};

/// "(2, 0)", "(3,)".
std::string index_text(const std::vector<intptr_t> &index);
std::string index_text(const std::vector<std::string> &index);

/// Where the element is that an observed kernel works on: level d tells of its place in dimension d - 1.
class place_recorder : public kernel_observer {
public:
  explicit place_recorder(int ndim) : index(size_t(ndim)) {}
  void call(int level, intptr_t at, char *const *) override {
    if (level > 0) {
      index[size_t(level) - 1] = at;
    }
  }
  /// " at index (2, 0)"; nothing where there are no dimensions.
  std::string where() const { return index.empty() ? "" : " at index " + index_text(index); }

  std::vector<intptr_t> index;
};

/// Runs the task unplanned under the observation; a status.
int run_traced(const task &t, observation &seen);

/// The first element that fails, in C order: its index, and what the kernel said. Status zero: none does.
struct first_failure {
  int status = dynd_ok;
  std::vector<intptr_t> index;
  std::string text;
  const char *source = nullptr; ///< where the first source's value is
};

/// Runs the task again up to the first element that fails: blocks are halved, a stranger's kernel (which may fail only
/// now and then) is called for one element after another.
first_failure find_first_failure(const task &t);

std::string explanation_text(const observation &seen);
std::string trace_text(const observation &seen);

} // namespace dynd

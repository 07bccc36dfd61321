// Evaluations in which every allocation is made to fail in turn: an error of kind memory, nothing leaked, nothing
// changed, and the same evaluation then succeeds.
//
// Each attempt runs on a thread of its own, so that what a thread keeps (scratch, small blocks) is allocated anew; what
// the process keeps for reuse is given back first.
#pragma once

#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "dynd/abi/callable.h"
#include "dynd/kernel/external.h"
#include "dynd/type/error_mode.h"
#include "fixture.h"

namespace dynd::testing {

using arrays = std::vector<nd::array>;
using result = std::array<nd::array, max_external_outputs>; // no allocation of our own after an assignment was made

/// The same numbers as ?T, missing where they are 1.
nd::array with_gaps(const nd::array &a);

/// ramp(type), or parse(type, values); writable ones for destinations. Then seen through `view`, if there is one.
struct operand {
  std::string type, values = "";
  access_mode access = access_mode::immutable;
  nd::array (*view)(const nd::array &) = nullptr;
  bool gaps = false; ///< and then with missing values
  nd::array make() const {
    nd::array made = values.empty() ? ramp(type, access) : parse(type, values, access);
    made = view ? view(made) : made;
    return gaps ? with_gaps(made) : made;
  }
};
inline constexpr access_mode writable = access_mode::readwrite;

inline constexpr const char *any = "";

struct scenario {
  std::string name;
  const char *kernel; ///< a part of what explain says: that the kernel is the one that is meant; or `any`
  std::vector<operand> operands;
  std::function<result(const arrays &x)> run;
  bool may_fail = false; ///< also with memory: then what the error says is the result
};

inline void PrintTo(const scenario &s, std::ostream *out) { *out << s.name; }

/// a[::step]
nd::array view(const nd::array &a, intptr_t step);
nd::array assigned(const nd::array &dst, const nd::array &src);
nd::array converted(const nd::array &a, scalar_id to, error_mode mode);
result all_of(const std::vector<nd::array> &several);

/// External kernels, one of each prototype: they own memory and ask for more while they run.
extern const deferred_ckernel samples[multi_operation_funcproto_id + 1];

arrays make_operands(const scenario &s);

struct outcome {
  bool happened = false; ///< some allocation failed
  bool failed = false;   ///< with an error for want of memory
  std::string results;   ///< of the attempt, or of the one after it failed
  bool unchanged = true; ///< the operands, where the attempt failed
};

/// The n-th allocation fails, with `all_after` all after it too; then, if that was an error, the same once more with
/// memory.
outcome attempt_on_new_thread(const scenario &s, int64_t n, bool all_after);

/// Without a failing allocation.
std::string results_of(const scenario &s);

/// Every allocation in turn.
void expect_to_survive(const scenario &s);

} // namespace dynd::testing

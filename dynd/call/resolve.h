// Resolution: which overload of a callable takes given operands, and what they are converted to. It depends on the
// types of the elements and the numbers of dimensions alone, so it is found once for each.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dynd/call/callable.h"
#include "dynd/call/signature.h"
#include "dynd/eval/core_call.h"
#include "dynd/eval/evaluate.h"

namespace dynd::nd {

struct overload {
  kernel function;
  kernel_signature signature;
  const void *library = nullptr; ///< the handle of the plug-in that brought it, null where there is none
};
/// A checked kernel (check_kernel) as an overload; what is wrong with its signature is a type error.
overload make_overload(const kernel &k);

/// How well an overload fits.
enum class fit { exact, lossless, like_numpy, none };

/// An overload for given types.
struct resolution {
  int count = 0;
  uint64_t key[max_external_sources]; ///< of each operand: its element type and number of dimensions
  const overload *chosen = nullptr;
  ndt::bindings bound;             ///< the type variables
  std::vector<ndt::type> operands; ///< what the elements are converted to
  bool of_scalars = false;       ///< a kernel on scalars, and the operands are scalars; else one on C structs and rows
  ref<external_function> scalar; ///< where it is a kernel on scalars without keywords
  /// Where it is another kernel, and its sizes depend on the operands' alone; made by the first call.
  mutable std::atomic<const core_function *> core = nullptr;

  resolution() = default;
  resolution(const resolution &) = delete;
  resolution &operator=(const resolution &) = delete;
  ~resolution() { delete core.load(std::memory_order_acquire); }
};

struct callable_state : counted {
  std::string name, doc;
  std::string library;     ///< the plug-in that brought it, empty where there is none
  std::optional<op_id> op; ///< an operation of the library: the overloads are those that were added to it
  /// Of all callables, so that a fork can wait for it; guards what follows. What they point to stays.
  static std::mutex mutex;
  std::vector<std::unique_ptr<overload>> overloads;
  std::vector<std::unique_ptr<resolution>> resolved;
  /// From before the last change of the overloads; other threads may be using them.
  std::vector<std::unique_ptr<resolution>> retired;
  std::vector<std::unique_ptr<overload>> forgotten; ///< those of plug-ins, which resolutions may point to
  uint64_t changes = 0;                             ///< of the overloads
  std::atomic<const resolution *> recent = nullptr;

  callable_state(std::string name, std::string doc);
  static void wait_at_fork(); ///< from now on a fork waits for the mutex
};

/// The first of some overloads between which and another one nothing decides, for some operands; null: there is none.
const overload *ambiguous_with(std::span<const overload *const> known, const overload &added);
/// Whether an overload may be added; the caller holds the mutex. Otherwise a type error.
void check_overload(const callable_state &state, const overload &added);

/// Overloads are made before they are added, so that nothing of their authors' is called under a lock. First room is
/// made for so many more, then nothing fails: they are put behind the others, and that is noted. The caller holds the
/// mutex.
void make_room(callable_state &state, size_t count);
void note_added(callable_state &state);
/// What was resolved may be so no more; the caller holds the mutex, and has made room.
void retire_resolutions(callable_state &state);
/// The overloads that a plug-in brought are no longer found.
void forget_overloads(callable_state &state, const void *library);

/// The overload for these operands; an error that lists the candidates where there is none.
const resolution &resolve(callable_state &state, array_block *const *blocks, int count);
/// The same, or null.
const resolution *try_resolve(callable_state &state, array_block *const *blocks, int count);

/// How many references to the kernel of an overload the callable holds itself; -1 where another owner may reach the
/// kernel through it. For a host that collects cycles, and owns the callable alone.
intptr_t own_references(const callable_state &state, const overload &o);

/// A function on scalars for a resolution; `keywords` may be null.
ref<external_function> scalar_function(const resolution &found, std::shared_ptr<const keyword_values> keywords);

/// Calls the chosen overload. Returns how many results there are.
int call_resolved(const resolution &found, array_block *const *blocks, int count, std::span<const keyword> keywords,
                  ref<array_block> *results);

/// What an operation of the library takes, as patterns: one for each family of types.
std::vector<ndt::type> signatures_of(op_id op);

} // namespace dynd::nd

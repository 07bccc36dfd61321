// Values folded by groups: accumulators of each slot, which one pass over the values fills. Private to dynd/call/.
#pragma once

#include <vector>

#include "dynd/array/array.h"
#include "dynd/call/group_keys.h"

namespace dynd::nd {

enum class group_fold : uint8_t {
  count,   ///< how many are there; int64
  truth,   ///< how many are not zero; int64
  sum,     ///< of integers in 64 bits, of others in float64 or complex128
  mean,    ///< the sum in float64 or complex128
  squares, ///< of the distances from a value of each slot; float64
  prod,    ///< as sum
  least,   ///< as a key in falling order (sort_codes.h); uint64
  greatest ///< as a key in rising order; uint64
};

struct fold_part;

/// What is compiled for a fold of a type: values added to accumulators, others joined to some, and the first ones.
struct fold_functions {
  void (*loop)(const fold_part &);
  void (*join)(char *to, const char *from, intptr_t begin, intptr_t end);
  void (*clear)(char *to, intptr_t count);
  size_t item; ///< bytes of an accumulator
};

/// Several folds of lists of numbers, or options of them, in one pass.
class group_folds {
public:
  group_folds(const char *name, const key_groups &groups) : name_(name), groups_(groups) {}

  /// The number of the fold; one that there is already has its number. `about`: for squares, the fold that has the
  /// values of each slot, which was run before. No list: elements are counted.
  size_t add(group_fold what, const array &list, const group_folds *about = nullptr, size_t about_fold = 0);
  void run();

  /// The accumulators of a fold that was run, one for each slot.
  template <class T> const T *of_slots(size_t fold) const {
    return reinterpret_cast<const T *>(folds_[fold].accumulators.data());
  }
  template <class T> T *of_slots(size_t fold) { return reinterpret_cast<T *>(folds_[fold].accumulators.data()); }

private:
  struct one_fold {
    group_fold what = {};
    array list, values, marks;
    const char *about = nullptr; // a value of each slot, and its bytes
    size_t about_item = 0;
    fold_functions functions;
    scratch_values<char> accumulators;
  };

  fold_part part_of(const one_fold &fold, intptr_t chunk) const;
  void run_in_order(intptr_t chunks);
  void run_parts(intptr_t chunks);

  const char *name_;
  const key_groups &groups_;
  std::vector<one_fold> folds_;
};

} // namespace dynd::nd

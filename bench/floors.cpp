// The C interface of the floors, used through ctypes by floors.py: list the loops, run one, time one.

#include "floors.h"

#include <chrono>

namespace {

const floors::loop *find(int64_t index) {
  for (floors::loop_list list :
       {floors::strided_loops(), floors::ragged_loops(), floors::copy_loops(), floors::element_loops(),
        floors::reduction_loops(), floors::row_loops(), floors::plane_loops(), floors::ordered_loops(),
        floors::selection_loops(), floors::task_loops(), floors::order_loops(), floors::group_loops()}) {
    int64_t count = list.end - list.begin;
    if (index < count) {
      return list.begin + index;
    }
    index -= count;
  }
  return nullptr;
}

} // namespace

/// The name of loop `index`, NULL past the last one.
extern "C" const char *floor_name(int64_t index) {
  const floors::loop *loop = find(index);
  return loop ? loop->name : nullptr;
}

/// Seconds that `repeats` runs took. The call goes through a pointer, so no run can be optimised away.
extern "C" double floor_time(int64_t index, const floors::work *work, int64_t repeats) {
  auto run = find(index)->run;
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < repeats; ++i) {
    run(*work);
  }
  _mm_sfence(); // streaming stores are done when others can see them
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

#include <algorithm>

#include "dynd/base/errors.h"
#include "dynd/eval/core_call.h"
#include "dynd/eval/space.h"
#include "dynd/eval/task.h"

namespace dynd {

void compute_output_sizes(const core_function &function, const call_operands &operands, const space &shape,
                          const settings &how, intptr_t *size, ref<array_block> *measured) {
  if (!function.output_sizes) {
    return;
  }
  ref<array_block> found[max_core_operands];
  evaluate(*function.output_sizes, operands, found, without_watching(how));
  size_t count = element_count(shape);
  for (size_t s = 0; s < function.sizes.size(); s++) {
    const core_size &own = function.sizes[s];
    if (own.computed < 0) {
      continue;
    }
    const auto *all = reinterpret_cast<const int64_t *>(found[own.computed]->values().address);
    auto negative = std::find_if(all, all + count, [](int64_t n) { return n < 0; });
    if (negative != all + count) {
      fail(error_kind::value, std::string(function.kernel->name) + ": " + own.name +
                                  " is a size of the result, and is " + std::to_string(*negative));
    }
    size[s] = count == 0 ? 0 : all[0]; // without an outer element nothing has a size
    if (std::any_of(all, all + count, [&](int64_t n) { return n != all[0]; })) {
      size[s] = -1;
      measured[s] = std::move(found[own.computed]);
    }
  }
}

} // namespace dynd

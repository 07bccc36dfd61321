#include "dynd/kernel/program.h"

namespace dynd {

uint8_t program::converted(uint8_t reg, scalar_id to) {
  if (type[reg] == to) {
    return reg;
  }
  block_fn convert = level().convert[size_t(to)][size_t(type[reg])];
  for (int i = 0; i < nsteps; i++) {
    if (steps[i].function == convert && steps[i].a == reg && type[steps[i].dst] == to) {
      return steps[i].dst;
    }
  }
  return add_step({convert, nullptr, nullptr, scalar_name[size_t(to)], reg, no_register, no_register, 0, no_register},
                  to);
}

} // namespace dynd

#include "dynd/kernel/program.h"

#include <algorithm>

namespace dynd {

uint8_t program::converted(uint8_t reg, scalar_id to) {
  if (type[reg] == to) {
    return reg;
  }
  block_fn convert = isa().convert(to, type[reg]);
  for (int i = 0; i < nsteps; i++) {
    if (steps[i].function == convert && steps[i].a == reg && type[steps[i].dst] == to) {
      return steps[i].dst;
    }
  }
  return add_step({convert, nullptr, nullptr, scalar_name[size_t(to)], reg, no_register, no_register, 0, no_register},
                  to);
}

void program::add_foreign(const deferred_ckernel &kernel, const foreign_types &types, const uint8_t *sources) {
  foreign.noutputs = uint8_t(types.noutputs);
  foreign.nsources = uint8_t(types.nsources);
  steps[nsteps++] = {nullptr,     nullptr,     &kernel,    kernel.name, no_register,
                     no_register, no_register, nregisters, no_register};
  for (int o = 0; o < types.noutputs; o++) {
    type[nregisters] = types.type[o];
    foreign.reg[o] = nregisters++;
  }
  std::copy(sources, sources + types.nsources, foreign.reg + types.noutputs);
}

} // namespace dynd

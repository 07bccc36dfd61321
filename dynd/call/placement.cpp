#include "dynd/call/placement.h"

#include <algorithm>
#include <mutex>

#include "dynd/base/errors.h"

namespace dynd::nd {

namespace {

// Operands in the order of an overload; `left` are the keywords.
struct placement {
  const overload *of;
  block_list list;
  std::vector<keyword> left;
};

// Those that were given by name where each overload has them. Overloads of other numbers of operands are left out.
std::vector<placement> placements(callable_state &state, std::span<const array> operands,
                                  std::span<const keyword> given) {
  std::vector<placement> all;
  std::lock_guard lock(state.mutex);
  for (const std::unique_ptr<overload> &o : state.overloads) {
    const std::vector<core_pattern> &wanted = o->signature.operands;
    placement tried{o.get(), {{}, 0}, {}};
    size_t next = 0; // those without a name go where none was given
    for (size_t i = 0; i < wanted.size(); i++) {
      auto named = std::find_if(given.begin(), given.end(), [&](const keyword &k) {
        return !wanted[i].name.empty() && k.name == wanted[i].name && k.value;
      });
      if (named != given.end()) {
        tried.list.block[tried.list.count++] = named->value.get();
      } else if (next < operands.size()) {
        tried.list.block[tried.list.count++] = operands[next++].get();
      }
    }
    for (const keyword &k : given) {
      if (std::none_of(wanted.begin(), wanted.end(), [&](const core_pattern &p) { return p.name == k.name; })) {
        tried.left.push_back(k);
      }
    }
    if (size_t(tried.list.count) == wanted.size() && next == operands.size()) {
      all.push_back(std::move(tried));
    }
  }
  return all;
}

} // namespace

block_list place(callable_state &state, std::span<const array> operands, std::span<const keyword> given,
                 std::vector<keyword> &left) {
  block_list list{{}, int(operands.size())};
  for (size_t i = 0; i < std::min(operands.size(), size_t(max_external_sources)); i++) {
    list.block[i] = operands[i].get();
  }
  if (given.empty()) {
    return list;
  }
  std::vector<placement> all = placements(state, operands, given);
  const placement *best = nullptr;
  for (const placement &p : all) { // another overload that its types choose may have the names elsewhere
    const resolution *found = try_resolve(state, p.list.block, p.list.count);
    if (found && found->chosen == p.of) {
      best = &p;
      break;
    }
    best = best || found ? best : &p;
  }
  if (!all.empty() && !best) {
    fail(error_kind::type, state.name + ": the overload for operands of these types has other names");
  }
  left = best ? best->left : std::vector<keyword>(given.begin(), given.end());
  return best ? best->list : list;
}

} // namespace dynd::nd

#include "dynd/call/reduction.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/call/signature.h"
#include "dynd/kernel/level.h"

namespace dynd::nd {

namespace {

constexpr size_t max_state = 1 << 20;

struct row_reduction : deferred_ckernel {
  kernel of;
  const dynd_reduction *functions;
  size_t room; // of a state
  std::atomic<intptr_t> refs{1};

  static row_reduction *from(const deferred_ckernel *self) {
    return const_cast<row_reduction *>(static_cast<const row_reduction *>(self));
  }
};

struct reduction_leaf {
  ckernel_prefix base;
  const row_reduction *owner; // lives as long as the kernel does
  size_t scratch;             // two states
  int nsources;
  intptr_t stride[max_external_sources];
};

// The states of the pieces of a row are combined from the first to the last, so that the result depends on the row
// alone.
int reduce_row(const reduction_leaf &leaf, const dynd_core_call *call, size_t i, char *states, dynd_frame *frame) {
  const dynd_reduction &r = *leaf.owner->functions;
  size_t length = size_t(dynd_core_size(call, 0, i));
  size_t piece = r.combine ? size_t(dynd_reduction_piece) : std::max<size_t>(length, 1);
  const char *at[max_external_sources];
  for (size_t begin = 0; begin < length || begin == 0; begin += piece) {
    char *state = begin ? states + leaf.owner->room : states;
    for (int s = 0; s < leaf.nsources; s++) {
      at[s] = dynd_core_data(call, 1 + s, i) + intptr_t(begin) * leaf.stride[s];
    }
    r.initialise(state);
    int status = r.accumulate(state, at, leaf.stride, std::min(piece, length - begin), frame);
    if (!status && begin) {
      status = r.combine(states, state, frame);
    }
    if (status) {
      return status;
    }
  }
  return r.finish(states, dynd_core_data(call, 0, i), frame);
}

int reduce_rows(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto &leaf = *reinterpret_cast<const reduction_leaf *>(self);
  for (size_t i = 0; i < call->count; i++) {
    if (int status = reduce_row(leaf, call, i, frame->scratch + leaf.scratch, frame)) {
      fail_element(frame, i);
      return status;
    }
  }
  return dynd_ok;
}

intptr_t make_leaf(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *bind) {
  intptr_t end = offset + intptr_t(sizeof(reduction_leaf));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  const row_reduction *owner = row_reduction::from(self);
  auto *leaf = reinterpret_cast<reduction_leaf *>(out->data + offset);
  leaf->owner = owner;
  leaf->scratch = ckernel_builder_reserve_scratch(out, 2 * owner->room);
  leaf->nsources = int(bind->noperands) - 1;
  for (int s = 0; s < leaf->nsources; s++) {
    leaf->stride[s] = bind->arrmeta[1 + s]->stride[0];
  }
  leaf->base.set_function(reduce_rows);
  return end;
}

[[noreturn]] void refuse(const deferred_ckernel &k, const std::string &why) {
  fail(error_kind::type, std::string(k.name) + ": " + why);
}

void check_functions(const deferred_ckernel &k) {
  auto *r = static_cast<const dynd_reduction *>(k.data_ptr);
  if (!r || r->version != DYND_ABI_VERSION || r->size < sizeof(dynd_reduction)) {
    refuse(k, "data_ptr of a reduction must point to a dynd_reduction of this version");
  }
  if (!r->initialise || !r->accumulate || !r->finish) {
    refuse(k, "a reduction has initialise, accumulate and finish; combine may be NULL");
  }
  if (r->state_size == 0 || r->state_size > max_state) {
    refuse(k, "the state of a reduction has 1 to " + std::to_string(max_state) + " bytes, not " +
                  std::to_string(r->state_size));
  }
}

// One row of each operand gives one value.
void check_rows(const deferred_ckernel &k, const kernel_signature &signature) {
  auto is_row = [&](const core_pattern &p) {
    return p.dims.size() == 1 && p.dims[0].kind == type_kind::dim_variable &&
           p.dims[0].name == signature.operands[0].dims[0].name && !p.inout && !p.dtype->abstract;
  };
  bool rows =
      !signature.operands[0].dims.empty() && std::all_of(signature.operands.begin(), signature.operands.end(), is_row);
  if (!rows || signature.results.size() != 1 || !signature.results[0].dims.empty() ||
      signature.results[0].dtype->abstract || !signature.keywords.empty()) {
    refuse(k, std::string("signature \"") + k.signature +
                  "\" is not that of a reduction: rows of one size and of known types, one result, no keywords, as in "
                  "(N * float64) -> float64");
  }
}

} // namespace

kernel reduction_kernel(const kernel &reduction) {
  check_functions(*reduction);
  auto made = std::make_unique<row_reduction>();
  made->of = reduction;
  made->functions = static_cast<const dynd_reduction *>(reduction->data_ptr);
  made->room = (made->functions->state_size + 63) / 64 * 64;
  deferred_ckernel &base = *made;
  base = {};
  std::memcpy(&base, reduction.get(),
              std::min<size_t>(reduction->size, sizeof(base))); // it may be an older, smaller one
  base.size = sizeof(deferred_ckernel);
  base.prototype = core_operation_funcproto_id;
  base.instantiate = make_leaf;
  base.retain = [](const deferred_ckernel *self) {
    row_reduction::from(self)->refs.fetch_add(1, std::memory_order_relaxed);
  };
  base.release = [](const deferred_ckernel *self) {
    if (row_reduction::from(self)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete row_reduction::from(self);
    }
  };
  check_rows(*made, read_signature(*made));
  return kernel::adopt(made.release());
}

} // namespace dynd::nd

#include "dynd/call/reduction.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/call/counted_kernel.h"
#include "dynd/call/row_interruption.h"
#include "dynd/call/signature.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/threads.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/buffer.h"

namespace dynd::nd {

namespace {

constexpr size_t max_state = 1 << 20;

struct row_reduction : counted_kernel<row_reduction> {
  kernel given; // which has the texts
  const dynd_reduction *functions;
  size_t room; // of a state
};

struct reduction_leaf {
  ckernel_prefix base;
  const row_reduction *owner; // lives as long as the kernel does
  size_t scratch;             // two states
  int nsources;
  intptr_t stride[max_external_sources];
};

/// A row of one outer element.
struct row_in_pieces {
  const char *at[max_external_sources];
  size_t length;
};

int accumulate(const reduction_leaf &leaf, const row_in_pieces &row, size_t begin, size_t piece, char *state,
               dynd_frame *frame) {
  const char *at[max_external_sources];
  for (int s = 0; s < leaf.nsources; s++) {
    at[s] = row.at[s] + intptr_t(begin) * leaf.stride[s];
  }
  leaf.owner->functions->initialise(state);
  return leaf.owner->functions->accumulate(state, at, leaf.stride, std::min(piece, row.length - begin), frame);
}

/// The pieces from `first` on, each on some thread, into states one behind the other.
class pieces_on_threads {
public:
  pieces_on_threads(const reduction_leaf &leaf, const row_in_pieces &row, row_interruption &asked, dynd_frame *frame)
      : leaf_(leaf), row_(row), asked_(asked), frame_(frame) {}

  int run(size_t first, size_t count, char *states) {
    try {
      return for_each_piece(intptr_t(count), [&](intptr_t i) { return run_piece(first, size_t(i), states); });
    } catch (...) {
      return report_caught(frame_);
    }
  }

private:
  int run_piece(size_t first, size_t i, char *states) {
    if (asked_.poll()) {
      return dynd_error_cancelled;
    }
    work_frame own(0);
    own.cancel = frame_->cancel;
    int failed = accumulate(leaf_, row_, (first + i) * dynd_reduction_piece, dynd_reduction_piece,
                            states + i * leaf_.owner->room, &own);
    if (failed) {
      keep_text(intptr_t(i), own.text);
    }
    return failed;
  }

  // Of the first piece that failed, as its status is.
  void keep_text(intptr_t i, const char *text) {
    std::lock_guard lock(mutex_);
    if (i < failed_) {
      failed_ = i;
      std::memcpy(frame_->text, text, sizeof(frame_->text));
    }
  }

  const reduction_leaf &leaf_;
  const row_in_pieces &row_;
  row_interruption &asked_;
  dynd_frame *frame_;
  std::mutex mutex_; // guards what follows, and the frame's text
  intptr_t failed_ = INTPTR_MAX;
};

bool is_for_threads(const reduction_leaf &leaf, size_t length) {
  constexpr uint32_t one_thread = dynd_callable_one_thread | dynd_callable_python_lock;
  return leaf.owner->functions->combine && length > 4 * size_t(dynd_reduction_piece) && num_threads() > 1 &&
         !(leaf.owner->flags & one_thread);
}

// As many states at a time as keep the threads busy.
int reduce_on_threads(const reduction_leaf &leaf, const row_in_pieces &row, char *states, row_interruption &asked,
                      dynd_frame *frame) {
  const dynd_reduction &r = *leaf.owner->functions;
  size_t pieces = (row.length + dynd_reduction_piece - 1) / dynd_reduction_piece;
  size_t together = std::min(pieces, 4 * size_t(num_threads()));
  ref<buffer> memory;
  try {
    memory = allocate_buffer(together * leaf.owner->room);
  } catch (...) {
    return report(frame, dynd_error_memory, "no memory for the states of a reduction");
  }
  int status = accumulate(leaf, row, 0, dynd_reduction_piece, states, frame);
  for (size_t first = 1; first < pieces && !status; first += together) {
    size_t count = std::min(together, pieces - first);
    status = pieces_on_threads(leaf, row, asked, frame).run(first, count, memory->data);
    for (size_t i = 0; i < count && !status; i++) {
      status = r.combine(states, memory->data + i * leaf.owner->room, frame);
    }
  }
  return status;
}

// The states of the pieces of a row are combined from the first to the last, so that the result depends on the row
// alone.
int reduce_row(const reduction_leaf &leaf, const dynd_core_call *call, size_t i, char *states, row_interruption &asked,
               dynd_frame *frame) {
  const dynd_reduction &r = *leaf.owner->functions;
  row_in_pieces row{{}, size_t(dynd_core_size(call, 0, i))};
  for (int s = 0; s < leaf.nsources; s++) {
    row.at[s] = dynd_core_data(call, 1 + s, i);
  }
  size_t piece = r.combine ? size_t(dynd_reduction_piece) : std::max<size_t>(row.length, 1);
  int status = dynd_ok;
  if (is_for_threads(leaf, row.length)) {
    status = reduce_on_threads(leaf, row, states, asked, frame);
  } else {
    for (size_t begin = 0; !status && (begin < row.length || begin == 0); begin += piece) {
      if (begin && asked.poll()) {
        return dynd_error_cancelled;
      }
      char *state = begin ? states + leaf.owner->room : states;
      status = accumulate(leaf, row, begin, piece, state, frame);
      status = status || !begin ? status : r.combine(states, state, frame);
    }
  }
  return status ? status : r.finish(states, dynd_core_data(call, 0, i), frame);
}

int reduce_rows(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto &leaf = *reinterpret_cast<const reduction_leaf *>(self);
  row_interruption asked(frame);
  for (size_t i = 0; i < call->count; i++) {
    if (is_cancelled(frame)) {
      return dynd_error_cancelled;
    }
    if (int status = reduce_row(leaf, call, i, frame->scratch + leaf.scratch, asked, frame)) {
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
  const row_reduction *owner = row_reduction::of(self);
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

[[noreturn]] void refuse_reduction(const deferred_ckernel &k, const std::string &why) {
  fail(error_kind::type, std::string(k.name) + ": " + why);
}

void check_functions(const deferred_ckernel &k) {
  auto *r = static_cast<const dynd_reduction *>(k.data_ptr);
  if (!r || r->version != DYND_ABI_VERSION || r->size < sizeof(dynd_reduction)) {
    refuse_reduction(k, "data_ptr of a reduction must point to a dynd_reduction of this version");
  }
  if (!r->initialise || !r->accumulate || !r->finish) {
    refuse_reduction(k, "a reduction has initialise, accumulate and finish; combine may be NULL");
  }
  if (r->state_size == 0 || r->state_size > max_state) {
    refuse_reduction(k, "the state of a reduction has 1 to " + std::to_string(max_state) + " bytes, not " +
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
    refuse_reduction(
        k, std::string("signature \"") + k.signature +
               "\" is not that of a reduction: rows of one size and of known types, one result, no keywords, as in "
               "(N * float64) -> float64");
  }
}

} // namespace

kernel reduction_kernel(const kernel &reduction) {
  check_functions(*reduction);
  auto made = std::make_unique<row_reduction>();
  made->given = reduction;
  made->functions = static_cast<const dynd_reduction *>(reduction->data_ptr);
  made->room = (made->functions->state_size + 63) / 64 * 64;
  deferred_ckernel &base = *made, own = base;
  base = {};
  std::memcpy(&base, reduction.get(),
              std::min<size_t>(reduction->size, sizeof(base))); // it may be an older, smaller one
  base.size = own.size;
  base.retain = own.retain;
  base.release = own.release;
  base.prototype = core_operation_funcproto_id;
  base.instantiate = make_leaf;
  check_rows(*made, read_signature(*made));
  return kernel::adopt(made.release());
}

} // namespace dynd::nd

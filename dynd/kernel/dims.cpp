#include "dynd/kernel/dims.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/cursor.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"

namespace dynd {

namespace {

// ---- long rows ----------------------------------------------------------------------------------------------------

constexpr size_t undivided = 512; // elements, which may be long texts

// The child gets a long row in parts, between which all elements are whole and the evaluation may stop.
[[gnu::noinline]] int call_in_parts(const ckernel_prefix *child, char *const *stream, const intptr_t *stride,
                                    uint32_t nstreams, size_t count, dynd_frame *frame) {
  char *at[max_call_streams];
  std::memcpy(at, stream, nstreams * sizeof(char *));
  for (size_t done = 0, n; done < count; done += n) {
    n = std::min(undivided, count - done);
    int status = asks_to_stop(frame) ? int(dynd_error_cancelled) : call_strided(child, at, stride, n, frame);
    if (status) {
      add_to_failed_index(frame, done);
      return status;
    }
    for (uint32_t s = 0; s < nstreams; s++) {
      at[s] += stride[s] * intptr_t(n);
    }
  }
  return dynd_ok;
}

// ---- strided ------------------------------------------------------------------------------------------------------

struct strided_dim_kernel {
  ckernel_prefix base;
  uint32_t child, nstreams;
  size_t scratch; // where the streams are while they move
  intptr_t size;
  intptr_t stride[];
};

template <bool Divides>
int strided_dim(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                dynd_frame *frame) {
  auto *k = reinterpret_cast<const strided_dim_kernel *>(self);
  const ckernel_prefix *child = child_of(k);
  auto at = reinterpret_cast<char **>(frame->scratch + k->scratch);
  std::memcpy(at, stream, k->nstreams * sizeof(char *));
  for (size_t i = 0; i < count; i++) {
    int status = Divides ? call_in_parts(child, at, k->stride, k->nstreams, size_t(k->size), frame)
                         : call_strided(child, at, k->stride, size_t(k->size), frame);
    if (status) {
      fail_in_dimension(frame, i);
      return status;
    }
    advance(at, stride, k->nstreams);
  }
  return dynd_ok;
}

// A call of the child takes one row of many elements of this call, where all rows of one element would be too few.
int strided_dim_across(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                       dynd_frame *frame) {
  constexpr size_t together = 128; // small enough for the next row to find their lines in the cache
  auto *k = reinterpret_cast<const strided_dim_kernel *>(self);
  if (count <= size_t(k->size)) {
    return strided_dim<false>(stream, stride, count, self, frame);
  }
  auto at = reinterpret_cast<char **>(frame->scratch + k->scratch);
  for (size_t done = 0; done < count; done += together) {
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] = stream[s] + intptr_t(done) * stride[s];
    }
    for (intptr_t i = 0; i < k->size; i++) {
      if (int status = call_strided(child_of(k), at, stride, std::min(together, count - done), frame)) {
        return status;
      }
      advance(at, k->stride, k->nstreams);
    }
  }
  return dynd_ok;
}

// ---- var ----------------------------------------------------------------------------------------------------------

struct var_stream {
  intptr_t stride, unit;
  int32_t follows;
};

struct var_dim_kernel {
  ckernel_prefix base;
  uint32_t child, nstreams, nslots;
  int32_t pool;
  bool exact, divides;
  size_t scratch;      // where the streams are, outside and inside, with their strides there, and the rows
  var_stream stream[]; // then var_slots[nslots]

  const var_slots *slots() const { return reinterpret_cast<const var_slots *>(stream + nstreams); }
};

// Memory for a row of an assignment's destination that has none, or not as much.
int give_row(row_pool *pool, row_extent *row, dynd_frame *frame) {
  int64_t size = row[1].size;
  if (!pool && size == 0) {
    return dynd_ok;
  }
  row[0] = {pool ? pool->replace(row[0].start, row[0].size, size) : -1, size};
  return row[0].start >= 0 ? int(dynd_ok)
                           : report(frame, pool ? dynd_error_memory : dynd_error_value, "no memory for a row of %lld",
                                    (long long)size);
}

int var_dim(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const var_dim_kernel *>(self);
  const ckernel_prefix *child = child_of(k);
  const var_slots *slots = k->slots();
  auto at = reinterpret_cast<char **>(frame->scratch + k->scratch), inner = at + k->nstreams;
  auto inner_stride = reinterpret_cast<intptr_t *>(inner + k->nstreams);
  auto row = reinterpret_cast<row_extent *>(inner_stride + k->nstreams);
  std::memcpy(at, stream, k->nstreams * sizeof(char *));
  for (size_t i = 0; i < count; i++) {
    for (uint32_t e = 0; e < k->nslots; e++) {
      row[e] = slots[e].read(at);
    }
    auto *pool = k->pool >= 0 ? reinterpret_cast<row_pool *>(stream[k->pool]) : nullptr;
    bool fresh = k->pool >= 0 && has_no_memory(row[0]) && !has_no_memory(row[1]);
    bool replaced = k->exact && pool && !has_no_memory(row[0]) && row[0].size != row[1].size;
    if (int status = fresh || replaced ? give_row(pool, row, frame) : int(dynd_ok)) {
      fail_element(frame, i);
      return status;
    }
    if (replaced) { // its old place is not its own any more
      std::memcpy(at[slots[0].stream], row, sizeof(*row));
    }
    int64_t length = row[0].size;
    if (length == 0 && asks_after(frame, 1)) { // the child asks for rows with elements; one without counts as one
      return dynd_error_cancelled;
    }
    for (uint32_t e = 1; e < k->nslots; e++) {
      if (row[e].size != length && (row[e].size != 1 || k->exact)) {
        fail_element(frame, i);
        return report(frame, dynd_error_broadcast, "cannot broadcast a row of %lld to a row of %lld",
                      (long long)row[e].size, (long long)length);
      }
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      int32_t e = k->stream[s].follows;
      inner[s] = at[s];
      inner_stride[s] = k->stream[s].stride;
      if (e >= 0) {
        inner[s] += row[e].start * k->stream[s].unit;
        if (row[e].size != length) {
          inner_stride[s] = 0;
        }
      }
    }
    int status = k->divides && size_t(length) > undivided
                     ? call_in_parts(child, inner, inner_stride, k->nstreams, size_t(length), frame)
                     : call_strided(child, inner, inner_stride, size_t(length), frame);
    if (status) {
      if (fresh && pool) {
        pool->give_back(row[0].start, row[0].size);
      }
      fail_in_dimension(frame, i);
      return status;
    }
    if (fresh) {
      std::memcpy(at[slots[0].stream], row, sizeof(*row));
    }
    advance(at, stride, k->nstreams);
  }
  return dynd_ok;
}

// ---- observed -----------------------------------------------------------------------------------------------------

struct observed_kernel {
  ckernel_prefix base;
  uint32_t child, nstreams;
  int32_t level;
  uint32_t together; // without an observer: elements of one call
};

int observed(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const observed_kernel *>(self);
  frame_state *state = state_of(frame);
  kernel_observer *observer = state->observer;
  char *at[max_call_streams];
  std::memcpy(at, stream, k->nstreams * sizeof(char *));
  size_t alone = observer ? count : 0; // elements before this one are called alone
  for (size_t i = 0, n; i < count; i += n) {
    n = i < alone ? 1 : std::min<size_t>(count - i, k->together);
    if (state->stop && state->stop->poll()) {
      return dynd_error_cancelled;
    }
    if (observer) {
      observer->call(k->level, intptr_t(i), at);
    }
    int status = call_strided(child_of(k), at, n == 1 ? no_stride : stride, n, frame);
    if (status && n == 1) {
      add_to_failed_index(frame, i);
      return status;
    }
    if (status) { // which of them is the first?
      alone = i + n;
      n = 0;
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s] * intptr_t(n);
    }
  }
  return dynd_ok;
}

} // namespace

size_t begin_strided_dim(ckernel_builder &out, size_t offset, int nstreams, intptr_t size, const intptr_t *stride,
                         bool across, bool divides) {
  size_t bytes = sizeof(strided_dim_kernel) + size_t(nstreams) * sizeof(intptr_t);
  auto *whole = divides && size > intptr_t(undivided) ? strided_dim<true> : strided_dim<false>;
  auto *k = begin_level<strided_dim_kernel>(out, offset, bytes, across ? strided_dim_across : whole);
  k->nstreams = uint32_t(nstreams);
  k->scratch = ckernel_builder_reserve_scratch(&out, size_t(nstreams) * sizeof(char *));
  k->size = size;
  std::memcpy(k->stride, stride, size_t(nstreams) * sizeof(intptr_t));
  return offset + bytes;
}

var_slots slots_of(const kernel_operand &dimension) {
  return dimension.part.is_var() ? var_slots{dimension.stream(), dimension.slots()}
                                 : var_slots{0, slot_kind::none, dimension.size()};
}

void find_content_strides(const kernel_operand &dimension, intptr_t *stride, intptr_t *unit) {
  kernel_operand inside = dimension.element();
  for (int s = 0; s < inside.type()->nstreams; s++) {
    int at = inside.stream() + s;
    stride[at] = dimension.stride(inside.part.stream + s, dimension.part.dim);
    if (unit) {
      unit[at] = start_unit(stride[at], dimension.part.is_var() ? dimension.meta->step[dimension.part.stream] : 1);
    }
  }
}

size_t begin_var_dim(ckernel_builder &out, size_t offset, const var_dim_spec &spec) {
  size_t bytes =
      sizeof(var_dim_kernel) + size_t(spec.nstreams) * sizeof(var_stream) + size_t(spec.nslots) * sizeof(var_slots);
  auto *k = begin_level<var_dim_kernel>(out, offset, bytes, var_dim);
  k->nstreams = uint32_t(spec.nstreams);
  k->nslots = uint32_t(spec.nslots);
  k->scratch = ckernel_builder_reserve_scratch(&out, size_t(spec.nstreams) * (2 * sizeof(char *) + sizeof(intptr_t)) +
                                                         size_t(spec.nslots) * sizeof(row_extent));
  k->pool = spec.pool;
  k->exact = spec.exact;
  k->divides = spec.divides;
  for (int s = 0; s < spec.nstreams; s++) {
    k->stream[s] = {spec.stride[s], spec.unit[s], spec.follows[s]};
  }
  std::memcpy(const_cast<var_slots *>(k->slots()), spec.slots, size_t(spec.nslots) * sizeof(var_slots));
  return offset + bytes;
}

size_t begin_observed(ckernel_builder &out, size_t offset, int nstreams, int level, int together) {
  auto *k = begin_level<observed_kernel>(out, offset, sizeof(observed_kernel), observed);
  k->nstreams = uint32_t(nstreams);
  k->level = level;
  k->together = uint32_t(together);
  return offset + sizeof(observed_kernel);
}

} // namespace dynd

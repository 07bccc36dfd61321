// What the trees of tree.h are made of: the streams of their calls, a level for an axis with rows, the leaf.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/eval/task.h"
#include "dynd/kernel/chain.h"
#include "dynd/kernel/dims.h"

namespace dynd {

/// Whether no operand has rows along the axis.
inline bool is_simple(const task &t, int d) {
  auto has_no_rows = [d](const lowered_operand &operand) { return operand.slots[d] < 0; };
  return !t.shape.is_var(d) && std::all_of(t.lowered.begin(), t.lowered.end(), has_no_rows);
}

// ---- the streams of the calls -------------------------------------------------------------------------------------

/// The ports, then the slots that operands have of their own, then the space's.
struct call_streams {
  small_vector<const lowered_stream *, 16> stream;
  int16_t shape_slots[max_ndim];       ///< of each `var` axis
  small_vector<int16_t, 64> own_slots; ///< of operand o at axis d: [o * ndim + d], or -1
  int ndim;

  explicit call_streams(const task &t) : ndim(t.shape.ndim) {
    for (int p = 0; p < t.ports.size(); p++) {
      stream.push_back(&t.port_stream(p));
    }
    for (int o = 0; o < t.lowered.size(); o++) {
      for (int d = 0; d < ndim; d++) {
        int s = t.lowered[o].slots[d];
        own_slots.push_back(s < 0 ? int16_t(-1) : int16_t(stream.size()));
        if (s >= 0) {
          stream.push_back(&t.streams[s]);
        }
      }
    }
    for (int d = 0; d < ndim; d++) {
      if (t.shape.is_var(d)) {
        shape_slots[d] = int16_t(stream.size());
        stream.push_back(&t.shape.slots[size_t(t.shape.slot_index[d])]);
      }
    }
    if (stream.size() > max_call_streams) {
      fail(error_kind::value, std::string(t.name) + ": the operands have " + std::to_string(stream.size()) +
                                  " streams together; one evaluation takes " + std::to_string(max_call_streams));
    }
  }

  int count() const { return stream.size(); }
  int own(int o, int d) const { return own_slots[o * ndim + d]; }
  intptr_t stride(int s, int d) const { return stream[s]->stride[d]; }
};

/// Which rows each stream is in, at an axis where some operand has rows of its own.
struct var_axis_plan {
  small_vector<var_slots, 4> slots;
  small_vector<int16_t, 16> follows;
  small_vector<intptr_t, 16> stride, unit;

  var_axis_plan(const task &t, const call_streams &streams, int d) : divides_(t.divides) {
    for (int s = 0; s < streams.count(); s++) {
      follows.push_back(-1);
      stride.push_back(streams.stride(s, d));
      unit.push_back(streams.stride(s, d));
    }
    if (t.shape.is_var(d)) {
      const space_slots &own = t.shape.slots[size_t(t.shape.slot_index[d])];
      add_rows({streams.shape_slots[d], own.kind}, own.step);
      for (int e = d + 1; e < t.shape.ndim; e++) {
        if (t.shape.is_var(e)) {
          follow(streams.shape_slots[e], 0);
        }
      }
    } else {
      add_rows({0, slot_kind::none, t.shape.size[d]}, 1);
    }
    for (int o = 0; o < t.operands.size(); o++) {
      const lowered_operand &operand = t.lowered[o];
      if (!operand.has_rows[d]) {
        continue;
      }
      int index = 0; // the result's rows
      if (streams.own(o, d) >= 0) {
        index = slots.size();
        add_rows({streams.own(o, d), operand.kind[d]}, operand.step[d]);
      }
      for (int p = 0; p < t.ports.size(); p++) {
        if (t.ports[p].operand == o) {
          follow(p, index);
        }
      }
      for (int e = d + 1; e < t.shape.ndim; e++) {
        if (streams.own(o, e) >= 0) {
          follow(streams.own(o, e), index);
        }
      }
    }
  }

  size_t begin(ckernel_builder &out, size_t offset) const {
    return begin_var_dim(out, offset,
                         {.nstreams = follows.size(),
                          .nslots = slots.size(),
                          .slots = slots.data(),
                          .follows = follows.data(),
                          .stride = stride.data(),
                          .unit = unit.data(),
                          .divides = divides_});
  }

private:
  void add_rows(const var_slots &rows, int32_t step) {
    slots.push_back(rows);
    step_.push_back(step);
  }
  void follow(int s, int index) {
    follows[s] = int16_t(index);
    unit[s] = start_unit(stride[s], step_[index]);
  }
  small_vector<int32_t, 4> step_;
  bool divides_;
};

/// The program's ports are the first streams of a call. (For a trace there are more of them.)
chain_layout layout_of(const task &t);

/// The leaf, and its line of explain.
size_t make_leaf(ckernel_builder &out, size_t offset, const task &t, const chain_layout &layout,
                 kernel_request_t request, std::vector<explained_level> *levels);

} // namespace dynd

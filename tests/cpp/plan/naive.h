// The reference for the planner's tests: nested loops in C order over operands as they are, and the walk of a nest.
// A visit is the tuple of byte positions, one for each stream, at which one logical element is found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "dynd/plan/nest.h"

namespace dynd::plan_test {

using numbers = std::vector<intptr_t>;

/// As messages show a shape: "(3, 4)".
inline std::string shape_text(const numbers &sizes) {
  std::string text;
  for (intptr_t size : sizes) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "(" + text + ")";
}

/// An operand by its own sizes and strides, before broadcasting.
struct operand {
  numbers size;
  numbers stride;
};

/// Strides of a contiguous array whose axes lie in memory in the given order, the last of it the fastest.
inline numbers contiguous_strides(const numbers &size, const std::vector<int> &memory_order, intptr_t item_size) {
  numbers stride(size.size());
  intptr_t step = item_size;
  for (size_t i = memory_order.size(); i-- > 0;) {
    stride[memory_order[i]] = step;
    step *= size[memory_order[i]];
  }
  return stride;
}

inline numbers c_strides(const numbers &size, intptr_t item_size) {
  std::vector<int> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  return contiguous_strides(size, order, item_size);
}

inline operand c_array(const numbers &size, intptr_t item_size = 8) { return {size, c_strides(size, item_size)}; }

/// As architecture section 5 has it, written again without the planner: an axis counted from the right; size one and
/// missing axes stay where they are.
inline std::vector<numbers> naive_visits(const numbers &size, const std::vector<operand> &operands) {
  std::vector<numbers> visits;
  intptr_t count = 1;
  for (intptr_t s : size)
    count *= s;
  for (intptr_t flat = 0; flat < count; ++flat) {
    numbers visit(operands.size(), 0);
    intptr_t rest = flat;
    for (size_t from_right = 0; from_right < size.size(); ++from_right) {
      intptr_t extent = size[size.size() - 1 - from_right];
      intptr_t index = rest % extent;
      rest /= extent;
      for (size_t s = 0; s < operands.size(); ++s) {
        const operand &o = operands[s];
        if (from_right < o.size.size() && o.size[o.size.size() - 1 - from_right] != 1)
          visit[s] += index * o.stride[o.stride.size() - 1 - from_right];
      }
    }
    visits.push_back(visit);
  }
  return visits;
}

inline void walk_loops(const nest &n, int depth, const numbers &at, std::vector<numbers> &visits) {
  if (depth == n.loop_count) {
    visits.push_back(at);
    return;
  }
  numbers here = at;
  for (intptr_t i = 0; i < n.loops[depth].size; ++i) {
    walk_loops(n, depth + 1, here, visits);
    for (int s = 0; s < n.stream_count; ++s)
      here[s] += n.loops[depth].stride[s];
  }
}

inline std::vector<numbers> nest_visits(const nest &n) {
  std::vector<numbers> visits;
  walk_loops(n, 0, numbers(n.offset, n.offset + n.stream_count), visits);
  return visits;
}

inline std::vector<numbers> sorted(std::vector<numbers> visits) {
  std::sort(visits.begin(), visits.end());
  return visits;
}

/// True where some loop has size zero. After plan_loops that is a single loop of size zero.
inline bool is_empty(const nest &n) {
  return std::any_of(n.loops, n.loops + n.loop_count, [](const loop &l) { return l.size == 0; });
}

inline nest make_nest(const numbers &size, const std::vector<operand> &operands) {
  nest n;
  start_nest(n, size);
  for (const operand &o : operands)
    add_stream(n, o.size, o.stride.data());
  return n;
}

inline nest planned(const numbers &size, const std::vector<operand> &operands, loop_order order = loop_order::free) {
  nest n = make_nest(size, operands);
  plan_loops(n, numbers(operands.size(), 8).data(), order);
  return n;
}

/// A nest as numbers, for comparing with what is expected: {size, strides...} for each loop.
inline std::vector<numbers> loops_of(const nest &n) {
  std::vector<numbers> result;
  for (int i = 0; i < n.loop_count; ++i) {
    numbers row = {n.loops[i].size};
    row.insert(row.end(), n.loops[i].stride, n.loops[i].stride + n.stream_count);
    result.push_back(row);
  }
  return result;
}

inline numbers offsets_of(const nest &n) { return numbers(n.offset, n.offset + n.stream_count); }

inline nest nest_of(const std::vector<numbers> &loops) {
  nest n;
  n.loop_count = static_cast<int>(loops.size());
  n.stream_count = loops.empty() ? 0 : static_cast<int>(loops[0].size()) - 1;
  for (int s = 0; s < n.stream_count; ++s)
    n.offset[s] = 0;
  for (int i = 0; i < n.loop_count; ++i) {
    n.loops[i].size = loops[i][0];
    std::copy(loops[i].begin() + 1, loops[i].end(), n.loops[i].stride);
  }
  return n;
}

} // namespace dynd::plan_test

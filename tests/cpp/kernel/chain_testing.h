// Small programs of doubles, their layouts, and calls of chains, for the tests of chains.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "dynd/eval/frame.h"
#include "dynd/kernel/chain.h"
#include "dynd/ops/op_id.h"

namespace dynd::testing::chains {

using doubles = std::vector<double>;
using offsets = std::vector<int64_t>;

inline constexpr scalar_id float64 = scalar_id::float64;

// r0 * r1 + r0, with a temporary in between.
inline program multiply_add() {
  program p;
  uint8_t x = p.add_source(float64), y = p.add_source(float64);
  p.add_output(p.add_operation(op_id::add, float64, {p.add_operation(op_id::multiply, float64, {x, y}), x}));
  return p;
}

inline program sum_of_square() {
  program p;
  uint8_t x = p.add_source(float64);
  p.add_reduced(p.add_operation(op_id::square, float64, {x}), reduction_id::sum, false);
  return p;
}

inline const reduce_functions &sum_functions() { return isa().reduce(reduction_id::sum, float64); }

// The outputs at the streams from 0 on, the sources at those that follow.
inline chain_layout layout_of(chain_kind kind, const program &p, std::vector<intptr_t> axis_stride = {}) {
  chain_layout layout;
  layout.kind = kind;
  for (uint16_t i = 0; i < p.noutputs + p.nsources; i++) {
    chain_port &port = layout.ports.push_back({});
    port.stream = i;
    port.axis_stride = i < axis_stride.size() ? axis_stride[i] : 0;
  }
  return layout;
}

inline int run(const program &p, const chain_layout &layout, std::vector<const void *> stream,
               std::vector<intptr_t> stride, size_t count) {
  ckernel_builder kernel;
  EXPECT_EQ(make_chain(kernel, 0, p, layout) % 8, 0u);
  work_frame frame(kernel.scratch_size);
  std::vector<char *> address;
  for (const void *s : stream) {
    address.push_back(static_cast<char *>(const_cast<void *>(s)));
  }
  auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
  return function(address.data(), stride.data(), count, kernel.root(), &frame);
}

inline doubles ramp(size_t n, double from = 0) {
  doubles values(n);
  for (size_t i = 0; i < n; i++) {
    values[i] = from + double(i);
  }
  return values;
}

// In the order of summation that everything keeps (ops/loops.h).
inline double sum_of(const doubles &values) {
  alignas(64) char lanes[64];
  double total = 0;
  if (!values.empty()) {
    sum_functions().lanes(lanes, values.data(), values.size());
    sum_functions().fold(&total, lanes);
  }
  return total;
}

inline double square_sum(const double *x, size_t n, intptr_t step = 1) {
  doubles squares(n);
  for (size_t i = 0; i < n; i++) {
    squares[i] = x[intptr_t(i) * step] * x[intptr_t(i) * step];
  }
  return sum_of(squares);
}

inline constexpr intptr_t item = sizeof(double);

} // namespace dynd::testing::chains

// The compiled loops (loops.h) by ISA level (baseline, avx2, avx512); the level is chosen once, at first use.
#pragma once

#include "dynd/ops/loops.h"

namespace dynd {

struct choice_loops;
struct row_sort_loops;
enum class op_id : uint8_t;
enum class reduction_id : uint8_t;
enum class scan_id : uint8_t;

/// All loops of one ISA level. The accessors index plain tables. No member is an array by operation that has their
/// number as its size, so that a new operation rebuilds few files.
struct isa_table {
  const char *name;
  const conversion_loops *conversions;
  const reduction_loops *reductions[16]; ///< by reduction_id
  const scan_loops *scans[8];            ///< by scan_id
  const fetch_loops *fetches;
  const select_loops *selections;
  const pair_loops *pairs;
  const choice_loops *choices;
  const row_sort_loops *row_sorts;
  const narrow_sums *narrow;
  const operation_loops *operations[256]; ///< by op_id, of which there are no more

  /// Null where the operation does not compute in that type.
  batch_fn loop(op_id op, scalar_id computation) const { return operations[size_t(op)]->loop[size_t(computation)]; }
  /// For an operand that is one value (loops.h); null where there is no such loop.
  batch_fn constant_loop(op_id op, int operand, scalar_id computation) const {
    return operations[size_t(op)]->constant[operand][size_t(computation)];
  }
  /// With streaming stores (loops.h); null for two outputs, and where the operation can fail.
  batch_fn stream_loop(op_id op, scalar_id computation) const {
    return operations[size_t(op)]->stream[size_t(computation)];
  }
  /// Of float32 or float64; one: the third operand is one value.
  const pair_functions &pair(pair_first first, pair_second second, scalar_id type, bool one) const {
    return pairs->functions[size_t(first)][size_t(second)][type == scalar_id::float64][one];
  }
  /// Null for operations that do not compare.
  batch_fn mixed_loop(op_id op, mixed_pair pair) const { return operations[size_t(op)]->mixed[size_t(pair)]; }
  batch_fn convert(scalar_id to, scalar_id from) const { return conversions->plain[size_t(to)][size_t(from)]; }
  /// The unchecked one where there is nothing to check.
  batch_fn convert_checked(error_mode mode, scalar_id to, scalar_id from) const {
    return conversions->checked[size_t(mode)][size_t(to)][size_t(from)];
  }
  /// Whether the checked conversion may refuse a value.
  bool refuses(error_mode mode, scalar_id to, scalar_id from) const {
    return convert_checked(mode, to, from) != convert(to, from);
  }
  batch_fn convert_stream(error_mode mode, scalar_id to, scalar_id from) const {
    return conversions->stream[size_t(mode)][size_t(to)][size_t(from)];
  }
  /// dst[i] = a[i] with its bytes (of a complex number, those of each component) in the other order; null for types of
  /// one byte. dst may be a.
  batch_fn swap_bytes(scalar_id scalar) const { return conversions->swap_bytes[size_t(scalar)]; }
  const reduce_functions &reduce(reduction_id reduction, scalar_id accumulator) const {
    return reductions[size_t(reduction)]->functions[size_t(accumulator)];
  }
  /// Sums of elements that are not converted before; null where there is no such loop.
  const reduce_functions *sum_of(scalar_id elements) const {
    const reduce_functions &found = narrow->functions[size_t(elements)];
    return found.lanes ? &found : nullptr;
  }
  const scan_functions &scan(scan_id scan, scalar_id accumulator) const {
    return scans[size_t(scan)]->functions[size_t(accumulator)];
  }
  const fetch_functions &fetch(int log2_item_size) const { return fetches->functions[log2_item_size]; }
};

/// The best table for this CPU, or the one named by the environment variable DYND_CPU_LEVEL when the CPU can run it.
const isa_table &isa();

/// All tables that this CPU can run, the baseline first; null-terminated.
const isa_table *const *runnable_isa_tables();

} // namespace dynd

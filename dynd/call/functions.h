// The operations as C++ functions and operators: one for each operation of ops/.
#pragma once

#include <type_traits>
#include <utility>

#include "dynd/array/view.h"
#include "dynd/call/callable.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/scan.h"
#include "dynd/eval/threads.h"
#include "dynd/ops/op_id.h"

namespace dynd::nd {

namespace detail {

// A handle that is passed as an rvalue is dropped here: if it is lazy its values need not be kept. (Left to the caller,
// the temporaries of (a * b + c) / d would live to the end of the whole expression, as owners of their own.)
template <class A> void drop_rvalue([[maybe_unused]] A &&operand) {
  if constexpr (!std::is_lvalue_reference_v<A>) {
    operand = array();
  }
}

/// An array, or what makes one.
template <class A>
concept operand = std::is_convertible_v<A, array>;
template <class A> inline constexpr bool is_array = std::is_same_v<std::remove_cvref_t<A>, array>;
template <class... A> inline constexpr bool has_array = (is_array<A> || ...);

template <class A> decltype(auto) to_array(A &&operand) {
  if constexpr (is_array<A>) {
    return std::forward<A>(operand);
  } else {
    return array(std::forward<A>(operand));
  }
}

template <op_id op, int noutputs, class... A> auto call(A &&...operands) {
  array_block *blocks[] = {operands.get()...};
  unsigned last_use = 0, bit = 1;
  ((last_use |= std::is_lvalue_reference_v<A> ? 0 : bit, bit *= 2), ...);
  call_operands all = {blocks, int(sizeof...(A)), last_use};
  if constexpr (noutputs == 2) {
    ref<array_block> results[2];
    evaluate(op, all, results);
    return std::pair(array(std::move(results[0])), array(std::move(results[1])));
  } else {
    array result(evaluate(op, all));
    (drop_rvalue(std::forward<A>(operands)), ...);
    return result;
  }
}

} // namespace detail

#define DYND_OPERATION_NAME(name, signature)                                                                           \
  template <detail::operand... A>                                                                                      \
  requires(detail::has_array<A...> && sizeof...(A) == parse_signature(signature).noperands) auto name(                 \
      A &&...operands) {                                                                                               \
    return detail::call<op_id::name, parse_signature(signature).noutputs>(                                             \
        detail::to_array(std::forward<A>(operands))...);                                                               \
  }
#include "dynd/ops/operation_names.h"
#undef DYND_OPERATION_NAME

/// nd::sum(a), nd::sum(a, 1), nd::sum(a, {0, 1}, {.keepdims = true, .where = mask.get()})
#define DYND_AGGREGATE(name, ...)                                                                                      \
  inline array name(const array &a, const reduced_axes &axes = {}, const reduction_keywords &keywords = {}) {          \
    return array(evaluate(aggregate_id::name, a.get(), false, axes, keywords));                                        \
  }                                                                                                                    \
  inline array name(array &&a, const reduced_axes &axes = {}, const reduction_keywords &keywords = {}) {               \
    return array(evaluate(aggregate_id::name, a.get(), true, axes, keywords));                                         \
  }
#include "dynd/ops/aggregates.def"
#undef DYND_AGGREGATE

#define DYND_SCAN(name, set, accumulator, combine, identity, doc)                                                      \
  inline array name(const array &a, std::optional<int> axis = std::nullopt, bool include_initial = false,              \
                    std::optional<scalar_id> dtype = std::nullopt) {                                                   \
    return array(evaluate(scan_id::name, a.get(), false, axis, include_initial, dtype));                               \
  }                                                                                                                    \
  inline array name(array &&a, std::optional<int> axis = std::nullopt, bool include_initial = false,                   \
                    std::optional<scalar_id> dtype = std::nullopt) {                                                   \
    return array(evaluate(scan_id::name, a.get(), true, axis, include_initial, dtype));                                \
  }
#include "dynd/ops/scans.def"
#undef DYND_SCAN

/// The left fold by an operation (T, T) -> T, along an axis or over everything.
inline array reduce(op_id op, const array &a, std::optional<int> axis = std::nullopt, const array &identity = {}) {
  return array(fold_left(op, a.get(), false, axis, identity.get()));
}

/// a[1:] - a[:-1] along an axis, n times.
inline array diff(const array &a, int n = 1, int axis = -1) { return differences(a, n, axis); }

inline array vecdot(const array &a, const array &b, const reduced_axes &axes = -1,
                    const reduction_keywords &keywords = {}) {
  return array(dynd::vecdot(a.get(), b.get(), axes, keywords));
}

#define DYND_OPERATOR(symbol, name)                                                                                    \
  template <class A, class B>                                                                                          \
  requires(detail::has_array<A, B>) array operator symbol(A &&a, B &&b) {                                              \
    return name(std::forward<A>(a), std::forward<B>(b));                                                               \
  }
DYND_OPERATOR(+, add)
DYND_OPERATOR(-, subtract)
DYND_OPERATOR(*, multiply)
DYND_OPERATOR(/, divide)
DYND_OPERATOR(%, remainder)
DYND_OPERATOR(&, bitwise_and)
DYND_OPERATOR(|, bitwise_or)
DYND_OPERATOR(^, bitwise_xor)
DYND_OPERATOR(<<, bitwise_left_shift)
DYND_OPERATOR(>>, bitwise_right_shift)
#undef DYND_OPERATOR

template <class A>
requires(detail::is_array<A>) array operator~(A &&a) { return bitwise_invert(std::forward<A>(a)); }

/// A copy in C order (rows one after another) with its own memory.
inline array copy(const array &a, access_mode access) { return array(copy_values(a.get(), access)); }

/// dst[...] = src.
inline void assign(const array &dst, const array &src, error_mode mode = error_mode::fractional) {
  dynd::assign(dst.get(), src.get(), mode);
}

} // namespace dynd::nd

// The operations as C++ functions and operators: one for each row of ops/.
#pragma once

#include <type_traits>
#include <utility>

#include "dynd/array/view.h"
#include "dynd/call/lift.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/threads.h"

namespace dynd::nd {

namespace detail {

// A handle that is passed as an rvalue is dropped here: what waits in it need not be kept. (Left to the caller, the
// temporaries of (a * b + c) / d would live to the end of the whole expression, and look as if somebody wanted them.)
template <class A> void drop_rvalue([[maybe_unused]] A &&operand) {
  if constexpr (!std::is_lvalue_reference_v<A>) {
    operand = array();
  }
}

template <class... A> array call(op_id op, A &&...operands) {
  array_block *blocks[] = {operands.get()...};
  unsigned dying = 0, bit = 1;
  ((dying |= std::is_lvalue_reference_v<A> ? 0 : bit, bit *= 2), ...);
  array result(evaluate(op, {blocks, int(sizeof...(A)), dying}));
  (drop_rvalue(std::forward<A>(operands)), ...);
  return result;
}

} // namespace detail

#define DYND_UNARY(name, set, flags, expression, doc)                                                                  \
  inline array name(const array &a) { return detail::call(op_id::name, a); }                                           \
  inline array name(array &&a) { return detail::call(op_id::name, std::move(a)); }
#define DYND_MAGNITUDE(...) DYND_UNARY(__VA_ARGS__)
#define DYND_BINARY(name, set, flags, expression, doc)                                                                 \
  inline array name(const array &a, const array &b) { return detail::call(op_id::name, a, b); }                        \
  inline array name(array &&a, const array &b) { return detail::call(op_id::name, std::move(a), b); }                  \
  inline array name(const array &a, array &&b) { return detail::call(op_id::name, a, std::move(b)); }                  \
  inline array name(array &&a, array &&b) { return detail::call(op_id::name, std::move(a), std::move(b)); }
#define DYND_COMPARE(...) DYND_BINARY(__VA_ARGS__)
#define DYND_SELECT(name, set, flags, expression, doc)                                                                 \
  inline array name(const array &a, const array &b, const array &c) { return detail::call(op_id::name, a, b, c); }
#define DYND_BINARY2(name, set, flags, bad, expression1, expression2, doc)                                             \
  inline std::pair<array, array> name(const array &a, const array &b) {                                                \
    array_block *blocks[] = {a.get(), b.get()};                                                                        \
    ref<array_block> results[2];                                                                                       \
    evaluate2(op_id::name, {blocks, 2}, results);                                                                      \
    return {array(std::move(results[0])), array(std::move(results[1]))};                                               \
  }
#include "dynd/ops/elementwise.def"
#undef DYND_UNARY
#undef DYND_MAGNITUDE
#undef DYND_BINARY
#undef DYND_COMPARE
#undef DYND_SELECT
#undef DYND_BINARY2

#define DYND_REDUCTION(name, set, accumulator, combine, identity, empty, doc)                                          \
  inline array name(const array &a, int axis = all_axes, bool keepdims = false) {                                      \
    return array(evaluate(reduction_id::name, a.get(), false, axis, keepdims));                                        \
  }                                                                                                                    \
  inline array name(array &&a, int axis = all_axes, bool keepdims = false) {                                           \
    return array(evaluate(reduction_id::name, a.get(), true, axis, keepdims));                                         \
  }
#include "dynd/ops/reductions.def"
#undef DYND_REDUCTION

#define DYND_OPERATOR(symbol, name)                                                                                    \
  template <class A, class B>                                                                                          \
  requires(std::is_same_v<std::remove_cvref_t<A>, array> || std::is_same_v<std::remove_cvref_t<B>, array>) array       \
  operator symbol(A &&a, B &&b) {                                                                                      \
    return name(std::forward<A>(a), std::forward<B>(b));                                                               \
  }
DYND_OPERATOR(+, add)
DYND_OPERATOR(-, subtract)
DYND_OPERATOR(*, multiply)
DYND_OPERATOR(/, divide)
#undef DYND_OPERATOR

/// A copy in C order (rows one after another) with its own memory.
inline array copy(const array &a, access_mode access) { return array(copy_values(a.get(), access)); }

/// dst[...] = src.
inline void assign(const array &dst, const array &src, error_mode mode = error_mode::fractional) {
  dynd::assign(dst.get(), src.get(), mode);
}

} // namespace dynd::nd

// Every allocation fails in turn, of what is in no table: the levels of a kernel, lazy arrays, errors, external kernels
// together. Each is a line in allocation_failure.def.
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>

#include "allocations.h"
#include "dynd/array/view.h"
#include "dynd/call/composed.h"
#include "dynd/call/creation.h"
#include "dynd/call/distribution.h"
#include "dynd/call/fold.h"
#include "dynd/call/functions.h"
#include "dynd/call/groups.h"
#include "dynd/call/join.h"
#include "dynd/call/linear.h"
#include "dynd/call/order.h"
#include "dynd/call/selection.h"
#include "dynd/call/structure.h"
#include "dynd/call/wrap.h"
#include "dynd/call/wrap_core.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/row_functions.h"
#include "dynd/eval/settings.h"
#include "dynd/type/pattern.h"
#include "eval/allocation_scenarios.h"

namespace dynd::testing {
namespace {

// ---- parts of scenarios ---------------------------------------------------------------------------------------------

/// a[:, ::step] as a view: short immutable rows are copied.
nd::array inside(nd::array a, intptr_t step) {
  if (a->access == access_mode::immutable) {
    a = nd::array(copy_values(a.get(), access_mode::readwrite));
  }
  nd::index indices[] = {{nd::index::ellipsis, 0, {}, {}, {}}, {nd::index::slice, 0, 0, {}, step}};
  indices[1].start = step < 0 ? std::optional<intptr_t>() : 0;
  return nd::at(a, indices);
}

nd::array rows(row_function function, const nd::array &a, int axis = -1) {
  return nd::array(evaluate_rows({{"rows", function}, a.get(), false, axis}, thread_settings()));
}

/// Lazy functions of rows: one has another owner, one is absorbed.
result standardized(const nd::array &a) {
  nd::array mean(evaluate_rows({{"mean", row_function::mean}, a.get(), false, -1, true}, thread_settings()));
  nd::array deviation(evaluate_rows({{"std", row_function::deviation}, a.get(), false, -1, true}, thread_settings()));
  return {(a - mean) / std::move(deviation), mean};
}

/// Values grouped by keys, and by both in rows of ten: keys, rows, aggregates.
result grouped(const nd::array &values, const nd::array &keys) {
  nd::groups groups(std::vector{keys}, {}, false), twice(std::vector{keys, values}, {}, true);
  std::vector<nd::group_reduction> reductions = {{aggregate_id::sum, values}, {aggregate_id::std, values}};
  nd::groups in_rows(std::vector{nd::unflatten(keys, nd::array(10))}, {}, false, 1);
  return {groups.keys(), groups.rows(values), groups.reduce(reductions)[1], groups.spread(groups.keys()),
          in_rows.keys()};
}

/// Structs of keys and values, joined with those of other keys.
result joined(const nd::array &keys, const nd::array &others) {
  const std::string names[] = {"k", "x", "y"}, on[] = {"k"};
  nd::array left = nd::zip(std::span(names, 2), std::vector{keys, keys});
  nd::array right = nd::zip(std::vector{names[0], names[2]}, std::vector{others, others});
  return {nd::join(left, right, on, nd::join_kind::inner), nd::join(left, right, on, nd::join_kind::outer),
          nd::join(left, right, on, nd::join_kind::anti)};
}

/// So many keys, far from each other, that they are matched in parts; the sum of what is found.
result joined_in_parts(const nd::array &numbers) {
  const std::string names[] = {"k", "x", "y"}, on[] = {"k"};
  nd::array keys = numbers * nd::array(int64_t(1) << 40);
  nd::array left = nd::zip(std::span(names, 2), std::vector{keys, numbers});
  nd::array right = nd::zip(std::vector{names[0], names[2]}, std::vector{keys, numbers});
  return {nd::sum(nd::field(nd::join(left, right, on, nd::join_kind::left), "y"))};
}

result both(std::pair<nd::array, nd::array> two) { return {two.first, two.second}; }

/// What fails with an error of the user's is as good as a result; only memory errors go on.
template <class F> result expecting(error_kind kind, F f) {
  try {
    f();
  } catch (const error &e) {
    if (e.kind() == kind) {
      return {};
    }
    throw;
  }
  ADD_FAILURE() << "no error";
  return {};
}

template <class F> result traced(F f) {
  observation seen;
  seen.tracing = true;
  observed_scope watched(&seen);
  result traced = {f()};
  trace_text(seen);
  return traced;
}

/// 40 operations on one another, more than one group holds.
// a[by]
nd::array selected(const nd::array &a, const nd::array &by) {
  selector one{{}, by};
  return select(a, {&one, 1});
}

nd::array assigned_to_selected(const nd::array &a, const nd::array &by) {
  selector one{{}, by};
  assign_selected(a, {&one, 1}, nd::array(0.5));
  return a;
}

nd::array long_chain(const nd::array &a) {
  nd::array chain = a;
  for (int i = 0; i < 40; i++) {
    chain = i % 2 ? chain + a : chain * 0.5;
  }
  return chain;
}

result kept_and_summed(const nd::array &a) {
  nd::array twice = a * 2.0;
  return {nd::sum(twice), twice};
}

result held(const nd::array &a, const nd::array &b) {
  nd::array product = a * b, sum = product + a, root = nd::sqrt(sum);
  root.eval();
  return {product, sum, root};
}

/// A function that is wrapped, lifted, called and forgotten.
template <class F, class... A> result lifted(F f, const A &...operands) {
  const nd::array all[] = {operands...};
  return all_of(nd::callable(nd::make_kernel("lambda", f, dynd_callable_pure)).call_all(all));
}

/// Kernels with core dimensions: rows to rows of the same lengths, and to one number each.
result core_rows(const nd::array &a) {
  auto running = [](std::span<double> to, std::span<const double> from) {
    std::partial_sum(from.begin(), from.end(), to.begin());
  };
  auto dot = [](std::span<const double> x, std::span<const double> y, const nd::given_keywords &k) {
    return std::inner_product(x.begin(), x.end(), y.begin(), k.get<double>("start"));
  };
  nd::callable product(nd::make_kernel("dot", "(N * float64, N * float64, *, start: float64 = 1) -> float64", dot));
  nd::array sums = nd::callable(nd::make_kernel("running", "(N * float64) -> N * float64", running))(a);
  return {sums, product(a, sums)};
}

nd::array folded(const nd::array &a) {
  return nd::fold(nd::callable(nd::make_kernel("minus", [](double x, double y) { return 2 * x - y; })), a, -1,
                  nd::array(0));
}

/// A reduction of a plug-in: the sum, by states that are combined.
nd::array reduced(const nd::array &a) {
  static const dynd_reduction sum = {
      sizeof(dynd_reduction),
      DYND_ABI_VERSION,
      sizeof(double),
      [](void *state) { *static_cast<double *>(state) = 0; },
      [](void *state, const char *const *values, const intptr_t *stride, size_t count, dynd_frame *) -> int {
        for (size_t i = 0; i < count; i++) {
          *static_cast<double *>(state) += *reinterpret_cast<const double *>(values[0] + intptr_t(i) * stride[0]);
        }
        return dynd_ok;
      },
      [](void *state, const void *later, dynd_frame *) -> int {
        *static_cast<double *>(state) += *static_cast<const double *>(later);
        return dynd_ok;
      },
      [](void *state, char *dst, dynd_frame *) -> int {
        std::memcpy(dst, state, sizeof(double));
        return dynd_ok;
      }};
  static const deferred_ckernel kernel = {sizeof(deferred_ckernel),
                                          DYND_ABI_VERSION,
                                          reduction_funcproto_id,
                                          0,
                                          "total",
                                          "(N * float64) -> float64",
                                          nullptr,
                                          const_cast<dynd_reduction *>(&sum),
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          nullptr};
  return nd::callable(kernel)(a);
}

/// A kernel of the core prototype without data of its own.
template <core_operation_t Function> nd::array called(const char *signature, uint32_t flags, const nd::array &a) {
  deferred_ckernel kernel = {};
  kernel.size = sizeof(kernel);
  kernel.version = DYND_ABI_VERSION;
  kernel.prototype = core_operation_funcproto_id;
  kernel.flags = flags;
  kernel.name = "called";
  kernel.signature = signature;
  kernel.instantiate = [](const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) {
    intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
    if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
      return intptr_t(dynd_error_memory);
    }
    reinterpret_cast<ckernel_prefix *>(out->data + offset)->set_function(Function);
    return end;
  };
  return nd::callable(kernel)(a);
}

int count_up(const dynd_core_call *call, const ckernel_prefix *, dynd_frame *) {
  for (size_t i = 0; i < call->count; i++) {
    intptr_t count = 2 * dynd_core_size(call, 0, i);
    auto *to = reinterpret_cast<int64_t *>(dynd_core_make(call, 0, i, count));
    if (!to) {
      return dynd_error_memory;
    }
    std::iota(to, to + count, int64_t(0));
  }
  return dynd_ok;
}

int copy_block(const dynd_core_call *call, const ckernel_prefix *, dynd_frame *) {
  for (size_t i = 0; i < call->count; i++) {
    size_t count = size_t(dynd_core_size(call, 0, i) * dynd_core_size(call, 1, i));
    std::memcpy(dynd_core_data(call, 0, i), dynd_core_data(call, 1, i), count * sizeof(double));
  }
  return dynd_ok;
}

nd::array rows_made(const nd::array &a) { return called<count_up>("(N * float64) -> var * int64", 0, a); }
nd::array in_f_order(const nd::array &a) {
  return called<copy_block>("(M * N * float64) -> M * N * float64", dynd_callable_f_layout, a);
}

/// A pattern that is matched and put together again: the type of an array like `a`.
nd::array matched(const nd::array &a) {
  ndt::type pattern("Dims... * N * Float T");
  ndt::type same = ndt::substitute(pattern, ndt::match(a.type(), pattern));
  return same == a.type() ? a : nd::array();
}

nd::array negated(const nd::array &a) { return nd::call(samples[unary_operation_funcproto_id], {&a, 1}); }

/// The same by a kernel that says it cannot fail: lazy where the array is large.
nd::array negated_lazily(const nd::array &a) {
  static const deferred_ckernel lazy = [] {
    deferred_ckernel kernel = samples[unary_operation_funcproto_id];
    kernel.flags = dynd_callable_pure | dynd_callable_total;
    return kernel;
  }();
  return nd::call(lazy, {&a, 1});
}

/// Four external kernels of all prototypes but the predicate, with built-in steps between them, in one program.
result several_external(const nd::array &a) {
  nd::array x = negated_lazily(a + a), y = negated_lazily(x * 0.5);
  const nd::array operands[] = {x, y - a, negated_lazily(y), a};
  return all_of(nd::callable(samples[multi_operation_funcproto_id]).call_all(operands));
}

// ---- the scenarios ------------------------------------------------------------------------------------------------

constexpr const char *large = "100 * 100 * float64";                      // lazy
constexpr const char *ragged = "30 * var * float64";                      // rows of 2, 0, 1, 3 ...
constexpr const char *nested = "[[[1, 2], [3]], [[4]], [[], [5, 6, 7]]]"; // 3 * var * var
const char *const texts = R"(["b", "a", "", "a", "a longer text", "b", "a longer text", "c", "a", "d"])";
constexpr const char *words = "[[\"a\", \"\", \"b\"], [\"c\"]]";
constexpr const char *structs = "1 * {a: string, b: (int8, var * float64), c: ?pointer[bytes]}";
constexpr const char *pairs = "3 * {x: int32, y: ?float64}";
constexpr const char *pair_values = "[{x: 1, y: 2}, {x: 3, y: null}, {x: 4, y: 5}]";
constexpr const char *ones = "[[[1], [2]], [[3]], [[4]]]"; // the last sublist stretches

const scenario scenarios[] = {
#define OPERANDS(...)                                                                                                  \
  { __VA_ARGS__ }
#define SCENARIO(name, kernel, operands, ...)                                                                          \
  {name, kernel, OPERANDS operands, [](const arrays &x) { return result{__VA_ARGS__}; }},
#include "allocation_failure.def"
#undef SCENARIO
#undef OPERANDS
};

// ---- from the lines -------------------------------------------------------------------------------------------------

class AllocationFailure : public ::testing::TestWithParam<scenario> {};

std::string test_name(const ::testing::TestParamInfo<scenario> &info) {
  std::string name;
  for (char c : info.param.name) {
    name += c == ' ' ? "_" : c == ',' ? "" : std::string(1, c);
  }
  return name;
}

TEST_P(AllocationFailure, NothingLeaksAndNothingChanges) { expect_to_survive(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Scenarios, AllocationFailure, ::testing::ValuesIn(scenarios), test_name);

// ---- apart from both -------------------------------------------------------------------------------------------

TEST(AllocationFailure, OnSeveralThreads) {
  // Scratch of the workers stays with them, so what lives is not counted here (the address sanitizer looks for leaks).
  set_num_threads(4);
  const scenario threaded[] = {
      {"flat", "chain flat", {{"300000 * int32"}}, [](const arrays &x) { return result{x[0] / view(x[0], -1)}; }},
      {"sum", "reduce", {{"300000 * float32"}}, [](const arrays &x) { return result{nd::sum(x[0])}; }},
      {"ragged", "chain", {{"200000 * var * int8"}}, [](const arrays &x) { return result{nd::sum(x[0], 1)}; }}};
  for (const scenario &s : threaded) {
    std::string expected = results_of(s);
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      outcome o = attempt_on_new_thread(s, n, false);
      happened = o.happened;
      ASSERT_TRUE(o.results == expected) << s.name << " " << n;
    }
  }
  set_num_threads(1);
}

TEST(AllocationFailure, TypesAreWholeOrNotThere) {
  for (bool all_after : {false, true}) {
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      std::string text = std::to_string(1000 + 2 * n + all_after) + " * var * strided * 77 * int8";
      try {
        failing_allocation failing(n, all_after);
        happened = true;
        ndt::type type(text);
        happened = failing.happened();
      } catch (const std::bad_alloc &) {
      } catch (const error &e) {
        EXPECT_EQ(e.kind(), error_kind::memory);
      }
      ndt::type type(text);
      EXPECT_EQ(type.str(), text);
      EXPECT_EQ(type, ndt::type(text));
    }
  }
}

} // namespace
} // namespace dynd::testing

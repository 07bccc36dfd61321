// Every allocation is made to fail in turn while kernels are built and run: an error of kind memory, nothing leaked,
// nothing changed, and the same evaluation then succeeds. What is evaluated is a line in allocation_failure.def.
//
// Each attempt runs on a thread of its own, so that what a thread keeps (scratch, small blocks) is allocated anew; what
// the process keeps for reuse is given back first.
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/eval/observe.h"
#include "dynd/memory/buffer.h"
#include "fixture.h"

namespace dynd::testing {
namespace {

using arrays = std::vector<nd::array>;
using result = std::array<nd::array, 3>; // no allocation of our own after an assignment was made

/// ramp(type), or parse(type, values); writable ones for destinations.
struct operand {
  const char *type;
  const char *values = nullptr;
  access_mode access = access_mode::immutable;
  nd::array make() const { return values ? parse(type, values, access) : ramp(type, access); }
};
constexpr access_mode writable = access_mode::readwrite;

constexpr const char *any = "";

struct scenario {
  const char *name;
  const char *kernel; ///< a part of what explain says: that the kernel is the one that is meant; or `any`
  std::vector<operand> operands;
  result (*run)(const arrays &x);
};

void PrintTo(const scenario &s, std::ostream *out) { *out << s.name; }

// ---- parts of scenarios ---------------------------------------------------------------------------------------------

nd::array view(const nd::array &a, intptr_t step) {
  nd::index every{nd::index::slice, 0, {}, {}, step};
  return nd::at(a, {&every, 1});
}

/// a[:, ::step]
nd::array inside(const nd::array &a, intptr_t step) {
  nd::index indices[] = {{nd::index::ellipsis, 0, {}, {}, {}}, {nd::index::slice, 0, 0, {}, step}};
  indices[1].start = step < 0 ? std::optional<intptr_t>() : 0;
  return nd::at(a, indices);
}

nd::array assigned(const nd::array &dst, const nd::array &src) {
  nd::assign(dst, src);
  return dst;
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
  struct scope {
    observation seen;
    scope() {
      seen.tracing = true;
      current_observation() = &seen;
    }
    ~scope() { current_observation() = nullptr; }
  } watching;
  result traced = {f()};
  trace_text(watching.seen);
  return traced;
}

/// 40 operations on one another, more than one group holds.
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

// A stranger's kernel with memory of its own, counted.
int foreign_owners = 0;
int64_t foreign_memory = 0;

struct negate_kernel {
  ckernel_prefix base;
  char *memory;
};

const deferred_ckernel negate = {
    sizeof(deferred_ckernel),
    DYND_ABI_VERSION,
    unary_operation_funcproto_id,
    0,
    "negate",
    "(float64) -> float64",
    nullptr,
    nullptr,
    [](const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) -> intptr_t {
      intptr_t end = offset + intptr_t(sizeof(negate_kernel)) + 1500; // so much that the builder has to grow
      if (int status = ckernel_builder_ensure_capacity_leaf(out, size_t(end))) {
        return status;
      }
      auto *k = reinterpret_cast<negate_kernel *>(out->data + offset);
      k->base.destructor = [](ckernel_prefix *self) {
        delete[] reinterpret_cast<negate_kernel *>(self)->memory;
        foreign_memory--;
      };
      foreign_memory++;
      k->memory = new (std::nothrow) char[100];
      if (!k->memory) {
        return dynd_error_memory;
      }
      k->base.function = reinterpret_cast<void *>(static_cast<unary_strided_operation_t>(
          [](char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count, const ckernel_prefix *,
             dynd_frame *frame) -> int {
            if (count < 64 && !frame->temp(frame, count)) { // in the last block: once a run
              return dynd_error_memory;
            }
            for (size_t i = 0; i < count; i++) {
              double value;
              std::memcpy(&value, src + intptr_t(i) * src_stride, sizeof(value));
              value = -value;
              std::memcpy(dst + intptr_t(i) * dst_stride, &value, sizeof(value));
            }
            return dynd_ok;
          }));
      return end;
    },
    [](const deferred_ckernel *) { foreign_owners++; },
    [](const deferred_ckernel *) { foreign_owners--; }};

nd::array negated(const nd::array &a) { return nd::call(negate, {&a, 1}); }

// ---- the table ------------------------------------------------------------------------------------------------------

constexpr const char *large = "100 * 100 * float64";                      // waits
constexpr const char *ragged = "30 * var * float64";                      // rows of 2, 0, 1, 3 ...
constexpr const char *nested = "[[[1, 2], [3]], [[4]], [[], [5, 6, 7]]]"; // 3 * var * var
constexpr const char *words = "[[\"a\", \"\", \"b\"], [\"c\"]]";
constexpr const char *structs = "1 * {a: string, b: (int8, var * float64), c: ?pointer[bytes]}";
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

// ---- the attempts ---------------------------------------------------------------------------------------------------

template <class List> std::string all_bits(const List &list) {
  std::string all;
  for (const nd::array &a : list) {
    all += a ? bits(a) : "";
  }
  return all;
}

result run(const scenario &s, const arrays &operands) {
  result results = s.run(operands);
  for (const nd::array &a : results) {
    if (a) {
      a.eval();
    }
  }
  return results;
}

arrays make_operands(const scenario &s) {
  arrays operands;
  for (const operand &o : s.operands) {
    operands.push_back(o.make());
  }
  return operands;
}

struct outcome {
  bool happened = false; ///< some allocation failed
  std::string thrown;    ///< empty: nothing was
  std::string results;   ///< of the attempt, or of the one after it failed
  bool unchanged = true; ///< the operands, where the attempt failed
};

// The n-th allocation fails; then, if that was an error, the same once more with memory.
void attempt(const scenario &s, int64_t n, bool all_after, outcome &o) {
  arrays operands = make_operands(s);
  result results;
  std::string before = all_bits(operands);
  char thrown[64] = "";
  trim_memory();
  trim_blocks();
  {
    failing_allocation failing(n, all_after);
    try {
      results = run(s, operands);
    } catch (const error &e) {
      std::strcpy(thrown, e.kind() == error_kind::memory ? "memory" : "an error of another kind");
    } catch (const std::bad_alloc &) {
      std::strcpy(thrown, "memory");
    }
    o.happened = failing.happened();
  }
  o.thrown = thrown;
  if (!o.thrown.empty()) {
    o.unchanged = all_bits(operands) == before;
    results = run(s, operands);
  }
  o.results = all_bits(results);
}

outcome attempt_on_new_thread(const scenario &s, int64_t n, bool all_after) {
  outcome o;
  std::thread([&] { attempt(s, n, all_after, o); }).join();
  trim_memory();
  return o;
}

class AllocationFailure : public ::testing::TestWithParam<scenario> {};

std::string test_name(const ::testing::TestParamInfo<scenario> &info) {
  std::string name;
  for (const char *c = info.param.name; *c; c++) {
    name += *c == ' ' ? "_" : *c == ',' ? "" : std::string(1, *c);
  }
  return name;
}

TEST_P(AllocationFailure, NothingLeaksAndNothingChanges) {
  const scenario &s = GetParam();
  set_num_threads(1);
  constexpr int64_t no_failure = 1 << 30;
  std::string expected = attempt_on_new_thread(s, no_failure, false).results; // types are interned, statics made
  if (s.kernel[0]) {
    observation seen;
    current_observation() = &seen;
    run(s, make_operands(s));
    current_observation() = nullptr;
    EXPECT_NE(explanation_text(seen).find(s.kernel), std::string::npos) << explanation_text(seen);
  }
  trim_blocks();
  trim_memory();
  for (bool all_after : {false, true}) {
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      ASSERT_LT(n, 3000) << "does it ever succeed?";
      SCOPED_TRACE("allocation " + std::to_string(n) + (all_after ? " and all after it" : ""));
      int64_t live = live_allocations(), waiting = waiting_bytes.load();
      std::string thrown;
      {
        outcome o = attempt_on_new_thread(s, n, all_after);
        happened = o.happened;
        ASSERT_TRUE(o.thrown == "memory" || o.thrown.empty()) << o.thrown;
        ASSERT_TRUE(o.results == expected) << (o.thrown.empty() ? "" : "the attempt after the failure");
        ASSERT_TRUE(o.unchanged);
        ASSERT_TRUE(happened || o.thrown.empty());
      }
      ASSERT_EQ(live_allocations(), live) << "leaked";
      ASSERT_EQ(waiting_bytes.load(), waiting);
      ASSERT_EQ(foreign_owners, 0);
      ASSERT_EQ(foreign_memory, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, AllocationFailure, ::testing::ValuesIn(scenarios), test_name);

// ---- apart from the table -------------------------------------------------------------------------------------------

TEST(AllocationFailure, OnSeveralThreads) {
  // Scratch of the workers stays with them, so what lives is not counted here (the address sanitizer looks for leaks).
  set_num_threads(4);
  const scenario threaded[] = {
      {"flat", "chain flat", {{"300000 * int32"}}, [](const arrays &x) { return result{x[0] / view(x[0], -1)}; }},
      {"sum", "reduce", {{"300000 * float32"}}, [](const arrays &x) { return result{nd::sum(x[0])}; }},
      {"ragged", "chain", {{"200000 * var * int8"}}, [](const arrays &x) { return result{nd::sum(x[0], 1)}; }}};
  for (const scenario &s : threaded) {
    std::string expected = all_bits(run(s, make_operands(s)));
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      outcome o = attempt_on_new_thread(s, n, false);
      happened = o.happened;
      ASSERT_TRUE(o.thrown == "memory" || o.thrown.empty()) << s.name << " " << n << " " << o.thrown;
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

// Lifting: every prototype over every layout, what errors say, who owns what. (Wrapped C++ functions: wrap_test.cpp.)
#include <cstdio>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/call/functions.h"
#include "dynd/call/registry.h"
#include "dynd/call/wrap.h"
#include "dynd/kernel/builder.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;

// ---- kernels as a C programmer writes them --------------------------------------------------------------------------

template <auto strided, auto single = nullptr>
intptr_t instantiate(const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *bind) {
  intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  void *function = nullptr;
  if (bind->request == kernel_request_strided) {
    if constexpr (!std::is_null_pointer_v<decltype(strided)>) {
      function = reinterpret_cast<void *>(strided);
    }
  } else if constexpr (!std::is_null_pointer_v<decltype(single)>) {
    function = reinterpret_cast<void *>(single);
  }
  reinterpret_cast<ckernel_prefix *>(out->data + offset)->function = function;
  return end;
}

deferred_ckernel describe(uint32_t prototype, const char *name, const char *signature,
                          intptr_t (*make)(const deferred_ckernel *, ckernel_builder_struct *, intptr_t,
                                           const dynd_bind *)) {
  return {sizeof(deferred_ckernel),
          DYND_ABI_VERSION,
          prototype,
          0,
          name,
          signature,
          nullptr,
          nullptr,
          make,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
}

int negate(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count, const ckernel_prefix *,
           dynd_frame *) {
  for (size_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(src) % 8, 0u);
    *reinterpret_cast<int64_t *>(dst) = -*reinterpret_cast<const int64_t *>(src);
  }
  return dynd_ok;
}

int sum_and_difference(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *, dynd_frame *) {
  for (size_t i = 0; i < count; i++) {
    auto at = [&](int o) { return reinterpret_cast<int32_t *>(data[o] + intptr_t(i) * stride[o]); };
    *at(0) = *at(2) + *at(3);
    *at(1) = *at(2) - *at(3);
  }
  return dynd_ok;
}

int is_multiple(const char *left, const char *right, const ckernel_prefix *, dynd_frame *) {
  int32_t by = *reinterpret_cast<const int32_t *>(right);
  return by == 0 ? int(dynd_error_value) : *reinterpret_cast<const int32_t *>(left) % by == 0;
}

TEST(Callable, UnaryOverEveryLayout) {
  deferred_ckernel kernel = describe(unary_operation_funcproto_id, "negate", "(int64) -> int64", instantiate<negate>);
  nd::callable f = nd::callable(kernel);
  EXPECT_EQ(text(f(3)), "-3");
  EXPECT_EQ(text(f(parse("3 * int64", "[1, 2, 3]"))), "[-1, -2, -3]");
  EXPECT_EQ(text(f(parse("3 * var * int64", "[[1, 2], [], [3]]"))), "[[-1, -2], [], [-3]]");
  EXPECT_EQ(text(f(parse("3 * int8", "[1, 2, 3]"))), "[-1, -2, -3]");
  EXPECT_EQ(text(f(parse("0 * int64", "[]"))), "[]");
  EXPECT_EQ(text(f(nd::transposed(parse("2 * 2 * int64", "[[1, 2], [3, 4]]")))), "[[-1, -3], [-2, -4]]");
}

TEST(Callable, SeveralOutputs) {
  deferred_ckernel kernel = describe(multi_operation_funcproto_id, "both", "(int32, int32) -> (int32, int32)",
                                     instantiate<sum_and_difference>);
  nd::callable f = nd::callable(kernel);
  const nd::array operands[] = {parse("2 * var * int32", "[[5, 6], [7]]"), nd::array(2)};
  std::vector<nd::array> results = f.call_all(operands);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(text(results[0]), "[[7, 8], [9]]");
  EXPECT_EQ(text(results[1]), "[[3, 4], [5]]");
  EXPECT_EQ(failure([&] { f(operands[0], operands[1]); }), "type: both: has several results: use call_all");
}

// Eight outputs from eight operands: rotated, each in the type of another.
int rotate(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *, dynd_frame *) {
  for (size_t i = 0; i < count; i++) {
    for (int o = 0; o < 8; o++) {
      *reinterpret_cast<int64_t *>(data[o] + intptr_t(i) * stride[o]) =
          *reinterpret_cast<int64_t *>(data[8 + (o + 1) % 8] + intptr_t(i) * stride[8 + (o + 1) % 8]);
    }
  }
  return dynd_ok;
}

TEST(Callable, EightOutputsOfEightOperands) {
  const char *eight = "int64, int64, int64, int64, int64, int64, int64, int64";
  std::string signature = std::string("(") + eight + ") -> (" + eight + ")";
  deferred_ckernel kernel = describe(multi_operation_funcproto_id, "rotate", signature.c_str(), instantiate<rotate>);
  nd::callable f = nd::callable(kernel);
  // A layout of its own for every operand; what they must give is what each alone gives, broadcast by an addition.
  nd::array base = ramp("6 * 5 * int64"), number(1000);
  nd::array lazy = ramp("100 * 100 * int64") * 2;
  struct {
    std::vector<nd::array> operands;
    nd::array shape; // zeros
  } cases[] = {
      {{base, base * 2, nd::transposed(ramp("5 * 6 * int64")), ramp("5 * int8"), ramp("6 * 1 * int32"), number,
        ramp("1 * 5 * int64"), ramp("6 * 5 * bool")},
       base * 0},
      {{ramp("4 * var * int64"), ramp("4 * var * int32"), number, ramp("4 * 1 * int16"), ramp("4 * var * int8"),
        ramp("1 * 1 * int64"), ramp("4 * var * uint8"), ramp("4 * var * bool")},
       ramp("4 * var * int64") * 0},
      {{lazy, lazy + 1, lazy * lazy, number, lazy - 1, ramp("100 * int64"), lazy, lazy + 1}, lazy * 0},
  };
  for (auto &c : cases) {
    for (bool direct : {true, false}) {
      testing::with_direct step(direct);
      std::vector<nd::array> results = f.call_all(c.operands);
      ASSERT_EQ(results.size(), 8u);
      for (size_t o = 0; o < 8; o++) {
        EXPECT_EQ(testing::bits(results[o]), testing::bits(c.operands[(o + 1) % 8] + c.shape)) << "output " << o;
      }
    }
  }
}

TEST(Callable, MoreLazyArraysThanOnePassTakes) {
  // Every intermediate result is held, so that each is an output of the pass that computes it; some read a value of
  // their own, some only others. As the values are factor * base + term, one multiplication says what they must be.
  for (const char *type : {"120 * 100 * int64", "8000 * var * int64"}) {
    nd::array base = ramp(type);
    std::vector<nd::array> held = {base + 0, base + 1};
    std::vector<int> factor = {1, 1}, term = {0, 1};
    for (int i = 2; i < 30; i++) {
      bool of_others = i % 3 == 0;
      held.push_back(held.back() + (of_others ? held[size_t(i) - 2] : nd::array(i)));
      factor.push_back(factor.back() + (of_others ? factor[size_t(i) - 2] : 0));
      term.push_back(term.back() + (of_others ? term[size_t(i) - 2] : i));
    }
    auto expected = [&](size_t i) { return testing::bits(base * factor[i] + term[i]); };
    nd::callable same =
        nd::callable(nd::make_kernel("same", [](int64_t a, int64_t b) { return std::tuple(a, b, a - b); }));
    const nd::array operands[] = {held[29], held[3]};
    std::vector<nd::array> results = same.call_all(operands);
    EXPECT_EQ(testing::bits(results[0]), expected(29)) << type;
    EXPECT_EQ(testing::bits(results[1]), expected(3)) << type;
    for (size_t i = 0; i < held.size(); i++) {
      EXPECT_EQ(testing::bits(held[i]), expected(i)) << type << " " << i;
    }
  }
}

TEST(Callable, PredicatesGiveBool) {
  deferred_ckernel kernel = describe(binary_predicate_funcproto_id, "is_multiple", "(int32, int32) -> bool",
                                     instantiate<nullptr, is_multiple>);
  nd::callable f = nd::callable(kernel);
  nd::array rows = parse("2 * var * int32", "[[4, 5], [6]]");
  EXPECT_EQ(text(f(rows, 2)), "[[True, False], [True]]");
  EXPECT_EQ(failure([&] { f(rows, parse("2 * 1 * int32", "[[1], [0]]")); }),
            "value: is_multiple: failed at index (1, 0)");
}

int are_multiples(char *dst, intptr_t dst_stride, const char *left, intptr_t left_stride, const char *right,
                  intptr_t right_stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  for (size_t i = 0; i < count; i++, dst += dst_stride, left += left_stride, right += right_stride) {
    int answer = is_multiple(left, right, self, frame);
    if (answer < 0) {
      std::snprintf(frame->text, sizeof(frame->text), "no multiple of 0");
      return answer;
    }
    *dst = char(answer);
  }
  return dynd_ok;
}

TEST(Callable, StridedPredicates) {
  deferred_ckernel kernel =
      describe(binary_predicate_funcproto_id, "are_multiples", "(int32, int32) -> bool", instantiate<are_multiples>);
  kernel.flags = dynd_callable_strided_predicate;
  nd::callable f = nd::callable(kernel);
  nd::array rows = parse("2 * var * int32", "[[4, 5], [6]]");
  EXPECT_EQ(text(f(rows, 2)), "[[True, False], [True]]");
  EXPECT_EQ(text(f(nd::transposed(parse("2 * 2 * int32", "[[1, 2], [3, 4]]")), parse("2 * int8", "[3, 2]"))),
            "[[False, False], [False, True]]");
  EXPECT_EQ(failure([&] { f(rows, parse("2 * 1 * int32", "[[1], [0]]")); }),
            "value: are_multiples: no multiple of 0 at index (1, 0)");
}

// A kernel that uses memory of the frame: what it reserved while it was built, and what it asks for while it runs.
struct scratch_kernel {
  ckernel_prefix base;
  size_t scratch;
};

int reversed_twice(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                   const ckernel_prefix *self, dynd_frame *frame) {
  auto *one = reinterpret_cast<int32_t *>(frame->scratch + reinterpret_cast<const scratch_kernel *>(self)->scratch);
  auto *many = static_cast<int32_t *>(frame->temp(frame, count * sizeof(int32_t)));
  for (size_t i = 0; i < count; i++) {
    *one = *reinterpret_cast<const int32_t *>(src[0] + intptr_t(i) * src_stride[0]);
    many[count - 1 - i] = *one;
  }
  for (size_t i = 0; i < count; i++) {
    *reinterpret_cast<int32_t *>(dst + intptr_t(i) * dst_stride) = many[count - 1 - i];
  }
  return dynd_ok;
}

intptr_t make_reversed_twice(const deferred_ckernel *, ckernel_builder_struct *out, intptr_t offset,
                             const dynd_bind *) {
  intptr_t end = offset + intptr_t(sizeof(scratch_kernel));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  auto *made = reinterpret_cast<scratch_kernel *>(out->data + offset);
  made->base.function = reinterpret_cast<void *>(reversed_twice);
  made->scratch = ckernel_builder_reserve_scratch(out, sizeof(int32_t));
  return end;
}

TEST(Callable, KernelsUseTheFrameOfTheirThread) {
  deferred_ckernel kernel =
      describe(expr_operation_funcproto_id, "reversed_twice", "(int32) -> int32", make_reversed_twice);
  nd::callable f = nd::callable(kernel);
  for (const char *type : {"3 * int32", "5 * var * int32", "700000 * int32", "300 * 20 * 40 * int32"}) {
    nd::array a = ramp(type);
    EXPECT_EQ(testing::bits(f(a)), testing::bits(a)) << type;
  }
  nd::array turned = nd::transposed(ramp("30 * 50 * int32"));
  EXPECT_EQ(text(f(turned)), text(turned));
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST(Callable, RefusesWhatIsNoKernel) {
  deferred_ckernel good = describe(unary_operation_funcproto_id, "negate", "(int64) -> int64", instantiate<negate>);
  auto refusal = [&](auto change) {
    deferred_ckernel bad = good;
    change(bad);
    return failure([&] { nd::callable made(bad); });
  };
  EXPECT_EQ(refusal([](auto &k) { k.version = 2; }),
            "type: kernel: made for version 2 of the ABI, this library has version 1");
  EXPECT_EQ(refusal([](auto &k) { k.size = 40; }),
            "type: kernel: its struct says that it has 40 bytes, a deferred_ckernel has 88");
  EXPECT_EQ(refusal([](auto &k) { k.name = nullptr; }), "type: kernel: it has no name");
  EXPECT_EQ(refusal([](auto &k) { k.signature = nullptr; }), "type: negate: it has no signature");
  EXPECT_EQ(refusal([](auto &k) { k.instantiate = nullptr; }), "type: negate: instantiate is NULL");
  EXPECT_EQ(refusal([](auto &k) { k.prototype = 9; }), "type: negate: unknown prototype 9");
  EXPECT_EQ(refusal([](auto &k) { k.retain = [](const deferred_ckernel *) {}; }),
            "type: negate: retain and release must both be there, or neither");
  EXPECT_EQ(refusal([](auto &k) { k.flags = dynd_callable_c_layout | dynd_callable_f_layout; }),
            "type: negate: wants C layout and F layout at once");
  EXPECT_EQ(refusal([](auto &k) { k.flags = 1 << 20; }),
            "type: negate: flags 1048576 have one that this library does not know");
  EXPECT_EQ(refusal([](auto &k) { k.flags = dynd_callable_strided_predicate; }),
            "type: negate: has the flag of a strided predicate, and is none");
  auto signature = [&](const char *text) { return refusal([&](auto &k) { k.signature = text; }); };
  EXPECT_EQ(signature("int64"), "type: negate: signature \"int64\" is not of the form (T, ...) -> R");
  EXPECT_EQ(signature("() -> int64"), "type: negate: signature \"() -> int64\" has 0 operands; a kernel has 1 to 8");
  EXPECT_EQ(
      signature("(int64) -> (,)").substr(0, 104),
      "type: negate: signature \"(int64) -> (,)\" does not parse:\ndatashape: unrecognized data type \",\" at line 1");
  EXPECT_EQ(signature("(int64) -> ()"),
            "type: negate: signature \"(int64) -> ()\" has no result, and no operand that is "
            "written (inout)");
  std::string nine = "int64, int64, int64, int64, int64, int64, int64, int64, int64";
  EXPECT_EQ(signature(("(" + nine + ") -> int64").c_str()),
            "type: negate: signature \"(" + nine + ") -> int64\" has 9 operands; a kernel has 1 to 8");
  EXPECT_EQ(signature(("(int64) -> (" + nine + ")").c_str()),
            "type: negate: signature \"(int64) -> (" + nine + ")\" has 9 results; a kernel has up to 8");
  EXPECT_EQ(
      signature("(int64) -> string"),
      "type: negate: signature \"(int64) -> string\" has an operand that a kernel cannot have: string (its elements "
      "are scalars or texts of a fixed length, which may be missing, structs and tuples of these, or a variable)");
  EXPECT_EQ(signature("(3 * int64) -> int64"),
            "type: negate: signature \"(3 * int64) -> int64\" has core dimensions or "
            "operands that are written: that takes the core prototype");
  EXPECT_EQ(signature("(T) -> U"), "type: negate: signature \"(T) -> U\" has U in the result and in no operand");
  EXPECT_EQ(signature("(N * T) -> M * T"),
            "type: negate: signature \"(N * T) -> M * T\" has M in the result and in no operand");
  EXPECT_EQ(signature("(int64) -> void"),
            "type: negate: signature \"(int64) -> void\" has no result, and no operand that is written (inout)");
  EXPECT_EQ(signature("(int64, int64) -> int64"),
            "type: negate: signature \"(int64, int64) -> int64\" does not have the one operand of the unary prototype");
  EXPECT_EQ(signature("(int64) -> (int8, int8)"),
            "type: negate: signature \"(int64) -> (int8, int8)\" has several results: that takes the multi prototype");
  EXPECT_EQ(signature("(blah) -> int64").substr(0, 60),
            "type: negate: signature \"(blah) -> int64\" does not parse:\nda");
}

TEST(Callable, RefusesAnInstantiateThatMakesNothing) {
  deferred_ckernel kernel = describe(unary_operation_funcproto_id, "empty", "(int64) -> int64", instantiate<nullptr>);
  nd::callable f = nd::callable(kernel);
  EXPECT_EQ(failure([&] { f(1); }), "internal: empty: instantiate made no kernel (it must set the function and return "
                                    "the offset past the kernel)");
}

TEST(Callable, OperandsAreChecked) {
  nd::callable f = nd::callable(nd::make_kernel("twice", [](int32_t x) { return 2 * x; }));
  EXPECT_EQ(failure([&] { f(1.5); }),
            "type: twice: operand 0 is float64, which does not convert to int32 without loss");
  EXPECT_EQ(failure([&] { f(1, 2); }), "type: twice: takes 1 operand, not 2");
  EXPECT_EQ(failure([&] { f("1"); }), "type: twice: operand 0 has elements of type string; it takes (int32) -> int32");
  EXPECT_EQ(failure([&] { f(parse("2 * pointer[string]", R"(["1", "2"])")); }),
            "type: twice: operand 0 has elements of type pointer[string]; it takes (int32) -> int32");
  EXPECT_EQ(text(f(parse("2 * pointer[?int32]", "[1, null]"))), "[2, None]");
  EXPECT_EQ(failure([&] { f(parse("2 * byteswap[int64]", "[1, 2]")); }),
            "type: twice: operand 0 is int64, which does not convert to int32 without loss");
}

TEST(Callable, OperandsInTheOtherOrderOfBytesAndBehindPointersAreRead) {
  nd::callable f = nd::callable(nd::make_kernel("difference", [](int32_t x, double y) { return x - y; }));
  nd::array swapped = parse("2 * var * byteswap[int16]", "[[1, 2], [3]]");
  nd::array pointers = parse("2 * 1 * pointer[byteswap[float32]]", "[[10], [100]]");
  EXPECT_EQ(text(f(swapped, pointers)), "[[-9.0, -8.0], [-97.0]]");
  EXPECT_EQ(text(f(swapped, 1)), "[[0.0, 1.0], [2.0]]");
}

// ---- the registry ---------------------------------------------------------------------------------------------------

TEST(Registry, KernelsByName) {
  EXPECT_FALSE(nd::find_callable("registry_test"));
  EXPECT_EQ(failure([] { nd::find_callable("registry_test")(1); }), "type: call: there is no callable");
  EXPECT_EQ(failure([] { nd::callable made{nd::kernel()}; }), "type: callable: there is no kernel");
  nd::register_kernel(nd::make_kernel(
      "registry_test", [](int32_t x) { return x + 1; }, 0, "One more."));
  EXPECT_EQ(text(nd::find_callable("registry_test")(1)), "2");
  auto refusal = [](const char *name) {
    return failure([&] { nd::register_kernel(nd::make_kernel(name, [](int32_t x) { return x; })); });
  };
  EXPECT_EQ(refusal("registry_test"),
            "type: registry_test: (int32) -> int32 is ambiguous with (int32) -> int32, which it has already");
  EXPECT_EQ(refusal("add"), "type: add: (int32) -> int32 cannot be added to an operation of the library, which takes "
                            "numbers itself: one of the operands must be a struct or a tuple");
  EXPECT_EQ(refusal("sum"), "value: sum: the name is taken, by a function of the library or a word of the language");
  EXPECT_NE(refusal("__class__").find("not an identifier that begins with a letter"), std::string::npos);
  EXPECT_EQ(refusal("a b"),
            "value: \"a b\" cannot be the name of a kernel: it is not an identifier that begins with a letter");
}

TEST(Registry, LoadsAPlugin) {
  std::string path = DYND_BUILD_DIR "/examples/plugin_triple.so";
  EXPECT_EQ(nd::load(path), std::vector<std::string>{"triple"});
  EXPECT_EQ(nd::load(path), std::vector<std::string>{"triple"}) << "a second time changes nothing";
  EXPECT_EQ(text(nd::find_callable("triple")(parse("2 * var * int32", "[[1, 2], [3]]"))), "[[3, 6], [9]]");
  EXPECT_NE(failure([] { nd::load("no_such_plugin.so"); }).find("no_such_plugin.so"), std::string::npos);
}

TEST(Registry, AllOfAPluginOrNothing) {
  std::string path = DYND_BUILD_DIR "/examples/plugin_macros.so";
  std::vector<std::string> names = nd::load(path);
  ASSERT_GT(names.size(), 1u);
  int refused = 0;
  for (bool loaded = false; !loaded; refused += !loaded) {
    nd::forget(path);
    {
      testing::failing_allocation fails(refused);
      try {
        loaded = nd::load(path) == names;
      } catch (const std::exception &) { // no memory
        EXPECT_TRUE(fails.happened());
      }
    }
    for (const std::string &name : names) {
      EXPECT_EQ(bool(nd::find_callable(name)), loaded) << name << ", allocation " << refused;
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(refused, 10);
}

} // namespace
} // namespace dynd

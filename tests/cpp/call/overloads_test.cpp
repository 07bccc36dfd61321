// Overloads: which one is chosen, what is ambiguous, what an error says; keywords; and the operations of the library.
#include <cstring>
#include <deque>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "dynd/base/errors.h"
#include "dynd/call/registry.h"
#include "dynd/call/resolve.h"
#include "dynd/call/wrap_core.h"
#include "dynd/ops/op_id.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::message;
using testing::parse;
using testing::text;

std::string list(const nd::callable &f) {
  std::string all;
  for (ndt::type t : f.signatures())
    all += std::string(all.empty() ? "" : "; ") + std::string(t.str());
  return all;
}

/// A kernel (T) -> T that multiplies by a number of its own, for any number type: it shows which overload was chosen.
struct times_kernel {
  ckernel_prefix base;
  char type[16];
  double factor;
};

int times(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
          const ckernel_prefix *self, dynd_frame *) {
  auto *k = reinterpret_cast<const times_kernel *>(self);
  for (size_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {
    if (!std::strcmp(k->type, "float64"))
      *reinterpret_cast<double *>(dst) = k->factor * *reinterpret_cast<const double *>(src);
    else if (!std::strcmp(k->type, "int32"))
      *reinterpret_cast<int32_t *>(dst) = int32_t(k->factor) * *reinterpret_cast<const int32_t *>(src);
    else
      return dynd_error_type;
  }
  return dynd_ok;
}

intptr_t make_times(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *bind) {
  intptr_t end = offset + intptr_t(sizeof(times_kernel));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok)
    return dynd_error_memory;
  auto *made = reinterpret_cast<times_kernel *>(out->data + offset);
  made->base.function = reinterpret_cast<void *>(times);
  std::snprintf(made->type, sizeof(made->type), "%s", bind->type[0]);
  auto *given = static_cast<const double *>(dynd_bind_keyword(bind, "factor"));
  made->factor = given ? *given : *static_cast<const double *>(self->data_ptr);
  return end;
}

double two = 2, three = 3, five = 5;

deferred_ckernel times_for(const char *signature, double *factor) {
  return {sizeof(deferred_ckernel),
          DYND_ABI_VERSION,
          unary_operation_funcproto_id,
          dynd_callable_pure,
          "times",
          signature,
          "Several times.",
          factor,
          make_times,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
}

TEST(Overloads, TheBestFitIsChosen) {
  static const deferred_ckernel real = times_for("(float64) -> float64", &two),
                                any = times_for("(Number T) -> T", &three), floats = times_for("(Float T) -> T", &five);
  nd::callable f("times", "Several times.");
  EXPECT_EQ(message([&] { f(1); }), "times: it has no overloads");
  f.add(nd::kernel(real));
  EXPECT_EQ(text(f(1)), "2.0"); // converted without loss
  f.add(nd::kernel(any));
  EXPECT_EQ(text(f(1)), "3"); // exact is better, also after the first choice was kept
  EXPECT_EQ(text(f(1.0)), "2.0") << "the type itself is more specific than a family";
  f.add(nd::kernel(floats));
  EXPECT_EQ(text(f(1.0)), "2.0");
  EXPECT_EQ(list(f), "(float64) -> float64; (Number T) -> T; (Float T) -> T");
  EXPECT_EQ(f.name(), "times");
  EXPECT_EQ(f.doc(), "Several times.");
}

TEST(Overloads, AmbiguityIsAnErrorWhenOneIsAdded) {
  static std::deque<deferred_ckernel> made; // static, as a plug-in's are
  auto of = [](const char *signature) {
    made.push_back(times_for(signature, &two));
    bool missing = std::string(signature).find('?') != std::string::npos;
    made.back().prototype = missing ? core_operation_funcproto_id : multi_operation_funcproto_id;
    return nd::kernel(made.back());
  };
  nd::callable f("times");
  f.add(of("(float64, T) -> T"));
  EXPECT_EQ(message([&] { f.add(of("(float64, U) -> float64")); }),
            "times: (float64, U) -> float64 is ambiguous with (float64, T) -> T, which it has already");
  EXPECT_EQ(message([&] { f.add(of("(T, float64) -> T")); }),
            "times: (T, float64) -> T is ambiguous with (float64, T) -> T, which it has already");
  f.add(of("(int32, T) -> T"));
  f.add(of("(float64, float32) -> float32"));
  f.add(of("(float64) -> float32"));
  EXPECT_EQ(f.signatures().size(), 4u);
  nd::callable g("times");
  g.add(of("(float64, T) -> T"));
  g.add(of("(float64, float64) -> float64")); // decides between the other two
  g.add(of("(T, float64) -> T"));
  EXPECT_EQ(message([&] { g.add(of("(Float T, Float) -> T")); }),
            "times: (Float T, Float) -> T is ambiguous with (float64, T) -> T, which it has already");
  nd::callable h("times");
  h.add(of("(?float64, int32) -> int32")); // of the first operand neither is the more specific
  EXPECT_EQ(message([&] { h.add(of("(T, Int) -> int32")); }),
            "times: (T, Int) -> int32 is ambiguous with (?float64, int32) -> int32, which it has already");
  h.add(of("(?T, Int) -> int32"));
  h.add(of("(float64, int32) -> int32"));
}

TEST(Overloads, AllAreAddedOrNone) {
  nd::callable f("f"), g("f");
  f.add(nd::make_kernel("f", [](int32_t a) { return a; }));
  g.add(nd::make_kernel("f", [](double a) { return a; }));
  g.add(nd::make_kernel("f", [](int32_t a) { return a; }));
  EXPECT_NE(message([&] { f.add(g.kernels()); }), "");
  EXPECT_EQ(list(f), "(int32) -> int32");
}

TEST(Overloads, AnErrorListsEveryCandidate) {
  nd::callable f("f");
  f.add(nd::make_kernel("f", [](int32_t a, int32_t b) { return a + b; }));
  f.add(nd::make_kernel("f", [](double a) { return a; }));
  EXPECT_EQ(message([&] { f(parse("string", "\"x\""), 1); }),
            "f: no overload takes (string, int32):\n"
            "  (int32, int32) -> int32: operand 0 has elements of type string; it takes (int32, int32) -> int32\n"
            "  (float64) -> float64: takes 1 operand, not 2");
  EXPECT_EQ(message([&] { f(1, 2.5); }), "f: no overload takes (int32, float64):\n"
                                         "  (int32, int32) -> int32: operand 1 is float64, which does not convert to "
                                         "int32 without loss\n  (float64) -> float64: takes 1 operand, not 2");
  EXPECT_EQ(text(f(1, 2)), "3");
  EXPECT_EQ(text(f(1)), "1.0");
}

TEST(Overloads, VariablesArePromoted) {
  static const deferred_ckernel same = [] {
    deferred_ckernel k = times_for("(Float T) -> T", &two);
    return k;
  }();
  nd::callable f{same};
  EXPECT_EQ(f(3).str(), "nd.array(6.0, type=\"float64\")") << "integers are float64 where floats are taken";
  EXPECT_EQ(message([&] { f(parse("3 * complex128", "[1, 2, 3]")); }),
            "times: operand 0 is complex128, which is no Float");
}

TEST(Overloads, Keywords) {
  static const deferred_ckernel k = times_for("(float64, *, factor: float64 = 4) -> float64", &two),
                                no_default = times_for("(float64, *, factor: float64) -> float64", &two);
  nd::callable f{k};
  nd::array a = parse("2 * var * float64", "[[1, 2], [3]]"), operands[] = {a};
  EXPECT_EQ(text(f(a)), "[[4.0, 8.0], [12.0]]");
  nd::keyword ten[] = {{"factor", nd::array(10)}};
  EXPECT_EQ(text(f.call(operands, ten)), "[[10.0, 20.0], [30.0]]");
  EXPECT_EQ(text(f(a)), "[[4.0, 8.0], [12.0]]") << "the default again";
  nd::keyword unknown[] = {{"facto", nd::array(10)}}, many[] = {{"factor", a}},
              text_value[] = {{"factor", parse("string", "\"x\"")}};
  EXPECT_EQ(message([&] { f.call(operands, unknown); }),
            "times: has no keyword facto; it is (float64, *, factor: float64 = 4.0) -> float64");
  EXPECT_EQ(message([&] { f.call(operands, many); }), "times: keyword factor is one value, not 2 * var * float64");
  EXPECT_EQ(message([&] { f.call(operands, text_value); }), "times: keyword factor is string, not float64");
  EXPECT_EQ(message([&] { nd::callable{no_default}(a); }), "times: keyword factor is missing; it has no default");
}

TEST(Overloads, OperationsAreCallables) {
  nd::callable add = nd::find_callable("add");
  EXPECT_EQ(list(add), "(Number T, T) -> T");
  EXPECT_EQ(text(add(1, 2.5)), "3.5");
  EXPECT_EQ(list(nd::find_callable("bitwise_and")), "(bool, bool) -> bool; (Int T, T) -> T; (UInt T, T) -> T");
  EXPECT_EQ(list(nd::find_callable("less")), "(bool, bool) -> bool; (Real T, T) -> bool");
  EXPECT_EQ(list(nd::find_callable("where")), "(bool, bool, bool) -> bool; (bool, Number T, T) -> T");
  EXPECT_EQ(list(nd::find_callable("frexp")), "(Float T) -> (T, int32)");
  EXPECT_EQ(list(nd::find_callable("is_missing")), "(?Scalar) -> bool");
  EXPECT_NE(list(nd::find_callable("abs")).find("(complex128) -> float64"), std::string::npos);
  EXPECT_FALSE(nd::find_callable("no_such_thing"));
  for (size_t i = 0; i < op_count; i++)
    EXPECT_FALSE(nd::callable_of(op_id(i)).signatures().empty()) << operation_of(op_id(i)).name;
}

TEST(Overloads, ManyThreadsResolveAndAdd) {
  nd::callable f("f");
  f.add(nd::make_kernel("f", [](double a) { return a; }));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; i++) {
        if (t == 0 && i == 100)
          f.add(nd::make_kernel("f", [](int32_t a) { return a + 1; }));
        std::string shown = text(f(t % 2 ? nd::array(1) : nd::array(1.0)));
        EXPECT_TRUE(shown == "1.0" || shown == "2") << shown;
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(text(f(1)), "2");
}

/// The resolutions, the kernels that are built by the first call of each, and calls while overloads are added.
TEST(Overloads, ManyThreadsUseEverythingThatIsKept) {
  nd::callable f("f");
  auto sum = [](std::span<const double> row) { return std::accumulate(row.begin(), row.end(), 0.0); };
  auto scaled = [](std::span<const double> row, double by, const nd::given_keywords &k) {
    return row.size() * by * k.get<double>("times");
  };
  f.add(nd::make_kernel("f", [](double a) { return a; }));
  f.add(nd::make_kernel("f", "(N * float64) -> float64", sum));
  f.add(nd::make_kernel("f", "(N * float64, float64, *, times: float64 = 2) -> float64", scaled));
  const nd::array row = parse("3 * float64", "[1, 2, 3]"), rows = parse("2 * var * float64", "[[1, 2], [3]]"),
                  narrow = parse("3 * float32", "[1, 2, 3]"), one(2.5);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 150; i++) {
        if (t == 0 && i == 50)
          f.add(nd::make_kernel("f", [](int32_t a) { return a + 1; }));
        if (t == 1 && i == 100)
          f.add(nd::make_kernel("f", "(N * float32) -> float64", [](std::span<const float>) { return 6.0; }));
        const nd::array both[] = {row, one};
        const nd::keyword times[] = {{"times", nd::array(double(t))}};
        switch ((i + t) % 6) {
        case 0:
          EXPECT_EQ(text(f(one)), "2.5");
          break;
        case 1:
          EXPECT_EQ(text(f(row)), "6.0");
          break;
        case 2:
          EXPECT_EQ(text(f(rows)), "[3.0, 3.0]");
          break;
        case 3:
          EXPECT_EQ(text(f(narrow)), "6.0");
          break;
        case 4:
          EXPECT_EQ(text(f(row, one)), "15.0");
          break;
        default:
          EXPECT_EQ(f.call(both, times).data<double>()[0], 7.5 * t);
        }
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(f.signatures().size(), 5u);
}

} // namespace
} // namespace dynd

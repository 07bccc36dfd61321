// What a plug-in's kernel costs over calling its strided function by hand, on one thread: nanoseconds a call for three
// elements, and the ratio for 16M. Both write into memory that was used before, in turns; the best of each. One line of
// JSON.
//
//   build/release/bench/plugin_cost build/release/examples/plugin_triple.so
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "dynd/call/functions.h"
#include "dynd/call/registry.h"
#include "dynd/kernel/builder.h"

namespace {

using namespace dynd;

template <class F> double seconds(F f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The external strided kernel, instantiated as its author would.
struct by_hand {
  ckernel_builder kernel;
  expr_strided_operation_t function;
  explicit by_hand(const deferred_ckernel &deferred) {
    const char *types[] = {"int32", "int32"};
    const dynd_arrmeta *arrmeta[] = {nullptr, nullptr};
    char text[256];
    dynd_bind bind = {sizeof(dynd_bind),
                      DYND_ABI_VERSION,
                      kernel_request_strided,
                      2,
                      types,
                      arrmeta,
                      text,
                      sizeof(text),
                      assign_error_fractional,
                      0,
                      nullptr};
    deferred.instantiate(&deferred, &kernel, 0, &bind);
    function = reinterpret_cast<expr_strided_operation_t>(kernel.root()->function);
  }
  void operator()(int32_t *dst, const int32_t *src, size_t count, intptr_t step = 1) const {
    const char *sources[] = {reinterpret_cast<const char *>(src)};
    const intptr_t stride[] = {4 * step};
    dynd_frame frame = {};
    auto *root = reinterpret_cast<const ckernel_prefix *>(kernel.data);
    function(reinterpret_cast<char *>(dst), 4, sources, stride, count, root, &frame);
    asm volatile("" : : "r"(dst) : "memory");
  }
};

nd::array ramp(intptr_t count) {
  nd::array a = nd::empty(ndt::type("strided * int32"), &count, access_mode::immutable);
  auto *values = const_cast<int32_t *>(a.data<int32_t>());
  for (intptr_t i = 0; i < count; i++) {
    values[i] = int32_t(i);
  }
  return a;
}

struct cost {
  double lifted, by_hand;
};

template <class F, class G> cost in_turns(int rounds, F lifted, G by_hand) {
  cost best = {1e9, 1e9};
  for (int i = 0; i < rounds; i++) {
    best.lifted = std::min(best.lifted, seconds(lifted));
    best.by_hand = std::min(best.by_hand, seconds(by_hand));
  }
  return best;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: plugin_cost path/of/plugin_triple.so\n");
    return 2;
  }
  nd::load(argv[1]);
  set_num_threads(1);
  nd::callable triple = nd::find_callable("triple");
  by_hand hand(*triple.kernels()[0]);

  constexpr int calls = 10000;
  nd::array three = ramp(3);
  int32_t to[3];
  cost small = in_turns(
      200,
      [&] {
        for (int i = 0; i < calls; i++) {
          nd::array c = triple(three);
          asm volatile("" : : "r"(c.get()) : "memory");
        }
      },
      [&] {
        for (int i = 0; i < calls; i++) {
          hand(to, three.data<int32_t>(), 3);
        }
      });

  constexpr intptr_t many = intptr_t(16) << 20;
  nd::array large = ramp(many);
  nd::array out = ramp(many); // the lifted call's memory is recycled from call to call: the same in both
  triple(large).eval();
  cost flat = in_turns(
      25, [&] { triple(large).eval(); }, // it is pure and total, so lazy
      [&] { hand(const_cast<int32_t *>(out.data<int32_t>()), large.data<int32_t>(), size_t(many)); });
  std::printf("{\"call_ns\": %.1f, \"by_hand_ns\": %.1f, \"over_ns\": %.1f, \"large_ms\": %.2f, \"large_by_hand_ms\": "
              "%.2f, \"large_ratio\": %.3f}\n",
              small.lifted / calls * 1e9, small.by_hand / calls * 1e9, (small.lifted - small.by_hand) / calls * 1e9,
              flat.lifted * 1e3, flat.by_hand * 1e3, flat.lifted / flat.by_hand);
  return 0;
}

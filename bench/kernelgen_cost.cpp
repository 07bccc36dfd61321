// What a call of a wrapped function costs for three elements over calling the function by hand, on one thread:
// nanoseconds, of a function of numbers and of one of rows. One line of JSON.
//
//   build/release/bench/kernelgen_cost PLUGIN SCALAR_KERNEL ROW_KERNEL
//
// The kernels are (float64) -> float64 and (N * float64, N * float64) -> float64.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "dynd/call/functions.h"
#include "dynd/call/registry.h"

namespace {

using namespace dynd;

template <class F> double best_nanoseconds(F f) {
  double best = 1e9;
  for (int round = 0; round < 40; round++) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20000; i++) {
      f();
    }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count() * 1e9 / 20000);
  }
  return best;
}

double curve(double x) { return 1.5 * x * x + 0.25 * x - 1; }
double dot(int n, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    sum += x[i] * y[i];
  }
  return sum;
}
double (*volatile curve_by_hand)(double) = curve;
double (*volatile dot_by_hand)(int, const double *, const double *) = dot;

} // namespace

int main(int count, char **words) {
  if (count != 4) {
    std::fprintf(stderr, "kernelgen_cost PLUGIN SCALAR_KERNEL ROW_KERNEL\n");
    return 2;
  }
  nd::load(words[1]);
  nd::callable scalar = nd::find_callable(words[2]), row = nd::find_callable(words[3]);
  nd::array x = {1.0, 2.0, 3.0}, y = {4.0, 5.0, 6.0};
  double made[3];
  double scalar_ours = best_nanoseconds([&] { scalar(x); });
  double scalar_hand = best_nanoseconds([&] {
    for (int i = 0; i < 3; i++) {
      made[i] = curve_by_hand(x.data<double>()[i]);
    }
    asm volatile("" : : "r"(made) : "memory");
  });
  double row_ours = best_nanoseconds([&] { row(x, y); });
  double row_hand = best_nanoseconds([&] {
    made[0] = dot_by_hand(3, x.data<double>(), y.data<double>());
    asm volatile("" : : "r"(made) : "memory");
  });
  std::printf("{\"scalar_over_hand_ns\": %.1f, \"row_over_hand_ns\": %.1f}\n", scalar_ours - scalar_hand,
              row_ours - row_hand);
  return 0;
}

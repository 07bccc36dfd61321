// Hand-written loops of order: a long row by radix, ragged rows by insertion and by std::sort.

#include "floors.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace floors {
namespace {

// From the lowest digit of 8 bits to the highest. `flip` makes unsigned integers in the order of the numbers.
template <class U, class Flip, class Back> void sort_radix(const work &w, Flip flip, Back back) {
  const U *from = reinterpret_cast<const U *>(w.in[0]);
  U *out = reinterpret_cast<U *>(w.out);
  static thread_local std::unique_ptr<U[]> memory(new U[size_t(w.rows)]);
  constexpr int digits = sizeof(U);
  static thread_local int64_t counts[digits][256];
  std::fill_n(&counts[0][0], digits * 256, 0);
  for (int64_t i = 0; i < w.rows; ++i) {
    U x = flip(from[i]);
    memory[size_t(i)] = x;
    for (int d = 0; d < digits; ++d) {
      counts[d][x >> (8 * d) & 255]++;
    }
  }
  U *a = memory.get(), *b = out;
  for (int d = 0; d < digits; ++d) {
    int64_t before = 0;
    for (int64_t &count : counts[d]) {
      before += std::exchange(count, before);
    }
    for (int64_t i = 0; i < w.rows; ++i) {
      b[counts[d][a[i] >> (8 * d) & 255]++] = a[i];
    }
    std::swap(a, b);
  }
  for (int64_t i = 0; i < w.rows; ++i) {
    out[i] = back(a[i]);
  }
}

constexpr uint64_t sign = uint64_t(1) << 63;

void radix_float64(const work &w) {
  sort_radix<uint64_t>(
      w, [](uint64_t x) { return x ^ ((uint64_t(0) - (x >> 63)) | sign); },
      [](uint64_t x) { return x ^ ((uint64_t(0) - (~x >> 63)) | sign); });
}
void radix_int64(const work &w) {
  auto flip = [](uint64_t x) { return x ^ sign; };
  sort_radix<uint64_t>(w, flip, flip);
}
void radix_int32(const work &w) {
  auto flip = [](uint32_t x) { return x ^ uint32_t(1) << 31; };
  sort_radix<uint32_t>(w, flip, flip);
}

void rows_std_sort(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    std::copy(w.in[0] + w.offsets[r], w.in[0] + w.offsets[r + 1], w.out + w.offsets[r]);
    std::sort(w.out + w.offsets[r], w.out + w.offsets[r + 1]);
  }
}

void rows_insertion(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double x = w.in[0][i];
      int64_t j = i;
      for (; j > w.offsets[r] && w.out[j - 1] > x; --j) {
        w.out[j] = w.out[j - 1];
      }
      w.out[j] = x;
    }
  }
}

// Each element is counted to its place: no branch depends on the values.
void rows_counted(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    const double *x = w.in[0] + w.offsets[r];
    double *out = w.out + w.offsets[r];
    int64_t n = w.offsets[r + 1] - w.offsets[r];
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = 0;
      for (int64_t j = 0; j < i; ++j) {
        place += x[j] <= x[i];
      }
      for (int64_t j = i + 1; j < n; ++j) {
        place += x[j] < x[i];
      }
      out[place] = x[i];
    }
  }
}

const loop loops[] = {
    {"sort float64/radix", radix_float64},   {"sort int64/radix", radix_int64},
    {"sort int32/radix", radix_int32},       {"sort rows/std::sort", rows_std_sort},
    {"sort rows/insertion", rows_insertion}, {"sort rows/counted", rows_counted},
};

} // namespace

loop_list order_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

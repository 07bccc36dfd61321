// Hand-written loops over strided arrays: elementwise, sum of products, outer sum, a + b.T, fill.
// No floating-point contraction (the build says so): the results are those of NumPy, bit for bit.

#include "floors_transpose.h"

#include <cmath>
#include <iterator>
#include <thread>

namespace floors {
namespace {

constexpr int64_t page = 512; // doubles in 4 KiB

/// out[i] = value(i), W at a time, four vectors in flight. `value` is a generic lambda over the width.
template <int W, store_kind kind, class F> void each(double *out, int64_t begin, int64_t end, F value) {
  int64_t i = begin;
  for (; i + 4 * W <= end; i += 4 * W) {
    for (int k = 0; k < 4; ++k) {
      store<kind, W>(out + i + k * W, value.template operator()<W>(i + k * W));
    }
  }
  for (; i < end; ++i) {
    out[i] = value.template operator()<1>(i)[0];
  }
}

/// The same, walking `pages` pages side by side: each page is a stream of its own for the hardware's
/// prefetcher, which does not cross from one into the next.
template <int pages, store_kind kind, class F> void each_paged(double *out, int64_t count, F value) {
  int64_t base = 0;
  for (; base + pages * page <= count; base += pages * page) {
    for (int64_t i = base; i < base + page; i += widest) {
      for (int p = 0; p < pages; ++p) {
        store<kind, widest>(out + i + p * page, value.template operator()<widest>(i + p * page));
      }
    }
  }
  each<widest, kind>(out, base, count, value);
}

template <int W, store_kind kind, class F> void flat(const work &w, F value) {
  each<W, kind>(w.out, 0, w.columns, value);
}

auto add(const work &w) {
  return [a = w.in[0], b = w.in[1]]<int W>(int64_t i) { return load<W>(a + i) + load<W>(b + i); };
}

template <int W, store_kind kind> void add_flat(const work &w) { flat<W, kind>(w, add(w)); }
template <int pages> void add_paged(const work &w) { each_paged<pages, store_kind::stream>(w.out, w.columns, add(w)); }

auto fused(const work &w) {
  return [a = w.in[0], b = w.in[1], c = w.in[2], d = w.in[3], e = w.in[4]]<int W>(int64_t i) {
    return load<W>(a + i) * load<W>(b + i) + load<W>(c + i) - load<W>(d + i) / load<W>(e + i);
  };
}

template <int W, store_kind kind> void fused_flat(const work &w) { flat<W, kind>(w, fused(w)); }
template <int pages> void fused_paged(const work &w) {
  each_paged<pages, store_kind::stream>(w.out, w.columns, fused(w));
}

/// 1 + 2a - 3a^2 + a^3 / 2
template <int W, store_kind kind> void polynomial(const work &w) {
  flat<W, kind>(w, [a = w.in[0]]<int V>(int64_t i) {
    vec<V> x = load<V>(a + i);
    return 1.0 + 2.0 * x - 3.0 * (x * x) + 0.5 * (x * x * x);
  });
}

void call_hypot(const work &w) { // of the C library, a call for each element
  double (*volatile function)(double, double) = ::hypot;
  double (*f)(double, double) = function;
  for (int64_t i = 0; i < w.rows; ++i) {
    w.out[i] = f(w.in[0][i], w.in[1][i]);
  }
}

template <int W, store_kind kind> void fill(const work &w) {
  flat<W, kind>(w, [value = w.in[0][0]]<int V>(int64_t) { return repeat<V>(value); });
}

template <int W> double fold(vec<W> v) {
  double total = 0;
  for (int k = 0; k < W; ++k) {
    total += v[k];
  }
  return total;
}

/// sum(a * b) with eight sums in flight, over one stream or over several pages side by side.
template <int W, int pages> void dot(const work &w) {
  constexpr int vectors = 8 / pages;
  constexpr int64_t run = pages == 1 ? vectors * W : page; // what is walked before the next pages begin
  const double *a = w.in[0], *b = w.in[1];
  vec<W> sum[8] = {};
  int64_t base = 0;
  for (; base + pages * run <= w.columns; base += pages * run) {
    for (int64_t i = base; i < base + run; i += vectors * W) {
      for (int k = 0; k < 8; ++k) {
        int64_t at = i + k / vectors * page + k % vectors * W;
        sum[k] += load<W>(a + at) * load<W>(b + at);
      }
    }
  }
  double total = 0;
  for (; base < w.columns; ++base) {
    total += a[base] * b[base];
  }
  for (vec<W> v : sum) {
    total += fold<W>(v);
  }
  w.out[0] = total;
}

/// (rows, 1) + (1, columns), a row at a time. Streams only if rows start on whole vectors.
template <int W, store_kind kind> void outer(const work &w) {
  const double *b = w.in[1];
  for (int64_t r = 0; r < w.rows; ++r) {
    double a = w.in[0][r];
    each<W, kind>(w.out + r * w.columns, 0, w.columns,
                  [a, b]<int V>(int64_t i) { return repeat<V>(a) + load<V>(b + i); });
  }
}

/// Two elements of `a` from k on, each four times.
template <int k> vec<8> four_of_two(vec<8> a) {
  return __builtin_shufflevector(a, a, k, k, k, k, k + 1, k + 1, k + 1, k + 1);
}

/// (rows, 1) + (1, 4), a row a store.
template <store_kind kind> void outer_of_4(const work &w) {
  vec<4> b = load<4>(w.in[1]);
  for (int64_t r = 0; r < w.rows; ++r) {
    store<kind, 4>(w.out + r * 4, repeat<4>(w.in[0][r]) + b);
  }
}

/// The same, two rows a store.
template <store_kind kind> void outer_of_4_by_two(const work &w) {
  vec<4> b = load<4>(w.in[1]);
  vec<8> bb = __builtin_shufflevector(b, b, 0, 1, 2, 3, 0, 1, 2, 3);
  int64_t r = 0;
  for (; r + 8 <= w.rows; r += 8) {
    vec<8> a = load<8>(w.in[0] + r);
    store<kind, 8>(w.out + r * 4, four_of_two<0>(a) + bb);
    store<kind, 8>(w.out + r * 4 + 8, four_of_two<2>(a) + bb);
    store<kind, 8>(w.out + r * 4 + 16, four_of_two<4>(a) + bb);
    store<kind, 8>(w.out + r * 4 + 24, four_of_two<6>(a) + bb);
  }
  for (; r < w.rows; ++r) {
    store<store_kind::regular, 4>(w.out + r * 4, repeat<4>(w.in[0][r]) + b);
  }
}

/// a + b.T for a square whose side is a multiple of 256: panels of b are turned in scratch, then added.
/// `ahead` rows of b are prefetched: the panel's lines are a row apart, which the hardware does not foresee.
template <int panel_rows, int panel_columns, int ahead, store_kind kind> void add_transposed(const work &w) {
  const int64_t n = w.rows;
  const double *a = w.in[0], *b = w.in[1];
  alignas(64) static double panel[panel_rows * panel_columns];
  for (int64_t r = 0; r < n; r += panel_rows) {
    for (int64_t c = 0; c < n; c += panel_columns) {
      for (int64_t j = 0; j < panel_columns; j += 8) { // panel[i][j] = b[c + j][r + i]
        for (int64_t i = 0; i < panel_rows; i += 8) {
          const double *from = b + (c + j) * n + r + i;
          for (int k = 0; ahead > 0 && k < 8; ++k) {
            __builtin_prefetch(from + (ahead + k) * n, 0, 2);
          }
          transpose_8x8(from, n, panel + i * panel_columns + j, panel_columns);
        }
      }
      for (int64_t i = 0; i < panel_rows; ++i) {
        const double *left = a + (r + i) * n + c, *right = panel + i * panel_columns;
        each<widest, kind>(w.out + (r + i) * n + c, 0, panel_columns,
                           [left, right]<int W>(int64_t k) { return load<W>(left + k) + load<W>(right + k); });
      }
    }
  }
}

/// Eight times x = sqrt(x / b + a), from x = a: bound by the divider, not by memory.
void root_chain_piece(const work &w, int64_t begin, int64_t end) {
  const double *a = w.in[0], *b = w.in[1];
  for (int64_t i = begin; i < end; i += 64) {
    double x[64];
    int64_t count = end - i < 64 ? end - i : 64;
    for (int64_t k = 0; k < count; ++k) {
      x[k] = a[i + k];
    }
    for (int step = 0; step < 8; ++step) {
      for (int64_t k = 0; k < count; ++k) {
        x[k] = std::sqrt(x[k] / b[i + k] + a[i + k]);
      }
    }
    for (int64_t k = 0; k < count; ++k) {
      w.out[i + k] = x[k];
    }
  }
}

void root_chain(const work &w) { root_chain_piece(w, 0, w.columns); }

void root_chain_two_threads(const work &w) {
  std::thread other([&w] { root_chain_piece(w, w.columns / 2, w.columns); });
  root_chain_piece(w, 0, w.columns / 2);
  other.join();
}

constexpr store_kind regular = store_kind::regular, stream = store_kind::stream;

constexpr loop loops[] = {
    {"add/256", add_flat<4, regular>},
    {"add/widest", add_flat<widest, regular>},
    {"add/256 stream", add_flat<4, stream>},
    {"add/widest stream", add_flat<widest, stream>},
    {"add/2 pages", add_paged<2>},
    {"add/4 pages", add_paged<4>},
    {"fused/256", fused_flat<4, regular>},
    {"fused/widest", fused_flat<widest, regular>},
    {"fused/256 stream", fused_flat<4, stream>},
    {"fused/widest stream", fused_flat<widest, stream>},
    {"libm hypot/plain", call_hypot},
    {"polynomial/256", polynomial<4, regular>},
    {"polynomial/widest", polynomial<widest, regular>},
    {"polynomial/256 stream", polynomial<4, stream>},
    {"polynomial/widest stream", polynomial<widest, stream>},
    {"fused/2 pages", fused_paged<2>},
    {"dot/256", dot<4, 1>},
    {"dot/widest", dot<widest, 1>},
    {"dot/2 pages", dot<widest, 2>},
    {"dot/4 pages", dot<widest, 4>},
    {"fill/256", fill<4, regular>},
    {"fill/widest", fill<widest, regular>},
    {"fill/256 stream", fill<4, stream>},
    {"fill/widest stream", fill<widest, stream>},
    {"outer/256", outer<4, regular>},
    {"outer/widest", outer<widest, regular>},
    {"outer/widest stream", outer<widest, stream>},
    {"outer4/one row", outer_of_4<regular>},
    {"outer4/one row stream", outer_of_4<stream>},
    {"outer4/two rows", outer_of_4_by_two<regular>},
#if defined(__AVX512F__)
    {"outer4/two rows stream", outer_of_4_by_two<stream>},
#endif
    {"add transposed/64x256", add_transposed<64, 256, 0, regular>},
    {"add transposed/16x256 stream", add_transposed<16, 256, 0, stream>},
    {"add transposed/64x256 stream", add_transposed<64, 256, 0, stream>},
    {"add transposed/64x256 prefetch stream", add_transposed<64, 256, 16, stream>},
    {"root chain/one", root_chain},
    {"root chain in two threads/two", root_chain_two_threads},
};

} // namespace

loop_list strided_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

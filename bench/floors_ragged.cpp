// Hand-written loops over ragged rows: per-row multiply, sum, max, running sums, and the fused (a * b + row).sum.
//
// Where AVX-512 is there, a row has no scalar tail: the first one or two vectors of every row are loaded
// under a mask without asking for its length, and only longer rows, which are rare, take a branch.

#include "floors.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace floors {
namespace {

void multiply_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      w.out[i] = w.in[0][i] * w.in[1][r];
    }
  }
}

void sum_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    double sum = 0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      sum += w.in[0][i];
    }
    w.out[r] = sum;
  }
}

void running_sum_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    double sum = -0.0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      w.out[i] = sum += w.in[0][i];
    }
  }
}

/// `step` elements at a time without asking where the row ends: the next row overwrites what was too much.
template <int step> void running_sum_over(const work &w) {
  int64_t end = w.offsets[w.rows], r = 0;
  for (; r < w.rows && w.offsets[r + 1] + step <= end; ++r) {
    double sum = -0.0;
    int64_t i = w.offsets[r];
    do {
      double part[step];
      for (int k = 0; k < step; ++k) {
        part[k] = sum += w.in[0][i + k];
      }
      for (int k = 0; k < step; ++k) {
        w.out[i + k] = part[k];
      }
      i += step;
    } while (i < w.offsets[r + 1]);
  }
  for (; r < w.rows; ++r) {
    double sum = -0.0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      w.out[i] = sum += w.in[0][i];
    }
  }
}

void max_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    double best = -std::numeric_limits<double>::infinity();
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double x = w.in[0][i];
      best = x > best || std::isnan(x) ? x : best;
    }
    w.out[r] = best;
  }
}

void dot_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    double sum = 0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      sum += w.in[0][i] * w.in[1][i];
    }
    w.out[r] = sum;
  }
}

void fused_sum_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    double sum = 0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      sum += w.in[0][i] * w.in[1][i] + w.in[2][r];
    }
    w.out[r] = sum;
  }
}

#if defined(__AVX512F__)

/// Mask of the lanes of vector k (8 lanes each) that a row of `length` elements has.
inline __mmask8 lanes(int64_t length, int k) {
  int64_t left = length - 8 * k;
  return static_cast<__mmask8>(left >= 8 ? 0xff : left <= 0 ? 0 : (1u << left) - 1);
}

/// The same for the first two vectors of a row of any length, without a branch or a subtraction.
inline uint32_t first_lanes(int64_t length) { return _bzhi_u32(0xffff, length < 32 ? uint32_t(length) : 32); }

/// Brings the content `ahead` elements further on into the cache: rows are too short for the hardware to
/// see far, and its prefetcher stops at each page. Past the end of the array it does nothing.
template <int ahead> inline void prefetch(const double *content) {
  if constexpr (ahead > 0) {
    _mm_prefetch(reinterpret_cast<const char *>(content + ahead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char *>(content + ahead + 8), _MM_HINT_T0);
  }
}

// ---- a * row[:, None] ------------------------------------------------------------------------------

/// `vectors` vectors of every row are written under their masks; a branch for longer rows.
template <int vectors, int ahead> void multiply_masked(const work &w) {
  int64_t begin = w.offsets[0];
  for (int64_t r = 0; r < w.rows; ++r) {
    int64_t end = w.offsets[r + 1], length = end - begin;
    __m512d factor = _mm512_set1_pd(w.in[1][r]);
    const double *a = w.in[0] + begin;
    double *out = w.out + begin;
    prefetch<ahead>(a);
    uint32_t mask = first_lanes(length);
    for (int k = 0; k < vectors; ++k) {
      __mmask8 m = static_cast<__mmask8>(mask >> (8 * k));
      _mm512_mask_storeu_pd(out + 8 * k, m, _mm512_mul_pd(_mm512_maskz_loadu_pd(m, a + 8 * k), factor));
    }
    for (int k = vectors; 8 * k < length; ++k) {
      __mmask8 m = lanes(length, k);
      _mm512_mask_storeu_pd(out + 8 * k, m, _mm512_mul_pd(_mm512_maskz_loadu_pd(m, a + 8 * k), factor));
    }
    begin = end;
  }
}

/// Multiplies rows [first, last) in whole vectors from a to out, which may both run over the ends of rows:
/// what a row writes too much is overwritten by the next.
template <int vectors, int ahead>
inline void multiply_over(const int64_t *offsets, const double *row, int64_t first, int64_t last, const double *a,
                          double *out) {
  int64_t begin = offsets[first], base = begin;
  for (int64_t r = first; r < last; ++r) {
    int64_t end = offsets[r + 1], length = end - begin;
    __m512d factor = _mm512_set1_pd(row[r]);
    const double *from = a + begin;
    double *to = out + (begin - base);
    prefetch<ahead>(from);
    for (int k = 0; k < vectors; ++k) {
      _mm512_storeu_pd(to + 8 * k, _mm512_mul_pd(_mm512_loadu_pd(from + 8 * k), factor));
    }
    for (int k = vectors; 8 * k < length; ++k) {
      _mm512_storeu_pd(to + 8 * k, _mm512_mul_pd(_mm512_loadu_pd(from + 8 * k), factor));
    }
    begin = end;
  }
}

/// The rows from which on whole vectors might run past the end of the content.
template <int vectors> int64_t rows_with_room(const work &w) {
  int64_t r = w.rows;
  while (r > 0 && w.offsets[r] + 8 * (vectors + 1) > w.offsets[w.rows]) {
    --r;
  }
  return r;
}

void multiply_tail(const work &w, int64_t first) {
  work tail = w;
  tail.offsets += first;
  tail.in[1] += first;
  tail.rows -= first;
  multiply_plain(tail);
}

template <int vectors, int ahead> void multiply_overwrite(const work &w) {
  int64_t safe = rows_with_room<vectors>(w);
  multiply_over<vectors, ahead>(w.offsets, w.in[1], 0, safe, w.in[0], w.out + w.offsets[0]);
  multiply_tail(w, safe);
}

/// Rows go to a buffer in L1, which is flushed by streaming stores in whole lines.
template <int vectors, int ahead> void multiply_staged(const work &w) {
  constexpr int64_t room = 512, longest = 128; // doubles; rows longer than `longest` are left to the tail
  alignas(64) double stage[room + longest + 8 * (vectors + 2)];
  int64_t safe = rows_with_room<vectors>(w), written = w.offsets[0], kept = 0;
  for (int64_t r = 0; r < safe;) {
    int64_t last = r, limit = w.offsets[r] + room - kept;
    while (last < safe && w.offsets[last + 1] <= limit) {
      ++last;
    }
    last = last == r ? r + 1 : last;
    multiply_over<vectors, ahead>(w.offsets, w.in[1], r, last, w.in[0], stage + kept);
    int64_t filled = kept + w.offsets[last] - w.offsets[r], whole = filled & ~int64_t(7);
    for (int64_t i = 0; i < whole; i += 8) {
      _mm512_stream_pd(w.out + written + i, _mm512_load_pd(stage + i));
    }
    _mm512_store_pd(stage, _mm512_load_pd(stage + whole));
    written += whole;
    kept = filled - whole;
    r = last;
  }
  for (int64_t i = 0; i < kept; ++i) {
    w.out[written + i] = stage[i];
  }
  multiply_tail(w, safe);
}

// ---- reductions of rows ----------------------------------------------------------------------------

inline __m512d low_lanes(__m512d a, __m512d b) { return _mm512_unpacklo_pd(a, b); }
inline __m512d high_lanes(__m512d a, __m512d b) { return _mm512_unpackhi_pd(a, b); }

/// Eight vectors to one whose lane i is the fold of vector i: each step folds halves and interleaves two.
template <class Fold> inline __m512d fold_eight(const __m512d v[8], Fold fold) {
  __m512d pair[4], four[2];
  for (int k = 0; k < 4; ++k) { // lanes: v[2k] v[2k+1] alternating
    pair[k] = fold(low_lanes(v[2 * k], v[2 * k + 1]), high_lanes(v[2 * k], v[2 * k + 1]));
  }
  for (int k = 0; k < 2; ++k) { // 128-bit parts 0, 2 of one with 1, 3 of it
    four[k] = fold(_mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0x88),
                   _mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0xdd));
  }
  return fold(_mm512_shuffle_f64x2(four[0], four[1], 0x88), _mm512_shuffle_f64x2(four[0], four[1], 0xdd));
}

struct sum_of {
  static double empty() { return 0; }
  static __m512d fold(__m512d a, __m512d b) { return _mm512_add_pd(a, b); }
};

struct max_of {
  static double empty() { return -std::numeric_limits<double>::infinity(); }
  /// The larger; NaN if any is (the instruction alone returns b if a is NaN).
  static __m512d fold(__m512d a, __m512d b) {
    __mmask8 nan = _mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_mov_pd(_mm512_max_pd(a, b), nan, a);
  }
};

/// Values of a row under a mask, for the rest of it the value that changes nothing.
struct content_values {
  const double *a;
  template <class Op> __m512d get(int64_t i, __mmask8 m, int64_t) const {
    return _mm512_mask_loadu_pd(_mm512_set1_pd(Op::empty()), m, a + i);
  }
  template <int ahead> void fetch(int64_t i) const { prefetch<ahead>(a + i); }
};

struct product_values { // a * b
  const double *a, *b;
  template <class Op> __m512d get(int64_t i, __mmask8 m, int64_t) const {
    return _mm512_mul_pd(_mm512_maskz_loadu_pd(m, a + i), _mm512_maskz_loadu_pd(m, b + i));
  }
  template <int ahead> void fetch(int64_t i) const {
    prefetch<ahead>(a + i);
    prefetch<ahead>(b + i);
  }
};

struct fused_values { // a * b + row
  const double *a, *b, *row;
  template <class Op> __m512d get(int64_t i, __mmask8 m, int64_t r) const {
    __m512d product = _mm512_mul_pd(_mm512_maskz_loadu_pd(m, a + i), _mm512_maskz_loadu_pd(m, b + i));
    return _mm512_maskz_add_pd(m, product, _mm512_set1_pd(row[r]));
  }
  template <int ahead> void fetch(int64_t i) const {
    prefetch<ahead>(a + i);
    prefetch<ahead>(b + i);
  }
};

template <class Op, int vectors, int ahead, class Values>
inline __m512d reduce_row(const Values &values, int64_t r, int64_t begin, int64_t length) {
  values.template fetch<ahead>(begin);
  uint32_t mask = first_lanes(length);
  __m512d total = values.template get<Op>(begin, static_cast<__mmask8>(mask), r);
  if constexpr (vectors == 2) {
    total = Op::fold(total, values.template get<Op>(begin + 8, static_cast<__mmask8>(mask >> 8), r));
  }
  for (int k = vectors; 8 * k < length; ++k) {
    total = Op::fold(total, values.template get<Op>(begin + 8 * k, lanes(length, k), r));
  }
  return total;
}

template <class Op, int vectors, int ahead, class Values> void reduce_rows(const work &w, Values values) {
  int64_t r = 0, begin = w.offsets[0];
  for (; r + 8 <= w.rows; r += 8) {
    __m512d row[8];
    for (int k = 0; k < 8; ++k) {
      int64_t end = w.offsets[r + k + 1];
      row[k] = reduce_row<Op, vectors, ahead>(values, r + k, begin, end - begin);
      begin = end;
    }
    _mm512_storeu_pd(w.out + r, fold_eight(row, Op::fold));
  }
  for (; r < w.rows; ++r) {
    int64_t end = w.offsets[r + 1];
    __m512d row[8] = {reduce_row<Op, vectors, ahead>(values, r, begin, end - begin)};
    w.out[r] = _mm512_cvtsd_f64(fold_eight(row, Op::fold));
    begin = end;
  }
}

template <int vectors, int ahead> void sum_masked(const work &w) {
  reduce_rows<sum_of, vectors, ahead>(w, content_values{w.in[0]});
}
template <int vectors, int ahead> void max_masked(const work &w) {
  reduce_rows<max_of, vectors, ahead>(w, content_values{w.in[0]});
}
template <int vectors, int ahead> void fused_sum_masked(const work &w) {
  reduce_rows<sum_of, vectors, ahead>(w, fused_values{w.in[0], w.in[1], w.in[2]});
}
template <int vectors, int ahead> void dot_masked(const work &w) {
  reduce_rows<sum_of, vectors, ahead>(w, product_values{w.in[0], w.in[1]});
}

#endif

constexpr loop loops[] = {
    {"row multiply/plain", multiply_plain},
    {"row sum/plain", sum_plain},
    {"row running sum/plain", running_sum_plain},
    {"row running sum/over 4", running_sum_over<4>},
    {"row running sum/over 8", running_sum_over<8>},
    {"row max/plain", max_plain},
    {"row fused sum/plain", fused_sum_plain},
    {"row dot/plain", dot_plain},
#if defined(__AVX512F__)
    {"row multiply/masked 1", multiply_masked<1, 0>},
    {"row multiply/masked 2", multiply_masked<2, 0>},
    {"row multiply/overwrite 1", multiply_overwrite<1, 0>},
    {"row multiply/overwrite 2", multiply_overwrite<2, 0>},
    {"row multiply/staged 1", multiply_staged<1, 0>},
    {"row multiply/staged 2", multiply_staged<2, 0>},
    {"row multiply/staged 1 prefetch", multiply_staged<1, 512>},
    {"row multiply/staged 2 prefetch", multiply_staged<2, 512>},
    {"row sum/masked 1", sum_masked<1, 0>},
    {"row sum/masked 2", sum_masked<2, 0>},
    {"row sum/masked 1 prefetch", sum_masked<1, 512>},
    {"row sum/masked 2 prefetch", sum_masked<2, 512>},
    {"row max/masked 1", max_masked<1, 0>},
    {"row max/masked 2", max_masked<2, 0>},
    {"row max/masked 1 prefetch", max_masked<1, 512>},
    {"row max/masked 2 prefetch", max_masked<2, 512>},
    {"row dot/masked 1", dot_masked<1, 0>},
    {"row dot/masked 2", dot_masked<2, 0>},
    {"row dot/masked 1 prefetch", dot_masked<1, 512>},
    {"row dot/masked 2 prefetch", dot_masked<2, 512>},
    {"row fused sum/masked 1", fused_sum_masked<1, 0>},
    {"row fused sum/masked 2", fused_sum_masked<2, 0>},
    {"row fused sum/masked 1 prefetch", fused_sum_masked<1, 512>},
    {"row fused sum/masked 2 prefetch", fused_sum_masked<2, 512>},
#endif
};

} // namespace

loop_list ragged_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

// Hand-written loops that pass over each ragged row several times while it is in registers or in the cache: mean,
// standard deviation, rows made to mean 0 and deviation 1, softmax; and the place of the largest, and whether there is
// one beyond a limit.
//
// Where AVX-512 is there, eight rows are in registers at once, under masks, and fold together; groups with a longer row
// take the plain way.

#include "floors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace floors {
namespace {

// ---- one row after another --------------------------------------------------------------------------------------

double mean_of(const double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i];
  }
  return sum / double(n);
}

double deviation_of(const double *x, int64_t n, double mean) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += (x[i] - mean) * (x[i] - mean);
  }
  return std::sqrt(sum / double(n));
}

void write_mean(const work &w, const double *x, int64_t r, int64_t n) { w.out[r] = mean_of(x, n); }
void write_deviation(const work &w, const double *x, int64_t r, int64_t n) {
  w.out[r] = deviation_of(x, n, mean_of(x, n));
}
void write_standardized(const work &w, const double *x, int64_t, int64_t n) {
  double mean = mean_of(x, n), deviation = deviation_of(x, n, mean), *out = w.out + (x - w.in[0]);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = (x[i] - mean) / deviation;
  }
}
void write_softmax(const work &w, const double *x, int64_t, int64_t n) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, *out = w.out + (x - w.in[0]);
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, x[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    sum += out[i] = std::exp(x[i] - largest);
  }
  for (int64_t i = 0; i < n; ++i) {
    out[i] /= sum;
  }
}

void write_argmax(const work &w, const double *x, int64_t r, int64_t n) {
  double best = x[0];
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) {
    bool taken = x[i] > best || (x[i] != x[i] && best == best);
    best = taken ? x[i] : best;
    at = taken ? i : at;
  }
  w.out[r] = double(at);
}
/// Whether one is above 0.9.
void write_any(const work &w, const double *x, int64_t r, int64_t n) {
  bool some = false;
  for (int64_t i = 0; i < n; ++i) {
    some |= x[i] > 0.9;
  }
  w.out[r] = some;
}

using row_writer = void (*)(const work &, const double *, int64_t, int64_t);

template <row_writer write> void plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    write(w, w.in[0] + w.offsets[r], r, w.offsets[r + 1] - w.offsets[r]);
  }
}

#if defined(__AVX512F__)

// ---- eight rows at once -----------------------------------------------------------------------------------------

struct plus {
  __m512d operator()(__m512d a, __m512d b) const { return _mm512_add_pd(a, b); }
};

/// Eight vectors to one whose lane i is the fold of vector i: each step folds halves and interleaves two.
template <class Fold> inline __m512d fold_eight(const __m512d v[8], Fold fold) {
  __m512d pair[4], four[2];
  for (int k = 0; k < 4; ++k) {
    pair[k] = fold(_mm512_unpacklo_pd(v[2 * k], v[2 * k + 1]), _mm512_unpackhi_pd(v[2 * k], v[2 * k + 1]));
  }
  for (int k = 0; k < 2; ++k) {
    four[k] = fold(_mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0x88),
                   _mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0xdd));
  }
  return fold(_mm512_shuffle_f64x2(four[0], four[1], 0x88), _mm512_shuffle_f64x2(four[0], four[1], 0xdd));
}

/// Lane k of v in all lanes.
inline __m512d lane(__m512d v, int k) { return _mm512_permutexvar_pd(_mm512_set1_epi64(k), v); }

/// Rows r to r + 7, the first 8 * vectors elements of each.
template <int vectors> struct eight_rows {
  const double *x[8];
  __mmask8 mask[8][vectors];
  __m512d v[8][vectors], length;

  eight_rows(const work &w, int64_t r, int64_t ahead) {
    __m512i begin = _mm512_loadu_si512(w.offsets + r), end = _mm512_loadu_si512(w.offsets + r + 1);
    length = _mm512_cvtepi64_pd(_mm512_sub_epi64(end, begin));
    for (int k = 0; k < 8; ++k) {
      int64_t n = w.offsets[r + k + 1] - w.offsets[r + k];
      x[k] = w.in[0] + w.offsets[r + k];
      if (ahead) {
        _mm_prefetch(reinterpret_cast<const char *>(x[k] + ahead), _MM_HINT_T0);
      }
      uint32_t bits = _bzhi_u32(~0u, uint32_t(n));
      for (int j = 0; j < vectors; ++j) {
        mask[k][j] = __mmask8(bits >> (8 * j));
        v[k][j] = _mm512_maskz_loadu_pd(mask[k][j], x[k] + 8 * j);
      }
    }
  }
  __m512d mean() const {
    __m512d sum[8];
    for (int k = 0; k < 8; ++k) {
      sum[k] = v[k][0];
      for (int j = 1; j < vectors; ++j) {
        sum[k] = _mm512_add_pd(sum[k], v[k][j]);
      }
    }
    return _mm512_div_pd(fold_eight(sum, plus()), length);
  }
  /// v becomes the deviations from the mean.
  __m512d deviation(__m512d mean) {
    __m512d sum[8];
    for (int k = 0; k < 8; ++k) {
      sum[k] = _mm512_setzero_pd();
      for (int j = 0; j < vectors; ++j) {
        v[k][j] = _mm512_maskz_sub_pd(mask[k][j], v[k][j], lane(mean, k));
        sum[k] = _mm512_add_pd(sum[k], _mm512_mul_pd(v[k][j], v[k][j]));
      }
    }
    return _mm512_sqrt_pd(_mm512_div_pd(fold_eight(sum, plus()), length));
  }
};

enum class what { mean, deviation, standardized };

template <what wanted, int vectors, int ahead, row_writer write> void masked(const work &w) {
  int64_t r = 0;
  for (; r + 8 <= w.rows; r += 8) {
    int64_t longest = 0;
    for (int k = 0; k < 8; ++k) {
      longest = std::max(longest, w.offsets[r + k + 1] - w.offsets[r + k]);
    }
    if (longest > 8 * vectors) {
      for (int k = 0; k < 8; ++k) {
        write(w, w.in[0] + w.offsets[r + k], r + k, w.offsets[r + k + 1] - w.offsets[r + k]);
      }
      continue;
    }
    eight_rows<vectors> rows(w, r, ahead);
    __m512d mean = rows.mean();
    if constexpr (wanted == what::mean) {
      _mm512_storeu_pd(w.out + r, mean);
      continue;
    }
    __m512d deviation = rows.deviation(mean);
    if constexpr (wanted == what::deviation) {
      _mm512_storeu_pd(w.out + r, deviation);
      continue;
    }
    for (int k = 0; k < 8; ++k) {
      for (int j = 0; j < vectors; ++j) {
        _mm512_mask_storeu_pd(w.out + (rows.x[k] - w.in[0]) + 8 * j, rows.mask[k][j],
                              _mm512_div_pd(rows.v[k][j], lane(deviation, k)));
      }
    }
  }
  for (; r < w.rows; ++r) {
    write(w, w.in[0] + w.offsets[r], r, w.offsets[r + 1] - w.offsets[r]);
  }
}

/// Rows of up to two vectors under masks.
template <bool wants_index> void masked_search(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    const double *x = w.in[0] + w.offsets[r];
    int64_t n = w.offsets[r + 1] - w.offsets[r];
    if (n > 16) {
      (wants_index ? write_argmax : write_any)(w, x, r, n);
      continue;
    }
    uint32_t bits = _bzhi_u32(~0u, unsigned(n));
    __m512d least = _mm512_set1_pd(-std::numeric_limits<double>::infinity());
    __m512d first = _mm512_mask_loadu_pd(least, __mmask8(bits), x);
    __m512d second = _mm512_mask_loadu_pd(least, __mmask8(bits >> 8), x + 8);
    auto found = [&](__m512d value, auto compare) { return compare(first, value) | compare(second, value) << 8; };
    if constexpr (wants_index) {
      __m512d best = _mm512_set1_pd(_mm512_reduce_max_pd(_mm512_max_pd(first, second)));
      uint32_t at = found(best, [](__m512d a, __m512d b) { return uint32_t(_mm512_cmp_pd_mask(a, b, _CMP_NLT_UQ)); });
      w.out[r] = double(__builtin_ctz(at | 1u << 16));
    } else {
      w.out[r] = found(_mm512_set1_pd(0.9),
                       [](__m512d a, __m512d b) { return uint32_t(_mm512_cmp_pd_mask(a, b, _CMP_GT_OQ)); }) != 0;
    }
  }
}

#endif

const loop loops[] = {
    {"row mean/plain", plain<write_mean>},
    {"row std/plain", plain<write_deviation>},
    {"row standardize/plain", plain<write_standardized>},
    {"row softmax/plain", plain<write_softmax>},
    {"row argmax/plain", plain<write_argmax>},
    {"row any/plain", plain<write_any>},
#if defined(__AVX512F__)
    {"row argmax/masked", masked_search<true>},
    {"row any/masked", masked_search<false>},
    {"row mean/masked 1", masked<what::mean, 1, 0, write_mean>},
    {"row mean/masked 2", masked<what::mean, 2, 0, write_mean>},
    {"row mean/masked 1 prefetch", masked<what::mean, 1, 512, write_mean>},
    {"row mean/masked 2 prefetch", masked<what::mean, 2, 512, write_mean>},
    {"row mean/masked 3 prefetch", masked<what::mean, 3, 512, write_mean>},
    {"row std/masked 1", masked<what::deviation, 1, 0, write_deviation>},
    {"row std/masked 2", masked<what::deviation, 2, 0, write_deviation>},
    {"row std/masked 1 prefetch", masked<what::deviation, 1, 512, write_deviation>},
    {"row std/masked 2 prefetch", masked<what::deviation, 2, 512, write_deviation>},
    {"row std/masked 3 prefetch", masked<what::deviation, 3, 512, write_deviation>},
    {"row standardize/masked 1", masked<what::standardized, 1, 0, write_standardized>},
    {"row standardize/masked 2", masked<what::standardized, 2, 0, write_standardized>},
    {"row standardize/masked 1 prefetch", masked<what::standardized, 1, 512, write_standardized>},
    {"row standardize/masked 2 prefetch", masked<what::standardized, 2, 512, write_standardized>},
    {"row standardize/masked 3 prefetch", masked<what::standardized, 3, 512, write_standardized>},
#endif
};

} // namespace

loop_list row_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

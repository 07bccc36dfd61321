// Hand-written loops of selections: rows filtered by their values, filled to one width, pairs within rows, the nearest
// element of another array's row.

#include "floors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace floors {
namespace {

int64_t *offsets_out(const work &w) { return static_cast<int64_t *>(w.more[0]); }

// Elements above 0.5; the rows' new offsets go to more[0].
void filter_plain(const work &w) {
  int64_t kept = 0, *to = offsets_out(w);
  to[0] = 0;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      w.out[kept] = w.in[0][i];
      kept += w.in[0][i] > 0.5;
    }
    to[r + 1] = kept;
  }
}

#if defined(__AVX512F__)
// Eight elements at a time under a row's mask; whole vectors are stored, which the next overwrite.
void filter_masked(const work &w) {
  int64_t kept = 0, *to = offsets_out(w), total = w.offsets[w.rows];
  const __m512d half = _mm512_set1_pd(0.5);
  to[0] = 0;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r], end = w.offsets[r + 1]; i < end; i += 8) {
      __mmask8 in_row = end - i < 8 ? __mmask8((1 << (end - i)) - 1) : __mmask8(0xff);
      __m512d x = _mm512_maskz_loadu_pd(in_row, w.in[0] + i);
      __mmask8 keep = _mm512_mask_cmp_pd_mask(in_row, x, half, _CMP_GT_OQ);
      if (kept + 8 <= total) {
        _mm512_storeu_pd(w.out + kept, _mm512_maskz_compress_pd(keep, x));
      } else {
        _mm512_mask_compressstoreu_pd(w.out + kept, keep, x);
      }
      kept += __builtin_popcount(keep);
    }
    to[r + 1] = kept;
  }
}
#endif

// The first `columns` elements of each row, with zeros behind the others.
void dense_plain(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    int64_t n = std::min(w.offsets[r + 1] - w.offsets[r], w.columns);
    const double *x = w.in[0] + w.offsets[r];
    double *out = w.out + r * w.columns;
    int64_t i = 0;
    for (; i < n; ++i) {
      out[i] = x[i];
    }
    for (; i < w.columns; ++i) {
      out[i] = 0;
    }
  }
}

// The mass of all pairs of a row, of pt, eta and phi.
void pair_mass(const work &w) {
  const double *pt = w.in[0], *eta = w.in[1], *phi = w.in[2];
  double *out = w.out;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      for (int64_t j = i + 1; j < w.offsets[r + 1]; ++j) {
        *out++ = std::sqrt(2 * pt[i] * pt[j] * (std::cosh(eta[i] - eta[j]) - std::cos(phi[i] - phi[j])));
      }
    }
  }
}

// The distance to the nearest of the other array's row, whose offsets are more[0]; infinity where that is empty.
void nearest(const work &w) {
  const double *eta = w.in[0], *phi = w.in[1], *eta2 = w.in[2], *phi2 = w.in[3];
  const int64_t *other = static_cast<const int64_t *>(w.more[0]);
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (int64_t j = other[r]; j < other[r + 1]; ++j) {
        double e = eta[i] - eta2[j], p = phi[i] - phi2[j];
        least = std::min(least, std::sqrt(e * e + p * p));
      }
      w.out[i] = least;
    }
  }
}

const loop loops[] = {
    {"row filter/plain", filter_plain},
#if defined(__AVX512F__)
    {"row filter/masked", filter_masked},
#endif
    {"row dense/plain", dense_plain},     {"pair mass/plain", pair_mass}, {"nearest/plain", nearest},
};

} // namespace

loop_list selection_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

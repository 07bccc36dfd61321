// Hand-written loops that reduce what another operation makes, without storing it: sums of products over the first
// axis, the largest sum over a middle axis, the sum of products with a transposed operand. `rows` is the first size,
// `columns` the last; the size of a middle axis is at `offsets`.

#include "floors_transpose.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace floors {
namespace {

/// (a * b).sum(axis=0), `together` rows before the sums are stored again.
template <int together> void column_products(const work &w) {
  const double *a = w.in[0], *b = w.in[1];
  double *out = w.out;
  std::fill(out, out + w.columns, 0.0);
  int64_t r = 0;
  for (; r + together <= w.rows; r += together) {
    const double *left = a + r * w.columns, *right = b + r * w.columns;
    for (int64_t i = 0; i < w.columns; ++i) {
      double sum = out[i];
      for (int k = 0; k < together; ++k) {
        sum += left[k * w.columns + i] * right[k * w.columns + i];
      }
      out[i] = sum;
    }
  }
  for (; r < w.rows; ++r) {
    for (int64_t i = 0; i < w.columns; ++i) {
      out[i] += a[r * w.columns + i] * b[r * w.columns + i];
    }
  }
}

/// The larger; NaN stays.
inline double larger(double best, double x) { return x > best || x != x ? x : best; }

/// (a + b).max(axis=1) of three dimensions.
void middle_max(const work &w) {
  int64_t middle = w.offsets[0];
  for (int64_t r = 0; r < w.rows; ++r) {
    double *out = w.out + r * w.columns;
    const double *a = w.in[0] + r * middle * w.columns, *b = w.in[1] + r * middle * w.columns;
    std::fill(out, out + w.columns, -std::numeric_limits<double>::infinity());
    for (int64_t j = 0; j < middle; ++j, a += w.columns, b += w.columns) {
      for (int64_t i = 0; i < w.columns; ++i) {
        out[i] = larger(out[i], a[i] + b[i]);
      }
    }
  }
}

/// The same with the best of W columns kept in a register.
template <int W> void middle_max_vectors(const work &w) {
  int64_t middle = w.offsets[0];
  for (int64_t r = 0; r < w.rows; ++r) {
    const double *a = w.in[0] + r * middle * w.columns, *b = w.in[1] + r * middle * w.columns;
    int64_t i = 0;
    for (; i + W <= w.columns; i += W) {
      vec<W> best = repeat<W>(-std::numeric_limits<double>::infinity());
      for (int64_t j = 0; j < middle; ++j) {
        vec<W> x = load<W>(a + j * w.columns + i) + load<W>(b + j * w.columns + i);
        best = (x > best) | (x != x) ? x : best;
      }
      store<store_kind::regular, W>(w.out + r * w.columns + i, best);
    }
    for (; i < w.columns; ++i) {
      double best = -std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j < middle; ++j) {
        best = larger(best, a[j * w.columns + i] + b[j * w.columns + i]);
      }
      w.out[r * w.columns + i] = best;
    }
  }
}

/// (a * b.T).sum() of squares whose side is a multiple of 256: panels of b are transposed in scratch.
template <int panel_rows, int panel_columns> void transposed_products(const work &w) {
  const int64_t n = w.rows;
  alignas(64) static double panel[panel_rows * panel_columns];
  vec<8> sums[4] = {};
  for (int64_t r = 0; r < n; r += panel_rows) {
    for (int64_t c = 0; c < n; c += panel_columns) {
      for (int64_t j = 0; j < panel_columns; j += 8) { // panel[i][j] = b[c + j][r + i]
        for (int64_t i = 0; i < panel_rows; i += 8) {
          transpose_8x8(w.in[1] + (c + j) * n + r + i, n, panel + i * panel_columns + j, panel_columns);
        }
      }
      for (int64_t i = 0; i < panel_rows; ++i) {
        const double *left = w.in[0] + (r + i) * n + c, *right = panel + i * panel_columns;
        for (int64_t k = 0; k < panel_columns; k += 32) {
          for (int part = 0; part < 4; ++part) {
            sums[part] += load<8>(left + k + 8 * part) * load<8>(right + k + 8 * part);
          }
        }
      }
    }
  }
  vec<8> sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  w.out[0] = 0;
  for (int k = 0; k < 8; ++k) {
    w.out[0] += sum[k];
  }
}

const loop loops[] = {
    {"column products/1 row", column_products<1>},
    {"column products/4 rows", column_products<4>},
    {"column products/8 rows", column_products<8>},
    {"middle max/plain", middle_max},
    {"middle max/256", middle_max_vectors<4>},
    {"middle max/widest", middle_max_vectors<widest>},
    {"transposed products/16x256", transposed_products<16, 256>},
    {"transposed products/64x64", transposed_products<64, 64>},
    {"transposed products/256x32", transposed_products<256, 32>},
};

} // namespace

loop_list reduction_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

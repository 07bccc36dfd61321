// Hand-written reductions of a plane, `rows` x `columns` float64 in C order: along the rows, along the columns, and of
// everything. An F-ordered array is the same memory with its axes the other way round.
#include "floors.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace floors {
namespace {

struct adding {
  static constexpr double start = 0;
  template <class V> static V join(V a, V b) { return a + b; }
};
/// The larger; NaN stays.
struct larger {
  static constexpr double start = -std::numeric_limits<double>::infinity();
  template <class V> static V join(V best, V x) { return (x > best) | (x != x) ? x : best; }
};

template <class Op, int W> double fold(vec<W> v) {
  double result = v[0];
  for (int i = 1; i < W; ++i) {
    result = Op::join(result, v[i]);
  }
  return result;
}

template <class Op> double fold_run(const double *x, int64_t n) {
  constexpr int W = widest, together = 8;
  vec<W> acc[together];
  std::fill(acc, acc + together, repeat<W>(Op::start));
  int64_t i = 0;
  for (; i + W * together <= n; i += W * together) {
    for (int k = 0; k < together; ++k) {
      acc[k] = Op::join(acc[k], load<W>(x + i + k * W));
    }
  }
  for (int k = 1; k < together; ++k) {
    acc[0] = Op::join(acc[0], acc[k]);
  }
  double result = fold<Op, W>(acc[0]);
  for (; i < n; ++i) {
    result = Op::join(result, x[i]);
  }
  return result;
}

template <class Op> void everything(const work &w) { w.out[0] = fold_run<Op>(w.in[0], w.rows * w.columns); }

template <class Op> void along_rows(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    w.out[r] = fold_run<Op>(w.in[0] + r * w.columns, w.columns);
  }
}

/// Rows of four: two pairs at a time.
template <class Op> void along_rows_of_4(const work &w) {
  if (w.columns != 4) {
    return along_rows<Op>(w);
  }
  const double *a = w.in[0];
  int64_t r = 0;
  for (; r + 4 <= w.rows; r += 4, a += 16) {
    vec<4> x = load<4>(a), y = load<4>(a + 4), z = load<4>(a + 8), u = load<4>(a + 12);
    vec<4> xy = Op::join(__builtin_shufflevector(x, y, 0, 4, 2, 6), __builtin_shufflevector(x, y, 1, 5, 3, 7));
    vec<4> zu = Op::join(__builtin_shufflevector(z, u, 0, 4, 2, 6), __builtin_shufflevector(z, u, 1, 5, 3, 7));
    vec<4> result = Op::join(__builtin_shufflevector(xy, zu, 0, 1, 4, 5), __builtin_shufflevector(xy, zu, 2, 3, 6, 7));
    *reinterpret_cast<vec<4> *>(w.out + r) = result;
  }
  for (; r < w.rows; ++r, a += 4) {
    w.out[r] = Op::join(Op::join(a[0], a[1]), Op::join(a[2], a[3]));
  }
}

/// `together` rows before the columns are stored again.
template <class Op, int together> void along_columns(const work &w) {
  std::fill(w.out, w.out + w.columns, Op::start);
  int64_t r = 0;
  for (; r + together <= w.rows; r += together) {
    const double *a = w.in[0] + r * w.columns;
    for (int64_t i = 0; i < w.columns; ++i) {
      double best = w.out[i];
      for (int k = 0; k < together; ++k) {
        best = Op::join(best, a[k * w.columns + i]);
      }
      w.out[i] = best;
    }
  }
  for (; r < w.rows; ++r) {
    for (int64_t i = 0; i < w.columns; ++i) {
      w.out[i] = Op::join(w.out[i], w.in[0][r * w.columns + i]);
    }
  }
}

/// Four columns are half of a vector: memory is read as one run.
template <class Op> void along_columns_of_4(const work &w) {
  if (w.columns != 4 || w.rows % 8 != 0) {
    return along_columns<Op, 4>(w);
  }
  vec<4> acc[8];
  std::fill(acc, acc + 8, repeat<4>(Op::start));
  for (int64_t i = 0; i < w.rows * 4; i += 32) {
    for (int k = 0; k < 8; ++k) {
      acc[k] = Op::join(acc[k], load<4>(w.in[0] + i + 4 * k));
    }
  }
  for (int k = 1; k < 8; ++k) {
    acc[0] = Op::join(acc[0], acc[k]);
  }
  *reinterpret_cast<vec<4> *>(w.out) = acc[0];
}

/// All of four rows at once.
template <class Op> void along_columns_from_4(const work &w) {
  if (w.rows != 4) {
    return along_columns<Op, 8>(w);
  }
  const double *a = w.in[0], *b = a + w.columns, *c = b + w.columns, *d = c + w.columns;
  for (int64_t i = 0; i < w.columns; ++i) {
    w.out[i] = Op::join(Op::join(a[i], b[i]), Op::join(c[i], d[i]));
  }
}

template <void sums(const work &), bool rows, bool columns> void mean_of(const work &w) {
  sums(w);
  double count = (rows ? double(w.columns) : 1) * (columns ? double(w.rows) : 1);
  for (int64_t i = 0, n = rows && columns ? 1 : rows ? w.rows : w.columns; i < n; ++i) {
    w.out[i] /= count;
  }
}

const loop loops[] = {
    {"plane sum everything/plain", everything<adding>},
    {"plane max everything/plain", everything<larger>},
    {"plane mean everything/plain", mean_of<everything<adding>, true, true>},
    {"plane sum rows/plain", along_rows<adding>},
    {"plane sum rows/of 4", along_rows_of_4<adding>},
    {"plane max rows/plain", along_rows<larger>},
    {"plane max rows/of 4", along_rows_of_4<larger>},
    {"plane mean rows/plain", mean_of<along_rows<adding>, true, false>},
    {"plane mean rows/of 4", mean_of<along_rows_of_4<adding>, true, false>},
    {"plane sum columns/4 rows", along_columns<adding, 4>},
    {"plane sum columns/8 rows", along_columns<adding, 8>},
    {"plane sum columns/of 4", along_columns_of_4<adding>},
    {"plane sum columns/from 4", along_columns_from_4<adding>},
    {"plane max columns/4 rows", along_columns<larger, 4>},
    {"plane max columns/8 rows", along_columns<larger, 8>},
    {"plane max columns/of 4", along_columns_of_4<larger>},
    {"plane max columns/from 4", along_columns_from_4<larger>},
    {"plane mean columns/8 rows", mean_of<along_columns<adding, 8>, false, true>},
    {"plane mean columns/of 4", mean_of<along_columns_of_4<adding>, false, true>},
    {"plane mean columns/from 4", mean_of<along_columns_from_4<adding>, false, true>},
};

} // namespace

loop_list plane_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

// Hand-written loops over elements that are not plain numbers: structs of three numbers, short texts, values that may
// be missing. `columns` counts elements. Where two threads are measured, a loop is a piece [begin, end) that `whole`
// runs on one thread and `halves` on two.

#include "floors.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <thread>

namespace floors {
namespace {

using piece = void (*)(const work &, int64_t, int64_t);

constexpr int64_t batch = 512; ///< elements that stay in the first cache

template <piece run> void whole(const work &w) { run(w, 0, w.columns); }

template <piece run> void halves(const work &w) {
  int64_t middle = w.columns / 2 / batch * batch;
  std::thread other([&w, middle] {
    run(w, middle, w.columns);
    _mm_sfence();
  });
  run(w, 0, middle);
  other.join();
}

// ---- structs ---------------------------------------------------------------------------------------
// A source is `in[0..2]`, a column for each field, or records at `in[0]`. The other operand, which is the target of an
// assignment, is `more[0..2]` or records at `more[0]`.

struct source_types {
  typedef int32_t x;
  typedef double y;
  typedef int64_t z;
};
struct other_types {
  typedef int64_t x;
  typedef float y;
  typedef double z;
};

template <class T> struct by_columns {
  typename T::x *x_;
  typename T::y *y_;
  typename T::z *z_;

  template <class P>
  explicit by_columns(P *const *columns)
      : x_((typename T::x *)columns[0]), y_((typename T::y *)columns[1]), z_((typename T::z *)columns[2]) {}
  auto x(int64_t i) const { return x_[i]; }
  auto y(int64_t i) const { return y_[i]; }
  auto z(int64_t i) const { return z_[i]; }
  template <class X, class Y, class Z> void set(int64_t i, X x, Y y, Z z) const {
    x_[i] = typename T::x(x), y_[i] = typename T::y(y), z_[i] = typename T::z(z);
  }
};

/// NumPy's records: packed, 20 bytes.
template <class T> struct by_records {
  struct __attribute__((packed)) record {
    typename T::x x;
    typename T::y y;
    typename T::z z;
  } * at;

  template <class P> explicit by_records(P *const *columns) : at((record *)columns[0]) {}
  auto x(int64_t i) const { return at[i].x; }
  auto y(int64_t i) const { return at[i].y; }
  auto z(int64_t i) const { return at[i].z; }
  template <class X, class Y, class Z> void set(int64_t i, X x, Y y, Z z) const {
    at[i] = record{typename T::x(x), typename T::y(y), typename T::z(z)};
  }
};

typedef by_columns<source_types> columns;
typedef by_columns<other_types> other_columns;
typedef by_records<source_types> records;

template <class To, class From> void assign_at_once(const work &w, int64_t begin, int64_t end) {
  To to(w.more);
  From from(w.in);
  for (int64_t i = begin; i < end; ++i) {
    to.set(i, from.x(i), from.y(i), from.z(i));
  }
}

/// A column in batches that leave past the cache.
template <class T, class F> void stream_column(T *to, int64_t begin, int64_t end, F value) {
  alignas(64) T part[batch];
  int64_t i = begin;
  for (; i + batch <= end; i += batch) {
    for (int64_t k = 0; k < batch; ++k) {
      part[k] = T(value(i + k));
    }
    for (size_t k = 0; k < sizeof(part) / 32; ++k) {
      _mm256_stream_si256((__m256i *)(to + i) + k, ((const __m256i *)part)[k]);
    }
  }
  for (; i < end; ++i) {
    to[i] = T(value(i));
  }
}

/// The fields of `step` elements one after the other: of all for whole columns, of a few to read records once.
template <class To, class From, int64_t step> void assign_streamed(const work &w, int64_t begin, int64_t end) {
  To to(w.more);
  From from(w.in);
  for (int64_t i = begin, last; i < end; i = last) {
    last = std::min(i + step, end);
    stream_column(to.x_, i, last, [&](int64_t k) { return from.x(k); });
    stream_column(to.y_, i, last, [&](int64_t k) { return from.y(k); });
    stream_column(to.z_, i, last, [&](int64_t k) { return from.z(k); });
  }
}

struct equal_of {
  template <class A, class B> static bool compare(const A &a, const B &b, int64_t i) {
    return (a.x(i) == b.x(i)) & (a.y(i) == b.y(i)) & (a.z(i) == b.z(i));
  }
  static bool of_order(int order) { return order == 0; }
};

struct less_of {
  template <class A, class B> static bool compare(const A &a, const B &b, int64_t i) {
    bool last = (a.y(i) < b.y(i)) | ((a.y(i) == b.y(i)) & (a.z(i) < b.z(i)));
    return (a.x(i) < b.x(i)) | ((a.x(i) == b.x(i)) & last);
  }
  static bool of_order(int order) { return order < 0; }
};

template <class Op, class A> void compare_at_once(const work &w, int64_t begin, int64_t end) {
  A a(w.in);
  columns b(w.more);
  bool *out = (bool *)w.out;
  for (int64_t i = begin; i < end; ++i) {
    out[i] = Op::compare(a, b, i);
  }
}

/// Field by field in batches: each loop sees one width of values, which compilers turn into vectors.
template <class Op, class A> void compare_in_batches(const work &w, int64_t begin, int64_t end) {
  A a(w.in);
  columns b(w.more);
  uint8_t *out = (uint8_t *)w.out, before[3][batch], same[3][batch];
  for (int64_t i = begin; i < end; i += batch) {
    int64_t count = std::min(batch, end - i);
    auto field = [&](int f, auto left, auto right) {
      for (int64_t k = 0; k < count; ++k) {
        same[f][k] = left(i + k) == right(i + k);
        before[f][k] = left(i + k) < right(i + k);
      }
    };
    field(
        0, [&](int64_t k) { return a.x(k); }, [&](int64_t k) { return b.x(k); });
    field(
        1, [&](int64_t k) { return a.y(k); }, [&](int64_t k) { return b.y(k); });
    field(
        2, [&](int64_t k) { return a.z(k); }, [&](int64_t k) { return b.z(k); });
    for (int64_t k = 0; k < count; ++k) {
      out[i + k] = std::is_same_v<Op, equal_of>
                       ? same[0][k] & same[1][k] & same[2][k]
                       : before[0][k] | (same[0][k] & (before[1][k] | (same[1][k] & before[2][k])));
    }
  }
}

// ---- texts -----------------------------------------------------------------------------------------
// Bytes at in[0] and in[1], their offsets at `offsets` and in[2].

template <class Op> void text_memcmp(const work &w, int64_t begin, int64_t end) {
  const char *a = (const char *)w.in[0], *b = (const char *)w.in[1];
  const int64_t *a_at = w.offsets, *b_at = (const int64_t *)w.in[2];
  bool *out = (bool *)w.out;
  for (int64_t i = begin; i < end; ++i) {
    int64_t a_size = a_at[i + 1] - a_at[i], b_size = b_at[i + 1] - b_at[i];
    if (std::is_same_v<Op, equal_of> && a_size != b_size) {
      out[i] = false;
      continue;
    }
    int order = std::memcmp(a + a_at[i], b + b_at[i], size_t(std::min(a_size, b_size)));
    out[i] = Op::of_order(order ? order : a_size < b_size ? -1 : a_size > b_size);
  }
}

/// Sixteen bytes at once without a branch; all texts must be shorter, and 16 bytes behind the last be readable.
template <class Op> void text_vectors(const work &w, int64_t begin, int64_t end) {
  const char *a = (const char *)w.in[0], *b = (const char *)w.in[1];
  const int64_t *a_at = w.offsets, *b_at = (const int64_t *)w.in[2];
  bool *out = (bool *)w.out;
  for (int64_t i = begin; i < end; ++i) {
    int64_t a_size = a_at[i + 1] - a_at[i], b_size = b_at[i + 1] - b_at[i];
    const uint8_t *left = (const uint8_t *)a + a_at[i], *right = (const uint8_t *)b + b_at[i];
    __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)left), _mm_loadu_si128((const __m128i *)right));
    uint32_t differ = _bzhi_u32(~uint32_t(_mm_movemask_epi8(same)), uint32_t(std::min(a_size, b_size)));
    if constexpr (std::is_same_v<Op, equal_of>) {
      out[i] = (a_size == b_size) & (differ == 0);
    } else {
      uint32_t first = _tzcnt_u32(differ) & 15;
      out[i] = differ ? left[first] < right[first] : a_size < b_size;
    }
  }
}

// ---- values that may be missing ---------------------------------------------------------------------
// Values at in[0..2], one byte of validity for each at more[0..2]; the validity of a result is behind its values.

template <bool fused, store_kind kind> void missing_elementwise(const work &w) {
  uint8_t *out_valid = (uint8_t *)(w.out + w.columns);
  const uint8_t *valid[3] = {(const uint8_t *)w.more[0], (const uint8_t *)w.more[1], (const uint8_t *)w.more[2]};
  auto value = [&]<int W>(int64_t i) {
    vec<W> a = load<W>(w.in[0] + i), b = load<W>(w.in[1] + i);
    return fused ? a * b + load<W>(w.in[fused ? 2 : 0] + i) : a * b;
  };
  for (int64_t begin = 0; begin < w.columns; begin += 2 * batch) {
    int64_t end = std::min(begin + 2 * batch, w.columns), i = begin;
    for (; i + widest <= end; i += widest) {
      store<kind, widest>(w.out + i, value.template operator()<widest>(i));
    }
    for (; i < end; ++i) {
      w.out[i] = value.template operator()<1>(i)[0];
    }
    for (i = begin; i < end; ++i) {
      out_valid[i] = valid[0][i] & valid[1][i] & (fused ? valid[2][i] : 1);
    }
  }
}

void missing_max(const work &w) {
  constexpr int lanes = 32;
  const double lowest = -std::numeric_limits<double>::infinity(), *a = w.in[0];
  const uint8_t *valid = (const uint8_t *)w.more[0];
  double best[lanes];
  std::fill(best, best + lanes, lowest);
  int64_t i = 0;
  auto take = [&](double &to, int64_t k) {
    double x = valid[k] ? a[k] : lowest;
    to = x > to || x != x ? x : to;
  };
  for (; i + lanes <= w.columns; i += lanes) {
    for (int k = 0; k < lanes; ++k) {
      take(best[k], i + k);
    }
  }
  for (; i < w.columns; ++i) {
    take(best[0], i);
  }
  for (int k = 1; k < lanes; ++k) {
    best[0] = best[k] > best[0] || best[k] != best[k] ? best[k] : best[0];
  }
  w.out[0] = best[0];
}

void missing_row_max(const work &w) {
  uint8_t *out_valid = (uint8_t *)(w.out + w.rows);
  const uint8_t *valid = (const uint8_t *)w.more[0];
  for (int64_t r = 0; r < w.rows; ++r) {
    double best = -std::numeric_limits<double>::infinity();
    uint8_t any = 0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double x = w.in[0][i];
      best = valid[i] && (x > best || x != x) ? x : best;
      any |= valid[i];
    }
    w.out[r] = best;
    out_valid[r] = any;
  }
}

void missing_row_products(const work &w) {
  const uint8_t *a_valid = (const uint8_t *)w.more[0], *b_valid = (const uint8_t *)w.more[1];
  for (int64_t r = 0; r < w.rows; ++r) {
    double sum = 0;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double product = w.in[0][i] * w.in[1][i];
      sum += a_valid[i] & b_valid[i] ? product : 0;
    }
    w.out[r] = sum;
  }
}

#if defined(__AVX512F__)

/// Eight lanes of validity as a mask; a row's last lanes under the mask of what is left of it.
inline __mmask8 valid_lanes(const uint8_t *valid, __mmask8 left) {
  return _mm512_mask_test_epi64_mask(left, _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)valid)),
                                     _mm512_set1_epi64(1));
}

/// Validity is read up to 8 bytes past the last row.
void missing_row_products_masked(const work &w) {
  const uint8_t *a_valid = (const uint8_t *)w.more[0], *b_valid = (const uint8_t *)w.more[1];
  for (int64_t r = 0; r < w.rows; ++r) {
    __m512d sum = _mm512_setzero_pd();
    int64_t end = w.offsets[r + 1];
    for (int64_t i = w.offsets[r]; i < end; i += 8) {
      __mmask8 left = __mmask8(_bzhi_u32(0xff, uint32_t(std::min<int64_t>(end - i, 8))));
      __mmask8 m = valid_lanes(a_valid + i, left) & valid_lanes(b_valid + i, left);
      sum = _mm512_add_pd(sum,
                          _mm512_mul_pd(_mm512_maskz_loadu_pd(m, w.in[0] + i), _mm512_maskz_loadu_pd(m, w.in[1] + i)));
    }
    w.out[r] = _mm512_reduce_add_pd(sum);
  }
}

void missing_max_masked(const work &w) {
  const uint8_t *valid = (const uint8_t *)w.more[0];
  __m512d best[4];
  std::fill(best, best + 4, _mm512_set1_pd(-std::numeric_limits<double>::infinity()));
  __mmask8 nan = 0;
  int64_t i = 0;
  auto take = [&](__m512d &to, int64_t k, __mmask8 left) {
    __mmask8 m = valid_lanes(valid + k, left);
    __m512d x = _mm512_maskz_loadu_pd(m, w.in[0] + k);
    to = _mm512_mask_max_pd(to, m, to, x);
    nan |= _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q);
  };
  for (; i + 32 <= w.columns; i += 32) {
    for (int k = 0; k < 4; ++k) {
      take(best[k], i + 8 * k, 0xff);
    }
  }
  for (; i < w.columns; i += 8) {
    take(best[0], i, __mmask8(_bzhi_u32(0xff, uint32_t(std::min<int64_t>(w.columns - i, 8)))));
  }
  __m512d all = _mm512_max_pd(_mm512_max_pd(best[0], best[1]), _mm512_max_pd(best[2], best[3]));
  w.out[0] = nan ? std::numeric_limits<double>::quiet_NaN() : _mm512_reduce_max_pd(all);
}

void missing_row_max_masked(const work &w) {
  uint8_t *out_valid = (uint8_t *)(w.out + w.rows);
  const uint8_t *valid = (const uint8_t *)w.more[0];
  for (int64_t r = 0; r < w.rows; ++r) {
    __m512d best = _mm512_set1_pd(-std::numeric_limits<double>::infinity());
    int64_t end = w.offsets[r + 1];
    uint8_t any = 0, nan = 0;
    for (int64_t i = w.offsets[r]; i < end; i += 8) {
      __mmask8 m = valid_lanes(valid + i, __mmask8(_bzhi_u32(0xff, uint32_t(std::min<int64_t>(end - i, 8)))));
      __m512d x = _mm512_maskz_loadu_pd(m, w.in[0] + i);
      best = _mm512_mask_max_pd(best, m, best, x);
      nan |= _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q);
      any |= m;
    }
    w.out[r] = nan ? std::numeric_limits<double>::quiet_NaN() : _mm512_reduce_max_pd(best);
    out_valid[r] = any != 0;
  }
}

#endif

#define ONE_AND_TWO_THREADS(family, variant, ...)                                                                      \
  {family "/" variant, whole<__VA_ARGS__>}, { family " in two threads/" variant, halves<__VA_ARGS__> }

constexpr int64_t all = std::numeric_limits<int64_t>::max() / 2;
constexpr auto regular = store_kind::regular, stream = store_kind::stream;

const loop loops[] = {
    ONE_AND_TWO_THREADS("assign columns", "at once", assign_at_once<columns, columns>),
    ONE_AND_TWO_THREADS("assign columns", "stream fields", assign_streamed<columns, columns, all>),
    ONE_AND_TWO_THREADS("assign columns to other types", "at once", assign_at_once<other_columns, columns>),
    ONE_AND_TWO_THREADS("assign columns to other types", "stream fields", assign_streamed<other_columns, columns, all>),
    ONE_AND_TWO_THREADS("assign records", "at once", assign_at_once<columns, records>),
    ONE_AND_TWO_THREADS("assign records", "stream batches", assign_streamed<columns, records, batch>),
    ONE_AND_TWO_THREADS("assign records to other types", "at once", assign_at_once<other_columns, records>),
    ONE_AND_TWO_THREADS("assign records to other types", "stream batches",
                        assign_streamed<other_columns, records, batch>),
    ONE_AND_TWO_THREADS("assign columns to records", "at once", assign_at_once<records, columns>),
    ONE_AND_TWO_THREADS("equal columns", "at once", compare_at_once<equal_of, columns>),
    ONE_AND_TWO_THREADS("equal columns", "batches", compare_in_batches<equal_of, columns>),
    ONE_AND_TWO_THREADS("less columns", "at once", compare_at_once<less_of, columns>),
    ONE_AND_TWO_THREADS("less columns", "batches", compare_in_batches<less_of, columns>),
    ONE_AND_TWO_THREADS("equal records", "at once", compare_at_once<equal_of, records>),
    ONE_AND_TWO_THREADS("equal records", "batches", compare_in_batches<equal_of, records>),
    ONE_AND_TWO_THREADS("less records", "at once", compare_at_once<less_of, records>),
    ONE_AND_TWO_THREADS("less records", "batches", compare_in_batches<less_of, records>),
    ONE_AND_TWO_THREADS("equal texts", "memcmp", text_memcmp<equal_of>),
    ONE_AND_TWO_THREADS("equal texts by vectors", "16 bytes", text_vectors<equal_of>),
    ONE_AND_TWO_THREADS("less texts", "memcmp", text_memcmp<less_of>),
    ONE_AND_TWO_THREADS("less texts by vectors", "16 bytes", text_vectors<less_of>),
    {"missing multiply/regular", missing_elementwise<false, regular>},
    {"missing multiply/stream", missing_elementwise<false, stream>},
    {"missing fused/regular", missing_elementwise<true, regular>},
    {"missing fused/stream", missing_elementwise<true, stream>},
    {"missing max/plain", missing_max},
    {"missing row max/plain", missing_row_max},
    {"missing row products/plain", missing_row_products},
#if defined(__AVX512F__)
    {"missing max/masked", missing_max_masked},
    {"missing row max/masked", missing_row_max_masked},
    {"missing row products/masked", missing_row_products_masked},
#endif
};

} // namespace

loop_list element_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

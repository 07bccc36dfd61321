// The floors: hand-written loops that the library is measured against.
//
// A loop is a function of one `work`; a floor is a family of loops ("add/wide", "add/stream") that
// compute the same thing, and its time is that of the fastest in the run. The families are lists at
// the end of floors_*.cpp. Nothing here knows the library.
#pragma once

#include <cstdint>
#include <immintrin.h>

namespace floors {

/// The operands of a loop; mirrored by the ctypes structure in floors.py. All arrays are float64 and
/// start on a cache line; `offsets` has rows + 1 entries, the content of row i is [offsets[i], offsets[i+1]).
/// `more` is for the loops of floors_elements.cpp, which say what it holds.
struct work {
  double *out;
  const double *in[5];
  const int64_t *offsets;
  int64_t rows, columns;
  void *more[3];
};

struct loop {
  const char *name; ///< "family/variant"
  void (*run)(const work &);
};

struct loop_list {
  const loop *begin, *end;
};

loop_list strided_loops();
loop_list ragged_loops();
loop_list copy_loops();
loop_list element_loops();
loop_list reduction_loops();
loop_list plane_loops();
loop_list ordered_loops();
loop_list row_loops();
loop_list selection_loops();
loop_list task_loops();
loop_list order_loops();
loop_list group_loops();

/// W doubles that the compiler keeps in one vector register; may lie at any element's address.
template <int W> struct vector_of { typedef double type __attribute__((vector_size(W * 8), aligned(8), may_alias)); };
template <int W> using vec = typename vector_of<W>::type;

#if defined(__AVX512F__)
constexpr int widest = 8;
#else
constexpr int widest = 4;
#endif

template <int W> inline vec<W> load(const double *from) { return *reinterpret_cast<const vec<W> *>(from); }
template <int W> inline vec<W> repeat(double value) { return vec<W>{} + value; }

/// How a loop writes its result: through the cache, or past it in whole lines.
enum class store_kind { regular, stream };

template <store_kind kind, int W> inline void store(double *to, vec<W> value) {
  if constexpr (kind == store_kind::stream && W == 4) {
    _mm256_stream_pd(to, (__m256d)value);
#if defined(__AVX512F__)
  } else if constexpr (kind == store_kind::stream && W == 8) {
    _mm512_stream_pd(to, (__m512d)value);
#endif
  } else {
    *reinterpret_cast<vec<W> *>(to) = value;
  }
}

} // namespace floors

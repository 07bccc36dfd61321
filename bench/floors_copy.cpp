// Hand-written loops that copy and convert. `columns` counts elements; the pointers of a `work` are to whatever the
// loop's types are.

#include "floors.h"

#include <cstring>
#include <iterator>

namespace floors {
namespace {

void copy_library(const work &w) { std::memcpy(w.out, w.in[0], size_t(w.columns) * sizeof(double)); }

template <int W, store_kind kind> void copy_flat(const work &w) {
  int64_t i = 0;
  for (; i + 4 * W <= w.columns; i += 4 * W) {
    for (int k = 0; k < 4; ++k) {
      store<kind, W>(w.out + i + k * W, load<W>(w.in[0] + i + k * W));
    }
  }
  for (; i < w.columns; ++i) {
    w.out[i] = w.in[0][i];
  }
}

/// Several pages side by side, each a stream of its own for the prefetcher.
template <int pages> void copy_paged(const work &w) {
  constexpr int64_t page = 512;
  int64_t base = 0;
  for (; base + pages * page <= w.columns; base += pages * page) {
    for (int64_t i = base; i < base + page; i += widest) {
      for (int p = 0; p < pages; ++p) {
        store<store_kind::stream, widest>(w.out + i + p * page, load<widest>(w.in[0] + i + p * page));
      }
    }
  }
  std::memcpy(w.out + base, w.in[0] + base, size_t(w.columns - base) * sizeof(double));
}

template <class To, class From> void convert_flat(const work &w) {
  To *out = reinterpret_cast<To *>(w.out);
  const From *in = reinterpret_cast<const From *>(w.in[0]);
  for (int64_t i = 0; i < w.columns; ++i) {
    out[i] = To(in[i]);
  }
}

/// Blocks that stay in the first cache, then past it in whole lines.
template <class To, class From> void convert_stream(const work &w) {
  To *out = reinterpret_cast<To *>(w.out);
  const From *in = reinterpret_cast<const From *>(w.in[0]);
  constexpr int64_t block = 512;
  alignas(64) To part[block];
  int64_t i = 0;
  for (; i + block <= w.columns; i += block) {
    for (int64_t k = 0; k < block; ++k) {
      part[k] = To(in[i + k]);
    }
    for (size_t k = 0; k < sizeof(part) / 32; ++k) {
      _mm256_stream_si256(reinterpret_cast<__m256i *>(out + i) + k, reinterpret_cast<const __m256i *>(part)[k]);
    }
  }
  for (; i < w.columns; ++i) {
    out[i] = To(in[i]);
  }
}

constexpr auto regular = store_kind::regular, stream = store_kind::stream;

const loop loops[] = {
    {"copy/library", copy_library},
    {"copy/widest", copy_flat<widest, regular>},
    {"copy/256 stream", copy_flat<4, stream>},
    {"copy/widest stream", copy_flat<widest, stream>},
    {"copy/2 pages", copy_paged<2>},
    {"copy/4 pages", copy_paged<4>},
    {"float64 to float32/plain", convert_flat<float, double>},
    {"float64 to float32/stream", convert_stream<float, double>},
    {"int32 to float64/plain", convert_flat<double, int32_t>},
    {"int32 to float64/stream", convert_stream<double, int32_t>},
    {"float64 to int32/plain", convert_flat<int32_t, double>},
    {"float64 to int32/stream", convert_stream<int32_t, double>},
};

} // namespace

loop_list copy_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

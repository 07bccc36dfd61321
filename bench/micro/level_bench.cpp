// The compiled loops of the best ISA level against loops written by hand with intrinsics (AVX-512 only). Time is what
// one call takes; `floor/...` is the loop by hand that `level/...` is to be compared with.
#include <benchmark/benchmark.h>
#include <immintrin.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <vector>

#include "dynd/ops/isa.h"
#include "dynd/ops/op_id.h"

namespace {

using namespace dynd;

constexpr size_t f32 = size_t(scalar_id::float32);

const isa_table &table() { return isa(); }

/// 64-byte aligned (2 MB above 4 MB, huge pages), written once.
template <class T> T *allocate(size_t n) {
  size_t bytes = (n * sizeof(T) + 4096 + 2097151) / 2097152 * 2097152;
  void *p = aligned_alloc(2097152, bytes);
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 0, bytes);
  return static_cast<T *>(p);
}

struct vectors {
  double *a, *b, *d;
  explicit vectors(size_t n) : a(allocate<double>(n)), b(allocate<double>(n)), d(allocate<double>(n)) {
    for (size_t i = 0; i < n; ++i) {
      a[i] = 1.0 + double(i % 1000) * 1e-3;
      b[i] = 2.0 - double(i % 777) * 1e-3;
    }
  }
  ~vectors() {
    free(a);
    free(b);
    free(d);
  }
};

void binary(benchmark::State &state, batch_fn f) {
  vectors v(size_t(state.range(0)));
  for (auto _ : state) {
    f(v.d, v.a, v.b, nullptr, size_t(state.range(0)), nullptr);
    benchmark::ClobberMemory();
  }
}

[[gnu::target("avx512f")]] void hand_add(double *d, const double *a, const double *b, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    _mm512_storeu_pd(d + i, _mm512_add_pd(_mm512_loadu_pd(a + i), _mm512_loadu_pd(b + i)));
  }
}

[[gnu::target("avx512f")]] void hand_add_stream(double *d, const double *a, const double *b, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    _mm512_stream_pd(d + i, _mm512_add_pd(_mm512_loadu_pd(a + i), _mm512_loadu_pd(b + i)));
  }
}

template <void (*F)(double *, const double *, const double *, size_t)> void by_hand(benchmark::State &state) {
  vectors v(size_t(state.range(0)));
  for (auto _ : state) {
    F(v.d, v.a, v.b, size_t(state.range(0)));
    benchmark::ClobberMemory();
  }
}

[[gnu::target("avx512f")]] double hand_sum(const double *x, size_t n) {
  __m512d acc[8] = {};
  for (size_t i = 0; i + 64 <= n; i += 64) {
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      acc[k] = _mm512_add_pd(acc[k], _mm512_loadu_pd(x + i + 8 * k));
    }
  }
  return _mm512_reduce_add_pd(((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7])));
}

void sum_by_hand(benchmark::State &state) {
  vectors v(size_t(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(hand_sum(v.a, size_t(state.range(0))));
  }
}

void reduce_row(benchmark::State &state, reduction_id id) {
  vectors v(size_t(state.range(0)));
  const reduce_functions &f = table().reduce(id, scalar_id::float64);
  for (auto _ : state) {
    alignas(64) double lanes[8], result;
    f.lanes(lanes, v.a, size_t(state.range(0)));
    f.fold(&result, lanes);
    benchmark::DoNotOptimize(result);
  }
}

template <class T> struct ragged {
  size_t rows;
  std::vector<int64_t> offsets{0};
  T *content;
  T *d;
  T *per_row;
  ragged(size_t rows, double mean) : rows(rows) {
    std::mt19937_64 random(1);
    std::poisson_distribution<int> length(mean);
    for (size_t r = 0; r < rows; ++r) {
      offsets.push_back(offsets.back() + length(random));
    }
    content = allocate<T>(size_t(offsets.back()) + 64);
    d = allocate<T>(size_t(offsets.back()) + 64);
    per_row = allocate<T>(rows);
    for (size_t i = 0; i < size_t(offsets.back()); ++i) {
      content[i] = T(random() % 1000);
    }
  }
  ~ragged() {
    free(content);
    free(d);
    free(per_row);
  }
};

/// Nanoseconds a row are time / rows.
template <class T> void reduce_rows(benchmark::State &state, reduction_id id, scalar_id type, size_t rows) {
  ragged<T> v(rows, double(state.range(0)));
  const reduce_functions &f = table().reduce(id, type);
  for (auto _ : state) {
    f.rows(reinterpret_cast<char *>(v.d), sizeof(T), v.content, v.offsets.data(), v.rows, row_prefetch_distance);
    benchmark::ClobberMemory();
  }
}

/// One row at a time, masked loads, no order contract: what a person would write.
template <bool Max>
[[gnu::target("avx512f,bmi2")]] void hand_rows(double *d, const double *x, const int64_t *offsets, size_t rows) {
  for (size_t r = 0; r < rows; ++r) {
    size_t n = size_t(offsets[r + 1] - offsets[r]);
    const double *p = x + offsets[r];
    __m512d identity = _mm512_set1_pd(Max ? -__builtin_inf() : 0.0);
    __m512d acc = identity;
    size_t i = 0;
    for (; i + 8 < n; i += 8) {
      acc = Max ? _mm512_max_pd(acc, _mm512_loadu_pd(p + i)) : _mm512_add_pd(acc, _mm512_loadu_pd(p + i));
    }
    __m512d rest = _mm512_mask_loadu_pd(identity, __mmask8(_bzhi_u32(255, unsigned(n - i))), p + i);
    acc = Max ? _mm512_max_pd(acc, rest) : _mm512_add_pd(acc, rest);
    d[r] = Max ? _mm512_reduce_max_pd(acc) : _mm512_reduce_add_pd(acc);
  }
}

template <bool Max> void rows_by_hand(benchmark::State &state, size_t rows) {
  ragged<double> v(rows, double(state.range(0)));
  for (auto _ : state) {
    hand_rows<Max>(v.d, v.content, v.offsets.data(), v.rows);
    benchmark::ClobberMemory();
  }
}

/// The content only, in order: the floor of every reduction over rows.
void rows_memory_floor(benchmark::State &state, size_t rows) {
  ragged<double> v(rows, double(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(hand_sum(v.content, size_t(v.offsets.back())));
    benchmark::ClobberMemory();
  }
}

template <class T> void rows_of_one_length(benchmark::State &state, scalar_id type) {
  size_t rows = 8192 / size_t(state.range(0));
  T *x = allocate<T>(8192), *d = allocate<T>(8192);
  const reduce_functions &f = table().reduce(reduction_id::sum, type);
  for (auto _ : state) {
    f.rows_fixed(reinterpret_cast<char *>(d), sizeof(T), x, state.range(0) * intptr_t(sizeof(T)),
                 size_t(state.range(0)), rows);
    benchmark::ClobberMemory();
  }
  state.counters["rows"] = double(rows);
  free(x);
  free(d);
}

/// A row group of about 128 elements at a time into scratch, as the engine does it, over 16k elements.
template <class T> void repeat(benchmark::State &state) {
  double mean = double(state.range(0));
  ragged<T> v(size_t(16384 / mean), mean);
  T scratch[1024];
  size_t group = size_t(128 / mean);
  const fetch_functions &f = table().fetch(sizeof(T) == 8 ? 3 : 2);
  for (auto _ : state) {
    for (size_t r = 0; r + group <= v.rows; r += group) {
      row_window window = {v.offsets.data() + r, v.rows - r, v.offsets[r], v.offsets[r + group]};
      f.repeat(reinterpret_cast<char *>(scratch), reinterpret_cast<char *>(v.per_row + r), sizeof(T), window);
      benchmark::ClobberMemory();
    }
  }
  state.SetItemsProcessed(state.iterations() * v.offsets.back());
}

template <class T> void repeat_fixed(benchmark::State &state) {
  size_t length = size_t(state.range(0));
  T values[128] = {}, scratch[1024];
  const fetch_functions &f = table().fetch(sizeof(T) == 8 ? 3 : 2);
  for (auto _ : state) {
    f.repeat_fixed(reinterpret_cast<char *>(scratch), reinterpret_cast<char *>(values), sizeof(T), length,
                   128 / length);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * int64_t(128 / length * length));
}

void gather_rows(benchmark::State &state) {
  double mean = double(state.range(0));
  ragged<double> v(size_t(16384 / mean), mean);
  double scratch[1024];
  size_t group = size_t(128 / mean);
  const fetch_functions &f = table().fetch(3);
  for (auto _ : state) {
    for (size_t r = 0; r + group <= v.rows; r += group) {
      row_window window = {v.offsets.data() + r, v.rows - r, v.offsets[r], v.offsets[r + group]};
      f.gather(reinterpret_cast<char *>(scratch), window, reinterpret_cast<const char *>(v.content), 8, 8,
               reinterpret_cast<const char *>(v.offsets.data() + r), 8, slot_kind::offsets64);
      benchmark::ClobberMemory();
    }
  }
  state.SetItemsProcessed(state.iterations() * v.offsets.back());
}

/// A panel of 64 rows of 256 out of a 4096 x 4096 source, all over the source.
template <class T> void transpose_panel(benchmark::State &state) {
  constexpr size_t side = 4096, rows = 64, columns = 256;
  T *x = allocate<T>(side * side), *d = allocate<T>(rows * columns);
  const fetch_functions &f = table().fetch(__builtin_ctz(sizeof(T)));
  size_t panel = 0;
  size_t panels = state.range(0) ? side / rows * (side / columns) : 1;
  for (auto _ : state) {
    size_t i = panel % (side / rows) * rows, j = panel / (side / rows) * columns;
    f.transpose(reinterpret_cast<char *>(d), columns * sizeof(T), reinterpret_cast<char *>(x + j * side + i),
                side * sizeof(T), rows, columns);
    panel = (panel + 1) % panels;
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * int64_t(rows * columns * sizeof(T)));
  free(x);
  free(d);
}

/// The same bytes, copied: what a panel would cost if its order did not matter.
template <class T> void copy_panel(benchmark::State &state) {
  constexpr size_t side = 4096, rows = 64, columns = 256;
  T *x = allocate<T>(side * side), *d = allocate<T>(rows * columns);
  size_t panel = 0;
  size_t panels = state.range(0) ? side / rows * (side / columns) : 1;
  for (auto _ : state) {
    std::memcpy(d, x + panel * rows * columns, rows * columns * sizeof(T));
    panel = (panel + 1) % panels;
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * int64_t(rows * columns * sizeof(T)));
  free(x);
  free(d);
}

template <class T> void load_strided(benchmark::State &state) {
  T *x = allocate<T>(128 * 16);
  T scratch[256];
  const fetch_functions &f = table().fetch(__builtin_ctz(sizeof(T)));
  for (auto _ : state) {
    f.load_strided(reinterpret_cast<char *>(scratch), reinterpret_cast<char *>(x), state.range(0) * sizeof(T), 128);
    benchmark::ClobberMemory();
  }
  free(x);
}

void convert(benchmark::State &state, scalar_id to, scalar_id from) {
  size_t n = size_t(state.range(0));
  double *x = allocate<double>(n), *d = allocate<double>(n);
  batch_fn f = table().convert(to, from);
  for (auto _ : state) {
    f(d, x, nullptr, nullptr, n, nullptr);
    benchmark::ClobberMemory();
  }
  free(x);
  free(d);
}

/// Every row in one type over 128 elements in the L1 cache.
void operation_block(benchmark::State &state, size_t op, size_t type) {
  size_t n = 128;
  alignas(64) static char x[3][2048], d[2][2048];
  std::memset(x, 1, sizeof x);
  batch_fn f = table().loop(op_id(op), scalar_id(type));
  for (auto _ : state) {
    f(d[0], x[0], x[1], x[2], n, d[1]);
    benchmark::ClobberMemory();
  }
}

[[maybe_unused]] const bool registered = [] {
  auto name = [](auto... text) { return (std::string() + ... + text); };
  for (op_id op : {op_id::add, op_id::multiply}) {
    const char *op_name = op == op_id::add ? "add" : "multiply";
    benchmark::RegisterBenchmark(name("level/", op_name).c_str(), binary, table().loop(op, scalar_id::float64))
        ->Arg(8)
        ->Arg(64)
        ->Arg(67)
        ->Arg(10000)
        ->Arg(16 << 20);
    benchmark::RegisterBenchmark(name("level/", op_name, "_stream").c_str(), binary,
                                 table().stream_loop(op, scalar_id::float64))
        ->Arg(10000)
        ->Arg(16 << 20);
  }
  const size_t million = 1000000, few = 2000;
  for (reduction_id id : {reduction_id::sum, reduction_id::max}) {
    std::string text = id == reduction_id::sum ? "sum" : "max";
    benchmark::RegisterBenchmark(name("level/", text).c_str(), reduce_row, id)->Arg(64)->Arg(10000)->Arg(16 << 20);
    benchmark::RegisterBenchmark(name("level/", text, "_rows_1M").c_str(), reduce_rows<double>, id, scalar_id::float64,
                                 million)
        ->Arg(4)
        ->Arg(10)
        ->Arg(30);
    benchmark::RegisterBenchmark(name("level/", text, "_rows_2000").c_str(), reduce_rows<double>, id,
                                 scalar_id::float64, few)
        ->Arg(4)
        ->Arg(10)
        ->Arg(30);
    benchmark::RegisterBenchmark(name("level/", text, "_rows_2000_float32").c_str(), reduce_rows<float>, id,
                                 scalar_id::float32, few)
        ->Arg(4)
        ->Arg(10);
    benchmark::RegisterBenchmark(name("level/", text, "_rows_2000_int64").c_str(), reduce_rows<int64_t>, id,
                                 scalar_id::int64, few)
        ->Arg(4)
        ->Arg(10);
  }
  benchmark::RegisterBenchmark("level/max_rows_2000_int16", reduce_rows<int16_t>, reduction_id::max, scalar_id::int16,
                               few)
      ->Arg(4)
      ->Arg(10);
  benchmark::RegisterBenchmark("floor/add", by_hand<hand_add>)->Arg(64)->Arg(10000)->Arg(16 << 20);
  benchmark::RegisterBenchmark("floor/add_stream", by_hand<hand_add_stream>)->Arg(10000)->Arg(16 << 20);
  benchmark::RegisterBenchmark("floor/sum", sum_by_hand)->Arg(10000)->Arg(16 << 20);
  benchmark::RegisterBenchmark("floor/sum_rows_1M", rows_by_hand<false>, million)->Arg(4)->Arg(10)->Arg(30);
  benchmark::RegisterBenchmark("floor/max_rows_1M", rows_by_hand<true>, million)->Arg(4)->Arg(10)->Arg(30);
  benchmark::RegisterBenchmark("floor/memory_rows_1M", rows_memory_floor, million)->Arg(4)->Arg(10)->Arg(30);
  benchmark::RegisterBenchmark("floor/sum_rows_2000", rows_by_hand<false>, few)->Arg(4)->Arg(10)->Arg(30);
  benchmark::RegisterBenchmark("floor/max_rows_2000", rows_by_hand<true>, few)->Arg(4)->Arg(10)->Arg(30);
  benchmark::RegisterBenchmark("level/sum_rows_fixed", rows_of_one_length<double>, scalar_id::float64)
      ->Arg(2)
      ->Arg(3)
      ->Arg(4)
      ->Arg(8)
      ->Arg(10)
      ->Arg(64);
  benchmark::RegisterBenchmark("level/repeat_float64", repeat<double>)->Arg(4)->Arg(10);
  benchmark::RegisterBenchmark("level/repeat_float32", repeat<float>)->Arg(4)->Arg(10);
  benchmark::RegisterBenchmark("level/repeat_fixed_float64", repeat_fixed<double>)->DenseRange(2, 8)->Arg(16);
  benchmark::RegisterBenchmark("level/repeat_fixed_float32", repeat_fixed<float>)->DenseRange(2, 8)->Arg(16);
  benchmark::RegisterBenchmark("level/gather_rows", gather_rows)->Arg(4)->Arg(10);
  benchmark::RegisterBenchmark("level/transpose_8", transpose_panel<uint64_t>)->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("level/transpose_4", transpose_panel<uint32_t>)->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("level/transpose_2", transpose_panel<uint16_t>)->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("level/transpose_1", transpose_panel<uint8_t>)->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("floor/copy_panel_8", copy_panel<uint64_t>)->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("floor/copy_panel_4", copy_panel<uint32_t>)->Arg(0)->Arg(1);
  benchmark::RegisterBenchmark("level/load_strided_8", load_strided<uint64_t>)->Arg(2)->Arg(3)->Arg(16);
  benchmark::RegisterBenchmark("level/load_strided_4", load_strided<uint32_t>)->Arg(2)->Arg(3)->Arg(16);
  benchmark::RegisterBenchmark("level/float64_to_int32", convert, scalar_id::int32, scalar_id::float64)->Arg(10000);
  benchmark::RegisterBenchmark("level/int32_to_float64", convert, scalar_id::float64, scalar_id::int32)->Arg(10000);
  benchmark::RegisterBenchmark("level/int64_to_float64", convert, scalar_id::float64, scalar_id::int64)->Arg(10000);
  for (size_t op = 0; op < op_count; ++op) {
    for (size_t type = 0; type < scalar_count; ++type) {
      if (table().loop(op_id(op), scalar_id(type))) {
        benchmark::RegisterBenchmark(
            name("operation128/", operation_of(op_id(op)).name, "/", scalar_name[type]).c_str(), operation_block, op,
            type);
      }
    }
  }
  return true;
}();

} // namespace

BENCHMARK_MAIN();

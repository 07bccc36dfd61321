#include "dynd/call/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "dynd/base/interruption.h"
#include "dynd/call/counted_kernel.h"
#include "dynd/eval/threads.h"
#include "dynd/kernel/level.h"
#include "dynd/type/native.h"

namespace dynd::nd {

namespace {

// ---- the library ----------------------------------------------------------------------------------------------------

constexpr int row_major = 101, not_transposed = 111, transposed_matrix = 112;

template <class Int, class Scalar>
using gemm = void (*)(int order, int transpose_a, int transpose_b, Int m, Int n, Int k, Scalar alpha, const void *a,
                      Int lda, const void *b, Int ldb, Scalar beta, void *c, Int ldc);

struct blas {
  void *single = nullptr, *doubles = nullptr, *single_complex = nullptr, *double_complex = nullptr; // gemm of each
  bool wide = false;                     // its integers have 64 bits
  int (*set_local)(int count) = nullptr; // threads of BLAS in calls from this thread; null where it cannot be said
  bool fast = true;                      // its loops are for CPUs like this one
  std::string path;
};

// A build of OpenBLAS that is older than the CPU does not know it, and takes the loops of one that is 15 years older.
bool is_for_this_cpu([[maybe_unused]] const char *core) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) {
    return true;
  }
  for (const char *without_avx2 : {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Nano", "Opteron",
                                   "Barcelona", "Bobcat", "Bulldozer", "Piledriver", "Sandybridge", "Steamroller"}) {
    if (std::strncmp(core, without_avx2, std::strlen(without_avx2)) == 0) {
      return false;
    }
  }
#endif
  return true;
}

std::mutex blas_loading;
std::vector<std::string> extra_paths;

// The names that builds of OpenBLAS give to their functions.
bool find_functions(void *handle, blas &found) {
  struct {
    const char *before, *behind;
    bool wide;
  } const names[] = {
      {"cblas_", "", false}, {"cblas_", "64_", true}, {"scipy_cblas_", "64_", true}, {"scipy_cblas_", "", false}};
  for (auto &n : names) {
    auto find = [&](const char *type) {
      return dlsym(handle, (std::string(n.before) + type + "gemm" + n.behind).c_str());
    };
    found.single = find("s");
    found.doubles = find("d");
    found.single_complex = find("c");
    found.double_complex = find("z");
    found.wide = n.wide;
    if (found.single && found.doubles && found.single_complex && found.double_complex) {
      found.set_local = reinterpret_cast<int (*)(int)>(dlsym(handle, "openblas_set_num_threads_local"));
      bool scipy = n.before[0] == 's';
      std::string core = std::string(scipy ? "scipy_" : "") + "openblas_get_corename" + n.behind;
      auto core_name = reinterpret_cast<const char *(*)()>(dlsym(handle, core.c_str()));
      found.fast = !core_name || is_for_this_cpu(core_name());
      return true;
    }
  }
  return false;
}

blas load() {
  std::vector<std::string> paths;
  if (const char *given = std::getenv("DYND_BLAS")) {
    paths.push_back(given); // empty: none
  } else {
    paths.push_back("libopenblas.so.0");
    paths.insert(paths.end(), extra_paths.begin(), extra_paths.end());
    paths.push_back("libblas.so.3");
  }
  blas best;
  auto merit = [](const blas &b) { return b.path.empty() ? 0 : 1 + 2 * b.fast + (b.set_local != nullptr); };
  for (const std::string &path : paths) { // the first of the best; what was opened stays, others may have it open too
    void *handle = path.empty() || merit(best) == 4 ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    blas found;
    if (handle && find_functions(handle, found)) {
      found.path = path;
      best = merit(found) > merit(best) ? found : best;
    } else if (handle) {
      dlclose(handle);
    }
  }
  return best;
}

const blas &the_blas() {
  static const blas *found = [] {
    std::lock_guard lock(blas_loading);
    return new blas(load()); // stays, as kernels may be called until the end
  }();
  return *found;
}

// ---- one product ----------------------------------------------------------------------------------------------------

struct matrix {
  const char *data;
  intptr_t rows, columns, row_stride, column_stride;
};

// Memory for a copy, used again for the next block of a call.
struct room {
  void *memory = nullptr;
  size_t size = 0;

  void *get(dynd_frame *frame, size_t bytes) {
    if (bytes > size) {
      memory = frame->temp(frame, bytes);
      size = memory ? bytes : 0;
    }
    return memory;
  }
};

template <class T> struct blas_product {
  static constexpr bool is_complex = component_count(native_scalar_id<T>()) == 2;

  // Row by row of the result, along the rows of b where these have no gaps.
  static int plain_rows(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride,
                        const dynd_frame *frame) {
    for (intptr_t i = 0; i < a.rows; i++) {
      if (is_cancelled(frame)) {
        return dynd_error_cancelled;
      }
      char *row = to + i * row_stride;
      for (intptr_t j = 0; j < b.columns; j++) {
        *reinterpret_cast<T *>(row + j * column_stride) = T(0);
      }
      for (intptr_t k = 0; k < a.columns; k++) {
        T factor = *reinterpret_cast<const T *>(a.data + i * a.row_stride + k * a.column_stride);
        const char *other = b.data + k * b.row_stride;
        if (column_stride == sizeof(T) && b.column_stride == sizeof(T)) {
          add_multiple(reinterpret_cast<T *>(row), reinterpret_cast<const T *>(other), factor, b.columns);
          continue;
        }
        for (intptr_t j = 0; j < b.columns; j++) {
          T &sum = *reinterpret_cast<T *>(row + j * column_stride);
          sum = added(sum, factor, *reinterpret_cast<const T *>(other + j * b.column_stride));
        }
      }
    }
    return dynd_ok;
  }

  // A large product that is the only one has its rows on our threads, as BLAS would have it on its own.
  static int plain(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride, bool alone,
                   dynd_frame *frame) {
    constexpr double piece_work = 1 << 20; // multiplications; less is not worth a piece
    double row_work = std::max(1.0, double(a.columns) * double(b.columns));
    intptr_t rows = intptr_t(std::max(1.0, std::min(double(a.rows), piece_work / row_work)));
    if (!alone || rows == a.rows) {
      return plain_rows(a, b, to, row_stride, column_stride, frame);
    }
    interruption asked(true); // the engine asks between its pieces, of which this is one
    try {
      return for_each_piece((a.rows + rows - 1) / rows, [&](intptr_t i) {
        if (asked.poll()) {
          return int(dynd_error_cancelled);
        }
        matrix own = a;
        own.data += i * rows * a.row_stride;
        own.rows = std::min(rows, a.rows - i * rows);
        return plain_rows(own, b, to + i * rows * row_stride, row_stride, column_stride, frame);
      });
    } catch (...) {
      return report_caught(frame);
    }
  }

  // Integers wrap; of bools it is or, of and.
  static T added(T sum, T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      return T(uint64_t(sum) + uint64_t(x) * uint64_t(y));
    } else if constexpr (is_complex) { // without the search for NaN that C++ prescribes
      return {sum.real() + (x.real() * y.real() - x.imag() * y.imag()),
              sum.imag() + (x.real() * y.imag() + x.imag() * y.real())};
    } else {
      return sum + x * y;
    }
  }

  static void add_multiple(T *sum, const T *row, T factor, intptr_t n) {
    for (intptr_t j = 0; j < n; j++) {
      sum[j] = added(sum[j], factor, row[j]);
    }
  }

  // How BLAS takes a matrix: as it is, as the transposed of one, or a copy.
  struct blas_matrix {
    const void *data;
    int transpose;
    intptr_t lead;
  };
  static bool find_layout(const matrix &m, blas_matrix &found) {
    intptr_t item = sizeof(T);
    auto fits = [&](intptr_t inner, intptr_t outer, intptr_t ninner, intptr_t nouter) {
      return (inner == item || ninner == 1) && (nouter == 1 || (outer % item == 0 && outer / item >= ninner));
    };
    if (fits(m.column_stride, m.row_stride, m.columns, m.rows)) {
      found = {m.data, not_transposed, m.rows == 1 ? m.columns : m.row_stride / item};
      return true;
    }
    if (fits(m.row_stride, m.column_stride, m.rows, m.columns)) {
      found = {m.data, transposed_matrix, m.columns == 1 ? m.rows : m.column_stride / item};
      return true;
    }
    return false;
  }
  static bool copy(const matrix &m, blas_matrix &found, dynd_frame *frame, room &copies) {
    size_t bytes; // sizes of an operand that repeats have no memory behind them
    if (__builtin_mul_overflow(m.rows, m.columns, &bytes) || __builtin_mul_overflow(bytes, sizeof(T), &bytes)) {
      return false;
    }
    T *memory = static_cast<T *>(copies.get(frame, bytes));
    for (intptr_t i = 0; memory && i < m.rows; i++) {
      for (intptr_t j = 0; j < m.columns; j++) {
        memory[i * m.columns + j] = *reinterpret_cast<const T *>(m.data + i * m.row_stride + j * m.column_stride);
      }
    }
    found = {memory, not_transposed, m.columns};
    return memory;
  }

  template <class Int>
  static void call(void *function, const blas_matrix &a, const blas_matrix &b, intptr_t m, intptr_t n, intptr_t k,
                   void *to, intptr_t lead) {
    const T one(1), zero(0);
    if constexpr (is_complex) {
      reinterpret_cast<gemm<Int, const void *>>(function)(row_major, a.transpose, b.transpose, Int(m), Int(n), Int(k),
                                                          &one, a.data, Int(a.lead), b.data, Int(b.lead), &zero, to,
                                                          Int(lead));
    } else {
      reinterpret_cast<gemm<Int, T>>(function)(row_major, a.transpose, b.transpose, Int(m), Int(n), Int(k), one, a.data,
                                               Int(a.lead), b.data, Int(b.lead), zero, to, Int(lead));
    }
  }

  static void *function_of(const blas &library) {
    if constexpr (std::is_same_v<T, float>) {
      return library.single;
    } else if constexpr (std::is_same_v<T, double>) {
      return library.doubles;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      return library.single_complex;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      return library.double_complex;
    } else {
      return nullptr;
    }
  }

  static int run(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride, bool alone,
                 dynd_frame *frame, room *copies, const blas *library) {
    intptr_t m = a.rows, k = a.columns, n = b.columns;
    bool small = double(m) * double(k) * double(n) < 4096; // a call of BLAS costs more; measured at 8 to 20
    void *function = small || !library || k == 0 ? nullptr : function_of(*library);
    blas_matrix x, y;
    bool result_fits = (column_stride == sizeof(T) || n == 1) && row_stride % intptr_t(sizeof(T)) == 0 &&
                       (m == 1 || row_stride / intptr_t(sizeof(T)) >= n);
    if (!function || !result_fits || (!library->wide && std::max({m, k, n}) > INT_MAX / 2)) {
      return plain(a, b, to, row_stride, column_stride, alone, frame);
    }
    if ((!find_layout(a, x) && !copy(a, x, frame, copies[0])) ||
        (!find_layout(b, y) && !copy(b, y, frame, copies[1]))) {
      return dynd_error_memory;
    }
    intptr_t lead = m == 1 ? n : row_stride / intptr_t(sizeof(T));
    if (!library->wide && std::max({x.lead, y.lead, lead}) > INT_MAX) {
      return plain(a, b, to, row_stride, column_stride, alone, frame);
    }
    int before = library->set_local && !alone ? library->set_local(1) : 0;
    library->wide ? call<int64_t>(function, x, y, m, n, k, to, lead) : call<int>(function, x, y, m, n, k, to, lead);
    if (before) {
      library->set_local(before);
    }
    return dynd_ok;
  }
};

// ---- the kernel -----------------------------------------------------------------------------------------------------

struct matmul_leaf {
  ckernel_prefix base;
  const blas *library; // null where no type of BLAS is multiplied
  bool alone;          // there is one product: it may have all threads
  intptr_t stride[3][2];
};

template <class T> int matmul_blocks(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto *leaf = reinterpret_cast<const matmul_leaf *>(self);
  room copies[2];
  for (size_t i = 0; i < call->count; i++) {
    intptr_t m = dynd_core_size(call, 0, i), k = dynd_core_size(call, 1, i), n = dynd_core_size(call, 2, i);
    matrix a = {dynd_core_data(call, 1, i), m, k, leaf->stride[1][0], leaf->stride[1][1]};
    matrix b = {dynd_core_data(call, 2, i), k, n, leaf->stride[2][0], leaf->stride[2][1]};
    if (is_cancelled(frame)) {
      return dynd_error_cancelled;
    }
    if (int status = blas_product<T>::run(a, b, dynd_core_data(call, 0, i), leaf->stride[0][0], leaf->stride[0][1],
                                          leaf->alone, frame, copies, leaf->library)) {
      return status;
    }
  }
  return dynd_ok;
}

// Integers of both signs wrap alike.
core_operation_t matmul_of(scalar_id id) {
  switch (id) {
  case scalar_id::float32:
    return matmul_blocks<float>;
  case scalar_id::float64:
    return matmul_blocks<double>;
  case scalar_id::complex64:
    return matmul_blocks<std::complex<float>>;
  case scalar_id::complex128:
    return matmul_blocks<std::complex<double>>;
  case scalar_id::bool_:
    return matmul_blocks<bool>;
  default:
    break;
  }
  switch (is_integer(id) ? scalar_size[size_t(id)] : 0) {
  case 1:
    return matmul_blocks<uint8_t>;
  case 2:
    return matmul_blocks<uint16_t>;
  case 4:
    return matmul_blocks<uint32_t>;
  case 8:
    return matmul_blocks<uint64_t>;
  default:
    return nullptr;
  }
}

// The library is found here: to look for it allocates, which a kernel must not.
intptr_t make_matmul(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                     const dynd_bind *bind) try {
  intptr_t end = offset + intptr_t(sizeof(matmul_leaf));
  scalar_id id = ndt::type(bind->type[0])->scalar;
  core_operation_t function = matmul_of(id);
  if (!function) {
    std::snprintf(bind->error, bind->error_size, "there is no product of matrices of type %s", bind->type[0]);
    return dynd_error_type;
  }
  const blas *library = is_integer(id) || id == scalar_id::bool_ ? nullptr : &the_blas();
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  auto *leaf = reinterpret_cast<matmul_leaf *>(out->data + offset);
  leaf->base.function = reinterpret_cast<void *>(function);
  leaf->library = library;
  leaf->alone = self->data_ptr;
  for (int o = 0; o < 3; o++) {
    std::copy_n(bind->arrmeta[o]->stride, 2, leaf->stride[o]);
  }
  return end;
} catch (...) {
  return dynd_error_memory;
}

// What `data_ptr` of the kernels for one product points to.
char is_alone;

struct matmul_overloads {
  deferred_ckernel numbers, bools;
  callable all;

  explicit matmul_overloads(void *data)
      : numbers(kernel_of("(M * K * Number T, K * N * T) -> M * N * T", data)),
        bools(kernel_of("(M * K * bool, K * N * bool) -> M * N * bool", data)), all(numbers) {
    all.add(kernel(bools));
  }

private:
  static deferred_ckernel kernel_of(const char *signature, void *data) {
    return {sizeof(deferred_ckernel),
            DYND_ABI_VERSION,
            core_operation_funcproto_id,
            dynd_callable_pure | dynd_callable_total,
            "matmul",
            signature,
            "The product of matrices.",
            data,
            make_matmul,
            nullptr,
            nullptr,
            nullptr,
            nullptr};
  }
};

} // namespace

const callable &matmul_kernel(bool alone) {
  static const auto *const one = new matmul_overloads(&is_alone), *const many = new matmul_overloads(nullptr); // stay
  return alone ? one->all : many->all;
}

void add_blas_path(std::string path) {
  std::lock_guard lock(blas_loading);
  extra_paths.push_back(std::move(path));
}

std::string blas_library() { return the_blas().path; }

} // namespace dynd::nd

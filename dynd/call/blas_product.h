// One product of matrices, by BLAS or by plain loops; it looks at Ctrl-C meanwhile. Private to dynd/call/.
#pragma once

#include <algorithm>
#include <climits>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "dynd/call/blas_library.h"
#include "dynd/call/counted_kernel.h"
#include "dynd/call/row_interruption.h"
#include "dynd/eval/threads.h"
#include "dynd/kernel/level.h"
#include "dynd/type/native.h"

namespace dynd::nd {

struct matrix {
  const char *data;
  intptr_t rows, columns, row_stride, column_stride;

  matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
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

// Whether to stop, on one thread: asked after each million of steps.
struct counted_steps {
  row_interruption &asked;
  intptr_t done = 0;

  bool stops(intptr_t steps) {
    if ((done += steps) < 1 << 20) {
      return false;
    }
    done = 0;
    return asked.poll();
  }
};

template <class T> class blas_product {
public:
  blas_product(dynd_frame *frame, const blas *library, bool alone)
      : frame_(frame), library_(library), functions_(functions_of(library)), alone_(alone), asked_(frame) {}

  int run(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride) {
    intptr_t m = a.rows, k = a.columns, n = b.columns;
    double work = double(m) * double(k) * double(n);
    if (steps_.stops(intptr_t(std::min(work, 0x1p20))) || is_cancelled(frame_)) {
      return dynd_error_cancelled;
    }
    bool small = work < (m == 1 || n == 1 ? 256 : 4096); // a call of BLAS costs more; measured
    bool known = !small && functions_ && k > 0;
    bool turned = known && m == 1 && n > 1; // gemv takes a matrix times a column
    int status = !known   ? in_plain
                 : turned ? by_blas(b.transposed(), a.transposed(), to, column_stride, row_stride)
                          : by_blas(a, b, to, row_stride, column_stride);
    return status == in_plain ? plain(a, b, to, row_stride, column_stride) : status;
  }

private:
  static constexpr bool is_complex = component_count(native_scalar_id<T>()) == 2;
  static constexpr intptr_t item = sizeof(T);
  static constexpr int in_plain = -1; // nothing was done: BLAS cannot

  // ---- without BLAS

  // Row by row of the result, along the rows of b where these have no gaps; of long ones so much as stays in a cache.
  int plain_rows(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride) {
    constexpr intptr_t most = 4096;
    counted_steps steps{asked_, 0};
    for (intptr_t i = 0; i < a.rows; i++) {
      for (intptr_t first = 0; first < b.columns; first += most) {
        intptr_t n = std::min(most, b.columns - first);
        char *row = to + i * row_stride + first * column_stride;
        for (intptr_t j = 0; j < n; j++) {
          *reinterpret_cast<T *>(row + j * column_stride) = T(0);
        }
        for (intptr_t k = 0; k < a.columns; k++) {
          T factor = *reinterpret_cast<const T *>(a.data + i * a.row_stride + k * a.column_stride);
          const char *other = b.data + k * b.row_stride + first * b.column_stride;
          if (steps.stops(n)) {
            return dynd_error_cancelled;
          }
          add_multiple(row, column_stride, factor, other, b.column_stride, n);
        }
      }
    }
    return dynd_ok;
  }

  // Each number of the result by itself.
  int plain_column(const matrix &a, const matrix &b, char *to, intptr_t row_stride) {
    constexpr intptr_t most = 1 << 16;
    counted_steps steps{asked_, 0};
    for (intptr_t i = 0; i < a.rows; i++) {
      T sum(0);
      for (intptr_t first = 0; first < a.columns; first += most) {
        intptr_t n = std::min(most, a.columns - first);
        if (steps.stops(n)) {
          return dynd_error_cancelled;
        }
        sum = with_products(sum, a.data + i * a.row_stride + first * a.column_stride, a.column_stride,
                            b.data + first * b.row_stride, b.row_stride, n);
      }
      *reinterpret_cast<T *>(to + i * row_stride) = sum;
    }
    return dynd_ok;
  }

  // A large product that is the only one has its rows on our threads, as BLAS would have it on its own.
  int plain(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride) {
    constexpr double piece_work = 1 << 20; // multiplications; less is not worth a piece
    double row_work = std::max(1.0, double(a.columns) * double(b.columns));
    intptr_t rows = intptr_t(std::max(1.0, std::min(double(a.rows), piece_work / row_work)));
    auto rows_from = [&](intptr_t first, intptr_t count) {
      matrix own = a;
      own.data += first * a.row_stride;
      own.rows = count;
      char *own_to = to + first * row_stride;
      return b.columns == 1 ? plain_column(own, b, own_to, row_stride)
                            : plain_rows(own, b, own_to, row_stride, column_stride);
    };
    if (!alone_ || rows == a.rows) {
      return rows_from(0, a.rows);
    }
    try {
      return for_each_piece((a.rows + rows - 1) / rows, [&](intptr_t i) {
        return asked_.poll() ? int(dynd_error_cancelled) : rows_from(i * rows, std::min(rows, a.rows - i * rows));
      });
    } catch (...) {
      return report_caught(frame_);
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

  static void add_multiple(char *to, intptr_t to_stride, T factor, const char *row, intptr_t stride, intptr_t n) {
    if (to_stride == item && stride == item) {
      T *sum = reinterpret_cast<T *>(to);
      const T *values = reinterpret_cast<const T *>(row);
      for (intptr_t j = 0; j < n; j++) {
        sum[j] = added(sum[j], factor, values[j]);
      }
      return;
    }
    for (intptr_t j = 0; j < n; j++) {
      T &sum = *reinterpret_cast<T *>(to + j * to_stride);
      sum = added(sum, factor, *reinterpret_cast<const T *>(row + j * stride));
    }
  }

  static T with_products(T sum, const char *x, intptr_t x_stride, const char *y, intptr_t y_stride, intptr_t n) {
    if (x_stride == item && y_stride == item) {
      const T *left = reinterpret_cast<const T *>(x), *right = reinterpret_cast<const T *>(y);
      for (intptr_t k = 0; k < n; k++) {
        sum = added(sum, left[k], right[k]);
      }
      return sum;
    }
    for (intptr_t k = 0; k < n; k++) {
      sum = added(sum, *reinterpret_cast<const T *>(x + k * x_stride), *reinterpret_cast<const T *>(y + k * y_stride));
    }
    return sum;
  }

  // ---- by BLAS

  // How BLAS takes a matrix: as it is, as the transposed of one, or a copy.
  struct blas_matrix {
    const T *data;
    int transpose;
    intptr_t lead;

    blas_matrix from(intptr_t row, intptr_t column) const {
      return {data + (transpose == not_transposed ? row * lead + column : column * lead + row), transpose, lead};
    }
  };
  static bool find_layout(const matrix &m, blas_matrix &found) {
    auto fits = [&](intptr_t inner, intptr_t outer, intptr_t ninner, intptr_t nouter) {
      return (inner == item || ninner == 1) && (nouter == 1 || (outer % item == 0 && outer / item >= ninner));
    };
    const T *data = reinterpret_cast<const T *>(m.data);
    if (fits(m.column_stride, m.row_stride, m.columns, m.rows)) {
      found = {data, not_transposed, m.rows == 1 ? m.columns : m.row_stride / item};
      return true;
    }
    if (fits(m.row_stride, m.column_stride, m.rows, m.columns)) {
      found = {data, transposed_matrix, m.columns == 1 ? m.rows : m.column_stride / item};
      return true;
    }
    return false;
  }

  int copy(const matrix &m, blas_matrix &found, room &copies) {
    size_t bytes;
    bool fits = !__builtin_mul_overflow(m.rows, m.columns, &bytes) && // of what repeats there is no memory
                !__builtin_mul_overflow(bytes, sizeof(T), &bytes);
    T *memory = fits ? static_cast<T *>(copies.get(frame_, bytes)) : nullptr;
    if (!memory) {
      return dynd_error_memory;
    }
    found = {memory, not_transposed, m.columns};
    for (intptr_t i = 0; i < m.rows; i++) {
      for (intptr_t j = 0; j < m.columns; j++) {
        *memory++ = *reinterpret_cast<const T *>(m.data + i * m.row_stride + j * m.column_stride);
        if (steps_.stops(1)) {
          return dynd_error_cancelled;
        }
      }
    }
    return dynd_ok;
  }

  // Null where BLAS has none.
  static const blas_functions *functions_of(const blas *library) {
    if (!library || library->path.empty()) {
      return nullptr;
    }
    if constexpr (std::is_same_v<T, float>) {
      return &library->single;
    } else if constexpr (std::is_same_v<T, double>) {
      return &library->doubles;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      return &library->single_complex;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      return &library->double_complex;
    } else {
      return nullptr;
    }
  }

  // The numbers of rows and columns of a product, and how many products are summed in each of its elements.
  struct product_sizes {
    intptr_t m, n, k;
  };

  template <class Int> T dot_of(const blas_matrix &x, const blas_matrix &y, intptr_t n) const {
    void *function = functions_->dot;
    Int x_step = x.transpose == not_transposed ? 1 : Int(x.lead);
    if constexpr (is_complex) {
      T result;
      reinterpret_cast<dot_sub<Int>>(function)(Int(n), x.data, x_step, y.data, Int(y.lead), &result);
      return result;
    } else {
      return reinterpret_cast<dot<Int, T>>(function)(Int(n), x.data, x_step, y.data, Int(y.lead));
    }
  }

  // to = x * y, or to += x * y if `adds`.
  template <class Int>
  void call(const blas_matrix &x, const blas_matrix &y, product_sizes s, bool adds, T *to, intptr_t lead) const {
    const T one(1), before(adds ? 1 : 0);
    auto factor = [](const T &value) {
      if constexpr (is_complex) {
        return static_cast<const void *>(&value);
      } else {
        return value;
      }
    };
    using scalar = decltype(factor(one));
    if (s.m == 1 && s.n == 1) {
      T sum = dot_of<Int>(x, y, s.k);
      *to = adds ? *to + sum : sum;
    } else if (s.n == 1) {
      bool as_is = x.transpose == not_transposed;
      reinterpret_cast<gemv<Int, scalar>>(functions_->gemv)(row_major, x.transpose, Int(as_is ? s.m : s.k),
                                                            Int(as_is ? s.k : s.m), factor(one), x.data, Int(x.lead),
                                                            y.data, Int(y.lead), factor(before), to, Int(lead));
    } else {
      reinterpret_cast<gemm<Int, scalar>>(functions_->gemm)(row_major, x.transpose, y.transpose, Int(s.m), Int(s.n),
                                                            Int(s.k), factor(one), x.data, Int(x.lead), y.data,
                                                            Int(y.lead), factor(before), to, Int(lead));
    }
  }

  // In parts of some hundredths of a second, as nothing stops BLAS. First the number of products in a sum is halved,
  // as BLAS takes some hundred at once anyway; smaller results would have it fetch the operands more often.
  int in_parts(const blas_matrix &x, const blas_matrix &y, product_sizes s, bool adds, T *to, intptr_t lead) {
    double m = double(s.m), n = double(s.n), k = double(s.k);
    double work = (is_complex ? 4 : 1) * (m * n * k + 64 * (m * k + k * n + m * n)); // to fetch a number costs more
    if (work < 1U << 31) {
      if (asked_.poll()) {
        return dynd_error_cancelled;
      }
      library_->wide ? call<int64_t>(x, y, s, adds, to, lead) : call<int>(x, y, s, adds, to, lead);
      return dynd_ok;
    }
    product_sizes first = s, rest = s;
    auto halve = [&](intptr_t product_sizes::*size) {
      first.*size = (first.*size / 2 + 63) & ~intptr_t(63); // where whole vectors end, too
      rest.*size -= first.*size;
      return first.*size;
    };
    if (s.k > (s.n == 1 ? s.m : 700)) {
      intptr_t half = halve(&product_sizes::k);
      int status = in_parts(x, y, first, adds, to, lead);
      return status ? status : in_parts(x.from(0, half), y.from(half, 0), rest, true, to, lead);
    }
    bool rows = s.m >= s.n;
    intptr_t half = halve(rows ? &product_sizes::m : &product_sizes::n);
    int status = in_parts(x, y, first, adds, to, lead);
    return status ? status
           : rows ? in_parts(x.from(half, 0), y, rest, adds, to + half * lead, lead)
                  : in_parts(x, y.from(0, half), rest, adds, to + half, lead);
  }

  int by_blas(const matrix &a, const matrix &b, char *to, intptr_t row_stride, intptr_t column_stride) {
    intptr_t m = a.rows, k = a.columns, n = b.columns, lead = m == 1 ? n : row_stride / item;
    bool fits = (column_stride == item || n == 1) && (m == 1 || (row_stride % item == 0 && lead >= n));
    if (!fits) {
      return in_plain;
    }
    blas_matrix x, y;
    int status = find_layout(a, x) ? dynd_ok : copy(a, x, copies_[0]);
    status = status || find_layout(b, y) ? status : copy(b, y, copies_[1]);
    if (status) {
      return status;
    }
    if (!library_->wide && std::max({x.lead, y.lead, lead}) > INT_MAX) {
      return in_plain;
    }
    int before = library_->set_local && !alone_ ? library_->set_local(1) : 0;
    status = in_parts(x, y, {m, n, k}, false, reinterpret_cast<T *>(to), lead);
    if (before) {
      library_->set_local(before);
    }
    return status;
  }

  dynd_frame *frame_;
  const blas *library_;
  const blas_functions *functions_;
  bool alone_;
  row_interruption asked_;
  counted_steps steps_{asked_, 0};
  room copies_[2]; // of the operands
};

} // namespace dynd::nd

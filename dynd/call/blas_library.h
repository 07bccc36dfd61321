// The functions of BLAS, from a library that is opened when they are first needed. Private to dynd/call/.
#pragma once

#include <string>

namespace dynd::nd {

inline constexpr int row_major = 101, not_transposed = 111, transposed_matrix = 112;

template <class Int, class Scalar>
using gemm = void (*)(int order, int transpose_a, int transpose_b, Int m, Int n, Int k, Scalar alpha, const void *a,
                      Int lda, const void *b, Int ldb, Scalar beta, void *c, Int ldc);

template <class Int, class Scalar>
using gemv = void (*)(int order, int transpose, Int rows, Int columns, Scalar alpha, const void *a, Int lda,
                      const void *x, Int x_step, Scalar beta, void *y, Int y_step);

// Of real numbers the result, of complex ones written to where the last argument says.
template <class Int, class Scalar> using dot = Scalar (*)(Int n, const void *x, Int x_step, const void *y, Int y_step);
template <class Int>
using dot_sub = void (*)(Int n, const void *x, Int x_step, const void *y, Int y_step, void *result);

struct blas_functions {
  void *gemm = nullptr, *gemv = nullptr, *dot = nullptr;
};

struct blas {
  blas_functions single, doubles, single_complex, double_complex;
  bool wide = false;                     // its integers have 64 bits
  int (*set_local)(int count) = nullptr; // threads of BLAS in calls from this thread; null where it cannot be said
  bool fast = true;                      // its loops are for CPUs like this one
  std::string path;
};

/// The library that is used, looked for now if it was not before.
const blas &the_blas();

} // namespace dynd::nd

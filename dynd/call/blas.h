// Matrix products of blocks by BLAS, which is looked for when it is first needed; without one, and for types that it
// has not, by plain loops.
#pragma once

#include <string>

#include "dynd/call/callable.h"

namespace dynd::nd {

/// (M * K * T, K * N * T) -> M * N * T, for all numbers, and for bools: or, of and.
const callable &matmul_kernel();

/// Where else BLAS may be: tried first, before the first product. Python says where NumPy has its own.
void add_blas_path(std::string path);

/// The library that is used, looked for now if it was not before; empty where there is none.
std::string blas_library();

/// As long as it lives, BLAS may use threads of its own in calls from this thread; else it has one.
class blas_threads {
public:
  explicit blas_threads(bool allowed);
  ~blas_threads();
  blas_threads(const blas_threads &) = delete;
  blas_threads &operator=(const blas_threads &) = delete;

private:
  bool before_;
};

} // namespace dynd::nd

// Matrix products of blocks by BLAS, which is looked for when it is first needed; without one, and for types that it
// has not, by plain loops.
#pragma once

#include <string>

#include "dynd/call/callable.h"

namespace dynd::nd {

/// (M * K * T, K * N * T) -> M * N * T, for all numbers, and for bools: or, of and. `alone`: for one product, which may
/// have all threads; else products are on our threads, and BLAS has one in each.
const callable &matmul_kernel(bool alone);

/// Where else BLAS may be: tried after the system's OpenBLAS. Python says where NumPy has its own.
void add_blas_path(std::string path);

/// The library that is used, looked for now if it was not before; empty where there is none.
std::string blas_library();

} // namespace dynd::nd

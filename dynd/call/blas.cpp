#include "dynd/call/blas.h"

#include <algorithm>
#include <complex>
#include <cstdio>

#include "dynd/call/blas_library.h"
#include "dynd/call/blas_product.h"
#include "dynd/call/counted_kernel.h"

namespace dynd::nd {

namespace {

struct matmul_leaf {
  ckernel_prefix base;
  const blas *library; // null where no type of BLAS is multiplied
  bool alone;          // there is one product: it may have all threads
  intptr_t stride[3][2];
};

template <class T> int matmul_blocks(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto *leaf = reinterpret_cast<const matmul_leaf *>(self);
  blas_product<T> product(frame, leaf->library, leaf->alone);
  for (size_t i = 0; i < call->count; i++) {
    intptr_t m = dynd_core_size(call, 0, i), k = dynd_core_size(call, 1, i), n = dynd_core_size(call, 2, i);
    matrix a = {dynd_core_data(call, 1, i), m, k, leaf->stride[1][0], leaf->stride[1][1]};
    matrix b = {dynd_core_data(call, 2, i), k, n, leaf->stride[2][0], leaf->stride[2][1]};
    if (int status = product.run(a, b, dynd_core_data(call, 0, i), leaf->stride[0][0], leaf->stride[0][1])) {
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

} // namespace dynd::nd

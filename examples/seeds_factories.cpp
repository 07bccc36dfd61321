// The C++ of the founding documents: the construction patterns of "CKernels", and the deferred kernels of "Deferred
// CKernel Interface", then lifted over arrays.
//
//   c++ -std=c++20 -I . -o seeds_factories examples/seeds_factories.cpp -L build/release -ldynd
//
// It differs from the documents by the frame that comes with every call and the status that comes back, kernels that
// are constant while they run, and where the documents slip (see seeds.c, the same in C). The types and arrmeta that
// their factories get are left out: these factories do not look at them.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "dynd/call/functions.h"
#include "dynd/kernel/builder.h"

using namespace dynd;

// ---- "Trivial Leaf Kernel Construction Pattern" ---------------------------------------------------------------------

namespace trivial {

static int single_assign(char *dst, const char *src, const ckernel_prefix *, dynd_frame *) {
  *(int32_t *)dst = *(const int32_t *)src;
  return dynd_ok;
}

static int strided_assign(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                          const ckernel_prefix *, dynd_frame *) {
  for (size_t i = 0; i != count; ++i, dst += dst_stride, src += src_stride) {
    *(int32_t *)dst = *(const int32_t *)src;
  }
  return dynd_ok;
}

size_t make_int32_assignment_kernel(ckernel_builder *out, size_t offset_out, kernel_request_t kernreq) {
  // No additional space needs to be allocated for this leaf kernel, because the minimal 'ckernel_prefix' is always
  // preallocated by the parent kernel.
  ckernel_prefix *result;
  result = out->get_at<ckernel_prefix>(offset_out);

  // Set the appropriate function based on the type of kernel requested
  switch (kernreq) {
  case kernel_request_single:
    result->set_function<unary_single_operation_t>(&single_assign);
    break;
  case kernel_request_strided:
    result->set_function<unary_strided_operation_t>(&strided_assign);
    break;
  default:
    throw std::runtime_error("int32 assignment: single and strided are what can be asked for");
  }

  // Return the offset immediately after this kernel's data
  return offset_out + sizeof(ckernel_prefix);
}

} // namespace trivial

// ---- "Leaf Kernel Construction": with data --------------------------------------------------------------------------

namespace unaligned {

// This is the data for the kernel. It starts with a ckernel_prefix, then has fields for other data. Remember, this data
// must be movable by using a memcpy, which is trivially true in this case.
struct unaligned_kernel_extra {
  ckernel_prefix base;
  size_t data_size;
};

static int single_assign(char *dst, const char *src, const ckernel_prefix *extra, dynd_frame *) {
  auto *e = reinterpret_cast<const unaligned_kernel_extra *>(extra);
  size_t data_size = e->data_size;
  memcpy(dst, src, data_size);
  return dynd_ok;
}

static int strided_assign(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                          const ckernel_prefix *extra, dynd_frame *) {
  auto *e = reinterpret_cast<const unaligned_kernel_extra *>(extra);
  size_t data_size = e->data_size;
  for (size_t i = 0; i != count; ++i, dst += dst_stride, src += src_stride) {
    memcpy(dst, src, data_size);
  }
  return dynd_ok;
}

size_t make_unaligned_assignment_kernel(ckernel_builder *out, size_t offset_out, size_t data_size,
                                        kernel_request_t kernreq) {
  // Allocate the necessary space in the output kernel buffer
  out->ensure_capacity_leaf(offset_out + sizeof(unaligned_kernel_extra));
  unaligned_kernel_extra *result;
  result = out->get_at<unaligned_kernel_extra>(offset_out);

  // Set the appropriate function based on the type of kernel requested
  switch (kernreq) {
  case kernel_request_single:
    result->base.set_function<unary_single_operation_t>(&single_assign);
    break;
  case kernel_request_strided:
    result->base.set_function<unary_strided_operation_t>(&strided_assign);
    break;
  default:
    throw std::runtime_error("unaligned assignment: single and strided are what can be asked for");
  }
  // Set the kernel data
  result->data_size = data_size;

  // Return the offset immediately after this kernel's data
  return offset_out + sizeof(unaligned_kernel_extra);
}

} // namespace unaligned

// ---- "Leaf Kernel Construction With Dynamic Resources" --------------------------------------------------------------

namespace jit {

// A hypothetical JIT API
int handles = 0;

void create_jit_assignment(kernel_request_t kernreq, void **out_function_ptr, void **out_jit_handle) {
  if (kernreq != kernel_request_single) {
    throw std::runtime_error("this JIT makes single kernels only");
  }
  *out_jit_handle = new int(++handles);
  *out_function_ptr = reinterpret_cast<void *>(&trivial::single_assign);
}
void jit_free(void *jit_handle) {
  handles--;
  delete static_cast<int *>(jit_handle);
}

struct jit_kernel_extra {
  ckernel_prefix base;
  void *jit_handle;
};

static void destruct(ckernel_prefix *extra) {
  jit_kernel_extra *e = reinterpret_cast<jit_kernel_extra *>(extra);
  if (e->jit_handle != NULL) {
    jit_free(e->jit_handle);
  }
}

size_t make_jit_assignment_kernel(ckernel_builder *out, size_t offset_out, kernel_request_t kernreq) {
  // Allocate the necessary space in the output kernel buffer
  out->ensure_capacity_leaf(offset_out + sizeof(jit_kernel_extra));
  jit_kernel_extra *result;
  result = out->get_at<jit_kernel_extra>(offset_out);

  // Always set the destructor first, so that if things go wrong later, partially constructed resources are freed.
  result->base.destructor = &destruct;

  // Set the function and the jit handle at once. The jit_assignment function raises an exception on error
  create_jit_assignment(kernreq, &result->base.function, &result->jit_handle);

  // Return the offset immediately after this kernel's data
  return offset_out + sizeof(jit_kernel_extra);
}

} // namespace jit

// ---- "Simple Nested Kernel Construction": pointer<T1> to T2 ---------------------------------------------------------

namespace pointer {

static void destruct(ckernel_prefix *extra) {
  ckernel_prefix *echild = extra + 1;
  if (echild->destructor) {
    echild->destructor(echild);
  }
}

static int single_assign(char *dst, const char *src, const ckernel_prefix *extra, dynd_frame *frame) {
  const ckernel_prefix *echild = extra + 1;
  unary_single_operation_t opchild = echild->get_function<unary_single_operation_t>();
  return opchild(dst, *(const char **)src, echild, frame);
}

static int strided_assign(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                          const ckernel_prefix *extra, dynd_frame *frame) {
  const ckernel_prefix *echild = extra + 1;
  unary_single_operation_t opchild = echild->get_function<unary_single_operation_t>();
  for (size_t i = 0; i != count; ++i, dst += dst_stride, src += src_stride) {
    if (int status = opchild(dst, *(const char **)src, echild, frame)) {
      return status;
    }
  }
  return dynd_ok;
}

// The child is what assigns a T1 to a T2: a factory of the same form.
template <class Child>
size_t make_ptr_assignment_kernel(ckernel_builder *out, size_t offset_out, kernel_request_t kernreq, Child make_child) {
  out->ensure_capacity(offset_out + sizeof(ckernel_prefix));
  ckernel_prefix *result;
  result = out->get_at<ckernel_prefix>(offset_out);

  // Always set the destructor first, so that if things go wrong later, partially constructed resources are freed.
  result->destructor = &destruct;

  // Set the appropriate function based on the type of kernel requested
  switch (kernreq) {
  case kernel_request_single:
    result->set_function<unary_single_operation_t>(&single_assign);
    break;
  case kernel_request_strided:
    result->set_function<unary_strided_operation_t>(&strided_assign);
    break;
  default:
    throw std::runtime_error("pointer assignment: single and strided are what can be asked for");
  }

  // Construct the child assignment kernel, and return the offset immediately after the child kernel's data
  return make_child(out, offset_out + sizeof(ckernel_prefix), kernel_request_single);
}

} // namespace pointer

// ---- deferred: constant multiply ------------------------------------------------------------------------------------

struct constant_int32_multiply_kernel_extra {
  // A typedef for the kernel data type
  typedef constant_int32_multiply_kernel_extra extra_type;

  // All ckernels are prefixed like this
  ckernel_prefix base;
  // The extra data goes after
  intptr_t factor;

  // The kernel function which executes the operation once
  static int single(char *dst, const char *const *src, const ckernel_prefix *extra, dynd_frame *) {
    auto *e = reinterpret_cast<const extra_type *>(extra);
    int32_t val = *(const int32_t *)src[0];
    val *= (int32_t)e->factor;
    *(int32_t *)dst = val;
    return dynd_ok;
  }

  // The kernel function which executes the operation across strided arrays.
  static int strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                     const ckernel_prefix *extra, dynd_frame *) {
    auto *e = reinterpret_cast<const extra_type *>(extra);
    int32_t factor = (int32_t)e->factor;
    const char *src0 = src[0];
    intptr_t src0_stride = src_stride[0];

    for (size_t i = 0; i < count; ++i) {
      int32_t val = *(const int32_t *)src0;
      val *= factor;
      *(int32_t *)dst = val;

      dst += dst_stride;
      src0 += src0_stride;
    }
    return dynd_ok;
  }
};

static intptr_t instantiate_deferred_constant_int32_multiply(const deferred_ckernel *self,
                                                             ckernel_builder_struct *out_ckb, intptr_t ckb_offset,
                                                             const dynd_bind *bind) {
  intptr_t ckb_end = ckb_offset + sizeof(constant_int32_multiply_kernel_extra);
  if (ckernel_builder_ensure_capacity_leaf(out_ckb, ckb_end) != dynd_ok) {
    return dynd_error_memory;
  }
  auto *out_ckernel = (constant_int32_multiply_kernel_extra *)(out_ckb->data + ckb_offset);
  if (bind->request == kernel_request_single) {
    out_ckernel->base.function = (void *)&constant_int32_multiply_kernel_extra::single;
  } else if (bind->request == kernel_request_strided) {
    out_ckernel->base.function = (void *)&constant_int32_multiply_kernel_extra::strided;
  } else {
    return dynd_error_type;
  }

  // Copy the multiplication factor to the ckernel
  out_ckernel->factor = *static_cast<const intptr_t *>(self->data_ptr);
  return ckb_end;
}

deferred_ckernel constant_multiply(const char *name, intptr_t *factor) {
  return {sizeof(deferred_ckernel),
          DYND_ABI_VERSION,
          expr_operation_funcproto_id,
          dynd_callable_pure | dynd_callable_total,
          name,
          "(int32) -> int32",
          nullptr,
          factor,
          &instantiate_deferred_constant_int32_multiply,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
}

// ---- using them -----------------------------------------------------------------------------------------------------

// What is in the builder, run: a frame for it, and one call.
int call(const ckernel_builder &ckb, int32_t *dst, const void *src) {
  dynd_frame frame;
  dynd_frame_construct(&frame, &ckb);
  auto *ck = reinterpret_cast<const ckernel_prefix *>(ckb.data);
  int status = ck->get_function<unary_single_operation_t>()((char *)dst, (const char *)src, ck, &frame);
  dynd_frame_destruct(&frame);
  return status;
}

int call(const ckernel_builder &ckb, int32_t *dst, const void *src, intptr_t src_stride) {
  dynd_frame frame;
  dynd_frame_construct(&frame, &ckb);
  auto *ck = reinterpret_cast<const ckernel_prefix *>(ckb.data);
  int status = ck->get_function<unary_strided_operation_t>()((char *)dst, sizeof(int32_t), (const char *)src,
                                                             src_stride, 3, ck, &frame);
  dynd_frame_destruct(&frame);
  return status;
}

void show(const char *what, const int32_t *values, int status) {
  std::printf("%s: %d %d %d, status %d\n", what, values[0], values[1], values[2], status);
}

void use_factories() {
  const int32_t source[3] = {12, -5, 3};
  char odd[1 + sizeof(source)];
  memcpy(odd + 1, source, sizeof(source));
  const int32_t *pointers[3] = {source + 2, source + 1, source};
  ckernel_builder ckb;
  auto make_int32 = trivial::make_int32_assignment_kernel;
  auto make_four_bytes = [](ckernel_builder *out, size_t offset, kernel_request_t kernreq) {
    return unaligned::make_unaligned_assignment_kernel(out, offset, sizeof(int32_t), kernreq);
  };
  {
    int32_t single[3] = {}, strided[3] = {};
    make_int32(&ckb, 0, kernel_request_single);
    show("int32 single", single, call(ckb, single, source));
    ckb.reset();
    make_int32(&ckb, 0, kernel_request_strided);
    show("int32 strided", strided, call(ckb, strided, source, sizeof(int32_t)));
    ckb.reset();
  }
  {
    int32_t strided[3] = {};
    make_four_bytes(&ckb, 0, kernel_request_strided);
    show("unaligned", strided, call(ckb, strided, odd + 1, sizeof(int32_t)));
    ckb.reset();
  }
  {
    int32_t single[3] = {};
    jit::make_jit_assignment_kernel(&ckb, 0, kernel_request_single);
    show("jit", single, call(ckb, single, source));
    std::printf("jit: %d handle, ", jit::handles);
    ckb.reset();
    std::printf("then %d\n", jit::handles);
  }
  {
    int32_t strided[3] = {};
    pointer::make_ptr_assignment_kernel(&ckb, 0, kernel_request_strided, make_four_bytes);
    show("pointer", strided, call(ckb, strided, pointers, sizeof(int32_t *)));
    ckb.reset();
  }
  try { // a parent whose child cannot be made
    pointer::make_ptr_assignment_kernel(&ckb, 0, kernel_request_single,
                                        [](ckernel_builder *out, size_t offset, kernel_request_t) {
                                          return jit::make_jit_assignment_kernel(out, offset, kernel_request_strided);
                                        });
  } catch (const std::runtime_error &e) {
    ckb.reset();
    std::printf("%s; %d handles\n", e.what(), jit::handles);
  }
}

int main() {
  use_factories();
  intptr_t three = 3, thirteen = 13;
  deferred_ckernel triple = constant_multiply("triple", &three), multiply = constant_multiply("multiply", &thirteen);
  for (const deferred_ckernel *kernel : {&triple, &multiply}) {
    nd::callable f = nd::callable(*kernel);
    nd::array offsets(copy_values(nd::array{0, 1, 3}.get(), access_mode::immutable, ndt::type("int64")));
    nd::array rows = nd::from_offsets(offsets, nd::array{12, -5, 3});
    std::printf("%s: %s %s %s\n", kernel->name, f(12).str().c_str(), f(nd::array{12, -5, 3}).str().c_str(),
                f(rows).str().c_str());
  }
}

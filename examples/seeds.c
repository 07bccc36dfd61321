/* The code of the founding documents ("CKernels", "Deferred CKernel Interface", "Multi-dimensional DyND Kernels"), as a
 * C program that needs the headers alone:
 *
 *   cc -std=c11 -I . -o seeds examples/seeds.c && ./seeds
 *
 * It differs from the documents by what the interface has gained (a frame that comes with every call, a status that
 * comes back, what to instantiate for in one struct) and where they slip: their strided loops multiply by 2,
 * call_strided leaves out the count, one instantiate makes no room. The C++ of the documents is in seeds_factories.cpp.
 */
#include <assert.h>
#include <stdio.h>

#include "dynd/abi/callable.h"

/* ---- "Simple Deferred CKernel Example": triple ------------------------------------------------------------------- */

/* Kernel function which processes a single element */
static int int32_triple_single(char *dst, const char *const *src, const ckernel_prefix *extra, dynd_frame *frame) {
  int32_t val = *(const int32_t *)src[0];
  (void)extra, (void)frame;
  val *= 3;
  *(int32_t *)dst = val;
  return dynd_ok;
}

/* Kernel function which processes a strided array of elements */
static int int32_triple_strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride,
                                size_t count, const ckernel_prefix *extra, dynd_frame *frame) {
  const char *src0 = src[0];
  intptr_t src0_stride = src_stride[0];
  (void)extra, (void)frame;
  for (size_t i = 0; i < count; ++i) {
    int32_t val = *(const int32_t *)src0;
    val *= 3;
    *(int32_t *)dst = val;

    dst += dst_stride;
    src0 += src0_stride;
  }
  return dynd_ok;
}

static intptr_t instantiate_triple_int32(const deferred_ckernel *self, ckernel_builder_struct *out_ckb,
                                         intptr_t ckb_offset, const dynd_bind *bind) {
  /* Make sure the ckernel builder has enough space */
  intptr_t ckb_end = ckb_offset + (intptr_t)sizeof(ckernel_prefix);
  (void)self;
  if (ckernel_builder_ensure_capacity_leaf(out_ckb, (size_t)ckb_end) != dynd_ok)
    return dynd_error_memory;
  ckernel_prefix *out_ckernel = (ckernel_prefix *)(out_ckb->data + ckb_offset);
  if (bind->request == kernel_request_single) {
    out_ckernel->function = (void *)&int32_triple_single;
  } else if (bind->request == kernel_request_strided) {
    out_ckernel->function = (void *)&int32_triple_strided;
  } else {
    snprintf(bind->error, bind->error_size, "request %d has no kernel", (int)bind->request);
    return dynd_error_type;
  }
  return ckb_end;
}

static const deferred_ckernel triple_kernel_int32 = {.size = sizeof(deferred_ckernel),
                                                     .version = DYND_ABI_VERSION,
                                                     .prototype = expr_operation_funcproto_id,
                                                     .name = "triple",
                                                     .signature = "(int32) -> int32",
                                                     .instantiate = &instantiate_triple_int32};

/* ---- "Deferred CKernel Example With Additional Data": constant multiply ------------------------------------------ */

typedef struct {
  /* All ckernels are prefixed like this */
  ckernel_prefix base;
  /* The extra data goes after */
  intptr_t factor;
} constant_int32_multiply_kernel_extra;

/* The kernel function which executes the operation once */
static int multiply_single(char *dst, const char *const *src, const ckernel_prefix *extra, dynd_frame *frame) {
  const constant_int32_multiply_kernel_extra *e = (const constant_int32_multiply_kernel_extra *)extra;
  int32_t val = *(const int32_t *)src[0];
  (void)frame;
  val *= (int32_t)e->factor;
  *(int32_t *)dst = val;
  return dynd_ok;
}

/* The kernel function which executes the operation across strided arrays. */
static int multiply_strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride,
                            size_t count, const ckernel_prefix *extra, dynd_frame *frame) {
  const constant_int32_multiply_kernel_extra *e = (const constant_int32_multiply_kernel_extra *)extra;
  int32_t factor = (int32_t)e->factor;
  const char *src0 = src[0];
  intptr_t src0_stride = src_stride[0];
  (void)frame;
  for (size_t i = 0; i < count; ++i) {
    int32_t val = *(const int32_t *)src0;
    val *= factor;
    *(int32_t *)dst = val;

    dst += dst_stride;
    src0 += src0_stride;
  }
  return dynd_ok;
}

typedef struct {
  intptr_t factor;
} deferred_constant_int32_multiply_kernel_extra;

static intptr_t instantiate_deferred_constant_int32_multiply(const deferred_ckernel *self,
                                                             ckernel_builder_struct *out_ckb, intptr_t ckb_offset,
                                                             const dynd_bind *bind) {
  const deferred_constant_int32_multiply_kernel_extra *data = self->data_ptr;
  intptr_t ckb_end = ckb_offset + (intptr_t)sizeof(constant_int32_multiply_kernel_extra);
  if (ckernel_builder_ensure_capacity_leaf(out_ckb, (size_t)ckb_end) != dynd_ok)
    return dynd_error_memory;
  constant_int32_multiply_kernel_extra *out_ckernel =
      (constant_int32_multiply_kernel_extra *)(out_ckb->data + ckb_offset);
  if (bind->request == kernel_request_single) {
    out_ckernel->base.function = (void *)&multiply_single;
  } else if (bind->request == kernel_request_strided) {
    out_ckernel->base.function = (void *)&multiply_strided;
  } else {
    snprintf(bind->error, bind->error_size, "request %d has no kernel", (int)bind->request);
    return dynd_error_type;
  }

  /* Copy the multiplication factor to the ckernel */
  out_ckernel->factor = data->factor;
  return ckb_end;
}

/* This function builds a deferred ckernel for multiplying int32 values by the specified factor. */
static int make_deferred_constant_int32_multiply_kernel(deferred_ckernel *out, intptr_t factor) {
  memset(out, 0, sizeof(*out));
  out->size = sizeof(*out);
  out->version = DYND_ABI_VERSION;
  /* Indicates which ckernel function prototype this provides */
  out->prototype = expr_operation_funcproto_id;
  out->name = "multiply";
  out->signature = "(int32) -> int32";
  /* Pointer to data owned by the deferred ckernel */
  out->data_ptr = malloc(sizeof(deferred_constant_int32_multiply_kernel_extra));
  if (!out->data_ptr)
    return dynd_error_memory;
  ((deferred_constant_int32_multiply_kernel_extra *)out->data_ptr)->factor = factor;
  /* The function to instantiate a ckernel */
  out->instantiate = &instantiate_deferred_constant_int32_multiply;
  return dynd_ok;
}

/* ---- "Using a Deferred CKernel" ---------------------------------------------------------------------------------- */

/* A kernel for int32 operands, and a frame to call it with. */
static int instantiate_int32(const deferred_ckernel *ckd, kernel_request_t request, ckernel_builder_struct *ckb,
                             dynd_frame *frame) {
  const char *types[2] = {"int32", "int32"};
  const dynd_arrmeta *meta[2] = {NULL, NULL}; /* scalars have none */
  char error[256] = "";
  dynd_bind bind = {.size = sizeof(bind),
                    .version = DYND_ABI_VERSION,
                    .request = request,
                    .noperands = 2,
                    .type = types,
                    .arrmeta = meta,
                    .error = error,
                    .error_size = sizeof(error),
                    .error_mode = assign_error_fractional};
  intptr_t end = ckd->instantiate(ckd, ckb, 0, &bind);
  if (end < 0) {
    printf("%s: %s\n", ckd->name, error);
    return (int)end;
  }
  return dynd_frame_construct(frame, ckb);
}

static void call_single(const deferred_ckernel *ckd) {
  /* This example is for a unary expr_function */
  assert(ckd->prototype == expr_operation_funcproto_id);

  /* Create a ckernel_builder object */
  ckernel_builder_struct ckb;
  dynd_frame frame;
  if (ckernel_builder_construct(&ckb) != dynd_ok)
    return;

  /* Instantiate the ckernel */
  if (instantiate_int32(ckd, kernel_request_single, &ckb, &frame) == dynd_ok) {
    const ckernel_prefix *ck = (const ckernel_prefix *)ckb.data;

    /* Get the kernel function */
    expr_single_operation_t kfunc = (expr_single_operation_t)ck->function;

    /* Set up some sample data for the kernel */
    int32_t dst_val = 0, src_val = 12;
    char *dst = (char *)&dst_val;
    const char *src = (const char *)&src_val;
    /* Call the kernel */
    if (kfunc(dst, &src, ck, &frame) == dynd_ok)
      printf("called kernel: %d -> %d\n", (int)src_val, (int)dst_val);
    dynd_frame_destruct(&frame);
  }

  /* Destroy the ckernel instance */
  ckernel_builder_destruct(&ckb);
}

static void call_strided(const deferred_ckernel *ckd) {
  assert(ckd->prototype == expr_operation_funcproto_id);

  ckernel_builder_struct ckb;
  dynd_frame frame;
  if (ckernel_builder_construct(&ckb) != dynd_ok)
    return;

  if (instantiate_int32(ckd, kernel_request_strided, &ckb, &frame) == dynd_ok) {
    const ckernel_prefix *ck = (const ckernel_prefix *)ckb.data;
    expr_strided_operation_t kfunc = (expr_strided_operation_t)ck->function;

    /* Set up some sample data for the kernel */
    int32_t dst_val[3] = {0, 0, 0}, src_val[3] = {12, -5, 3};
    char *dst = (char *)&dst_val[0];
    const char *src = (const char *)&src_val[0];
    intptr_t src_stride = sizeof(int32_t);
    /* Call the kernel */
    if (kfunc(dst, sizeof(int32_t), &src, &src_stride, 3, ck, &frame) == dynd_ok) {
      printf("called kernel:");
      for (int i = 0; i < 3; ++i)
        printf(" [%d]: %d -> %d", i, (int)src_val[i], (int)dst_val[i]);
      printf("\n");
    }
    dynd_frame_destruct(&frame);
  }
  ckernel_builder_destruct(&ckb);
}

static void example_deferred_ckernel_usage(void) {
  /* Construct the constant int32 multiplication kernel (previous example) */
  deferred_ckernel dc;
  if (make_deferred_constant_int32_multiply_kernel(&dc, 13) != dynd_ok)
    return;

  /* Use it to get a single kernel */
  call_single(&dc);

  /* Use it to get a strided kernel */
  call_strided(&dc);

  /* Destroy the deferred ckernel */
  free(dc.data_ptr);
  memset(&dc, 0, sizeof(dc));
}

/* ---- "Assignment Kernel Example": a strided int32 array, two levels ---------------------------------------------- */

typedef struct {
  /* The first ckernel_prefix */
  ckernel_prefix base;
  /* Data for the first kernel */
  intptr_t size;
  intptr_t dst_stride, src_stride;
} strided_copy_kernel; /* the second ckernel_prefix is right behind */

static int strided_copy_single(char *dst, const char *src, const ckernel_prefix *extra, dynd_frame *frame) {
  /* Cast the kernel data to the right type, then call the child strided kernel with the correct values */
  const strided_copy_kernel *e = (const strided_copy_kernel *)extra;
  const ckernel_prefix *echild = &(e + 1)->base;
  unary_strided_operation_t opchild = (unary_strided_operation_t)echild->function;
  return opchild(dst, e->dst_stride, src, e->src_stride, (size_t)e->size, echild, frame);
}

static void strided_copy_destruct(ckernel_prefix *extra) {
  /* Call the destructor of the nested child kernel */
  ckernel_prefix *echild = &((strided_copy_kernel *)extra + 1)->base;
  if (echild->destructor)
    echild->destructor(echild);
}

static int int32_copy_strided(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                              const ckernel_prefix *extra, dynd_frame *frame) {
  (void)extra, (void)frame;
  for (size_t i = 0; i != count; ++i, dst += dst_stride, src += src_stride)
    *(int32_t *)dst = *(const int32_t *)src;
  return dynd_ok;
}

/* A child without data needs no room of its own: its parent has made it for the prefix. */
static int make_strided_copy(ckernel_builder_struct *out, intptr_t size, intptr_t dst_stride, intptr_t src_stride) {
  if (ckernel_builder_ensure_capacity(out, sizeof(strided_copy_kernel)) != dynd_ok)
    return dynd_error_memory;
  strided_copy_kernel *e = (strided_copy_kernel *)out->data;
  e->base.destructor = &strided_copy_destruct;
  e->base.function = (void *)&strided_copy_single;
  e->size = size;
  e->dst_stride = dst_stride;
  e->src_stride = src_stride;
  (e + 1)->base.function = (void *)&int32_copy_strided;
  return dynd_ok;
}

/* "Scalar To One-Dimensional Array Example": the same kernel, src_stride set to zero. */
static void example_strided_assignment(void) {
  static const struct {
    const char *what;
    int32_t src[3];
    intptr_t src_stride;
  } cases[] = {{"[1, 2, 3]", {1, 2, 3}, sizeof(int32_t)}, {"4", {4, 0, 0}, 0}};
  for (int i = 0; i < 2; i++) {
    ckernel_builder_struct ckb;
    dynd_frame frame;
    int32_t a[3] = {7, 8, 9};
    if (ckernel_builder_construct(&ckb) != dynd_ok)
      return;
    if (make_strided_copy(&ckb, 3, sizeof(int32_t), cases[i].src_stride) == dynd_ok &&
        dynd_frame_construct(&frame, &ckb) == dynd_ok) {
      const ckernel_prefix *ck = (const ckernel_prefix *)ckb.data;
      unary_single_operation_t kfunc = (unary_single_operation_t)ck->function;
      if (kfunc((char *)a, (const char *)cases[i].src, ck, &frame) == dynd_ok)
        printf("a[...] = %s: [%d, %d, %d]\n", cases[i].what, (int)a[0], (int)a[1], (int)a[2]);
      dynd_frame_destruct(&frame);
    }
    ckernel_builder_destruct(&ckb);
  }
}

/* ---- "Var To Strided Array Example", by the streams prototype ---------------------------------------------------- */

/* A `var` operand has two streams: where its rows begin (offsets), and the elements of all rows. The streams of a call
 * are here: the destination, the source's offsets, the source's elements. */
typedef struct {
  ckernel_prefix base;
  intptr_t dst_stride, dst_dim_size, src_stride; /* along the row */
} var_to_strided_kernel;                         /* the "int32 to int32" kernel is right behind */

static int var_to_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *extra,
                          dynd_frame *frame) {
  const var_to_strided_kernel *e = (const var_to_strided_kernel *)extra;
  const ckernel_prefix *echild = &(e + 1)->base;
  unary_strided_operation_t opchild = (unary_strided_operation_t)echild->function;
  for (size_t i = 0; i < count; ++i) {
    const int64_t *offset = (const int64_t *)(stream[1] + (intptr_t)i * stride[1]);
    intptr_t src_size = (intptr_t)(offset[1] - offset[0]);
    /* If the size of the src dimension is 1 or equal to the size of the dst dimension, it broadcasts or is copied. */
    if (src_size != 1 && src_size != e->dst_dim_size) {
      snprintf(frame->text, sizeof(frame->text), "row of %d to %d", (int)src_size, (int)e->dst_dim_size);
      return frame->kind = dynd_error_broadcast;
    }
    int status = opchild(stream[0] + (intptr_t)i * stride[0], e->dst_stride, stream[2] + offset[0] * e->src_stride,
                         src_size == 1 ? 0 : e->src_stride, (size_t)e->dst_dim_size, echild, frame);
    if (status != dynd_ok)
      return status;
  }
  return dynd_ok;
}

static void example_var_to_strided(const char *what, const int64_t *offsets, int32_t *elements) {
  ckernel_builder_struct ckb;
  dynd_frame frame;
  int32_t a[2][3] = {{5, 6, 7}, {8, 9, 10}};
  if (ckernel_builder_construct(&ckb) != dynd_ok)
    return;
  if (ckernel_builder_ensure_capacity(&ckb, sizeof(var_to_strided_kernel)) == dynd_ok &&
      dynd_frame_construct(&frame, &ckb) == dynd_ok) {
    var_to_strided_kernel *e = (var_to_strided_kernel *)ckb.data;
    e->base.function = (void *)&var_to_strided;
    e->dst_stride = e->src_stride = sizeof(int32_t);
    e->dst_dim_size = 3;
    (e + 1)->base.function = (void *)&int32_copy_strided;

    /* The outermost loop is the call itself; what stands below a `var` dimension does not move along it. */
    char *const stream[3] = {(char *)a, (char *)(uintptr_t)offsets, (char *)elements};
    const intptr_t stride[3] = {sizeof(a[0]), sizeof(int64_t), 0};
    if (((streams_strided_t)e->base.function)(stream, stride, 2, &e->base, &frame) == dynd_ok)
      printf("a[...] = %s: [[%d, %d, %d], [%d, %d, %d]]\n", what, (int)a[0][0], (int)a[0][1], (int)a[0][2],
             (int)a[1][0], (int)a[1][1], (int)a[1][2]);
    else
      printf("a[...] = %s: error %d: %s\n", what, (int)frame.kind, frame.text);
    dynd_frame_destruct(&frame);
  }
  ckernel_builder_destruct(&ckb);
}

int main(void) {
  call_single(&triple_kernel_int32);
  call_strided(&triple_kernel_int32);
  example_deferred_ckernel_usage();
  example_strided_assignment();
  example_var_to_strided("[[1, 2, 3], [4]]", (const int64_t[]){0, 3, 4}, (int32_t[]){1, 2, 3, 4});
  example_var_to_strided("[[1, 2, 3], [4, 5]]", (const int64_t[]){0, 3, 5}, (int32_t[]){1, 2, 3, 4, 5});
  return 0;
}

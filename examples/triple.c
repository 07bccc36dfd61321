/* An external kernel: three times an int32. Plain C against dynd/abi/callable.h, linked against nothing:
 *   cc -shared -fPIC -I <include> -o triple.so triple.c
 * The library lifts it over arrays of any dimensions; the author writes no loop but this one. */
#include "dynd/abi/callable.h"

static int triple_strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride,
                          size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  const char *from = src[0];
  (void)self, (void)frame;
  for (size_t i = 0; i < count; i++, dst += dst_stride, from += src_stride[0])
    *(int32_t *)dst = 3 * *(const int32_t *)from;
  return dynd_ok;
}

static int triple_single(char *dst, const char *const *src, const ckernel_prefix *self, dynd_frame *frame) {
  const intptr_t no_stride = 0;
  return triple_strided(dst, 0, src, &no_stride, 1, self, frame);
}

/* Puts a kernel into the builder's memory at `offset`; returns where it ends. */
static intptr_t instantiate_triple(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                                   const dynd_bind *bind) {
  void *function = bind->request == kernel_request_single ? (void *)triple_single : (void *)triple_strided;
  intptr_t end = offset + (intptr_t)sizeof(ckernel_prefix);
  int status = ckernel_builder_ensure_capacity_leaf(out, (size_t)end);
  (void)self;
  if (status == dynd_ok)
    ((ckernel_prefix *)(out->data + offset))->function = function;
  return status == dynd_ok ? end : status;
}

const deferred_ckernel triple_kernel_int32 = {.size = sizeof(deferred_ckernel),
                                              .version = DYND_ABI_VERSION,
                                              .prototype = expr_operation_funcproto_id,
                                              .flags = dynd_callable_pure | dynd_callable_total,
                                              .name = "triple",
                                              .signature = "(int32) -> int32",
                                              .doc = "Three times each element.",
                                              .instantiate = instantiate_triple};

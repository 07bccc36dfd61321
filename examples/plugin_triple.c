/* A plug-in: `triple` for int32, lifted by the library over arrays of any dimensions. It links against nothing.
 *
 *   cc -std=c11 -O2 -shared -fPIC -I . -o triple.so examples/plugin_triple.c
 *
 *   >>> nd.load("./triple.so")
 *   ['triple']
 *   >>> nd.triple([[1, 2], [3]])
 *   nd.array([[3, 6], [9]], type="strided * var * int32")
 */
#include "dynd/abi/plugin.h"

static int triple(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                  const ckernel_prefix *self, dynd_frame *frame) {
  const char *from = src[0];
  (void)self, (void)frame;
  for (size_t i = 0; i < count; i++, dst += dst_stride, from += src_stride[0])
    *(int32_t *)dst = 3 * *(const int32_t *)from;
  return dynd_ok;
}

static intptr_t instantiate(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
  intptr_t end = offset + (intptr_t)sizeof(ckernel_prefix);
  (void)self;
  if (bind->request != kernel_request_strided)
    return dynd_error_type;
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end) != dynd_ok)
    return dynd_error_memory;
  ((ckernel_prefix *)(out->data + offset))->function = (void *)triple;
  return end;
}

/* clang-format off */
static const deferred_ckernel kernel = {
    sizeof(deferred_ckernel), DYND_ABI_VERSION, expr_operation_funcproto_id,
    dynd_callable_pure | dynd_callable_total, "triple", "(int32) -> int32",
    "Three times the value.", NULL, instantiate, NULL, NULL, NULL, NULL};
/* clang-format on */
int dynd_plugin_init(const dynd_host *host) { return host->register_kernel(host, &kernel); }

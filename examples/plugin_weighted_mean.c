/* A plug-in with a core dimension: the weighted mean of each row, (N * T, N * T) -> T over any outer dimensions. */
#include "dynd/abi/plugin.h"

typedef struct {
  ckernel_prefix base;
  intptr_t x_stride, w_stride; /* inside of a row */
} mean_kernel;

static int weighted_mean(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  const mean_kernel *k = (const mean_kernel *)self;
  (void)frame;
  for (size_t i = 0; i < call->count; i++) { /* rows, each of its own length */
    const char *x = dynd_core_data(call, 1, i), *w = dynd_core_data(call, 2, i);
    double sum = 0, weight = 0;
    for (intptr_t j = dynd_core_size(call, 0, i); j > 0; j--, x += k->x_stride, w += k->w_stride) {
      sum += *(const double *)x * *(const double *)w;
      weight += *(const double *)w;
    }
    *(double *)dynd_core_data(call, 0, i) = sum / weight;
  }
  return dynd_ok;
}

static intptr_t make(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                     const dynd_bind *bind) {
  intptr_t end = offset + (intptr_t)sizeof(mean_kernel);
  (void)self;
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end) != dynd_ok)
    return dynd_error_memory;
  *(mean_kernel *)(out->data + offset) =
      (mean_kernel){{(void *)weighted_mean, NULL}, bind->arrmeta[1]->stride[0], bind->arrmeta[2]->stride[0]};
  return end;
}

static const deferred_ckernel kernel = {.size = sizeof(kernel),
                                        .version = DYND_ABI_VERSION,
                                        .prototype = core_operation_funcproto_id,
                                        .flags = dynd_callable_pure | dynd_callable_total,
                                        .name = "weighted_mean",
                                        .signature = "(N * float64, N * float64) -> float64",
                                        .doc = "The weighted mean of each row.",
                                        .instantiate = make};

int dynd_plugin_init(const dynd_host *host) { return host->register_kernel(host, &kernel); }

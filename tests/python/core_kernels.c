/* Kernels with core dimensions for test_core_dims.py: one of each kind of signature. */
#include "dynd/abi/plugin.h"
#include <math.h>
#include <stdio.h>

/* The strides of the core dimensions of every operand, as bind->arrmeta has them; and a number from a keyword. */
typedef struct {
  ckernel_prefix base;
  intptr_t stride[4][2];
  int64_t k;
  char type[24];
} core_kernel;

static intptr_t make(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                     const dynd_bind *bind) {
  intptr_t end = offset + (intptr_t)sizeof(core_kernel);
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end) != dynd_ok)
    return dynd_error_memory;
  core_kernel *made = (core_kernel *)(void *)(out->data + offset);
  for (uint32_t o = 0; o < bind->noperands; o++)
    for (uint32_t d = 0; bind->arrmeta[o] && d < bind->arrmeta[o]->ndim; d++)
      made->stride[o][d] = bind->arrmeta[o]->stride[d];
  const void *k = dynd_bind_keyword(bind, "k");
  made->k = k ? *(const int64_t *)k : -1;
  snprintf(made->type, sizeof(made->type), "%s", bind->type[0]);
  made->base.function = self->data_ptr;
  return end;
}

#define AT(type, pointer) (*(type *)(void *)(pointer))
#define CORE(name)                                                                                                     \
  static int name(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {                         \
    const core_kernel *k = (const core_kernel *)(const void *)self;                                                    \
    (void)k, (void)frame;                                                                                              \
    for (size_t i = 0; i < call->count; i++) {
#define END                                                                                                            \
  }                                                                                                                    \
  return dynd_ok;                                                                                                      \
  }

CORE(dot)
const char *a = dynd_core_data(call, 1, i), *b = dynd_core_data(call, 2, i);
double sum = 0;
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++)
  sum += AT(const double, a + j * k->stride[1][0]) * AT(const double, b + j * k->stride[2][0]);
AT(double, dynd_core_data(call, 0, i)) = sum;
END

CORE(product)
intptr_t m = dynd_core_size(call, 0, i), inner = dynd_core_size(call, 1, i), n = dynd_core_size(call, 2, i);
char *c = dynd_core_data(call, 0, i), *a = dynd_core_data(call, 1, i), *b = dynd_core_data(call, 2, i);
for (intptr_t x = 0; x < m; x++)
  for (intptr_t y = 0; y < n; y++) {
    double sum = 0;
    for (intptr_t z = 0; z < inner; z++)
      sum += AT(double, a + x * k->stride[1][0] + z * k->stride[1][1]) *
             AT(double, b + z * k->stride[2][0] + y * k->stride[2][1]);
    AT(double, c + x * k->stride[0][0] + y * k->stride[0][1]) = sum;
  }
END

CORE(largest)
intptr_t n = dynd_core_size(call, 0, i), best = 0;
const char *a = dynd_core_data(call, 2, i);
if (n == 0) {
  snprintf(frame->text, sizeof(frame->text), "nothing is largest of nothing");
  return dynd_error_value;
}
for (intptr_t j = 1; j < n; j++)
  if (AT(const double, a + j * k->stride[2][0]) > AT(const double, a + best * k->stride[2][0]))
    best = j;
AT(double, dynd_core_data(call, 0, i)) = AT(const double, a + best * k->stride[2][0]);
AT(int64_t, dynd_core_data(call, 1, i)) = best;
END

CORE(first)
intptr_t n = dynd_core_size(call, 0, i), wanted = dynd_core_size(call, 1, i);
if (wanted != k->k)
  return dynd_error_internal;
for (intptr_t j = 0; j < wanted; j++)
  AT(double, dynd_core_data(call, 0, i) +
                 j * k->stride[0][0]) = j < n ? AT(const double, dynd_core_data(call, 1, i) + j * k->stride[1][0]) : -1;
END

CORE(positive)
intptr_t made = 0;
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++) {
  double value = AT(const double, dynd_core_data(call, 1, i) + j * k->stride[1][0]);
  if (value > 0)
    AT(double, dynd_core_data(call, 0, i) + made++ * k->stride[0][0]) = value;
}
call->made[0][i] = made;
END

    static int64_t
    as_many(const deferred_ckernel *self, const dynd_bind *bind, const int64_t *sizes, int destination) {
  (void)self, (void)bind, (void)destination;
  return sizes[0];
}

CORE(liar)
call->made[0][i] = dynd_core_size(call, 0, i) + 1;
END CORE(below) call->made[0][i] = -2; /* no number of elements, and not what is there before a kernel says one */
END CORE(silent)
END static int64_t no_bound(const deferred_ckernel *self, const dynd_bind *bind, const int64_t *sizes,
                            int destination) {
  (void)self, (void)bind, (void)sizes, (void)destination;
  return dynd_error_value;
}

CORE(scale)
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++)
  AT(double, dynd_core_data(call, 1, i) + j * k->stride[1][0]) *= AT(const double, dynd_core_data(call, 0, i));
END

/* Writes before it finds that it cannot. */
CORE(scale_positive) for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++) {
  double *x = (double *)(dynd_core_data(call, 1, i) + j * k->stride[1][0]);
  *x *= AT(const double, dynd_core_data(call, 0, i));
  if (*x < 0) {
    dynd_core_failed(call, i);
    return dynd_error_value;
  }
}
END

CORE(running)
double real = 0;
int64_t whole = 0;
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++) {
  char *to = dynd_core_data(call, 0, i) + j * k->stride[0][0];
  const char *from = dynd_core_data(call, 1, i) + j * k->stride[1][0];
  if (strstr(k->type, "float64"))
    AT(double, to) = real += AT(const double, from);
  else if (strstr(k->type, "int64"))
    AT(int64_t, to) = whole += AT(const int64_t, from);
  else
    return dynd_error_type;
}
END

/* These read the whole block at once: C order and F order are what their flags say. */
CORE(weigh_c)
intptr_t m = dynd_core_size(call, 0, i), n = dynd_core_size(call, 1, i);
double sum = 0;
for (intptr_t j = 0; j < m * n; j++)
  sum += (double)(j + 1) * ((const double *)(void *)dynd_core_data(call, 1, i))[j];
AT(double, dynd_core_data(call, 0, i)) = sum;
END

    /* Whether its operand is where a double may be. */
    CORE(aligned) AT(char, dynd_core_data(call, 0, i)) = (uintptr_t)dynd_core_data(call, 1, i) % _Alignof(double) == 0;
END

CORE(copied)
intptr_t n = dynd_core_size(call, 0, i) * dynd_core_size(call, 1, i);
memcpy(dynd_core_data(call, 0, i), dynd_core_data(call, 1, i), (size_t)n * sizeof(double));
END

    /* Rows that are made without a bound: every number as often as it says. */
    CORE(repeated) const char *from = dynd_core_data(call, 1, i);
int64_t total = 0;
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++) {
  int64_t times = AT(const int64_t, from + j * k->stride[1][0]);
  if (times < 0) {
    snprintf(frame->text, sizeof(frame->text), "%lld is negative", (long long)times);
    dynd_core_failed(call, i);
    return dynd_error_value;
  }
  total += times;
}
char *to = dynd_core_make(call, 0, i, total);
if (!to)
  return dynd_error_memory;
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++)
  for (int64_t times = AT(const int64_t, from + j * k->stride[1][0]), t = 0; t < times; t++, to += k->stride[0][0])
    AT(int64_t, to) = times;
END

    CORE(grown) if (!dynd_core_make(call, 0, i, 1)) return dynd_error_memory;
call->made[0][i] = 5;
END CORE(refused) if (dynd_core_make(call, 0, i, -1) || dynd_core_make(call, 1, i, 1) ||
                      dynd_core_make(call, 0, call->count, 1) ||
                      dynd_core_make(call, 0, i, INT64_MAX)) return dynd_error_internal;
END

CORE(sum3)
double sum = 0;
for (intptr_t j = 0; j < 3; j++)
  sum += AT(const double, dynd_core_data(call, 1, i) + j * k->stride[1][0]);
AT(double, dynd_core_data(call, 0, i)) = sum;
END

    typedef struct {
  int16_t re, im;
} small_complex;

static int add_small(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *stride, size_t count,
                     const ckernel_prefix *self, dynd_frame *frame) {
  (void)self, (void)frame;
  for (size_t i = 0; i < count; i++) {
    const small_complex *a = (const void *)(src[0] + (intptr_t)i * stride[0]),
                        *b = (const void *)(src[1] + (intptr_t)i * stride[1]);
    *(small_complex *)(void *)(dst + (intptr_t)i * dst_stride) =
        (small_complex){(int16_t)(a->re + b->re), (int16_t)(a->im + b->im)};
  }
  return dynd_ok;
}

/* The sum of |z|^2 over a row of structs, which it wants without gaps. */
CORE(power)
int64_t sum = 0;
const small_complex *z = (const void *)dynd_core_data(call, 1, i);
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++)
  sum += z[j].re * z[j].re + z[j].im * z[j].im;
AT(int64_t, dynd_core_data(call, 0, i)) = sum;
END

    /* ?T: a byte that says whether the value is there, and the value. */
    typedef struct {
  uint8_t is_there;
  double value;
} maybe;

CORE(present_sum)
const char *x = dynd_core_data(call, 1, i);
maybe *to = (maybe *)(void *)dynd_core_data(call, 0, i);
to->is_there = 0;
to->value = 0;
for (intptr_t j = 0, n = dynd_core_size(call, 0, i); j < n; j++, x += k->stride[1][0])
  if (AT(const maybe, x).is_there) {
    to->is_there = 1;
    to->value += AT(const maybe, x).value;
  }
END

    /* A reduction: mean and spread of the weighted values, and how many pieces were joined. */
    typedef struct {
  double sum, weight;
  int64_t pieces;
} mean_state;
/* So long that other threads begin meanwhile. */
static void work(int64_t much) {
  for (volatile int64_t i = 0; i < much; i++) {
  }
}
static void start_mean(void *state) { *(mean_state *)state = (mean_state){0, 0, 1}; }
static int add_values(void *state, const char *const *values, const intptr_t *stride, size_t count, dynd_frame *frame) {
  mean_state *s = state;
  const char *x = values[0], *w = values[1];
  for (size_t i = 0; i < count; i++, x += stride[0], w += stride[1]) {
    if (AT(const int32_t, w) < 0) {
      work(-(int64_t)AT(const int32_t, w) * 1000000); /* the less it is, the later the failure */
      snprintf(frame->text, sizeof(frame->text), "a weight is negative: %d", (int)AT(const int32_t, w));
      return dynd_error_value;
    }
    s->sum += AT(const double, x) * AT(const int32_t, w);
    s->weight += AT(const int32_t, w);
  }
  return dynd_ok;
}
static int join_means(void *state, const void *later, dynd_frame *frame) {
  mean_state *s = state;
  const mean_state *l = later;
  (void)frame;
  s->sum += l->sum;
  s->weight += l->weight;
  s->pieces += l->pieces;
  return dynd_ok;
}
static int end_mean(void *state, char *dst, dynd_frame *frame) {
  (void)frame;
  AT(double, dst) = ((mean_state *)state)->sum / ((mean_state *)state)->weight;
  return dynd_ok;
}
static int count_pieces(void *state, char *dst, dynd_frame *frame) {
  (void)frame;
  AT(int64_t, dst) = ((mean_state *)state)->pieces;
  return dynd_ok;
}
static int skip_values(void *state, const char *const *values, const intptr_t *stride, size_t count,
                       dynd_frame *frame) {
  (void)state, (void)values, (void)stride, (void)count, (void)frame;
  return dynd_ok;
}
static dynd_reduction weighted = {
    sizeof(dynd_reduction), DYND_ABI_VERSION, sizeof(mean_state), start_mean, add_values, join_means, end_mean};
static dynd_reduction pieces = {
    sizeof(dynd_reduction), DYND_ABI_VERSION, sizeof(mean_state), start_mean, skip_values, join_means, count_pieces};
/* How many pieces were not on the thread of the first. */
typedef struct {
  const char *thread;
  int64_t elsewhere;
} thread_state;
static void start_threads(void *state) { *(thread_state *)state = (thread_state){NULL, 0}; }
static int note_thread(void *state, const char *const *values, const intptr_t *stride, size_t count,
                       dynd_frame *frame) {
  static _Thread_local char here;
  (void)values, (void)stride, (void)count, (void)frame;
  ((thread_state *)state)->thread = &here;
  work(2000000);
  return dynd_ok;
}
static int join_threads(void *state, const void *later, dynd_frame *frame) {
  thread_state *s = state;
  const thread_state *l = later;
  (void)frame;
  s->elsewhere += l->elsewhere + (l->thread != s->thread);
  return dynd_ok;
}
static int count_elsewhere(void *state, char *dst, dynd_frame *frame) {
  (void)frame;
  AT(int64_t, dst) = ((thread_state *)state)->elsewhere;
  return dynd_ok;
}
static dynd_reduction threads = {sizeof(dynd_reduction), DYND_ABI_VERSION, sizeof(thread_state),
                                 start_threads,          note_thread,      join_threads,
                                 count_elsewhere};
static dynd_reduction uncut = {
    sizeof(dynd_reduction), DYND_ABI_VERSION, sizeof(mean_state), start_mean, skip_values, NULL, count_pieces};

/* A row without its ends: how long that is, and its elements. */
CORE(inner_size)
AT(int64_t, dynd_core_data(call, 0, i)) = dynd_core_size(call, 0, i) - 2;
END

    CORE(inner) for (intptr_t j = 0, n = dynd_core_size(call, 1, i); j < n; j++)
        AT(double, dynd_core_data(call, 0, i) + j * k->stride[0][0]) = AT(const double, dynd_core_data(call, 1, i) +
                                                                                            (j + 1) * k->stride[1][0]);
END

#define REDUCTION(flags, name, signature, functions)                                                                   \
  {                                                                                                                    \
    sizeof(deferred_ckernel), DYND_ABI_VERSION, reduction_funcproto_id, flags, name, signature, NULL, functions, NULL, \
        NULL, NULL, NULL, NULL                                                                                         \
  }
    static int
    mute(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  (void)call, (void)self, (void)frame;
  return dynd_error_value;
}
#define KERNEL(prototype, flags, name, signature, function, bound)                                                     \
  {                                                                                                                    \
    sizeof(deferred_ckernel), DYND_ABI_VERSION, prototype, flags, name, signature, NULL, (void *)function, make, NULL, \
        NULL, bound, NULL                                                                                              \
  }
static const deferred_ckernel inner_sizes = KERNEL(4, 3, "inner_sizes", "(N * float64) -> int64", inner_size, NULL);
static const deferred_ckernel kernels[] = {
    {sizeof(deferred_ckernel), DYND_ABI_VERSION, 4, 3, "core_inner", "(N * float64) -> M * float64", NULL,
     (void *)inner, make, NULL, NULL, NULL, &inner_sizes},
    KERNEL(4, 3, "core_dot", "(N * float64, N * float64) -> float64", dot, NULL),
    KERNEL(4, 3, "core_matmul", "(M * K * float64, K * N * float64) -> M * N * float64", product, NULL),
    KERNEL(4, 1, "core_largest", "(N * float64) -> (float64, int64)", largest, NULL),
    KERNEL(4, 3, "core_first", "(N * float64, *, k: int64 = 2) -> k * float64", first, NULL),
    KERNEL(4, 3, "core_positive", "(N * float64) -> var * float64", positive, as_many),
    KERNEL(4, 3, "core_liar", "(N * float64) -> var * float64", liar, as_many),
    KERNEL(4, 3, "core_below", "(N * float64) -> var * float64", below, as_many),
    KERNEL(4, 3, "core_silent", "(N * float64) -> var * float64", silent, as_many),
    KERNEL(4, 3, "core_no_bound", "(N * float64) -> var * float64", positive, no_bound),
    KERNEL(4, 0, "core_scale", "(f: float64, x: inout N * float64) -> void", scale, NULL),
    KERNEL(4, 0, "core_scale_positive", "(f: float64, x: inout N * float64) -> void", scale_positive, NULL),
    KERNEL(4, 3, "core_running", "(N * T) -> N * T", running, NULL),
    KERNEL(4, 3 | 64, "core_weigh_c", "(M * N * float64) -> float64", weigh_c, NULL),
    KERNEL(4, 3 | 128, "core_weigh_f", "(M * N * float64) -> float64", weigh_c, NULL),
    KERNEL(4, 3 | 128, "core_copied_f", "(M * N * float64) -> M * N * float64", copied, NULL),
    KERNEL(4, 3 | 64, "core_copied_c", "(M * N * float64) -> M * N * float64", copied, NULL),
    KERNEL(4, 1 | 64, "core_scale_c", "(f: float64, x: inout N * float64) -> void", scale, NULL),
    KERNEL(4, 1, "core_repeated", "(N * int64) -> var * int64", repeated, NULL),
    KERNEL(4, 1, "core_grown", "(N * int64) -> var * int64", grown, NULL),
    KERNEL(4, 1, "core_refused", "(N * int64) -> var * int64", refused, NULL),
    KERNEL(4, 3 | 64, "core_power", "(N * {re: int16, im: int16}) -> int64", power, NULL),
    KERNEL(4, 3, "core_aligned", "(N * float64) -> bool", aligned, NULL),
    KERNEL(4, 3, "core_sum3", "(3 * float64) -> float64", sum3, NULL),
    KERNEL(4, 3, "core_sum3", "(var * int64) -> int64", running, NULL),
    KERNEL(4, 1, "core_mute", "(N * float64) -> float64", mute, NULL),
    KERNEL(4, 3, "core_present", "(N * ?float64) -> ?float64", present_sum, NULL),
    REDUCTION(1 | dynd_callable_one_thread, "core_threads", "(N * float64) -> int64", &threads),
    REDUCTION(1, "core_weighted", "(N * float64, N * int32) -> float64", &weighted),
    REDUCTION(1, "core_pieces", "(N * float64) -> int64", &pieces),
    REDUCTION(1, "core_uncut", "(N * float64) -> int64", &uncut),
    KERNEL(1, 3, "add", "({re: int16, im: int16}, {re: int16, im: int16}) -> {re: int16, im: int16}", add_small, NULL),
};

int dynd_plugin_init(const dynd_host *host) {
  for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
    if (host->register_kernel(host, &kernels[i]) != dynd_ok)
      return dynd_error_value;
  return dynd_ok;
}

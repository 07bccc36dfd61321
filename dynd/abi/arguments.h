/* What wrappers of C functions share that dynd-kernelgen writes: sizes that cannot overflow, arrays in the order that a
 * function wants, resources that are made once. Plain C11 with GCC's builtins and POSIX threads; inline, links against
 * nothing. */
#ifndef DYND_ABI_ARGUMENTS_H
#define DYND_ABI_ARGUMENTS_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "dynd/abi/callable.h"

/* The most dimensions of one array argument: as many sizes as a call has. */
#define DYND_MAX_CORE_DIMS 16

/* ---- failures ---------------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), cold))
#endif
static inline int
dynd_fail(dynd_frame *frame, int status, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(frame->text, sizeof(frame->text), format, values);
  va_end(values);
  return status;
}

/* A number of any type as text, for messages: `text` has room for 32 characters. */
static inline const char *dynd_show_integer(char *text, long long value) {
  snprintf(text, 32, "%lld", value);
  return text;
}
static inline const char *dynd_show_unsigned(char *text, unsigned long long value) {
  snprintf(text, 32, "%llu", value);
  return text;
}
static inline const char *dynd_show_double(char *text, double value) {
  snprintf(text, 32, "%g", value);
  return text;
}
#define DYND_SHOWN(value)                                                                                              \
  _Generic((value), float                                                                                              \
           : dynd_show_double, double                                                                                  \
           : dynd_show_double, long double                                                                             \
           : dynd_show_double, unsigned long                                                                           \
           : dynd_show_unsigned, unsigned long long                                                                    \
           : dynd_show_unsigned, default                                                                               \
           : dynd_show_integer)((char[32]){0}, value)

/* ---- sizes: 64-bit numbers; `wrong` is set where one overflows or is divided by zero ---- */

static inline int64_t dynd_add(int64_t a, int64_t b, int *wrong) {
  int64_t made;
  *wrong |= __builtin_add_overflow(a, b, &made);
  return made;
}
static inline int64_t dynd_subtract(int64_t a, int64_t b, int *wrong) {
  int64_t made;
  *wrong |= __builtin_sub_overflow(a, b, &made);
  return made;
}
static inline int64_t dynd_multiply(int64_t a, int64_t b, int *wrong) {
  int64_t made;
  *wrong |= __builtin_mul_overflow(a, b, &made);
  return made;
}
static inline int64_t dynd_divide(int64_t a, int64_t b, int *wrong) {
  int bad = b == 0 || (b == -1 && a == INT64_MIN);
  *wrong |= bad;
  return bad ? 0 : a / b;
}
static inline int64_t dynd_modulo(int64_t a, int64_t b, int *wrong) {
  int bad = b == 0 || (b == -1 && a == INT64_MIN);
  *wrong |= bad;
  return bad ? 0 : a % b;
}
static inline int64_t dynd_shift_left(int64_t a, int64_t b, int *wrong) {
  int bad = a < 0 || b < 0 || b > 62 || a > INT64_MAX >> b;
  *wrong |= bad;
  return bad ? 0 : a << b;
}
static inline int64_t dynd_shift_right(int64_t a, int64_t b, int *wrong) {
  int bad = a < 0 || b < 0 || b > 62;
  *wrong |= bad;
  return bad ? 0 : a >> b;
}
static inline int64_t dynd_of_unsigned(uint64_t a, int *wrong) {
  *wrong |= a > INT64_MAX;
  return (int64_t)a;
}
static inline int64_t dynd_of_double(long double a, int *wrong) {
  int fits = a > -9223372036854775808.0L && a < 9223372036854775808.0L; /* not a NaN */
  *wrong |= !fits;
  return fits ? (int64_t)a : 0;
}
static inline int64_t dynd_of_integer(int64_t a, int *wrong) {
  (void)wrong;
  return a;
}
/* A value of any type of C as a size. */
#define DYND_SIZE(value, wrong)                                                                                        \
  _Generic((value), float                                                                                              \
           : dynd_of_double, double                                                                                    \
           : dynd_of_double, long double                                                                               \
           : dynd_of_double, unsigned long                                                                             \
           : dynd_of_unsigned, unsigned long long                                                                      \
           : dynd_of_unsigned, default                                                                                 \
           : dynd_of_integer)(value, wrong)

static inline int64_t dynd_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dynd_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Whether the elements of a block follow each other without gaps, in C order or in F order ('C', 'F'). An axis of size
 * 1 has any stride. */
static inline int dynd_is_dense(const int64_t *size, const intptr_t *stride, int ndim, size_t item, char order) {
  intptr_t expected = (intptr_t)item;
  int n, dense = 1;
  for (n = 0; n < ndim; n++) {
    int d = order == 'C' ? ndim - 1 - n : n;
    if (size[d] == 0)
      return 1;
    dense &= size[d] == 1 || stride[d] == expected;
    if (dense) /* then it is in memory; a view that stretches may be of any size */
      expected *= (intptr_t)size[d];
  }
  return dense;
}

/* The strides of such a block. (2, 3) of 8 bytes in C order: 24, 8; in F order: 8, 16. Of no elements they may wrap. */
static inline void dynd_dense_strides(const int64_t *size, int ndim, size_t item, char order, intptr_t *stride) {
  intptr_t next = (intptr_t)item;
  int n;
  for (n = 0; n < ndim; n++) {
    int d = order == 'C' ? ndim - 1 - n : n;
    stride[d] = next;
    next = (intptr_t)((size_t)next * (size_t)size[d]);
  }
}

/* Whether all strides are whole numbers of elements, and none is negative: what functions with increments take. Nothing
 * has any. */
static inline int dynd_has_steps(const int64_t *size, const intptr_t *stride, int ndim, size_t item) {
  int d, steps = 1, empty = 0;
  for (d = 0; d < ndim; d++) {
    empty |= size[d] == 0;
    steps &= size[d] <= 1 || (stride[d] > 0 && stride[d] % (intptr_t)item == 0);
  }
  return steps || empty;
}

/* Two axes: `a`, along which elements are near each other in `from`, and `b`, where they are near in `to`; in tiles, so
 * that neither side is read with a cache line for each element. */
static inline void dynd_copy_plane(char *to, intptr_t to_a, intptr_t to_b, const char *from, intptr_t from_a,
                                   intptr_t from_b, int64_t na, int64_t nb, size_t item) {
  int64_t a, b, i, j;
  for (a = 0; a < na; a += 16)
    for (b = 0; b < nb; b += 16)
      for (j = b; j < nb && j < b + 16; j++)
        for (i = a; i < na && i < a + 16; i++) {
          char *t = to + i * to_a + j * to_b;
          const char *f = from + i * from_a + j * from_b;
          if (item == 8)
            memcpy(t, f, 8);
          else if (item == 4)
            memcpy(t, f, 4);
          else
            memcpy(t, f, item);
        }
}

static inline void dynd_copy_line(char *to, intptr_t to_stride, const char *from, intptr_t from_stride, int64_t n,
                                  size_t item) {
  int64_t i;
  if (to_stride == (intptr_t)item && from_stride == (intptr_t)item) {
    memcpy(to, from, (size_t)n * item);
    return;
  }
  for (i = 0; i < n; i++) {
    if (item == 8)
      memcpy(to + i * to_stride, from + i * from_stride, 8);
    else
      memcpy(to + i * to_stride, from + i * from_stride, item);
  }
}

static inline intptr_t dynd_magnitude(intptr_t stride) { return stride < 0 ? -stride : stride; }

/* Copies a block of any strides to one of any other; not the same memory. The loops are in the order of the strides. */
static inline void dynd_copy(char *to, const intptr_t *to_stride, const char *from, const intptr_t *from_stride,
                             const int64_t *size, int ndim, size_t item) {
  int near_to = 0, near_from = 0, d;
  if (ndim == 0) {
    memcpy(to, from, item);
    return;
  }
  for (d = 0; d < ndim; d++) {
    if (size[d] == 0)
      return;
    if (size[d] > 1 && (size[near_to] == 1 || dynd_magnitude(to_stride[d]) <= dynd_magnitude(to_stride[near_to])))
      near_to = d;
    if (size[d] > 1 &&
        (size[near_from] == 1 || dynd_magnitude(from_stride[d]) <= dynd_magnitude(from_stride[near_from])))
      near_from = d;
  }
  for (d = 0; d < ndim; d++) /* the axes that are left are outside */
    if (d != near_to && d != near_from && size[d] > 1) {
      int64_t rest[DYND_MAX_CORE_DIMS], i;
      memcpy(rest, size, (size_t)ndim * sizeof(*rest));
      rest[d] = 1;
      for (i = 0; i < size[d]; i++)
        dynd_copy(to + i * to_stride[d], to_stride, from + i * from_stride[d], from_stride, rest, ndim, item);
      return;
    }
  if (near_to == near_from)
    dynd_copy_line(to, to_stride[near_to], from, from_stride[near_to], size[near_to], item);
  else
    dynd_copy_plane(to, to_stride[near_from], to_stride[near_to], from, from_stride[near_from], from_stride[near_to],
                    size[near_from], size[near_to], item);
}

/* Of a block of ?T: whether a value is missing, by the byte that each element begins with. */
static inline int dynd_any_missing(const char *data, const int64_t *size, const intptr_t *stride, int ndim) {
  int64_t i;
  int missing = ndim == 0 && !*data;
  for (i = 0; ndim > 0 && i < size[0] && !missing; i++)
    missing = dynd_any_missing(data + i * stride[0], size + 1, stride + 1, ndim - 1);
  return missing;
}

/* Marks all values of a block of ?T: 1, they are there; 0, they are missing. */
static inline void dynd_mark(char *data, const int64_t *size, const intptr_t *stride, int ndim, char present) {
  int64_t i;
  if (ndim == 0)
    *data = present;
  for (i = 0; ndim > 0 && i < size[0]; i++)
    dynd_mark(data + i * stride[0], size + 1, stride + 1, ndim - 1, present);
}

/* A text of C as a fixed_string of that many bytes: what is behind its end is zero. */
static inline void dynd_store_text(char *to, const void *text, size_t size) {
  const char *end = (const char *)memchr(text, 0, size);
  size_t used = end ? (size_t)(end - (const char *)text) : size;
  memcpy(to, text, used);
  memset(to + used, 0, size - used);
}

/* Memory for one array argument. It is the frame's, is kept for all outer elements of a call, and grows by doubling. */
typedef struct dynd_room {
  char *data;
  size_t bytes;
} dynd_room;

/* Room for a block, or NULL where there is no memory for it. */
static inline void *dynd_room_for(dynd_room *room, dynd_frame *frame, const int64_t *size, int ndim, size_t item) {
  size_t bytes = item;
  int d, wrong = 0, empty = 0;
  for (d = 0; d < ndim; d++) {
    empty |= size[d] == 0;
    wrong |= size[d] < 0 || __builtin_mul_overflow(bytes, (size_t)size[d], &bytes);
  }
  bytes = empty ? 0 : bytes;
  if (wrong && !empty)
    return NULL;
  if (bytes > PTRDIFF_MAX / 2)
    return NULL;
  if (bytes > room->bytes || !room->data) {
    size_t larger = bytes > 2 * room->bytes ? bytes : 2 * room->bytes;
    room->data = (char *)frame->temp(frame, larger < 64 ? 64 : larger);
    room->bytes = room->data ? (larger < 64 ? 64 : larger) : 0;
  }
  return room->data;
}

static inline size_t dynd_count(const int64_t *size, int ndim) {
  size_t count = 1;
  int d;
  for (d = 0; d < ndim; d++)
    count *= (size_t)size[d];
  return count;
}

/* Of rows of ?T that are equally long: the positions at which all have a value; behind them, at [size], how many these
 * are. NULL where there is no memory. */
static inline int64_t *dynd_keep(dynd_room *room, dynd_frame *frame, int64_t size, char *const *row,
                                 const intptr_t *stride, int nrows) {
  int64_t with_count = size + 1, count = 0, i;
  int64_t *kept = (int64_t *)dynd_room_for(room, frame, &with_count, 1, sizeof(*kept));
  int r;
  for (i = 0; kept && i < size; i++) {
    char present = 1;
    for (r = 0; r < nrows; r++)
      present &= row[r][i * stride[r]] != 0;
    kept[count] = i;
    count += present;
  }
  if (kept)
    kept[size] = count;
  return kept;
}

/* The values at these positions, one behind the other; NULL where there is no memory. */
static inline void *dynd_gather(dynd_room *room, dynd_frame *frame, const char *from, intptr_t stride,
                                const int64_t *kept, int64_t count, size_t item) {
  char *to = (char *)dynd_room_for(room, frame, &count, 1, item);
  int64_t i;
  for (i = 0; to && i < count; i++)
    memcpy(to + i * (int64_t)item, from + kept[i] * stride, item);
  return to;
}

/* Back to these positions of a row of ?T, whose values are `offset` bytes behind its bytes; the others are missing. */
static inline void dynd_scatter(char *to, intptr_t stride, const void *from, const int64_t *kept, int64_t size,
                                size_t item, size_t offset) {
  int64_t i;
  for (i = 0; i < size; i++)
    to[i * stride] = 0;
  for (i = 0; i < kept[size]; i++) {
    to[kept[i] * stride] = 1;
    memcpy(to + kept[i] * stride + offset, (const char *)from + i * (int64_t)item, item);
  }
}

/* A copy of a block, without gaps in that order; NULL where there is no memory for it. */
static inline void *dynd_copy_in(dynd_room *room, dynd_frame *frame, const void *from, const int64_t *size,
                                 const intptr_t *stride, int ndim, size_t item, char order) {
  intptr_t dense[DYND_MAX_CORE_DIMS];
  char *to = (char *)dynd_room_for(room, frame, size, ndim, item);
  if (!to)
    return NULL;
  dynd_dense_strides(size, ndim, item, order, dense);
  dynd_copy(to, dense, (const char *)from, stride, size, ndim, item);
  return to;
}

/* Back to where the block is, or to another one of its sizes. */
static inline void dynd_copy_out(void *to, const intptr_t *stride, const void *from, const int64_t *size, int ndim,
                                 size_t item, char order) {
  intptr_t dense[DYND_MAX_CORE_DIMS];
  if (to == from)
    return;
  dynd_dense_strides(size, ndim, item, order, dense);
  dynd_copy((char *)to, stride, (const char *)from, dense, size, ndim, item);
}

/* ---- resources ------------------------------------------------------------------------------------------------------
 * What a library wants made before it is called: a plan, a workspace. A kernel has a pool of them. A call borrows one,
 * with the values that it was made for as its key, and gives it back, so that there are at most as many as threads that
 * call at once; a shared one stays in the pool. All are released by the kernel's destructor. */

typedef struct dynd_resource dynd_resource;
struct dynd_resource {
  dynd_resource *next;
  void *handle;
  int64_t key[4];
};

typedef struct dynd_pool {
  pthread_mutex_t mutex;
  dynd_resource *all;
  void (*release)(void *handle);
} dynd_pool;

static inline int dynd_same_key(const int64_t *a, const int64_t *b) { return memcmp(a, b, 4 * sizeof(*a)) == 0; }

/* One for this key, or NULL: then it is made. */
static inline dynd_resource *dynd_pool_take(dynd_pool *pool, const int64_t *key, int is_shared) {
  dynd_resource **at, *found;
  pthread_mutex_lock(&pool->mutex);
  for (at = &pool->all; *at && !dynd_same_key((*at)->key, key); at = &(*at)->next) {
  }
  found = *at;
  if (found && !is_shared)
    *at = found->next;
  pthread_mutex_unlock(&pool->mutex);
  return found;
}

static inline dynd_resource *dynd_new_resource(void *handle, const int64_t *key) {
  dynd_resource *made = (dynd_resource *)calloc(1, sizeof(*made));
  if (made) {
    made->handle = handle;
    memcpy(made->key, key, sizeof(made->key));
  }
  return made;
}

static inline void dynd_pool_give(dynd_pool *pool, dynd_resource *one) {
  pthread_mutex_lock(&pool->mutex);
  one->next = pool->all;
  pool->all = one;
  pthread_mutex_unlock(&pool->mutex);
}

/* ---- the loop of a wrapper ---- */

/* Rows without gaps mostly follow each other, and short ones are done before the CPU has fetched the next. The distance
 * was measured with ddot over rows of 10: 1.16 of the loop by hand instead of 1.27. */
#if defined(__GNUC__)
#define DYND_PREFETCH_ROWS(row) __builtin_prefetch((const char *)(row) + 1024)
#else
#define DYND_PREFETCH_ROWS(row) ((void)(row))
#endif

/* A copy of a call, with its tables, in variables of the function: the compiler knows that the function which is called
 * for each outer element cannot change them. What an older host does not know is zero. `nsizes` may be less than there
 * are; it is at least 1. */
#define DYND_COPY_CALL(copy, call, noperands, nsizes)                                                                  \
  char *copy##_data[noperands];                                                                                        \
  intptr_t copy##_stride[noperands], copy##_dim_step[nsizes];                                                          \
  const int64_t *copy##_row[noperands], *copy##_dim[nsizes];                                                           \
  dynd_core_call copy;                                                                                                 \
  memset(&copy, 0, sizeof(copy));                                                                                      \
  memcpy(&copy, (call), (call)->size < sizeof(copy) ? (call)->size : sizeof(copy));                                    \
  memcpy(copy##_data, (call)->data, sizeof(copy##_data));                                                              \
  memcpy(copy##_stride, (call)->stride, sizeof(copy##_stride));                                                        \
  memcpy(copy##_row, (call)->row, sizeof(copy##_row));                                                                 \
  memcpy(copy##_dim, (call)->dim, sizeof(copy##_dim));                                                                 \
  memcpy(copy##_dim_step, (call)->dim_step, sizeof(copy##_dim_step));                                                  \
  copy.data = copy##_data, copy.stride = copy##_stride, copy.row = copy##_row;                                         \
  copy.dim = copy##_dim, copy.dim_step = copy##_dim_step

/* ---- the kernel of a wrapper ---- */

#define DYND_WRAPPER_POOLS 4

/* What the `data_ptr` of a wrapper's deferred kernel points to. */
typedef struct dynd_wrapper_info {
  void *function; /* of the prototype of the deferred kernel */
  int npools;
  void (*release[DYND_WRAPPER_POOLS])(void *handle);
} dynd_wrapper_info;

/* The strides are those of all core dimensions of all operands, destinations first. */
typedef struct dynd_wrapper {
  ckernel_prefix base;
  dynd_pool *pool[DYND_WRAPPER_POOLS];
  intptr_t stride[];
} dynd_wrapper;

static inline void dynd_wrapper_destroy(ckernel_prefix *self) {
  dynd_wrapper *own = (dynd_wrapper *)(void *)self;
  int i;
  for (i = 0; i < DYND_WRAPPER_POOLS && own->pool[i]; i++) {
    while (own->pool[i]->all) {
      dynd_resource *one = own->pool[i]->all;
      own->pool[i]->all = one->next;
      own->pool[i]->release(one->handle);
      free(one);
    }
    pthread_mutex_destroy(&own->pool[i]->mutex);
    free(own->pool[i]);
  }
}

static inline intptr_t dynd_wrapper_make(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                                         const dynd_bind *bind) {
  const dynd_wrapper_info *info = (const dynd_wrapper_info *)self->data_ptr;
  size_t nstrides = 0, at = 0;
  uint32_t o, d;
  int i;
  dynd_wrapper *made;
  intptr_t end;
  for (o = 0; o < bind->noperands; o++)
    nstrides += bind->arrmeta[o] ? bind->arrmeta[o]->ndim : 0;
  end = offset + (intptr_t)(sizeof(dynd_wrapper) + nstrides * sizeof(intptr_t));
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end) != dynd_ok)
    return dynd_error_memory;
  made = (dynd_wrapper *)(void *)(out->data + offset);
  made->base.function = info->function;
  made->base.destructor = info->npools ? dynd_wrapper_destroy : NULL;
  for (o = 0; o < bind->noperands; o++)
    for (d = 0; bind->arrmeta[o] && d < bind->arrmeta[o]->ndim; d++)
      made->stride[at++] = bind->arrmeta[o]->stride[d];
  for (i = 0; i < info->npools; i++) {
    dynd_pool *pool = (dynd_pool *)calloc(1, sizeof(dynd_pool));
    if (!pool)
      return dynd_error_memory;
    pthread_mutex_init(&pool->mutex, NULL);
    pool->release = info->release[i];
    made->pool[i] = pool;
  }
  return end;
}

#endif /* DYND_ABI_ARGUMENTS_H */

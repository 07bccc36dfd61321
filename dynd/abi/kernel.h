/* The kernel ABI: what a compiled kernel looks like in memory and how it is called.
 *
 * Plain C11, includes nothing of ours. A kernel is one block of memory: a prefix, its own data, the prefix of
 * its child, the child's data, and so on. Rules that every kernel keeps:
 *   - it can be moved with memcpy: no pointer into itself, data aligned to 8;
 *   - it is constant while it runs, so many threads may run one kernel: addresses of array data arrive in the
 *     call, temporary memory is an offset into frame->scratch that was reserved while the kernel was built;
 *   - memory handed out by the builder is zero, and a half-built kernel can always be destroyed;
 *   - it returns a status; no exception crosses this boundary.
 * Structures that may grow begin with `size` and `version`; new fields go at the end only. */
#ifndef DYND_ABI_KERNEL_H
#define DYND_ABI_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DYND_ABI_VERSION 1

/* What a kernel returns: zero, or one of these. A predicate returns 0 or 1, or one of these. */
enum dynd_status {
  dynd_ok = 0,
  dynd_error_type = -1,
  dynd_error_value = -2,
  dynd_error_index = -3,
  dynd_error_broadcast = -4,
  dynd_error_overflow = -5,
  dynd_error_memory = -6,
  dynd_error_internal = -7,
  dynd_error_cancelled = -8
};

typedef struct ckernel_prefix ckernel_prefix;
struct ckernel_prefix {
  void *function;                           /* one of the prototypes below, by the request it was built for */
  void (*destructor)(ckernel_prefix *self); /* NULL when there is nothing to release; destroys the children too */
};

/* What a running thread lends to a kernel. The caller owns everything in it. */
typedef struct dynd_frame dynd_frame;
struct dynd_frame {
  uint32_t size, version;
  char *scratch;                                /* 64-byte aligned; kernels hold offsets into it */
  void *(*temp)(dynd_frame *self, size_t size); /* for sizes known only at run time; released after the piece of
                                                   work; NULL when there is no memory */
  const int *cancel;                            /* polled once a block; not zero: return dynd_error_cancelled */
  int32_t kind;                                 /* the status of the error in `text`, zero when there is none */
  char text[256];                               /* the error, zero-terminated */
  void *engine;                                 /* the engine's own; not for kernels */
};

/* The engine's own levels: every stream of every operand, the destination's first. */
typedef int (*streams_single_t)(char *const *stream, const ckernel_prefix *self, dynd_frame *frame);
typedef int (*streams_strided_t)(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                                 dynd_frame *frame);
typedef streams_single_t streams_predicate_t; /* no destination; returns 0 or 1 */

/* What authors of leaves write, for operands of one stream each. */
typedef int (*unary_single_operation_t)(char *dst, const char *src, const ckernel_prefix *self, dynd_frame *frame);
typedef int (*unary_strided_operation_t)(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride,
                                         size_t count, const ckernel_prefix *self, dynd_frame *frame);
typedef int (*expr_single_operation_t)(char *dst, const char *const *src, const ckernel_prefix *self,
                                       dynd_frame *frame);
typedef int (*expr_strided_operation_t)(char *dst, intptr_t dst_stride, const char *const *src,
                                        const intptr_t *src_stride, size_t count, const ckernel_prefix *self,
                                        dynd_frame *frame);
typedef int (*binary_single_predicate_t)(const char *left, const char *right, const ckernel_prefix *self,
                                         dynd_frame *frame);
/* Several outputs: `data` has the outputs first, then the inputs. */
typedef int (*multi_single_operation_t)(char *const *data, const ckernel_prefix *self, dynd_frame *frame);
typedef int (*multi_strided_operation_t)(char *const *data, const intptr_t *stride, size_t count,
                                         const ckernel_prefix *self, dynd_frame *frame);

typedef enum kernel_request_t {
  kernel_request_single = 0,             /* a *_single_* function */
  kernel_request_strided = 1,            /* a *_strided_* function */
  kernel_request_single_multistride = 2, /* the same two, for factories of assignment only: strided dimensions */
  kernel_request_strided_multistride = 3 /* add up their sizes and strides, which are then planned together */
} kernel_request_t;

/* The memory in which a kernel is built. C code uses the inline functions below; C++ has dynd::ckernel_builder.
 * Growing may move the block: fetch pointers again after every call that can grow it. */
typedef struct ckernel_builder_struct ckernel_builder_struct;
struct ckernel_builder_struct {
  uint32_t size, version;
  char *data;                                                 /* the kernel's block; the root kernel is at offset 0 */
  size_t capacity;                                            /* bytes of `data` that are zeroed or in use */
  size_t scratch_size;                                        /* bytes of frame->scratch that the kernel needs */
  int (*grow)(ckernel_builder_struct *self, size_t capacity); /* dynd_ok or dynd_error_memory */
};

/* Makes room up to `requested` bytes and, behind them, for the prefix of a child. */
static inline int ckernel_builder_ensure_capacity(ckernel_builder_struct *self, size_t requested) {
  size_t needed = requested + sizeof(ckernel_prefix);
  return needed <= self->capacity ? dynd_ok : self->grow(self, needed);
}

/* Makes room up to `requested` bytes, for a kernel without a child. */
static inline int ckernel_builder_ensure_capacity_leaf(ckernel_builder_struct *self, size_t requested) {
  return requested <= self->capacity ? dynd_ok : self->grow(self, requested);
}

/* Reserves scratch; the result is an offset into frame->scratch, a multiple of 64. */
static inline size_t ckernel_builder_reserve_scratch(ckernel_builder_struct *self, size_t bytes) {
  size_t offset = self->scratch_size;
  self->scratch_size += (bytes + 63) / 64 * 64;
  return offset;
}

#ifdef __cplusplus
}
#endif

#endif /* DYND_ABI_KERNEL_H */

/* The kernel ABI: what a compiled kernel looks like in memory and how it is called.
 *
 * Plain C11 (and C++11). Includes no other header of the library and links against nothing: what there is to call is
 * inline. A kernel is one block of memory: a prefix, its own data, the prefix of its child, the child's data, and so
 * on. Rules that every kernel keeps:
 *   - it can be moved with memcpy: no pointer into itself, data aligned to 8;
 *   - it is constant while it runs, so many threads may run one kernel: addresses of array data arrive in the
 *     call, temporary memory is an offset into frame->scratch that was reserved while the kernel was built;
 *   - memory handed out by the builder is zero, and a half-built kernel can always be destroyed;
 *   - it returns a status; no exception crosses this boundary.
 * Which structures may grow: those that begin with `size` and `version` (the frame, the builder; in callable.h and
 * plugin.h the bind structure, the deferred kernel, the table for plug-ins), by new fields at the end. Code that reads
 * a field that was added later looks at `size` first. The prefix of a kernel never grows. */
#ifndef DYND_ABI_KERNEL_H
#define DYND_ABI_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
#ifdef __cplusplus
  template <class F> void set_function(F f) { function = reinterpret_cast<void *>(f); }
  template <class F> F get_function() const { return reinterpret_cast<F>(function); }
#endif
};

/* What a running thread lends to a kernel. The caller owns everything in it. */
typedef struct dynd_frame dynd_frame;
struct dynd_frame {
  uint32_t size, version;
  char *scratch;                                /* 64-byte aligned; kernels hold offsets into it */
  void *(*temp)(dynd_frame *self, size_t size); /* for sizes known only at run time; released after the piece of
                                                   work; NULL when there is no memory */
  const int *cancel;                            /* not zero: return dynd_error_cancelled. Look once for each call */
  int32_t kind;                                 /* the status of the error in `text`, zero when there is none */
  char text[256];                               /* the error, zero-terminated */
  void *engine;                                 /* the library's own: NULL in a frame that user code made */
  void *temps;                                  /* what `temp` has handed out, a list; not for kernels */
};

/* The engine's own levels: every stream of every operand, the destination's first. */
typedef int (*streams_strided_t)(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                                 dynd_frame *frame);

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
/* The answers go to dst, a byte each, 0 or 1; the result is a status. */
typedef int (*binary_strided_predicate_t)(char *dst, intptr_t dst_stride, const char *left, intptr_t left_stride,
                                          const char *right, intptr_t right_stride, size_t count,
                                          const ckernel_prefix *self, dynd_frame *frame);
/* Several outputs: `data` has the outputs first, then the inputs. */
typedef int (*multi_single_operation_t)(char *const *data, const ckernel_prefix *self, dynd_frame *frame);
typedef int (*multi_strided_operation_t)(char *const *data, const intptr_t *stride, size_t count,
                                         const ckernel_prefix *self, dynd_frame *frame);

/* What a factory is asked for. The multistride forms are for assignment factories only: the strided dimensions do not
 * become a level each, but are planned together (reordered, coalesced, tiled). The library's own factory makes
 * functions for strided calls; it refuses the single forms. Deferred kernels never see the multistride forms. */
typedef enum kernel_request_t {
  kernel_request_single = 0,             /* a *_single_* function */
  kernel_request_strided = 1,            /* a *_strided_* function */
  kernel_request_single_multistride = 2, /* a *_single_* function, its strided dimensions planned together */
  kernel_request_strided_multistride = 3 /* a *_strided_* function, the same */
} kernel_request_t;

/* ---- the builder ------------------------------------------------------------------------------------------------- */

/* The memory in which a kernel is built. It owns the block and the kernel in it; factories get it to write into, and
 * own nothing of it. The prefix of the root is always there, zero, so that a leaf without data needs no room of its
 * own. Growing may move the block: fetch pointers again after every call that can grow it. Not to be copied or moved
 * itself. C code makes one with ckernel_builder_construct; C++ has dynd::ckernel_builder, which starts on the stack. */
typedef struct ckernel_builder_struct ckernel_builder_struct;
struct ckernel_builder_struct {
  uint32_t size, version;
  char *data;          /* the kernel's block; the root kernel is at offset 0 */
  size_t capacity;     /* bytes of `data` that are zeroed or in use */
  size_t scratch_size; /* bytes of frame->scratch that the kernel needs */
  /* Makes `capacity` at least that; what is added is zero. dynd_ok, or dynd_error_memory: then nothing has changed. */
  int (*grow)(ckernel_builder_struct *self, size_t capacity);
};

/* Makes room up to `requested` bytes and, behind them, for the prefix of a child. */
static inline int ckernel_builder_ensure_capacity(ckernel_builder_struct *self, size_t requested) {
  size_t needed = requested + sizeof(ckernel_prefix);
  return needed <= self->capacity ? (int)dynd_ok : self->grow(self, needed);
}

/* Makes room up to `requested` bytes, for a kernel without a child. */
static inline int ckernel_builder_ensure_capacity_leaf(ckernel_builder_struct *self, size_t requested) {
  return requested <= self->capacity ? (int)dynd_ok : self->grow(self, requested);
}

/* Reserves scratch; the result is an offset into frame->scratch, a multiple of 64. */
static inline size_t ckernel_builder_reserve_scratch(ckernel_builder_struct *self, size_t bytes) {
  size_t offset = self->scratch_size;
  self->scratch_size += (bytes + 63) / 64 * 64;
  return offset;
}

/* The `grow` of a builder made by ckernel_builder_construct: half as much again, at least what is asked for. */
static inline int ckernel_builder_grow_on_heap(ckernel_builder_struct *self, size_t requested) {
  size_t larger = self->capacity + self->capacity / 2;
  char *moved;
  if (requested <= self->capacity)
    return dynd_ok;
  if (larger < requested)
    larger = requested;
  moved = (char *)realloc(self->data, larger);
  if (!moved)
    return dynd_error_memory;
  memset(moved + self->capacity, 0, larger - self->capacity);
  self->data = moved;
  self->capacity = larger;
  return dynd_ok;
}

/* A builder on the heap. dynd_ok, or dynd_error_memory: then there is nothing to build in, and to destruct it does
 * nothing. */
static inline int ckernel_builder_construct(ckernel_builder_struct *self) {
  self->size = (uint32_t)sizeof(*self);
  self->version = DYND_ABI_VERSION;
  self->data = NULL;
  self->capacity = 0;
  self->scratch_size = 0;
  self->grow = ckernel_builder_grow_on_heap;
  return self->grow(self, 128);
}

/* Destroys the kernel, also a half-built one. The builder is as new, and keeps its memory. */
static inline void ckernel_builder_reset(ckernel_builder_struct *self) {
  ckernel_prefix *root = (ckernel_prefix *)(void *)self->data;
  if (root && root->destructor)
    root->destructor(root);
  if (root)
    memset(self->data, 0, self->capacity);
  self->scratch_size = 0;
}

/* Destroys the kernel and gives the memory back. Only for builders made by ckernel_builder_construct; a second time
 * does nothing. */
static inline void ckernel_builder_destruct(ckernel_builder_struct *self) {
  ckernel_builder_reset(self);
  free(self->data);
  self->data = NULL;
  self->capacity = 0;
}

/* ---- a frame, for code that calls kernels itself ----------------------------------------------------------------- */

/* The `temp` of a frame made by dynd_frame_construct: 64-byte aligned, kept in the list `temps`. */
static inline void *dynd_frame_temp_on_heap(dynd_frame *self, size_t bytes) {
  const size_t room = sizeof(void *) + 63; /* the link to the next block, and what aligning may cost */
  char *block = bytes <= SIZE_MAX - room ? (char *)malloc(room + bytes) : NULL;
  if (!block)
    return NULL;
  memcpy(block, &self->temps, sizeof(void *));
  self->temps = block;
  block += sizeof(void *);
  return block + (64 - (uintptr_t)block % 64) % 64;
}

/* A frame with the scratch that the kernel in `kernel` needs; for one thread at a time. It refers to nothing of the
 * kernel afterwards. dynd_ok, or dynd_error_memory. */
static inline int dynd_frame_construct(dynd_frame *self, const ckernel_builder_struct *kernel) {
  memset(self, 0, sizeof(*self));
  self->size = (uint32_t)sizeof(*self);
  self->version = DYND_ABI_VERSION;
  self->temp = dynd_frame_temp_on_heap;
  self->scratch = (char *)self->temp(self, kernel->scratch_size);
  return self->scratch ? dynd_ok : dynd_error_memory;
}

/* Gives back the scratch and all that kernels asked for by `temp`. Only for frames made by dynd_frame_construct. */
static inline void dynd_frame_destruct(dynd_frame *self) {
  while (self->temps) {
    void *block = self->temps;
    memcpy(&self->temps, block, sizeof(void *));
    free(block);
  }
  self->scratch = NULL;
}

#endif /* DYND_ABI_KERNEL_H */

/* Deferred kernels: a function that can be turned into a kernel for any operands it accepts, again and again.
 *
 * An external C function becomes one by filling in the struct, a C++ function by nd::make_kernel. Its signature is a
 * pattern (docs/datashape.md): dimensions in it are core dimensions, which the kernel walks itself; all dimensions
 * outside of them are the library's. (The library's own operations are entries of a table, not deferred kernels.)
 * Plain C11. */
#ifndef DYND_ABI_CALLABLE_H
#define DYND_ABI_CALLABLE_H

#include "dynd/abi/kernel.h"

/* For what runs once for each outer element: a call would cost as much as what it does. */
#if defined(__GNUC__)
#define DYND_INLINE static inline __attribute__((always_inline))
#else
#define DYND_INLINE static inline
#endif

/* Which prototypes the kernels have that a deferred kernel makes. */
enum deferred_ckernel_prototype {
  unary_operation_funcproto_id = 0,  /* unary_single_operation_t, unary_strided_operation_t */
  expr_operation_funcproto_id = 1,   /* expr_single_operation_t, expr_strided_operation_t */
  binary_predicate_funcproto_id = 2, /* binary_single_predicate_t, binary_strided_predicate_t */
  multi_operation_funcproto_id = 3,  /* multi_single_operation_t, multi_strided_operation_t */
  core_operation_funcproto_id = 4,   /* core_operation_t: core dimensions, and operands that are read and written */
  reduction_funcproto_id = 5         /* no kernel: data_ptr is a dynd_reduction, instantiate is NULL */
};

/* What the engine may do with it, and what it must do. No flag is a promise the author has not made; a kernel with a
 * flag that the library does not know is refused, because it could not be honoured. */
enum deferred_ckernel_flags {
  dynd_callable_pure = 1,        /* the result depends on the arguments only */
  dynd_callable_total = 2,       /* cannot fail on any value */
  dynd_callable_harmless = 4,    /* may be called on garbage values whose results are thrown away */
  dynd_callable_may_alias = 8,   /* the destination may be one of the sources */
  dynd_callable_one_thread = 16, /* must be called on the calling thread only */
  /* Is made, called and destroyed holding Python's lock, on the calling thread. Not so retain and release: they may be
   * called on any thread, with the lock or without. */
  dynd_callable_python_lock = 32,
  /* Operands that are not scalars must be contiguous in this order; at most one of the two. Scalars have no order. */
  dynd_callable_c_layout = 64,
  dynd_callable_f_layout = 128,
  dynd_callable_strided_predicate = 256, /* a predicate that can be instantiated strided too, not only single */
  dynd_callable_f_results = 512 /* results of several core dimensions are made in F order where they are not ragged */
};

/* What a conversion checks, each all that those before it do. A value that does not pass is an error. */
enum assign_error_mode {
  assign_error_nocheck = 0,
  assign_error_overflow = 1,   /* the value is in the range of the destination */
  assign_error_fractional = 2, /* no fraction is lost; what is meant where nothing is said */
  assign_error_inexact = 3     /* converted back it is the same */
};

/* What a stream of slots holds: where rows, or the bytes of strings, are in their content. */
enum dynd_slot_kind {
  dynd_slots_none = 0,      /* the stream holds something else */
  dynd_slots_offsets64 = 1, /* int64: the start of this row; the next slot is its end */
  dynd_slots_pairs64 = 2,   /* int64 start, int64 size; start -1 and size 0: the row has no memory yet */
  dynd_slots_offsets32 = 3  /* int32: the start of this row; the next slot is its end */
};

/* The layout of an operand: sizes and strides, no addresses. Dimensions and streams are numbered by walking its type
 * from the outside in, those inside of the elements (fields, what pointers point to) included. */
typedef struct dynd_arrmeta {
  uint32_t size, version;
  uint32_t ndim, nstreams;
  const intptr_t *dim_size; /* ndim sizes; -1 for a `var` dimension and for the content of a pointer */
  const intptr_t *stride;   /* nstreams rows of ndim */
  const uint32_t *kind;     /* nstreams of dynd_slot_kind */
  const int32_t *step;      /* nstreams: of slots, the starts count elements of 1 / step of the strides below; else 1 */
} dynd_arrmeta;

/* A keyword of the call. It has a value always: the one that was given, or its default. */
typedef struct dynd_keyword {
  const char *name;
  const char *type;  /* datashape text, as in the signature */
  const void *value; /* a number of that type; of a string the text, zero-terminated; of ?T NULL where it is missing */
} dynd_keyword;

/* One call of a kernel with core dimensions: `count` outer elements, each with a core block in every operand. A struct
 * is in memory as in C, and a ?T as struct { uint8_t is_there; T value; }. A core block begins at dynd_core_data(call,
 * operand, i); the strides inside of it are in bind->arrmeta, the same for all. The sizes are dynd_core_size(call, s,
 * i): those of the variables in the order in which the signature first names them (a `var` is a size of its own each
 * time). The caller owns all of it, for the time of the call. */
typedef struct dynd_core_call {
  uint32_t size, version;
  size_t count;
  char *const *data;         /* of each operand: destinations, then sources in the order of the signature */
  const intptr_t *stride;    /* of each operand: bytes from one outer element to the next */
  const int64_t *const *row; /* of each operand: NULL; or where the rows are, in bytes from data, instead of a stride */
  const int64_t *const *dim; /* of each size: dim[s][i * dim_step[s]] */
  const intptr_t *dim_step;  /* 0: the same for all; or 1 */
  /* Of each `var` destination, in their order: the kernel writes how many elements it has made, for each outer element;
   * at most what the kernel's `output_bound` said. Where it has none, dynd_core_make does it. */
  int64_t *const *made;
  /* Added later: there if `size` says so. A kernel that fails may write here which outer element it was. */
  size_t *failed;
  /* Added later: there if `size` says so. See dynd_core_make. */
  char *(*make)(const struct dynd_core_call *call, int destination, size_t i, int64_t count);
  void *engine; /* the caller's own */
} dynd_core_call;

static inline void dynd_core_failed(const dynd_core_call *call, size_t i) {
  if (call->size >= offsetof(dynd_core_call, make))
    *call->failed = i;
}

/* Of a kernel without `output_bound`: zeroed memory for the `count` elements that it makes in a `var` destination for
 * outer element i, without gaps and in C order, or NULL where there is none. */
static inline char *dynd_core_make(const dynd_core_call *call, int destination, size_t i, int64_t count) {
  return call->size >= sizeof(dynd_core_call) ? call->make(call, destination, i, count) : NULL;
}

DYND_INLINE char *dynd_core_data(const dynd_core_call *call, int operand, size_t i) {
  return call->data[operand] +
         (call->row[operand] ? (intptr_t)call->row[operand][i] : (intptr_t)i * call->stride[operand]);
}
DYND_INLINE intptr_t dynd_core_size(const dynd_core_call *call, int size, size_t i) {
  return (intptr_t)call->dim[size][(intptr_t)i * call->dim_step[size]];
}

typedef int (*core_operation_t)(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame);

/* A reduction of rows, "(N * float64) -> float64" or of several rows side by side, in four functions over a state of
 * the author's own: `state_size` bytes, aligned to 64. A row longer than dynd_reduction_piece elements is accumulated
 * in pieces of that size, each with a state of its own, which are combined from the first to the last. Functions give
 * dynd_ok or a negative dynd_status, and may be called on several threads at once, for different states. */
enum { dynd_reduction_piece = 65536 };
typedef struct dynd_reduction {
  uint32_t size, version;
  size_t state_size;
  void (*initialise)(void *state);
  /* The next `count` elements of every operand: element i of operand s is at values[s] + i * stride[s]. count may be 0
   */
  int (*accumulate)(void *state, const char *const *values, const intptr_t *stride, size_t count, dynd_frame *frame);
  /* Adds what `later` has, whose elements come right after those of `state`. NULL: rows are not cut */
  int (*combine)(void *state, const void *later, dynd_frame *frame);
  int (*finish)(void *state, char *dst, dynd_frame *frame);
} dynd_reduction;

/* What a deferred kernel is instantiated for. Operands: destinations first, then sources. The caller owns all of it,
 * until instantiate returns; a kernel copies what it needs. */
typedef struct dynd_bind {
  uint32_t size, version;
  kernel_request_t request;
  uint32_t noperands;
  const char *const *type; /* the concrete types, as datashape text */
  /* NULL for an operand without core dimensions; else the sizes and strides of these, -1 where sizes come with the
   * call. A stride is 0 where it differs too: in F order, where the first size does. */
  const dynd_arrmeta *const *arrmeta;
  char *error; /* where to write the reason of a failure, at most error_size bytes */
  size_t error_size;
  /* Added later: there if `size` says so. */
  uint32_t error_mode; /* assign_error_mode, for kernels that convert */
  uint32_t nkeywords;
  const dynd_keyword *keyword; /* in the order of the signature */
} dynd_bind;

/* The value of a keyword, or NULL where there is none of that name, or where it is missing. */
static inline const void *dynd_bind_keyword(const dynd_bind *bind, const char *name) {
  uint32_t i, n = bind->size >= sizeof(dynd_bind) ? bind->nkeywords : 0;
  for (i = 0; i < n; i++)
    if (strcmp(bind->keyword[i].name, name) == 0)
      return bind->keyword[i].value;
  return NULL;
}

/* The author owns the struct and all it points to, which must not change while it is retained (or, without `retain`, as
 * long as it is in use). Texts are UTF-8. */
typedef struct deferred_ckernel deferred_ckernel;
struct deferred_ckernel {
  uint32_t size, version;
  uint32_t prototype;    /* deferred_ckernel_prototype */
  uint32_t flags;        /* deferred_ckernel_flags */
  const char *name;      /* for messages; to be registered, an identifier that begins with a letter */
  const char *signature; /* datashape text: "(int32) -> int32", "(N * T, N * T) -> T" */
  const char *doc;       /* may be NULL */
  void *data_ptr;        /* the author's own */
  /* Puts a kernel at `offset` of `out` and returns the offset just past it, or a negative dynd_status.
   * Re-entrant: it may run on several threads at once. */
  intptr_t (*instantiate)(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                          const dynd_bind *bind);
  /* Counted ownership; both may be NULL for a static one. A kernel that is made from it keeps it alive. */
  void (*retain)(const deferred_ckernel *self);
  void (*release)(const deferred_ckernel *self);
  /* Of the core prototype, where a destination is `var * T`: the most elements that the kernel will make there for an
   * outer element with these sizes, or a negative dynd_status. `destination` counts the destinations. NULL: the kernel
   * asks for memory when it knows how much (dynd_core_make). */
  int64_t (*output_bound)(const deferred_ckernel *self, const dynd_bind *bind, const int64_t *sizes, int destination);
  /* Added later: there if `size` says so. Of the core prototype, where destinations have dimension variables that no
   * source has: a kernel of the core prototype too, with the same sources and an int64 for each of these variables, in
   * the order in which the signature names them. It is called first; where a size differs between outer elements, the
   * result is ragged. Else NULL. */
  const deferred_ckernel *output_sizes;
};

/* The size of the struct before `output_sizes` was added. */
#define DYND_DEFERRED_CKERNEL_FIRST_SIZE offsetof(deferred_ckernel, output_sizes)

static inline const deferred_ckernel *dynd_output_sizes(const deferred_ckernel *kernel) {
  return kernel->size >= sizeof(deferred_ckernel) ? kernel->output_sizes : NULL;
}

#endif /* DYND_ABI_CALLABLE_H */

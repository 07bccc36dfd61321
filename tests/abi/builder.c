/* The builder and the frame that the headers alone give to C: growth is zero-filled and keeps what was built,
 * half-built kernels are destroyed, and every allocation that fails is reported and leaks nothing.
 *
 * Built by the C compiler from this file only, as C11 and as C++, and run (tools/check_abi.sh). */
#include <stdio.h>
#include <stdlib.h>

/* The header's allocations come here: they are counted, and one of them fails. */
static int live = 0, until_failure = -1;

static int fails_now(void) { return until_failure >= 0 && until_failure-- == 0; }
static void *counted_malloc(size_t size) {
  void *memory = fails_now() ? NULL : malloc(size);
  live += memory != NULL;
  return memory;
}
static void *counted_realloc(void *old, size_t size) {
  void *memory = fails_now() ? NULL : realloc(old, size);
  live += memory != NULL && old == NULL;
  return memory;
}
static void counted_free(void *memory) {
  live -= memory != NULL;
  free(memory);
}
#define malloc counted_malloc
#define realloc counted_realloc
#define free counted_free
#include "dynd/abi/callable.h"

static int failures = 0;
#define CHECK(condition)                                                                                               \
  ((condition) ? (void)0 : (void)(failures++, printf("builder.c:%d: not so: %s\n", __LINE__, #condition)))

/* A kernel that counts how many of it live, owns memory, uses scratch and temp, and has as many children as `depth`
 * says, one below another. */
typedef struct {
  ckernel_prefix base;
  void *memory;
  size_t scratch;
  char padding[200]; /* so that the builder has to grow */
} nested_kernel;

static int kernels = 0;

static void destroy_nested(ckernel_prefix *self) {
  ckernel_prefix *child = (ckernel_prefix *)((nested_kernel *)self + 1);
  if (child->destructor)
    child->destructor(child);
  free(((nested_kernel *)self)->memory);
  kernels--;
}

/* The sum of the scratch's bytes below and its own; every level fills its scratch first. */
static int run_nested(char *dst, const char *src, const ckernel_prefix *self, dynd_frame *frame) {
  const nested_kernel *k = (const nested_kernel *)self;
  const ckernel_prefix *child = (const ckernel_prefix *)(k + 1);
  char *temp = (char *)frame->temp(frame, 1000);
  int status = dynd_ok;
  if (!temp)
    return dynd_error_memory;
  CHECK((uintptr_t)temp % 64 == 0 && (uintptr_t)(frame->scratch + k->scratch) % 64 == 0);
  memset(temp, *src, 1000);
  memset(frame->scratch + k->scratch, *src, 100);
  if (child->function)
    status = ((unary_single_operation_t)child->function)(dst, src, child, frame);
  *dst = (char)(*dst + temp[999] + frame->scratch[k->scratch + 99]);
  return status;
}

static intptr_t make_nested(ckernel_builder_struct *out, intptr_t offset, int depth) {
  intptr_t end = offset + (intptr_t)sizeof(nested_kernel);
  nested_kernel *k;
  size_t i;
  if (ckernel_builder_ensure_capacity(out, (size_t)end) != dynd_ok)
    return dynd_error_memory;
  k = (nested_kernel *)(out->data + offset);
  for (i = 0; i < sizeof(nested_kernel) + sizeof(ckernel_prefix); i++)
    CHECK(out->data[offset + (intptr_t)i] == 0);
  k->base.function = (void *)run_nested;
  k->base.destructor = destroy_nested; /* before anything is owned */
  kernels++;
  k->scratch = ckernel_builder_reserve_scratch(out, 100);
  k->memory = malloc(10);
  if (!k->memory)
    return dynd_error_memory;
  return depth > 1 ? make_nested(out, end, depth - 1) : end + (intptr_t)sizeof(ckernel_prefix);
}

/* Builds, runs and destroys; a failure anywhere is what is returned. */
static int build_and_run(int depth) {
  ckernel_builder_struct builder;
  dynd_frame frame;
  char result = 0, seven = 7;
  intptr_t made = ckernel_builder_construct(&builder);
  int status = (int)made;
  if (made == dynd_ok) {
    made = make_nested(&builder, 0, depth);
    status = made < 0 ? (int)made : (int)dynd_ok;
  }
  if (status == dynd_ok) {
    const ckernel_prefix *root = (const ckernel_prefix *)builder.data;
    CHECK(made == (intptr_t)(sizeof(nested_kernel) * (size_t)depth + sizeof(ckernel_prefix)));
    CHECK(builder.scratch_size == 128 * (size_t)depth);
    status = dynd_frame_construct(&frame, &builder);
    if (status == dynd_ok)
      status = ((unary_single_operation_t)root->function)(&result, &seven, root, &frame);
    CHECK(status != dynd_ok || result == (char)(14 * depth));
    dynd_frame_destruct(&frame);
  }
  ckernel_builder_destruct(&builder);
  ckernel_builder_destruct(&builder);
  return status;
}

static void grows_zero_filled(void) {
  ckernel_builder_struct builder;
  size_t i, before;
  CHECK(ckernel_builder_construct(&builder) == dynd_ok);
  CHECK(builder.size == sizeof(builder) && builder.version == DYND_ABI_VERSION);
  CHECK(builder.capacity >= sizeof(ckernel_prefix) && builder.scratch_size == 0);
  for (i = 0; i < builder.capacity; i++)
    CHECK(builder.data[i] == 0);
  before = builder.capacity;
  for (i = sizeof(ckernel_prefix); i < before; i++)
    builder.data[i] = 1;
  CHECK(ckernel_builder_ensure_capacity_leaf(&builder, before) == dynd_ok && builder.capacity == before);
  CHECK(ckernel_builder_ensure_capacity(&builder, before) == dynd_ok && builder.capacity > before);
  for (i = sizeof(ckernel_prefix); i < builder.capacity; i++)
    CHECK(builder.data[i] == (i < before));
  before = builder.capacity;
  until_failure = 0;
  CHECK(ckernel_builder_ensure_capacity_leaf(&builder, before + 1) == dynd_error_memory);
  CHECK(builder.capacity == before && builder.data[sizeof(ckernel_prefix)] == 1);
  CHECK(ckernel_builder_ensure_capacity_leaf(&builder, 10 * before) == dynd_ok && builder.capacity >= 10 * before);
  CHECK(builder.data[before - 1] == 0 && builder.data[sizeof(ckernel_prefix)] == 1);
  ckernel_builder_destruct(&builder);
}

static void is_as_new_after_a_reset(void) {
  ckernel_builder_struct builder;
  int round;
  CHECK(ckernel_builder_construct(&builder) == dynd_ok);
  for (round = 0; round < 3; round++) {
    CHECK(make_nested(&builder, 0, 4) > 0 && kernels == 4);
    ckernel_builder_reset(&builder);
    CHECK(kernels == 0 && builder.scratch_size == 0);
  }
  ckernel_builder_destruct(&builder);
}

static void refuses_what_is_too_large(void) {
  ckernel_builder_struct builder;
  dynd_frame frame;
  CHECK(ckernel_builder_construct(&builder) == dynd_ok);
  CHECK(dynd_frame_construct(&frame, &builder) == dynd_ok);
  CHECK(frame.temp(&frame, SIZE_MAX) == NULL && frame.temp(&frame, SIZE_MAX - 70) == NULL);
  CHECK(frame.temp(&frame, 0) != NULL);
  dynd_frame_destruct(&frame);
  ckernel_builder_destruct(&builder);
}

int main(void) {
  int n, status = dynd_error_memory;
  grows_zero_filled();
  is_as_new_after_a_reset();
  refuses_what_is_too_large();
  CHECK(build_and_run(1) == dynd_ok && build_and_run(9) == dynd_ok);
  for (n = 0; status != dynd_ok && n < 100; n++) {
    until_failure = n;
    status = build_and_run(5);
    CHECK(status == dynd_ok || status == dynd_error_memory);
    CHECK(live == 0 && kernels == 0);
  }
  CHECK(n > 15); /* so many allocations there are: builder, 5 kernels, growth, scratch, 5 temps */
  until_failure = -1;
  CHECK(live == 0 && kernels == 0);
  return failures != 0;
}

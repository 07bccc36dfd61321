/* Kernels on scalars in three lines: the loop, the factory and the signature are written by the macros. Plain C11.
 *
 *   #include "dynd/abi/macros.h"
 *   DYND_KERNEL_2(hypotenuse, double, double, double, sqrt(a * a + b * b))
 *   DYND_PLUGIN(hypotenuse)
 *
 * DYND_KERNEL_n(name, result type, types of the n operands, expression over a, b, c, d). The types are C's bool,
 * integer, floating and complex types. The kernel is pure, total and harmless: the expression depends on the operands
 * only, and can be computed for any values of them, as no integer is divided by zero. It is computed for missing values
 * too, and the results are thrown away. DYND_PLUGIN(name, ...) registers up to eight of them. */
#ifndef DYND_ABI_MACROS_H
#define DYND_ABI_MACROS_H

#include <stdio.h>

#include "dynd/abi/plugin.h"

/* The name of a C type in datashape; integers by their size. */
#define DYND_TYPE_NAME(T)                                                                                              \
  _Generic((T)0, _Bool                                                                                                 \
           : "bool", float                                                                                             \
           : "float32", double                                                                                         \
           : "float64", float _Complex                                                                                 \
           : "complex64", double _Complex                                                                              \
           : "complex128", default                                                                                     \
           : (T)0.5 != (T)0 ? "a type that the library does not have"                                                  \
             : (T)-1 < (T)1 ? (sizeof(T) == 1   ? "int8"                                                               \
                               : sizeof(T) == 2 ? "int16"                                                              \
                               : sizeof(T) == 4 ? "int32"                                                              \
                                                : "int64")                                                             \
                            : (sizeof(T) == 1   ? "uint8"                                                              \
                               : sizeof(T) == 2 ? "uint16"                                                             \
                               : sizeof(T) == 4 ? "uint32"                                                             \
                                                : "uint64"))

/* The loop reads operand i of type T under a name. */
#define DYND_READ(T, x, i) const T x = *(const T *)(src[i] + (intptr_t)dynd_i * stride[i]);

#define DYND_KERNEL_OF(name, R, reads, format, types, expression)                                                      \
  static int name##_dynd_loop(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *stride,          \
                              size_t count, const ckernel_prefix *self, dynd_frame *frame) {                           \
    (void)self, (void)frame;                                                                                           \
    for (size_t dynd_i = 0; dynd_i < count; dynd_i++) {                                                                \
      reads *(R *)(dst + (intptr_t)dynd_i * dst_stride) = (R)(expression);                                             \
    }                                                                                                                  \
    return dynd_ok;                                                                                                    \
  }                                                                                                                    \
  static intptr_t name##_dynd_make(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,         \
                                   const dynd_bind *bind) {                                                            \
    intptr_t end = offset + (intptr_t)sizeof(ckernel_prefix);                                                          \
    (void)self, (void)bind;                                                                                            \
    if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end) != dynd_ok)                                             \
      return dynd_error_memory;                                                                                        \
    ((ckernel_prefix *)(void *)(out->data + offset))->function = (void *)name##_dynd_loop;                             \
    return end;                                                                                                        \
  }                                                                                                                    \
  static int name##_dynd_register(const dynd_host *host) {                                                             \
    static char signature[128];                                                                                        \
    static deferred_ckernel kernel = {sizeof(deferred_ckernel),                                                        \
                                      DYND_ABI_VERSION,                                                                \
                                      expr_operation_funcproto_id,                                                     \
                                      dynd_callable_pure | dynd_callable_total | dynd_callable_harmless,               \
                                      #name,                                                                           \
                                      signature,                                                                       \
                                      #expression,                                                                     \
                                      NULL,                                                                            \
                                      name##_dynd_make,                                                                \
                                      NULL,                                                                            \
                                      NULL,                                                                            \
                                      NULL,                                                                            \
                                      NULL};                                                                           \
    snprintf(signature, sizeof(signature), "(" format ") -> %s", DYND_EXPAND types, DYND_TYPE_NAME(R));                \
    return host->register_kernel(host, &kernel);                                                                       \
  }
#define DYND_EXPAND(...) __VA_ARGS__

#define DYND_KERNEL_1(name, R, A, expression)                                                                          \
  DYND_KERNEL_OF(name, R, DYND_READ(A, a, 0), "%s", (DYND_TYPE_NAME(A)), expression)
#define DYND_KERNEL_2(name, R, A, B, expression)                                                                       \
  DYND_KERNEL_OF(name, R, DYND_READ(A, a, 0) DYND_READ(B, b, 1), "%s, %s", (DYND_TYPE_NAME(A), DYND_TYPE_NAME(B)),     \
                 expression)
#define DYND_KERNEL_3(name, R, A, B, C, expression)                                                                    \
  DYND_KERNEL_OF(name, R, DYND_READ(A, a, 0) DYND_READ(B, b, 1) DYND_READ(C, c, 2), "%s, %s, %s",                      \
                 (DYND_TYPE_NAME(A), DYND_TYPE_NAME(B), DYND_TYPE_NAME(C)), expression)
#define DYND_KERNEL_4(name, R, A, B, C, D, expression)                                                                 \
  DYND_KERNEL_OF(name, R, DYND_READ(A, a, 0) DYND_READ(B, b, 1) DYND_READ(C, c, 2) DYND_READ(D, d, 3),                 \
                 "%s, %s, %s, %s", (DYND_TYPE_NAME(A), DYND_TYPE_NAME(B), DYND_TYPE_NAME(C), DYND_TYPE_NAME(D)),       \
                 expression)

#define DYND_REGISTER(name)                                                                                            \
  if (name##_dynd_register(host) != dynd_ok)                                                                           \
    return dynd_error_value;
#define DYND_REGISTER_1(n) DYND_REGISTER(n)
#define DYND_REGISTER_2(n, ...) DYND_REGISTER(n) DYND_REGISTER_1(__VA_ARGS__)
#define DYND_REGISTER_3(n, ...) DYND_REGISTER(n) DYND_REGISTER_2(__VA_ARGS__)
#define DYND_REGISTER_4(n, ...) DYND_REGISTER(n) DYND_REGISTER_3(__VA_ARGS__)
#define DYND_REGISTER_5(n, ...) DYND_REGISTER(n) DYND_REGISTER_4(__VA_ARGS__)
#define DYND_REGISTER_6(n, ...) DYND_REGISTER(n) DYND_REGISTER_5(__VA_ARGS__)
#define DYND_REGISTER_7(n, ...) DYND_REGISTER(n) DYND_REGISTER_6(__VA_ARGS__)
#define DYND_REGISTER_8(n, ...) DYND_REGISTER(n) DYND_REGISTER_7(__VA_ARGS__)
#define DYND_PICK(_1, _2, _3, _4, _5, _6, _7, _8, chosen, ...) chosen
#define DYND_PLUGIN(...)                                                                                               \
  int dynd_plugin_init(const dynd_host *host) {                                                                        \
    DYND_PICK(__VA_ARGS__, DYND_REGISTER_8, DYND_REGISTER_7, DYND_REGISTER_6, DYND_REGISTER_5, DYND_REGISTER_4,        \
              DYND_REGISTER_3, DYND_REGISTER_2, DYND_REGISTER_1, )                                                     \
    (__VA_ARGS__) return dynd_ok;                                                                                      \
  }

#endif /* DYND_ABI_MACROS_H */

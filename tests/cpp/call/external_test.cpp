// External kernels: made for one element or many, called over strided, ragged and broadcast arrays.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "dynd/kernel/builder.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::failure;
using testing::parse;
using testing::ramp;
using testing::text;
using testing::type_text;

// ---- examples/triple.c, built as C by itself ------------------------------------------------------------------------

const deferred_ckernel &triple() {
  static const auto *found = [] {
    void *library = dlopen(DYND_BUILD_DIR "/examples/triple.so", RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    return static_cast<const deferred_ckernel *>(library ? dlsym(library, "triple_kernel_int32") : nullptr);
  }();
  return *found;
}

nd::array call(const deferred_ckernel &kernel, std::vector<nd::array> operands) { return nd::call(kernel, operands); }

// As in the seeds: a kernel for one element.
int32_t call_single(const deferred_ckernel &kernel, int32_t value) {
  ckernel_builder builder;
  char text[256] = "";
  const char *types[] = {"int32", "int32"};
  const dynd_arrmeta *arrmeta[] = {nullptr, nullptr};
  dynd_bind bind = {sizeof(dynd_bind),
                    DYND_ABI_VERSION,
                    kernel_request_single,
                    2,
                    types,
                    arrmeta,
                    text,
                    sizeof(text),
                    assign_error_fractional,
                    0,
                    nullptr};
  EXPECT_GT(kernel.instantiate(&kernel, &builder, 0, &bind), 0);
  auto function = reinterpret_cast<expr_single_operation_t>(builder.root()->function);
  int32_t result = 0;
  const char *src = reinterpret_cast<const char *>(&value);
  dynd_frame frame = {};
  EXPECT_EQ(function(reinterpret_cast<char *>(&result), &src, builder.root(), &frame), int(dynd_ok));
  return result;
}

// And one for many.
std::vector<int32_t> call_strided(const deferred_ckernel &kernel, std::vector<int32_t> values) {
  ckernel_builder builder;
  char text[256] = "";
  const char *types[] = {"int32", "int32"};
  const dynd_arrmeta *arrmeta[] = {nullptr, nullptr};
  dynd_bind bind = {sizeof(dynd_bind),
                    DYND_ABI_VERSION,
                    kernel_request_strided,
                    2,
                    types,
                    arrmeta,
                    text,
                    sizeof(text),
                    assign_error_fractional,
                    0,
                    nullptr};
  EXPECT_GT(kernel.instantiate(&kernel, &builder, 0, &bind), 0);
  auto function = reinterpret_cast<expr_strided_operation_t>(builder.root()->function);
  std::vector<int32_t> result(values.size());
  const char *src = reinterpret_cast<const char *>(values.data());
  intptr_t stride = sizeof(int32_t);
  dynd_frame frame = {};
  EXPECT_EQ(
      function(reinterpret_cast<char *>(result.data()), stride, &src, &stride, values.size(), builder.root(), &frame),
      int(dynd_ok));
  return result;
}

TEST(ExternalKernel, ForOneElementAndForMany) {
  EXPECT_EQ(call_single(triple(), 12), 36);
  EXPECT_EQ(call_strided(triple(), {12, -5, 3}), (std::vector<int32_t>{36, -15, 9}));
}

TEST(ExternalKernel, TakesAnyOuterDimensions) {
  EXPECT_EQ(text(call(triple(), {nd::array(14)})), "42");
  EXPECT_EQ(text(call(triple(), {nd::array{1, 2, 3}})), "[3, 6, 9]");
  EXPECT_EQ(text(call(triple(), {nd::transposed(ramp("2 * 3 * int32"))})), "[[0, 9], [3, 12], [6, 15]]");
  EXPECT_EQ(text(call(triple(), {parse("3 * var * int32", "[[1, 2], [], [3]]")})), "[[3, 6], [], [9]]");
  EXPECT_EQ(text(call(triple(), {parse("2 * var * var * int32", "[[[1], [2, 3]], [[]]]")})), "[[[3], [6, 9]], [[]]]");
  nd::array many = ramp("1000 * var * int32");
  EXPECT_EQ(bits(call(triple(), {many})), bits(many * 3));
  nd::array strided = ramp("100 * 200 * int32");
  EXPECT_EQ(bits(call(triple(), {nd::transposed(strided)})), bits(nd::transposed(strided) * 3));
}

TEST(ExternalKernel, OperandsAreWidenedNeverNarrowed) {
  EXPECT_EQ(text(call(triple(), {parse("3 * int8", "[1, -2, 3]")})), "[3, -6, 9]");
  EXPECT_EQ(type_text(call(triple(), {ramp("2 * var * uint16")})), "2 * var * int32");
  EXPECT_EQ(failure([] { call(triple(), {nd::array(1.5)}); }),
            "type: triple: operand 0 is float64, which does not convert to int32 without loss");
  EXPECT_EQ(failure([] { call(triple(), {}); }), "type: triple: takes 1 operand, not 0");
}

TEST(ExternalKernel, AbsorbsLazyOperations) {
  nd::array a = ramp("100 * 200 * int32");
  nd::array result = call(triple(), {a + a});
  EXPECT_EQ(bits(result), bits(a * 6));
}

// ---- a factor in the kernel's own data, counted ---------------------------------------------------------------------

struct multiply_data {
  deferred_ckernel kernel;
  int32_t factor;
  mutable int owners = 1;
  mutable int made = 0, destroyed = 0;
};

struct multiply_kernel {
  ckernel_prefix base;
  const multiply_data *data; // a resource: given back by the destructor
  intptr_t factor;
};

int multiply_strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                     const ckernel_prefix *self, dynd_frame *) {
  auto factor = int32_t(reinterpret_cast<const multiply_kernel *>(self)->factor);
  const char *from = src[0];
  for (size_t i = 0; i < count; i++, dst += dst_stride, from += src_stride[0]) {
    int32_t value;
    std::memcpy(&value, from, sizeof(value));
    value *= factor;
    std::memcpy(dst, &value, sizeof(value));
  }
  return dynd_ok;
}

int multiply_single(char *dst, const char *const *src, const ckernel_prefix *self, dynd_frame *frame) {
  intptr_t stride = 0;
  return multiply_strided(dst, 0, src, &stride, 1, self, frame);
}

void destroy_multiply(ckernel_prefix *self) {
  auto *k = reinterpret_cast<multiply_kernel *>(self);
  if (k->data) {
    k->data->destroyed++;
  }
}

intptr_t instantiate_multiply(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                              const dynd_bind *bind) {
  intptr_t end = offset + intptr_t(sizeof(multiply_kernel));
  if (int status = ckernel_builder_ensure_capacity_leaf(out, size_t(end))) {
    return status;
  }
  auto *k = reinterpret_cast<multiply_kernel *>(out->data + offset);
  k->base.function = bind->request == kernel_request_single ? reinterpret_cast<void *>(multiply_single)
                                                            : reinterpret_cast<void *>(multiply_strided);
  k->base.destructor = destroy_multiply;
  k->data = static_cast<const multiply_data *>(self->data_ptr);
  k->factor = k->data->factor;
  k->data->made++;
  return end;
}

struct constant_multiply : multiply_data {
  explicit constant_multiply(int32_t f) {
    factor = f;
    kernel = {sizeof(deferred_ckernel),
              DYND_ABI_VERSION,
              expr_operation_funcproto_id,
              dynd_callable_pure | dynd_callable_total,
              "multiply_by",
              "(int32) -> int32",
              nullptr,
              static_cast<multiply_data *>(this),
              instantiate_multiply,
              [](const deferred_ckernel *self) { static_cast<const multiply_data *>(self->data_ptr)->owners++; },
              [](const deferred_ckernel *self) { static_cast<const multiply_data *>(self->data_ptr)->owners--; },
              nullptr,
              nullptr};
  }
};

TEST(ExternalKernel, TheSeedsConstantMultiply) {
  constant_multiply by13(13);
  EXPECT_EQ(call_single(by13.kernel, 12), 156);
  EXPECT_EQ(call_strided(by13.kernel, {12, -5, 3}), (std::vector<int32_t>{156, -65, 39}));
  EXPECT_EQ(text(call(by13.kernel, {nd::array{12, -5, 3}})), "[156, -65, 39]");
  EXPECT_EQ(text(call(by13.kernel, {parse("2 * var * int32", "[[12], [-5, 3]]")})), "[[156], [-65, 39]]");
  EXPECT_GE(by13.made, 4);
  EXPECT_EQ(by13.destroyed, by13.made) << "every kernel is destroyed";
  EXPECT_EQ(by13.owners, 1) << "and lets go of what it was made from";
}

// ---- other prototypes, and kernels that misbehave -------------------------------------------------------------------

// (int32, int32) -> float64: a / b, an error where b is 0.
int divide_strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                   const ckernel_prefix *, dynd_frame *frame) {
  for (size_t i = 0; i < count; i++) {
    int32_t a, b;
    std::memcpy(&a, src[0] + intptr_t(i) * src_stride[0], sizeof(a));
    std::memcpy(&b, src[1] + intptr_t(i) * src_stride[1], sizeof(b));
    if (b == 0) {
      std::snprintf(frame->text, sizeof(frame->text), "%d has no quotient", a);
      return dynd_error_value;
    }
    double quotient = double(a) / b;
    std::memcpy(dst + intptr_t(i) * dst_stride, &quotient, sizeof(quotient));
  }
  return dynd_ok;
}

int half_strided(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                 const ckernel_prefix *, dynd_frame *) {
  for (size_t i = 0; i < count; i++) {
    double value;
    std::memcpy(&value, src + intptr_t(i) * src_stride, sizeof(value));
    value /= 2;
    std::memcpy(dst + intptr_t(i) * dst_stride, &value, sizeof(value));
  }
  return dynd_ok;
}

deferred_ckernel make(const char *name, const char *signature, uint32_t prototype, void *function) {
  return {
      sizeof(deferred_ckernel),
      DYND_ABI_VERSION,
      prototype,
      0,
      name,
      signature,
      nullptr,
      function,
      [](const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) -> intptr_t {
        intptr_t end = offset + intptr_t(sizeof(ckernel_prefix));
        int status = ckernel_builder_ensure_capacity_leaf(out, size_t(end));
        if (status == dynd_ok) {
          reinterpret_cast<ckernel_prefix *>(out->data + offset)->function = self->data_ptr;
        }
        return status ? status : end;
      },
      nullptr,
      nullptr,
      nullptr,
      nullptr};
}

TEST(ExternalKernel, TwoOperandsBroadcast) {
  deferred_ckernel divide = make("divide", "(int32, int32) -> float64", expr_operation_funcproto_id,
                                 reinterpret_cast<void *>(divide_strided));
  nd::array a = parse("2 * var * int32", "[[1, 2], [3]]"), b = parse("2 * 1 * int8", "[[2], [4]]");
  EXPECT_EQ(text(call(divide, {a, b})), "[[0.5, 1.0], [0.75]]");
  EXPECT_EQ(text(call(divide, {nd::array(6), nd::array{1, 2, 3}})), "[6.0, 3.0, 2.0]");
  EXPECT_EQ(failure([&] {
              call(divide, {a, ramp("3 * 1 * int32")});
            }),
            "broadcast: divide: cannot broadcast (2, var) with (3, 1) at axis 0");
}

TEST(ExternalKernel, AFailureNamesTheFirstBadElement) {
  deferred_ckernel divide = make("divide", "(int32, int32) -> float64", expr_operation_funcproto_id,
                                 reinterpret_cast<void *>(divide_strided));
  nd::array a = parse("2 * 3 * int32", "[[1, 2, 3], [4, 5, 6]]"), b = parse("2 * 3 * int32", "[[1, 1, 1], [1, 0, 0]]");
  EXPECT_EQ(failure([&] { call(divide, {a, b}); }), "value: divide: 5 has no quotient at index (1, 1)");
  EXPECT_EQ(failure([&] {
              call(divide, {nd::transposed(a), nd::transposed(b)});
            }),
            "value: divide: 5 has no quotient at index (1, 1)");
}

TEST(ExternalKernel, TheUnaryPrototype) {
  deferred_ckernel half =
      make("half", "(float64) -> float64", unary_operation_funcproto_id, reinterpret_cast<void *>(half_strided));
  EXPECT_EQ(text(call(half, {parse("2 * var * int32", "[[1, 2], [3]]")})), "[[0.5, 1.0], [1.5]]");
}

TEST(ExternalKernel, WhatCannotBeCalledIsSaid) {
  auto refused = [](deferred_ckernel kernel) { return failure([&] { call(kernel, {nd::array(1)}); }); };
  void *function = reinterpret_cast<void *>(half_strided);
  deferred_ckernel old = make("half", "(float64) -> float64", unary_operation_funcproto_id, function);
  old.version = 99;
  EXPECT_EQ(refused(old), "type: kernel: made for version 99 of the ABI, this library has version 1");
  EXPECT_EQ(refused(make("p", "(int32) -> bool", binary_predicate_funcproto_id, function)),
            "type: p: signature \"(int32) -> bool\" is not that of a binary predicate, (T, T) -> bool");
  EXPECT_EQ(refused(make("p", "int32", unary_operation_funcproto_id, function)),
            "type: p: signature \"int32\" is not of the form (T, ...) -> R");
  EXPECT_EQ(refused(make("p", "(3 * int32) -> int32", unary_operation_funcproto_id, function)),
            "type: p: signature \"(3 * int32) -> int32\" has core dimensions or operands that are written: that takes "
            "the core prototype");
  deferred_ckernel unwilling = make("p", "(int32) -> int32", unary_operation_funcproto_id, function);
  unwilling.instantiate = [](const deferred_ckernel *, ckernel_builder_struct *, intptr_t,
                             const dynd_bind *bind) -> intptr_t {
    std::snprintf(bind->error, bind->error_size, "not on a %s", "Sunday");
    return dynd_error_type;
  };
  EXPECT_EQ(refused(unwilling), "type: p: not on a Sunday");
  unwilling.instantiate = [](const deferred_ckernel *, ckernel_builder_struct *, intptr_t, const dynd_bind *) {
    return intptr_t(-1000);
  };
  EXPECT_EQ(refused(unwilling), "value: p: the kernel could not be instantiated");
}

} // namespace
} // namespace dynd

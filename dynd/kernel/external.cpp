#include "dynd/kernel/external.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dynd/base/errors.h"

namespace dynd {

namespace {

constexpr size_t copied_batch = 128; // elements that are copied at once where an operand is not aligned

struct external_level {
  ckernel_prefix base; // destroys the child and lets go of the deferred kernel
  const deferred_ckernel *deferred;
  streams_strided_t call; // for aligned operands
  uint8_t noutputs, noperands;
  uint8_t size[max_external_operands]; // of an element

  const ckernel_prefix *child() const { return &(this + 1)->base; }
};
static_assert(sizeof(external_level) % 8 == 0);

const external_level *external_of(const ckernel_prefix *self) { return reinterpret_cast<const external_level *>(self); }

void destroy_external_level(ckernel_prefix *self) {
  auto *f = reinterpret_cast<external_level *>(self);
  destroy_child(&(f + 1)->base);
  if (f->deferred && f->deferred->release) {
    f->deferred->release(f->deferred);
  }
}

// ---- from streams to the prototype that the author wrote, a function for each ---------------------------------------

int call_unary(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
               dynd_frame *frame) {
  const ckernel_prefix *child = external_of(self)->child();
  return child->get_function<unary_strided_operation_t>()(stream[0], stride[0], stream[1], stride[1], count, child,
                                                          frame);
}

int call_expr(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
              dynd_frame *frame) {
  const ckernel_prefix *child = external_of(self)->child();
  return child->get_function<expr_strided_operation_t>()(stream[0], stride[0], stream + 1, stride + 1, count, child,
                                                         frame);
}

int call_multi(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
               dynd_frame *frame) {
  const ckernel_prefix *child = external_of(self)->child();
  return child->get_function<multi_strided_operation_t>()(stream, stride, count, child, frame);
}

int call_predicate(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                   dynd_frame *frame) {
  const ckernel_prefix *child = external_of(self)->child();
  auto function = child->get_function<binary_single_predicate_t>();
  for (size_t i = 0; i < count; i++) {
    intptr_t at = intptr_t(i);
    int answer = function(stream[1] + at * stride[1], stream[2] + at * stride[2], child, frame);
    if (answer < 0) {
      return answer;
    }
    stream[0][at * stride[0]] = answer != 0;
  }
  return dynd_ok;
}

int call_strided_predicate(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                           dynd_frame *frame) {
  const ckernel_prefix *child = external_of(self)->child();
  return child->get_function<binary_strided_predicate_t>()(stream[0], stride[0], stream[1], stride[1], stream[2],
                                                           stride[2], count, child, frame);
}

// ---- alignment ------------------------------------------------------------------------------------------------------

bool is_aligned(const external_level *f, int operand, char *const *stream, const intptr_t *stride) {
  unsigned alignment = std::min<unsigned>(f->size[operand], 8); // 16 bytes are a complex number, of components of 8
  return ((reinterpret_cast<uintptr_t>(stream[operand]) | uintptr_t(stride[operand])) & (alignment - 1)) == 0;
}

void copy_elements(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count, size_t size) {
  for (size_t i = 0; i < count; i++) {
    std::memcpy(dst + intptr_t(i) * dst_stride, src + intptr_t(i) * src_stride, size);
  }
}

int call_with_copies(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
  const external_level *f = external_of(self);
  alignas(64) char copies[max_external_operands][copied_batch * max_scalar_size];
  for (size_t done = 0; done < count; done += copied_batch) {
    size_t n = std::min(copied_batch, count - done);
    char *at[max_external_operands];
    intptr_t step[max_external_operands];
    for (int o = 0; o < f->noperands; o++) {
      bool aligned = is_aligned(f, o, stream, stride);
      char *here = stream[o] + intptr_t(done) * stride[o];
      at[o] = aligned ? here : copies[o];
      step[o] = aligned ? stride[o] : f->size[o];
      if (!aligned && o >= f->noutputs) {
        copy_elements(copies[o], f->size[o], here, stride[o], n, f->size[o]);
      }
    }
    if (int status = f->call(at, step, n, self, frame)) {
      return status;
    }
    for (int o = 0; o < f->noutputs; o++) {
      if (at[o] == copies[o]) {
        copy_elements(stream[o] + intptr_t(done) * stride[o], stride[o], copies[o], f->size[o], n, f->size[o]);
      }
    }
  }
  return dynd_ok;
}

int external_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
  const external_level *f = external_of(self);
  bool aligned = true;
  for (int o = 0; o < f->noperands; o++) {
    aligned &= is_aligned(f, o, stream, stride);
  }
  return (aligned ? f->call : call_with_copies)(stream, stride, count, self, frame);
}

// ---- construction ---------------------------------------------------------------------------------------------------

// A predicate may have a function for single elements only.
bool is_single(const deferred_ckernel &kernel) {
  return kernel.prototype == binary_predicate_funcproto_id && !(kernel.flags & dynd_callable_strided_predicate);
}

streams_strided_t call_of(const deferred_ckernel &kernel) {
  switch (kernel.prototype) {
  case unary_operation_funcproto_id:
    return call_unary;
  case expr_operation_funcproto_id:
    return call_expr;
  case binary_predicate_funcproto_id:
    return is_single(kernel) ? call_predicate : call_strided_predicate;
  default:
    return call_multi;
  }
}

} // namespace

external_bind::external_bind(const deferred_ckernel &kernel, const char *const *types,
                             const dynd_arrmeta *const *arrmeta, int noperands, const keyword_values *keywords)
    : kernel_(kernel), text_("the kernel could not be instantiated") {
  for (size_t i = 0; keywords && i < keywords->all.size(); i++) {
    const keyword_values::value &v = keywords->all[i];
    const void *value = v.is_text ? static_cast<const void *>(v.text.c_str()) : v.number;
    keywords_.push_back({v.name.c_str(), v.type.c_str(), v.missing ? nullptr : value});
  }
  bind_ = {sizeof(dynd_bind),
           DYND_ABI_VERSION,
           is_single(kernel) ? kernel_request_single : kernel_request_strided,
           uint32_t(noperands),
           types,
           arrmeta,
           text_,
           sizeof(text_),
           assign_error_fractional,
           uint32_t(keywords_.size()),
           keywords_.data()};
}

size_t external_bind::instantiate(ckernel_builder &out, size_t begin) {
  intptr_t end = kernel_.instantiate(&kernel_, &out, intptr_t(begin), &bind_);
  if (end < 0) {
    text_[sizeof(text_) - 1] = 0;
    fail(kind_of(end), std::string(kernel_.name) + ": " + text_);
  }
  if (size_t(end) < begin + sizeof(ckernel_prefix) || size_t(end) > out.capacity ||
      !out.get_at<ckernel_prefix>(begin)->function) {
    fail(error_kind::internal, std::string(kernel_.name) +
                                   ": instantiate made no kernel (it must set the function and return the offset "
                                   "past the kernel)");
  }
  return size_t(end);
}

size_t make_external(ckernel_builder &out, size_t offset, const external_function &function) {
  const deferred_ckernel &kernel = *function.kernel;
  const external_types &types = function.types;
  size_t begin = offset + sizeof(external_level);
  out.ensure_capacity(begin);
  auto *f = out.get_at<external_level>(offset);
  f->base.function = reinterpret_cast<void *>(external_strided);
  f->call = call_of(kernel);
  f->noutputs = uint8_t(types.noutputs);
  f->noperands = uint8_t(types.noutputs + types.nsources);
  int noperands = f->noperands;
  const char *names[max_external_operands];
  const dynd_arrmeta *arrmeta[max_external_operands] = {};
  for (int o = 0; o < noperands; o++) {
    f->size[o] = scalar_size[size_t(types.type[o])];
    names[o] = scalar_name[size_t(types.type[o])];
  }
  f->base.destructor = destroy_external_level;
  if (kernel.retain) {
    kernel.retain(&kernel);
  }
  f->deferred = &kernel;
  return external_bind(kernel, names, arrmeta, noperands, function.keywords.get()).instantiate(out, begin);
}

} // namespace dynd

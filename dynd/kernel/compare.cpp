#include "dynd/kernel/compare.h"

#include <string>

#include "dynd/base/errors.h"
#include "dynd/kernel/compare_levels.h"
#include "dynd/ops/isa.h"
#include "dynd/ops/operation.h"

namespace dynd {

namespace compare {
namespace {

// ---- predicates -----------------------------------------------------------------------------------------------------

/// Which outcomes make it true.
int true_for(comparison which) {
  switch (which) {
  case comparison::equal:
    return equal;
  case comparison::not_equal:
    return less | greater | unordered;
  case comparison::less_equal:
    return less | equal;
  case comparison::greater:
    return greater;
  case comparison::greater_equal:
    return greater | equal;
  default:
    return less;
  }
}

struct predicate_kernel {
  ckernel_prefix base;
  uint32_t nstreams;
  uint16_t result; // stream; of requests for single elements not used
  uint16_t true_for;
};

int predicate_single(char *const *stream, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const predicate_kernel *>(self);
  return (call_one(&k[1].base, stream, frame) & k->true_for) != 0;
}

int predicate_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                      dynd_frame *frame) {
  auto *k = reinterpret_cast<const predicate_kernel *>(self);
  char *at[max_call_streams];
  std::copy_n(stream, k->nstreams, at);
  for (size_t i = 0; i < count; i++) {
    *at[k->result] = char(predicate_single(at, self, frame));
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s];
    }
  }
  return dynd_ok;
}

int predicate_binary(const char *left, const char *right, const ckernel_prefix *self, dynd_frame *frame) {
  char *stream[2] = {const_cast<char *>(left), const_cast<char *>(right)}; // nothing here is written
  return predicate_single(stream, self, frame);
}

// ---- numbers of one type, in blocks ---------------------------------------------------------------------------------

constexpr size_t block = 512; // elements

struct block_source {
  uint32_t stream, scratch;
};

struct block_kernel {
  ckernel_prefix base;
  block_fn function;
  size_t item;
  block_source left, right, result;
};

/// Where n contiguous elements are: in place, or brought to scratch.
const char *fetch(const block_source &from, size_t item, char *const *stream, const intptr_t *stride, size_t begin,
                  size_t n, dynd_frame *frame) {
  intptr_t step = stride[from.stream];
  const char *at = stream[from.stream] + intptr_t(begin) * step;
  if (step == intptr_t(item)) {
    return at;
  }
  char *to = frame->scratch + from.scratch;
  const fetch_functions &functions = isa().fetch(__builtin_ctzll(item));
  if (step != 0) {
    functions.load_strided(to, at, step, n);
  } else if (begin == 0) { // the later blocks are no longer
    functions.splat(to, at, n);
  }
  return to;
}

int block_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  auto *k = reinterpret_cast<const block_kernel *>(self);
  for (size_t begin = 0; begin < count; begin += block) {
    size_t n = std::min(block, count - begin);
    const char *left = fetch(k->left, k->item, stream, stride, begin, n, frame);
    const char *right = fetch(k->right, k->item, stream, stride, begin, n, frame);
    intptr_t step = stride[k->result.stream];
    char *result = stream[k->result.stream] + intptr_t(begin) * step;
    char *to = step == 1 ? result : frame->scratch + k->result.scratch;
    k->function(to, left, right, nullptr, n, nullptr);
    if (to != result) {
      isa().fetch(0).store_strided(result, step, to, n);
    }
  }
  return dynd_ok;
}

/// The compiled loop, where both are numbers of one type that it compares as `which` does; else null.
block_fn block_function(const kernel_operand &left, const kernel_operand &right, comparison which) {
  static constexpr op_id op_of[] = {op_id::equal,   op_id::not_equal,     op_id::less, op_id::less_equal,
                                    op_id::greater, op_id::greater_equal, op_id::less};
  const type_data *t = left.type();
  bool same = t == right.type() && t->kind == type_kind::scalar;
  bool has_nan = same && which == comparison::order && !is_integer(t->scalar) && t->scalar != scalar_id::bool_;
  return same && !has_nan ? isa().loop(op_of[size_t(which)], t->scalar) : nullptr;
}

size_t build_blocks(ckernel_builder &out, size_t offset, int result, const kernel_operand &left,
                    const kernel_operand &right, block_fn function) {
  constexpr size_t padding = 64; // fetch functions may write so far past the end
  size_t item = scalar_size[size_t(left.type()->scalar)];
  auto scratch = [&](size_t bytes) { return uint32_t(ckernel_builder_reserve_scratch(&out, bytes + padding)); };
  auto *k = begin<block_kernel>(out, offset, sizeof(block_kernel), block_strided);
  k->function = function;
  k->item = item;
  k->left = {uint32_t(left.stream()), scratch(block * item)};
  k->right = {uint32_t(right.stream()), scratch(block * item)};
  k->result = {uint32_t(result), scratch(block)};
  return offset + sizeof(block_kernel);
}

size_t build_predicate(ckernel_builder &out, size_t offset, int result, const kernel_operand &left,
                       const kernel_operand &right, comparison which, void *function) {
  out.ensure_capacity_leaf(offset + sizeof(predicate_kernel));
  auto *k = out.get_at<predicate_kernel>(offset);
  k->base.function = function;
  k->nstreams = streams_up_to(left, right);
  k->result = uint16_t(result);
  k->true_for = uint16_t(true_for(which));
  return build_levels(out, offset + sizeof(predicate_kernel), left, right, which);
}

/// Strided; the bool goes to the stream `result` of the call.
size_t build_strided(ckernel_builder &out, size_t offset, int result, const kernel_operand &left,
                     const kernel_operand &right, comparison which) {
  if (block_fn function = block_function(left, right, which)) {
    return build_blocks(out, offset, result, left, right, function);
  }
  return build_predicate(out, offset, result, left, right, which, reinterpret_cast<void *>(predicate_strided));
}

// ---- missing elements -----------------------------------------------------------------------------------------------

/// The child compares what is there.
struct missing_kernel {
  ckernel_prefix base;
  uint32_t nstreams;
  uint32_t result;      // stream of its validity; the values are the next
  uint16_t left, right; // streams of validity; where only one operand has one, both are that
  bool harmless;        // what stands at a missing element may be compared too
};

/// A byte of each element, along one call.
struct byte_stream {
  char *at;
  intptr_t step;
  char &operator[](size_t i) const { return at[intptr_t(i) * step]; }
};

/// Whether both are not zero.
void both(byte_stream to, byte_stream a, byte_stream b, size_t count) {
  if (to.step == 1 && a.step == 1 && b.step == 1) { // which vectorises
    for (size_t i = 0; i < count; i++) {
      to.at[i] = (a.at[i] != 0) & (b.at[i] != 0);
    }
    return;
  }
  for (size_t i = 0; i < count; i++) {
    to[i] = (a[i] != 0) & (b[i] != 0);
  }
}

int missing_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  auto *k = reinterpret_cast<const missing_kernel *>(self);
  const ckernel_prefix *child = &k[1].base;
  auto bytes = [&](uint32_t s) { return byte_stream{stream[s], stride[s]}; };
  byte_stream valid = bytes(k->result), value = bytes(k->result + 1);
  both(valid, bytes(k->left), bytes(k->right), count);
  if (k->harmless) {
    int status = call_strided(child, stream, stride, count, frame);
    both(value, value, valid, count);
    return status;
  }
  char *at[max_call_streams];
  for (size_t i = 0, end; i < count; i = end) { // runs of elements that are there
    for (end = i; end < count && valid[end]; end++) {
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] = stream[s] + intptr_t(i) * stride[s];
    }
    if (int status = end > i ? call_strided(child, at, stride, end - i, frame) : int(dynd_ok)) {
      return status;
    }
    for (; end < count && !valid[end]; end++) {
      value[end] = 0;
    }
  }
  return dynd_ok;
}

} // namespace
} // namespace compare

const char *name_of(comparison which) {
  static constexpr const char *names[] = {"equal",   "not_equal",     "less", "less_equal",
                                          "greater", "greater_equal", "order"};
  return names[size_t(which)];
}

size_t make_comparison_kernel(ckernel_builder &out, size_t offset, const kernel_operand &left,
                              const kernel_operand &right, comparison which, kernel_request_t request) {
  if (request != kernel_request_single && request != kernel_request_strided) {
    fail(error_kind::value, std::string(name_of(which)) + ": a comparison is made for single or strided calls, not " +
                                "for kernel request " + std::to_string(int(request)));
  }
  if (request == kernel_request_single) {
    return compare::build_predicate(out, offset, 0, left, right, which,
                                    reinterpret_cast<void *>(compare::predicate_single));
  }
  return compare::build_strided(out, offset, 0, left, right, which);
}

size_t make_predicate_kernel(ckernel_builder &out, size_t offset, const kernel_operand &left,
                             const kernel_operand &right, comparison which) {
  if (left.type()->nstreams != 1 || right.type()->nstreams != 1) {
    fail(error_kind::type, std::string(name_of(which)) + ": a predicate of two addresses compares elements of one " +
                               "stream each, not " + left.type()->text + " and " + right.type()->text);
  }
  return compare::build_predicate(out, offset, 0, compare::placed(left, 0), compare::placed(right, 1), which,
                                  reinterpret_cast<void *>(compare::predicate_binary));
}

size_t make_comparison_operator(ckernel_builder &out, size_t offset, const kernel_operand &result,
                                const kernel_operand &left, const kernel_operand &right, comparison which) {
  if (result.type()->kind != type_kind::option) {
    return compare::build_strided(out, offset, result.stream(), left, right, which);
  }
  auto is_option = [](const kernel_operand &operand) { return operand.type()->kind == type_kind::option; };
  kernel_operand inner_left = is_option(left) ? left.element() : left;
  kernel_operand inner_right = is_option(right) ? right.element() : right;
  size_t size = sizeof(compare::missing_kernel);
  auto *k = compare::begin<compare::missing_kernel>(out, offset, size, compare::missing_strided);
  k->nstreams = compare::streams_up_to(left, right);
  k->result = uint32_t(result.stream());
  k->left = uint16_t(is_option(left) ? left.stream() : right.stream());
  k->right = uint16_t(is_option(right) ? right.stream() : left.stream());
  k->harmless = compare::is_number(inner_left.type()) && compare::is_number(inner_right.type());
  return compare::build_strided(out, offset + size, result.stream() + 1, inner_left, inner_right, which);
}

} // namespace dynd

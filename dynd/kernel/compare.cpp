#include "dynd/kernel/compare.h"

#include <cstring>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/kernel/compare_levels.h"

namespace dynd {

namespace compare {
namespace {

// ---- predicates -----------------------------------------------------------------------------------------------------

/// The outcomes for which the comparison is true.
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
  return is_cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok);
}

int predicate_binary(const char *left, const char *right, const ckernel_prefix *self, dynd_frame *frame) {
  char *stream[2] = {const_cast<char *>(left), const_cast<char *>(right)}; // nothing here is written
  return predicate_single(stream, self, frame);
}

// ---- texts, without a level for each pair ---------------------------------------------------------------------------

struct text_predicate_kernel {
  ckernel_prefix base;
  text_source left, right;
  uint16_t result;
  uint16_t true_for;
};

/// By unsigned bytes. (Cases by length, or the first word before the call, cost more than memcmp: lengths differ from
/// text to text, and a branch on them is not predicted.)
int order_of_bytes(const char *a, size_t a_size, const char *b, size_t b_size) {
  int order = std::memcmp(a, b, std::min(a_size, b_size));
  return order ? order : a_size < b_size ? -1 : a_size > b_size;
}

/// One operand of a call. All in locals: a store of a char may change anything else, as far as a compiler knows.
template <slot_kind Kind> struct text_stream {
  const char *slot, *bytes;
  intptr_t step;

  text_stream(const text_source &source, char *const *stream, const intptr_t *stride)
      : slot(stream[source.stream]), bytes(stream[source.stream + 1]), step(stride[source.stream]) {}
  row_extent read(size_t i) const { return read_slot(slot + intptr_t(i) * step, Kind); }
};

/// Where `Equality`, whether they are equal is all that is asked.
template <bool Equality, slot_kind Left, slot_kind Right>
int text_predicate_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                           dynd_frame *frame) {
  auto *k = reinterpret_cast<const text_predicate_kernel *>(self);
  const text_stream<Left> left(k->left, stream, stride);
  const text_stream<Right> right(k->right, stream, stride);
  const int true_for = k->true_for;
  const intptr_t step = stride[k->result];
  char *to = stream[k->result];
  for (size_t i = 0; i < count; i++, to += step) {
    row_extent a = left.read(i), b = right.read(i);
    const char *x = left.bytes + a.start, *y = right.bytes + b.start;
    int found;
    if constexpr (Equality) {
      found = a.size == b.size && std::memcmp(x, y, size_t(a.size)) == 0 ? equal : unordered;
    } else {
      int order = order_of_bytes(x, size_t(a.size), y, size_t(b.size));
      found = order < 0 ? less : order > 0 ? greater : equal;
    }
    *to = (found & true_for) != 0;
  }
  return is_cancelled(frame) ? int(dynd_error_cancelled) : int(dynd_ok);
}

template <bool Equality> streams_strided_t text_function(slot_kind left, slot_kind right) {
  auto with_left = [&]<slot_kind Left>() -> streams_strided_t {
    return right == slot_kind::offsets64   ? text_predicate_strided<Equality, Left, slot_kind::offsets64>
           : right == slot_kind::offsets32 ? text_predicate_strided<Equality, Left, slot_kind::offsets32>
                                           : text_predicate_strided<Equality, Left, slot_kind::pairs64>;
  };
  return left == slot_kind::offsets64   ? with_left.template operator()<slot_kind::offsets64>()
         : left == slot_kind::offsets32 ? with_left.template operator()<slot_kind::offsets32>()
                                        : with_left.template operator()<slot_kind::pairs64>();
}

size_t build_texts(ckernel_builder &out, size_t offset, int result, const kernel_operand &left,
                   const kernel_operand &right, comparison which) {
  bool equality = which == comparison::equal || which == comparison::not_equal;
  auto *k = begin<text_predicate_kernel>(out, offset, sizeof(text_predicate_kernel),
                                         equality ? text_function<true>(left.slots(), right.slots())
                                                  : text_function<false>(left.slots(), right.slots()));
  k->left = {uint16_t(left.stream()), left.slots()};
  k->right = {uint16_t(right.stream()), right.slots()};
  k->result = uint16_t(result);
  k->true_for = uint16_t(true_for(which));
  return offset + sizeof(text_predicate_kernel);
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
  if (is_text(left.type()) && left.type() == right.type()) {
    return build_texts(out, offset, result, left, right, which);
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
};

/// A byte of each element, along one call.
struct byte_stream {
  char *at;
  intptr_t step;
  char &operator[](size_t i) const { return at[intptr_t(i) * step]; }
};

int missing_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  auto *k = reinterpret_cast<const missing_kernel *>(self);
  const ckernel_prefix *child = &k[1].base;
  auto bytes = [&](uint32_t s) { return byte_stream{stream[s], stride[s]}; };
  byte_stream valid = bytes(k->result), value = bytes(k->result + 1);
  byte_stream left = bytes(k->left), right = bytes(k->right);
  for (size_t i = 0; i < count; i++) {
    valid[i] = left[i] && right[i];
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
  return compare::build_strided(out, offset + size, result.stream() + 1, inner_left, inner_right, which);
}

} // namespace dynd

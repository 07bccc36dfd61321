#include "dynd/kernel/compare.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/dims.h"
#include "dynd/kernel/level.h"
#include "dynd/ops/order.h"

namespace dynd {

namespace {

// A predicate is above a tree of levels along the types of both operands; numbers and texts are its leaves. No level of
// the tree has anything to release, so none has a destructor, and parents need not know whether a child was begun.
//
// Every level returns an outcome (ops/order.h). Its function is a streams_strided_t that compares `count` pairs, one
// after another, and returns the outcome of the first pair that is not equal: a list's elements are one call. Where
// only equality is asked for, any other outcome may be `unordered`. Nothing in a comparison fails at run time.

int call_one(const ckernel_prefix *kernel, char *const *stream, dynd_frame *frame) {
  return call_strided(kernel, stream, no_stride, 1, frame);
}

/// The number of streams from the call's first up to the last of both parts.
uint32_t streams_up_to(const kernel_operand &left, const kernel_operand &right) {
  return uint32_t(std::max(left.stream() + left.type()->nstreams, right.stream() + right.type()->nstreams));
}

bool asks_equality(comparison which) { return which == comparison::equal || which == comparison::not_equal; }

const char *name_of(comparison which) {
  const operation *found = operation_for(which);
  return found ? found->name : "order";
}

template <class Kernel>
[[gnu::noinline]] int run_many(char *const *stream, const intptr_t *stride, size_t count, const Kernel *k,
                               dynd_frame *frame) {
  char *at[max_call_streams];
  std::copy_n(stream, k->nstreams, at);
  constexpr size_t between = 4096;
  for (size_t i = 0; i < count; i++) {
    if (i % between == between - 1 && asks_to_stop(frame)) {
      return unordered; // the predicate says that it was cancelled
    }
    if (int found = k->one(at, frame); found != equal) {
      return found;
    }
    advance(at, stride, k->nstreams);
  }
  return equal;
}

/// The function of a level that compares one pair by `one`, and uses the first `nstreams` streams.
template <class Kernel>
int run_level(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
              dynd_frame *frame) {
  auto *k = reinterpret_cast<const Kernel *>(self);
  return count == 1 ? k->one(stream, frame) : run_many(stream, stride, count, k, frame);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

struct number_kernel {
  ckernel_prefix base;
  number_order order;
  uint32_t nstreams;
  uint16_t left, right; // streams
  number_layout left_layout, right_layout;

  int one(char *const *stream, dynd_frame *) const {
    return order(stream[left], left_layout, stream[right], right_layout);
  }
};

// ---- strings and bytes ----------------------------------------------------------------------------------------------

/// By unsigned bytes. (Cases by length, or the first word before the call, cost more than memcmp: lengths differ from
/// text to text, and a branch on them is not predicted.)
inline int compare_bytes(std::string_view a, std::string_view b, bool equality) {
  if (equality) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0 ? equal : unordered;
  }
  int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order ? order < 0 ? less : greater : outcome_of(a.size(), b.size());
}

struct text_kernel {
  ckernel_prefix base;
  uint32_t nstreams;
  text_slots left, right;
  bool equality;

  int one(char *const *stream, dynd_frame *) const {
    return compare_bytes(left.read(stream, stream[left.stream]), right.read(stream, stream[right.stream]), equality);
  }
};

// ---- options and pointers -------------------------------------------------------------------------------------------

/// The options and pointers of one operand, outermost first. Each has one stream, and all those after it are inside.
struct wrapped_source {
  uint16_t stream, nstreams, nsteps;
  uint32_t steps; // offset from the kernel: for each, 1 for a pointer, then all streams' strides along its content
};

/// Goes through all of them at once, so that what is missing is missing however it is wrapped.
struct wrapped_kernel {
  ckernel_prefix base;
  uint32_t nstreams, child;
  wrapped_source left, right;

  /// Moves the operand's streams, from `at` on, to what is inside; false where it is missing.
  bool enter(const wrapped_source &from, char **at) const {
    auto *step = reinterpret_cast<const intptr_t *>(reinterpret_cast<const char *>(this) + from.steps);
    for (int k = 0; k < from.nsteps; k++, step += 1 + from.nstreams) {
      bool pointer = step[0] != 0;
      int64_t index = *at[k] ? 0 : -1;
      if (pointer) {
        std::memcpy(&index, at[k], sizeof(index));
      }
      if (index < 0) {
        return false;
      }
      for (int s = k + 1; pointer && s < from.nstreams; s++) {
        at[s] += index * step[1 + s];
      }
    }
    return true;
  }

  int one(char *const *stream, dynd_frame *frame) const {
    char *at[max_call_streams];
    std::copy_n(stream, nstreams, at);
    bool has_left = enter(left, at + left.stream), has_right = enter(right, at + right.stream);
    if (has_left && has_right) {
      return call_one(child_of(this), at, frame);
    }
    return has_left ? less : has_right ? greater : equal;
  }
};

// ---- dimensions inside of elements ----------------------------------------------------------------------------------

struct list_kernel {
  ckernel_prefix base;
  uint32_t nstreams, child;
  var_slots left, right;
  bool equality;
  intptr_t stride[]; // of all streams; then what the starts of the left rows count in, then of the right ones

  int one(char *const *stream, dynd_frame *frame) const {
    row_extent a = left.read(stream), b = right.read(stream);
    if (equality && a.size != b.size) {
      return unordered;
    }
    const intptr_t *left_unit = stride + nstreams, *right_unit = left_unit + nstreams;
    char *at[max_call_streams];
    for (uint32_t s = 0; s < nstreams; s++) {
      at[s] = stream[s] + a.start * left_unit[s] + b.start * right_unit[s];
    }
    int found = call_strided(child_of(this), at, stride, size_t(std::min(a.size, b.size)), frame);
    return found == equal ? outcome_of(a.size, b.size) : found;
  }
};

// ---- structs and tuples ---------------------------------------------------------------------------------------------

/// A child for each pair of fields, one behind the other.
struct compared_fields_kernel {
  ckernel_prefix base;
  uint32_t nstreams, nfields;
  uint64_t child[]; // offsets from here

  int one(char *const *stream, dynd_frame *frame) const {
    for (uint32_t i = 0; i < nfields; i++) {
      if (int found = call_one(child_at(&base, child[i]), stream, frame); found != equal) {
        return found;
      }
    }
    return equal;
  }
};

// ---- the tree -------------------------------------------------------------------------------------------------------

bool is_wrapped(const type_data *t) { return t->kind == type_kind::option || t->kind == type_kind::pointer; }
bool is_number(const type_data *t) { return t->kind == type_kind::scalar || t->kind == type_kind::byteswap; }

/// Both texts, or both bytes.
bool are_alike_texts(const type_data *a, const type_data *b) {
  return is_text(a->kind) && is_text(b->kind) && is_string(a->kind) == is_string(b->kind);
}

number_layout number_of(const kernel_operand &operand) {
  return {operand.part.scalar(), operand.type()->kind == type_kind::byteswap};
}

/// Builds the levels below the predicate, along the types of both operands.
class tree_builder {
public:
  tree_builder(ckernel_builder &out, comparison which, const kernel_operand &left, const kernel_operand &right)
      : out_(out), which_(which), equality_(asks_equality(which)), left_(left), right_(right) {}

  size_t run(size_t offset) { return build(offset, left_, right_); }

private:
  template <class Kernel>
  Kernel *make_level(size_t offset, const kernel_operand &left, const kernel_operand &right,
                     size_t size = sizeof(Kernel)) {
    auto *k = make_leaf<Kernel>(out_, offset, run_level<Kernel>, size);
    k->nstreams = streams_up_to(left, right);
    return k;
  }

  size_t build(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    const type_data *a = left.type(), *b = right.type();
    if (is_wrapped(a) || is_wrapped(b)) {
      return build_wrapped(offset, left, right);
    }
    if (is_number(a) && is_number(b)) {
      return build_numbers(offset, left, right);
    }
    if (are_alike_texts(a, b)) {
      return build_texts(offset, left, right);
    }
    if (left.part.is_dim() && right.part.is_dim()) {
      return build_lists(offset, left, right);
    }
    if (a->nfields && a->kind == b->kind && a->nfields == b->nfields) {
      return build_fields(offset, left, right);
    }
    refuse(a, b, "");
  }

  size_t build_numbers(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    number_layout a = number_of(left), b = number_of(right);
    if (!equality_ && which_ != comparison::order && (is_complex(a.scalar) || is_complex(b.scalar))) {
      refuse(left.type(), right.type(), ": there is no order of complex numbers");
    }
    auto *k = make_level<number_kernel>(offset, left, right);
    k->order = order_of_numbers(a, b, which_ == comparison::order);
    k->left = uint16_t(left.stream());
    k->right = uint16_t(right.stream());
    k->left_layout = a;
    k->right_layout = b;
    return offset + sizeof(number_kernel);
  }

  size_t build_texts(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    auto *k = make_level<text_kernel>(offset, left, right);
    k->left = left.texts();
    k->right = right.texts();
    k->equality = equality_;
    return offset + sizeof(text_kernel);
  }

  size_t build_wrapped(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    kernel_operand inner_left = left, inner_right = right;
    std::vector<intptr_t> steps;
    wrapped_source a = unwrap(inner_left, steps), b = unwrap(inner_right, steps);
    size_t size = sizeof(wrapped_kernel) + steps.size() * sizeof(intptr_t);
    auto *k = make_level<wrapped_kernel>(offset, left, right, size);
    k->child = uint32_t(size);
    k->left = a;
    k->right = b;
    std::memcpy(k + 1, steps.data(), steps.size() * sizeof(intptr_t));
    return build(offset + size, inner_left, inner_right);
  }

  /// Enters the options and pointers of an operand, and adds what wrapped_source::steps says of each.
  static wrapped_source unwrap(kernel_operand &operand, std::vector<intptr_t> &steps) {
    int first = operand.part.stream, nstreams = operand.type()->nstreams;
    size_t begin = sizeof(wrapped_kernel) + steps.size() * sizeof(intptr_t);
    wrapped_source result = {uint16_t(operand.stream()), uint16_t(nstreams), 0, uint32_t(begin)};
    for (; is_wrapped(operand.type()); operand = operand.element()) {
      bool pointer = operand.type()->kind == type_kind::pointer;
      steps.push_back(pointer);
      for (int s = first; s < first + nstreams; s++) {
        steps.push_back(pointer ? operand.stride(s, operand.part.dim) : 0);
      }
      result.nsteps++;
    }
    return result;
  }

  size_t build_lists(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    uint32_t nstreams = streams_up_to(left, right);
    size_t size = sizeof(list_kernel) + 3 * nstreams * sizeof(intptr_t);
    auto *k = make_level<list_kernel>(offset, left, right, size);
    k->child = uint32_t(size);
    k->left = slots_of(left);
    k->right = slots_of(right);
    k->equality = equality_;
    find_content_strides(left, k->stride, k->stride + nstreams);
    find_content_strides(right, k->stride, k->stride + 2 * nstreams);
    return build(offset + size, left.element(), right.element());
  }

  size_t build_fields(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    const type_data *a = left.type();
    size_t size = sizeof(compared_fields_kernel) + a->nfields * sizeof(uint64_t);
    auto *k = make_level<compared_fields_kernel>(offset, left, right, size);
    k->nfields = a->nfields;
    size_t end = offset + size;
    for (int i = 0; i < a->nfields; i++) {
      out_.get_at<compared_fields_kernel>(offset)->child[i] = end - offset;
      end = build(end, left.field(i), right.field(partner(a, right.type(), i)));
    }
    return end;
  }

  /// The field of b that field i of a is compared with.
  int partner(const type_data *a, const type_data *b, int i) {
    int found = partner_field(a, b, i);
    if (found < 0) {
      refuse(a, b, "");
    }
    if (!equality_ && found != i) {
      refuse(a, b, ": their fields are in another order");
    }
    return found;
  }

  [[noreturn]] void refuse(const type_data *a, const type_data *b, const char *why) {
    std::string text = std::string(name_of(which_)) + ": cannot compare " + a->text + " with " + b->text + why;
    if (a != left_.type() || b != right_.type()) {
      text += std::string(", in ") + left_.type()->text + " and " + right_.type()->text;
    }
    fail(error_kind::type, text);
  }

  ckernel_builder &out_;
  comparison which_;
  bool equality_;
  const kernel_operand &left_, &right_;
};

// ---- the predicate --------------------------------------------------------------------------------------------------

struct predicate_kernel {
  ckernel_prefix base;
  uint32_t nstreams;
  uint16_t result; // stream
  uint16_t true_for;
};

int predicate(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
              dynd_frame *frame) {
  auto *k = reinterpret_cast<const predicate_kernel *>(self);
  char *at[max_call_streams];
  std::copy_n(stream, k->nstreams, at);
  for (size_t i = 0; i < count; i++) {
    *at[k->result] = (call_one(&k[1].base, at, frame) & k->true_for) != 0;
    advance(at, stride, k->nstreams);
  }
  return status_of(frame);
}

// ---- texts, without a level for each pair ---------------------------------------------------------------------------

struct text_predicate_kernel {
  ckernel_prefix base;
  text_slots left, right;
  uint16_t result;
  uint16_t true_for;
};

/// One operand of a call. All in locals: a store of a char may change anything else, as far as a compiler knows.
template <slot_kind Kind> struct text_stream {
  const char *slot, *bytes;
  intptr_t step;

  text_stream(const text_slots &source, char *const *stream, const intptr_t *stride)
      : slot(stream[source.stream]), bytes(stream[source.stream + 1]), step(stride[source.stream]) {}
  std::string_view next() {
    row_extent row = read_slot(slot, Kind);
    slot += step;
    return {bytes + row.start, size_t(row.size)};
  }
};

/// Texts of a fixed length.
template <> struct text_stream<slot_kind::none> {
  const char *at;
  intptr_t step;
  size_t size;
  bool ends_early; // zeros behind it are not part of it

  text_stream(const text_slots &source, char *const *stream, const intptr_t *stride)
      : at(stream[source.stream]), step(stride[source.stream]), size(size_t(source.fixed->size)),
        ends_early(source.fixed->kind == type_kind::fixed_string) {}
  std::string_view next() {
    std::string_view text(at, size);
    at += step;
    return ends_early ? without_zeros(text) : text;
  }
};

/// Where `Equality`, whether they are equal is all that is asked.
template <bool Equality, slot_kind Left, slot_kind Right>
int text_predicate_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                           dynd_frame *frame) {
  auto *k = reinterpret_cast<const text_predicate_kernel *>(self);
  text_stream<Left> left(k->left, stream, stride);
  text_stream<Right> right(k->right, stream, stride);
  const int true_for = k->true_for;
  const intptr_t step = stride[k->result];
  char *to = stream[k->result];
  for (size_t i = 0; i < count; i++, to += step) {
    *to = (compare_bytes(left.next(), right.next(), Equality) & true_for) != 0;
  }
  return status_of(frame);
}

template <bool Equality> streams_strided_t text_function(slot_kind left, slot_kind right) {
  auto with_left = [&]<slot_kind Left>() -> streams_strided_t {
    return right == slot_kind::offsets64   ? text_predicate_strided<Equality, Left, slot_kind::offsets64>
           : right == slot_kind::offsets32 ? text_predicate_strided<Equality, Left, slot_kind::offsets32>
           : right == slot_kind::pairs64   ? text_predicate_strided<Equality, Left, slot_kind::pairs64>
                                           : text_predicate_strided<Equality, Left, slot_kind::none>;
  };
  return left == slot_kind::offsets64   ? with_left.template operator()<slot_kind::offsets64>()
         : left == slot_kind::offsets32 ? with_left.template operator()<slot_kind::offsets32>()
         : left == slot_kind::pairs64   ? with_left.template operator()<slot_kind::pairs64>()
                                        : with_left.template operator()<slot_kind::none>();
}

size_t build_texts(ckernel_builder &out, size_t offset, int result, const kernel_operand &left,
                   const kernel_operand &right, comparison which) {
  auto *k = make_leaf<text_predicate_kernel>(
      out, offset,
      (asks_equality(which) ? text_function<true> : text_function<false>)(left.texts().kind, right.texts().kind));
  k->left = left.texts();
  k->right = right.texts();
  k->result = uint16_t(result);
  k->true_for = uint16_t(which);
  return offset + sizeof(text_predicate_kernel);
}

/// The bool goes to the stream `result` of the call.
size_t build_predicate(ckernel_builder &out, size_t offset, int result, const kernel_operand &left,
                       const kernel_operand &right, comparison which) {
  if (are_alike_texts(left.type(), right.type())) {
    return build_texts(out, offset, result, left, right, which);
  }
  auto *k = make_leaf<predicate_kernel>(out, offset, predicate);
  k->nstreams = streams_up_to(left, right);
  k->result = uint16_t(result);
  k->true_for = uint16_t(which);
  return tree_builder(out, which, left, right).run(offset + sizeof(predicate_kernel));
}

} // namespace

size_t make_comparison_kernel(ckernel_builder &out, size_t offset, const kernel_operand &result,
                              const kernel_operand &left, const kernel_operand &right, comparison which) {
  if (result.type()->kind != type_kind::option) {
    return build_predicate(out, offset, result.stream(), left, right, which);
  }
  option_spec spec{int(streams_up_to(left, right)), result.stream()};
  spec.zeroed = result.stream() + 1;
  kernel_operand inside[2] = {left, right};
  for (int i = 0; i < 2; i++) {
    if (inside[i].type()->kind == type_kind::option) {
      spec.src[i] = inside[i].stream();
      inside[i] = inside[i].element();
    }
  }
  return build_predicate(out, begin_option(out, offset, spec), spec.zeroed, inside[0], inside[1], which);
}

} // namespace dynd

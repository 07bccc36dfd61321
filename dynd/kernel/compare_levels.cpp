#include "dynd/kernel/compare_levels.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"

namespace dynd::compare {

namespace {

template <class Kernel>
[[gnu::noinline]] int run_many(char *const *stream, const intptr_t *stride, size_t count, const Kernel *k,
                               dynd_frame *frame) {
  char *at[max_call_streams];
  std::copy_n(stream, k->nstreams, at);
  for (size_t i = 0; i < count; i++) {
    if (int found = k->one(at, frame); found != equal) {
      return found;
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s];
    }
  }
  return equal;
}

/// The function of a level that compares one pair by `one`, and uses the first `nstreams` streams.
template <class Kernel>
int run(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
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

struct text_kernel {
  ckernel_prefix base;
  uint32_t nstreams;
  text_source left, right;
  bool equality;

  int one(char *const *stream, dynd_frame *) const {
    std::string_view a = left.read(stream[left.stream], stream[left.stream + 1]),
                     b = right.read(stream[right.stream], stream[right.stream + 1]);
    if (equality) {
      return a == b ? equal : unordered;
    }
    int found = a.compare(b); // by unsigned bytes
    return found < 0 ? less : found > 0 ? greater : equal;
  }
};

// ---- options and pointers -------------------------------------------------------------------------------------------

int64_t read_index(const char *at) {
  int64_t index;
  std::memcpy(&index, at, sizeof(index));
  return index;
}

/// The options and pointers of one operand, outermost first. Each has one stream, and all those after it are inside.
struct wrapped_source {
  uint16_t stream, nstreams, nsteps;
  uint32_t steps; // offset from the kernel: for each, 1 for a pointer, then all streams' strides along its content
};

/// Goes through all of them at once, so that what is missing is missing however it is wrapped. The child's streams are
/// those of the left operand, then those of the right one.
struct wrapped_kernel {
  ckernel_prefix base;
  uint32_t nstreams, child;
  wrapped_source left, right;

  /// False where it is missing.
  bool enter(const wrapped_source &from, char *const *stream, char **at) const {
    std::copy_n(stream + from.stream, from.nstreams, at);
    auto *step = reinterpret_cast<const intptr_t *>(reinterpret_cast<const char *>(this) + from.steps);
    for (int k = 0; k < from.nsteps; k++, step += 1 + from.nstreams) {
      bool pointer = step[0] != 0;
      int64_t index = pointer ? read_index(at[k]) : *at[k] ? 0 : -1;
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
    bool has_left = enter(left, stream, at), has_right = enter(right, stream, at + left.nstreams);
    if (has_left && has_right) {
      return call_one(child_at(&base, child), at, frame);
    }
    return has_left ? less : has_right ? greater : equal;
  }
};

// ---- dimensions inside of elements ----------------------------------------------------------------------------------

struct list_source {
  uint16_t stream, nstreams;
  slot_kind kind; // none: of one size
  intptr_t size;

  /// Moves the streams to the first element of the list; returns its length.
  int64_t enter(char *const *from, const intptr_t *stride, char **at) const {
    std::copy_n(from + stream, nstreams, at);
    if (kind == slot_kind::none) {
      return size;
    }
    row_extent row = read_slot(at[0], kind);
    for (int s = 1; row.size && s < nstreams; s++) {
      at[s] += row.start * stride[s];
    }
    return row.size;
  }
};

/// The child's streams are those of the left operand, then those of the right one.
struct list_kernel {
  ckernel_prefix base;
  uint32_t nstreams, child;
  list_source left, right;
  bool equality;
  intptr_t stride[]; // of the child's streams

  int one(char *const *stream, dynd_frame *frame) const {
    char *at[max_call_streams];
    int64_t left_size = left.enter(stream, stride, at);
    int64_t right_size = right.enter(stream, stride + left.nstreams, at + left.nstreams);
    if (equality && left_size != right_size) {
      return unordered;
    }
    int found = call_strided(child_at(&base, child), at, stride, size_t(std::min(left_size, right_size)), frame);
    return found == equal ? outcome_of(left_size, right_size) : found;
  }
};

// ---- structs and tuples ---------------------------------------------------------------------------------------------

/// A child for each pair of fields, one behind the other.
struct fields_kernel {
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
bool is_list(const type_data *t) { return t->kind >= type_kind::fixed_dim; }

number_layout number_of(const kernel_operand &operand) {
  return {operand.part.scalar(), operand.type()->kind == type_kind::byteswap};
}

/// Builds the levels below the predicate, along the types of both operands.
class tree_builder {
public:
  tree_builder(ckernel_builder &out, comparison which, const kernel_operand &left, const kernel_operand &right)
      : out_(out), which_(which), equality_(which == comparison::equal || which == comparison::not_equal), left_(left),
        right_(right) {}

  size_t run(size_t offset) { return build(offset, left_, right_); }

private:
  size_t build(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    const type_data *a = left.type(), *b = right.type();
    if (is_wrapped(a) || is_wrapped(b)) {
      return build_wrapped(offset, left, right);
    }
    if (is_number(a) && is_number(b)) {
      return build_numbers(offset, left, right);
    }
    if (is_text(a) && a->kind == b->kind) {
      return build_texts(offset, left, right);
    }
    if (is_list(a) && is_list(b)) {
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
    auto *k = begin<number_kernel>(out_, offset, sizeof(number_kernel), compare::run<number_kernel>);
    k->nstreams = streams_up_to(left, right);
    k->order = order_of_numbers(a, b, which_ == comparison::order);
    k->left = uint16_t(left.stream());
    k->right = uint16_t(right.stream());
    k->left_layout = a;
    k->right_layout = b;
    return offset + sizeof(number_kernel);
  }

  size_t build_texts(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    auto *k = begin<text_kernel>(out_, offset, sizeof(text_kernel), compare::run<text_kernel>);
    k->nstreams = streams_up_to(left, right);
    k->left = {uint16_t(left.stream()), left.slots()};
    k->right = {uint16_t(right.stream()), right.slots()};
    k->equality = equality_;
    return offset + sizeof(text_kernel);
  }

  size_t build_wrapped(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    kernel_operand inner_left = placed(left, 0), inner_right = placed(right, left.type()->nstreams);
    std::vector<intptr_t> steps;
    wrapped_source a = unwrap(inner_left, steps);
    size_t left_steps = steps.size();
    wrapped_source b = unwrap(inner_right, steps);
    a.stream = uint16_t(left.stream());
    b.stream = uint16_t(right.stream());
    a.steps = uint32_t(sizeof(wrapped_kernel));
    b.steps = uint32_t(sizeof(wrapped_kernel) + left_steps * sizeof(intptr_t));
    size_t size = sizeof(wrapped_kernel) + steps.size() * sizeof(intptr_t);
    auto *k = begin<wrapped_kernel>(out_, offset, size, compare::run<wrapped_kernel>);
    k->nstreams = streams_up_to(left, right);
    k->child = uint32_t(size);
    k->left = a;
    k->right = b;
    std::memcpy(k + 1, steps.data(), steps.size() * sizeof(intptr_t));
    return build(offset + size, inner_left, inner_right);
  }

  /// Enters the options and pointers of an operand, and adds what wrapped_source::steps says of each.
  static wrapped_source unwrap(kernel_operand &operand, std::vector<intptr_t> &steps) {
    int first = operand.part.stream, nstreams = operand.type()->nstreams;
    wrapped_source result = {0, uint16_t(nstreams), 0, 0};
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
    int nleft = left.type()->nstreams, nright = right.type()->nstreams;
    size_t size = sizeof(list_kernel) + size_t(nleft + nright) * sizeof(intptr_t);
    auto *k = begin<list_kernel>(out_, offset, size, compare::run<list_kernel>);
    k->nstreams = streams_up_to(left, right);
    k->child = uint32_t(size);
    k->left = list_of(left, k->stride);
    k->right = list_of(right, k->stride + nleft);
    k->equality = equality_;
    return build(offset + size, placed(left, 0).element(), placed(right, nleft).element());
  }

  static list_source list_of(const kernel_operand &operand, intptr_t *stride) {
    int nstreams = operand.type()->nstreams;
    for (int s = 0; s < nstreams; s++) {
      stride[s] = operand.stride(operand.part.stream + s, operand.part.dim);
    }
    bool var = operand.type()->kind == type_kind::var_dim;
    return {uint16_t(operand.stream()), uint16_t(nstreams), var ? operand.slots() : slot_kind::none, operand.size()};
  }

  size_t build_fields(size_t offset, const kernel_operand &left, const kernel_operand &right) {
    const type_data *a = left.type();
    size_t size = sizeof(fields_kernel) + a->nfields * sizeof(uint64_t);
    auto *k = begin<fields_kernel>(out_, offset, size, compare::run<fields_kernel>);
    k->nstreams = streams_up_to(left, right);
    k->nfields = a->nfields;
    size_t end = offset + size;
    for (int i = 0; i < a->nfields; i++) {
      out_.get_at<fields_kernel>(offset)->child[i] = end - offset;
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

} // namespace

size_t build_levels(ckernel_builder &out, size_t offset, const kernel_operand &left, const kernel_operand &right,
                    comparison which) {
  return tree_builder(out, which, left, right).run(offset);
}

} // namespace dynd::compare

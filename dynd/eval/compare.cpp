// The comparison operators over elements that are neither scalars nor options of scalars.
#include <algorithm>

#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/run.h"
#include "dynd/kernel/compare.h"
#include "dynd/ops/logic.h"

namespace dynd {

namespace {

// ---- structs of numbers: a program --------------------------------------------------------------------------------

/// Whether two numbers are compared exactly after promotion, or as a pair of 64-bit types.
bool is_exact(scalar_id a, scalar_id b) {
  scalar_id both = promote(a, b);
  return a == b || find_mixed_comparison(both, a, b) || (scalar_size[size_t(a)] < 8 && scalar_size[size_t(b)] < 8) ||
         (!is_complex(both) && (scalar_size[size_t(a)] < 8 || scalar_size[size_t(b)] < 8));
}

class struct_program {
public:
  struct_program(fused_task &fused, array_block *left, array_block *right, comparison which)
      : fused_(fused), left_(left), right_(right), which_(which),
        equality_(which == comparison::equal || which == comparison::not_equal) {}

  /// Whether the two are structs or tuples whose fields are numbers, or such structs again.
  bool takes(const type_part &a, const type_part &b) {
    if (a.type->nfields == 0) {
      element_kind left{}, right{};
      bool numbers =
          find_element_kind(a.type, left) && find_element_kind(b.type, right) && is_exact(left.scalar, right.scalar);
      scalar_id computation = numbers ? promote(left.scalar, right.scalar) : scalar_id::bool_;
      pairs_.push_back({a, b, computation, {}, {}});
      bool option = left.option || right.option;
      registers_ += option ? registers_of_options : registers_of_numbers;
      return numbers && pairs_.size() <= 20 && registers_ <= max_registers &&
             (equality_ || (!option && !is_complex(computation)));
    }
    bool same = a.type->kind == b.type->kind && a.type->nfields == b.type->nfields;
    for (int i = 0; i < a.type->nfields && same; i++) {
      int other = partner_field(a.type, b.type, i);
      same = other >= 0 && (equality_ || other == i) && takes(a.field(i), b.field(other));
    }
    return same;
  }

  /// Of what it takes.
  uint8_t build() {
    for (pair &x : pairs_) {
      x.left = fused_.read(left_, x.left_part);
      x.right = fused_.read(right_, x.right_part);
    }
    return equality_ ? compare_all() : compare_in_order();
  }

private:
  struct pair {
    type_part left_part, right_part;
    scalar_id computation;
    value_registers left, right;
  };

  // Those of a pair, at most: two values in our order of bytes, converted, compared twice, joined with the rest. Or,
  // compared once: two validities, and what missing values are equal to.
  static constexpr int registers_of_numbers = 10, registers_of_options = 15;

  uint8_t compare(const pair &x, comparison which) {
    value_registers operands[2] = {{x.left.value}, {x.right.value}}, result;
    fused_.add({operation_for(which)->id, x.computation}, operands, 2, &result);
    return result.value;
  }

  uint8_t logical(op_id op, uint8_t a, uint8_t b) { return fused_.t.p.add_operation(op, scalar_id::bool_, {a, b}); }
  uint8_t inverted(uint8_t a) { return fused_.t.p.add_operation(logic::inverted, scalar_id::bool_, {a}); }

  // Inside of a struct missing equals missing.
  uint8_t is_equal(const pair &x) {
    uint8_t same = compare(x, comparison::equal);
    if (x.left.valid == no_register && x.right.valid == no_register) {
      return same;
    }
    uint8_t a = fused_.valid_or_true(x.left), b = fused_.valid_or_true(x.right);
    uint8_t there = logical(logic::both, logical(logic::both, a, b), same);
    return logical(logic::either, there, inverted(logical(logic::either, a, b)));
  }

  uint8_t compare_all() {
    uint8_t all = is_equal(pairs_[0]);
    for (size_t i = 1; i < pairs_.size(); i++) {
      all = logical(logic::both, all, is_equal(pairs_[i]));
    }
    return which_ == comparison::equal ? all : inverted(all);
  }

  // By the first fields that differ: less(0) or (equal(0) and (less(1) or ...)).
  uint8_t compare_in_order() {
    bool less = which_ == comparison::less || which_ == comparison::less_equal;
    uint8_t result = compare(pairs_.back(), which_);
    for (size_t i = pairs_.size() - 1; i-- > 0;) {
      uint8_t first = compare(pairs_[i], less ? comparison::less : comparison::greater);
      result = logical(logic::either, first, logical(logic::both, compare(pairs_[i], comparison::equal), result));
    }
    return result;
  }

  fused_task &fused_;
  array_block *left_, *right_;
  comparison which_;
  bool equality_;
  int registers_ = 1; // not_equal inverts the result
  std::vector<pair> pairs_;
};

// ---- everything else: a kernel over elements ----------------------------------------------------------------------

void run_kernel(task &t, array_block *const *operands, comparison which) {
  t.divides = true;
  t.leaf = [which](ckernel_builder &out, size_t offset, const kernel_operand *to, kernel_request_t,
                   std::vector<explained_level> *levels) {
    size_t end = make_comparison_kernel(out, offset, to[0], to[1], to[2], which);
    if (levels) {
      std::string text = std::string(to[1].type()->text) + ", " + to[2].type()->text + " to " + to[0].type()->text;
      levels->push_back({offset, end - offset, text});
    }
    return end;
  };
  t.noutputs = 1;
  for (int o = 0; o < 3; o++) {
    t.add_operand(operands[o]);
  }
  lower(t);
  run_task(t);
}

} // namespace

bool compares_elements(op_id op, const call_operands &operands) {
  element_kind kind;
  return operation_of(op).relation != comparison::none && !(find_element_kind(operands.block[0]->type->dtype, kind) &&
                                                            find_element_kind(operands.block[1]->type->dtype, kind));
}

ref<array_block> compare_elements(op_id op, array_block *left, array_block *right, const settings &how) {
  comparison which = operation_of(op).relation;
  auto is_option = [](const array_block *block) { return block->type->dtype->kind == type_kind::option; };
  ndt::type dtype = ndt::make_scalar(scalar_id::bool_);
  if (is_option(left) || is_option(right)) {
    dtype = ndt::make_option(dtype);
  }
  materialize(left);
  materialize(right);
  fused_task fused(operation_of(op).name, how);
  task &t = fused.t;
  broadcast_space(t.name, {left, right}, t.shape);
  ref<array_block> result = new_result(t.shape, dtype, is_tracing(how));
  struct_program fields(fused, left, right, which);
  if (left->type->dtype->nfields && fields.takes(element_part(*left), element_part(*right))) {
    fused.add_output({fields.build()}, result.get());
    fused.lower_operands();
    fused.run();
    return result;
  }
  array_block *operands[3] = {result.get(), left, right};
  run_kernel(t, operands, which);
  return result;
}

} // namespace dynd

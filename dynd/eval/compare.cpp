#include "dynd/eval/compare.h"

#include <optional>
#include <string_view>

#include "dynd/eval/elements.h"
#include "dynd/kernel/compare.h"

namespace dynd {

namespace {

/// The comparison has the row's name.
std::optional<comparison> comparison_of(op_id op) {
  for (auto which = comparison::equal; which != comparison::order; which = comparison(int(which) + 1)) {
    if (std::string_view(name_of(which)) == operation_of(op).name) {
      return which;
    }
  }
  return std::nullopt;
}

} // namespace

bool compares_elements(op_id op) { return comparison_of(op).has_value(); }

ref<array_block> compare_elements(op_id op, array_block *left, array_block *right) {
  comparison which = *comparison_of(op);
  auto is_option = [](const array_block *block) { return block->type->dtype->kind == type_kind::option; };
  ndt::type result_type = ndt::make_scalar(scalar_id::bool_);
  if (is_option(left) || is_option(right)) {
    result_type = ndt::make_option(result_type);
  }
  array_block *operands[3] = {nullptr, left, right};
  space shape;
  broadcast_space(name_of(which), operands + 1, 2, shape);
  ref<array_block> result = new_elements(shape, result_type);
  operands[0] = result.get();
  run_elements(name_of(which), shape, operands, 3,
               [&](ckernel_builder &out, size_t offset, const kernel_operand *operand) {
                 return make_comparison_operator(out, offset, operand[0], operand[1], operand[2], which);
               });
  return result;
}

} // namespace dynd

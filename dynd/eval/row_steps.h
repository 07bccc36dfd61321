// Putting a staged program together: operations in one floating-point type over registers of elements and of rows,
// folds that leave out what is missing.
#pragma once

#include "dynd/eval/reduce.h"
#include "dynd/ops/logic.h"

namespace dynd {

class row_steps {
public:
  row_steps(fused_task &fused, scalar_id type) : fused_(fused), p_(fused.t.p), type_(type) {}

  uint8_t value = no_register, valid = no_register; ///< of the elements, in the type
  uint8_t weight = no_register;                     ///< how often each counts; no_register: once

  void take(const value_registers &x) {
    value = p_.converted(x.value, type_);
    valid = x.valid;
  }
  /// Elements where the mask is false are left out, as missing ones are.
  void skip_where_not(uint8_t mask) { valid = fused_.both(valid, mask); }
  void weigh(const value_registers &weights) {
    skip_where_not(weights.valid);
    weight = p_.converted(weights.value, type_);
  }
  uint8_t weighted(uint8_t reg) { return weight == no_register ? reg : (*this)(arithmetic::product, reg, weight); }

  uint8_t operator()(op_id op, uint8_t a) { return p_.add_operation(op, type_, {a}); }
  uint8_t operator()(op_id op, uint8_t a, uint8_t b) { return p_.add_operation(op, type_, {a, b}); }
  uint8_t constant(double number) {
    const float narrow = float(number);
    return fused_.constant(type_, type_ == scalar_id::float32 ? static_cast<const void *>(&narrow) : &number);
  }
  /// A row's value for all of its elements.
  uint8_t repeated(uint8_t row) { return p_.repeated(row); }
  /// A missing element contributes the identity.
  uint8_t fold(uint8_t reg, reduction_id reduction) {
    return p_.folded(present_or_nothing(fused_, valid, reg, {reduction, type_}), reduction);
  }
  /// How many elements of each row count, in the type; of weights their sum.
  uint8_t count() {
    if (weight != no_register) {
      return fold(weight, arithmetic::sum);
    }
    bool all = valid == no_register;
    return p_.converted(all ? p_.row_length() : p_.folded(p_.converted(valid, scalar_id::int64), arithmetic::sum),
                        type_);
  }
  /// Of rows: the first where the row has one element, else the second.
  uint8_t chosen_if_one(uint8_t a, uint8_t b) {
    const int64_t one = 1;
    uint8_t alone = p_.add_operation(arithmetic::equal, scalar_id::int64,
                                     {p_.row_length(), fused_.constant(scalar_id::int64, &one)});
    return p_.add_operation(logic::chosen, type_, {alone, a, b});
  }
  uint8_t one_if_zero(uint8_t reg) {
    uint8_t zero = p_.add_operation(arithmetic::equal, type_, {reg, constant(0)});
    return p_.add_operation(logic::chosen, type_, {zero, constant(1), reg});
  }
  uint8_t finite_or_zero(uint8_t reg) {
    uint8_t finite = p_.add_operation(logic::finite, type_, {reg});
    return p_.add_operation(logic::chosen, type_, {finite, reg, constant(0)});
  }

private:
  fused_task &fused_;
  program &p_;
  scalar_id type_;
};

} // namespace dynd

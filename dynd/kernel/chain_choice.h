// Which steps of a program are steps of a chain. The others are done by the loop of another one, and what they give is
// never stored: a product that is only added up, what widens small integers before a sum, what replaces missing
// elements before a fold, the root of what only the least is wanted of, and the first of two operations on
// floating-point numbers that are done in one loop. And how many elements are a batch.
#pragma once

#include <optional>

#include "dynd/kernel/chain.h"

namespace dynd::chain {

struct chosen_step {
  uint8_t step; // of the program
  bool is_pair;
  uint8_t nreads, reads[3]; // of a pair: of both, without what is between them
  pair_functions pair;
};

// What one of the outputs folds, instead of the register that the program says.
struct folded_terms {
  int output = -1;                                                     // -1: none
  uint8_t reg = no_register, other = no_register, valid = no_register; // see reduced_output
  const reduce_functions *functions = nullptr;                         // null: those of the output's type
  batch_fn finish = nullptr;                                           // see reduced_output

  bool uses(uint8_t r) const { return r == reg || r == other || r == valid; }
};

class step_choice {
public:
  step_choice(const program &p, const chain_layout &layout);

  int count = 0;
  chosen_step steps[max_steps];
  folded_terms terms;

  /// Calls f(register) for all that step i reads.
  template <class F> void for_reads(int i, F f) const {
    if (steps[i].is_pair) {
      std::for_each_n(steps[i].reads, steps[i].nreads, f);
    } else {
      p_.for_reads(p_.steps[steps[i].step], f);
    }
  }

  /// How many times smaller (log2) than a double the largest elements are.
  int narrower() const;
  size_t elements_of_batch() const;
  bool scans() const;

private:
  size_t elements_of_short_rows() const;
  void look_at_registers();
  void leave_to_fold(int output);
  bool leave_conversion(int output);
  bool leave_root(int output);
  uint8_t joinable(int step, int operand) const;
  void join(int step);
  void join(chosen_step &second, int operand);
  const program_step *only_folded(uint8_t reg, step_kind kind = step_kind::operation) const;

  const program &p_;
  const chain_layout &layout_;
  int reads_[max_registers] = {};      // how often each register is read, or leaves the program
  uint8_t writer_[max_registers];      // the step that writes it
  bool one_value_[max_registers] = {}; // a source that does not change in a call
  bool left_out_[max_steps] = {};
};

} // namespace dynd::chain

// Assignment between elements that are made of numbers: one step for each of them, in one program.
#pragma once

#include <forward_list>
#include <string>

#include "dynd/eval/fusion.h"

namespace dynd {

class assignment_program {
public:
  explicit assignment_program(error_mode mode) : mode_(mode) {}

  /// Whether both are numbers, in either order of bytes, that may be missing, or structs and tuples of these, with
  /// fields that have each other.
  bool takes(const type_data *dst, const type_data *src);

  /// Adds the steps and outputs for the elements of two arrays. This must live as long as the task.
  void add(fused_task &fused, array_block *dst, array_block *src);
  /// The same from registers that hold the elements of the source.
  void add(fused_task &fused, array_block *dst, const value_registers &src);

private:
  void add_part(fused_task &fused, array_block *dst, const type_part &to, array_block *src, const type_part &from,
                const std::string &path);
  void add_value(fused_task &fused, array_block *dst, const type_part &to, const value_registers &from,
                 const std::string &path);

  error_mode mode_;
  int nvalues_ = 0;
  std::forward_list<std::string> paths_; // that steps point to; costs nothing where there is none
};

} // namespace dynd

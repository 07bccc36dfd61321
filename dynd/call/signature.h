// Signatures of kernels: what of a signature a kernel can have, and whether two overloads take the same operands.
#pragma once

#include <string>
#include <vector>

#include "dynd/abi/callable.h"
#include "dynd/type/pattern.h"

namespace dynd {

/// A parameter or result: core dimensions over an element type, which may be a variable or a family.
struct core_pattern {
  std::vector<ndt::dimension> dims;
  ndt::type dtype;
  std::string name; ///< empty where it has none
  bool inout = false;
};

/// A signature, taken apart.
struct kernel_signature {
  ndt::type type; ///< the whole
  std::vector<core_pattern> results, operands;
  std::vector<type_field> keywords;

  /// Neither core dimensions nor anything but scalars, type variables and families: it is a step of a program where the
  /// operands are scalars (resolution::of_scalars).
  bool is_scalar() const;
};

/// Parses the signature of a deferred kernel; what a kernel cannot have is a type error with the kernel's name.
kernel_signature read_signature(const deferred_ckernel &kernel);

/// Of each operand, results first, the number that every core dimension has among the sizes of a call (dynd_core_call);
/// of a size that is in the signature, -2 - size.
std::vector<std::vector<int64_t>> size_numbers(const kernel_signature &signature);

/// How the operands that one signature takes are related to those of another.
enum class signature_order { apart, less, same, greater, unclear };
signature_order compare(const kernel_signature &a, const kernel_signature &b);

/// Of two signatures neither of which is the more specific: whether `both` takes just the operands that each of them
/// takes, so that it decides between them.
bool decides(const kernel_signature &both, const kernel_signature &a, const kernel_signature &b);

} // namespace dynd

// An external kernel as a kernel level: it is called with streams, whatever its own prototype is.
//
// The level keeps the deferred kernel alive and gives it what a C programmer expects: elements at addresses that are
// multiples of their size. Where an operand is not aligned, batches of it go through aligned copies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dynd/abi/callable.h"
#include "dynd/base/counted.h"
#include "dynd/kernel/builder.h"
#include "dynd/type/scalar.h"

namespace dynd {

inline constexpr int max_external_outputs = 8, max_external_sources = 8;
inline constexpr int max_external_operands = max_external_outputs + max_external_sources;

/// What a deferred kernel takes and gives, from its signature: outputs first, then sources.
struct external_types {
  int noutputs = 0, nsources = 0;
  scalar_id type[max_external_operands];
};

/// The keywords of a call: of every keyword of the signature its value, given or default.
struct keyword_values {
  struct value {
    std::string name, type;
    bool missing = false, is_text = false;
    alignas(16) char number[max_scalar_size] = {};
    std::string text = {};
  };
  std::vector<value> all;
};

/// What `instantiate` gets, as long as it is called.
class external_bind {
public:
  /// The texts and arrmetas are the caller's; `keywords` may be null.
  external_bind(const deferred_ckernel &kernel, const char *const *types, const dynd_arrmeta *const *arrmeta,
                int noperands, const keyword_values *keywords);
  external_bind(const external_bind &) = delete;
  external_bind &operator=(const external_bind &) = delete;
  const dynd_bind &get() const { return bind_; }
  /// Lets the deferred kernel put a kernel at `begin`; returns the offset past it. What it does wrong is an error.
  size_t instantiate(ckernel_builder &out, size_t begin);

private:
  const deferred_ckernel &kernel_;
  std::vector<dynd_keyword> keywords_;
  char text_[256];
  dynd_bind bind_;
};

struct external_function;

/// Functions that can be computed together where they have the same operands.
struct external_family {
  /// One function that has the outputs of the first and then those of the second, both of the family; null: these
  /// cannot be joined.
  ref<external_function> (*join)(const external_function &first, const external_function &second);
};

/// An external kernel that can be called: a step of a program. Lazy arrays keep it alive.
struct external_function : counted {
  const deferred_ckernel *kernel = nullptr;
  external_types types;
  std::shared_ptr<const keyword_values> keywords; ///< may be null
  /// The kernel built alone (make_external at offset 0): a kernel on scalars depends on no arrmeta, so that one serves
  /// every small call. May be null.
  const ckernel_builder *leaf = nullptr;
  const external_family *family = nullptr; ///< null: it is joined with no other

  bool has(uint32_t flags) const { return (kernel->flags & flags) == flags; }
};

/// Puts the level and the kernel of the function behind it at `offset`; returns the offset past both. The level's
/// function is a streams_strided_t; its streams are the outputs and the sources in the signature's order.
size_t make_external(ckernel_builder &out, size_t offset, const external_function &function);

} // namespace dynd

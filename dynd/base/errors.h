// The one exception type, with the kinds that decide which Python exception a person sees. Text: operation, what is
// wrong, values last ("add: cannot broadcast (3, 4) with (2, 4) at axis 0"). The library never prints, never aborts.
#pragma once

#include <exception>
#include <string>

#include "dynd/abi/kernel.h"

namespace dynd {

/// Whose fault it is and what kind; the numbers are the kernel ABI's.
enum class error_kind : int {
  type = dynd_error_type,
  value = dynd_error_value,
  index = dynd_error_index,
  broadcast = dynd_error_broadcast,
  overflow = dynd_error_overflow,
  memory = dynd_error_memory,
  internal = dynd_error_internal,
  cancelled = dynd_error_cancelled
};

/// The kind of a status that a kernel returned; `value` for an unknown status, which an external kernel may return.
inline error_kind kind_of(intptr_t status) {
  return status <= dynd_error_type && status >= dynd_error_cancelled ? error_kind(status) : error_kind::value;
}

class error : public std::exception {
public:
  error(error_kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  error_kind kind() const { return kind_; }
  const char *what() const noexcept override { return text_.c_str(); }

private:
  error_kind kind_;
  std::string text_;
};

/// Out of line, so that a check costs its caller a compare and a jump.
[[noreturn]] void fail(error_kind kind, std::string text);

} // namespace dynd

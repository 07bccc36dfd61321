// Callables: a name, documentation and overloads, each a deferred kernel with a signature. What a callable is called
// with are arrays of any dimensions, strided, ragged, broadcast; the overload is chosen by the types of their elements.
//
//   nd::callable(triple)(a)                 a deferred_ckernel that is written in C
//   nd::callable(nd::make_kernel("hypot", [](double x, double y) { ... }))(a, b)       see wrap.h
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynd/abi/callable.h"
#include "dynd/array/array.h"
#include "dynd/kernel/external.h"
#include "dynd/ops/operation.h"

namespace dynd::nd {

/// Owns a deferred kernel by its retain and release, where it has them.
class kernel {
public:
  kernel() = default;
  explicit kernel(const deferred_ckernel &deferred) : deferred_(&deferred) { retain(); }
  /// Takes over one reference.
  static kernel adopt(const deferred_ckernel *deferred) {
    kernel result;
    result.deferred_ = deferred;
    return result;
  }
  kernel(const kernel &other) : deferred_(other.deferred_) { retain(); }
  kernel(kernel &&other) noexcept : deferred_(std::exchange(other.deferred_, nullptr)) {}
  kernel &operator=(kernel other) noexcept {
    std::swap(deferred_, other.deferred_);
    return *this;
  }
  ~kernel() {
    if (deferred_ && deferred_->release) {
      deferred_->release(deferred_);
    }
  }
  const deferred_ckernel *get() const { return deferred_; }
  const deferred_ckernel *operator->() const { return deferred_; }
  const deferred_ckernel &operator*() const { return *deferred_; }
  explicit operator bool() const { return deferred_ != nullptr; }

private:
  void retain() {
    if (deferred_ && deferred_->retain) {
      deferred_->retain(deferred_);
    }
  }
  const deferred_ckernel *deferred_ = nullptr;
};

/// The struct alone: nothing of it is called.
void check_kernel(const deferred_ckernel &deferred);

/// An argument that is given by name.
struct keyword {
  std::string name;
  array value;
};

struct callable_state; // resolve.h

/// Copies share the callable; any number of threads may call it.
class callable {
public:
  callable(); ///< no callable
  /// Without overloads.
  explicit callable(std::string name, std::string doc = "");
  /// With one overload, under the kernel's name.
  explicit callable(kernel k);
  explicit callable(const deferred_ckernel &deferred);
  explicit callable(const deferred_ckernel &&) = delete; ///< it would be gone
  explicit callable(ref<callable_state> state);
  callable(const callable &);
  callable(callable &&) noexcept;
  callable &operator=(callable) noexcept;
  ~callable();

  /// Adds an overload. The struct and its signature are checked; an overload that would take the same types as another
  /// one, none of the two being the more specific, is a type error that names both.
  void add(const kernel &k) const;
  void add(std::span<const kernel> kernels) const; ///< all, or where one is refused none

  /// Exact types first, then conversion without loss, then what NumPy converts to floating types. Where no overload
  /// fits, the error lists every one with the operand that did not. Runs at once; only a kernel on scalars with one
  /// result that says it is pure and total may be lazy.
  std::vector<array> call_all(std::span<const array> operands, std::span<const keyword> keywords = {}) const;
  /// The same for a kernel with one result.
  array call(std::span<const array> operands, std::span<const keyword> keywords = {}) const;
  /// The same for operands one by one: arrays, or what an array is made of, as numbers.
  template <class... A> array operator()(const A &...operands) const {
    return call_blocks({static_cast<const array &>(operands).get()...});
  }

  /// The same for operands without keywords; `results` has room for all. Returns how many there are.
  int call_into(array_block *const *operands, int count, ref<array_block> *results) const;

  const std::string &name() const;
  const std::string &doc() const;
  std::vector<ndt::type> signatures() const;
  /// Calls f(signature, how many there are) for each, without copying them; no overload can be added meanwhile.
  void for_each_signature(const std::function<void(ndt::type, size_t)> &f) const;
  std::vector<kernel> kernels() const; ///< of the overloads, in their order; an operation of the library has none
  callable_state *state() const { return state_.get(); }
  explicit operator bool() const { return bool(state_); }

private:
  array call_blocks(std::initializer_list<array_block *> operands) const;

  ref<callable_state> state_;
};

/// For one call.
inline array call(const deferred_ckernel &deferred, std::span<const array> operands) {
  return callable(deferred).call(operands);
}

} // namespace dynd::nd

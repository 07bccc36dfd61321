// Lifting: a deferred kernel on scalars applies to arrays of any dimensions, strided, ragged, broadcast.
//
//   nd::lift(triple)(a)                 a deferred_ckernel that is written in C
//   nd::lift(nd::make_kernel("hypot", [](double x, double y) { ... }))(a, b)       see wrap.h
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dynd/abi/callable.h"
#include "dynd/array/array.h"
#include "dynd/kernel/external.h"

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

/// A deferred kernel as a function of arrays. Copies share it; any number of threads may call it.
class lifted {
public:
  lifted() = default; ///< no function
  explicit lifted(ref<external_function> function) : function_(std::move(function)) {}

  /// Operands of other types are converted where nothing is lost, else it is a type error. Runs at once; only a
  /// kernel with one result that says it is pure and total may be lazy.
  std::vector<array> call_all(std::span<const array> operands) const;
  /// The same for a kernel with one output.
  array call(std::span<const array> operands) const;
  /// The same for operands one by one: arrays, or what an array is made of, as numbers.
  template <class... A> array operator()(const A &...operands) const {
    return call_blocks({static_cast<const array &>(operands).get()...});
  }

  const deferred_ckernel &deferred() const { return *function_->kernel; }
  const external_types &types() const { return function_->types; }
  explicit operator bool() const { return bool(function_); }

private:
  array call_blocks(std::initializer_list<array_block *> operands) const;

  ref<external_function> function_; // a lifted_state (lift.cpp)
};

/// Checks the struct and its signature, "(T, ...) -> R" or "(T, ...) -> (R, ...)" with scalar types: one to eight
/// operands, one to eight results. What is wrong is a type error that names the kernel. Keeps the kernel alive.
lifted lift(kernel k);
lifted lift(const deferred_ckernel &deferred);
lifted lift(const deferred_ckernel &&) = delete; ///< it would be gone

/// The struct alone, as lift checks it: nothing of it is called.
void check_kernel(const deferred_ckernel &deferred);

/// For one call.
inline array call(const deferred_ckernel &deferred, std::span<const array> operands) {
  return lift(deferred).call(operands);
}

} // namespace dynd::nd

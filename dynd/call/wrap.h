// Wrapping: a C++ function pointer, lambda or functor becomes a deferred kernel, its signature deduced from its type.
//
//   nd::kernel hypot = nd::make_kernel("hypot", [](double x, double y) { return std::sqrt(x * x + y * y); });
//   nd::array c = nd::callable(hypot)(a, b);                        signature "(float64, float64) -> float64"
//
// One to eight operands of scalar types; the result is a scalar, or a std::pair or std::tuple of them. The function is
// copied, and called through a const reference by any number of threads at once, unless the flags say
// dynd_callable_one_thread. An exception that it throws becomes the error of the call: a dynd::error keeps its kind,
// any other is a value error.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynd/base/errors.h"
#include "dynd/call/callable.h"
#include "dynd/call/counted_kernel.h"
#include "dynd/type/native.h"

namespace dynd::nd {

namespace detail {

template <class T> constexpr const char *name_of() {
  static_assert(native_scalar<T>,
                "make_kernel: operands and results are bool, integers, float, double or std::complex, by value");
  return scalar_name[size_t(native_scalar_id<T>())];
}

// A bool in an array is a byte, and anything but zero is true.
template <class T> T read(const char *at) {
  if constexpr (std::is_same_v<T, bool>) {
    return *at != 0;
  } else {
    return *reinterpret_cast<const T *>(at);
  }
}

template <class T> void put(char *at, const T &value) { *reinterpret_cast<T *>(at) = value; }

// What a function gives: the types of the outputs, their text, and how they are written.
template <class R> struct result_of {
  using types = std::tuple<R>;
  static std::string text() { return name_of<R>(); }
  static void write(char *const *at, const R &value) { put(at[0], value); }
};
template <class Tuple> struct several_results {
  using types = Tuple;
  static std::string text() {
    std::string names;
    each([&](auto i) { names += (i ? ", " : "") + std::string(name_of<std::tuple_element_t<i, Tuple>>()); });
    return "(" + names + ")";
  }
  template <class Values> static void write(char *const *at, const Values &values) {
    each([&](auto i) { put(at[i], std::get<i>(values)); });
  }

private:
  template <class F> static void each(F f) {
    [&]<size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<size_t, I>()), ...); }
    (std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }
};
template <class... R> struct result_of<std::tuple<R...>> : several_results<std::tuple<R...>> {};
template <class R, class S> struct result_of<std::pair<R, S>> : several_results<std::tuple<R, S>> {};

// What a callable takes and gives: of a function pointer, or of the one operator() of a class.
template <class F> struct callable_traits : callable_traits<decltype(&F::operator())> {};
template <class R, class... A> struct callable_traits<R (*)(A...)> {
  using result = std::remove_cvref_t<R>;
  using operands = std::tuple<std::remove_cvref_t<A>...>;
  static constexpr bool nothrow = false;
};
template <class R, class... A> struct callable_traits<R (*)(A...) noexcept> : callable_traits<R (*)(A...)> {
  static constexpr bool nothrow = true;
};
template <class C, class R, class... A> struct callable_traits<R (C::*)(A...) const> : callable_traits<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_traits<R (C::*)(A...) const noexcept> : callable_traits<R (*)(A...) noexcept> {};
template <class C, class R, class... A> struct callable_traits<R (C::*)(A...)> {
  static_assert(!sizeof(C), "make_kernel: operator() must be const: several threads call one object");
};

/// A deferred kernel with the function in it; counted.
template <class F> struct wrapped : counted_kernel<wrapped<F>> {
  using traits = callable_traits<F>;
  using operands = typename traits::operands;
  using outputs = result_of<typename traits::result>;
  using streams = decltype(std::tuple_cat(std::declval<typename outputs::types>(), std::declval<operands>()));
  static constexpr size_t noutputs = std::tuple_size_v<typename outputs::types>;
  static constexpr size_t noperands = std::tuple_size_v<operands>;
  static_assert(noperands >= 1 && noperands <= 8, "make_kernel: one to eight operands");
  static_assert(noutputs >= 1 && noutputs <= 8, "make_kernel: one to eight results");

  F function;

  // The kernel: the function is the deferred kernel's, which lives as long as the kernel does.
  struct leaf {
    ckernel_prefix base;
    const wrapped *owner;
  };

  wrapped(std::string name, F f, uint32_t flags, std::string doc)
      : counted_kernel<wrapped>(std::move(name), text_of(std::make_index_sequence<noperands>()), std::move(doc)),
        function(std::move(f)) {
    this->prototype = multi_operation_funcproto_id;
    this->flags = flags | (traits::nothrow ? uint32_t(dynd_callable_total) : 0);
    this->instantiate = make_leaf;
  }

private:
  template <size_t... I> static std::string text_of(std::index_sequence<I...>) {
    std::string text;
    ((text += (I ? ", " : "") + std::string(name_of<std::tuple_element_t<I, operands>>())), ...);
    return "(" + text + ") -> " + outputs::text();
  }

  static intptr_t make_leaf(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
    intptr_t end = offset + intptr_t(sizeof(leaf));
    if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
      return dynd_error_memory;
    }
    auto *made = reinterpret_cast<leaf *>(out->data + offset);
    made->base.function =
        bind->request == kernel_request_strided ? reinterpret_cast<void *>(strided) : reinterpret_cast<void *>(single);
    made->owner = wrapped::of(self);
    return end;
  }

  static int single(char *const *data, const ckernel_prefix *self, dynd_frame *frame) {
    const intptr_t stride[noutputs + noperands] = {};
    return strided(data, stride, 1, self, frame);
  }

  static int strided(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                     dynd_frame *frame) {
    const F &f = reinterpret_cast<const leaf *>(self)->owner->function;
    try {
      run(f, data, stride, count, std::make_index_sequence<noperands>());
    } catch (...) {
      return report_caught(frame);
    }
    return dynd_ok;
  }

  template <size_t... I>
  static void run(const F &f, char *const *data, const intptr_t *stride, size_t count, std::index_sequence<I...>) {
    auto loop = [&](auto... step) { // of all streams; numbers that the compiler knows make a loop that it vectorises
      const intptr_t steps[] = {intptr_t(step)...};
      char *base[noutputs + noperands]; // a store to bytes could change `data`, for all the compiler knows
      std::copy(data, data + noutputs + noperands, base);
      auto at = [&](size_t stream, size_t i) { return base[stream] + intptr_t(i) * steps[stream]; };
      for (size_t i = 0; i < count; i++) {
        char *to[noutputs];
        for (size_t o = 0; o < noutputs; o++) {
          to[o] = at(o, i);
        }
        outputs::write(to, f(read<std::tuple_element_t<I, operands>>(at(noutputs + I, i))...));
      }
    };
    [&]<size_t... S>(std::index_sequence<S...>) {
      if (((stride[S] == sizeof(std::tuple_element_t<S, streams>)) && ...)) {
        loop(std::integral_constant<intptr_t, sizeof(std::tuple_element_t<S, streams>)>()...);
      } else {
        loop(stride[S]...);
      }
    }
    (std::make_index_sequence<noutputs + noperands>());
  }
};

} // namespace detail

/// A deferred kernel from a function pointer, lambda or functor. Flags are those of deferred_ckernel_flags; a noexcept
/// function is total.
template <class F> kernel make_kernel(std::string name, F function, uint32_t flags = 0, std::string doc = "") {
  return kernel::adopt(new detail::wrapped<F>(std::move(name), std::move(function), flags, std::move(doc)));
}

} // namespace dynd::nd

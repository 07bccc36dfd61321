// Wrapping functions on spans and views: a C++ function becomes a kernel with core dimensions.
//
//   nd::kernel dot = nd::make_kernel("dot", "(N * float64, N * float64) -> float64",
//       [](std::span<const double> a, std::span<const double> b) { return std::inner_product(...); });
//   nd::kernel scale = nd::make_kernel("scale", "(M * N * float64, *, factor: float64 = 2) -> M * N * float64",
//       [](nd::view<double, 2> to, nd::view<const double, 2> from, const nd::given_keywords &k) { ... });
//
// The parameters are the operands in the order of the kernel: destinations, then sources. A core block is a std::span
// (one dimension without gaps) or a view (any strides), a `var` result a made_row; without core dimensions a source is
// a number, and a destination a reference. Where the only result is a number, the function may return it instead. A
// last parameter may take the keywords. Types and numbers of dimensions are compared with the signature. Exceptions are
// errors, as in wrap.h. A bool of an array is true where its byte is not zero, and C++ has bools of 0 and 1 only: rows
// of them are read as uint8, to which they are converted.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "dynd/call/signature.h"
#include "dynd/call/wrap.h"

namespace dynd::nd {

/// A block of N dimensions: sizes, and strides in bytes.
template <class T, int N> struct view {
  T *data;
  std::array<intptr_t, N> size, stride;

  template <class... Index> T &operator()(Index... i) const {
    static_assert(sizeof...(Index) == N, "view: an index for each dimension");
    const intptr_t at[] = {intptr_t(i)...};
    intptr_t offset = 0;
    for (int d = 0; d < N; d++) {
      offset += at[d] * stride[size_t(d)];
    }
    using bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
    return *reinterpret_cast<T *>(reinterpret_cast<bytes *>(data) + offset);
  }
};

/// A row that the function makes, where the result is `var * T`.
template <class T> class made_row {
public:
  made_row(const dynd_core_call &call, int destination, size_t i) : call_(&call), destination_(destination), i_(i) {}

  /// Memory for the elements of the row, zeroed. Has to be called, once, also where there are none.
  std::span<T> make(size_t count) const {
    char *memory = dynd_core_make(call_, destination_, i_, int64_t(count));
    return {memory ? reinterpret_cast<T *>(memory) : throw std::bad_alloc(), count};
  }

private:
  const dynd_core_call *call_;
  int destination_;
  size_t i_;
};

/// The keywords of a call, by name.
class given_keywords {
public:
  explicit given_keywords(const dynd_bind &bind) {
    for (uint32_t i = 0; i < bind.nkeywords; i++) {
      const dynd_keyword &k = bind.keyword[i];
      keyword_values::value v;
      v.name = k.name;
      v.type = k.type;
      v.missing = !k.value;
      ndt::type type(k.type);
      const type_data *t = without_option(type.get());
      v.is_text = t->kind == type_kind::string;
      if (k.value && v.is_text) {
        v.text = static_cast<const char *>(k.value);
      } else if (k.value) {
        std::memcpy(v.number, k.value, scalar_size[size_t(t->scalar)]);
      }
      all_.all.push_back(std::move(v));
    }
  }

  bool is_missing(std::string_view name) const { return find(name).missing; }
  const std::string &text(std::string_view name) const { return find(name).text; }
  /// A number of just that type; a type error where the signature has another.
  template <class T> T get(std::string_view name) const {
    const keyword_values::value &v = find(name);
    std::string_view type = v.type;
    if (type.substr(type[0] == '?') != detail::name_of<T>()) {
      fail(error_kind::type, "keyword " + v.name + " is " + v.type + ", not " + detail::name_of<T>());
    }
    return detail::read<T>(v.number);
  }

private:
  const keyword_values::value &find(std::string_view name) const {
    for (const keyword_values::value &v : all_.all) {
      if (v.name == name) {
        return v;
      }
    }
    fail(error_kind::type, "there is no keyword " + std::string(name));
  }
  keyword_values all_;
};

namespace detail {

// How a parameter of the function is made of a block.
template <class P> struct core_parameter { // a number
  using element = std::remove_cvref_t<P>;
  static constexpr int ndim = 0;
  static constexpr bool is_written = std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>;
  static constexpr bool needs_order = false, makes_rows = false;
  using made = std::conditional_t<is_written, P, element>; // lives as long as the call
  static made make(char *at, const intptr_t *, const intptr_t *) {
    if constexpr (is_written) {
      return *reinterpret_cast<element *>(at);
    } else {
      return read<element>(at);
    }
  }
};
template <class T> struct core_parameter<std::span<T>> {
  using element = std::remove_const_t<T>;
  static_assert(!std::is_same_v<T, const bool>, "bytes of an array are not C++ bools: take uint8_t, and say uint8");
  static constexpr int ndim = 1;
  static constexpr bool is_written = !std::is_const_v<T>, needs_order = true, makes_rows = false;
  static std::span<T> make(char *at, const intptr_t *size, const intptr_t *) {
    return {reinterpret_cast<T *>(at), size_t(size[0])};
  }
};
template <class T, int N> struct core_parameter<view<T, N>> {
  using element = std::remove_const_t<T>;
  static_assert(!std::is_same_v<T, const bool>, "bytes of an array are not C++ bools: take uint8_t, and say uint8");
  static constexpr int ndim = N;
  static constexpr bool is_written = !std::is_const_v<T>, needs_order = false, makes_rows = false;
  static view<T, N> make(char *at, const intptr_t *size, const intptr_t *stride) {
    view<T, N> made;
    made.data = reinterpret_cast<T *>(at);
    std::copy_n(size, N, made.size.begin());
    std::copy_n(stride, N, made.stride.begin());
    return made;
  }
};

template <class T> struct core_parameter<made_row<T>> {
  using element = T;
  static constexpr int ndim = 1;
  static constexpr bool is_written = true, needs_order = false, makes_rows = true;
};

// The parameters as they were written, not decayed.
template <class F> struct core_traits : core_traits<decltype(&F::operator())> {};
template <class R, class... A> struct core_traits<R (*)(A...)> {
  using result = R;
  using parameters = std::tuple<A...>;
};
template <class R, class... A> struct core_traits<R (*)(A...) noexcept> : core_traits<R (*)(A...)> {};
template <class C, class R, class... A> struct core_traits<R (C::*)(A...) const> : core_traits<R (*)(A...)> {};
template <class C, class R, class... A> struct core_traits<R (C::*)(A...) const noexcept> : core_traits<R (*)(A...)> {};

/// The function's kind-independent part: names, counting, and what a call has for each operand.
struct core_wrapped : counted_kernel<core_wrapped> {
  using counted_kernel::counted_kernel;
  virtual ~core_wrapped() = default;

  std::vector<std::vector<int64_t>> sizes; // size_numbers
  static constexpr size_t max_core = 4;    // dimensions of a block

  struct leaf {
    ckernel_prefix base;
    const core_wrapped *owner;
    const given_keywords *keywords; // owned
    intptr_t stride[max_external_operands][max_core];
  };

  static intptr_t make_leaf(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
    intptr_t end = offset + intptr_t(sizeof(leaf));
    if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
      return dynd_error_memory;
    }
    auto *made = reinterpret_cast<leaf *>(out->data + offset);
    try {
      made->keywords = new given_keywords(*bind);
    } catch (...) {
      return dynd_error_memory;
    }
    made->base.destructor = [](ckernel_prefix *own) { delete reinterpret_cast<leaf *>(own)->keywords; };
    made->base.function = of(self)->run;
    made->owner = of(self);
    for (uint32_t o = 0; o < bind->noperands; o++) {
      const dynd_arrmeta *meta = bind->arrmeta[o];
      std::copy_n(meta ? meta->stride : nullptr, meta ? meta->ndim : 0, made->stride[o]);
    }
    return end;
  }

  void *run = nullptr; // a core_operation_t
};

template <class F> struct core_function_of : core_wrapped {
  using result = typename core_traits<F>::result;
  using written = typename core_traits<F>::parameters;
  static constexpr size_t nwritten = std::tuple_size_v<written>;
  template <size_t I> using parameter = std::tuple_element_t<I, written>;
  static constexpr bool takes_keywords = [] {
    if constexpr (nwritten > 0) {
      return std::is_same_v<std::remove_cvref_t<parameter<nwritten - 1>>, given_keywords>;
    } else {
      return false;
    }
  }();
  static constexpr bool returns = !std::is_void_v<result>;
  static constexpr size_t nparameters = nwritten - takes_keywords;
  static constexpr size_t noperands = nparameters + returns;
  using all = std::make_index_sequence<nparameters>;

  F function;

  core_function_of(std::string name, std::string signature, F f, uint32_t flags, std::string doc)
      : core_wrapped(std::move(name), std::move(signature), std::move(doc)), function(std::move(f)) {
    run = reinterpret_cast<void *>(call);
    prototype = core_operation_funcproto_id;
    this->flags = flags | (needs_order(all()) ? uint32_t(dynd_callable_c_layout) : 0);
    instantiate = make_leaf;
    kernel_signature parts = read_signature(*this);
    check(parts, all());
    sizes = size_numbers(parts);
  }

private:
  template <size_t... I> static constexpr bool needs_order(std::index_sequence<I...>) {
    return (core_parameter<parameter<I>>::needs_order || ... || false);
  }

  template <size_t... I> void check(const kernel_signature &parts, std::index_sequence<I...>) {
    std::vector<const core_pattern *> wanted;
    for (const core_pattern &p : parts.results) {
      wanted.push_back(&p);
    }
    for (const core_pattern &p : parts.operands) {
      wanted.push_back(&p);
    }
    if (wanted.size() != noperands || (returns && parts.results.size() != 1)) {
      wrong("has " + std::to_string(wanted.size()) + " operands and results, the function " +
            std::to_string(noperands));
    }
    if constexpr (returns) {
      compare(*wanted[0], name_of<result>(), 0, true, 0, true);
    }
    (compare(*wanted[I + returns], name_of<typename core_parameter<parameter<I>>::element>(),
             core_parameter<parameter<I>>::ndim, core_parameter<parameter<I>>::is_written, I + returns,
             I + returns < parts.results.size()),
     ...);
    for (size_t o = 0; o < parts.results.size(); o++) {
      constexpr bool makes[] = {false, core_parameter<parameter<I>>::makes_rows...};
      const core_pattern &p = *wanted[o];
      bool is_made = !p.dims.empty() && p.dims[0].kind == type_kind::var_dim;
      if (is_made != makes[returns ? 0 : o + 1]) {
        wrong(is_made ? "has a result of var rows, which the function takes as nd::made_row"
                      : "has no var rows, and the function makes some");
      }
    }
  }

  void compare(const core_pattern &p, const char *type, int ndim, bool is_written, size_t i, bool result_of_it) {
    std::string where = "operand " + std::to_string(i);
    if (p.dtype.str() != type || int(p.dims.size()) != ndim) {
      wrong("says that " + where + " has " + std::to_string(p.dims.size()) + " dimensions of " +
            std::string(p.dtype.str()) + ", the function takes " + std::to_string(ndim) + " of " + type);
    }
    if (is_written != (result_of_it || p.inout)) {
      wrong("says that " + where + (is_written ? " is not written" : " is written") +
            ", the function says the opposite");
    }
    if (p.inout && p.dtype == ndt::make_scalar(scalar_id::bool_)) {
      wrong("says that " + where + " is read and written, and bytes of an array are not C++ bools");
    }
    if (p.dims.size() > max_core) {
      wrong("has more than " + std::to_string(max_core) + " core dimensions");
    }
  }

  [[noreturn]] void wrong(const std::string &why) const {
    fail(error_kind::type, name_text + ": signature \"" + signature_text + "\" " + why);
  }

  static int call(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
    auto *made = reinterpret_cast<const leaf *>(self);
    size_t i = 0;
    try {
      for (; i < call->count; i++) {
        call_one(*made, *call, i, all());
      }
    } catch (...) {
      fail_element(frame, i);
      return report_caught(frame);
    }
    return dynd_ok;
  }

  template <size_t P> static decltype(auto) block(const leaf &made, const dynd_core_call &call, size_t i) {
    constexpr size_t o = P + returns;
    const std::vector<int64_t> &own = made.owner->sizes[o];
    intptr_t size[max_core];
    for (size_t d = 0; d < own.size(); d++) {
      size[d] = own[d] < 0 ? -2 - own[d] : dynd_core_size(&call, int(own[d]), i);
    }
    return core_parameter<parameter<P>>::make(dynd_core_data(&call, int(o), i), size, made.stride[o]);
  }

  template <size_t... I>
  static void call_one(const leaf &made, const dynd_core_call &call, size_t i, std::index_sequence<I...>) {
    const auto &self = static_cast<const core_function_of &>(*made.owner);
    auto argument = [&]<size_t P>(std::integral_constant<size_t, P>) -> decltype(auto) {
      constexpr size_t o = P + returns;
      if constexpr (core_parameter<parameter<P>>::makes_rows) {
        return parameter<P>(call, int(o), i);
      } else {
        return block<P>(made, call, i);
      }
    };
    auto run = [&]() -> result {
      if constexpr (takes_keywords) {
        return self.function(argument(std::integral_constant<size_t, I>())..., *made.keywords);
      } else {
        return self.function(argument(std::integral_constant<size_t, I>())...);
      }
    };
    if constexpr (returns) {
      put(dynd_core_data(&call, 0, i), run());
    } else {
      run();
    }
  }
};

} // namespace detail

/// A kernel from a function on spans, views and numbers, with a signature that says its core dimensions.
template <class F>
kernel make_kernel(std::string name, std::string signature, F function, uint32_t flags = 0, std::string doc = "") {
  return kernel::adopt(new detail::core_function_of<F>(std::move(name), std::move(signature), std::move(function),
                                                       flags, std::move(doc)));
}

} // namespace dynd::nd

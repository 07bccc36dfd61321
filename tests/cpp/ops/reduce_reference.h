// What reductions must give, one element after another, and values for them.
#pragma once

#include "isa_testing.h"

#include "dynd/ops/operation.h"

namespace dynd::testing {

template <class T> T reference_combine(reduction_id id, T a, T b) {
  switch (id) {
  case reduction_id::sum:
    if constexpr (is_complex_type<T>) {
      return {a.real + b.real, a.imag + b.imag};
    } else if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return T(uint64_t(a) + uint64_t(b));
    }
  case reduction_id::prod:
    if constexpr (is_complex_type<T>) {
      auto is_one = [](T x) { return x.real == 1 && x.imag == 0; };
      T product = {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
      return is_one(b) ? a : is_one(a) ? b : product;
    } else if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return T(uint64_t(a) * uint64_t(b));
    }
  default:
    break;
  }
  if constexpr (std::is_arithmetic_v<T>) {
    if (a == b) { // zeros: the negative one is smaller
      return std::signbit(double(a)) == (id == reduction_id::min) ? a : b;
    }
    bool takes_b = id == reduction_id::min ? b < a : b > a;
    return b != b || takes_b ? b : a;
  } else {
    ADD_FAILURE() << "no order";
    return a;
  }
}

/// What the references below reduce: a bool is a uint8_t too, but no other number than 0 and 1.
inline scalar_id reference_type;

template <class T> T reference_identity(reduction_id id) {
  if (reference_type == scalar_id::bool_) {
    return make<T>(id == reduction_id::min || id == reduction_id::prod);
  }
  if constexpr (is_complex_type<T>) {
    return id == reduction_id::prod ? T{1, 0} : T{-0.0, -0.0};
  } else {
    using limits = std::numeric_limits<T>;
    T most = limits::has_infinity ? limits::infinity() : limits::max();
    T least = limits::has_infinity ? -limits::infinity() : limits::lowest();
    return id == reduction_id::sum ? T(-0.0) : id == reduction_id::prod ? T(1) : id == reduction_id::min ? most : least;
  }
}

template <class T> using lane_vector = std::vector<T>;

template <class T> lane_vector<T> reference_block(reduction_id id, const T *x, size_t n) {
  size_t count = 64 / sizeof(T);
  lane_vector<T> lanes(count, reference_identity<T>(id));
  for (size_t i = 0; i < n; ++i) {
    lanes[i % count] = i < count ? x[i] : reference_combine(id, lanes[i % count], x[i]);
  }
  return lanes;
}

/// The pairs of the binary counter as a recursion: the left part has the largest power of two below the block count.
template <class T> lane_vector<T> reference_lanes(reduction_id id, const T *x, size_t n) {
  if (n <= 64) {
    return reference_block(id, x, n);
  }
  size_t blocks = (n + 63) / 64;
  size_t left = 1;
  while (left * 2 < blocks) {
    left *= 2;
  }
  lane_vector<T> a = reference_lanes(id, x, left * 64);
  lane_vector<T> b = reference_lanes(id, x + left * 64, n - left * 64);
  for (size_t j = 0; j < a.size(); ++j) {
    a[j] = reference_combine(id, a[j], b[j]);
  }
  return a;
}

template <class T> T reference_fold(reduction_id id, lane_vector<T> lanes) {
  for (size_t half = lanes.size() / 2; half; half /= 2) {
    for (size_t j = 0; j < half; ++j) {
      lanes[j] = reference_combine(id, lanes[j], lanes[j + half]);
    }
  }
  return lanes[0];
}

template <class T> T reference_reduce(reduction_id id, const T *x, size_t n) {
  if (n == 0 && reduction_of(id).empty == empty_rule::zero) {
    return make<T>(0);
  }
  return reference_fold(id, reference_lanes(id, x, n));
}

/// Calls f(type tag, reduction, functions) for all folds that give a value, or for those that give a position, at every
/// level.
template <class F> void for_each_reduction(F f, bool index = false) {
  for_each_level([&](const isa_table &table) {
    for (size_t reduction = 0; reduction < reduction_count; ++reduction) {
      SCOPED_TRACE(reduction_of(reduction_id(reduction)).name);
      for_each_scalar([&]<class T>(tag<T> t, scalar_id type) {
        const reduce_functions &functions = table.reduce(reduction_id(reduction), type);
        if constexpr (!is_half<T>) { // reduced in float32
          if (functions.lanes && functions.index == index && !::testing::Test::HasFatalFailure()) {
            SCOPED_TRACE(scalar_name[size_t(type)]);
            reference_type = type;
            f(t, reduction_id(reduction), functions, type);
          }
        }
      });
    }
  });
}

/// Mostly ordinary values, so that NaN does not swallow every sum; every third row has awkward ones, and every fifth
/// only zeros of both signs, where the order of operands shows.
template <class T> std::vector<T> reduction_values(std::mt19937_64 &random, scalar_id type, size_t n, size_t row) {
  std::vector<T> values(n);
  for (T &value : values) {
    if (row % 5 == 1) {
      value = random() % 2 ? make<T>(0) : make<T>(-0.0);
    } else if (row % 3 == 0) {
      value = random_value<T>(random, type);
    } else if constexpr (is_complex_type<T>) {
      value = {reduction_values<typename real_of<T>::type>(random, type, 1, row)[0],
               reduction_values<typename real_of<T>::type>(random, type, 1, row)[0]};
    } else if constexpr (std::is_floating_point_v<T>) {
      value = T(int64_t(random())) * T(1e-18) * (random() % 4 ? T(1) : T(1e5));
    } else {
      value = type == scalar_id::bool_ ? T(random() % 2) : T(random());
    }
  }
  return values;
}

} // namespace dynd::testing

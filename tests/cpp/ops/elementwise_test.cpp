// Every elementwise row, in every type, at every level that this CPU can run.
#include "level_testing.h"

#include <algorithm>

#include "dynd/ops/operation.h"

namespace dynd::testing {
namespace {

/// What NumPy computes, written apart from the rows. Integers wrap.
template <class T> T reference_quotient(T a, T b, T *rest) {
  if constexpr (std::is_floating_point_v<T>) {
    T mod = std::fmod(a, b);
    if (b == 0) {
      *rest = mod;
      return a / b;
    }
    T div = (a - mod) / b;
    if (mod != 0) {
      if ((b < 0) != (mod < 0)) {
        mod += b;
        div -= 1;
      }
    } else {
      mod = std::copysign(T(0), b);
    }
    *rest = mod;
    if (div == 0) {
      return std::copysign(T(0), a / b);
    }
    T whole = std::floor(div);
    return div - whole > T(0.5) ? whole + 1 : whole;
  } else {
    __int128 quotient = __int128(a) / b;
    if (__int128(a) % b != 0 && (a < 0) != (b < 0)) {
      --quotient;
    }
    *rest = T(__int128(a) - quotient * b);
    return T(quotient);
  }
}

template <class T> T wrapped(__int128 x) { return T(x); }

template <class T> T product(T x, T y) { return x * y; }
/// Wraps: the product of two large uint64 does not fit.
__int128 product(__int128 x, __int128 y) { return __int128((unsigned __int128)(x) * (unsigned __int128)(y)); }

template <class T>
bool real_reference(const std::string &name, bool is_bool, T a, T b, T *result, T *result2, bool *truth) {
  auto number = [&](auto f) {
    if constexpr (std::is_floating_point_v<T>) {
      *result = f(a, b);
    } else {
      *result = wrapped<T>(f(__int128(a), __int128(b)));
    }
    return true;
  };
  if (is_bool) {
    a = a != 0;
    b = b != 0;
  }
  if (name == "add") {
    return number([](auto x, auto y) { return x + y; });
  } else if (name == "subtract") {
    return number([](auto x, auto y) { return x - y; });
  } else if (name == "multiply") {
    return number([](auto x, auto y) { return product(x, y); });
  } else if (name == "negative") {
    return number([](auto x, auto) { return -x; });
  } else if (name == "square") {
    return number([](auto x, auto) { return product(x, x); });
  } else if (name == "abs") {
    return number([](auto x, auto) { return x <= 0 ? 0 - x : x; });
  } else if (name == "minimum") {
    *result = a != a ? a : b != b ? b : b < a ? b : a;
  } else if (name == "maximum") {
    *result = a != a ? a : b != b ? b : b > a ? b : a;
  } else if (name == "less") {
    *truth = a < b;
  } else if (name == "equal") {
    *truth = a == b;
  } else if (name == "less_equal") {
    *truth = a <= b;
  } else if (name == "greater") {
    *truth = a > b;
  } else if (name == "greater_equal") {
    *truth = a >= b;
  } else if (name == "not_equal") {
    *truth = a != b;
  } else if (name == "divmod") {
    if (!std::is_floating_point_v<T> && b == 0) {
      return false;
    }
    *result = reference_quotient(a, b, result2);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (name == "divide") {
      *result = a / b;
    } else if (name == "sqrt") {
      *result = std::sqrt(a);
    } else {
      return false;
    }
  } else {
    return false;
  }
  return true;
}

/// What the formulas of the rows say of complex numbers, without a loop around them.
template <class T>
bool complex_reference(const std::string &name, complex_of<T> a, complex_of<T> b, complex_of<T> *result, bool *truth) {
  auto times = [](complex_of<T> x, complex_of<T> y) {
    T rr = x.real * y.real, ii = x.imag * y.imag, ri = x.real * y.imag, ir = x.imag * y.real;
    return complex_of<T>{rr - ii, ri + ir};
  };
  if (name == "add") {
    *result = {a.real + b.real, a.imag + b.imag};
  } else if (name == "subtract") {
    *result = {a.real - b.real, a.imag - b.imag};
  } else if (name == "multiply") {
    *result = times(a, b);
  } else if (name == "square") {
    *result = times(a, a);
  } else if (name == "negative") {
    *result = {-a.real, -a.imag};
  } else if (name == "equal") {
    *truth = a.real == b.real && a.imag == b.imag;
  } else if (name == "not_equal") {
    *truth = !(a.real == b.real && a.imag == b.imag);
  } else if (name == "divide") { // as NumPy's loop does it
    if (std::fabs(b.real) >= std::fabs(b.imag)) {
      if (b.real == 0 && b.imag == 0) {
        *result = {a.real / std::fabs(b.real), a.imag / std::fabs(b.real)};
        return true;
      }
      T ratio = b.imag / b.real, scale = T(1) / (b.real + b.imag * ratio);
      *result = {(a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale};
    } else {
      T ratio = b.real / b.imag, scale = T(1) / (b.imag + b.real * ratio);
      *result = {(a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale};
    }
  } else {
    return false;
  }
  return true;
}

/// False where the operation has no reference here (a new row: the comparison between loops still covers it). Of rows
/// that compare, the result is `truth`.
template <class T>
bool reference(const std::string &name, bool is_bool, T a, T b, T c, bool condition, T *result, T *result2,
               bool *truth) {
  if (name == "where") {
    *result = condition ? b : c;
    if (is_bool) {
      *result = make<T>(!same_bits(*result, make<T>(0)));
    }
    return true;
  }
  if constexpr (is_complex_type<T>) {
    return complex_reference(name, a, b, result, truth);
  } else if constexpr (is_half<T>) { // in float, rounded once
    float wide = 0, wide2 = 0;
    bool found = reference<float>(name, false, value_of(a), value_of(b), value_of(c), condition, &wide, &wide2, truth);
    *result = nearest_float16(wide);
    *result2 = nearest_float16(wide2);
    return found;
  } else {
    return real_reference(name, is_bool, a, b, result, result2, truth);
  }
}
/// Operands in memory that ends at a page boundary, so that a loop that reads or writes too far dies.
template <class T> struct operands {
  static constexpr size_t most = 220;
  guarded_memory memory[5] = {guarded_memory(most * 16), guarded_memory(most * 16), guarded_memory(most * 16),
                              guarded_memory(most * 16), guarded_memory(most * 16)};
};

template <class T> class row_check {
public:
  row_check(op_id op, scalar_id type)
      : row_(operation_of(op)), op_(op), type_(type), random_(uint64_t(op) * 100 + uint64_t(type)) {}

  void run(size_t n, size_t skip) {
    bool select = row_.kind == op_kind::select;
    bool compare = row_.kind == op_kind::compare;
    size_t a_size = select ? 1 : sizeof(T);
    bool magnitude = row_.kind == op_kind::magnitude && is_complex_type<T>; // real numbers come of it
    size_t d_size = compare ? 1 : magnitude ? sizeof(T) / 2 : sizeof(T);
    std::vector<T> a = random_values<T>(random_, type_, n);
    std::vector<T> b = random_values<T>(random_, type_, n);
    std::vector<T> c = random_values<T>(random_, type_, n);
    std::vector<unsigned char> condition = random_values<unsigned char>(random_, scalar_id::bool_, n);
    if constexpr (std::is_integral_v<T>) {
      for (T &x : b) {
        x = row_.fallible_integers && x == 0 ? T(3) : x;
      }
    }
    const void *a_source = select ? static_cast<const void *>(condition.data()) : a.data();
    // expected: by the generic strides, which the reference confirms
    std::vector<T> expected(n + 1), expected2(n + 1);
    char *data[5];
    intptr_t stride[5];
    int k = 0;
    auto operand = [&](const void *p, size_t size) {
      data[k] = static_cast<char *>(const_cast<void *>(p));
      stride[k++] = intptr_t(size);
    };
    operand(expected.data(), d_size);
    if (row_.outputs == 2) {
      operand(expected2.data(), sizeof(T));
    }
    operand(a_source, a_size);
    operand(b.data(), sizeof(T));
    operand(c.data(), sizeof(T));
    ASSERT_EQ(strided_elementwise[size_t(op_)][size_t(type_)](data, stride, n), 0u);
    for (size_t i = 0; i < n; ++i) {
      T wanted{}, wanted2{};
      bool truth = false;
      if (!reference<T>(row_.name, type_ == scalar_id::bool_, a[i], b[i], c[i], condition[i] != 0, &wanted, &wanted2,
                        &truth)) {
        continue;
      }
      if (compare) {
        ASSERT_EQ(int(reinterpret_cast<unsigned char *>(expected.data())[i]), int(truth))
            << show(a[i]) << ", " << show(b[i]);
      } else {
        T got = expected[i];
        ASSERT_TRUE(same_bits(got, wanted))
            << show(a[i]) << ", " << show(b[i]) << " gave " << show(got) << ", not " << show(wanted);
        ASSERT_TRUE(row_.outputs == 1 || same_bits(expected2[i], wanted2))
            << show(a[i]) << ", " << show(b[i]) << " gave " << show(expected2[i]) << ", not " << show(wanted2);
      }
    }
    for_each_level([&](const isa_table &table) {
      for (bool stream : {false, true}) {
        block_fn f = (stream ? table.elementwise_stream : table.elementwise)[size_t(op_)][size_t(type_)];
        if (!f) {
          EXPECT_TRUE(stream && row_.outputs == 2);
          continue;
        }
        for (int in_place = 0; in_place < 4; ++in_place) {
          if (in_place && (compare || magnitude || stream || (in_place == 1 && select) || in_place > row_.arity)) {
            continue;
          }
          // every operand is followed by a page that must not be touched; `skip` elements move the alignment
          char *source[3];
          const void *original[3] = {a_source, b.data(), c.data()};
          for (int s = 0; s < 3; ++s) {
            size_t size = s == 0 ? a_size : sizeof(T);
            source[s] = memory_.memory[s].at_end() + (operands<T>::most * 16 - (n + skip) * size);
            put(source[s], original[s], n * size);
          }
          char *d = memory_.memory[3].at_end() + (operands<T>::most * 16 - (n + skip) * d_size);
          std::memset(d, 0x5a, (n + skip) * d_size);
          char *d2 = memory_.memory[4].at_end() + (operands<T>::most * 16 - (n + skip) * sizeof(T));
          char *to = in_place ? source[in_place - 1] : d;
          ASSERT_EQ(f(to, source[0], row_.arity > 1 ? source[1] : nullptr, row_.arity > 2 ? source[2] : nullptr, n,
                      row_.outputs == 2 ? d2 : nullptr),
                    0u);
          if (magnitude) {
            using real = typename real_of<T>::type;
            const real *wanted = reinterpret_cast<const real *>(expected.data());
            std::vector<real> got(n);
            put(reinterpret_cast<char *>(got.data()), to, n * sizeof(real));
            ASSERT_TRUE(same_bits(got, std::vector<real>(wanted, wanted + n)));
          } else {
            compare_results(to, expected, n, compare, a, b);
          }
          if (row_.outputs == 2) {
            compare_results(d2, expected2, n, false, a, b);
          }
          if (!in_place) {
            for (size_t i = n * d_size; i < (n + skip) * d_size; ++i) {
              ASSERT_EQ(d[i], 0x5a) << "wrote past the end";
            }
          }
        }
      }
    });
  }

private:
  void compare_results(const char *got, const std::vector<T> &expected, size_t n, bool bytes, const std::vector<T> &a,
                       const std::vector<T> &b) {
    if (bytes) {
      ASSERT_TRUE(std::equal(got, got + n, reinterpret_cast<const char *>(expected.data())));
      return;
    }
    for (size_t i = 0; i < n; ++i) {
      T x;
      std::memcpy(&x, got + i * sizeof(T), sizeof(T));
      ASSERT_TRUE(same_bits(x, expected[i])) << "element " << i << " of " << n << ": " << show(a[i]) << ", "
                                             << show(b[i]) << " gave " << show(x) << ", not " << show(expected[i]);
    }
  }

  const operation &row_;
  op_id op_;
  scalar_id type_;
  std::mt19937_64 random_;
  operands<T> memory_;
};

TEST(Elementwise, EveryRowInEveryTypeAtEveryLevel) {
  for (size_t op = 0; op < op_count; ++op) {
    SCOPED_TRACE(operation_of(op_id(op)).name);
    for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
      SCOPED_TRACE(scalar_name[size_t(type)]);
      if (!strided_elementwise[op][size_t(type)]) {
        for_each_level([&](const isa_table &table) { EXPECT_FALSE(table.elementwise[op][size_t(type)]); });
        return;
      }
      row_check<T> check(op_id{uint8_t(op)}, type);
      for (size_t n = 0; n <= 200; ++n) {
        check.run(n, n % 9);
        if (::testing::Test::HasFatalFailure()) {
          return;
        }
      }
    });
  }
}

TEST(Elementwise, TypesOfARowAreThoseOfItsSet) {
  for (size_t op = 0; op < op_count; ++op) {
    for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
      type_set set = operation_of(op_id(op)).set;
      bool truth = type == scalar_id::bool_, integer = std::is_integral_v<T> && !truth, complex = is_complex_type<T>;
      bool expected = truth     ? set == type_set::all || set == type_set::ordered
                      : complex ? set == type_set::all || set == type_set::numbers || set == type_set::floats
                                : !integer || set != type_set::floats;
      EXPECT_EQ(strided_elementwise[op][size_t(type)] != nullptr, expected);
    });
  }
}

TEST(Elementwise, IntegerDivisionByZeroIsReportedAndNeverTraps) {
  for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
    if (type == scalar_id::bool_ || is_complex_type<T>) {
      return;
    }
    for_each_level([&](const isa_table &table) {
      for (size_t n : {1, 5, 64, 131}) {
        for (size_t bad : {size_t(0), n / 2, n - 1}) {
          std::vector<T> a(n, make<T>(std::numeric_limits<typename real_of<T>::type>::lowest()));
          std::vector<T> b(n, make<T>(-1));
          std::vector<T> d(n), d2(n);
          block_fn f = table.elementwise[size_t(op_id::divmod)][size_t(type)];
          EXPECT_EQ(f(d.data(), a.data(), b.data(), nullptr, n, d2.data()), 0u);
          b[bad] = make<T>(0);
          EXPECT_EQ(f(d.data(), a.data(), b.data(), nullptr, n, d2.data()), std::is_integral_v<T> ? 1u : 0u);
        }
      }
    });
  });
}

TEST(Elementwise, StreamingStoresOfLongRunsEqualPlainOnes) {
  std::mt19937_64 random(5);
  for (size_t op = 0; op < op_count; ++op) {
    SCOPED_TRACE(operation_of(op_id(op)).name);
    for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
      size_t n = 5003;
      std::vector<T> a = random_values<T>(random, type, n), b = random_values<T>(random, type, n), c = a;
      for_each_level([&](const isa_table &table) {
        block_fn plain = table.elementwise[op][size_t(type)];
        block_fn stream = table.elementwise_stream[op][size_t(type)];
        if (!stream) {
          return;
        }
        for (size_t shift : {0, 1, 3, 64}) {
          std::vector<char> d(n * sizeof(T) + 200, 1), e = d;
          plain(d.data() + shift, a.data(), b.data(), c.data(), n, nullptr);
          stream(e.data() + shift, a.data(), b.data(), c.data(), n, nullptr);
          EXPECT_EQ(d, e);
        }
      });
    });
  }
}

/// The rule that scalar_math.h states, in other words.
template <class To, class From> To reference_real_conversion(From x, bool to_bool, bool from_bool) {
  if (from_bool) {
    x = x != 0;
  }
  if (to_bool) {
    return To(x != 0);
  }
  if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    bool narrow = sizeof(To) < 4 || std::is_same_v<To, int32_t>;
    long double value = x;
    if (narrow) {
      return To(value > -2147483649.0L && value < 2147483648.0L ? int32_t(value) : INT32_MIN);
    }
    if (std::is_same_v<To, uint64_t> && value >= 0x1p63L) {
      return value < 0x1p64L ? To(uint64_t(value)) : To(0);
    }
    return To(value >= -0x1p63L && value < 0x1p63L ? int64_t(value) : INT64_MIN);
  } else {
    return To(x);
  }
}

template <class To, class From> To reference_conversion(From x, bool to_bool, bool from_bool) {
  if constexpr (std::is_same_v<To, From> && !std::is_arithmetic_v<To>) {
    return x;
  } else if constexpr (is_complex_type<From>) {
    using part = typename real_of<To>::type;
    if (to_bool) {
      return make<To>(x.real != 0 || x.imag != 0);
    }
    if constexpr (is_complex_type<To>) {
      return {part(x.real), part(x.imag)};
    } else {
      return reference_conversion<To>(x.real, false, false);
    }
  } else if constexpr (is_complex_type<To>) {
    return {reference_conversion<typename real_of<To>::type>(x, false, from_bool), 0};
  } else if constexpr (is_half<From>) {
    return reference_conversion<To>(value_of(x), to_bool, false);
  } else if constexpr (is_half<To>) {
    return nearest_float16(from_bool ? x != 0 : x);
  } else {
    return reference_real_conversion<To>(x, to_bool, from_bool);
  }
}

TEST(Convert, EveryPairAtEveryLevel) {
  std::mt19937_64 random(7);
  for_each_scalar([&]<class To>(tag<To>, scalar_id to) {
    for_each_scalar([&]<class From>(tag<From>, scalar_id from) {
      SCOPED_TRACE(std::string(scalar_name[size_t(from)]) + " to " + scalar_name[size_t(to)]);
      for (size_t n = 0; n < 200; n += 1 + n % 3) {
        std::vector<From> a = random_values<From>(random, from, n);
        std::vector<To> expected(n);
        for (size_t i = 0; i < n; ++i) {
          expected[i] = reference_conversion<To>(a[i], to == scalar_id::bool_, from == scalar_id::bool_);
        }
        guarded_memory source(n * sizeof(From)), target(n * 16);
        put(source.at_end(), a.data(), n * sizeof(From));
        auto verify = [&](const char *got) {
          for (size_t i = 0; i < n; ++i) {
            To x;
            std::memcpy(&x, got + i * sizeof(To), sizeof(To));
            ASSERT_TRUE(same_bits(x, expected[i]))
                << show(a[i]) << " gave " << show(x) << ", not " << show(expected[i]);
          }
        };
        char *data[2] = {target.at_begin(), source.at_end()};
        intptr_t stride[2] = {sizeof(To), sizeof(From)};
        strided_convert[size_t(to)][size_t(from)](data, stride, n);
        verify(data[0]);
        for_each_level([&](const isa_table &table) {
          block_fn f = table.convert(to, from);
          char *d = target.at_end() + n * 16 - n * sizeof(To);
          EXPECT_EQ(f(d, source.at_end(), nullptr, nullptr, n, nullptr), 0u);
          verify(d);
          if (sizeof(To) == sizeof(From)) {
            put(d, a.data(), n * sizeof(From));
            f(d, d, nullptr, nullptr, n, nullptr);
            verify(d);
          }
        });
      }
    });
  });
}

TEST(Convert, StreamingCopies) {
  for_each_level([&](const isa_table &table) {
    const scalar_id of_size[] = {scalar_id::uint8, scalar_id::uint16, scalar_id::uint32, scalar_id::uint64,
                                 scalar_id::complex128};
    for (int log2 = 0; log2 < 5; ++log2) {
      block_fn copy = table.convert_stream[0][size_t(of_size[log2])][size_t(of_size[log2])];
      for (size_t n : {0, 1, 7, 63, 64, 65, 200, 3001}) {
        for (size_t shift : {0, 1, 8, 40}) {
          std::vector<char> a((n << log2) + 100), d(a.size() + 64, 1), e = d;
          for (size_t i = 0; i < a.size(); ++i) {
            a[i] = char(i * 7);
          }
          put(e.data() + shift, a.data() + 3, n << log2);
          copy(d.data() + shift, a.data() + 3, nullptr, nullptr, n, nullptr);
          EXPECT_EQ(d, e);
        }
      }
    }
  });
}

TEST(Strided, AnyStrideAndOrder) {
  std::mt19937_64 random(9);
  std::vector<double> a = random_values<double>(random, scalar_id::float64, 100);
  std::vector<double> b = random_values<double>(random, scalar_id::float64, 100), d(100, 1.0);
  char *data[3] = {reinterpret_cast<char *>(d.data()), reinterpret_cast<char *>(a.data() + 60),
                   reinterpret_cast<char *>(b.data())};
  intptr_t stride[3] = {24, -16, 0};
  EXPECT_EQ(strided_elementwise[size_t(op_id::add)][size_t(scalar_id::float64)](data, stride, 31), 0u);
  for (size_t i = 0; i < 31; ++i) {
    EXPECT_TRUE(same_bits(d[3 * i], a[60 - 2 * i] + b[0]));
    EXPECT_EQ(d[3 * i + 1], 1.0);
  }
}

} // namespace
} // namespace dynd::testing

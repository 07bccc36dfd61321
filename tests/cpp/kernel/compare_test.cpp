// Comparison kernels of every kind, run directly on the streams of arrays.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.h"
#include "compare_oracle.h"
#include "dynd/array/array.h"
#include "dynd/base/errors.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/compare.h"
#include "dynd/ops/isa.h"
#include "fixture.h"

namespace dynd::testing {
namespace {

// ---- numbers --------------------------------------------------------------------------------------------------------

template <class T> bool holds(long double n) {
  if (std::isnan(n) || std::isinf(n)) {
    return std::is_floating_point_v<T>;
  }
  return n >= static_cast<long double>(std::numeric_limits<T>::lowest()) &&
         n <= static_cast<long double>(std::numeric_limits<T>::max()) &&
         static_cast<long double>(static_cast<T>(n)) == n;
}

/// Eleven bits, the last of them 2^-24 or more.
template <> bool holds<float16>(long double n) {
  if (std::isnan(n) || std::isinf(n) || n == 0) {
    return true;
  }
  return std::fabs(n) <= 65504 && std::fmod(n, std::ldexp(1.0L, std::max(std::ilogb(n) - 10, -24))) == 0;
}

template <class T> void add_if_held(std::vector<value> &values, long double n) {
  if constexpr (kind_of_storage<T> == number_kind::complex) {
    if (holds<decltype(T::real)>(n)) {
      long double others[] = {0.0L, -0.0L, 1.0L, std::nanl("")};
      values.push_back(value::of(n, others[values.size() % 4]));
      values.push_back(value::of(n));
      values.push_back(value::of(1, n));
    }
  } else if (holds<T>(n)) {
    values.push_back(value::of(n));
  }
}

/// Every one of these that the type holds: around zero, the ends of all types, where floats begin to skip integers.
std::vector<value> numbers_of(scalar_id scalar) {
  std::vector<long double> candidates = {0.0L,   -0.0L,           0.5L, 1.5L, 0x1p-1074L, 0x1p-149L, 0x1p-24L, 65504.0L,
                                         1e300L, 0x1.fffffep127L, 0.1};
  for (int bits : {0, 1, 7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64}) {
    for (long double off : {-1.0L, -0.5L, 0.0L, 0.5L, 1.0L, 2.0L}) {
      candidates.push_back(std::ldexp(1.0L, bits) + off);
    }
  }
  for (size_t i = candidates.size(); i-- > 0;) {
    candidates.push_back(-candidates[i]);
  }
  candidates.push_back(HUGE_VALL);
  candidates.push_back(-HUGE_VALL);
  candidates.push_back(std::nanl(""));
  std::vector<value> values;
  for (long double n : candidates) {
    if (scalar == scalar_id::bool_) {
      if (n == 0 || n == 1) {
        values.push_back(value::of(n));
      }
      continue;
    }
    switch (scalar) {
#define DYND_SCALAR(id, name, ctype)                                                                                   \
  case scalar_id::id:                                                                                                  \
    add_if_held<ctype>(values, n);                                                                                     \
    break;
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
    }
  }
  return values;
}

TEST(Compare, NumbersOfAnyTwoTypesExactly) {
  for (size_t i = 0; i < scalar_count; i++) {
    for (size_t j = 0; j < scalar_count; j++) {
      check_all_pairs(scalar_name[i], numbers_of(scalar_id(i)), scalar_name[j], numbers_of(scalar_id(j)));
    }
  }
}

TEST(Compare, NumbersWithTheirBytesInTheOtherOrder) {
  for (const char *name :
       {"int16", "uint32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"}) {
    ndt::type type(name);
    std::vector<value> values = numbers_of(type->scalar);
    std::string swapped = std::string("byteswap[") + name + "]";
    check_all_pairs(swapped, values, swapped, values);
    check_all_pairs(swapped, values, "float64", numbers_of(scalar_id::float64));
    check_all_pairs("int64", numbers_of(scalar_id::int64), swapped, values);
  }
}

TEST(Compare, NumbersOfOneTypeInBlocksAtAnyStride) {
  constexpr size_t count = 1300; // more than two blocks
  for (const char *name :
       {"bool", "int8", "uint16", "int32", "float16", "float32", "float64", "int64", "complex64", "complex128"}) {
    std::vector<value> pool = numbers_of(ndt::type(name)->scalar), left, right;
    for (size_t i = 0; i < 2 * count; i++) {
      left.push_back(pool[i * 7 % pool.size()]);
      right.push_back(pool[i * i % pool.size()]);
    }
    nd::array a = array_of(name, left), b = array_of(name, right);
    for (const walk &w : {walk{0, 1, 0, 1, 1}, walk{0, 2, 3, 1, 3}, walk{5, 0, 0, 1, 1}, walk{0, 1, 9, 0, -2},
                          walk{2 * count - 1, -1, 0, 2, 1}, walk{1, 0, 2, 0, 1}}) {
      for (comparison which : all_comparisons) {
        if (!has(which, name, name)) {
          continue;
        }
        std::vector<char> results = strided(a, b, w, count, which);
        for (size_t i = 0; i < count; i++) {
          const value &l = left[size_t(w.left_begin + intptr_t(i) * w.left_step)];
          const value &r = right[size_t(w.right_begin + intptr_t(i) * w.right_step)];
          ASSERT_EQ(int(results[i]), int(expected(l, r, which))) << name << " " << name_of(which) << " " << i;
        }
      }
    }
  }
}

// ---- elements of any type -------------------------------------------------------------------------------------------

const std::vector<value> texts = {value::of(""),
                                  value::of("a"),
                                  value::of("ab"),
                                  value::of("b"),
                                  value::of("abc"),
                                  value::of("\x7f"),
                                  value::of("\xc3\xa9"),
                                  value::of("z"),
                                  value::of("Z"),
                                  value::of("a\xc3\xa9"),
                                  value::of("\xf0\x9f\x98\x80")};

TEST(Compare, StringsAndBytes) {
  check_all_pairs("string", texts, "string", texts);
  check_all_pairs("bytes", texts, "bytes", texts);
}

TEST(Compare, MissingEqualsMissingAndComesLastHoweverItIsWrapped) {
  std::vector<value> values = {value::of(1.0L), none, value::of(-3.0L), value::of(7.0L), none};
  std::vector<value> present = {value::of(1.0L), value::of(-3.0L), value::of(8.0L)};
  const char *optional[] = {"?int32", "?float64", "pointer[?int16]", "?pointer[int64]", "pointer[pointer[?int8]]"};
  for (const char *left : optional) {
    for (const char *right : optional) {
      check_all_pairs(left, values, right, values);
    }
    check_all_pairs(left, values, "float32", present);
    check_all_pairs("pointer[int32]", present, left, values);
  }
}

TEST(Compare, PointersToNothing) {
  nd::array a = array_of("pointer[int32]", {value::of(5.0L), value::of(6.0L)});
  int64_t nothing = -1;
  std::memcpy(a->streams()[0].address, &nothing, sizeof(nothing)); // [nothing, 6]
  std::vector<value> values = {none, value::of(6.0L)};
  for (comparison which : all_comparisons) {
    for (int i = 0; i < 2; i++) {
      for (int j = 0; j < 2; j++) {
        EXPECT_EQ(single(a, i, a, j, which), expected(values[size_t(i)], values[size_t(j)], which)) << name_of(which);
      }
    }
  }
}

TEST(Compare, ListsOfOneSizeAndRows) {
  auto list = [](std::vector<long double> numbers) {
    value v = value::of(std::vector<value>());
    for (long double n : numbers) {
      v.items.push_back(value::of(n));
    }
    return v;
  };
  long double nan = std::nanl("");
  std::vector<value> rows = {list({}),        list({1, 2}),   list({1, 3}), list({1}),
                             list({1, 2, 0}), list({nan, 1}), list({2})};
  std::vector<value> pairs = {list({1, 2}), list({1, 3}), list({0, nan}), list({nan, nan})};
  check_all_pairs("(var * float64)", {value::of({rows[0]}), value::of({rows[1]}), value::of({rows[5]})},
                  "(2 * float32)", {value::of({pairs[0]}), value::of({pairs[3]})});
  auto in_tuples = [](const std::vector<value> &values) {
    std::vector<value> tuples;
    for (const value &v : values) {
      tuples.push_back(value::of({v}));
    }
    return tuples;
  };
  check_all_pairs("(var * float32)", in_tuples(rows), "(var * float64)", in_tuples(rows));
  check_all_pairs("(var * float64)", in_tuples(rows), "(2 * float64)", in_tuples(pairs));
  check_all_pairs("(strided * float64)", in_tuples(pairs), "(var * ?float32)", in_tuples(rows));
}

TEST(Compare, StructsAreEqualByFieldName) {
  nd::array a = array_of("{x: int32, y: string}", {value::of({value::of(1.0L), value::of("one")}),
                                                   value::of({value::of(2.0L), value::of("two")})});
  nd::array b = array_of("{y: string, x: float64}", {value::of({value::of("one"), value::of(1.0L)}),
                                                     value::of({value::of("two"), value::of(2.5L)})});
  EXPECT_TRUE(single(a, 0, b, 0, comparison::equal));
  EXPECT_FALSE(single(a, 0, b, 0, comparison::not_equal));
  EXPECT_FALSE(single(a, 1, b, 1, comparison::equal));
  EXPECT_TRUE(single(a, 0, b, 1, comparison::not_equal));
  EXPECT_EQ(
      failure([&] { single(a, 0, b, 0, comparison::less); }),
      "type: less: cannot compare {x: int32, y: string} with {y: string, x: float64}: their fields are in another "
      "order");
}

// Random pairs of types of one form, and random values of them, among which many are equal.
class random_elements {
public:
  explicit random_elements(unsigned seed) : random_(seed) {}

  size_t below(size_t n) { return size_t(random_() % n); }

  void types(int depth, std::string &left, std::string &right) {
    size_t form = below(depth > 0 ? 6 : 3);
    if (form < 2) {
      left = number_type();
      right = number_type();
    } else if (form == 2) {
      left = right = below(2) ? "string" : "bytes";
    } else if (form == 3) {
      types(depth - 1, left, right);
      std::string both = below(2) ? "2 * " : "";
      left = (both.empty() ? "var * " : both) + left;
      right = (both.empty() ? "var * " : both) + right;
    } else {
      bool named = form == 4;
      std::string l = named ? "{" : "(", r = l;
      for (size_t i = 0, n = 1 + below(3); i < n; i++) {
        std::string a, b, name = named ? std::string(1, char('a' + i)) + ": " : "";
        types(depth - 1, a, b);
        l += (i ? ", " : "") + name + a;
        r += (i ? ", " : "") + name + b;
      }
      left = l + (named ? "}" : ")");
      right = r + (named ? "}" : ")");
    }
    left = wrapped(left);
    right = wrapped(right);
  }

  value element(const type_data *t) {
    switch (t->kind) {
    case type_kind::scalar:
    case type_kind::byteswap:
      return number(t->kind == type_kind::byteswap ? t->element->scalar : t->scalar);
    case type_kind::string:
    case type_kind::bytes:
      return texts[below(4)];
    case type_kind::option:
      return below(4) ? element(t->element) : none;
    case type_kind::pointer:
      return element(t->element);
    default: {
      value v = value::of(std::vector<value>());
      for (int i = 0; i < t->nfields; i++) {
        v.items.push_back(element(t->fields[i].type));
      }
      size_t length = t->kind == type_kind::fixed_dim ? size_t(t->size) : t->kind == type_kind::var_dim ? below(3) : 0;
      for (size_t i = 0; i < length; i++) {
        v.items.push_back(element(t->element));
      }
      return v;
    }
    }
  }

private:
  std::string number_type() {
    std::string name = scalar_name[below(scalar_count)];
    return scalar_size[size_t(ndt::type(name)->scalar)] > 1 && below(4) == 0 ? "byteswap[" + name + "]" : name;
  }

  std::string wrapped(const std::string &type) {
    static const char *const around[][2] = {{"", ""}, {"", ""}, {"?", ""}, {"pointer[", "]"}, {"pointer[?", "]"}};
    auto &chosen = around[below(5)];
    return chosen[0] + type + chosen[1];
  }

  value number(scalar_id scalar) {
    long double imag = is_complex(scalar) ? static_cast<long double>(below(2)) : 0.0L;
    if (!is_integer(scalar) && scalar != scalar_id::bool_ && below(4) == 0) {
      return value::of(below(2) ? std::nanl("") : -0.0L, imag);
    }
    return value::of(static_cast<long double>(below(2)), imag);
  }

  std::mt19937 random_;
};

struct random_pair {
  std::string left, right;
  std::vector<value> left_values, right_values;
};

random_pair make_pair(unsigned seed, size_t count) {
  random_elements random(seed);
  random_pair made;
  random.types(3, made.left, made.right);
  made.left = "(" + made.left + ")"; // a dimension at the top would be one of the array's
  made.right = "(" + made.right + ")";
  for (size_t i = 0; i < count; i++) {
    made.left_values.push_back(random.element(ndt::type(made.left).get()));
    made.right_values.push_back(random.element(ndt::type(made.right).get()));
  }
  return made;
}

TEST(Compare, RandomElementsOfRandomTypes) {
  for (unsigned seed = 0; seed < 400; seed++) {
    random_pair p = make_pair(seed, 8);
    check_all_pairs(p.left, p.left_values, p.right, p.right_values);
    check_all_pairs(p.left, p.left_values, p.left, p.left_values);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(Compare, TheSortingOrderIsTotal) {
  for (unsigned seed = 0; seed < 200; seed++) {
    constexpr intptr_t n = 10;
    random_pair p = make_pair(1000 + seed, n);
    SCOPED_TRACE(p.left);
    nd::array a = array_of(p.left, p.left_values);
    bool less[n][n];
    for (intptr_t i = 0; i < n; i++) {
      std::vector<char> row = strided(a, a, {i, 0, 0, 1, 1}, n, comparison::order);
      std::copy(row.begin(), row.end(), less[i]);
    }
    for (intptr_t i = 0; i < n; i++) {
      ASSERT_FALSE(less[i][i]);
      for (intptr_t j = 0; j < n; j++) {
        ASSERT_FALSE(less[i][j] && less[j][i]);
        for (intptr_t k = 0; k < n; k++) {
          ASSERT_TRUE(!(less[i][j] && less[j][k]) || less[i][k]);
          bool tied_ij = !less[i][j] && !less[j][i], tied_jk = !less[j][k] && !less[k][j];
          ASSERT_TRUE(!(tied_ij && tied_jk) || (!less[i][k] && !less[k][i])) << "being tied is transitive";
        }
      }
    }
  }
}

// ---- operators over missing elements --------------------------------------------------------------------------------

void check_operator(const std::string &left_type, const std::vector<value> &left, const std::string &right_type,
                    const std::vector<value> &right) {
  SCOPED_TRACE(left_type + " against " + right_type);
  nd::array a = array_of(left_type, left), b = array_of(right_type, right);
  std::vector<value> zeros(left.size() * 2, value::of(1.0L));
  for (comparison which : all_comparisons) {
    nd::array result = array_of("?bool", zeros);
    elements to(result, 0), l(a, 2), r(b, 2 + a->nstreams);
    ckernel_builder kernel;
    make_comparison_kernel(kernel, 0, to.operand, l.operand, r.operand, which);
    work_frame frame(kernel.scratch_size);
    char *stream[60];
    intptr_t stride[60];
    to.place(0, stream);
    to.steps(2, stride);
    l.place(0, stream);
    l.steps(1, stride);
    r.place(intptr_t(right.size()) - 1, stream);
    r.steps(-1, stride);
    auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
    ASSERT_EQ(function(stream, stride, left.size(), kernel.root(), &frame), dynd_ok);
    for (size_t i = 0; i < left.size(); i++) {
      const value &other = right[right.size() - 1 - i];
      bool there = left[i].kind != value::missing && other.kind != value::missing;
      ASSERT_EQ(int(*(stream[0] + 2 * i)), int(there));
      ASSERT_EQ(int(*(stream[1] + 2 * i)), int(there && expected(left[i], other, which))) << name_of(which) << " " << i;
      ASSERT_EQ(int(*(stream[1] + 2 * i + 1)), 1) << "between the results";
    }
  }
}

TEST(Compare, OperatorsAreMissingWhereAnOperandIs) {
  std::vector<value> numbers, words, others;
  for (size_t i = 0; i < 40; i++) {
    numbers.push_back(i % 3 == 0 || (i > 10 && i < 20) ? none : value::of(static_cast<long double>(i % 5)));
    words.push_back(i % 4 == 1 || i > 35 ? none : texts[i % texts.size()]);
    others.push_back(texts[i * i % texts.size()]);
  }
  std::vector<value> present(40, value::of(2.0L));
  check_operator("?int32", numbers, "?int32", numbers);
  check_operator("?int32", numbers, "?float64", numbers);
  check_operator("?int32", numbers, "int32", present);
  check_operator("float32", present, "?byteswap[int16]", numbers);
  check_operator("?string", words, "?string", words);
  check_operator("string", others, "?string", words);
  check_operator("?string", words, "pointer[string]", others);
}

// ---- errors, memory -------------------------------------------------------------------------------------------------

std::string refused(const std::string &left, const std::string &right, comparison which) {
  nd::array x = array_of(left, {}), y = array_of(right, {});
  return failure([&] {
    elements l(x, 1), r(y, 1 + x->nstreams);
    ckernel_builder kernel;
    make_comparison_kernel(kernel, 0, result_operand(), l.operand, r.operand, which);
  });
}

TEST(Compare, TypesThatCannotBeComparedAreNamed) {
  EXPECT_EQ(refused("(complex64)", "(int8)", comparison::less),
            "type: less: cannot compare complex64 with int8: there is no order of complex numbers, in (complex64) and "
            "(int8)");
  EXPECT_EQ(refused("string", "int32", comparison::equal), "type: equal: cannot compare string with int32");
  EXPECT_EQ(refused("string", "bytes", comparison::less), "type: less: cannot compare string with bytes");
  EXPECT_EQ(refused("(int32, int32)", "(int32)", comparison::not_equal),
            "type: not_equal: cannot compare (int32, int32) with (int32)");
  EXPECT_EQ(refused("{x: int32}", "{y: int32}", comparison::equal),
            "type: equal: cannot compare {x: int32} with {y: int32}");
  EXPECT_EQ(refused("{x: int32}", "(int32)", comparison::equal), "type: equal: cannot compare {x: int32} with (int32)");
  EXPECT_EQ(
      refused("{x: (var * int32, ?string)}", "{x: (var * int32, bytes)}", comparison::order),
      "type: order: cannot compare string with bytes, in {x: (var * int32, ?string)} and {x: (var * int32, bytes)}");
  EXPECT_EQ(refused("(3 * int32)", "(int32)", comparison::greater),
            "type: greater: cannot compare 3 * int32 with int32, in (3 * int32) and (int32)");
}

TEST(Compare, EveryAllocationOfABuildMayFail) {
  // Larger than what a builder has without asking for memory.
  std::string type =
      "{a: ?string, b: (var * ?(int8, float64), pointer[?bytes]), c: 2 * var * int16, d: ?float32, "
      "e: (int8, int16, int32, int64, string, string, string, bytes, ?int8, ?int16, ?int32, pointer[int8])}";
  nd::array a = array_of(type, {});
  elements left(a, 1), right(a, 1 + a->nstreams);
  for (comparison which : all_comparisons) {
    int failures = 0;
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      int64_t live = live_allocations();
      {
        failing_allocation failing(n);
        try {
          ckernel_builder kernel;
          make_comparison_kernel(kernel, 0, result_operand(), left.operand, right.operand, which);
          happened = failing.happened();
          ASSERT_FALSE(happened) << "a failure that was not seen";
        } catch (const std::bad_alloc &) {
          failures++;
        } catch (const error &e) {
          failures += e.kind() == error_kind::memory;
        }
      }
      ASSERT_EQ(live_allocations(), live);
    }
    EXPECT_GE(failures, 2);
  }
}

TEST(Compare, ABuiltKernelMayBeMoved) {
  nd::array a =
      array_of("(?string, var * int32)", {value::of({value::of("a"), value::of({value::of(1.0L), value::of(2.0L)})}),
                                          value::of({value::of("a"), value::of({value::of(1.0L), value::of(3.0L)})})});
  elements left(a, 1), right(a, 1 + a->nstreams);
  ckernel_builder kernel;
  size_t end = make_comparison_kernel(kernel, 0, result_operand(), left.operand, right.operand, comparison::less);
  alignas(64) char moved[4096];
  ASSERT_LE(end, sizeof(moved));
  std::memcpy(moved, kernel.data, end);
  std::memset(kernel.data, 0, end);
  work_frame frame(0);
  char result = 7, *stream[60] = {&result};
  left.place(0, stream);
  right.place(1, stream);
  EXPECT_EQ(call_strided(reinterpret_cast<const ckernel_prefix *>(moved), stream, no_stride, 1, &frame), dynd_ok);
  EXPECT_EQ(result, 1);
}

} // namespace
} // namespace dynd::testing

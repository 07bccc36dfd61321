// Every operation, in every type, at every ISA level that this CPU can run.
#include "isa_testing.h"
#include "reference.h"

namespace dynd::testing {
namespace {

batch_fn baseline_loop(op_id op, scalar_id type) { return runnable_isa_tables()[0]->loop(op, type); }

/// The registers of an operation's loop and its outputs, in memory that ends at a page boundary, so that a loop that
/// reads or writes too far dies.
class operation_check {
public:
  operation_check(op_id op, scalar_id type)
      : op_(operation_of(op)), type_(type), random_(uint64_t(op) * 100 + uint64_t(type)) {
    for (int i = 0; i < op_.noperands; i++) {
      if (op_.operand[i] >= value_rule::optional) {
        registers_.push_back(scalar_id::bool_);
      }
      if (op_.operand[i] != value_rule::presence) {
        registers_.push_back(operand_type(op, i, type));
      }
    }
    for (int i = 0; i < op_.noutputs; i++) {
      outputs_.push_back(result_type(op, i, type));
    }
  }

  /// Expected is what the baseline gives for each element alone, which the reference confirms.
  void run(size_t n, size_t skip) {
    ASSERT_TRUE(make_operands(n));
    ASSERT_EQ(run_baseline(n), 0u);
    check_reference(n);
    for_each_level([&](const isa_table &table) {
      for (bool stream : {false, true}) {
        batch_fn f = stream ? table.stream_loop(op_.id, type_) : table.loop(op_.id, type_);
        if (!f) {
          EXPECT_TRUE(stream && (op_.noutputs == 2 || can_fail(op_.id, type_)));
          continue;
        }
        for (size_t in_place = 0; in_place <= (stream ? 0 : registers_.size()); ++in_place) {
          if (in_place == 0 || registers_[in_place - 1] == outputs_[0]) {
            run_level(f, n, skip, in_place);
          }
        }
      }
    });
  }

  /// One value for all elements, as the first or the second operand: the same bits as from a register full of it.
  void run_constants(size_t n) {
    for_each_level([&](const isa_table &table) {
      for (int constant : {0, 1}) {
        batch_fn f = table.constant_loop(op_.id, constant, type_);
        if (!f) {
          continue;
        }
        ASSERT_TRUE(registers_.size() == 2);
        ASSERT_TRUE(make_operands(n));
        size_t size = size_of(registers_[size_t(constant)]);
        std::vector<char> &value = reg_[size_t(constant)], one(value.begin(), value.begin() + intptr_t(size));
        for (size_t i = 1; i < n; ++i) {
          std::copy(one.begin(), one.end(), value.begin() + intptr_t(i * size));
        }
        std::vector<char> wanted[2] = {std::vector<char>(n * 16), std::vector<char>(n * 16)},
                          got[2] = {wanted[0], wanted[1]};
        EXPECT_EQ(
            table.loop(op_.id, type_)(wanted[0].data(), reg_[0].data(), reg_[1].data(), nullptr, n, wanted[1].data()),
            0u);
        const char *p[2] = {reg_[0].data(), reg_[1].data()};
        p[constant] = one.data();
        EXPECT_EQ(f(got[0].data(), p[0], p[1], nullptr, n, got[1].data()), 0u);
        for (size_t o = 0; o < outputs_.size(); ++o) {
          for (size_t i = 0; i < n; ++i) {
            size_t at = i * size_of(outputs_[o]);
            ASSERT_TRUE(same_element(outputs_[o], got[o].data() + at, wanted[o].data() + at)) << operands_text(i);
          }
        }
      }
    });
  }

  /// An element that fails is reported wherever it is.
  void run_failing(size_t n) {
    for (size_t at : {size_t(0), n / 2, n - 1}) {
      ASSERT_TRUE(make_operands(n));
      ASSERT_TRUE(remake_element(at, true));
      EXPECT_EQ(run_baseline(n), 1u);
      for_each_level([&](const isa_table &table) {
        std::vector<char> first(n * 16), second(n * 16);
        const char *p[3] = {};
        for (size_t r = 0; r < registers_.size(); r++) {
          p[r] = reg_[r].data();
        }
        batch_fn f = table.loop(op_.id, type_);
        EXPECT_EQ(f(first.data(), p[0], p[1], p[2], n, op_.noutputs == 2 ? second.data() : nullptr), 1u) << at;
        if (batch_fn by_one = table.constant_loop(op_.id, 1, type_)) {
          EXPECT_EQ(by_one(first.data(), p[0], p[1] + at * size_of(registers_[1]), nullptr, n, second.data()), 1u);
        }
        EXPECT_FALSE(table.stream_loop(op_.id, type_));
      });
    }
  }

private:
  static size_t size_of(scalar_id id) { return scalar_size[size_t(id)]; }

  /// Values with which no element fails; false if none were found.
  bool make_operands(size_t n) {
    reg_.clear();
    for (scalar_id id : registers_) {
      reg_.emplace_back(n * size_of(id) + 1);
      fill_random(random_, id, reg_.back().data(), n);
    }
    bool made = true;
    for (size_t i = 0; can_fail(op_.id, type_) && i < n; ++i) {
      made = remake_element(i, false) && made;
    }
    return made;
  }

  /// New random values for element i until it fails, or does not; false if it took too long.
  bool remake_element(size_t i, bool fails) {
    for (int attempt = 0; attempt < 1000; attempt++) {
      if ((run_baseline(1, i) != 0) == fails) {
        return true;
      }
      for (size_t r = 0; r < registers_.size(); r++) {
        fill_random(random_, registers_[r], reg_[r].data() + i * size_of(registers_[r]), 1);
      }
    }
    return false;
  }

  void check_reference(size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const char *at[3] = {};
      for (size_t r = 0; r < registers_.size(); r++) {
        at[r] = reg_[r].data() + i * size_of(registers_[r]);
      }
      results wanted = reference(op_, type_, at);
      for (size_t o = 0; wanted && o < outputs_.size(); o++) {
        char element[16];
        encode(outputs_[o], (*wanted)[o], element);
        const char *got = expected_[o].data() + i * size_of(outputs_[o]);
        ASSERT_TRUE(same_element(outputs_[o], got, element))
            << operands_text(i) << " gave " << show(decoded(outputs_[o], got)) << ", not " << show((*wanted)[o]);
      }
    }
  }

  /// The baseline's loop for n elements, from one on, one at a time.
  uint32_t run_baseline(size_t n, size_t from = 0) {
    expected_.clear();
    for (scalar_id id : outputs_) {
      expected_.emplace_back(n * size_of(id) + 1);
    }
    uint32_t failed = 0;
    for (size_t i = 0; i < n; ++i) {
      char *to[2] = {};
      const char *source[3] = {};
      for (size_t o = 0; o < outputs_.size(); o++) {
        to[o] = expected_[o].data() + i * size_of(outputs_[o]);
      }
      for (size_t r = 0; r < registers_.size(); r++) {
        source[r] = reg_[r].data() + (from + i) * size_of(registers_[r]);
      }
      failed |= baseline_loop(op_.id, type_)(to[0], source[0], source[1], source[2], 1, to[1]);
    }
    return failed;
  }

  /// `skip` elements move the alignment; in_place is which register the first output replaces, 0 for none.
  void run_level(batch_fn f, size_t n, size_t skip, size_t in_place) {
    auto place = [&](int m, scalar_id id) { return memory_[m].at_end() + (most * 16 - (n + skip) * size_of(id)); };
    char *source[3] = {};
    for (size_t r = 0; r < registers_.size(); r++) {
      source[r] = place(int(r), registers_[r]);
      put(source[r], reg_[r].data(), n * size_of(registers_[r]));
    }
    char *to[2] = {in_place ? source[in_place - 1] : place(3, outputs_[0]),
                   outputs_.size() == 2 ? place(4, outputs_[1]) : nullptr};
    if (!in_place) {
      std::memset(to[0], 0x5a, (n + skip) * size_of(outputs_[0]));
    }
    ASSERT_EQ(f(to[0], source[0], source[1], source[2], n, to[1]), 0u);
    for (size_t o = 0; o < outputs_.size(); o++) {
      for (size_t i = 0; i < n; ++i) {
        const char *got = to[o] + i * size_of(outputs_[o]), *wanted = expected_[o].data() + i * size_of(outputs_[o]);
        ASSERT_TRUE(same_element(outputs_[o], got, wanted))
            << "element " << i << " of " << n << ": " << operands_text(i) << " gave " << show(decoded(outputs_[o], got))
            << ", not " << show(decoded(outputs_[o], wanted));
      }
    }
    for (size_t i = n * size_of(outputs_[0]); !in_place && i < (n + skip) * size_of(outputs_[0]); ++i) {
      ASSERT_EQ(to[0][i], 0x5a) << "wrote past the end";
    }
  }

  std::string operands_text(size_t i) const {
    std::string text;
    for (size_t r = 0; r < registers_.size(); r++) {
      text += (r ? ", " : "") + show(decoded(registers_[r], reg_[r].data() + i * size_of(registers_[r])));
    }
    return text;
  }

  static constexpr size_t most = 220;
  const operation &op_;
  scalar_id type_;
  std::vector<scalar_id> registers_, outputs_;
  std::vector<std::vector<char>> reg_, expected_;
  std::mt19937_64 random_;
  guarded_memory memory_[5] = {guarded_memory(most * 16), guarded_memory(most * 16), guarded_memory(most * 16),
                               guarded_memory(most * 16), guarded_memory(most * 16)};
};

/// Calls f(op, type) for every type in which an operation computes.
template <class F> void for_each_loop(F f) {
  for (size_t op = 0; op < op_count; ++op) {
    SCOPED_TRACE(operation_of(op_id(op)).name);
    for (size_t type = 0; type < scalar_count; ++type) {
      SCOPED_TRACE(scalar_name[type]);
      if (baseline_loop(op_id(op), scalar_id(type)) && !::testing::Test::HasFatalFailure()) {
        f(op_id(op), scalar_id(type));
      }
    }
  }
}

TEST(Loops, EveryOperationInEveryTypeAtEveryLevel) {
  for_each_loop([](op_id op, scalar_id type) {
    operation_check check(op, type);
    for (size_t n = 0; n <= 200 && !::testing::Test::HasFatalFailure(); ++n) {
      check.run(n, n % 9);
    }
  });
}

TEST(Loops, OneValueForAllElements) {
  for_each_loop([](op_id op, scalar_id type) {
    operation_check check(op, type);
    for (size_t n : {1, 7, 64, 65, 200}) {
      check.run_constants(n);
    }
  });
  EXPECT_TRUE(isa().constant_loop(op_id::subtract, 0, scalar_id::float64));
  EXPECT_TRUE(isa().constant_loop(op_id::less, 1, scalar_id::int8));
  EXPECT_TRUE(isa().constant_loop(op_id::divmod, 1, scalar_id::int64));
}

/// Of bool, integers, signed integers, floating-point and complex numbers, which does a set have?
struct kinds {
  bool truth, integers, signed_integers, floats, complex;
};
constexpr kinds kinds_of_set[] = {
    {true, true, true, true, true},     // all
    {true, true, true, true, false},    // ordered
    {false, true, true, true, true},    // numbers
    {false, true, true, true, false},   // reals
    {false, false, false, true, true},  // floats
    {false, false, false, true, false}, // real_floats
    {false, true, true, false, false},  // integers
    {false, false, true, false, false}, // signed_integers
    {true, true, true, false, false},   // bits
};

TEST(Loops, TypesOfAnOperationAreThoseOfItsSet) {
  for (size_t op = 0; op < op_count; ++op) {
    for_each_scalar([&]<class T>(tag<T>, scalar_id type) {
      kinds set = kinds_of_set[size_t(operation_of(op_id(op)).set)];
      bool expected = type == scalar_id::bool_                       ? set.truth
                      : is_complex_type<T>                           ? set.complex
                      : std::is_signed_v<T> && std::is_integral_v<T> ? set.signed_integers
                      : std::is_integral_v<T>                        ? set.integers
                                                                     : set.floats;
      for_each_level([&](const isa_table &table) { EXPECT_EQ(table.loop(op_id(op), type) != nullptr, expected); });
    });
  }
}

TEST(Loops, AFailureIsReportedAtEveryLevelAndNeverTraps) {
  int failing = 0;
  for_each_loop([&](op_id op, scalar_id type) {
    if (can_fail(op, type)) {
      failing++;
      operation_check check(op, type);
      for (size_t n : {1, 5, 64, 131}) {
        check.run_failing(n);
      }
    }
  });
  EXPECT_GE(failing, 3 * 8 + 3 * 4); // divisions of integers; powers and shifts of signed ones
}

TEST(Loops, TheSmallestIntegerDividedByMinusOneWraps) {
  for (scalar_id type : {scalar_id::int8, scalar_id::int16, scalar_id::int32, scalar_id::int64}) {
    for_each_level([&](const isa_table &table) {
      char a[40 * 8], b[40 * 8], quotient[40 * 8], rest[40 * 8], minus_one[8], smallest[8], zero[8] = {};
      size_t size = scalar_size[size_t(type)];
      encode(type, {-std::ldexp(1.0L, int(8 * size) - 1)}, smallest);
      encode(type, {-1}, minus_one);
      for (size_t i = 0; i < 40; i++) {
        std::memcpy(a + i * size, smallest, size);
        std::memcpy(b + i * size, minus_one, size);
      }
      auto are = [&](const char *values, const char *wanted) {
        for (size_t i = 0; i < 40; i++) {
          EXPECT_EQ(std::memcmp(values + i * size, wanted, size), 0);
        }
      };
      EXPECT_EQ(table.loop(op_id::divmod, type)(quotient, a, b, nullptr, 40, rest), 0u);
      are(quotient, smallest);
      are(rest, zero);
      EXPECT_EQ(table.loop(op_id::floor_divide, type)(rest, a, b, nullptr, 40, nullptr), 0u);
      are(rest, smallest);
      EXPECT_EQ(table.loop(op_id::remainder, type)(quotient, a, b, nullptr, 40, nullptr), 0u);
      are(quotient, zero);
    });
  }
}

TEST(Loops, StreamingStoresOfLongRunsEqualPlainOnes) {
  std::mt19937_64 random(5);
  for_each_loop([&](op_id op, scalar_id type) {
    size_t n = 5003;
    std::vector<char> reg[3];
    for (auto &r : reg) { // the bytes of values are bools too
      r.resize(n * 16);
      fill_random(random, type, r.data(), n);
    }
    for_each_level([&](const isa_table &table) {
      batch_fn plain = table.loop(op, type), stream = table.stream_loop(op, type);
      if (!stream) {
        return;
      }
      for (size_t shift : {0, 1, 3, 64}) {
        std::vector<char> d(n * 16 + 200, 1), e = d;
        plain(d.data() + shift, reg[0].data(), reg[1].data(), reg[2].data(), n, nullptr);
        stream(e.data() + shift, reg[0].data(), reg[1].data(), reg[2].data(), n, nullptr);
        EXPECT_EQ(d, e);
      }
    });
  });
}

TEST(Loops, AreSharedWhereTheBitsAreTheSame) {
  for_each_level([](const isa_table &table) {
    for (op_id op : {op_id::add, op_id::multiply, op_id::equal, op_id::bitwise_xor, op_id::where}) {
      EXPECT_EQ(table.loop(op, scalar_id::int32), table.loop(op, scalar_id::uint32));
    }
    EXPECT_EQ(table.loop(op_id::where, scalar_id::float64), table.loop(op_id::where, scalar_id::complex64));
    EXPECT_EQ(table.loop(op_id::is_missing, scalar_id::float64), table.loop(op_id::is_missing, scalar_id::bool_));
    EXPECT_NE(table.loop(op_id::less, scalar_id::int32), table.loop(op_id::less, scalar_id::uint32));
    EXPECT_NE(table.loop(op_id::where, scalar_id::bool_), table.loop(op_id::where, scalar_id::uint8));
  });
}

} // namespace
} // namespace dynd::testing

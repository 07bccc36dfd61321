// Chains run directly, in every way they can be called, against plain loops.
#include <random>

#include "kernel/chain_testing.h"

namespace dynd::testing::chains {
namespace {

TEST(FlatChain, AnyStrides) {
  program p = multiply_add();
  for (size_t n : {0, 1, 7, 63, 64, 65, 200}) {
    for (intptr_t to : {1, 2, -1}) {
      for (intptr_t first : {1, 0, 3, -2}) {
        doubles x = ramp(4 * n + 4, 1), y = ramp(n + 1, 5), result(2 * n + 2, -1);
        const double *x0 = x.data() + (first < 0 ? 3 * n : 0);
        double *r0 = result.data() + (to < 0 && n ? n - 1 : 0);
        ASSERT_EQ(run(p, layout_of(chain_kind::flat, p), {r0, x0, y.data()}, {to * item, first * item, item}, n), 0);
        for (size_t i = 0; i < n; i++) {
          double a = x0[intptr_t(i) * first], b = y[i];
          ASSERT_EQ(r0[intptr_t(i) * to], a * b + a) << n << " " << to << " " << first << " " << i;
        }
      }
    }
  }
}

TEST(FlatChain, ATemporaryThatIsWantedToo) {
  program p = multiply_add();
  p.add_output(p.steps[0].writes[0]); // the product leaves as a second output
  doubles x = ramp(150, 1), y = ramp(150, 2), sum(150), product(150);
  ASSERT_EQ(run(p, layout_of(chain_kind::flat, p), {sum.data(), product.data(), x.data(), y.data()},
                {item, item, item, item}, 150),
            0);
  for (size_t i = 0; i < 150; i++) {
    ASSERT_EQ(product[i], x[i] * y[i]);
    ASSERT_EQ(sum[i], x[i] * y[i] + x[i]);
  }
}

TEST(FlatChain, ConvertsInside) {
  program p;
  p.add_source(scalar_id::int16);
  uint8_t wide = p.converted(0, scalar_id::float64);
  EXPECT_EQ(p.converted(0, scalar_id::float64), wide) << "a conversion is used again";
  EXPECT_EQ(p.converted(wide, scalar_id::float64), wide);
  p.add_output(p.add_operation(op_id::square, float64, {wide}));
  std::vector<int16_t> x(100);
  for (int i = 0; i < 100; i++) {
    x[size_t(i)] = int16_t(300 * i - 9000);
  }
  doubles result(100);
  ASSERT_EQ(run(p, layout_of(chain_kind::flat, p), {result.data(), x.data()}, {item, 2}, 100), 0);
  for (size_t i = 0; i < 100; i++) {
    ASSERT_EQ(result[i], double(x[i]) * double(x[i]));
  }
}

TEST(FlatChain, ScratchOfTemporariesIsUsedAgain) {
  auto scratch_of = [](int steps) {
    program p;
    uint8_t reg = p.add_source(scalar_id::float64);
    for (int i = 0; i < steps; i++) {
      reg = p.add_operation(op_id::negative, float64, {reg});
    }
    p.add_output(reg);
    ckernel_builder kernel;
    make_chain(kernel, 0, p, layout_of(chain_kind::flat, p));
    return kernel.scratch_size;
  };
  EXPECT_EQ(scratch_of(30), scratch_of(4));
}

TEST(FlatChain, ABadValueIsAStatus) {
  program p;
  p.add_source(scalar_id::int32);
  p.add_source(scalar_id::int32);
  uint8_t sources[] = {0, 1}, results[2];
  p.add_operation(op_id::divmod, scalar_id::int32, sources, 2, results);
  p.add_output(results[0]);
  p.add_output(results[1]);
  std::vector<int32_t> a = {7, -7, 9}, b = {2, 2, 0}, quotient(3), rest(3);
  auto divide = [&](size_t n) {
    return run(p, layout_of(chain_kind::flat, p), {quotient.data(), rest.data(), a.data(), b.data()}, {4, 4, 4, 4}, n);
  };
  EXPECT_EQ(divide(2), 0);
  EXPECT_EQ(quotient, (std::vector<int32_t>{3, -4, 0}));
  EXPECT_EQ(rest, (std::vector<int32_t>{1, 1, 0}));
  EXPECT_EQ(divide(3), int(dynd_error_value));
}

/// The status of a call that is asked to stop; 10 rows.
int cancelled_status(const program &p, const chain_layout &layout, intptr_t row) {
  ckernel_builder kernel;
  make_chain(kernel, 0, p, layout);
  work_frame frame(kernel.scratch_size);
  int cancel = 1;
  frame.cancel = &cancel;
  doubles x = ramp(100), result(100);
  char *stream[] = {reinterpret_cast<char *>(result.data()), reinterpret_cast<char *>(x.data()),
                    reinterpret_cast<char *>(x.data())};
  intptr_t stride[] = {row, row, item};
  auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
  return function(stream, stride, 10, kernel.root(), &frame);
}

TEST(FlatChain, StopsWhenItIsCancelled) {
  program p = multiply_add();
  EXPECT_EQ(cancelled_status(p, layout_of(chain_kind::flat, p), item), int(dynd_error_cancelled));
}

TEST(PanelChain, StopsWhenItIsCancelled) {
  program p = multiply_add();
  chain_layout layout = layout_of(chain_kind::panel, p, {item, item, 10 * item});
  layout.axis_size = 10;
  layout.ports[2].fetched = true;
  EXPECT_EQ(cancelled_status(p, layout, 10 * item), int(dynd_error_cancelled));
}

// A call has all rows of its columns, however many there are: it asks meanwhile, not only when it is through.
TEST(ColumnsChain, ScansStopBetweenRowsWhenTheyAreCancelled) {
  for (op_id op : {op_id::add, op_id::maximum}) {
    program p;
    p.add_output(p.scanned(op, p.add_source(float64)));
    for (intptr_t columns : {1, 2, 60, 128, 129, 20'000}) {
      for (intptr_t gap : {0, 3}) {
        intptr_t rows = 200'000 / columns + 4, axis = (columns + gap) * item;
        doubles x(size_t((columns + gap) * rows), 1), result(size_t(columns * rows), -1);
        chain_layout layout = layout_of(chain_kind::columns, p, {columns * item, axis});
        layout.axis_size = rows;
        ckernel_builder kernel;
        make_chain(kernel, 0, p, layout);
        work_frame frame(kernel.scratch_size);
        int cancel = 1;
        frame.cancel = &cancel;
        char *stream[] = {reinterpret_cast<char *>(result.data()), reinterpret_cast<char *>(x.data())};
        const intptr_t stride[] = {item, item};
        auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
        ASSERT_EQ(function(stream, stride, size_t(columns), kernel.root(), &frame), int(dynd_error_cancelled));
        ASSERT_EQ(result.front(), 1) << columns;
        ASSERT_EQ(result.back(), -1) << columns << " columns are scanned to the end";
      }
    }
  }
}

TEST(LanesChain, IsTheLanesOfTheWholeRow) {
  program p = sum_of_square();
  for (size_t n : {1, 64, 100, 256, 257, 5000}) {
    for (intptr_t step : {1, 2, -1}) {
      doubles x = ramp(2 * n, -3);
      const double *x0 = x.data() + (step < 0 ? n - 1 : 0);
      alignas(64) char lanes[64];
      ASSERT_EQ(run(p, layout_of(chain_kind::flat, p), {lanes, x0}, {0, step * item}, n), 0);
      double total;
      sum_functions().fold(&total, lanes);
      ASSERT_EQ(total, square_sum(x0, n, step)) << n << " " << step;
    }
  }
}

TEST(RowChain, OneLogicalRowGivesOneValue) {
  program p = sum_of_square();
  for (size_t n : {0, 1, 100, 1000}) {
    doubles x = ramp(n, 1);
    double total = -1;
    ASSERT_EQ(run(p, layout_of(chain_kind::row, p), {&total, x.data()}, {0, item}, n), 0);
    EXPECT_EQ(total, square_sum(x.data(), n));
  }
  p.output[0].empty_fails = true;
  double total;
  EXPECT_EQ(run(p, layout_of(chain_kind::row, p), {&total, &total}, {0, item}, 0), int(dynd_error_value));
}

TEST(SmallRowsChain, RowsOfAnyLayout) {
  program p = multiply_add();
  for (size_t row : {1, 3, 31}) {
    for (size_t count : {1, 5, 100}) {
      chain_layout layout = layout_of(chain_kind::small_rows, p, {item, 2 * item, 0});
      layout.axis_size = intptr_t(row);
      doubles x = ramp(count * (2 * row + 1)), y = ramp(count, 3), result(count * (row + 2), -1);
      intptr_t to = intptr_t(row + 2) * item; // a gap behind every row of the result
      ASSERT_EQ(run(p, layout, {result.data(), x.data(), y.data()}, {to, intptr_t(2 * row + 1) * item, item}, count),
                0);
      for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < row; i++) {
          double a = x[r * (2 * row + 1) + 2 * i], b = y[r];
          ASSERT_EQ(result[r * (row + 2) + i], a * b + a);
        }
        ASSERT_EQ(result[r * (row + 2) + row], -1) << "nothing between the rows is touched";
      }
    }
  }
}

TEST(SmallRowsChain, ReducesEachRow) {
  program p = sum_of_square();
  for (size_t row : {1, 5, 64, 65, 300}) {
    chain_layout layout = layout_of(chain_kind::small_rows, p, {0, item});
    layout.axis_size = intptr_t(row);
    doubles x = ramp(7 * row, -2), result(14, -1);
    ASSERT_EQ(run(p, layout, {result.data(), x.data()}, {2 * item, intptr_t(row) * item}, 7), 0);
    for (size_t r = 0; r < 7; r++) {
      ASSERT_EQ(result[2 * r], square_sum(x.data() + r * row, row)) << row;
    }
  }
}

// x * y.T + x
void expect_panels(size_t rows, size_t columns, bool streaming) {
  program p = multiply_add();
  chain_layout layout = layout_of(chain_kind::panel, p, {item, item, intptr_t(rows) * item});
  layout.axis_size = intptr_t(columns);
  layout.ports[2].fetched = true;
  layout.streaming = streaming;
  doubles x = ramp(rows * columns), y = ramp(rows * columns, 1), result(rows * columns);
  intptr_t row = intptr_t(columns) * item;
  ASSERT_EQ(run(p, layout, {result.data(), x.data(), y.data()}, {row, row, item}, rows), 0);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) {
      double a = x[i * columns + j], b = y[j * rows + i];
      ASSERT_EQ(result[i * columns + j], a * b + a) << rows << " x " << columns;
    }
  }
}

TEST(PanelChain, TransposesWhatJumps) {
  for (size_t rows : {3, 64, 70}) {
    for (size_t columns : {40, 256, 300}) {
      expect_panels(rows, columns, false);
    }
  }
}

TEST(PanelChain, HasOtherPanelsWhereResultsLeaveTheCache) {
  for (size_t rows : {3, 127, 129, 512, 1100}) {
    for (size_t columns : {40, 64, 129, 256, 300}) { // rows that begin in a line alike, and that do not
      expect_panels(rows, columns, true);
    }
  }
}

// ---- rows of a `var` dimension --------------------------------------------------------------------------------------

const offsets ragged = {0, 2, 2, 5, 6, 306, 306, 434, 435}; // empty rows, rows longer than a block

TEST(VarRowsChain, AValueForEachRow) {
  program p = multiply_add();
  chain_layout layout = layout_of(chain_kind::var_rows, p, {item, item, 0});
  layout.shape_slots = 3;
  doubles x = ramp(435), y = ramp(8, 3), result(435);
  ASSERT_EQ(run(p, layout, {result.data(), x.data(), y.data(), ragged.data()}, {0, 0, item, 8}, 8), 0);
  for (size_t r = 0; r < 8; r++) {
    for (int64_t i = ragged[r]; i < ragged[r + 1]; i++) {
      ASSERT_EQ(result[size_t(i)], x[size_t(i)] * y[r] + x[size_t(i)]);
    }
  }
}

TEST(VarRowsChain, RowsFromElsewhere) {
  program p = multiply_add();
  for (bool pairs : {false, true}) {
    // Rows of the second source: the result's in other places, or of one element.
    std::vector<int64_t> slots;
    doubles content = ramp(1000, 7);
    int64_t at = 3;
    for (size_t r = 0; r < 8; r++) {
      int64_t size = r % 3 == 0 ? 1 : ragged[r + 1] - ragged[r];
      slots.push_back(at);
      if (pairs) {
        slots.push_back(size);
        at += 5; // with a gap: offsets could not say that
      }
      at += size;
    }
    slots.push_back(at);
    chain_layout layout = layout_of(chain_kind::var_rows, p, {item, item, item});
    layout.shape_slots = 3;
    layout.ports[2].slot_stream = 4;
    layout.ports[2].slots = pairs ? slot_kind::pairs64 : slot_kind::offsets64;
    layout.ports[2].start_unit = item;
    doubles x = ramp(435), result(435);
    ASSERT_EQ(run(p, layout, {result.data(), x.data(), content.data(), ragged.data(), slots.data()},
                  {0, 0, 0, 8, pairs ? 16 : 8}, 8),
              0);
    for (size_t r = 0; r < 8; r++) {
      for (int64_t i = ragged[r]; i < ragged[r + 1]; i++) {
        int64_t inside = r % 3 == 0 ? 0 : i - ragged[r];
        double a = x[size_t(i)], b = content[size_t(slots[pairs ? 2 * r : r] + inside)];
        ASSERT_EQ(result[size_t(i)], a * b + a) << "row " << r << (pairs ? " of pairs" : "");
      }
    }
  }
}

// Windows that cut rows anywhere, hundreds of empty rows in one, rows of several windows, content that begins late.
TEST(VarRowsChain, RandomRows) {
  std::mt19937_64 random(5);
  for (int test = 0; test < 120; test++) {
    std::poisson_distribution<int> length(test % 4 == 0 ? 0.1 : test % 4 == 1 ? 4 : test % 4 == 2 ? 30 : 400);
    size_t rows = 1 + random() % (test % 4 == 3 ? 10 : 900);
    offsets result_rows = {int64_t(random() % 20)}, slots = {0};
    for (size_t r = 0; r < rows; r++) {
      int64_t size = length(random);
      result_rows.push_back(result_rows.back() + size);
      slots.push_back(slots.back() + (random() % 3 == 0 ? 1 : size));
    }
    size_t end = size_t(result_rows.back());
    doubles x = ramp(end, -3), value = ramp(rows, 3), content = ramp(size_t(slots.back()), 7), result(end, -1);
    program p = multiply_add();
    chain_layout layout = layout_of(chain_kind::var_rows, p, {item, item, 0});
    layout.shape_slots = 3;
    ASSERT_EQ(run(p, layout, {result.data(), x.data(), value.data(), result_rows.data()}, {0, 0, item, 8}, rows), 0);
    doubles gathered(end, -1);
    layout.ports[2].axis_stride = item;
    layout.ports[2].slot_stream = 4;
    layout.ports[2].slots = slot_kind::offsets64;
    layout.ports[2].start_unit = item;
    ASSERT_EQ(run(p, layout, {gathered.data(), x.data(), content.data(), result_rows.data(), slots.data()},
                  {0, 0, 0, 8, 8}, rows),
              0);
    program sum = sum_of_square();
    layout = layout_of(chain_kind::var_rows, sum, {0, item});
    layout.shape_slots = 2;
    doubles sums(rows, -1);
    ASSERT_EQ(run(sum, layout, {sums.data(), x.data(), result_rows.data()}, {item, 0, 8}, rows), 0);
    for (size_t i = 0; i < size_t(result_rows[0]); i++) {
      ASSERT_EQ(result[i], -1) << "before the first row";
    }
    for (size_t r = 0; r < rows; r++) {
      size_t begin = size_t(result_rows[r]), size = size_t(result_rows[r + 1]) - begin;
      bool stretches = slots[r + 1] - slots[r] == 1;
      for (size_t i = 0; i < size; i++) {
        double a = x[begin + i], b = content[size_t(slots[r]) + (stretches ? 0 : i)];
        ASSERT_EQ(result[begin + i], a * value[r] + a) << "row " << r << ", test " << test;
        ASSERT_EQ(gathered[begin + i], a * b + a) << "row " << r << ", test " << test;
      }
      ASSERT_EQ(sums[r], square_sum(x.data() + begin, size)) << "row " << r << ", test " << test;
    }
  }
}

TEST(VarRowsChain, ReducesEachRow) {
  program p = sum_of_square();
  chain_layout layout = layout_of(chain_kind::var_rows, p, {0, item});
  layout.shape_slots = 2;
  doubles x = ramp(435, -9), result(8, -1);
  ASSERT_EQ(run(p, layout, {result.data(), x.data(), ragged.data()}, {item, 0, 8}, 8), 0);
  for (size_t r = 0; r < 8; r++) {
    ASSERT_EQ(result[r], square_sum(x.data() + ragged[r], size_t(ragged[r + 1] - ragged[r]))) << r;
  }
  p.output[0].empty_fails = true;
  EXPECT_EQ(run(p, layout, {result.data(), x.data(), ragged.data()}, {item, 0, 8}, 8), int(dynd_error_value));
}

} // namespace
} // namespace dynd::testing::chains

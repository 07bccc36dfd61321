// Chains that reduce, in the walks that take over more than one axis, against plain loops; and what leaves them
// besides.
#include <algorithm>
#include <cmath>
#include <random>

#include "kernel/chain_testing.h"

namespace dynd::testing::chains {
namespace {

// The square leaves the program too: what a lazy array with another owner is to the reduction above it.
program square_and_its_sum() {
  program p;
  uint8_t x = p.add_source(float64), square = p.add_operation(op_id::square, float64, {x});
  p.add_output(square);
  p.add_reduced(square, reduction_id::sum, false);
  return p;
}

// The sum and the largest of x * y.
program sum_and_max_of_product() {
  program p;
  uint8_t x = p.add_source(float64), y = p.add_source(float64);
  uint8_t product = p.add_operation(op_id::multiply, float64, {x, y});
  p.add_reduced(product, reduction_id::sum, false);
  p.add_reduced(product, reduction_id::max, false);
  return p;
}

double max_of(const doubles &values) { return *std::max_element(values.begin(), values.end()); }

struct lane_bytes {
  alignas(64) char bytes[64];
  double folded(reduction_id reduction) const {
    double value;
    isa().reduce(reduction, float64).fold(&value, bytes);
    return value;
  }
};

doubles random_values(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  doubles values(n);
  for (double &x : values) {
    x = std::ldexp(double(int32_t(random())), int(random() % 40) - 50);
  }
  return values;
}

// ---- a nest of loops as one logical row -----------------------------------------------------------------------------

// Loops of those sizes; strides[loop][stream] in elements.
nest make_nest(const std::vector<intptr_t> &sizes, const std::vector<std::vector<intptr_t>> &strides) {
  nest loops;
  loops.loop_count = int(sizes.size());
  loops.stream_count = int(strides[0].size());
  for (size_t i = 0; i < sizes.size(); i++) {
    loops.loops[i].size = sizes[i];
    for (size_t s = 0; s < strides[i].size(); s++) {
      loops.loops[i].stride[s] = strides[i][s] * item;
    }
  }
  return loops;
}

// The elements of one stream in C order, from the loops.
std::vector<size_t> elements_in_order(const nest &loops, int stream) {
  std::vector<size_t> order = {0};
  for (int i = 0; i < loops.loop_count; i++) {
    std::vector<size_t> inner;
    for (size_t at : order) {
      for (intptr_t j = 0; j < loops.loops[i].size; j++) {
        inner.push_back(at + size_t(j * loops.loops[i].stride[stream] / item));
      }
    }
    order = inner;
  }
  return order;
}

// Streams: sum, max, x, y. x is walked across its memory, y stands still along the last loop.
struct nest_case {
  std::vector<intptr_t> sizes;
  std::vector<std::vector<intptr_t>> strides;
};

const nest_case nests[] = {
    {{3, 5}, {{0, 0, 1, 1}, {0, 0, 3, 0}}},
    {{40, 30}, {{0, 0, 1, 1}, {0, 0, 40, 0}}},
    {{7, 11, 13}, {{0, 0, 13, 11}, {0, 0, 91, 1}, {0, 0, 1, 0}}},
    {{2, 600}, {{0, 0, 1, 0}, {0, 0, 2, 0}}},
    {{1, 1}, {{0, 0, 5, 5}, {0, 0, 5, 0}}},
};

TEST(OrderedChain, OneLogicalRowForEachElementOfTheCall) {
  program p = sum_and_max_of_product();
  for (const nest_case &c : nests) {
    nest loops = make_nest(c.sizes, c.strides);
    std::vector<size_t> x_at = elements_in_order(loops, 2), y_at = elements_in_order(loops, 3);
    size_t n = x_at.size();
    chain_layout layout = layout_of(chain_kind::ordered, p);
    layout.loops = &loops;
    doubles x = random_values(4 * n, 1), y = random_values(4 * n, 2), sums(4), largest(4);
    intptr_t row = intptr_t(n) * item;
    ASSERT_EQ(run(p, layout, {sums.data(), largest.data(), x.data(), y.data()}, {item, item, row, row}, 4), 0);
    for (size_t r = 0; r < 4; r++) {
      doubles products;
      for (size_t i = 0; i < n; i++) {
        products.push_back(x[r * n + x_at[i]] * y[r * n + y_at[i]]);
      }
      EXPECT_EQ(sums[r], sum_of(products)) << n << " elements, row " << r;
      EXPECT_EQ(largest[r], max_of(products));
    }
  }
}

TEST(OrderedChain, AnEmptyNestGivesWhatTheEmptyRowGives) {
  program p = sum_of_square();
  nest loops = make_nest({3, 0}, {{0, 1}, {0, 1}});
  chain_layout layout = layout_of(chain_kind::ordered, p);
  layout.loops = &loops;
  doubles x(1), sums(2, -1);
  ASSERT_EQ(run(p, layout, {sums.data(), x.data()}, {item, 0}, 2), 0);
  EXPECT_EQ(sums, (doubles{0, 0}));
  p.output[0].empty_fails = true;
  EXPECT_EQ(run(p, layout, {sums.data(), x.data()}, {item, 0}, 2), int(dynd_error_value));
}

TEST(OrderedChain, LanesOfAPartThatBeginsAnywhere) {
  program p = sum_and_max_of_product();
  for (const nest_case &c : nests) {
    nest loops = make_nest(c.sizes, c.strides);
    std::vector<size_t> x_at = elements_in_order(loops, 2), y_at = elements_in_order(loops, 3);
    size_t n = x_at.size();
    doubles x = random_values(n * 6, 3), y = random_values(n * 6, 4);
    chain_layout layout = layout_of(chain_kind::ordered, p);
    layout.loops = &loops;
    layout.lanes = true;
    layout.number_stream = 4;
    for (size_t begin : {size_t(0), size_t(1), size_t(64), size_t(513), n / 2, n - 1}) {
      for (size_t count : {size_t(1), size_t(64), size_t(512), n}) {
        if (begin >= n) {
          continue;
        }
        count = std::min(count, n - begin);
        lane_bytes sum, largest;
        ASSERT_EQ(run(p, layout, {sum.bytes, largest.bytes, x.data(), y.data(), number_origin + begin}, {0, 0, 0, 0, 1},
                      count),
                  0);
        doubles products;
        for (size_t i = begin; i < begin + count; i++) {
          products.push_back(x[x_at[i]] * y[y_at[i]]);
        }
        ASSERT_EQ(sum.folded(reduction_id::sum), sum_of(products)) << n << " from " << begin << ", " << count;
        ASSERT_EQ(largest.folded(reduction_id::max), max_of(products));
      }
    }
  }
}

// ---- rows as one logical row ----------------------------------------------------------------------------------------

// x has the rows, y a value for each row, or rows of its own that stretch now and then.
TEST(VarRowsChain, LanesOfAPartOfAllRows) {
  program p = sum_and_max_of_product();
  std::mt19937 random(9);
  for (int test = 0; test < 24; test++) {
    std::poisson_distribution<int> length(test % 3 == 0 ? 0.3 : test % 3 == 1 ? 5 : 700);
    size_t rows = 1 + random() % (test % 3 == 2 ? 8 : 400);
    offsets result_rows = {int64_t(random() % 9)}, slots = {2};
    for (size_t r = 0; r < rows; r++) {
      int64_t size = length(random);
      result_rows.push_back(result_rows.back() + size);
      slots.push_back(slots.back() + (random() % 3 ? size : 1));
    }
    size_t first = size_t(result_rows[0]), n = size_t(result_rows.back()) - first;
    doubles x = random_values(first + n, unsigned(test)), value = random_values(rows, 5);
    doubles content = random_values(size_t(slots.back()), 6), repeated, gathered;
    for (size_t r = 0; r < rows; r++) {
      bool stretches = slots[r + 1] - slots[r] == 1;
      for (int64_t i = result_rows[r]; i < result_rows[r + 1]; i++) {
        repeated.push_back(x[size_t(i)] * value[r]);
        gathered.push_back(x[size_t(i)] * content[size_t(slots[r] + (stretches ? 0 : i - result_rows[r]))]);
      }
    }
    chain_layout layout = layout_of(chain_kind::var_rows, p, {0, 0, item, 0});
    layout.lanes = true;
    layout.axis_size = intptr_t(rows);
    layout.shape_slots = 4;
    layout.number_stream = 5;
    chain_layout other = layout;
    other.ports[3].axis_stride = other.ports[3].start_unit = item;
    other.ports[3].slots = slot_kind::offsets64;
    other.ports[3].slot_stream = 6;
    for (size_t begin : {size_t(0), size_t(256), n / 3, n - 1}) {
      if (begin >= n) {
        continue;
      }
      for (size_t count : {size_t(1), n - begin, (n - begin + 1) / 2}) {
        auto part = [&](const doubles &of) {
          return doubles(of.begin() + ptrdiff_t(begin), of.begin() + ptrdiff_t(begin + count));
        };
        lane_bytes sum, largest;
        const char *number = number_origin + begin;
        ASSERT_EQ(run(p, layout, {sum.bytes, largest.bytes, x.data(), value.data(), result_rows.data(), number},
                      {0, 0, 0, item, 8, 1}, count),
                  0);
        ASSERT_EQ(sum.folded(reduction_id::sum), sum_of(part(repeated))) << test << ": " << begin << ", " << count;
        ASSERT_EQ(largest.folded(reduction_id::max), max_of(part(repeated)));
        ASSERT_EQ(run(p, other,
                      {sum.bytes, largest.bytes, x.data(), content.data(), result_rows.data(), number, slots.data()},
                      {0, 0, 0, 0, 8, 1, 8}, count),
                  0);
        ASSERT_EQ(sum.folded(reduction_id::sum), sum_of(part(gathered))) << test << ": " << begin << ", " << count;
        ASSERT_EQ(largest.folded(reduction_id::max), max_of(part(gathered)));
      }
    }
  }
}

// ---- columns --------------------------------------------------------------------------------------------------------

TEST(ColumnsChain, EachColumnIsALogicalRow) {
  program p = sum_and_max_of_product();
  for (size_t rows : {1, 5, 64, 65, 300}) {
    for (size_t columns : {1, 7, 128, 200}) {
      intptr_t row = intptr_t(columns) * item;
      chain_layout layout = layout_of(chain_kind::columns, p, {0, 0, row, item}); // y: one for each row
      layout.axis_size = intptr_t(rows);
      doubles x = random_values(rows * columns, 1), y = random_values(rows, 2), sums(2 * columns, -1), largest(columns);
      ASSERT_EQ(run(p, layout, {sums.data(), largest.data(), x.data(), y.data()}, {2 * item, item, item, 0}, columns),
                0);
      for (size_t j = 0; j < columns; j++) {
        doubles products;
        for (size_t i = 0; i < rows; i++) {
          products.push_back(x[i * columns + j] * y[i]);
        }
        ASSERT_EQ(sums[2 * j], sum_of(products)) << rows << " by " << columns << ", column " << j;
        ASSERT_EQ(largest[j], max_of(products));
      }
    }
  }
}

// ---- the extra output of a reducing pass ----------------------------------------------------------------------------

// Streams: squares, sum, x. The walk sees 6 rows of 40 (or 700) elements; the squares are written with gaps of one.
void expect_extra_output(const chain_layout &layout, std::vector<intptr_t> stride, size_t count, size_t length,
                         std::vector<const void *> more = {}) {
  program p = square_and_its_sum();
  size_t n = 6 * length;
  doubles x = random_values(n, 8), squares(2 * n, -1), sums(6, -1);
  lane_bytes lanes;
  void *sum = layout.lanes ? static_cast<void *>(lanes.bytes) : sums.data();
  std::vector<const void *> streams = {squares.data(), sum, x.data()};
  streams.insert(streams.end(), more.begin(), more.end());
  ASSERT_EQ(run(p, layout, streams, stride, count), 0);
  size_t logical = layout.lanes ? n : length;
  for (size_t r = 0; r < n / logical; r++) {
    double expected = square_sum(x.data() + r * logical, logical);
    EXPECT_EQ(layout.lanes ? lanes.folded(reduction_id::sum) : sums[r], expected) << "row " << r;
  }
  for (size_t i = 0; i < n; i++) {
    ASSERT_EQ(squares[2 * i], x[i] * x[i]) << i;
    ASSERT_EQ(squares[2 * i + 1], -1) << "nothing between the elements is touched";
  }
}

TEST(ReducingChain, HasAnExtraOutputInEveryWalk) {
  program p = square_and_its_sum();
  for (size_t length : {size_t(40), size_t(700)}) {
    SCOPED_TRACE(length);
    intptr_t row = intptr_t(length) * item, n = 6 * intptr_t(length);
    chain_layout flat = layout_of(chain_kind::flat, p);
    flat.lanes = true;
    expect_extra_output(flat, {2 * item, 0, item}, size_t(n), length);

    chain_layout rows = layout_of(chain_kind::small_rows, p, {2 * item, 0, item});
    rows.axis_size = intptr_t(length);
    expect_extra_output(rows, {2 * row, item, row}, 6, length);

    nest one = make_nest({intptr_t(length)}, {{2, 0, 1}});
    chain_layout ordered = layout_of(chain_kind::ordered, p);
    ordered.loops = &one;
    expect_extra_output(ordered, {2 * row, item, row}, 6, length);

    nest both = make_nest({6, intptr_t(length)}, {{2 * intptr_t(length), 0, intptr_t(length)}, {2, 0, 1}});
    chain_layout whole = layout_of(chain_kind::ordered, p);
    whole.loops = &both;
    whole.lanes = true;
    whole.number_stream = 3;
    expect_extra_output(whole, {0, 0, 0, 1}, size_t(n), length, {number_origin});

    offsets slots;
    for (int64_t r = 0; r <= 6; r++) {
      slots.push_back(r * int64_t(length));
    }
    chain_layout var = layout_of(chain_kind::var_rows, p, {2 * item, 0, item});
    var.shape_slots = 3;
    expect_extra_output(var, {0, item, 0, 8}, 6, length, {slots.data()});
    var.lanes = true;
    var.axis_size = 6;
    var.number_stream = 4;
    expect_extra_output(var, {0, 0, 0, 8, 1}, size_t(n), length, {slots.data(), number_origin});
  }
}

TEST(ReducingChain, HasAnExtraOutputBesideColumns) {
  program p = square_and_its_sum();
  constexpr size_t rows = 70, columns = 150;
  constexpr intptr_t row = columns * item;
  for (intptr_t gap : {1, 2}) {
    chain_layout layout = layout_of(chain_kind::columns, p, {gap * row, 0, row});
    layout.axis_size = rows;
    doubles x = random_values(rows * columns, 3), squares(2 * rows * columns, -1), sums(columns);
    ASSERT_EQ(run(p, layout, {squares.data(), sums.data(), x.data()}, {gap * item, item, item}, columns), 0);
    for (size_t j = 0; j < columns; j++) {
      ASSERT_EQ(sums[j], square_sum(x.data() + j, rows, columns));
    }
    for (size_t i = 0; i < rows * columns; i++) {
      ASSERT_EQ(squares[size_t(gap) * i], x[i] * x[i]);
    }
  }
}

} // namespace
} // namespace dynd::testing::chains

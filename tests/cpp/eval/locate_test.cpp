// Which element failed: the first in C order of the result, whatever order the work is done in.
#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/call/wrap.h"
#include "dynd/eval/run.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::failure;
using testing::parse;
using testing::ramp;

// A task over arrays of int64, made by hand: its operands are there, its program is for the test to write.
struct located_task {
  task t;
  ref<array_block> result;
  std::vector<nd::array> sources; // the task does not own them

  located_task(std::vector<nd::array> of, scalar_id output) : sources(std::move(of)) {
    t.name = "test";
    space_operands operands;
    for (const nd::array &a : sources) {
      operands.push_back(a.get());
    }
    broadcast_space(t.name, operands, t.shape);
    result = new_result(t.shape, ndt::make_scalar(output), true);
    add(result.get());
    t.noutputs = 1;
    for (const nd::array &a : sources) {
      add(a.get());
      t.p.add_source(a->type->scalar);
    }
  }
  void add(array_block *block) {
    t.ports.push_back({t.operands.size(), block->nstreams - 1});
    t.operands.push_back(block);
  }
  first_failure locate() {
    lower(t);
    return locate_failure(t);
  }
};

// a // b
first_failure locate_quotient(const nd::array &a, const nd::array &b) {
  located_task l({a, b}, scalar_id::int64);
  l.t.p.add_output(l.t.p.add_operation(op_id::floor_divide, scalar_id::int64, {0, 1}));
  return l.locate();
}

// Ones, but for zeros at some places in C order.
nd::array zeros_at(const char *type, std::vector<intptr_t> places) {
  nd::array a = ramp(type, access_mode::readwrite);
  nd::assign(a, nd::array(1));
  for (intptr_t i : places) {
    const_cast<int64_t *>(a.data<int64_t>())[i] = 0;
  }
  return a;
}

const nd::array one{int64_t(1)};

TEST(LocateFailure, TheFirstInCOrder) {
  first_failure found = locate_quotient(one, zeros_at("30 * 40 * int64", {417, 418, 700, 1199}));
  EXPECT_EQ(found.where, "(10, 17)");
  EXPECT_EQ(found.text, "floor_divide: integer division by zero");
  EXPECT_EQ(found.status, int(dynd_error_value));
  EXPECT_EQ(locate_quotient(one, zeros_at("500 * int64", {499})).where, "(499,)");
  EXPECT_EQ(locate_quotient(one, zeros_at("500 * int64", {0, 499})).where, "(0,)");
}

TEST(LocateFailure, OfATransposedTaskTheOrderIsTheResults) {
  // In memory the zero at (2, 1) comes first; transposed, (0, 3) does: it was (3, 0).
  nd::array by = zeros_at("4 * 5 * int64", {11, 15});
  EXPECT_EQ(locate_quotient(one, by).where, "(2, 1)");
  EXPECT_EQ(locate_quotient(one, nd::transposed(by)).where, "(0, 3)");
  EXPECT_EQ(locate_quotient(nd::transposed(ramp("4 * 5 * int64")), nd::transposed(by)).where, "(0, 3)");
  EXPECT_EQ(locate_quotient(ramp("5 * 4 * int64"), nd::transposed(by)).where, "(0, 3)") << "a panel";
  nd::array large = zeros_at("200 * 300 * int64", {299, 30000});
  EXPECT_EQ(locate_quotient(ramp("300 * 200 * int64"), nd::transposed(large)).where, "(0, 100)");
}

TEST(LocateFailure, WhatStretchesFailsAtItsFirstElement) {
  EXPECT_EQ(locate_quotient(ramp("3 * 4 * int64"), parse("3 * 1 * int64", "[[1], [0], [0]]")).where, "(1, 0)");
  EXPECT_EQ(locate_quotient(ramp("3 * 4 * int64"), parse("4 * int64", "[1, 1, 0, 1]")).where, "(0, 2)");
  EXPECT_EQ(locate_quotient(one, nd::array(int64_t(0))).where, "(0,)") << "one has one dimension";
  EXPECT_EQ(locate_quotient(nd::array(int64_t(1)), nd::array(int64_t(0))).where, "") << "no axis";
}

TEST(LocateFailure, InRows) {
  nd::array rows = parse("4 * var * int64", "[[1, 2], [], [3, 0, 0], [0]]");
  EXPECT_EQ(locate_quotient(one, rows).where, "(2, 1)");
  EXPECT_EQ(locate_quotient(rows + 1, parse("4 * 1 * int64", "[[1], [0], [1], [0]]")).where, "(3, 0)")
      << "an empty row cannot fail";
  nd::array other = parse("4 * var * int64", "[[1], [], [1, 5, 0], [1]]");
  EXPECT_EQ(locate_quotient(rows, other).where, "(2, 2)") << "rows of its own, some of which stretch";
  nd::array deep = parse("2 * var * var * int64", "[[[1], [2, 3]], [[], [4, 0], [0]]]");
  EXPECT_EQ(locate_quotient(one, deep).where, "(1, 1, 1)");
  nd::array nested = parse("2 * var * var * int64", "[[[1, 2], [3]], [[4]]]");
  EXPECT_EQ(locate_quotient(nested, parse("2 * var * int64", "[[7, 0], [1]]")).where, "(0, 0, 1)")
      << "right-justified, the sublist [4] stretches";
  nd::index backwards{nd::index::slice, 0, {}, {}, -1};
  nd::array turned = nd::at(rows, {&backwards, 1});
  EXPECT_EQ(locate_quotient(one, turned).where, "(0, 0)");
  nd::index inside[] = {{nd::index::ellipsis, 0, {}, {}, {}}, backwards};
  EXPECT_EQ(locate_quotient(one, nd::at(rows, inside)).where, "(2, 0)");
}

TEST(LocateFailure, OfSeveralStepsTheFirstElementCounts) {
  // The first step fails at element 400 of a batch, the second at 300, in the next row the first at 0.
  nd::array a = zeros_at("2 * 500 * int64", {400, 500}), b = zeros_at("2 * 500 * int64", {300, 501});
  located_task l({a, b}, scalar_id::int64);
  uint8_t first = l.t.p.add_operation(op_id::floor_divide, scalar_id::int64, {1, 0});
  l.t.p.add_output(l.t.p.add_operation(op_id::floor_divide, scalar_id::int64, {first, 1}));
  EXPECT_EQ(l.locate().where, "(0, 300)");
}

TEST(LocateFailure, NamesTheFieldOfTheStep) {
  located_task l({parse("3 * int64", "[1, 300, 400]"), parse("3 * int64", "[1, 2, 500]")}, scalar_id::int8);
  l.t.p.assigned(1, scalar_id::int8, error_mode::overflow, no_register, "\"y\"");
  l.t.p.add_output(l.t.p.assigned(0, scalar_id::int8, error_mode::overflow, no_register, "\"x\""));
  first_failure found = l.locate();
  EXPECT_EQ(found.where, "(1, \"x\")");
  EXPECT_EQ(found.status, int(dynd_error_overflow));
  EXPECT_EQ(found.text, "overflow while assigning int64 value 300 to int8");
}

TEST(LocateFailure, PartsOfElements) {
  auto assigned = [](const char *to, const char *zeros, const char *from, const char *values) {
    nd::array dst = parse(to, zeros, access_mode::readwrite);
    return failure([&] { nd::assign(dst, parse(from, values)); });
  };
  EXPECT_EQ(assigned("2 * {x: int8, y: {z: int8}}", "[{x: 0, y: {z: 0}}, {x: 0, y: {z: 0}}]",
                     "2 * {x: int64, y: {z: int64}}", "[{x: 1, y: {z: 2}}, {x: 3, y: {z: 400}}]"),
            "overflow: overflow while assigning int64 value 400 to int8 at index (1, \"y\", \"z\")");
  EXPECT_EQ(assigned("2 * {x: int8, s: string}", R"([{x: 0, s: ""}, {x: 0, s: ""}])", "2 * {x: string, s: string}",
                     R"([{x: "1", s: "a"}, {x: "300", s: "b"}])"),
            "overflow: overflow converting string \"300\" to int8 at index (1, \"x\")");
  EXPECT_EQ(assigned("{x: int8}", "{x: 0}", "{x: int64}", "{x: 300}"),
            "overflow: overflow while assigning int64 value 300 to int8 at index (\"x\",)");
  nd::array rows = parse("2 * {x: var * int64}", "[{x: [1]}, {x: [2, 3, 400]}]");
  EXPECT_EQ(
      failure([&] { nd::array(convert_values(rows.get(), access_mode::immutable, ndt::type("2 * {x: var * int8}"))); }),
      "overflow: overflow while assigning int64 value 400 to int8 at index (1, \"x\", 2)");
  nd::array maybe = parse("3 * ?int64", "[1, null, 3]");
  EXPECT_EQ(failure([&] { nd::copy(maybe, access_mode::immutable); }), "no error");
  nd::array numbers = ramp("3 * int64", access_mode::readwrite);
  EXPECT_EQ(failure([&] { nd::assign(numbers, maybe); }),
            "overflow: cannot assign an NA value to a non-option type at index (1,)");
}

TEST(LocateFailure, NoneFails) {
  first_failure found = locate_quotient(one, zeros_at("30 * 40 * int64", {}));
  EXPECT_EQ(found.status, int(dynd_ok));
}

// ---- code of users: it may fail only now and then -------------------------------------------------------------------

// A kernel that is told by the test when to fail, and counts the elements that it saw.
struct moody_kernel {
  std::atomic<int64_t> seen = 0;
  std::function<bool(int64_t value)> fails;
  nd::kernel kernel = nd::make_kernel("moody", [this](int64_t x) {
    seen++;
    return fails(x) ? throw std::runtime_error("not " + std::to_string(x)) : x;
  });

  first_failure locate(const nd::array &a) {
    external_function function;
    function.kernel = kernel.get();
    function.types = {1, 1, {scalar_id::int64, scalar_id::int64}};
    located_task l({a}, scalar_id::int64);
    uint8_t x = 0, result;
    l.t.p.add_external(function, &x, &result);
    l.t.p.add_output(result);
    return l.locate();
  }
};

TEST(LocateFailure, ExternalCodeSeesEveryElementOnce) {
  moody_kernel moody;
  for (int64_t bad : {0, 1, 499, 500, 998, 999}) {
    moody.seen = 0;
    moody.fails = [&](int64_t x) { return x >= bad; };
    first_failure found = moody.locate(ramp("1000 * int64"));
    EXPECT_EQ(found.where, "(" + std::to_string(bad) + ",)");
    EXPECT_EQ(found.text, "moody: not " + std::to_string(bad));
    EXPECT_EQ(moody.seen, bad + 1);
  }
}

TEST(LocateFailure, ExternalCodeIsRunElementByElement) {
  moody_kernel moody;
  std::vector<int64_t> order;
  moody.fails = [&](int64_t x) {
    order.push_back(x);
    return x == 7;
  };
  first_failure found = moody.locate(ramp("4 * 5 * int64"));
  EXPECT_EQ(found.where, "(1, 2)");
  EXPECT_EQ(found.text, "moody: not 7");
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(LocateFailure, ExternalCodeThatDoesNotFailAgainHasNoPlace) {
  moody_kernel moody;
  nd::callable f = nd::callable(moody.kernel);
  for (const char *type : {"4 * 5 * int64", "4 * var * int64"}) {
    bool first = true;
    moody.fails = [&](int64_t) { return std::exchange(first, false); };
    EXPECT_EQ(failure([&] { f(ramp(type)); }), "value: moody: not 0") << "what was said, without a place";
  }
  moody.fails = [](int64_t) { return false; };
  EXPECT_EQ(moody.locate(ramp("4 * 5 * int64")).status, int(dynd_ok));
}

} // namespace
} // namespace dynd

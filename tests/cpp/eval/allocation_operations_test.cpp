// Every allocation fails in turn, of what is in a table: every elementwise operation and reduction in every type, of
// missing values too, every conversion under every mode, every kernel that is registered (plug-ins in examples/ among
// them), over every kind of layout. So an operation or a plug-in that is added later is here without a change.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/call/registry.h"
#include "dynd/eval/evaluate.h"
#include "dynd/ops/isa.h"
#include "eval/allocation_scenarios.h"

namespace dynd::testing {
namespace {

nd::array backwards(const nd::array &a) { return view(a, -2); }

/// How two operands lie; a third is like the first. So few elements that their numbers fit into every type but bool.
struct layout {
  const char *name;
  const char *shape[2];
  nd::array (*view[2])(const nd::array &) = {nullptr, nullptr};
};

const layout layouts[] = {
    {"dense", {"20 * ", "20 * "}},
    {"strided", {"41 * ", "41 * "}, {backwards, backwards}},
    {"broadcast", {"9 * 1 * ", "1 * 7 * "}},
    {"transposed", {"9 * 12 * ", "12 * 9 * "}, {nullptr, nd::transposed}},
    {"ragged", {"12 * var * ", "12 * var * "}},
    {"ragged, a value for each row", {"12 * var * ", "12 * 1 * "}},
    {"ragged, out of order", {"12 * var * ", "12 * var * "}, {backwards, backwards}},
};

operand laid_out(const layout &l, size_t i, scalar_id scalar) {
  return {std::string(l.shape[i % 2]) + scalar_name[size_t(scalar)], "", access_mode::immutable, l.view[i % 2]};
}

template <class F> void for_each_scalar(F f) {
  for (size_t i = 0; i < scalar_count; i++) {
    f(scalar_id(i));
  }
}

bool takes_options(op_id op) {
  value_rule rule = operation_of(op).operand[0];
  return rule == value_rule::optional || rule == value_rule::presence;
}

bool computes_in(op_id op, scalar_id scalar) {
  try {
    return computation_type(op, scalar) == scalar;
  } catch (const error &) {
    return false;
  }
}

bool reduces(aggregate_id id, scalar_id scalar) {
  try {
    evaluate(id, ramp(std::string("1 * ") + scalar_name[size_t(scalar)]).get(), false);
    return true;
  } catch (const error &) {
    return false;
  }
}

result evaluated(op_id op, const arrays &x) {
  array_block *blocks[3] = {};
  std::transform(x.begin(), x.end(), blocks, [](const nd::array &a) { return a.get(); });
  ref<array_block> results[2];
  evaluate(op, {blocks, int(x.size())}, results);
  return {nd::array(std::move(results[0])), nd::array(std::move(results[1]))};
}

TEST(AllocationFailure, EveryElementwiseOperation) {
  int scenarios = 0;
  for (size_t op = 0; op < op_count; op++) {
    const operation &r = operation_of(op_id(op));
    for_each_scalar([&](scalar_id scalar) {
      for (const layout &l : layouts) {
        if (!computes_in(op_id(op), scalar) || takes_options(op_id(op)) || HasFatalFailure()) {
          continue;
        }
        scenario s = {std::string(r.name) + ", " + scalar_name[size_t(scalar)] + ", " + l.name, any, {}, {}};
        for (size_t i = 0; i < r.noperands; i++) {
          s.operands.push_back(laid_out(l, i, operand_type(op_id(op), int(i), scalar)));
        }
        s.may_fail = can_fail(op_id(op), scalar);
        s.run = [&](const arrays &x) { return evaluated(op_id(op), x); };
        expect_to_survive(s);
        scenarios++;
      }
    });
  }
  EXPECT_GT(scenarios, int(op_count * std::size(layouts)));
}

// A missing value is a register more: one type is enough, and layouts in which the chain differs.
const scalar_id types_with_gaps[] = {scalar_id::float64, scalar_id::int32, scalar_id::bool_};

template <class F> scalar_id first_type(F takes) {
  const scalar_id *found = std::find_if(types_with_gaps, std::end(types_with_gaps), takes);
  EXPECT_NE(found, std::end(types_with_gaps)) << "add a type";
  return *found;
}

const layout &dense = layouts[0], &broadcast = layouts[2], &ragged_values = layouts[5];

TEST(AllocationFailure, EveryElementwiseOperationOfMissingValues) {
  for (size_t op = 0; op < op_count; op++) {
    const operation &r = operation_of(op_id(op));
    scalar_id scalar = first_type([&](scalar_id type) { return computes_in(op_id(op), type); });
    for (const layout *l : {&dense, &broadcast, &ragged_values}) {
      scenario s = {std::string(r.name) + ", ?" + scalar_name[size_t(scalar)] + ", " + l->name, any, {}, {}};
      for (size_t i = 0; i < r.noperands; i++) {
        s.operands.push_back(laid_out(*l, i, operand_type(op_id(op), int(i), scalar)));
        s.operands.back().gaps = i == 0 || op % 2;
      }
      s.may_fail = can_fail(op_id(op), scalar);
      s.run = [&](const arrays &x) { return evaluated(op_id(op), x); };
      expect_to_survive(s);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

TEST(AllocationFailure, EveryReductionOfMissingValues) {
  for (size_t reduction = 0; reduction < aggregate_count; reduction++) {
    auto id = aggregate_id(reduction);
    scalar_id scalar = first_type([&](scalar_id type) { return reduces(id, type); });
    for (const layout &l : layouts) {
      operand of = laid_out(l, 0, scalar);
      of.gaps = true;
      int ndim = of.make().ndim();
      for (int axis = -ndim; axis <= 0; axis++) {
        std::optional<int> at = axis ? std::optional(axis) : std::nullopt;
        scenario s = {aggregate_of(id).name + std::string(", missing values, ") + l.name + ", " +
                          (at ? "axis " + std::to_string(axis) : "all axes"),
                      any,
                      {of},
                      [&](const arrays &x) { return result{nd::array(evaluate(id, x[0].get(), false, at))}; }};
        s.may_fail = axis < -1 && std::string(l.shape[0]).find("var") != std::string::npos; // uneven rows
        expect_to_survive(s);
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
}

TEST(AllocationFailure, EveryReduction) {
  for (size_t reduction = 0; reduction < aggregate_count; reduction++) {
    for_each_scalar([&](scalar_id scalar) {
      for (const layout &l : layouts) {
        int ndim = laid_out(l, 1, scalar).make().ndim();
        for (int axis = -ndim; axis <= 0; axis++) {
          if (!reduces(aggregate_id(reduction), scalar) || HasFatalFailure()) {
            continue;
          }
          bool all = axis == 0, ragged = std::string(l.shape[1]).find("var") != std::string::npos;
          scenario s = {
              aggregate_of(aggregate_id(reduction)).name + std::string(", ") + scalar_name[size_t(scalar)] + ", " +
                  l.name + ", " + (all ? "all axes" : "axis " + std::to_string(axis)),
              any,
              {laid_out(l, 1, scalar)},
              [&](const arrays &x) {
                return result{nd::array(evaluate(aggregate_id(reduction), x[0].get(), false,
                                                 all ? std::nullopt : std::optional(axis), {.keepdims = all}))};
              },
              // an empty row; rows of different lengths that are to be one row
              ragged &&
                  (reduction_of(aggregate_of(aggregate_id(reduction)).fold).empty == empty_rule::none || axis < -1)};
          expect_to_survive(s);
        }
      }
    });
  }
}

// In the type that the running values have, and in one that is converted first; the axis may fail for uneven rows.
TEST(AllocationFailure, EveryScan) {
  for (size_t i = 0; i < scan_count; i++) {
    for (scalar_id scalar : {scalar_id::float64, scalar_id::int8}) {
      for (const layout &l : layouts) {
        for (int which = 0; which < 4; which++) {
          operand of = laid_out(l, 1, scalar);
          of.gaps = which & 1;
          int ndim = of.make().ndim();
          for (int axis = -ndim; axis < 0; axis++) {
            auto run = [&](const arrays &x) {
              return result{nd::array(evaluate(scan_id(i), x[0].get(), false, axis, which & 2))};
            };
            scenario s = {scan_of(scan_id(i)).name + std::string(", ") + l.name, any, {of}, run};
            s.may_fail = axis < -1 && std::string(l.shape[1]).find("var") != std::string::npos;
            expect_to_survive(s);
            ASSERT_FALSE(HasFatalFailure());
          }
        }
      }
    }
  }
}

TEST(AllocationFailure, EveryConversionUnderEveryMode) {
  for (size_t m = 0; m < error_mode_count; m++) {
    for_each_scalar([&](scalar_id to) {
      for_each_scalar([&](scalar_id from) {
        auto function = [&](size_t n) { return isa().convert_checked(error_mode(n), to, from); };
        bool as_before = m > 0 && function(m) == function(m - 1);
        if (as_before || HasFatalFailure()) { // the very same kernel
          return;
        }
        auto mode = error_mode(m);
        std::string name = scalar_name[size_t(from)] + std::string(" to ") + scalar_name[size_t(to)] + ", mode " +
                           std::to_string(m) + ", ";
        auto copy = [&](const arrays &x) { return result{converted(x[0], to, mode)}; };
        for (const layout &l : layouts) { // values that fit; not all are a bool
          expect_to_survive({name + l.name, any, {laid_out(l, 1, from)}, copy, to == scalar_id::bool_});
        }
        operand destination = {"5 * 6 * " + std::string(scalar_name[size_t(to)]), "", writable};
        operand source = {"6 * " + std::string(scalar_name[size_t(from)])};
        expect_to_survive({name + "assigned, broadcast", any, {destination, source}, [&](const arrays &x) {
                             nd::assign(x[0], to == scalar_id::bool_ ? nd::not_equal(x[1], x[1]) : x[1], mode);
                             return result{x[0]};
                           }});
        for (const char *shape : {"300 * ", "150 * var * "}) { // values that may not fit, located
          expect_to_survive({name + shape, any, {{shape + std::string(scalar_name[size_t(from)])}}, copy, true});
        }
      });
    });
  }
}

TEST(AllocationFailure, EveryRegisteredKernel) {
  for (const deferred_ckernel &k : samples) {
    if (!nd::find_callable(k.name)) {
      nd::register_kernel(nd::kernel(k));
    }
  }
  for (const auto &file : std::filesystem::directory_iterator(DYND_BUILD_DIR "/examples")) {
    if (file.path().filename().string().rfind("plugin_", 0) == 0 && file.path().extension() == ".so") {
      nd::load(file.path());
    }
  }
  for (const nd::callable &f : nd::callables()) {
    const ndt::type signature = f.signatures()[0];
    for (const layout &l : layouts) {
      scenario s = {f.name() + ", " + l.name, any, {}, {}, true};
      for (int i = 0; i < signature->nfields; i++) {
        s.operands.push_back(laid_out(l, size_t(i), signature->fields[i].type->scalar));
      }
      s.run = [&](const arrays &x) { return all_of(nd::callable(f.kernels()[0]).call_all(x)); }; // built anew
      expect_to_survive(s);
      ASSERT_FALSE(HasFatalFailure()) << f.name();
    }
  }
}

} // namespace
} // namespace dynd::testing

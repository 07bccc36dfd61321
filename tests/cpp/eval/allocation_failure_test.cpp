// Every allocation is made to fail in turn while kernels are built and run: an error of kind memory, nothing leaked,
// nothing changed, and the same evaluation then succeeds.
//
// What is evaluated comes from the tables: every elementwise operation and reduction in every type, of missing values too, every conversion under
// every mode, every kernel that is registered (plug-ins in examples/ among them), over every kind of layout; assignment
// and comparison of every kind of type, and of every kind inside of every other. So an operation, a plug-in or a kind that
// is added later is here without a change. What is in no table (the levels of a kernel, lazy arrays, errors) is a line
// in allocation_failure.def.
//
// Each attempt runs on a thread of its own, so that what a thread keeps (scratch, small blocks) is allocated anew; what
// the process keeps for reuse is given back first.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allocations.h"
#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/call/registry.h"
#include "dynd/call/wrap.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/observe.h"
#include "dynd/kernel/compare.h"
#include "dynd/kernel/external.h"
#include "dynd/memory/buffer.h"
#include "fixture.h"

namespace dynd::testing {
namespace {

using arrays = std::vector<nd::array>;
using result = std::array<nd::array, max_external_outputs>; // no allocation of our own after an assignment was made

/// ramp(type), or parse(type, values); writable ones for destinations. Then seen through `view`, if there is one.
struct operand {
  std::string type, values = "";
  access_mode access = access_mode::immutable;
  nd::array (*view)(const nd::array &) = nullptr;
  nd::array make() const {
    nd::array made = values.empty() ? ramp(type, access) : parse(type, values, access);
    return view ? view(made) : made;
  }
};
constexpr access_mode writable = access_mode::readwrite;

constexpr const char *any = "";

struct scenario {
  std::string name;
  const char *kernel; ///< a part of what explain says: that the kernel is the one that is meant; or `any`
  std::vector<operand> operands;
  std::function<result(const arrays &x)> run;
  bool may_fail = false; ///< also with memory: then what the error says is the result
};

void PrintTo(const scenario &s, std::ostream *out) { *out << s.name; }

// ---- parts of scenarios ---------------------------------------------------------------------------------------------

nd::array view(const nd::array &a, intptr_t step) {
  nd::index every{nd::index::slice, 0, {}, {}, step};
  return nd::at(a, {&every, 1});
}

/// a[:, ::step]
nd::array inside(const nd::array &a, intptr_t step) {
  nd::index indices[] = {{nd::index::ellipsis, 0, {}, {}, {}}, {nd::index::slice, 0, 0, {}, step}};
  indices[1].start = step < 0 ? std::optional<intptr_t>() : 0;
  return nd::at(a, indices);
}

nd::array assigned(const nd::array &dst, const nd::array &src) {
  nd::assign(dst, src);
  return dst;
}

result both(std::pair<nd::array, nd::array> two) { return {two.first, two.second}; }

/// What fails with an error of the user's is as good as a result; only memory errors go on.
template <class F> result expecting(error_kind kind, F f) {
  try {
    f();
  } catch (const error &e) {
    if (e.kind() == kind) {
      return {};
    }
    throw;
  }
  ADD_FAILURE() << "no error";
  return {};
}

template <class F> result traced(F f) {
  observation seen;
  seen.tracing = true;
  observed_scope watched(&seen);
  result traced = {f()};
  trace_text(seen);
  return traced;
}

/// 40 operations on one another, more than one group holds.
nd::array long_chain(const nd::array &a) {
  nd::array chain = a;
  for (int i = 0; i < 40; i++) {
    chain = i % 2 ? chain + a : chain * 0.5;
  }
  return chain;
}

result kept_and_summed(const nd::array &a) {
  nd::array twice = a * 2.0;
  return {nd::sum(twice), twice};
}

result held(const nd::array &a, const nd::array &b) {
  nd::array product = a * b, sum = product + a, root = nd::sqrt(sum);
  root.eval();
  return {product, sum, root};
}

nd::array converted(const nd::array &a, scalar_id to, error_mode mode) {
  return nd::array(copy_values(a.get(), access_mode::immutable, ndt::make_scalar(to), mode));
}

result all_of(const std::vector<nd::array> &several) {
  result results;
  std::copy(several.begin(), several.end(), results.begin());
  return results;
}

/// A function that is wrapped, lifted, called and forgotten.
template <class F, class... A> result lifted(F f, const A &...operands) {
  const nd::array all[] = {operands...};
  return all_of(nd::lift(nd::make_kernel("lambda", f)).call_all(all));
}

// ---- external kernels, one of each prototype: they own memory and ask for more while they run ----------------------

int external_owners = 0;
int64_t external_memory = 0;

struct sample_kernel {
  ckernel_prefix base;
  char *memory;
};

intptr_t make_sample(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *) {
  intptr_t end = offset + intptr_t(sizeof(sample_kernel)) + 1500; // so much that the builder has to grow
  if (int status = ckernel_builder_ensure_capacity_leaf(out, size_t(end))) {
    return status;
  }
  ckernel_builder_reserve_scratch(out, 100);
  auto *k = reinterpret_cast<sample_kernel *>(out->data + offset);
  k->base.destructor = [](ckernel_prefix *self) {
    delete[] reinterpret_cast<sample_kernel *>(self)->memory;
    external_memory--;
  };
  external_memory++;
  k->memory = new (std::nothrow) char[100];
  if (!k->memory) {
    return dynd_error_memory;
  }
  k->base.function = self->data_ptr;
  return end;
}

double number_at(const char *at) { return *reinterpret_cast<const double *>(at); }

// In the last block: once a run.
bool has_memory(dynd_frame *frame, size_t count) { return count >= 64 || frame->temp(frame, count); }

int negate_strided(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                   const ckernel_prefix *, dynd_frame *frame) {
  for (size_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {
    *reinterpret_cast<double *>(dst) = -number_at(src);
  }
  return has_memory(frame, count) ? dynd_ok : dynd_error_memory;
}

int product_strided(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                    const ckernel_prefix *, dynd_frame *frame) {
  for (size_t i = 0; i < count; i++, dst += dst_stride) {
    intptr_t at = intptr_t(i);
    *reinterpret_cast<double *>(dst) = number_at(src[0] + at * src_stride[0]) * number_at(src[1] + at * src_stride[1]);
  }
  return has_memory(frame, count) ? dynd_ok : dynd_error_memory;
}

int is_before(const char *left, const char *right, const ckernel_prefix *, dynd_frame *frame) {
  return has_memory(frame, 10) ? number_at(left) < number_at(right) : int(dynd_error_memory);
}

int sums_strided(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *, dynd_frame *frame) {
  for (size_t i = 0; i < count; i++) {
    auto at = [&](int o) { return reinterpret_cast<double *>(data[o] + intptr_t(i) * stride[o]); };
    *at(0) = *at(3) + *at(4);
    *at(1) = *at(4) + *at(5);
    *at(2) = *at(5) + *at(6);
  }
  return has_memory(frame, count) ? dynd_ok : dynd_error_memory;
}

template <class F> deferred_ckernel sample(uint32_t prototype, const char *name, const char *signature, F *function) {
  return {sizeof(deferred_ckernel),
          DYND_ABI_VERSION,
          prototype,
          0,
          name,
          signature,
          nullptr,
          reinterpret_cast<void *>(function),
          make_sample,
          [](const deferred_ckernel *) { external_owners++; },
          [](const deferred_ckernel *) { external_owners--; }};
}

const deferred_ckernel samples[] = {
    sample(unary_operation_funcproto_id, "sample_unary", "(float64) -> float64", negate_strided),
    sample(expr_operation_funcproto_id, "sample_expr", "(float64, float64) -> float64", product_strided),
    sample(binary_predicate_funcproto_id, "sample_predicate", "(float64, float64) -> bool", is_before),
    sample(multi_operation_funcproto_id, "sample_multi",
           "(float64, float64, float64, float64) -> (float64, float64, float64)", sums_strided)};
static_assert(std::size(samples) == multi_operation_funcproto_id + 1, "one of each prototype");

nd::array negated(const nd::array &a) { return nd::call(samples[unary_operation_funcproto_id], {&a, 1}); }

// ---- the scenarios ------------------------------------------------------------------------------------------------

constexpr const char *large = "100 * 100 * float64";                      // lazy
constexpr const char *ragged = "30 * var * float64";                      // rows of 2, 0, 1, 3 ...
constexpr const char *nested = "[[[1, 2], [3]], [[4]], [[], [5, 6, 7]]]"; // 3 * var * var
constexpr const char *words = "[[\"a\", \"\", \"b\"], [\"c\"]]";
constexpr const char *structs = "1 * {a: string, b: (int8, var * float64), c: ?pointer[bytes]}";
constexpr const char *ones = "[[[1], [2]], [[3]], [[4]]]"; // the last sublist stretches

const scenario scenarios[] = {
#define OPERANDS(...)                                                                                                  \
  { __VA_ARGS__ }
#define SCENARIO(name, kernel, operands, ...)                                                                          \
  {name, kernel, OPERANDS operands, [](const arrays &x) { return result{__VA_ARGS__}; }},
#include "allocation_failure.def"
#undef SCENARIO
#undef OPERANDS
};

// ---- the attempts ---------------------------------------------------------------------------------------------------

template <class List> std::string all_bits(const List &list) {
  std::string all;
  for (const nd::array &a : list) {
    all += a ? bits(a) : "";
  }
  return all;
}

// What an evaluation came to. Nothing here allocates.
struct outcome_of_run {
  result results;
  bool memory = false; ///< an error for want of memory
  char error[300] = "";
  std::string text() const { return error + all_bits(results); }
};

outcome_of_run run(const scenario &s, const arrays &operands) {
  outcome_of_run o;
  try {
    o.results = s.run(operands);
    for (const nd::array &a : o.results) {
      if (a) {
        a.eval();
      }
    }
  } catch (const error &e) {
    o.memory = e.kind() == error_kind::memory;
    std::snprintf(o.error, sizeof(o.error), "error of kind %d: %s", int(e.kind()), e.what());
  } catch (const std::bad_alloc &) {
    o.memory = true;
  }
  return o;
}

arrays make_operands(const scenario &s) {
  arrays operands;
  for (const operand &o : s.operands) {
    operands.push_back(o.make());
  }
  return operands;
}

struct outcome {
  bool happened = false; ///< some allocation failed
  bool failed = false;   ///< with an error for want of memory
  std::string results;   ///< of the attempt, or of the one after it failed
  bool unchanged = true; ///< the operands, where the attempt failed
};

// The n-th allocation fails; then, if that was an error, the same once more with memory.
void attempt(const scenario &s, int64_t n, bool all_after, outcome &o) {
  arrays operands = make_operands(s);
  outcome_of_run first;
  std::string before = all_bits(operands);
  trim_memory();
  trim_blocks();
  {
    failing_allocation failing(n, all_after);
    first = run(s, operands);
    o.happened = failing.happened();
  }
  o.failed = first.memory;
  if (first.memory) {
    o.unchanged = all_bits(operands) == before;
    first = run(s, operands);
  }
  o.results = first.text();
}

outcome attempt_on_new_thread(const scenario &s, int64_t n, bool all_after) {
  outcome o;
  std::thread([&] { attempt(s, n, all_after, o); }).join();
  trim_memory();
  return o;
}

void expect_to_survive(const scenario &s) {
  SCOPED_TRACE(s.name);
  set_num_threads(1);
  constexpr int64_t no_failure = 1 << 30;
  std::string expected = attempt_on_new_thread(s, no_failure, false).results; // types are interned, statics made
  ASSERT_TRUE(s.may_fail || expected.rfind("error", 0) != 0) << expected;
  if (s.kernel[0]) {
    observation seen;
    {
      observed_scope watched(&seen);
      run(s, make_operands(s));
    }
    EXPECT_NE(explanation_text(seen).find(s.kernel), std::string::npos) << explanation_text(seen);
  }
  trim_blocks();
  trim_memory();
  int owners = external_owners;
  for (bool all_after : {false, true}) {
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      ASSERT_LT(n, 3000) << "does it ever succeed?";
      SCOPED_TRACE("allocation " + std::to_string(n) + (all_after ? " and all after it" : ""));
      int64_t live = live_allocations(), waiting = waiting_bytes.load();
      {
        outcome o = attempt_on_new_thread(s, n, all_after);
        happened = o.happened;
        ASSERT_TRUE(o.results == expected) << (o.failed ? "the attempt after the failure" : o.results.substr(0, 300));
        ASSERT_TRUE(o.unchanged);
        ASSERT_TRUE(happened || !o.failed);
      }
      ASSERT_EQ(live_allocations(), live) << "leaked";
      ASSERT_EQ(waiting_bytes.load(), waiting);
      ASSERT_EQ(external_owners, owners);
      ASSERT_EQ(external_memory, 0);
    }
  }
}

// ---- from the tables ------------------------------------------------------------------------------------------------

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
    {"ragged, a value a row", {"12 * var * ", "12 * 1 * "}},
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

bool computes_in(op_id op, scalar_id scalar) {
  for (value_rule rule : operation_of(op).operand) {
    if (rule == value_rule::optional || rule == value_rule::presence) {
      return false; // of ?T, not of scalars
    }
  }
  try {
    return computation_type(op, scalar) == scalar;
  } catch (const error &) {
    return false;
  }
}

bool reduces(reduction_id reduction, scalar_id scalar) {
  try {
    accumulator_type(reduction, scalar);
    return true;
  } catch (const error &) {
    return false;
  }
}

TEST(AllocationFailure, EveryElementwiseOperation) {
  int scenarios = 0;
  for (size_t op = 0; op < op_count; op++) {
    const operation &r = operation_of(op_id(op));
    for_each_scalar([&](scalar_id scalar) {
      for (const layout &l : layouts) {
        if (!computes_in(op_id(op), scalar) || HasFatalFailure()) {
          continue;
        }
        scenario s = {std::string(r.name) + ", " + scalar_name[size_t(scalar)] + ", " + l.name, any, {}, {}};
        for (size_t i = 0; i < r.noperands; i++) {
          s.operands.push_back(laid_out(l, i, operand_type(op_id(op), int(i), scalar)));
        }
        s.may_fail = can_fail(op_id(op), scalar);
        s.run = [&](const arrays &x) {
          array_block *blocks[3] = {};
          for (size_t i = 0; i < x.size(); i++) {
            blocks[i] = x[i].get();
          }
          ref<array_block> results[2];
          evaluate(op_id(op), {blocks, r.noperands}, results);
          return result{nd::array(std::move(results[0])), nd::array(std::move(results[1]))};
        };
        expect_to_survive(s);
        scenarios++;
      }
    });
  }
  EXPECT_GT(scenarios, int(op_count * std::size(layouts)));
}

TEST(AllocationFailure, EveryReduction) {
  for (size_t reduction = 0; reduction < reduction_count; reduction++) {
    for_each_scalar([&](scalar_id scalar) {
      for (const layout &l : layouts) {
        int ndim = laid_out(l, 1, scalar).make().ndim();
        for (int axis = -ndim; axis <= 0; axis++) {
          if (!reduces(reduction_id(reduction), scalar) || HasFatalFailure()) {
            continue;
          }
          bool all = axis == 0, ragged = std::string(l.shape[1]).find("var") != std::string::npos;
          scenario s = {reduction_of(reduction_id(reduction)).name + std::string(", ") + scalar_name[size_t(scalar)] +
                            ", " + l.name + ", " + (all ? "all axes" : "axis " + std::to_string(axis)),
                        any,
                        {laid_out(l, 1, scalar)},
                        [&](const arrays &x) {
                          return result{nd::array(
                              evaluate(reduction_id(reduction), x[0].get(), false, all ? std::nullopt : std::optional(axis), all))};
                        },
                        // an empty row; rows of different lengths that are to be one row
                        ragged && (reduction_of(reduction_id(reduction)).empty == empty_rule::none || axis < -1)};
          expect_to_survive(s);
        }
      }
    });
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

// ---- every kind of type, in every other -----------------------------------------------------------------------------

/// A type of that kind, over `element` where it is over something.
ndt::type type_of_kind(type_kind kind, ndt::type element) {
  const std::string names[] = {"x", "y"};
  const ndt::type fields[] = {element, ndt::make_string()};
  switch (kind) {
  case type_kind::scalar:
    return ndt::make_scalar(scalar_id::int32);
  case type_kind::string:
    return ndt::make_string();
  case type_kind::bytes:
    return ndt::make_bytes();
  case type_kind::option:
    return ndt::make_option(element);
  case type_kind::tuple:
    return ndt::make_tuple(fields);
  case type_kind::struct_:
    return ndt::make_struct(names, fields);
  case type_kind::pointer:
    return ndt::make_pointer(element);
  case type_kind::byteswap:
    return ndt::make_byteswap(ndt::make_scalar(scalar_id::int32));
  case type_kind::fixed_dim:
    return ndt::make_fixed_dim(2, element);
  case type_kind::strided_dim:
    return ndt::make_strided_dim(element);
  case type_kind::var_dim:
    return ndt::make_var_dim(element);
  }
  throw std::runtime_error("a new kind of type: say here how it is made and what its values look like");
}

/// Values as `parse` reads them: numbers and texts that count, now and then a missing value, rows of several lengths.
std::string values_of(const type_data *type, int &next) {
  switch (type->kind) {
  case type_kind::scalar:
  case type_kind::byteswap:
    return std::to_string(next++);
  case type_kind::string:
  case type_kind::bytes:
    return "\"" + std::to_string(next++) + "\"";
  case type_kind::option:
    return next % 3 == 1 ? (next++, "null") : values_of(type->element, next);
  case type_kind::tuple:
  case type_kind::struct_: {
    bool named = type->kind == type_kind::struct_;
    std::string text = named ? "{" : "(";
    for (int i = 0; i < type->nfields; i++) {
      text += (i ? ", " : "") + (named ? type->fields[i].name + std::string(": ") : "") +
              values_of(type->fields[i].type, next);
    }
    return text + (named ? "}" : ")");
  }
  case type_kind::pointer:
    return values_of(type->element, next);
  case type_kind::fixed_dim:
  case type_kind::strided_dim:
  case type_kind::var_dim: {
    int length = type->kind == type_kind::var_dim ? next++ % 3 : 2;
    std::string text = "[";
    for (int i = 0; i < length; i++) {
      text += (i ? ", " : "") + values_of(type->element, next);
    }
    return text + "]";
  }
  }
  throw std::runtime_error("a new kind of type");
}

/// Of every kind, and of every kind over every kind.
struct kinds_of_types {
  std::vector<ndt::type> plain, nested;

  kinds_of_types() {
    for (int kind = 0; kind < type_kind_count; kind++) {
      add(plain, type_kind(kind), ndt::make_scalar(scalar_id::int16));
    }
    for (int kind = 0; kind < type_kind_count; kind++) {
      for (ndt::type element : plain) {
        add(nested, type_kind(kind), element);
      }
    }
  }

private:
  void add(std::vector<ndt::type> &to, type_kind kind, ndt::type element) {
    try {
      ndt::type type = type_of_kind(kind, element);
      for (const std::vector<ndt::type> *list : {&plain, &nested}) {
        if (std::find(list->begin(), list->end(), type) != list->end()) {
          return;
        }
      }
      to.push_back(type);
    } catch (const error &) { // there is no such type, as ??T
    }
  }
};

operand three_of(ndt::type element, access_mode access = access_mode::immutable) {
  int next = 0;
  std::string values = "[";
  for (int i = 0; i < 3; i++) {
    values += (i ? ", " : "") + values_of(element.get(), next);
  }
  return {"3 * " + std::string(element.str()), values + "]", access};
}

/// Every plain kind with every other; a nested one with itself and with one plain kind after the other.
template <class F> void for_each_pair_of_types(F f) {
  kinds_of_types kinds;
  for (ndt::type a : kinds.plain) {
    for (ndt::type b : kinds.plain) {
      f(a, b);
    }
  }
  for (size_t i = 0; i < kinds.nested.size(); i++) {
    ndt::type other = kinds.plain[i % kinds.plain.size()];
    f(kinds.nested[i], kinds.nested[i]);
    f(kinds.nested[i], other);
    f(other, kinds.nested[i]);
  }
}

// Those that have no assignment too: a new array, and one that is there.
TEST(AllocationFailure, AssignmentOfEveryKindOfType) {
  for_each_pair_of_types([&](ndt::type to, ndt::type from) {
    ndt::type type("3 * " + std::string(to.str()));
    std::string name = std::string(from.str()) + " to " + std::string(to.str());
    auto converts = [&](const arrays &x) {
      return result{nd::array(convert_values(x[0].get(), access_mode::immutable, type))};
    };
    expect_to_survive({name, any, {three_of(from)}, converts, to != from});
    auto assigns = [&](const arrays &x) { return result{assigned(x[0], x[1])}; };
    expect_to_survive({name + ", there already", any, {three_of(to, writable), three_of(from)}, assigns, to != from});
  });
}

/// Whether the first element comes before the second one when they are sorted.
nd::array first_two_ordered(const nd::array &a) {
  arrmeta_of meta(*a.get());
  kernel_operand left = {type_part{a->type}.element(), meta.get(), 0}, right = left;
  right.first = a->nstreams;
  ckernel_builder kernel;
  make_comparison_kernel(kernel, 0, left, right, comparison::order, kernel_request_single);
  char *stream[2 * max_type_streams];
  for (int s = 0; s < a->nstreams; s++) {
    stream[s] = a->streams()[s].address;
    stream[a->nstreams + s] = stream[s] + a->strides(s)[0];
  }
  work_frame frame(kernel.scratch_size);
  auto predicate = reinterpret_cast<streams_predicate_t>(kernel.root()->function);
  return nd::array(predicate(stream, kernel.root(), &frame) == 1);
}

TEST(AllocationFailure, ComparisonOfEveryKindOfType) {
  for_each_pair_of_types([&](ndt::type left, ndt::type right) {
    for (size_t op = 0; op < op_count && !HasFatalFailure(); op++) {
      if (!operation_of(op_id(op)).compares) {
        continue;
      }
      auto compares = [&](const arrays &x) {
        array_block *blocks[] = {x[0].get(), x[1].get()};
        return result{nd::array(evaluate(op_id(op), {blocks, 2}))};
      };
      std::string name =
          operation_of(op_id(op)).name + std::string(", ") + left.str().data() + " and " + right.str().data();
      expect_to_survive({name, any, {three_of(left), three_of(right)}, compares, left != right});
    }
    if (left == right) {
      auto orders = [](const arrays &x) { return result{first_two_ordered(x[0])}; };
      expect_to_survive({"order of " + std::string(left.str()), any, {three_of(left)}, orders});
    }
  });
}

TEST(AllocationFailure, EveryRegisteredKernel) {
  for (const deferred_ckernel &k : samples) {
    if (!nd::find_kernel(k.name)) {
      nd::register_kernel(nd::kernel(k));
    }
  }
  for (const auto &file : std::filesystem::directory_iterator(DYND_BUILD_DIR "/examples")) {
    if (file.path().filename().string().rfind("plugin_", 0) == 0 && file.path().extension() == ".so") {
      nd::load(file.path());
    }
  }
  for (const nd::registered_kernel &k : nd::kernels()) {
    const external_types &types = k.function.types();
    for (const layout &l : layouts) {
      scenario s = {k.name + ", " + l.name, any, {}, {}, true};
      for (int i = 0; i < types.nsources; i++) {
        s.operands.push_back(laid_out(l, size_t(i), types.type[types.noutputs + i]));
      }
      s.run = [&](const arrays &x) { return all_of(nd::lift(k.function.deferred()).call_all(x)); }; // built anew
      expect_to_survive(s);
      ASSERT_FALSE(HasFatalFailure()) << k.name;
    }
  }
}

// ---- from the lines -------------------------------------------------------------------------------------------------

class AllocationFailure : public ::testing::TestWithParam<scenario> {};

std::string test_name(const ::testing::TestParamInfo<scenario> &info) {
  std::string name;
  for (char c : info.param.name) {
    name += c == ' ' ? "_" : c == ',' ? "" : std::string(1, c);
  }
  return name;
}

TEST_P(AllocationFailure, NothingLeaksAndNothingChanges) { expect_to_survive(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Scenarios, AllocationFailure, ::testing::ValuesIn(scenarios), test_name);

// ---- apart from both -------------------------------------------------------------------------------------------

TEST(AllocationFailure, OnSeveralThreads) {
  // Scratch of the workers stays with them, so what lives is not counted here (the address sanitizer looks for leaks).
  set_num_threads(4);
  const scenario threaded[] = {
      {"flat", "chain flat", {{"300000 * int32"}}, [](const arrays &x) { return result{x[0] / view(x[0], -1)}; }},
      {"sum", "reduce", {{"300000 * float32"}}, [](const arrays &x) { return result{nd::sum(x[0])}; }},
      {"ragged", "chain", {{"200000 * var * int8"}}, [](const arrays &x) { return result{nd::sum(x[0], 1)}; }}};
  for (const scenario &s : threaded) {
    std::string expected = run(s, make_operands(s)).text();
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      outcome o = attempt_on_new_thread(s, n, false);
      happened = o.happened;
      ASSERT_TRUE(o.results == expected) << s.name << " " << n;
    }
  }
  set_num_threads(1);
}

TEST(AllocationFailure, TypesAreWholeOrNotThere) {
  for (bool all_after : {false, true}) {
    bool happened = true;
    for (int64_t n = 0; happened; n++) {
      std::string text = std::to_string(1000 + 2 * n + all_after) + " * var * strided * 77 * int8";
      try {
        failing_allocation failing(n, all_after);
        happened = true;
        ndt::type type(text);
        happened = failing.happened();
      } catch (const std::bad_alloc &) {
      } catch (const error &e) {
        EXPECT_EQ(e.kind(), error_kind::memory);
      }
      ndt::type type(text);
      EXPECT_EQ(type.str(), text);
      EXPECT_EQ(type, ndt::type(text));
    }
  }
}

} // namespace
} // namespace dynd::testing

#include "eval/allocation_scenarios.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <thread>

#include "allocations.h"
#include "dynd/array/view.h"
#include "dynd/call/functions.h"
#include "dynd/eval/observe.h"
#include "dynd/memory/buffer.h"

namespace dynd::testing {

nd::array with_gaps(const nd::array &a) {
  std::string name = scalar_name[size_t(a->scalar())];
  nd::array one = parse(name, name == "bool" ? "true" : "1"), nothing = parse("?" + name, "null");
  nd::array some = nd::where(nd::not_equal(a, one), a, nothing);
  some.eval();
  return some;
}

nd::array view(const nd::array &a, intptr_t step) {
  nd::index every{nd::index::slice, 0, {}, {}, step};
  return nd::at(a, {&every, 1});
}

nd::array assigned(const nd::array &dst, const nd::array &src) {
  nd::assign(dst, src);
  return dst;
}

nd::array converted(const nd::array &a, scalar_id to, error_mode mode) {
  return nd::array(copy_values(a.get(), access_mode::immutable, ndt::make_scalar(to), mode));
}

result all_of(const std::vector<nd::array> &several) {
  result results;
  std::copy(several.begin(), several.end(), results.begin());
  return results;
}

// ---- external kernels, one of each prototype: they own memory and ask for more while they run ----------------------

namespace {

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
          [](const deferred_ckernel *) { external_owners--; },
          nullptr,
          nullptr};
}

} // namespace

const deferred_ckernel samples[] = {
    sample(unary_operation_funcproto_id, "sample_unary", "(float64) -> float64", negate_strided),
    sample(expr_operation_funcproto_id, "sample_expr", "(float64, float64) -> float64", product_strided),
    sample(binary_predicate_funcproto_id, "sample_predicate", "(float64, float64) -> bool", is_before),
    sample(multi_operation_funcproto_id, "sample_multi",
           "(float64, float64, float64, float64) -> (float64, float64, float64)", sums_strided)};

// ---- the attempts ---------------------------------------------------------------------------------------------------

arrays make_operands(const scenario &s) {
  arrays operands;
  for (const operand &o : s.operands) {
    operands.push_back(o.make());
  }
  return operands;
}

namespace {

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

} // namespace

outcome attempt_on_new_thread(const scenario &s, int64_t n, bool all_after) {
  outcome o;
  std::thread([&] { attempt(s, n, all_after, o); }).join();
  trim_memory();
  return o;
}

std::string results_of(const scenario &s) { return run(s, make_operands(s)).text(); }

// Both, from a little before the place where they differ.
std::string first_difference(const std::string &a, const std::string &b) {
  size_t at = size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  size_t begin = at - std::min<size_t>(at, 40);
  return "..." + a.substr(begin, 200) + "\ninstead of\n..." + b.substr(begin, 200);
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
      int64_t live = live_allocations(), held = lazy_bytes.load();
      {
        outcome o = attempt_on_new_thread(s, n, all_after);
        happened = o.happened;
        ASSERT_TRUE(o.results == expected)
            << (o.failed ? "the attempt after the failure: " : "") << first_difference(o.results, expected);
        ASSERT_TRUE(o.unchanged);
        ASSERT_TRUE(happened || !o.failed);
      }
      ASSERT_EQ(live_allocations(), live) << "leaked";
      ASSERT_EQ(lazy_bytes.load(), held);
      ASSERT_EQ(external_owners, owners);
      ASSERT_EQ(external_memory, 0);
    }
  }
}

} // namespace dynd::testing

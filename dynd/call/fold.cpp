#include "dynd/call/fold.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/counted_kernel.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/resolve.h"
#include "dynd/call/row_interruption.h"
#include "dynd/call/selection.h"
#include "dynd/call/structure.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/scan.h"
#include "dynd/eval/space.h"
#include "dynd/kernel/level.h"

namespace dynd::nd {

namespace {

/// A kernel (N * T) -> T that has the folded one as its child.
struct fold_kernel : counted_kernel<fold_kernel> {
  using counted_kernel::counted_kernel;

  ref<external_function> function;
  size_t item;
  bool has_identity = false;
  alignas(16) char identity[max_scalar_size] = {};
};

struct fold_leaf {
  ckernel_prefix base;
  const fold_kernel *owner; // lives as long as the kernel does
  intptr_t stride;

  const ckernel_prefix *child() const { return &(this + 1)->base; }
};

int fold_rows(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto *leaf = reinterpret_cast<const fold_leaf *>(self);
  const fold_kernel &f = *leaf->owner;
  constexpr intptr_t asks_after = 4096; // elements
  intptr_t until_asked = asks_after;
  row_interruption asked(frame);
  for (size_t i = 0; i < call->count; i++) {
    alignas(16) char value[2][max_scalar_size]; // the result of a step is the next one's operand
    char *at = dynd_core_data(call, 1, i);
    intptr_t size = dynd_core_size(call, 0, i), j = f.has_identity ? 0 : 1;
    int now = 0;
    if (!f.has_identity && size == 0) {
      fail_element(frame, i);
      return report(frame, dynd_error_value, "a row is empty, and there is no identity");
    }
    std::memcpy(value[0], f.has_identity ? f.identity : at, f.item);
    for (; j < size; j++, now = 1 - now) {
      if (--until_asked == 0) {
        if (asked.poll()) {
          return dynd_error_cancelled;
        }
        until_asked = asks_after;
      }
      char *const streams[] = {value[1 - now], value[now], at + j * leaf->stride};
      if (int status = call_strided(leaf->child(), streams, no_stride, 1, frame)) {
        fail_element(frame, i);
        return status;
      }
    }
    std::memcpy(dynd_core_data(call, 0, i), value[now], f.item);
  }
  return dynd_ok;
}

intptr_t make_fold(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset, const dynd_bind *bind) {
  const fold_kernel *f = fold_kernel::of(self);
  auto &builder = static_cast<ckernel_builder &>(*out); // only the library makes this kernel
  try {
    size_t begin = size_t(offset) + sizeof(fold_leaf);
    builder.ensure_capacity(begin);
    auto *leaf = builder.get_at<fold_leaf>(size_t(offset));
    leaf->base.destructor = [](ckernel_prefix *made) {
      destroy_child(&(reinterpret_cast<fold_leaf *>(made) + 1)->base);
    };
    leaf->owner = f;
    leaf->stride = bind->arrmeta[1]->stride[0];
    leaf->base.set_function(fold_rows);
    return intptr_t(make_external(builder, begin, *f->function));
  } catch (const error &e) {
    std::snprintf(bind->error, bind->error_size, "%s", e.what());
    return int(e.kind());
  } catch (...) {
    return dynd_error_memory;
  }
}

// The overload of f for two operands of the type; what it takes first it has to give.
const resolution &resolve_fold(const callable &f, scalar_id element) {
  alignas(16) const char zero[max_scalar_size] = {};
  array sample = scalar_of(element, zero);
  array_block *blocks[] = {sample.get(), sample.get()};
  const resolution &found = resolve(*f.state(), blocks, 2);
  if (!found.scalar || found.scalar->types.noutputs != 1 ||
      found.scalar->types.type[0] != found.scalar->types.type[1]) {
    fail(error_kind::type, "reduce: " + f.name() + " has to take two numbers and give one of the first one's type, " +
                               std::string(found.chosen->signature.type.str()) + " does not");
  }
  return found;
}

kernel make_kernel_of(const callable &f, const resolution &found, const array &identity) {
  const external_types &types = found.scalar->types;
  auto made =
      std::make_unique<fold_kernel>("reduce: " + f.name(), std::string("(N * ") + scalar_name[size_t(types.type[2])] +
                                                               ") -> " + scalar_name[size_t(types.type[0])]);
  made->function = found.scalar;
  made->item = scalar_size[size_t(types.type[0])];
  if (identity) {
    array value(copy_values(identity.get(), access_mode::immutable, ndt::make_scalar(types.type[0])));
    made->has_identity = true;
    std::memcpy(made->identity, value->values().address, made->item);
  } else if (types.type[0] != types.type[2]) {
    fail(error_kind::type, "reduce: " + f.name() + " takes two types; give an identity of the first one");
  }
  made->prototype = core_operation_funcproto_id;
  made->flags = found.chosen->function->flags & (dynd_callable_one_thread | dynd_callable_python_lock);
  made->instantiate = make_fold;
  return kernel::adopt(made.release());
}

bool takes_one_row(const callable &f) {
  callable_state &state = *f.state();
  std::lock_guard lock(state.mutex);
  return !state.overloads.empty() && state.overloads[0]->signature.operands.size() == 1 &&
         state.overloads[0]->signature.operands[0].dims.size() == 1;
}

// Elements that are no numbers: a call of f takes one element of every row that has it. The longest rows come first, so
// that those which go on are always the first ones.
array fold_by_position(const callable &f, const array &rows, const array &identity) {
  array whole = compact(rows, rows.ndim() - 1), list = list_of(whole, rows.ndim() - 1);
  row_offsets at = rows_at(whole, rows.ndim() - 1);
  std::vector<int64_t> order(size_t(at.count)), back(size_t(at.count)), places(size_t(at.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t r, int64_t s) { return at.length(r) > at.length(s); });
  int64_t longest = at.count ? at.length(order[0]) : 0;
  for (intptr_t r = 0; r < at.count && !identity; r++) {
    if (at.length(r) == 0) {
      fail(error_kind::value,
           "reduce: " + f.name() + ": " + row_name(whole, rows.ndim() - 1, r) + " is empty, and there is no identity");
    }
  }
  auto taken = [&](const array &from, const std::vector<int64_t> &which, intptr_t count) {
    return gather("reduce", from, {which.data(), nullptr, count});
  };
  auto part_of = [](const array &values, intptr_t begin, intptr_t end) {
    return nd::at(values, std::vector<index>{{index::slice, 0, begin, end, {}}});
  };
  array none = part_of(list, 0, 0);
  f(identity ? identity : none, none); // says what it takes, also where no row has two elements
  std::vector<array> done;             // of rows that have ended, the shortest first
  array now;
  intptr_t count = at.count;
  interruptible_walk walk;
  for (int64_t j = 0; j < longest; j++) {
    walk.step("reduce", 1024); // an evaluation
    intptr_t go_on = count;
    while (go_on > 0 && at.length(order[size_t(go_on) - 1]) <= j) {
      go_on--;
    }
    in_pieces("reduce", go_on, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        places[size_t(i)] = at.at[order[size_t(i)]] + j;
      }
    });
    array next = taken(list, places, go_on);
    if (go_on < count && (now || identity)) {
      done.push_back(now ? part_of(now, go_on, count) : repeat(with_unit_axis(identity, 0), count - go_on, 0));
    }
    array before = now ? part_of(now, 0, go_on) : identity;
    now = before ? f(before, next).eval() : next;
    if (before && now.type().dtype() != before.type().dtype()) {
      fail(error_kind::type, "reduce: " + f.name() + " has to give what it takes first, " +
                                 std::string(before.type().dtype().str()) + ", not " +
                                 std::string(now.type().dtype().str()));
    }
    count = go_on;
  }
  done.push_back(now ? now : identity ? repeat(with_unit_axis(identity, 0), at.count, 0) : list);
  std::reverse(done.begin(), done.end());
  for (size_t i = 0; i < order.size(); i++) {
    back[size_t(order[i])] = int64_t(i);
  }
  return assemble(whole, rows.ndim() - 1, {}, taken(concat(done, 0), back, at.count));
}

} // namespace

array fold(const callable &f, const array &a, std::optional<int> axis, const array &identity) {
  if (identity && identity.ndim() > 0) {
    fail(error_kind::type, "reduce: identity must be one value");
  }
  if (has_missing_rows(a->type)) {
    missing_rows of("reduce", a);
    int along = axis ? dynd::checked_axis("reduce", *axis, of.ndim()) : 0;
    if (!identity && of.has_inside(along)) {
      fail(error_kind::type, "reduce: rows that may be missing need identity=, or drop_missing(a) first");
    }
    return of.restored(fold(f, of.operand(), axis, identity), along);
  }
  std::string name = f.name(); // an error where there is no callable
  array rows = axis ? with_axis_last("reduce", a, *axis) : array(as_one_row(a.get()));
  if (takes_one_row(f)) {
    if (identity) {
      fail(error_kind::type, "reduce: " + name + " takes whole rows, and no identity");
    }
    return f(rows);
  }
  element_kind element;
  bool numbers = find_element_kind(a->type->dtype, element);
  if (a->type->dtype->kind == type_kind::option) { // as reductions do
    rows = drop_missing(rows);
  }
  if (!numbers) {
    return fold_by_position(f, rows, identity);
  }
  if (element.swapped) {
    rows = array(copy_values(rows.get(), access_mode::immutable, ndt::make_scalar(element.scalar)));
  }
  kernel folded = make_kernel_of(f, resolve_fold(f, element.scalar), identity);
  return callable(folded)(rows);
}

} // namespace dynd::nd

#include "dynd/call/resolve.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "dynd/base/errors.h"

namespace dynd::nd {

namespace {

// ---- how well types fit --------------------------------------------------------------------------------------------

int digits_of(scalar_id id) {
  scalar_id real = real_type(id);
  int bits = 8 * scalar_size[size_t(real)];
  return is_floating(real) ? (bits == 16 ? 11 : bits == 32 ? 24 : 53) : bits - is_signed_integer(real);
}

fit fit_of(scalar_id from, scalar_id to) {
  if (from == to) {
    return fit::exact;
  }
  if (!is_widening(from, to)) {
    return fit::none;
  }
  bool rounds = is_integer(from) && !is_integer(to) && digits_of(from) > digits_of(to);
  bool to_double = real_type(to) == scalar_id::float64; // large integers are never float32, as in NumPy
  return !rounds ? fit::lossless : to_double ? fit::like_numpy : fit::none;
}

// What an operand's elements are for a kernel: behind pointers, and without their validity.
const type_data *element_of(const array_block *block) {
  const type_data *t = block->type->dtype;
  while (t->kind == type_kind::pointer || t->kind == type_kind::option || t->kind == type_kind::byteswap) {
    t = t->element;
  }
  return t;
}

bool may_miss(const array_block *block) {
  const type_data *t = block->type->dtype;
  while (t->kind == type_kind::pointer || t->kind == type_kind::byteswap) {
    t = t->element;
  }
  return t->kind == type_kind::option;
}

class candidate {
public:
  explicit candidate(const overload &o) : overload_(o), operands_(o.signature.operands) {}

  /// Fills in the resolution, and returns how well it fits; `why` says why it does not.
  fit match(array_block *const *blocks, int count, resolution &found) {
    blocks_ = blocks;
    found.chosen = &overload_;
    found.operands.assign(operands_.size(), ndt::type());
    if (count != int(operands_.size())) {
      return no("takes " + std::to_string(operands_.size()) + (operands_.size() == 1 ? " operand" : " operands") +
                ", not " + std::to_string(count));
    }
    fit worst = fit::exact;
    for (int i = 0; i < count && worst != fit::none; i++) {
      worst = std::max(worst, check_dims(blocks[i], i));
    }
    for (int i = 0; i < count && worst != fit::none; i++) {
      worst = std::max(worst, gather(element_of(blocks[i]), i, found));
    }
    for (int i = 0; i < count && worst != fit::none; i++) {
      worst = std::max(worst, settle(element_of(blocks[i]), i, found));
    }
    return worst;
  }

  std::string why;
  int doubts = 0; ///< 1: it could take missing values where there are none; 2: it cannot where there may be some

private:
  fit no(const std::string &reason) {
    why = reason;
    return fit::none;
  }
  std::string label(int i) const {
    return operands_[size_t(i)].name.empty() ? "operand " + std::to_string(i) : "operand " + operands_[size_t(i)].name;
  }
  std::string takes() const { return std::string(overload_.signature.type.str()); }

  fit check_dims(const array_block *block, int i) {
    size_t wanted = operands_[size_t(i)].dims.size();
    return size_t(block->ndim) >= wanted
               ? fit::exact
               : no(label(i) + " has " + std::to_string(block->ndim) + " dimension" + (block->ndim == 1 ? "" : "s") +
                    ", and " + std::to_string(wanted) + " are core dimensions; it takes " + takes());
  }

  // Collects what the type variables have to hold.
  fit gather(const type_data *own, int i, resolution &found) {
    ndt::type dtype = value_pattern(i);
    if (dtype->kind != type_kind::variable) {
      return fit::exact;
    }
    if (!has_c_layout(own)) {
      return no(label(i) + " has elements of type " + blocks_[i]->type->dtype->text + "; it takes " + takes());
    }
    auto before = std::find_if(found.bound.all.begin(), found.bound.all.end(),
                               [&](const ndt::binding &b) { return b.name == dtype->name; });
    ndt::type wanted = fitted(own, dtype->family);
    if (!wanted) {
      return no(label(i) + " is " + own->text + ", which is no " + family_name[size_t(dtype->family)]);
    }
    if (before == found.bound.all.end()) {
      found.bound.all.push_back({dtype->name, ndt::binding::kind_t::type, wanted, {}});
      return fit::exact;
    }
    if (before->type == wanted) {
      return fit::exact;
    }
    if (before->type->kind != type_kind::scalar || wanted->kind != type_kind::scalar) {
      return no(label(i) + " is " + own->text + ", and " + dtype->name + " is " + std::string(before->type.str()));
    }
    ndt::type both = ndt::make_scalar(promote(before->type->scalar, wanted->scalar));
    if (!is_of_family(both.get(), dtype->family)) {
      return no(label(i) + " is " + own->text + ", and " + dtype->name + " is " + std::string(before->type.str()) +
                ": both would be " + std::string(both.str()) + ", which is no " + family_name[size_t(dtype->family)]);
    }
    before->type = both;
    return fit::exact;
  }

  // Integers are float64 where only floating-point or complex numbers are taken, as in NumPy; else the type itself.
  static ndt::type fitted(const type_data *own, type_family family) {
    if (is_of_family(own, family)) {
      return ndt::type(own);
    }
    bool number = own->kind == type_kind::scalar;
    if (number && family == type_family::floating && (is_integer(own->scalar) || own->scalar == scalar_id::bool_)) {
      return ndt::make_scalar(scalar_id::float64);
    }
    if (number && family == type_family::complex) {
      return ndt::make_scalar(complex_type(is_floating(own->scalar) ? own->scalar : scalar_id::float64));
    }
    return ndt::type();
  }

  bool takes_missing(int i) const { return operands_[size_t(i)].dtype->kind == type_kind::option; }
  ndt::type value_pattern(int i) const {
    const ndt::type &dtype = operands_[size_t(i)].dtype;
    return takes_missing(i) ? ndt::type(dtype->element) : dtype;
  }

  // What the operand is converted to. Of two kernels that fit otherwise, one that takes what may be missing is second
  // best for what may not; one that cannot comes after it where values may be missing.
  fit settle(const type_data *own, int i, resolution &found) {
    fit how = settle_value(own, i, found);
    ndt::type &to = found.operands[size_t(i)];
    to = to && takes_missing(i) ? ndt::make_option(to) : to;
    if (how != fit::none && !has_c_layout(to.get())) { // an option of a struct
      return no(label(i) + " has elements of type " + blocks_[i]->type->dtype->text + "; it takes " + takes());
    }
    if (how == fit::none || takes_missing(i) == may_miss(blocks_[i])) {
      return how;
    }
    doubts = std::max(doubts, takes_missing(i) ? 1 : 2);
    return operands_[size_t(i)].inout ? no(label(i) + " is read and written, and has elements of type " +
                                           blocks_[i]->type->dtype->text + "; it takes " + takes())
                                      : how;
  }

  fit settle_value(const type_data *own, int i, resolution &found) {
    ndt::type dtype = value_pattern(i);
    if (dtype->kind == type_kind::family) {
      found.operands[size_t(i)] = ndt::type(own);
      return is_of_family(own, dtype->family) && has_c_layout(own)
                 ? fit::exact
                 : no(label(i) + " is " + own->text + ", which is no " + family_name[size_t(dtype->family)]);
    }
    ndt::type wanted = ndt::substitute(dtype, found.bound);
    found.operands[size_t(i)] = wanted;
    if (wanted.get() == own) {
      return fit::exact;
    }
    bool texts = is_text(own->kind) && is_fixed_text(wanted->kind) && is_string(own->kind) == is_string(wanted->kind);
    if (!texts && (own->kind != type_kind::scalar || wanted->kind != type_kind::scalar)) {
      return no(label(i) + " has elements of type " + blocks_[i]->type->dtype->text + "; it takes " + takes());
    }
    if (operands_[size_t(i)].inout) {
      return no(label(i) + " is read and written as " + std::string(wanted.str()) + ", and has elements of type " +
                own->text);
    }
    fit how = texts ? fit::like_numpy : fit_of(own->scalar, wanted->scalar); // a text that is too long is refused
    return how != fit::none ? how
                            : no(label(i) + " is " + own->text + ", which does not convert to " +
                                 std::string(wanted.str()) + " without loss");
  }

  const overload &overload_;
  const std::vector<core_pattern> &operands_;
  array_block *const *blocks_ = nullptr;
};

uint64_t key_of(const array_block *block) { return uint64_t(block->type->dtype->id) << 8 | uint64_t(block->ndim); }

bool has_key(const resolution &r, array_block *const *blocks, int count) {
  if (r.count != count) {
    return false;
  }
  for (int i = 0; i < count; i++) {
    if (r.key[i] != key_of(blocks[i])) {
      return false;
    }
  }
  return true;
}

std::string types_text(array_block *const *blocks, int count) {
  std::string text = "(";
  for (int i = 0; i < std::min(count, max_external_sources); i++) {
    text += (i ? ", " : "") + std::string(blocks[i]->type->text);
  }
  return text + (count > max_external_sources ? ", ...)" : ")");
}

// The best candidate; of two that fit equally well the more specific one, then the one that was added first.
std::unique_ptr<resolution> find_best(const callable_state &state, array_block *const *blocks, int count,
                                      std::vector<std::string> &reasons) {
  std::unique_ptr<resolution> best;
  std::pair best_fit(fit::none, 0);
  for (const std::unique_ptr<overload> &o : state.overloads) {
    auto found = std::make_unique<resolution>();
    candidate tried(*o);
    std::pair how(tried.match(blocks, count, *found), 0);
    how.second = tried.doubts;
    if (how.first == fit::none) {
      reasons.push_back(tried.why);
      continue;
    }
    bool better = !best || how < best_fit ||
                  (how == best_fit && compare(o->signature, best->chosen->signature) == signature_order::less);
    if (better) {
      best = std::move(found);
      best_fit = how;
    }
  }
  return best;
}

[[noreturn]] void refuse(const callable_state &state, array_block *const *blocks, int count,
                         const std::vector<std::string> &reasons) {
  if (state.overloads.empty()) {
    fail(error_kind::type, state.name + ": it has no overloads");
  }
  if (reasons.size() == 1) {
    fail(error_kind::type, state.name + ": " + reasons[0]);
  }
  std::string text = state.name + ": no overload takes " + types_text(blocks, count) + ":";
  for (size_t i = 0; i < reasons.size(); i++) {
    text += "\n  " + std::string(state.overloads[i]->signature.type.str()) + ": " + reasons[i];
  }
  fail(error_kind::type, text);
}

// The caller holds the mutex. Null: it was not asked for yet.
const resolution *find_known(callable_state &state, array_block *const *blocks, int count) {
  for (const std::unique_ptr<resolution> &r : state.resolved) {
    if (has_key(*r, blocks, count)) {
      state.recent.store(r.get(), std::memory_order_release);
      return r.get();
    }
  }
  return nullptr;
}

// The kernel is retained here, for which its author may wait for the interpreter: no lock is held.
void complete(resolution &made, array_block *const *blocks, int count) {
  made.count = count;
  for (int i = 0; i < count; i++) {
    made.key[i] = key_of(blocks[i]);
  }
  const kernel_signature &signature = made.chosen->signature;
  made.of_scalars = signature.is_scalar() && made.chosen->function->prototype != core_operation_funcproto_id &&
                    std::all_of(made.operands.begin(), made.operands.end(),
                                [](ndt::type t) { return t->kind == type_kind::scalar; }); // T may be a struct
  if (made.of_scalars && signature.keywords.empty()) {
    made.scalar = scalar_function(made, nullptr);
  }
}

const resolution *find_or_make(callable_state &state, array_block *const *blocks, int count, bool must) {
  const resolution *recent = state.recent.load(std::memory_order_acquire);
  if (recent && has_key(*recent, blocks, count)) [[likely]] {
    return recent;
  }
  for (;;) {
    std::unique_ptr<resolution> best; // outlives the lock: one that is not used releases its kernel
    std::unique_lock lock(state.mutex);
    if (const resolution *known = find_known(state, blocks, count)) {
      return known;
    }
    std::vector<std::string> reasons;
    best = find_best(state, blocks, count, reasons);
    if (!best) {
      if (must) {
        refuse(state, blocks, count, reasons);
      }
      return nullptr;
    }
    uint64_t changes = state.changes;
    lock.unlock();
    complete(*best, blocks, count);
    lock.lock();
    if (const resolution *known = find_known(state, blocks, count)) {
      return known;
    }
    if (state.changes == changes) { // else another overload may fit better now
      state.resolved.push_back(std::move(best));
      return find_known(state, blocks, count);
    }
  }
}

} // namespace

std::mutex callable_state::mutex;

// A fork takes locks in the order that is the reverse of that in which they were announced: the lock of types, for
// which a thread that has this one may wait, is announced before.
void callable_state::wait_at_fork() {
  [[maybe_unused]] static const int once = [] {
    ndt::make_void(); // now there is the lock of types
    return pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  }();
}

callable_state::callable_state(std::string n, std::string d) : name(std::move(n)), doc(std::move(d)) {
  wait_at_fork();
  refs = 1;
  destroy = [](counted *self) noexcept { delete static_cast<callable_state *>(self); };
}

void retire_resolutions(callable_state &state) {
  state.changes++;
  state.recent.store(nullptr, std::memory_order_release);
  std::move(state.resolved.begin(), state.resolved.end(), std::back_inserter(state.retired));
  state.resolved.clear();
}

void forget_overloads(callable_state &state, const void *library) {
  std::lock_guard lock(state.mutex);
  state.retired.reserve(state.retired.size() + state.resolved.size());
  state.forgotten.reserve(state.forgotten.size() + state.overloads.size());
  auto own = std::stable_partition(state.overloads.begin(), state.overloads.end(),
                                   [&](const auto &o) { return o->library != library; });
  std::move(own, state.overloads.end(), std::back_inserter(state.forgotten));
  state.overloads.erase(own, state.overloads.end());
  retire_resolutions(state);
}

const overload *ambiguous_with(std::span<const overload *const> known, const overload &added) {
  for (const overload *other : known) {
    signature_order order = compare(added.signature, other->signature);
    auto decides_between = [&](const overload *both) {
      return decides(both->signature, added.signature, other->signature);
    };
    if (order == signature_order::same ||
        (order == signature_order::unclear && std::none_of(known.begin(), known.end(), decides_between))) {
      return other;
    }
  }
  return nullptr;
}

void check_overload(const callable_state &state, const overload &added) {
  std::vector<const overload *> known;
  for (const std::unique_ptr<overload> &own : state.overloads) {
    known.push_back(own.get());
  }
  if (const overload *other = ambiguous_with(known, added)) {
    fail(error_kind::type, state.name + ": " + std::string(added.signature.type.str()) + " is ambiguous with " +
                               std::string(other->signature.type.str()) + ", which it has already" +
                               (state.library.empty() ? "" : ", from " + state.library));
  }
  auto number = [](const core_pattern &p) {
    return p.dtype->kind != type_kind::struct_ && p.dtype->kind != type_kind::tuple;
  };
  if (state.op && std::all_of(added.signature.operands.begin(), added.signature.operands.end(), number)) {
    fail(error_kind::type,
         state.name + ": " + std::string(added.signature.type.str()) +
             " cannot be added to an operation of the library, which takes numbers itself: one of the "
             "operands must be a struct or a tuple");
  }
  if (state.op && added.signature.operands.size() != operation_of(*state.op).noperands) {
    fail(error_kind::type, state.name + ": the operation takes " + std::to_string(operation_of(*state.op).noperands) +
                               " operands, " + std::string(added.signature.type.str()) + " does not");
  }
}

const resolution &resolve(callable_state &state, array_block *const *blocks, int count) {
  return *find_or_make(state, blocks, count, true);
}

const resolution *try_resolve(callable_state &state, array_block *const *blocks, int count) {
  return find_or_make(state, blocks, count, false);
}

// ---- the library's operations ---------------------------------------------------------------------------------------

namespace {

std::vector<type_family> families_of(type_set set) {
  using f = type_family;
  switch (set) {
  case type_set::all:
    return {f::boolean, f::number};
  case type_set::ordered:
    return {f::boolean, f::real};
  case type_set::numbers:
    return {f::number};
  case type_set::reals:
    return {f::real};
  case type_set::floats:
    return {f::floating, f::complex};
  case type_set::real_floats:
    return {f::floating};
  case type_set::integers:
    return {f::integer, f::unsigned_integer};
  case type_set::signed_integers:
    return {f::integer};
  default:
    return {f::boolean, f::integer, f::unsigned_integer};
  }
}

ndt::type pattern_of(value_rule rule, ndt::type t) {
  switch (rule) {
  case value_rule::boolean:
    return ndt::make_scalar(scalar_id::bool_);
  case value_rule::int64:
    return ndt::make_scalar(scalar_id::int64);
  case value_rule::uint8:
    return ndt::make_scalar(scalar_id::uint8);
  case value_rule::int32:
    return ndt::make_scalar(scalar_id::int32);
  case value_rule::real:
    return t->kind == type_kind::scalar ? ndt::make_scalar(real_type(t->scalar)) : t;
  case value_rule::complex:
    return t->kind == type_kind::scalar ? ndt::make_scalar(complex_type(t->scalar)) : t;
  case value_rule::optional:
    return ndt::make_option(t);
  case value_rule::presence:
    return ndt::make_option(ndt::make_family(type_family::scalar));
  default:
    return t;
  }
}

ndt::type signature_for(const operation &o, ndt::type t) {
  std::vector<ndt::parameter> operands;
  std::vector<ndt::type> results;
  for (int i = 0; i < o.noperands; i++) {
    operands.push_back({"", pattern_of(o.operand[i], t)});
    bool named = t->kind == type_kind::variable && operands.back().type->abstract;
    t = named ? ndt::make_variable(t->name) : t; // the family is said once
  }
  for (int i = 0; i < o.noutputs; i++) {
    results.push_back(pattern_of(o.output[i], t));
  }
  return ndt::make_function(operands, results.size() == 1 ? results[0] : ndt::make_tuple(results));
}

} // namespace

std::vector<ndt::type> signatures_of(op_id op) {
  const operation &o = operation_of(op);
  std::vector<ndt::type> all;
  auto add = [&](ndt::type made) {
    if (std::find(all.begin(), all.end(), made) == all.end()) {
      all.push_back(made);
    }
  };
  for (type_family family : families_of(o.set)) {
    bool by_type = std::any_of(o.output, o.output + o.noutputs, [&](value_rule rule) {
      return rule == value_rule::complex || (rule == value_rule::real && family != type_family::real);
    });
    if (!by_type) {
      add(signature_for(o, family == type_family::boolean ? ndt::make_scalar(scalar_id::bool_)
                                                          : ndt::make_variable("T", family)));
      continue;
    }
    for (size_t i = 0; i < scalar_count; i++) { // a result that is made of T has no name in a pattern
      if (is_of_family(ndt::make_scalar(scalar_id(i)).get(), family)) {
        add(signature_for(o, ndt::make_scalar(scalar_id(i))));
      }
    }
  }
  return all;
}

} // namespace dynd::nd

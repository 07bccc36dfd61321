#include "dynd/call/callable.h"

#include <algorithm>
#include <iterator>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/call/placement.h"
#include "dynd/call/read_keywords.h"
#include "dynd/call/reduction.h"
#include "dynd/call/resolve.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/type/utf8.h"

namespace dynd::nd {

namespace {

[[noreturn]] void refuse(const deferred_ckernel &kernel, const std::string &why) {
  fail(error_kind::type, std::string(kernel.name && *kernel.name ? kernel.name : "kernel") + ": " + why);
}

/// A function on scalars, with its kernel for small calls.
struct resolved_function : external_function {
  nd::kernel function;
  std::mutex building;
  std::atomic<bool> built = false;
  ckernel_builder built_leaf; // made when it is first called

  explicit resolved_function(nd::kernel k) : function(std::move(k)) {
    refs = 1;
    destroy = [](counted *self) noexcept { delete static_cast<resolved_function *>(self); };
    kernel = function.get();
  }
  ~resolved_function() {
    with_interpreter locked(needs_lock());
    built_leaf.reset();
  }
  bool needs_lock() const { return has(dynd_callable_python_lock); }

  // A thread waits for another that builds without the interpreter's lock, which the other may need.
  void build() {
    if (built.load(std::memory_order_acquire)) {
      return;
    }
    without_interpreter unlocked;
    std::lock_guard turn(building);
    if (!built.load(std::memory_order_relaxed)) {
      with_interpreter locked(needs_lock());
      built_leaf.reset(); // of an attempt that failed
      make_external(built_leaf, 0, *this);
      leaf = &built_leaf;
      built.store(true, std::memory_order_release);
    }
  }
};

void check_lock(const deferred_ckernel &kernel) {
  if ((kernel.flags & dynd_callable_python_lock) && !the_interpreter.enter) {
    refuse(kernel, "needs Python's lock, and the Python package is not loaded");
  }
}

// ---- core dimensions ------------------------------------------------------------------------------------------------

class core_maker {
public:
  core_maker(const resolution &found, array_block *const *blocks, std::shared_ptr<const keyword_values> keywords)
      : found_(found), signature_(found.chosen->signature), blocks_(blocks), own_(std::make_unique<core_function>()),
        made_(*own_) {
    made_.keywords = std::move(keywords);
  }

  /// Whether it is the same for all calls of these types.
  bool depends_on_types_alone() const { return !reads_values_ && signature_.keywords.empty(); }

  std::unique_ptr<core_function> make() {
    made_.kernel = found_.chosen->function.get();
    made_.noutputs = int(signature_.results.size());
    const std::vector<core_pattern> &results = signature_.results, &operands = signature_.operands;
    std::vector<std::vector<int64_t>> numbers = size_numbers(signature_);
    for (bool fixed : {false, true}) { // sizes that are in the signature come last
      for (size_t i = 0; i < operands.size(); i++) {
        add_sizes(operands[i], numbers[results.size() + i], fixed, false);
      }
      for (size_t i = 0; i < results.size(); i++) {
        add_sizes(results[i], numbers[i], fixed, true);
      }
    }
    auto sizes_of = [&](size_t o) { return std::vector<int8_t>(numbers[o].begin(), numbers[o].end()); };
    for (size_t i = 0; i < results.size(); i++) {
      made_.operands.push_back({ndt::substitute(results[i].dtype, found_.bound), sizes_of(i), false, -1});
    }
    for (size_t i = 0; i < operands.size(); i++) {
      made_.operands.push_back({found_.operands[i], sizes_of(results.size() + i), operands[i].inout, int(i)});
    }
    if (ncomputed_ > 0) {
      make_output_sizes();
    }
    return std::move(own_);
  }

private:
  void make_output_sizes() {
    const deferred_ckernel &sizes = *dynd_output_sizes(made_.kernel);
    overload of_sizes{nd::kernel(sizes), read_signature(sizes)};
    resolution same;
    same.chosen = &of_sizes;
    same.operands = found_.operands;
    same.bound = found_.bound;
    made_.output_sizes = core_maker(same, blocks_, made_.keywords).make();
  }

  // The sizes that are not there yet; those that are in the signature get their numbers.
  void add_sizes(const core_pattern &p, std::vector<int64_t> &numbers, bool fixed, bool result) {
    for (size_t d = 0; d < p.dims.size(); d++) {
      int64_t next = int64_t(made_.sizes.size());
      if (fixed ? numbers[d] < 0 : numbers[d] == next) {
        add_size(p.dims[d], result);
        numbers[d] = next;
      }
    }
  }

  void add_size(const ndt::dimension &d, bool result) {
    if (made_.sizes.size() == max_core_sizes) {
      refuse(*made_.kernel, "has more than " + std::to_string(max_core_sizes) + " sizes");
    }
    core_size size{d.str(), d.kind == type_kind::fixed_dim ? d.size : -1, result && d.kind == type_kind::var_dim};
    if (result && d.kind == type_kind::dim_variable && is_computed(d.name)) {
      size.computed = ncomputed_++;
    } else if (result && d.kind == type_kind::dim_variable) {
      size.fixed = given_size(d.name);
    }
    made_.sizes.push_back(size);
  }

  bool is_computed(const std::string &name) const {
    auto operand = [&](const core_pattern &p) { return p.name == name; };
    auto keyword = [&](const type_field &f) { return f.name == name; };
    return dynd_output_sizes(made_.kernel) &&
           std::none_of(signature_.operands.begin(), signature_.operands.end(), operand) &&
           std::none_of(signature_.keywords.begin(), signature_.keywords.end(), keyword);
  }

  // Of a dimension of the result that is named for a keyword or for an operand of one value.
  intptr_t given_size(const std::string &name) {
    reads_values_ = true;
    array value;
    for (const keyword_values::value &v : made_.keywords->all) {
      if (v.name == name && !v.missing) {
        value = scalar_of(ndt::type(v.type).dtype()->scalar, v.number);
      }
    }
    for (size_t i = 0; i < signature_.operands.size(); i++) {
      if (signature_.operands[i].name == name) {
        if (blocks_[i]->ndim != 0) {
          refuse(*made_.kernel, name + " is a size of the result: one value, not " + blocks_[i]->type->text);
        }
        value = array(ref<array_block>::share(blocks_[i]));
      }
    }
    bool option = value && value->type->dtype->kind == type_kind::option;
    if (option) {
      materialize(value.get());
    }
    if (!value || (option && !value->streams()[0].address[0])) {
      refuse(*made_.kernel, name + " is a size of the result, and is missing");
    }
    array number(copy_values(value.get(), access_mode::immutable, ndt::make_scalar(scalar_id::int64)));
    int64_t size = *number.data<int64_t>();
    if (size < 0) {
      fail(error_kind::value,
           std::string(made_.kernel->name) + ": " + name + " is a size of the result, and is " + std::to_string(size));
    }
    return size;
  }

  const resolution &found_;
  const kernel_signature &signature_;
  array_block *const *blocks_;
  std::unique_ptr<core_function> own_;
  core_function &made_;
  bool reads_values_ = false;
  int ncomputed_ = 0;
};

// An overload that was added to an operation, for elements that are no numbers.
callable_state *added_to[max_operations];

bool call_added(op_id op, const call_operands &operands, ref<array_block> *results) {
  callable_state *state = __atomic_load_n(&added_to[size_t(op)], __ATOMIC_ACQUIRE);
  const resolution *found = state ? try_resolve(*state, operands.block, operands.count) : nullptr;
  if (found) {
    call_resolved(*found, operands.block, operands.count, {}, results);
  }
  return found;
}

callable_state &checked(const ref<callable_state> &state) {
  if (!state) { // find_callable gives an empty one for a name that there is not
    fail(error_kind::type, "call: there is no callable");
  }
  return *state;
}

// Whether an overload takes rows of uint8 there.
bool takes_byte_rows(callable_state &state, int i) {
  std::lock_guard lock(state.mutex);
  return std::any_of(state.overloads.begin(), state.overloads.end(), [&](const std::unique_ptr<overload> &o) {
    const std::vector<core_pattern> &operands = o->signature.operands;
    return size_t(i) < operands.size() && operands[size_t(i)].dims.size() == 1 &&
           operands[size_t(i)].dtype == ndt::make_scalar(scalar_id::uint8);
  });
}

int call_external(callable_state &state, array_block *const *blocks, int count, std::span<const keyword> keywords,
                  ref<array_block> *results);

// Elements inside of rows that may be missing. A kernel that takes whole rows would be called with those that are not
// there.
int call_in_missing_rows(callable_state &state, std::span<array_block *const> blocks, std::span<const keyword> keywords,
                         ref<array_block> *results) {
  int noutputs = 0;
  auto call = [&](const call_operands &rows) {
    if (!resolve(state, rows.block, rows.count).chosen->signature.is_scalar()) {
      fail(error_kind::type, state.name + ": takes rows, and these may be missing; use fill_missing(a, []) or "
                                          "drop_missing(a) first");
    }
    noutputs = call_external(state, rows.block, rows.count, keywords, results);
  };
  in_missing_rows(state.name.c_str(), {blocks.data(), int(blocks.size())}, max_external_outputs, results, call);
  return noutputs;
}

// Elements that are `bytes` are rows of uint8 for a kernel that takes such rows.
int call_external(callable_state &state, array_block *const *blocks, int count, std::span<const keyword> keywords,
                  ref<array_block> *results) {
  if (count > max_external_sources) { // no overload takes as many, and a block_list does not hold them
    resolve(state, blocks, count);
  }
  if (has_missing_rows({blocks, size_t(count)}) && !try_resolve(state, blocks, count)) {
    return call_in_missing_rows(state, {blocks, size_t(count)}, keywords, results);
  }
  auto is_bytes = [](const array_block *block) { return block->type->dtype->kind == type_kind::bytes; };
  if (std::none_of(blocks, blocks + count, is_bytes)) [[likely]] {
    return call_resolved(resolve(state, blocks, count), blocks, count, keywords, results);
  }
  array viewed[max_external_sources];
  array_block *all[max_external_sources];
  for (int i = 0; i < count; i++) {
    bool rows = is_bytes(blocks[i]) && takes_byte_rows(state, i);
    viewed[i] = rows ? byte_rows(array(ref<array_block>::share(blocks[i]))) : array();
    all[i] = rows ? viewed[i].get() : blocks[i];
  }
  return call_resolved(resolve(state, all, count), all, count, keywords, results);
}

int call_state(callable_state &state, std::span<const array> operands, std::span<const keyword> given,
               ref<array_block> *results) {
  std::vector<keyword> keywords;
  block_list list = place(state, operands, given, keywords);
  if (state.op) {
    if (!keywords.empty()) {
      fail(error_kind::type, state.name + ": has no keyword " + keywords[0].name);
    }
    evaluate(*state.op, {list.block, list.count}, results);
    return operation_of(*state.op).noutputs;
  }
  return call_external(state, list.block, list.count, keywords, results);
}

} // namespace

ref<external_function> scalar_function(const resolution &found, std::shared_ptr<const keyword_values> keywords) {
  const kernel_signature &signature = found.chosen->signature;
  auto made = ref<external_function>::adopt(new resolved_function(found.chosen->function));
  made->keywords = std::move(keywords);
  made->types.noutputs = int(signature.results.size());
  made->types.nsources = int(signature.operands.size());
  scalar_id *type = made->types.type;
  for (const core_pattern &p : signature.results) {
    *type++ = ndt::substitute(p.dtype, found.bound)->scalar;
  }
  for (ndt::type operand : found.operands) {
    *type++ = operand->scalar;
  }
  return made;
}

intptr_t own_references(const callable_state &state, const overload &o) {
  intptr_t count = 1; // the overload
  for (const auto *list : {&state.resolved, &state.retired}) {
    for (const std::unique_ptr<resolution> &r : *list) {
      if (r->chosen != &o || !r->scalar) {
        continue;
      }
      auto *function = static_cast<const resolved_function *>(r->scalar.get());
      if (function->refs.load(std::memory_order_relaxed) != 1) {
        return -1;
      }
      count += 1 + function->built.load(std::memory_order_acquire); // its own, and that of the kernel for small calls
    }
  }
  return count;
}

int call_resolved(const resolution &found, array_block *const *blocks, int count, std::span<const keyword> given,
                  ref<array_block> *results) {
  const overload &o = *found.chosen;
  check_lock(*o.function);
  with_interpreter locked(o.function->flags & dynd_callable_python_lock);
  if (const core_function *core = given.empty() ? found.core.load(std::memory_order_acquire) : nullptr) {
    evaluate(*core, {blocks, count}, results);
    return int(o.signature.results.size());
  }
  ref<external_function> function = found.scalar;
  std::shared_ptr<const keyword_values> keywords;
  if (!function || !given.empty()) {
    keywords = read_keywords(o, given);
  }
  if (!function && found.of_scalars) {
    function = scalar_function(found, keywords);
  }
  if (function) {
    static_cast<resolved_function &>(*function).build();
    evaluate(*function, {blocks, count}, results);
  } else {
    core_maker maker(found, blocks, std::move(keywords));
    std::unique_ptr<core_function> made = maker.make();
    const core_function *shared = made.get(), *before = nullptr;
    if (maker.depends_on_types_alone()) {
      shared = found.core.compare_exchange_strong(before, shared, std::memory_order_acq_rel) ? made.release() : before;
    }
    evaluate(*shared, {blocks, count}, results);
  }
  return int(o.signature.results.size());
}

// Reads only the fields that a struct of that size has.
void check_kernel(const deferred_ckernel &kernel) {
  if (kernel.version != DYND_ABI_VERSION) {
    fail(error_kind::type, "kernel: made for version " + std::to_string(kernel.version) +
                               " of the ABI, this library has version " + std::to_string(DYND_ABI_VERSION));
  }
  if (kernel.size < DYND_DEFERRED_CKERNEL_FIRST_SIZE) {
    fail(error_kind::type, "kernel: its struct says that it has " + std::to_string(kernel.size) +
                               " bytes, a deferred_ckernel has " + std::to_string(sizeof(deferred_ckernel)));
  }
  if (!kernel.name || !*kernel.name) {
    refuse(kernel, "it has no name");
  }
  if (!kernel.signature) {
    refuse(kernel, "it has no signature");
  }
  for (const char *text : {kernel.name, kernel.signature, kernel.doc}) {
    if (text && !is_utf8(text)) {
      refuse(kernel, "name, signature and documentation must be UTF-8");
    }
  }
  if (!kernel.instantiate != (kernel.prototype == reduction_funcproto_id)) {
    refuse(kernel, kernel.instantiate ? "a reduction has no instantiate" : "instantiate is NULL");
  }
  if (!kernel.retain != !kernel.release) {
    refuse(kernel, "retain and release must both be there, or neither");
  }
  constexpr uint32_t both_layouts = dynd_callable_c_layout | dynd_callable_f_layout;
  if (kernel.flags >= 2 * dynd_callable_f_results) {
    refuse(kernel, "flags " + std::to_string(kernel.flags) + " have one that this library does not know");
  }
  if ((kernel.flags & both_layouts) == both_layouts) {
    refuse(kernel, "wants C layout and F layout at once");
  }
  if (kernel.prototype > reduction_funcproto_id) {
    refuse(kernel, "unknown prototype " + std::to_string(kernel.prototype));
  }
  if ((kernel.flags & dynd_callable_strided_predicate) && kernel.prototype != binary_predicate_funcproto_id) {
    refuse(kernel, "has the flag of a strided predicate, and is none");
  }
}

// ---- the handle -----------------------------------------------------------------------------------------------------

callable::callable() = default;
callable::callable(ref<callable_state> state) : state_(std::move(state)) {}
callable::callable(const callable &) = default;
callable::callable(callable &&) noexcept = default;
callable &callable::operator=(callable other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
callable::~callable() = default;

callable::callable(std::string name, std::string doc)
    : state_(ref<callable_state>::adopt(new callable_state(std::move(name), std::move(doc)))) {}

callable::callable(kernel k) {
  if (!k) {
    fail(error_kind::type, "callable: there is no kernel");
  }
  check_kernel(*k);
  *this = callable(std::string(k->name), k->doc ? k->doc : "");
  add(k);
}

callable::callable(const deferred_ckernel &deferred) {
  check_kernel(deferred); // before anything of it is called
  *this = callable(kernel(deferred));
}

overload make_overload(const kernel &k) {
  kernel own = k->prototype == reduction_funcproto_id ? reduction_kernel(k) : k;
  return {own, read_signature(*own)};
}

void make_room(callable_state &state, size_t count) {
  state.retired.reserve(state.retired.size() + state.resolved.size());
  state.overloads.reserve(state.overloads.size() + count);
}

void note_added(callable_state &state) {
  retire_resolutions(state); // another overload may fit better now
  if (state.op) {
    __atomic_store_n(&added_to[size_t(*state.op)], &state, __ATOMIC_RELEASE);
    call_added_overload.store(call_added, std::memory_order_release);
  }
}

void callable::add(const kernel &k) const { add({&k, 1}); }

void callable::add(std::span<const kernel> kernels) const {
  callable_state &state = checked(state_);
  std::vector<std::unique_ptr<overload>> made;
  for (const kernel &k : kernels) {
    check_kernel(*k);
    made.push_back(std::make_unique<overload>(make_overload(k)));
  }
  std::lock_guard lock(state.mutex);
  size_t before = state.overloads.size();
  make_room(state, made.size());
  try {
    for (std::unique_ptr<overload> &own : made) {
      check_overload(state, *own);
      state.overloads.push_back(std::move(own));
    }
  } catch (...) { // none is added; the kernels are released without the lock
    std::move(state.overloads.begin() + ptrdiff_t(before), state.overloads.end(), made.begin());
    state.overloads.resize(before);
    throw;
  }
  note_added(state);
}

std::vector<array> callable::call_all(std::span<const array> operands, std::span<const keyword> keywords) const {
  ref<array_block> results[max_external_outputs];
  int count = call_state(checked(state_), operands, keywords, results);
  std::vector<array> all;
  for (int o = 0; o < count; o++) {
    all.emplace_back(std::move(results[o]));
  }
  return all;
}

array callable::call(std::span<const array> operands, std::span<const keyword> keywords) const {
  std::vector<array> all = call_all(operands, keywords);
  if (all.size() != 1) {
    fail(error_kind::type, name() + ": has " + (all.empty() ? "no result" : "several results") + ": use call_all");
  }
  return std::move(all[0]);
}

int callable::call_into(array_block *const *operands, int count, ref<array_block> *results) const {
  callable_state &state = checked(state_);
  if (state.op) {
    evaluate(*state.op, {operands, count}, results);
    return operation_of(*state.op).noutputs;
  }
  return call_external(state, operands, count, {}, results);
}

array callable::call_blocks(std::initializer_list<array_block *> operands) const {
  ref<array_block> results[max_external_outputs];
  int noutputs = call_into(operands.begin(), int(operands.size()), results);
  if (noutputs != 1) {
    fail(error_kind::type, name() + ": has " + (noutputs ? "several results" : "no result") + ": use call_all");
  }
  return array(std::move(results[0]));
}

const std::string &callable::name() const { return checked(state_).name; }
const std::string &callable::doc() const { return checked(state_).doc; }

std::vector<ndt::type> callable::signatures() const {
  std::vector<ndt::type> all;
  for_each_signature([&](ndt::type signature, size_t) { all.push_back(signature); });
  return all;
}

void callable::for_each_signature(const std::function<void(ndt::type, size_t)> &f) const {
  callable_state &state = checked(state_);
  std::vector<ndt::type> own = state.op ? signatures_of(*state.op) : std::vector<ndt::type>();
  std::lock_guard lock(state.mutex);
  size_t count = own.size() + state.overloads.size();
  for (ndt::type signature : own) {
    f(signature, count);
  }
  for (const std::unique_ptr<overload> &o : state.overloads) {
    f(o->signature.type, count);
  }
}

std::vector<kernel> callable::kernels() const {
  callable_state &state = checked(state_);
  std::vector<const overload *> own; // they stay; a kernel is retained without the lock
  {
    std::lock_guard lock(state.mutex);
    std::transform(state.overloads.begin(), state.overloads.end(), std::back_inserter(own),
                   [](const std::unique_ptr<overload> &o) { return o.get(); });
  }
  std::vector<kernel> all;
  std::transform(own.begin(), own.end(), std::back_inserter(all), [](const overload *o) { return o->function; });
  return all;
}

} // namespace dynd::nd

#include "dynd/call/lift.h"

#include <algorithm>
#include <mutex>

#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/type/utf8.h"

namespace dynd::nd {

namespace {

/// An external function that can be called, with its kernel for small calls.
struct lifted_state : external_function {
  nd::kernel function;
  std::mutex building;
  std::atomic<bool> built = false;
  ckernel_builder built_leaf; // made when it is first called

  lifted_state(nd::kernel k, const external_types &t) : function(std::move(k)) {
    refs = 1;
    destroy = [](counted *self) noexcept { delete static_cast<lifted_state *>(self); };
    kernel = function.get();
    types = t;
  }
  ~lifted_state() {
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
      make_external(built_leaf, 0, *kernel, types);
      leaf = &built_leaf;
      built.store(true, std::memory_order_release);
    }
  }
};

[[noreturn]] void refuse(const deferred_ckernel &kernel, const std::string &why) {
  fail(error_kind::type, std::string(kernel.name ? kernel.name : "kernel") + ": " + why);
}

class signature_reader {
public:
  explicit signature_reader(const deferred_ckernel &kernel) : kernel_(kernel), text_(kernel.signature) {}

  // "(int32, float64) -> int32" or "(int32) -> (int32, int32)": a tuple, and a tuple or one type. Scalars only; arrays
  // are what lifting adds.
  external_types read() {
    size_t arrow = text_.find("->");
    ndt::type sources = parse(text_.substr(0, arrow));
    if (arrow == text_.npos || sources->kind != type_kind::tuple) {
      wrong("is not of the form (T, ...) -> R");
    }
    ndt::type outputs = parse(text_.substr(arrow + 2));
    bool several = outputs->kind == type_kind::tuple;
    external_types types;
    types.noutputs = several ? outputs->nfields : 1;
    types.nsources = sources->nfields;
    if (types.nsources > max_external_sources) {
      wrong("has " + std::to_string(types.nsources) + " operands; 1 to " + std::to_string(max_external_sources) +
            " can be lifted");
    }
    if (types.noutputs > max_external_outputs) {
      wrong("has " + std::to_string(types.noutputs) + " results; 1 to " + std::to_string(max_external_outputs) +
            " can be lifted");
    }
    for (int o = 0; o < types.noutputs; o++) {
      types.type[o] = scalar(several ? outputs->fields[o].type : outputs.get());
    }
    for (int o = 0; o < types.nsources; o++) {
      types.type[types.noutputs + o] = scalar(sources->fields[o].type);
    }
    check_prototype(types);
    return types;
  }

private:
  ndt::type parse(std::string_view side) {
    try {
      return ndt::type(side);
    } catch (const error &e) {
      wrong(std::string("does not parse:\n") + e.what());
    }
  }

  scalar_id scalar(const type_data *type) {
    if (type->kind != type_kind::scalar) {
      wrong(std::string("has an operand that is no scalar: ") + type->text);
    }
    return type->scalar;
  }

  void check_prototype(const external_types &types) {
    if (kernel_.prototype != multi_operation_funcproto_id && types.noutputs != 1) {
      wrong("has several results: that takes the multi prototype");
    }
    if (kernel_.prototype == unary_operation_funcproto_id && types.nsources != 1) {
      wrong("does not have the one operand of the unary prototype");
    }
    if (kernel_.prototype == binary_predicate_funcproto_id &&
        (types.nsources != 2 || types.type[0] != scalar_id::bool_)) {
      wrong("is not that of a binary predicate, (T, T) -> bool");
    }
  }

  [[noreturn]] void wrong(const std::string &why) {
    refuse(kernel_, "signature \"" + std::string(text_) + "\" " + why);
  }

  const deferred_ckernel &kernel_;
  std::string_view text_;
};

void check_operands(const lifted_state &state, array_block *const *blocks, size_t count) {
  const external_types &types = state.types;
  if (count != size_t(types.nsources)) {
    refuse(*state.function, "takes " + std::to_string(types.nsources) +
                                (types.nsources == 1 ? " operand" : " operands") + ", not " + std::to_string(count));
  }
  for (size_t i = 0; i < count; i++) {
    const type_data *dtype = blocks[i]->type->dtype;
    while (dtype->kind == type_kind::pointer) {
      dtype = dtype->element;
    }
    element_kind from;
    if (!find_element_kind(dtype, from)) {
      refuse(*state.function, "operand " + std::to_string(i) + " has elements of type " + blocks[i]->type->dtype->text +
                                  "; it takes " + state.function->signature);
    }
    scalar_id to = types.type[size_t(types.noutputs) + i];
    if (from.scalar != to && !is_widening(from.scalar, to)) {
      refuse(*state.function, "operand " + std::to_string(i) + " is " + scalar_name[size_t(from.scalar)] +
                                  ", which does not convert to " + scalar_name[size_t(to)] + " without loss");
    }
  }
}

// find_kernel gives an empty handle for a name that is not registered: an error here.
lifted_state &checked(const ref<external_function> &function) {
  if (!function) {
    fail(error_kind::type, "call: there is no kernel");
  }
  return static_cast<lifted_state &>(*function);
}

void run(lifted_state &state, array_block *const *blocks, size_t count, ref<array_block> *results) {
  check_operands(state, blocks, count);
  if (state.needs_lock() && !the_interpreter.enter) {
    refuse(*state.function, "needs Python's lock, and the Python package is not loaded");
  }
  with_interpreter locked(state.needs_lock());
  state.build();
  evaluate(state, {blocks, int(count)}, results);
}

array run_one(lifted_state &state, array_block *const *blocks, size_t count) {
  if (state.types.noutputs != 1) {
    refuse(*state.function, "has several results: use call_all");
  }
  ref<array_block> result;
  run(state, blocks, count, &result);
  return array(std::move(result));
}

// As many as a kernel can have; with more the call is refused before they are read.
struct block_list {
  array_block *block[max_external_sources];
  size_t count;
  explicit block_list(std::span<const array> operands) : count(operands.size()) {
    for (size_t i = 0; i < std::min(count, size_t(max_external_sources)); i++) {
      block[i] = operands[i].get();
    }
  }
};

} // namespace

// Reads only the fields that a struct of that size has.
void check_kernel(const deferred_ckernel &kernel) {
  if (kernel.version != DYND_ABI_VERSION) {
    fail(error_kind::type, "kernel: made for version " + std::to_string(kernel.version) +
                               " of the ABI, this library has version " + std::to_string(DYND_ABI_VERSION));
  }
  if (kernel.size < sizeof(deferred_ckernel)) {
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
  if (!kernel.instantiate) {
    refuse(kernel, "instantiate is NULL");
  }
  if (!kernel.retain != !kernel.release) {
    refuse(kernel, "retain and release must both be there, or neither");
  }
  constexpr uint32_t both_layouts = dynd_callable_c_layout | dynd_callable_f_layout;
  if (kernel.flags >= 2 * dynd_callable_strided_predicate) {
    refuse(kernel, "flags " + std::to_string(kernel.flags) + " have one that this library does not know");
  }
  if ((kernel.flags & both_layouts) == both_layouts) {
    refuse(kernel, "wants C layout and F layout at once");
  }
  if (kernel.prototype > multi_operation_funcproto_id) {
    refuse(kernel, "unknown prototype " + std::to_string(kernel.prototype));
  }
  if ((kernel.flags & dynd_callable_strided_predicate) && kernel.prototype != binary_predicate_funcproto_id) {
    refuse(kernel, "has the flag of a strided predicate, and is none");
  }
}

lifted lift(kernel k) {
  if (!k) {
    fail(error_kind::type, "lift: there is no kernel");
  }
  check_kernel(*k);
  external_types types = signature_reader(*k).read();
  return lifted(ref<external_function>::adopt(new lifted_state(std::move(k), types)));
}

lifted lift(const deferred_ckernel &deferred) {
  check_kernel(deferred); // before anything of it is called
  return lift(kernel(deferred));
}

std::vector<array> lifted::call_all(std::span<const array> operands) const {
  block_list list(operands);
  ref<array_block> results[max_external_outputs];
  run(checked(function_), list.block, list.count, results);
  std::vector<array> all;
  for (int o = 0; o < types().noutputs; o++) {
    all.emplace_back(std::move(results[o]));
  }
  return all;
}

array lifted::call(std::span<const array> operands) const {
  block_list list(operands);
  return run_one(checked(function_), list.block, list.count);
}

array lifted::call_blocks(std::initializer_list<array_block *> operands) const {
  return run_one(checked(function_), operands.begin(), operands.size());
}

} // namespace dynd::nd

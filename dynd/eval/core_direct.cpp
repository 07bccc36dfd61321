// The direct step of kernels with core dimensions: one outer element of ready, aligned numbers takes one call of the
// kernel, which is built once.
#include <algorithm>
#include <cstring>
#include <memory>

#include "dynd/array/block.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/run.h"

namespace dynd {

namespace {

class direct_core_call {
public:
  direct_core_call(const core_function &f, const call_operands &operands)
      : f_(f), given_(operands), noperands_(int(f.operands.size())) {}

  bool run(ref<array_block> *results, direct_failure &failure) {
    if (f_.kernel->prototype != core_operation_funcproto_id || noperands_ > max_core_operands || f_.output_sizes ||
        !take_sources() || !make_results(results)) {
      return false;
    }
    const core_direct *made = kernel();
    if (!made || made->strides.size() != size_t(nstrides_) ||
        !std::equal(made->strides.begin(), made->strides.end(), strides_)) {
      return false;
    }
    failure.status = call(*made, failure);
    return failure.status == dynd_ok;
  }

private:
  bool take_sources() {
    for (size_t s = 0; s < f_.sizes.size(); s++) {
      size_[s] = f_.sizes[s].fixed;
      if (f_.sizes[s].made) {
        return false;
      }
    }
    for (int o = f_.noutputs; o < noperands_; o++) {
      const core_operand &own = f_.operands[size_t(o)];
      const array_block *block = given_.block[own.parameter];
      if (own.inout || block->ndim != own.sizes.size() || block->type->dtype != own.dtype.get() ||
          block->type->scalar == not_scalar || block->type->var_count || !block->is_ready() ||
          !take_block(*block, own)) {
        return false;
      }
      data_[o] = block->values().address;
    }
    intptr_t each = 1;
    for (size_t s = 0; s < f_.sizes.size() && each < unlocked_from; s++) {
      each *= std::max<intptr_t>(size_[s], 1);
    }
    return each < unlocked_from; // longer work is for the engine
  }

  // Its sizes fit those before, and it is aligned and in the order of the flags.
  bool take_block(const array_block &block, const core_operand &own) {
    const intptr_t *stride = block.value_strides();
    uintptr_t bits = reinterpret_cast<uintptr_t>(block.values().address);
    bool ordered = f_.has(dynd_callable_c_layout) || f_.has(dynd_callable_f_layout);
    for (size_t d = 0; d < own.sizes.size(); d++) {
      intptr_t &size = size_[own.sizes[d]];
      if (size >= 0 && size != block.size()[d]) {
        return false;
      }
      size = block.size()[d];
      bits |= uintptr_t(stride[d]);
      first_strides_[nsources_++] = stride[d];
    }
    bool fits = !ordered || ((block.flags & flag_dense) && (own.sizes.size() < 2 || f_.has(dynd_callable_c_layout)));
    return fits && bits % scalar_alignment(block.type->scalar) == 0;
  }

  bool make_results(ref<array_block> *results) {
    for (int o = 0; o < f_.noutputs; o++) {
      const core_operand &own = f_.operands[size_t(o)];
      if (own.dtype->kind != type_kind::scalar ||
          (own.sizes.size() > 1 && (f_.has(dynd_callable_f_layout) || f_.has(dynd_callable_f_results)))) {
        return false;
      }
      intptr_t sizes[max_ndim];
      ndt::type type = own.dtype;
      for (size_t d = 0; d < own.sizes.size(); d++) {
        sizes[d] = size_[own.sizes[d]];
        type = ndt::make_strided_dim(type);
      }
      results[o] = new_dense(type.get(), sizes);
      data_[o] = results[o]->values().address;
      intptr_t stride = intptr_t(results[o]->item_size());
      for (size_t d = own.sizes.size(); d-- > 0; stride *= sizes[d]) {
        strides_[nstrides_ + int(d)] = stride;
      }
      nstrides_ += int(own.sizes.size());
    }
    std::copy_n(first_strides_, nsources_, strides_ + nstrides_);
    nstrides_ += nsources_;
    return true;
  }

  // Built for the strides of the first call; another thread may have been first.
  const core_direct *kernel() const {
    const core_direct *made = f_.direct.load(std::memory_order_acquire);
    return made ? made : build();
  }

  const core_direct *build() const {
    auto built = std::make_unique<core_direct>();
    built->strides.assign(strides_, strides_ + nstrides_);
    static const uint32_t no_slots = dynd_slots_none;
    static const int32_t one = 1;
    intptr_t unknown[max_ndim];
    std::fill_n(unknown, max_ndim, intptr_t(-1));
    std::string text[max_core_operands];
    const char *types[max_core_operands];
    dynd_arrmeta metas[max_core_operands];
    const dynd_arrmeta *arrmeta[max_core_operands];
    const intptr_t *stride = strides_;
    for (int o = 0; o < noperands_; o++) {
      size_t ndim = f_.operands[size_t(o)].sizes.size();
      text[o] = type_text(f_.operands[size_t(o)], false);
      types[o] = text[o].c_str();
      metas[o] = {sizeof(dynd_arrmeta), DYND_ABI_VERSION, uint32_t(ndim), 1, unknown, stride, &no_slots, &one};
      arrmeta[o] = ndim ? &metas[o] : nullptr;
      stride += ndim;
    }
    external_bind(*f_.kernel, types, arrmeta, noperands_, f_.keywords.get()).instantiate(built->kernel, 0);
    const core_direct *before = nullptr;
    if (f_.direct.compare_exchange_strong(before, built.get(), std::memory_order_acq_rel)) {
      return built.release();
    }
    return before;
  }

  int call(const core_direct &made, direct_failure &failure) const {
    const int64_t *rows[max_core_operands] = {}, *dim[max_core_sizes];
    int64_t size[max_core_sizes];
    const intptr_t no_step[max_core_sizes] = {};
    for (size_t s = 0; s < f_.sizes.size(); s++) {
      size[s] = size_[s];
      dim[s] = &size[s];
    }
    size_t failed = 0;
    dynd_core_call one = {sizeof(dynd_core_call),
                          DYND_ABI_VERSION,
                          1,
                          data_,
                          no_stride,
                          rows,
                          dim,
                          no_step,
                          nullptr,
                          &failed,
                          nullptr,
                          nullptr};
    work_frame frame(made.kernel.scratch_size);
    auto *root = reinterpret_cast<const ckernel_prefix *>(made.kernel.data);
    int status = root->get_function<core_operation_t>()(&one, root, &frame);
    if (status) [[unlikely]] {
      std::memcpy(failure.text, frame.text, sizeof(failure.text));
      failure.text[sizeof(failure.text) - 1] = 0;
    }
    return status;
  }

  const core_function &f_;
  const call_operands &given_;
  int noperands_, nstrides_ = 0, nsources_ = 0;
  char *data_[max_core_operands];
  intptr_t size_[max_core_sizes], strides_[max_core_operands * max_ndim], first_strides_[max_core_operands * max_ndim];
};

} // namespace

bool try_direct(const core_function &function, const call_operands &operands, const settings &how,
                ref<array_block> *results, direct_failure &failure) {
  return may_be_direct(how) && direct_core_call(function, operands).run(results, failure);
}

} // namespace dynd

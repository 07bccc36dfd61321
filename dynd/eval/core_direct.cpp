// The direct step of kernels with core dimensions: one outer element of ready, aligned numbers takes one call of the
// kernel, which is built once, for operands like those of the first call.
#include <algorithm>
#include <cstring>
#include <vector>

#include "dynd/array/block.h"
#include "dynd/eval/core_layout.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/run.h"

namespace dynd {

namespace {

// A kernel for one outer element at a time, whose sizes come with the call, and which operands it takes.
struct core_direct : counted {
  struct axis {
    intptr_t stride;
    int size; ///< as in core_operand
  };
  struct operand {
    const type_data *type; ///< of a source its elements', of a result its own
    int parameter, ndim;
    uintptr_t misaligned; ///< bits that no address has
  };
  std::vector<operand> operands; ///< outputs, then sources
  std::vector<axis> axes;        ///< of all operands, in their order
  std::vector<intptr_t> sizes;   ///< what they must be, or -1
  bool dense;                    ///< the sources have no gaps
  ckernel_builder kernel;

  core_direct() {
    refs = 1;
    destroy = [](counted *self) noexcept { delete static_cast<core_direct *>(self); };
  }
};

class direct_core_call {
public:
  direct_core_call(const core_function &f, const call_operands &operands) : f_(f), given_(operands) {}

  bool run(ref<array_block> *results, direct_failure &failure) {
    auto *made = static_cast<const core_direct *>(f_.direct.load(std::memory_order_acquire));
    ref<core_direct> first = made ? ref<core_direct>() : planned();
    const core_direct *plan = made ? made : first.get();
    if (!plan || !take_sources(*plan) || !make_results(*plan, results)) {
      return false;
    }
    if (first) {
      instantiate(*first);
      counted *before = nullptr; // another thread may have been faster, for other operands
      if (!f_.direct.compare_exchange_strong(before, first.get(), std::memory_order_acq_rel)) {
        return false;
      }
      first.take();
    }
    call(*plan, failure);
    return failure.status == dynd_ok;
  }

private:
  // ---- a call like those before ------------------------------------------------------------------------------------

  bool take_sources(const core_direct &plan) {
    int nsizes = int(plan.sizes.size()), noutputs = f_.noutputs, noperands = int(plan.operands.size());
    for (int s = 0; s < nsizes; s++) {
      size_[s] = plan.sizes[size_t(s)];
    }
    const core_direct::axis *axis = plan.axes.data();
    for (int o = 0; o < noutputs; o++) {
      axis += plan.operands[size_t(o)].ndim;
    }
    for (int o = noutputs; o < noperands; o++) {
      const core_direct::operand &own = plan.operands[size_t(o)];
      const array_block &block = *given_.block[own.parameter];
      if (block.ndim != own.ndim || block.type->dtype != own.type || block.type->var_count || !block.is_ready() ||
          (plan.dense && !(block.flags & flag_dense))) {
        return false;
      }
      data_[o] = block.values().address;
      if (reinterpret_cast<uintptr_t>(data_[o]) & own.misaligned) {
        return false;
      }
      const intptr_t *size = block.size(), *stride = block.value_strides();
      for (int d = 0; d < own.ndim; d++, axis++) {
        intptr_t known = size_[axis->size];
        if (stride[d] != axis->stride || (known != size[d] && known >= 0)) {
          return false;
        }
        size_[axis->size] = size[d];
      }
    }
    intptr_t each = 1;
    for (int s = 0; s < nsizes && each < unlocked_from; s++) {
      each *= std::max<intptr_t>(size_[s], 1);
    }
    return each < unlocked_from; // longer work is for the engine
  }

  bool make_results(const core_direct &plan, ref<array_block> *results) {
    const core_direct::axis *axis = plan.axes.data();
    for (int o = 0; o < f_.noutputs; o++) {
      const core_direct::operand &own = plan.operands[size_t(o)];
      intptr_t sizes[max_ndim];
      for (int d = 0; d < own.ndim; d++) {
        sizes[d] = size_[axis[d].size];
      }
      results[o] = new_dense(own.type, sizes);
      data_[o] = results[o]->values().address;
      const intptr_t *stride = results[o]->value_strides();
      for (int d = 0; d < own.ndim; d++, axis++) {
        if (stride[d] != axis->stride) {
          return false;
        }
      }
    }
    return true;
  }

  void call(const core_direct &plan, direct_failure &failure) const {
    static constexpr const int64_t *no_rows[max_core_operands] = {};
    const int64_t *dim[max_core_sizes];
    for (size_t s = 0; s < plan.sizes.size(); s++) {
      dim[s] = &size_[s];
    }
    size_t failed = 0;
    dynd_core_call one = {sizeof(dynd_core_call),
                          DYND_ABI_VERSION,
                          1,
                          data_,
                          no_stride,
                          no_rows,
                          dim,
                          no_stride,
                          nullptr,
                          &failed,
                          nullptr,
                          nullptr};
    work_frame frame(plan.kernel.scratch_size);
    auto *root = reinterpret_cast<const ckernel_prefix *>(plan.kernel.data);
    failure.take(root->get_function<core_operation_t>()(&one, root, &frame), frame);
  }

  // ---- the first call ----------------------------------------------------------------------------------------------

  // For operands like these; null where the function, or these operands, are for the engine.
  ref<core_direct> planned() const {
    bool f_order = f_.has(dynd_callable_f_layout);
    auto of_engine = [&](const core_operand &own) {
      bool result = &own < f_.operands.data() + f_.noutputs, turned = f_order || f_.has(dynd_callable_f_results);
      return own.inout || own.dtype->kind != type_kind::scalar ||
             (own.sizes.size() > 1 && (result ? turned : f_order)) ||
             (!result && given_.block[own.parameter]->ndim != own.sizes.size());
    };
    auto is_made = [](const core_size &s) { return s.made; };
    if (f_.kernel->prototype != core_operation_funcproto_id || f_.operands.size() > max_core_operands ||
        f_.output_sizes || std::any_of(f_.sizes.begin(), f_.sizes.end(), is_made) ||
        std::any_of(f_.operands.begin(), f_.operands.end(), of_engine)) {
      return {};
    }
    auto plan = ref<core_direct>::adopt(new core_direct);
    plan->dense = f_order || f_.has(dynd_callable_c_layout);
    for (const core_size &s : f_.sizes) {
      plan->sizes.push_back(s.fixed);
    }
    add_operands(*plan);
    return plan;
  }

  void add_operands(core_direct &plan) const {
    std::vector<intptr_t> size = plan.sizes;
    for (size_t o = size_t(f_.noutputs); o < f_.operands.size(); o++) {
      const core_operand &own = f_.operands[o];
      for (size_t d = 0; d < own.sizes.size(); d++) {
        size[size_t(own.sizes[d])] = given_.block[own.parameter]->size()[d];
      }
    }
    for (size_t o = 0; o < f_.operands.size(); o++) {
      const core_operand &own = f_.operands[o];
      bool result = int(o) < f_.noutputs;
      uintptr_t alignment = uintptr_t(scalar_alignment(own.dtype->scalar));
      ndt::type type = own.dtype;
      intptr_t stride[max_ndim], next = scalar_size[size_t(own.dtype->scalar)];
      for (size_t d = own.sizes.size(); d-- > 0; next *= size[size_t(own.sizes[d])]) {
        stride[d] = result ? next : given_.block[own.parameter]->value_strides()[d];
        type = result ? ndt::make_strided_dim(type) : type;
      }
      plan.operands.push_back({type.get(), own.parameter, int(own.sizes.size()), alignment - 1});
      for (size_t d = 0; d < own.sizes.size(); d++) {
        bool odd = uintptr_t(stride[d]) & (alignment - 1);
        plan.operands.back().misaligned |= odd ? ~uintptr_t(0) : 0; // no such array is taken
        plan.axes.push_back({stride[d], own.sizes[d]});
      }
    }
  }

  void instantiate(core_direct &plan) const {
    intptr_t unknown[max_ndim], stride[max_core_operands][max_ndim];
    std::fill_n(unknown, max_ndim, intptr_t(-1));
    std::string text[max_core_operands];
    const char *types[max_core_operands];
    dynd_arrmeta metas[max_core_operands];
    const dynd_arrmeta *arrmeta[max_core_operands];
    const core_direct::axis *axis = plan.axes.data();
    for (size_t o = 0; o < plan.operands.size(); o++) {
      int ndim = plan.operands[o].ndim;
      for (int d = 0; d < ndim; d++) {
        stride[o][d] = (axis++)->stride;
      }
      text[o] = type_text(f_.operands[o], false);
      types[o] = text[o].c_str();
      metas[o] = core_arrmeta(ndim, unknown, stride[o]);
      arrmeta[o] = ndim ? &metas[o] : nullptr;
    }
    external_bind(*f_.kernel, types, arrmeta, int(plan.operands.size()), f_.keywords.get()).instantiate(plan.kernel, 0);
  }

  const core_function &f_;
  const call_operands &given_;
  char *data_[max_core_operands];
  int64_t size_[max_core_sizes];
};

} // namespace

bool try_direct(const core_function &function, const call_operands &operands, const settings &how,
                ref<array_block> *results, direct_failure &failure) {
  return may_be_direct(how) && direct_core_call(function, operands).run(results, failure);
}

} // namespace dynd

// The loops of NumPy's ufuncs and gufuncs as kernels.
#include "elsewhere.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "arguments.h"
#include "dynd/kernel/core.h"

namespace binding {

namespace {

using ufunc_loop = void (*)(char **arguments, const intptr_t *dimensions, const intptr_t *steps, void *data);

/// The beginning of NumPy's PyUFuncObject, which is part of its C interface.
struct numpy_ufunc {
  PyObject_HEAD int nin, nout, nargs, identity;
  ufunc_loop *functions;
  void *const *data;
  int ntypes;
};

constexpr size_t max_ufunc_dims = max_external_operands * 4;

struct ufunc_owner : python_owner {
  using python_owner::python_owner;
  nd::kernel chosen; // the sizes of results that no operand has; may be null
  ufunc_loop loop;
  void *loop_data;
  int nin, nout;
  std::vector<int> sizes; // of each core dimension of NumPy's: which size of the call it is; -1 - n: the number n
  // Of each operand, inputs first: which of its core dimensions each of NumPy's is; -1: one that it has not.
  std::vector<std::vector<int>> dims;
};

struct ufunc_leaf {
  ckernel_prefix base;
  const ufunc_owner *owner;
  int ncore;
  intptr_t core_stride[max_ufunc_dims]; // inputs first, as NumPy has them
};

int after_batch(dynd_frame *frame) { return PyErr_Occurred() ? report_exception(frame) : int(dynd_ok); }

int ufunc_strided(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  const ufunc_owner *f = reinterpret_cast<const ufunc_leaf *>(self)->owner;
  char *arguments[max_external_operands];
  intptr_t steps[max_external_operands], n = intptr_t(count);
  for (int o = 0; o < f->nin + f->nout; o++) { // inputs, then outputs
    int own = o < f->nin ? f->nout + o : o - f->nin;
    arguments[o] = data[own];
    steps[o] = stride[own];
  }
  f->loop(arguments, &n, steps, f->loop_data);
  return after_batch(frame);
}

int ufunc_core(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto *leaf = reinterpret_cast<const ufunc_leaf *>(self);
  const ufunc_owner *f = leaf->owner;
  int nargs = f->nin + f->nout;
  intptr_t steps[max_external_operands + max_ufunc_dims], dimensions[max_core_sizes + 1];
  std::copy_n(leaf->core_stride, leaf->ncore, steps + nargs);
  bool ragged = false;
  for (int o = 0; o < nargs; o++) {
    ragged |= call->row[o] != nullptr;
  }
  size_t together = ragged ? 1 : call->count;
  for (size_t i = 0; i < call->count; i += together) {
    char *arguments[max_external_operands];
    for (int o = 0; o < nargs; o++) {
      int own = o < f->nin ? f->nout + o : o - f->nin;
      arguments[o] = dynd_core_data(call, own, i);
      steps[o] = ragged ? 0 : call->stride[own];
    }
    dimensions[0] = intptr_t(together);
    for (size_t d = 0; d < f->sizes.size(); d++) {
      dimensions[d + 1] = f->sizes[d] < 0 ? -1 - f->sizes[d] : dynd_core_size(call, f->sizes[d], i);
    }
    f->loop(arguments, dimensions, steps, f->loop_data);
    if (int status = after_batch(frame)) {
      return status;
    }
  }
  return dynd_ok;
}

intptr_t instantiate_ufunc(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                           const dynd_bind *bind) {
  intptr_t end = offset + intptr_t(sizeof(ufunc_leaf));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  auto *leaf = reinterpret_cast<ufunc_leaf *>(out->data + offset);
  auto *f = static_cast<const ufunc_owner *>(python_owner::of(self));
  leaf->owner = f;
  bool core = self->prototype == core_operation_funcproto_id;
  leaf->base.function = core ? reinterpret_cast<void *>(ufunc_core) : reinterpret_cast<void *>(ufunc_strided);
  for (int o = 0; core && o < f->nin + f->nout; o++) {
    const dynd_arrmeta *meta = bind->arrmeta[o < f->nin ? f->nout + o : o - f->nin];
    for (int d : f->dims[size_t(o)]) {
      leaf->core_stride[leaf->ncore++] = d < 0 ? 0 : meta->stride[d];
    }
  }
  return end;
}

// ---- sizes of results that NumPy chooses from those of the operands, as min(m, n) of svd ----------------------------

/// The object is a Python function of the sizes.
struct sizes_owner : python_owner {
  using python_owner::python_owner;
  size_t nsizes, nresults;
};

struct sizes_leaf {
  ckernel_prefix base;
  const sizes_owner *owner;
};

/// Calls the function where the sizes differ from those before.
int choose_sizes(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  const sizes_owner *f = reinterpret_cast<const sizes_leaf *>(self)->owner;
  std::vector<int64_t> known, found; // of the element before
  for (size_t i = 0; i < call->count; i++) {
    bool same = i > 0;
    for (size_t s = 0; same && s < f->nsizes; s++) {
      same = known[s] == dynd_core_size(call, int(s), i);
    }
    auto choose = [&] {
      nb::list sizes;
      known.resize(f->nsizes);
      found.resize(f->nresults);
      for (size_t s = 0; s < f->nsizes; s++) {
        sizes.append(known[s] = dynd_core_size(call, int(s), i));
      }
      nb::object made = steal(PyObject_CallObject(f->object, nb::tuple(sizes).ptr()));
      for (size_t r = 0; r < f->nresults; r++) {
        found[r] = to_integer(f->name, "a size", made[r]);
      }
    };
    if (int status = same ? int(dynd_ok) : guarded_call(frame, i, choose)) {
      return status;
    }
    for (size_t r = 0; r < f->nresults; r++) {
      std::memcpy(dynd_core_data(call, int(r), i), &found[r], sizeof(int64_t));
    }
  }
  return dynd_ok;
}

intptr_t instantiate_sizes(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                           const dynd_bind *) {
  intptr_t end = offset + intptr_t(sizeof(sizes_leaf));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  auto *leaf = reinterpret_cast<sizes_leaf *>(out->data + offset);
  leaf->owner = static_cast<const sizes_owner *>(python_owner::of(self));
  leaf->base.function = reinterpret_cast<void *>(choose_sizes);
  return end;
}

/// Of (signature, function, number of sizes, number of results).
nd::kernel sizes_kernel(const std::string &name, nb::object from) {
  nb::object function = from[1];
  auto *made = new sizes_owner(name, nb::cast<std::string>(from[0]), "", function.ptr());
  nd::kernel owner = nd::kernel::adopt(made);
  made->prototype = core_operation_funcproto_id;
  made->instantiate = instantiate_sizes;
  made->nsizes = nb::cast<size_t>(from[2]);
  made->nresults = nb::cast<size_t>(from[3]);
  return owner;
}

nd::kernel ufunc_kernel(nb::object ufunc, int index, const nd::callable &f, const std::string &signature,
                        const std::vector<int> &sizes, const std::vector<std::vector<int>> &dims, nd::kernel chosen) {
  auto *own = reinterpret_cast<const numpy_ufunc *>(ufunc.ptr());
  if (index < 0 || index >= own->ntypes || !own->functions[index]) {
    return nd::kernel();
  }
  size_t ncore = 0;
  for (const std::vector<int> &of_operand : dims) {
    ncore += of_operand.size();
  }
  if (sizes.size() > size_t(max_core_sizes) || ncore > max_ufunc_dims) {
    throw error(error_kind::type, f.name() + ": has too many core dimensions: " + signature);
  }
  auto *made = new ufunc_owner(f.name(), signature, f.doc(), ufunc.ptr());
  nd::kernel owner = nd::kernel::adopt(made); // before what may throw
  made->sizes = sizes;
  made->dims = dims;
  made->output_sizes = chosen.get();
  made->chosen = std::move(chosen);
  made->loop = own->functions[index];
  made->loop_data = own->data ? own->data[index] : nullptr;
  made->nin = own->nin;
  made->nout = own->nout;
  made->prototype = signature.find('*') == signature.npos ? multi_operation_funcproto_id : core_operation_funcproto_id;
  made->instantiate = instantiate_ufunc;
  return owner;
}

} // namespace

void add_ufuncs(nb::module_ &m) {
  m.def(
      "add_ufunc_loop",
      [](nb::object target, nb::object ufunc, int index, const std::string &signature, const std::vector<int> &sizes,
         const std::vector<std::vector<int>> &dims, nb::object chosen) {
        const nd::callable *f = callable_in(target.ptr());
        nd::kernel of_sizes = chosen.is_none() ? nd::kernel() : sizes_kernel(f->name(), chosen);
        if (nd::kernel loop = ufunc_kernel(ufunc, index, *f, signature, sizes, dims, std::move(of_sizes))) {
          f->add(loop);
        }
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}

} // namespace binding

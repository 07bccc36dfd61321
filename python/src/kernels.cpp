// nd.kernel: a kernel of the ABI, built from an overload, looked at and called on buffers from Python.
#include "values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "dynd/call/resolve.h"
#include "dynd/eval/frame.h"
#include "foreign.h"

namespace binding {

namespace {

/// The memory of a kernel that user code has made, and what is needed to call it.
class built_kernel {
public:
  built_kernel(const nd::callable &f, const std::vector<ndt::type> &types) {
    std::vector<nd::array> samples;
    std::vector<array_block *> blocks;
    for (ndt::type type : types) {
      check_data_type(type.get(), "kernel");
      alignas(16) const char zero[max_scalar_size] = {};
      if (type->kind != type_kind::scalar) {
        throw error(error_kind::type, "kernel: the types of operands are scalars here, not " + std::string(type.str()));
      }
      samples.push_back(nd::scalar_of(type->scalar, zero));
      blocks.push_back(samples.back().get());
    }
    if (f.kernels().empty()) {
      throw error(error_kind::type, "kernel: " + f.name() + " has no kernels of its own");
    }
    const nd::resolution &found = nd::resolve(*f.state(), blocks.data(), int(blocks.size()));
    if (!found.scalar || found.chosen->function->prototype == binary_predicate_funcproto_id) {
      throw error(error_kind::type, "kernel: takes kernels on scalars without keywords, not " +
                                        std::string(found.chosen->signature.type.str()));
    }
    owner_ = found.chosen->function;
    const external_types &own = found.scalar->types;
    for (int o = 0; o < own.noutputs + own.nsources; o++) {
      types_.push_back(ndt::make_scalar(own.type[o]));
      names_.push_back(scalar_name[size_t(own.type[o])]);
    }
    noutputs_ = own.noutputs;
    build();
  }
  ~built_kernel() { builder_.reset(); } // Python's lock is held here

  size_t size() const { return size_; }
  size_t scratch_size() const { return builder_.scratch_size; }
  size_t function() const { return reinterpret_cast<size_t>(root()->function); }
  size_t destructor() const { return reinterpret_cast<size_t>(root()->destructor); }
  nb::bytes memory() const { return nb::bytes(builder_.data, size_); }
  std::vector<ndt::type> types() const { return types_; }
  const char *prototype() const {
    static const char *const names[] = {"unary", "expr", "predicate", "multi", "core"};
    return names[owner_->prototype];
  }

  // kernel(result, a, b): one-dimensional buffers of equal length; what has one element stands for all.
  void call(nb::args buffers) const {
    if (buffers.size() != types_.size()) {
      throw error(error_kind::type, "kernel: takes " + std::to_string(types_.size()) + " buffers, results first, not " +
                                        std::to_string(buffers.size()));
    }
    std::vector<std::unique_ptr<Py_buffer, void (*)(Py_buffer *)>> held;
    std::vector<char *> data;
    std::vector<intptr_t> stride;
    intptr_t count = -1;
    for (size_t o = 0; o < types_.size(); o++) {
      bool result = int(o) < noutputs_;
      auto *view = new Py_buffer;
      if (PyObject_GetBuffer(buffers[o].ptr(), view, PyBUF_STRIDES | (result ? PyBUF_WRITABLE : 0)) != 0) {
        delete view;
        throw nb::python_error();
      }
      held.emplace_back(view, [](Py_buffer *own) {
        PyBuffer_Release(own);
        delete own;
      });
      check_buffer(*view, o);
      intptr_t length = view->ndim ? view->shape[0] : 1;
      if (result || length != 1) {
        if (count >= 0 && length != count) {
          throw error(error_kind::value, "kernel: buffer " + std::to_string(o) + " has " + std::to_string(length) +
                                             " elements, those before it " + std::to_string(count));
        }
        count = length;
      }
      data.push_back(static_cast<char *>(view->buf));
      stride.push_back(view->ndim && (result || length != 1) ? view->strides[0] : 0);
    }
    run(data.data(), stride.data(), size_t(count));
  }

private:
  const ckernel_prefix *root() const { return reinterpret_cast<const ckernel_prefix *>(builder_.data); }

  void build() {
    const dynd_arrmeta *arrmeta[max_external_operands] = {};
    size_ = external_bind(*owner_, names_.data(), arrmeta, int(names_.size()), nullptr).instantiate(builder_, 0);
  }

  void check_buffer(const Py_buffer &view, size_t o) const {
    size_t item = scalar_size[size_t(types_[o]->scalar)], alignment = item / component_count(types_[o]->scalar);
    if (view.ndim > 1 || size_t(view.itemsize) != item) {
      throw error(error_kind::type, "kernel: buffer " + std::to_string(o) + " must have one dimension of " + names_[o]);
    }
    intptr_t stride = view.ndim ? view.strides[0] : 0;
    if ((reinterpret_cast<uintptr_t>(view.buf) | uintptr_t(stride)) & (alignment - 1)) {
      throw error(error_kind::value, "kernel: buffer " + std::to_string(o) + " is not aligned");
    }
  }

  void run(char *const *data, const intptr_t *stride, size_t count) const {
    work_frame frame(builder_.scratch_size);
    int status;
    switch (owner_->prototype) {
    case unary_operation_funcproto_id:
      status = root()->get_function<unary_strided_operation_t>()(data[0], stride[0], data[1], stride[1], count, root(),
                                                                 &frame);
      break;
    case expr_operation_funcproto_id:
      status = root()->get_function<expr_strided_operation_t>()(data[0], stride[0], data + 1, stride + 1, count, root(),
                                                                &frame);
      break;
    default:
      status = root()->get_function<multi_strided_operation_t>()(data, stride, count, root(), &frame);
    }
    if (status) {
      throw error(kind_of(status), std::string(owner_->name) + ": " + (frame.text[0] ? frame.text : "failed"));
    }
  }

  nd::kernel owner_;
  std::vector<ndt::type> types_; // results, then operands
  std::vector<const char *> names_;
  int noutputs_;
  ckernel_builder builder_;
  size_t size_ = 0;
};

} // namespace

void add_kernels(nb::module_ &m) {
  nb::class_<built_kernel>(
      m, "kernel",
      "kernel(callable, types): the kernel that an overload makes for operands of these scalar types,\n"
      "as a piece of memory that begins with a function. Calling it on buffers, results first, calls\n"
      "that function once.\n\n>>> k = nd.kernel(nd.triple, ['int32'])\n"
      ">>> k(result, np.arange(3, dtype='int32'))")
      .def("__init__",
           [](built_kernel *self, nb::object function, nb::sequence types) {
             const nd::callable *f = callable_in(function.ptr());
             if (!f) {
               throw error(error_kind::type,
                           std::string("kernel: expected a callable, not ") + nb::repr(function).c_str());
             }
             std::vector<ndt::type> operands;
             for (nb::handle type : types) {
               operands.push_back(to_type(type, "kernel"));
             }
             new (self) built_kernel(*f, operands);
           })
      .def(
          "__call__",
          [](const built_kernel &self, nb::args buffers) {
            python_error_scope errors;
            try {
              self.call(buffers);
            } catch (...) {
              errors.raise();
              throw nb::python_error();
            }
          },
          "Calls the function on one-dimensional buffers, results first. One element stands for all.")
      .def_prop_ro("size", &built_kernel::size, "Bytes of its memory.")
      .def_prop_ro("scratch_size", &built_kernel::scratch_size, "Bytes of scratch that a call lends to it.")
      .def_prop_ro("function", &built_kernel::function, "The address of the function at its beginning.")
      .def_prop_ro("destructor", &built_kernel::destructor, "That of the destructor behind it; 0 where there is none.")
      .def_prop_ro("memory", &built_kernel::memory, "The bytes: the function, the destructor, the kernel's own data.")
      .def_prop_ro("types", &built_kernel::types, "The types of its operands, results first.")
      .def_prop_ro("prototype", &built_kernel::prototype, "How it is called: unary, expr or multi.");
}

} // namespace binding

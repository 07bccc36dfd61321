// nd.kernel: a kernel of the ABI, built from an overload, looked at and called on buffers from Python.
#include "values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "dynd/call/resolve.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/observe.h"

namespace binding {

namespace {

/// A kernel in its memory, with the buffers that it can be called on. Aligned as the kernels are that are derived from
/// it: Python gives their memory back by the alignment of this class.
class alignas(ckernel_builder) shown_kernel {
public:
  virtual ~shown_kernel() = default;
  virtual const ckernel_builder &builder() const = 0;
  virtual const char *prototype() const = 0;
  virtual void call(nb::args buffers) const = 0;

  size_t size() const { return levels_.back().offset + levels_.back().size; }
  size_t scratch_size() const { return builder().scratch_size; }
  size_t function() const { return reinterpret_cast<size_t>(root()->function); }
  size_t destructor() const { return reinterpret_cast<size_t>(root()->destructor); }
  nb::bytes memory() const { return nb::bytes(builder().data, size()); }
  const std::vector<ndt::type> &types() const { return types_; }
  std::vector<std::tuple<size_t, size_t, std::string>> levels() const {
    std::vector<std::tuple<size_t, size_t, std::string>> all;
    for (const explained_level &level : levels_) {
      all.emplace_back(level.offset, level.size, level.text);
    }
    return all;
  }

protected:
  /// Buffers of the operands, held as long as this lives.
  class held_buffers {
  public:
    held_buffers(const shown_kernel &k, const nb::args &buffers) {
      if (buffers.size() != k.types_.size()) {
        throw error(error_kind::type, "kernel: takes " + std::to_string(k.types_.size()) +
                                          " buffers, results first, not " + std::to_string(buffers.size()));
      }
      for (size_t o = 0; o < buffers.size(); o++) {
        auto view = std::make_unique<Py_buffer>();
        int flags = PyBUF_STRIDES | PyBUF_FORMAT | (int(o) < k.noutputs_ ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(buffers[o].ptr(), view.get(), flags) != 0) {
          throw nb::python_error();
        }
        held_.emplace_back(view.release(), [](Py_buffer *own) {
          PyBuffer_Release(own);
          delete own;
        });
        check(k.types_[o], o);
      }
    }
    const Py_buffer &operator[](size_t o) const { return *held_[o]; }

  private:
    void check(ndt::type type, size_t o) const {
      const Py_buffer &view = *held_[o];
      scalar_id id = type.dtype()->scalar;
      size_t item = scalar_size[size_t(id)], alignment = item / component_count(id);
      scalar_id given;
      bool fits = view.itemsize > 0 && scalar_of_format(view, given) && given == id;
      if (view.ndim > std::max(1, int(type->ndim)) || !fits) {
        throw error(error_kind::type, "kernel: buffer " + std::to_string(o) + " must have " +
                                          (int(type->ndim) > 1 ? std::to_string(int(type->ndim)) + " dimensions of "
                                                               : "one dimension of ") +
                                          std::string(type.dtype().str()));
      }
      uintptr_t bits = reinterpret_cast<uintptr_t>(view.buf);
      for (int d = 0; d < view.ndim; d++) {
        bits |= uintptr_t(view.strides[d]);
      }
      if (bits & (alignment - 1)) {
        throw error(error_kind::value, "kernel: buffer " + std::to_string(o) + " is not aligned");
      }
    }
    std::vector<std::unique_ptr<Py_buffer, void (*)(Py_buffer *)>> held_;
  };

  const ckernel_prefix *root() const { return reinterpret_cast<const ckernel_prefix *>(builder().data); }
  [[noreturn]] static void fail_call(const std::string &name, int status, const dynd_frame &frame) {
    std::string text = frame.text[0] ? frame.text : "failed";
    bool named = text.rfind(name + ":", 0) == 0;
    throw error(dynd::kind_of(status), named ? text : name + ": " + text);
  }

  std::vector<ndt::type> types_; // results, then operands
  std::vector<explained_level> levels_;
  int noutputs_ = 0;
};

/// The kernel that user code makes, for scalars: one level, called for any number of elements.
class built_kernel : public shown_kernel {
public:
  explicit built_kernel(const nd::resolution &found) : owner_(found.chosen->function) {
    const external_types &own = found.scalar->types;
    std::vector<const char *> names;
    for (int o = 0; o < own.noutputs + own.nsources; o++) {
      types_.push_back(ndt::make_scalar(own.type[o]));
      names.push_back(scalar_name[size_t(own.type[o])]);
    }
    noutputs_ = own.noutputs;
    const dynd_arrmeta *arrmeta[max_external_operands] = {};
    size_t size = external_bind(*owner_, names.data(), arrmeta, int(names.size()), nullptr).instantiate(builder_, 0);
    levels_.push_back({0, size, std::string(owner_->name) + " " + owner_->signature});
  }
  ~built_kernel() override { builder_.reset(); } // Python's lock is held here

  const ckernel_builder &builder() const override { return builder_; }
  const char *prototype() const override {
    static const char *const names[] = {"unary", "expr", "predicate", "multi", "core"};
    return names[owner_->prototype];
  }

  // kernel(result, a, b): one-dimensional buffers of equal length; one element is used for all.
  void call(nb::args buffers) const override {
    held_buffers held(*this, buffers);
    std::vector<char *> data;
    std::vector<intptr_t> stride;
    intptr_t count = -1;
    for (size_t o = 0; o < types_.size(); o++) {
      const Py_buffer &view = held[o];
      bool result = int(o) < noutputs_;
      intptr_t length = view.ndim ? view.shape[0] : 1;
      if (result || length != 1) {
        if (count >= 0 && length != count) {
          throw error(error_kind::value, "kernel: buffer " + std::to_string(o) + " has " + std::to_string(length) +
                                             " elements, those before it " + std::to_string(count));
        }
        count = length;
      }
      data.push_back(static_cast<char *>(view.buf));
      stride.push_back(view.ndim && (result || length != 1) ? view.strides[0] : 0);
    }
    run(data.data(), stride.data(), size_t(count));
  }

private:
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
      fail_call(owner_->name, status, frame);
    }
  }

  nd::kernel owner_;
  ckernel_builder builder_;
};

/// The kernel that the engine builds for operands of these types, which say their sizes: its levels, and a leaf.
class planned_kernel : public shown_kernel {
public:
  planned_kernel(const nd::callable &f, const std::vector<ndt::type> &types) : function_(f) {
    std::vector<nd::array> samples; // writable: nothing on them is lazy
    for (ndt::type type : types) {
      samples.push_back(nd::empty(type, nullptr, access_mode::readwrite));
    }
    observation seen;
    seen.keep = &kept_;
    {
      observed_scope watched(&seen);
      f.call_all(samples);
    }
    check(f, samples);
    noutputs_ = kept_.noutputs;
    levels_ = std::move(seen.kernels.back().levels);
    for (const ref<array_block> &block : kept_.operands) {
      ndt::type type(block->type->dtype);
      for (int d = block->ndim - 1; d >= 0; d--) {
        type = ndt::make_fixed_dim(block->size()[d], type);
      }
      types_.push_back(type);
    }
  }

  const ckernel_builder &builder() const override { return kept_.kernel; }
  const char *prototype() const override { return "streams"; }

  // kernel(result, a, b): buffers of these shapes, without gaps.
  void call(nb::args buffers) const override {
    held_buffers held(*this, buffers);
    root_call call = kept_.call;
    for (size_t o = 0; o < types_.size(); o++) {
      const array_block &block = *kept_.operands[o];
      bool fits = held[o].ndim == block.ndim;
      for (int d = 0; fits && d < block.ndim; d++) {
        fits =
            held[o].shape[d] == block.size()[d] && (held[o].shape[d] < 2 || held[o].strides[d] == block.strides(0)[d]);
      }
      if (!fits) {
        throw error(error_kind::value, "kernel: buffer " + std::to_string(o) + " must be " +
                                           std::string(types_[o].str()) + ", without gaps");
      }
    }
    for (size_t p = 0; p < kept_.ports.size(); p++) {
      const kept_kernel::port &port = kept_.ports[p];
      if (port.operand >= 0) {
        call.stream[int(p)] = static_cast<char *>(held[size_t(port.operand)].buf) + port.offset;
      }
    }
    work_frame frame(kept_.kernel.scratch_size);
    if (int status = call_root(kept_.kernel, call, 0, call.count, frame)) {
      fail_call(function_.name(), status, frame);
    }
  }

private:
  void check(const nd::callable &f, const std::vector<nd::array> &samples) const {
    bool plain = kept_.kernel.data && kept_.operands.size() == samples.size() + size_t(kept_.noutputs);
    for (size_t o = 0; plain && o < kept_.operands.size(); o++) {
      const array_block &block = *kept_.operands[o];
      plain = block.has_scalars() && !block.type->var_count &&
              (int(o) < kept_.noutputs || &block == samples[o - size_t(kept_.noutputs)].get());
    }
    if (!plain) {
      throw error(error_kind::type, "kernel: " + f.name() +
                                        " does not take these types by one kernel on them: arrays of numbers of fixed "
                                        "sizes, of the types that it computes in");
    }
  }

  nd::callable function_; // owns what the kernel refers to
  kept_kernel kept_;
};

std::unique_ptr<shown_kernel> make_kernel(const nd::callable &f, const std::vector<ndt::type> &types) {
  auto is_scalar = [](ndt::type t) { return t->kind == type_kind::scalar; };
  for (ndt::type type : types) {
    check_data_type(type.get(), "kernel");
    if (type.dtype()->kind != type_kind::scalar || type->var_count) {
      throw error(error_kind::type,
                  "kernel: the types of operands are numbers, or dimensions of fixed sizes over them, not " +
                      std::string(type.str()));
    }
  }
  if (f.state()->op || !std::all_of(types.begin(), types.end(), is_scalar)) {
    return std::make_unique<planned_kernel>(f, types);
  }
  std::vector<nd::array> samples;
  std::vector<array_block *> blocks;
  for (ndt::type type : types) {
    alignas(16) const char zero[max_scalar_size] = {};
    samples.push_back(nd::scalar_of(type->scalar, zero));
    blocks.push_back(samples.back().get());
  }
  const nd::resolution &found = nd::resolve(*f.state(), blocks.data(), int(blocks.size()));
  bool own = found.scalar && found.chosen->function->prototype != binary_predicate_funcproto_id;
  return own ? std::unique_ptr<shown_kernel>(new built_kernel(found)) : std::make_unique<planned_kernel>(f, types);
}

} // namespace

void add_kernels(nb::module_ &m) {
  nb::class_<shown_kernel>(
      m, "kernel",
      "kernel(callable, types): a kernel for operands of these types, as a piece of memory that begins with a "
      "function.\n"
      "Of scalar types the one that an overload makes, which is called for any number of elements; of types with\n"
      "dimensions, which say their sizes, and of the library's operations, the one that the engine builds: its levels "
      "and a\n"
      "leaf. Calling it on buffers, results first, calls that function once.\n\n"
      ">>> k = nd.kernel(nd.triple, ['int32'])\n"
      ">>> k(result, np.arange(3, dtype='int32'))")
      .def_static(
          "__new__",
          [](nb::handle, nb::handle function, nb::handle types) {
            const nd::callable *f = callable_in(function.ptr());
            if (!f) {
              throw error(error_kind::type,
                          std::string("kernel: expected a callable, not ") + nb::repr(function).c_str());
            }
            if (!PyList_Check(types.ptr()) && !PyTuple_Check(types.ptr())) {
              throw error(error_kind::type,
                          std::string("kernel: expected a list of types, not ") + nb::repr(types).c_str());
            }
            std::vector<ndt::type> operands;
            for (nb::handle type : types) {
              operands.push_back(to_type(type, "kernel"));
            }
            return make_kernel(*f, operands);
          },
          nb::arg("self"), nb::arg("function").none(), nb::arg("types").none())
      .def("__init__", [](nb::handle, nb::handle, nb::handle) {})
      .def(
          "__call__", [](const shown_kernel &self, nb::args buffers) { self.call(buffers); },
          "Calls the function on buffers, results first. Of scalar types they have one dimension, and one element "
          "is used for all.")
      .def_prop_ro("size", &shown_kernel::size, "Bytes of its memory.")
      .def_prop_ro("levels", &shown_kernel::levels, "(offset, bytes, what it is) of every level, the outermost first.")
      .def_prop_ro("scratch_size", &shown_kernel::scratch_size, "Bytes of scratch that a call lends to it.")
      .def_prop_ro("function", &shown_kernel::function, "The address of the function at its beginning.")
      .def_prop_ro("destructor", &shown_kernel::destructor, "That of the destructor behind it; 0 where there is none.")
      .def_prop_ro("memory", &shown_kernel::memory, "The bytes: the function, the destructor, the kernel's own data.")
      .def_prop_ro("types", &shown_kernel::types, "The types of its operands, results first.")
      .def_prop_ro("prototype", &shown_kernel::prototype, "How it is called: unary, expr, multi, or streams.");
}

} // namespace binding

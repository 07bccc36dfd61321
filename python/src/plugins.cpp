// Plug-ins and external kernels as Python functions.
#include "binding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "dynd/call/registry.h"
#include "dynd/kernel/external.h"

namespace binding {

namespace {

// What a function object of Python holds; leaked, as kernels are.
struct kernel_function {
  nd::registered_kernel kernel;
  std::string text;
  PyMethodDef method;
  nd::array like[max_external_sources]; // what Python scalars take their type from: the operand's in the signature
};

nb::object owned(PyObject *made) {
  if (!made) {
    throw nb::python_error();
  }
  return nb::steal(made);
}

PyObject *call_kernel(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  const kernel_function *f = *static_cast<kernel_function **>(PyModule_GetState(self));
  const external_types &types = f->kernel.function.types();
  try {
    if (count != types.nsources) {
      throw error(error_kind::type, f->kernel.name + ": takes " + std::to_string(types.nsources) +
                                        (types.nsources == 1 ? " operand" : " operands") + ", not " +
                                        std::to_string(count));
    }
    nd::array operands[max_external_sources];
    for (Py_ssize_t i = 0; i < count; i++) {
      operands[i] = to_operand(arguments[i], &f->like[i], f->kernel.name.c_str());
    }
    if (types.noutputs == 1) {
      return wrap(f->kernel.function.call({operands, size_t(count)}));
    }
    std::vector<nd::array> results = f->kernel.function.call_all({operands, size_t(count)});
    nb::list wrapped;
    for (const nd::array &result : results) {
      wrapped.append(owned(wrap(result)));
    }
    return nb::tuple(wrapped).release().ptr();
  } catch (...) {
    return raise_current();
  }
}

nb::object make_function(const nd::registered_kernel &kernel) {
  auto *f = new kernel_function{kernel, "", {}, {}};
  const external_types &types = kernel.function.types();
  std::string parameters;
  for (int i = 0; i < types.nsources; i++) {
    parameters += (i ? ", " : "") + std::string(1, char('a' + i));
    alignas(16) const char zero[16] = {};
    f->like[i] = nd::scalar_of(types.type[types.noutputs + i], zero);
  }
  f->text = kernel.name + "(" + parameters + ", /)\n--\n\n" +
            (kernel.doc.empty() ? "A kernel without documentation." : kernel.doc) + "\n\n" + kernel.signature +
            "\n\nOperands may be strided or ragged and broadcast together. Runs at once.\n" +
            (kernel.library.empty() ? "" : "From the plug-in " + kernel.library + "\n");
  f->method = {f->kernel.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(call_kernel)),
               METH_FASTCALL, f->text.c_str()};
  // help() shows what a function is bound to, unless that is a module: so each has a module object for its pointer.
  static PyModuleDef holder = {PyModuleDef_HEAD_INIT,
                               "dynd.nd",
                               nullptr,
                               sizeof(kernel_function *),
                               nullptr,
                               nullptr,
                               nullptr,
                               nullptr,
                               [](void *module) {
                                 auto *self = static_cast<PyObject *>(module);
                                 delete *static_cast<kernel_function **>(PyModule_GetState(self));
                               }};
  nb::object self = owned(PyModule_Create(&holder));
  *static_cast<kernel_function **>(PyModule_GetState(self.ptr())) = f;
  nb::object module_name = nb::str("dynd.nd");
  return owned(PyCFunction_NewEx(&f->method, self.ptr(), module_name.ptr()));
}

} // namespace

void add_plugins(nb::module_ &m) {
  m.def(
      "load", [](const std::string &path) { return nd::load(path); }, nb::arg("path"));
  m.def("reserve_names", nd::reserve_names, nb::arg("names"));
  m.def("kernel_function", [](const std::string &name) -> nb::object {
    for (const nd::registered_kernel &kernel : nd::kernels()) {
      if (kernel.name == name) {
        return make_function(kernel);
      }
    }
    return nb::none();
  });
  m.def("kernels", [] {
    nb::list rows;
    for (const nd::registered_kernel &kernel : nd::kernels()) {
      rows.append(nb::make_tuple(kernel.name, kernel.doc, kernel.signature));
    }
    return rows;
  });
}

} // namespace binding

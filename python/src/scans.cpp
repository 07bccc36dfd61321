// The scans: functions made from the entries of ops/, and the methods that NumPy has.
#include "arguments.h"

#include "dynd/eval/scan.h"

namespace binding {

namespace {

// An operand that is no array is made one; `made` keeps it.
array_block *to_block(PyObject *object, const char *name, nd::array &made) {
  made = is_array(object) ? nd::array() : to_operand(object, nullptr, name);
  return made ? made.get() : unwrap(object).get();
}

PyObject *run_scan(scan_id id, PyObject *operand, PyObject *axis, PyObject *include_initial) {
  return guarded([&] {
    const char *name = scan_of(id).name;
    std::optional<int> along = to_axis(name, axis);
    bool initial = to_flag(include_initial);
    nd::array made;
    array_block *block = to_block(operand, name, made);
    return wrap(evaluate(id, block, !made && Py_REFCNT(operand) == 1, along, initial));
  });
}

template <scan_id id>
PyObject *scan_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"a", "axis", "include_initial"};
  PyObject *given[3];
  return parse_arguments(scan_of(id).name, names, 2, 1, arguments, count, keywords, given)
             ? run_scan(id, given[0], given[1], given[2])
             : nullptr;
}

template <scan_id id>
PyObject *scan_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"axis"};
  PyObject *given[1];
  return parse_arguments(scan_of(id).name, names, 1, 0, arguments, count, keywords, given)
             ? run_scan(id, self, given[0], nullptr)
             : nullptr;
}

template <auto function> PyCFunction as_method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(function));
}

#define DYND_SCAN(name, set, accumulator, combine, identity, doc)                                                      \
  {#name, as_method<scan_function<scan_id::name>>(), METH_FASTCALL | METH_KEYWORDS,                                    \
   #name                                                                                                               \
   "(a, /, axis=None, *, include_initial=False)\n--\n\n" doc                                                           \
   "\n\n(Dims... * T) -> Dims... * R, where R is T, or 64 bits wide for sums and products of integers or bool.\n\n"    \
   "axis: the dimension to go along, negative from the end; an array of one dimension needs none.\n"                   \
   "include_initial: each row begins with the value of no elements, and is one longer.\n"                              \
   "The elements of a row are taken strictly in their order, also inside ragged rows. The value of a missing\n"        \
   "element is missing, and those after it go on without it. A lazy operand is computed in the same pass."},
PyMethodDef functions[] = {
#include "dynd/ops/scans.def"
    {nullptr, nullptr, 0, nullptr}};
#undef DYND_SCAN

PyMethodDef methods[] = {
    {"cumsum", as_method<scan_method<scan_id::cumulative_sum>>(), METH_FASTCALL | METH_KEYWORDS,
     "cumsum($self, axis=None)\n--\n\nThe sums of the elements up to each one: nd.cumulative_sum(self, axis)."},
    {"cumprod", as_method<scan_method<scan_id::cumulative_prod>>(), METH_FASTCALL | METH_KEYWORDS,
     "cumprod($self, axis=None)\n--\n\nThe products of the elements up to each one: nd.cumulative_prod(self, axis)."},
};

} // namespace

void add_scans(nb::module_ &m) {
  nb::object module_name = nb::str("dynd.nd");
  nb::object names = nb::list();
  for (PyMethodDef *function = functions; function->ml_name; function++) {
    m.attr(function->ml_name) = nb::steal(PyCFunction_NewEx(function, nullptr, module_name.ptr()));
    names.attr("append")(function->ml_name);
  }
  m.attr("scans") = names;
  for (PyMethodDef &method : methods) {
    nb::setattr(nb::handle(reinterpret_cast<PyObject *>(array_type)), method.ml_name,
                nb::steal(PyDescr_NewMethod(array_type, &method)));
  }
}

} // namespace binding

// The scans: functions made from the entries of ops/, and the methods that NumPy has.
#include "arguments.h"

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "dynd/call/fold.h"
#include "dynd/call/resolve.h"
#include "dynd/eval/scan.h"

namespace binding {

namespace {

// An operand that is no array is made one; `made` keeps it.
array_block *to_block(PyObject *object, const char *name, nd::array &made) {
  made = is_array(object) ? nd::array() : to_operand(object, nullptr, name);
  return made ? made.get() : unwrap(object).get();
}

PyObject *run_scan(scan_id id, PyObject *operand, PyObject *axis, PyObject *dtype, PyObject *include_initial) {
  return guarded([&] {
    const char *name = scan_of(id).name;
    std::optional<int> along = to_axis(name, axis);
    std::optional<scalar_id> type = number_type(name, to_element_type(name, dtype));
    bool initial = to_flag(name, "include_initial", include_initial);
    nd::array made;
    array_block *block = to_block(operand, name, made);
    return wrap(evaluate(id, block, !made && Py_REFCNT(operand) == 1, along, initial, type));
  });
}

template <scan_id id>
PyObject *scan_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"a", "axis", "dtype", "include_initial"};
  PyObject *given[4];
  return parse_arguments(scan_of(id).name, names, 2, 1, arguments, count, keywords, given)
             ? run_scan(id, given[0], given[1], given[2], given[3])
             : nullptr;
}

template <scan_id id>
PyObject *scan_method(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"axis", "dtype"};
  PyObject *given[2];
  return parse_arguments(scan_of(id).name, names, 2, 0, arguments, count, keywords, given)
             ? run_scan(id, self, given[0], given[1], nullptr)
             : nullptr;
}

PyObject *reduce_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"f", "a", "axis", "identity"};
  PyObject *given[4];
  if (!parse_arguments("reduce", names, 3, 2, arguments, count, keywords, given)) {
    return nullptr;
  }
  return guarded([&] {
    const nd::callable *function = callable_in(given[0]);
    if (!function) {
      throw error(error_kind::type,
                  std::string("reduce: expected an operation of this module, as nd.add, or a callable, not ") +
                      nb::repr(nb::handle(given[0])).c_str());
    }
    std::optional<int> along = to_axis("reduce", given[2]);
    nd::array made, identity;
    array_block *block = to_block(given[1], "reduce", made);
    if (given[3] && given[3] != Py_None) {
      nd::array like(ref<array_block>::share(block));
      identity = to_operand(given[3], block->has_scalars() ? &like : nullptr, "reduce");
    }
    std::optional<op_id> op = function->state()->op;
    if (op && without_options(elements_of_rows(block->type))->nfields == 0) { // structs are for overloads
      return wrap(fold_left(*op, block, !made && Py_REFCNT(given[1]) == 1, along, identity.get()));
    }
    return wrap(nd::fold(*function, nd::array(ref<array_block>::share(block)), along, identity));
  });
}

PyObject *diff_function(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords) {
  static const char *const names[] = {"a", "n", "axis"};
  PyObject *given[3];
  if (!parse_arguments("diff", names, 3, 1, arguments, count, keywords, given)) {
    return nullptr;
  }
  return guarded([&] {
    std::optional<int> along = to_axis("diff", given[2]);
    intptr_t times = given[1] ? to_integer("diff", "n", given[1]) : 1;
    nd::array a = is_array(given[0]) ? unwrap(given[0]) : to_operand(given[0], nullptr, "diff");
    return wrap(differences(a, int(std::clamp<intptr_t>(times, INT_MIN, INT_MAX)), along.value_or(-1)));
  });
}

#define DYND_SCAN(name, set, accumulator, combine, identity, doc)                                                      \
  {#name, as_method<scan_function<scan_id::name>>(), METH_FASTCALL | METH_KEYWORDS,                                    \
   #name                                                                                                               \
   "(a, /, axis=None, *, dtype=None, include_initial=False)\n--\n\n" doc                                               \
   "\n\n(Dims... * T) -> Dims... * R, where R is T, or 64 bits wide for sums and products of integers or bool.\n\n"    \
   "axis: the dimension to go along, negative from the end; an array of one dimension needs none.\n"                   \
   "dtype: what the elements are taken as, and the type of the values; integers wrap.\n"                               \
   "include_initial: each row begins with the value of no elements, and is one longer.\n"                              \
   "The elements of a row are taken strictly in their order, also inside ragged rows. The value of a missing\n"        \
   "element is missing, and those after it go on without it. A lazy operand is computed in the same pass."},
PyMethodDef scan_functions[] = {
#include "dynd/ops/scans.def"
    {"diff", as_method<diff_function>(), METH_FASTCALL | METH_KEYWORDS, nullptr}, // nd.py has what people call
    {"reduce", as_method<reduce_function>(), METH_FASTCALL | METH_KEYWORDS,
     "reduce(f, a, axis=None, *, identity=None)\n--\n\nThe left fold f(f(f(identity, a0), a1), a2) of each row by an "
     "operation of two operands, as nd.gcd, or any callable that takes two numbers and gives one.\n\nIn the type of f, "
     "which it must give as well as take: unlike nd.sum, "
     "reduce(nd.add, a) of int8 is int8. Where\nf is what a reduction combines by (add, minimum, maximum, ...), it is "
     "that reduction, in its order.\naxis: None folds everything in C order. Missing elements are left out. Of no "
     "elements it is the identity;\nwithout one missing for ?T, else an error that names the row.\n\n"
     ">>> nd.reduce(nd.subtract, [[10, 1, 2], [5]], axis=1)\nnd.array([7, 5], type=\"strided * int32\")"},
    {nullptr, nullptr, 0, nullptr}};
#undef DYND_SCAN

PyMethodDef scan_methods[] = {
    {"cumsum", as_method<scan_method<scan_id::cumulative_sum>>(), METH_FASTCALL | METH_KEYWORDS,
     "cumsum($self, axis=None, dtype=None)\n--\n\nThe sums of the elements up to each one: nd.cumulative_sum(self, "
     "axis)."},
    {"cumprod", as_method<scan_method<scan_id::cumulative_prod>>(), METH_FASTCALL | METH_KEYWORDS,
     "cumprod($self, axis=None, dtype=None)\n--\n\nThe products of the elements up to each one: "
     "nd.cumulative_prod(self, "
     "axis)."},
};

} // namespace

void add_scans(nb::module_ &m) {
  add_method_table(m, scan_functions, "scans");
  for (PyMethodDef &method : scan_methods) {
    nb::setattr(nb::handle(reinterpret_cast<PyObject *>(array_type)), method.ml_name,
                steal(PyDescr_NewMethod(array_type, &method)));
  }
}

} // namespace binding

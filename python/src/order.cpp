// Order: what dynd/_order.py calls. Arguments are converted here; what they mean is in dynd/call/order.h.
#include "values.h"

#include "dynd/call/order.h"

namespace binding {

namespace {

nd::array operand(nb::handle a, const char *name) { return to_operand(a.ptr(), nullptr, name); }
nb::object wrapped(nd::array a) { return nb::steal(wrap(std::move(a))); }

template <auto function> void add_sort(nb::module_ &m, const char *name) {
  m.def(
      name,
      [name](nb::handle a, int axis, bool descending) { return wrapped(function(operand(a, name), axis, descending)); },
      nb::arg("a").none(), nb::arg("axis"), nb::arg("descending"));
}

} // namespace

void add_order(nb::module_ &m) {
  add_sort<nd::sort>(m, "sort");
  add_sort<nd::argsort>(m, "argsort");
  add_sort<nd::is_sorted>(m, "is_sorted");
  m.def(
      "top_k", [](nb::handle a, intptr_t k, int axis) { return wrapped(nd::top_k(operand(a, "top_k"), k, axis)); },
      nb::arg("a").none(), nb::arg("k"), nb::arg("axis"));
  m.def(
      "searchsorted",
      [](nb::handle a, nb::handle values, bool right) {
        nd::array sorted = operand(a, "searchsorted");
        return wrapped(nd::searchsorted(sorted, to_operand(values.ptr(), &sorted, "searchsorted"), right));
      },
      nb::arg("a").none(), nb::arg("values").none(), nb::arg("right"));
}

} // namespace binding

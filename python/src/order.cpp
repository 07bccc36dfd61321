// Order: what dynd/_order.py calls. Arguments are converted here; what they mean is in dynd/call/order.h
// and distribution.h.
#include "values.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dynd/call/distribution.h"
#include "dynd/call/order.h"

namespace binding {

namespace {

using axis_argument = std::optional<int>;
using field_names = std::vector<std::string>;

nb::object wrapped_pair(nd::array a, nd::array b) {
  return nb::make_tuple(wrapped(std::move(a)), wrapped(std::move(b)));
}

template <auto function> void add_sort(nb::module_ &m, const char *name) {
  m.def(
      name,
      [name](nb::handle a, int axis, bool descending, const field_names &by) {
        return wrapped(function(operand(a, name), axis, descending, by));
      },
      nb::arg("a").none(), nb::arg("axis"), nb::arg("descending"), nb::arg("by"));
}

void add_sorts(nb::module_ &m) {
  add_sort<nd::sort>(m, "sort");
  add_sort<nd::argsort>(m, "argsort");
  add_sort<nd::is_sorted>(m, "is_sorted");
  m.def(
      "top_k",
      [](nb::handle a, intptr_t k, int axis, const field_names &by) {
        return wrapped(nd::top_k(operand(a, "top_k"), k, axis, by));
      },
      nb::arg("a").none(), nb::arg("k"), nb::arg("axis"), nb::arg("by"));
  m.def(
      "rank",
      [](nb::handle a, int axis, int equals, bool descending, const field_names &by) {
        return wrapped(nd::rank(operand(a, "rank"), axis, nd::rank_of_equals(equals), descending, by));
      },
      nb::arg("a").none(), nb::arg("axis"), nb::arg("equals"), nb::arg("descending"), nb::arg("by"));
  m.def(
      "searchsorted",
      [](nb::handle a, nb::handle values, bool right) {
        nd::array sorted = operand(a, "searchsorted");
        return wrapped(nd::searchsorted(sorted, to_operand(values.ptr(), &sorted, "searchsorted"), right));
      },
      nb::arg("a").none(), nb::arg("values").none(), nb::arg("right"));
}

void add_unique(nb::module_ &m) {
  m.def(
      "unique", [](nb::handle a, axis_argument axis) { return wrapped(nd::unique(operand(a, "unique"), axis)); },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "unique_counts",
      [](nb::handle a, axis_argument axis) {
        auto [values, counts] = nd::unique_counts(operand(a, "unique_counts"), axis);
        return wrapped_pair(values, counts);
      },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "unique_inverse",
      [](nb::handle a, axis_argument axis) {
        auto [values, inverse] = nd::unique_inverse(operand(a, "unique_inverse"), axis);
        return wrapped_pair(values, inverse);
      },
      nb::arg("a").none(), nb::arg("axis").none());
}

void add_distribution(nb::module_ &m) {
  m.def(
      "median",
      [](nb::handle a, axis_argument axis, bool keepdims) {
        return wrapped(nd::median(operand(a, "median"), axis, keepdims));
      },
      nb::arg("a").none(), nb::arg("axis").none(), nb::arg("keepdims"));
  m.def(
      "quantile",
      [](nb::handle a, nb::handle q, axis_argument axis, int method, bool keepdims) {
        nd::array parts = operand(q, "quantile");
        return wrapped(nd::quantile(operand(a, "quantile"), parts, axis, nd::quantile_method(method), keepdims));
      },
      nb::arg("a").none(), nb::arg("q").none(), nb::arg("axis").none(), nb::arg("method"), nb::arg("keepdims"));
  m.def(
      "histogram",
      [](nb::handle a, nb::handle bins, std::optional<std::pair<double, double>> range, axis_argument axis,
         nb::handle weights) {
        nd::array from = operand(a, "histogram"),
                  weight = weights.is_none() ? nd::array() : operand(weights, "histogram");
        auto [counts, edges] = PyLong_Check(bins.ptr())
                                   ? nd::histogram(from, nb::cast<intptr_t>(bins), range, axis, weight)
                                   : nd::histogram(from, operand(bins, "histogram"), axis, weight);
        return wrapped_pair(counts, edges);
      },
      nb::arg("a").none(), nb::arg("bins"), nb::arg("range").none(), nb::arg("axis").none(), nb::arg("weights").none());
}

} // namespace

void add_order(nb::module_ &m) {
  add_sorts(m);
  add_unique(m);
  add_distribution(m);
}

} // namespace binding

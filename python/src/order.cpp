// Order: what dynd/_order.py calls. Arguments are converted here; what they mean is in dynd/call/order.h
// and distribution.h.
#include "arguments.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dynd/call/distribution.h"
#include "dynd/call/order.h"

namespace binding {

namespace {

using field_names = std::vector<std::string>;

nb::object wrapped_pair(nd::array a, nd::array b) {
  return nb::make_tuple(wrapped(std::move(a)), wrapped(std::move(b)));
}

template <auto function> void add_sort(nb::module_ &m, const char *name) {
  m.def(
      name,
      [name](nb::handle a, nb::handle axis, nb::handle descending, const field_names &by) {
        return wrapped(
            function(operand(a, name), axis_number(name, axis), to_flag(name, "descending", descending), by));
      },
      nb::arg("a").none(), nb::arg("axis").none(), nb::arg("descending").none(), nb::arg("by"));
}

void add_sorts(nb::module_ &m) {
  add_sort<nd::sort>(m, "sort");
  add_sort<nd::argsort>(m, "argsort");
  add_sort<nd::is_sorted>(m, "is_sorted");
  m.def(
      "top_k",
      [](nb::handle a, nb::handle k, nb::handle axis, const field_names &by) {
        return wrapped(nd::top_k(operand(a, "top_k"), to_integer("top_k", "k", k), axis_number("top_k", axis), by));
      },
      nb::arg("a").none(), nb::arg("k").none(), nb::arg("axis").none(), nb::arg("by"));
  m.def(
      "rank",
      [](nb::handle a, nb::handle axis, int equals, nb::handle descending, const field_names &by) {
        return wrapped(nd::rank(operand(a, "rank"), axis_number("rank", axis), nd::rank_of_equals(equals),
                                to_flag("rank", "descending", descending), by));
      },
      nb::arg("a").none(), nb::arg("axis").none(), nb::arg("equals"), nb::arg("descending").none(), nb::arg("by"));
  m.def(
      "searchsorted",
      [](nb::handle a, nb::handle values, nb::handle right) {
        nd::array sorted = operand(a, "searchsorted");
        return wrapped(nd::searchsorted(sorted, to_operand(values.ptr(), &sorted, "searchsorted"),
                                        to_flag("searchsorted", "right", right)));
      },
      nb::arg("a").none(), nb::arg("values").none(), nb::arg("right").none());
}

void add_unique(nb::module_ &m) {
  m.def(
      "unique",
      [](nb::handle a, nb::handle axis) { return wrapped(nd::unique(operand(a, "unique"), to_axis("unique", axis))); },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "unique_counts",
      [](nb::handle a, nb::handle axis) {
        auto [values, counts] = nd::unique_counts(operand(a, "unique_counts"), to_axis("unique_counts", axis));
        return wrapped_pair(values, counts);
      },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "unique_inverse",
      [](nb::handle a, nb::handle axis) {
        auto [values, inverse] = nd::unique_inverse(operand(a, "unique_inverse"), to_axis("unique_inverse", axis));
        return wrapped_pair(values, inverse);
      },
      nb::arg("a").none(), nb::arg("axis").none());
}

void add_distribution(nb::module_ &m) {
  m.def(
      "median",
      [](nb::handle a, nb::handle axis, nb::handle keepdims) {
        return wrapped(
            nd::median(operand(a, "median"), to_axis("median", axis), to_flag("median", "keepdims", keepdims)));
      },
      nb::arg("a").none(), nb::arg("axis").none(), nb::arg("keepdims").none());
  m.def(
      "quantile",
      [](nb::handle a, nb::handle q, nb::handle axis, int method, nb::handle keepdims) {
        nd::array parts = operand(q, "quantile");
        return wrapped(nd::quantile(operand(a, "quantile"), parts, to_axis("quantile", axis),
                                    nd::quantile_method(method), to_flag("quantile", "keepdims", keepdims)));
      },
      nb::arg("a").none(), nb::arg("q").none(), nb::arg("axis").none(), nb::arg("method"), nb::arg("keepdims").none());
  m.def(
      "histogram",
      [](nb::handle a, nb::handle bins, std::optional<std::pair<double, double>> range, nb::handle axis,
         nb::handle weights) {
        nd::array from = operand(a, "histogram"),
                  weight = weights.is_none() ? nd::array() : operand(weights, "histogram");
        auto [counts, edges] =
            PyLong_Check(bins.ptr())
                ? nd::histogram(from, to_integer("histogram", "bins", bins), range, to_axis("histogram", axis), weight)
                : nd::histogram(from, operand(bins, "histogram"), to_axis("histogram", axis), weight);
        return wrapped_pair(counts, edges);
      },
      nb::arg("a").none(), nb::arg("bins").none(), nb::arg("range").none(), nb::arg("axis").none(),
      nb::arg("weights").none());
}

} // namespace

void add_order(nb::module_ &m) {
  add_sorts(m);
  add_unique(m);
  add_distribution(m);
}

} // namespace binding

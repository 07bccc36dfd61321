// Histograms: how many numbers of each row are in each bin.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/call/creation.h"
#include "dynd/call/distribution.h"
#include "dynd/call/innermost_axis.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/missing_rows.h"

namespace dynd::nd {

namespace {

constexpr const char *histogram_name = "histogram";

std::string text_of(double value) { return values_text(array(value)); }

// Numbers of one axis as float64 (or int64, for weights), and whether they are there.
struct number_rows {
  innermost_axis inner;
  array list, numbers;
  presence is_there;
  const char *values;

  number_rows(const array &a, std::optional<int> axis, scalar_id type)
      : inner(histogram_name, a, axis), list(inner.list().eval()),
        numbers(native_list(is_option(list) ? inside_of_options(list) : list, type, false)),
        is_there(presence_of(list)), values(numbers->values().address) {}
  double operator[](int64_t i) const { return reinterpret_cast<const double *>(values)[i]; }

private:
  static bool is_option(const array &a) { return a->type->dtype->kind == type_kind::option; }
};

// The type that they are added up in. Sums of uint64 may be beyond int64.
scalar_id checked_number(const char *what, const array &a) {
  element_kind kind;
  if (!find_element_kind(a->type->dtype, kind) || is_complex(kind.scalar)) {
    fail(error_kind::type, std::string(histogram_name) + ": " + what + " must be real numbers or bools, not " +
                               std::string(a.type().dtype().str()));
  }
  return is_floating(kind.scalar) || kind.scalar == scalar_id::uint64 ? scalar_id::float64 : scalar_id::int64;
}

// The bins, and which one a number is in.
class bin_edges {
public:
  explicit bin_edges(const array &edges) : edges_(edges), at_(values_of<double>(edges)), bins_(edges.size(0) - 1) {
    for (intptr_t i = 0; i <= bins_; i++) {
      if (std::isnan(at_[i]) || (i > 0 && at_[i] < at_[i - 1])) {
        fail(error_kind::value, "histogram: the edges must rise: " + text_of(at_[i]) + " at " + std::to_string(i));
      }
    }
  }
  bin_edges(double first, double last, intptr_t bins)
      : edges_(linspace(first, last, bins + 1)), at_(edges_.data<double>()), bins_(bins), width_(last - first) {}

  const array &edges() const { return edges_; }
  intptr_t bins() const { return bins_; }
  // -1 for none.
  intptr_t find(double x) const {
    if (bins_ == 0 || !(x >= at_[0] && x <= at_[bins_])) {
      return -1;
    }
    if (width_ == 0) {
      return std::min<intptr_t>(std::upper_bound(at_, at_ + bins_ + 1, x) - at_ - 1, bins_ - 1);
    }
    intptr_t bin = std::min(intptr_t((x - at_[0]) / width_ * double(bins_)), bins_ - 1);
    bin -= x < at_[bin]; // the edges are rounded
    return bin + (bin + 1 < bins_ && x >= at_[bin + 1]);
  }

private:
  array edges_;
  const double *at_;
  intptr_t bins_;
  double width_ = 0; // of all bins, where these are equal
};

// Adds the elements begin .. end up, each to its bin.
template <class T>
void add_up(const number_rows &from, const number_rows *weights, const bin_edges &edges, int64_t begin, int64_t end,
            T *to) {
  for (int64_t i = begin; i < end; i++) {
    intptr_t bin = from.is_there(i) ? edges.find(from[i]) : -1;
    if (bin >= 0 && !weights) {
      to[bin] += 1;
    } else if (bin >= 0 && weights->is_there(i)) {
      to[bin] += reinterpret_cast<const T *>(weights->values)[i];
    }
  }
}

// One long row: blocks of it are added up by themselves, then block by block. Where blocks end depends on nothing but
// the number of elements and bins, so the sums do not depend on the threads.
template <class T>
void add_up_long_row(const number_rows &from, const number_rows *weights, const bin_edges &edges, int64_t first,
                     int64_t count, T *to) {
  int64_t size = std::max<int64_t>(8 * work_piece, 16 * edges.bins()), blocks = (count + size - 1) / size;
  array sums = new_list<T>(blocks * edges.bins());
  T *all = values_of<T>(sums);
  std::fill_n(all, blocks * edges.bins(), T(0));
  in_pieces(
      histogram_name, blocks,
      [&](intptr_t begin, intptr_t end) {
        for (intptr_t b = begin; b < end; b++) {
          add_up(from, weights, edges, first + b * size, first + std::min((b + 1) * size, count),
                 all + b * edges.bins());
        }
      },
      size);
  for (int64_t b = 0; b < blocks; b++) {
    for (intptr_t i = 0; i < edges.bins(); i++) {
      to[i] += all[b * edges.bins() + i];
    }
  }
}

template <class T> array counts_of_rows(const number_rows &from, const number_rows *weights, const bin_edges &edges) {
  row_offsets rows = from.inner.rows();
  intptr_t bins = edges.bins(), total = checked_product("histogram", rows.count, bins);
  array counts = new_list<T>(total);
  T *to = values_of<T>(counts);
  std::fill_n(to, total, T(0));
  auto is_long = [&, most = rows.count == 1 ? -1 : 64 * work_piece](intptr_t r) { return rows.length(r) > most; };
  std::atomic<bool> some_long = false;
  for_rows(histogram_name, rows, [&](intptr_t r) {
    if (is_long(r)) {
      some_long.store(true, std::memory_order_relaxed);
    } else {
      add_up(from, weights, edges, rows.at[r], rows.at[r + 1], to + r * bins);
    }
  });
  for (intptr_t r = 0; some_long && r < rows.count; r++) {
    if (is_long(r)) {
      add_up_long_row(from, weights, edges, rows.at[r], rows.length(r), to + r * bins);
    }
  }
  return assemble(from.inner.moved, from.inner.moved.ndim() - 1, {bins}, counts);
}

// Weights in the shape of the array.
array weights_like(const array &a, const array &weights) {
  array whole = one_size_outside(a), both[] = {whole, weights};
  std::vector<array> shaped = broadcast_arrays(both, histogram_name);
  if (shaped[0].ndim() != whole.ndim() || shaped[0].element_count() != whole.element_count()) {
    fail(error_kind::broadcast, "histogram: the weights must have the shape of the array, or broadcast to it");
  }
  if (whole.ndim() > 0) { // rows of one element are as long as their weights now
    int last = whole.ndim() - 1;
    check_outside(histogram_name, {compact(whole, last), compact(shaped[0], last)}, whole.ndim());
  }
  return shaped[1];
}

histogram_counts counted(const array &a, const bin_edges &edges, const number_rows &from, std::optional<int> axis,
                         const array &weights) {
  if (!weights) {
    return {counts_of_rows<int64_t>(from, nullptr, edges), edges.edges()};
  }
  scalar_id type = checked_number("weights", weights);
  number_rows of_weights(weights_like(a, weights), axis, type);
  return {type == scalar_id::float64 ? counts_of_rows<double>(from, &of_weights, edges)
                                     : counts_of_rows<int64_t>(from, &of_weights, edges),
          edges.edges()};
}

// From the smallest to the largest number; from 0 to 1 where there is none.
std::pair<double, double> whole_range(const number_rows &from) {
  double ends[] = {0, 1};
  for (aggregate_id which : {aggregate_id::min, aggregate_id::max}) {
    array found(evaluate(which, from.list.get(), false, {}, {.empty_missing = true}));
    found = array(
        copy_values(found.get(), access_mode::immutable, number_type(scalar_id::float64, true), error_mode::nocheck));
    double &end = ends[which == aggregate_id::max];
    if (*found->streams()[0].address) {
      std::memcpy(&end, found->values().address, sizeof(end));
    }
    if (!std::isfinite(end)) {
      fail(error_kind::value, "histogram: " + text_of(end) + " is in the array: it needs a range");
    }
  }
  return {ends[0], ends[1]};
}

} // namespace

histogram_counts histogram(const array &a, const array &edges, std::optional<int> axis, const array &weights) {
  const array both[] = {a, weights};
  if (has_missing_rows(both)) {
    missing_rows rows(histogram_name, both);
    histogram_counts found = histogram(rows.operand(0), edges, axis, rows.operand(1));
    return {rows.of_axis(found.counts, axis), found.edges};
  }
  checked_number("elements", a);
  checked_number("edges", edges);
  if (edges.ndim() != 1 || edges->type->dtype->kind == type_kind::option || edges.size(0) == 0) {
    fail(error_kind::value, "histogram: the edges must be a list of one or more numbers");
  }
  array list = list_of(compact(edges, 0), 0);
  bin_edges bins(array(copy_values(list.get(), access_mode::immutable, ndt::make_scalar(scalar_id::float64))));
  return counted(a, bins, number_rows(a, axis, scalar_id::float64), axis, weights);
}

histogram_counts histogram(const array &a, intptr_t bins, std::optional<std::pair<double, double>> range,
                           std::optional<int> axis, const array &weights) {
  const array both[] = {a, weights};
  if (has_missing_rows(both)) {
    missing_rows rows(histogram_name, both);
    histogram_counts found = histogram(rows.operand(0), bins, range, axis, rows.operand(1));
    return {rows.of_axis(found.counts, axis), found.edges};
  }
  checked_number("elements", a);
  if (bins < 1) {
    fail(error_kind::value, "histogram: there must be one bin or more, not " + std::to_string(bins));
  }
  checked_product(histogram_name, bins + 1, 1 << 15); // no array has so many edges
  number_rows from(a, axis, scalar_id::float64);
  auto [first, last] = range ? *range : whole_range(from);
  if (!(first <= last && std::isfinite(last - first))) {
    fail(error_kind::value,
         "histogram: a range must rise and be finite, not from " + text_of(first) + " to " + text_of(last));
  }
  if (first == last) {
    first -= 0.5;
    last += 0.5;
  }
  return counted(a, bin_edges(first, last, bins), from, axis, weights);
}

} // namespace dynd::nd

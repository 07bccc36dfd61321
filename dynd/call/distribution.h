// How the numbers of rows are distributed: median, quantiles, histograms. Rows are those of an axis, negative from the
// end, or all elements as one row. What is missing is skipped.
#pragma once

#include <optional>
#include <utility>

#include "dynd/array/array.h"

namespace dynd::nd {

/// How a quantile between two elements is found: NumPy's methods, by its names.
enum class quantile_method {
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  linear,
  median_unbiased,
  normal_unbiased,
  lower,
  higher,
  midpoint,
  nearest
};

/// The middle element of each row, or the mean of the two in the middle. Of floating types the result has the same
/// type, else it is float64; NaN where the row has no elements, or one of them is NaN.
array median(const array &a, std::optional<int> axis = std::nullopt, bool keepdims = false);

/// The element of each row below which the part q of its elements are; q from 0 to 1, one or a list of them, which then
/// is the first axis of the result. The types of results, and NaN, as for the median.
array quantile(const array &a, const array &q, std::optional<int> axis = std::nullopt,
               quantile_method method = quantile_method::linear, bool keepdims = false);

struct histogram_counts {
  array counts; ///< int64 with the bins as the last axis; the sums of weights where there are any,
                ///< float64 of floating types and uint64, else int64
  array edges;  ///< float64, one more than there are bins; the same for all rows
};

/// How many numbers are in each bin, edges[i] <= x < edges[i + 1]; the last bin has its upper edge too. NaN is in none.
/// `weights` have the shape of the array, or one that broadcasts to it.
histogram_counts histogram(const array &a, const array &edges, std::optional<int> axis = std::nullopt,
                           const array &weights = {});
/// The same with so many bins of equal width, from the first to the second of the range, or where there is none from
/// the smallest to the largest element of the whole array.
histogram_counts histogram(const array &a, intptr_t bins, std::optional<std::pair<double, double>> range = std::nullopt,
                           std::optional<int> axis = std::nullopt, const array &weights = {});

} // namespace dynd::nd

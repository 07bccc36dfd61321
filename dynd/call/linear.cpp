#include "dynd/call/linear.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/blas.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/nested.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

namespace {

using axis_list = std::vector<int>;
using size_list = std::vector<intptr_t>;

// The same elements with other sizes and strides, all in bytes of a's memory.
array strided_view(const char *name, const array &a, const size_list &sizes, const size_list &strides) {
  check_ndim(name, int(sizes.size()));
  ndt::type type(a->type->dtype);
  for (size_t d = 0; d < sizes.size(); d++) {
    type = ndt::make_strided_dim(type);
  }
  ref<array_block> view = new_block(type.get(), a->access, a->flags & flag_ours);
  std::copy(sizes.begin(), sizes.end(), view->size());
  std::copy(strides.begin(), strides.end(), view->value_strides());
  view->streams()[0] = shared_stream(*a.get(), 0);
  note_density(*view);
  return array(std::move(view));
}

// An array that strides describe: its values are there, and its elements are numbers of a native type without rows.
array as_strided(const char *name, const array &a) {
  element_kind kind;
  if (a->type->var_count || !find_element_kind(a->type->dtype, kind) || kind.option) {
    fail(error_kind::type, std::string(name) + ": takes strided arrays of numbers, not " + std::string(a.type().str()));
  }
  return kind.swapped ? array(copy_values(a.get(), access_mode::immutable, ndt::make_scalar(kind.scalar))) : a.eval();
}

// The sizes and strides of an array whose groups of neighbouring axes become one axis each. False where the strides of
// a group are not those of one axis.
bool merge_axes(const char *name, const array &from, const std::vector<axis_list> &groups, size_list &sizes,
                size_list &strides) {
  int next = 0;
  bool fits = true;
  for (const axis_list &group : groups) {
    intptr_t size = 1, stride = intptr_t(from->item_size());
    for (int d = next + int(group.size()) - 1; d >= next; d--) {
      if (from.size(d) == 1) {
        continue;
      }
      intptr_t own = from->value_strides()[d];
      fits = fits && (size == 1 || own == stride * size);
      stride = size == 1 ? own : stride;
      if (__builtin_mul_overflow(size, from.size(d), &size)) {
        fail(error_kind::memory, std::string(name) + ": the array is too large");
      }
    }
    next += int(group.size());
    sizes.push_back(size);
    strides.push_back(stride);
  }
  return fits;
}

// The axes of each group become one axis; a view where strides allow it, else a copy.
array merged(const char *name, const array &a, const std::vector<axis_list> &groups) {
  axis_list order;
  for (const axis_list &group : groups) {
    order.insert(order.end(), group.begin(), group.end());
  }
  array from = transposed(a, order);
  size_list sizes, strides;
  if (!merge_axes(name, from, groups, sizes, strides)) {
    from = array(copy_values(from.get(), access_mode::immutable));
    sizes.clear();
    strides.clear();
    merge_axes(name, from, groups, sizes, strides);
  }
  return strided_view(name, from, sizes, strides);
}

// A dense array with other sizes, as many elements.
array reshaped(const char *name, const array &a, const size_list &sizes) {
  array dense = a->flags & flag_dense ? a : array(copy_values(a.get(), access_mode::immutable));
  size_list strides(sizes.size());
  intptr_t stride = intptr_t(dense->item_size());
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strided_view(name, dense, sizes, strides);
}

array with_numbers(const array &a, scalar_id type, bool option) {
  return array(copy_values(a.get(), access_mode::immutable, number_type(type, option)));
}

array product(const array &a, const array &b) {
  element_kind left, right;
  bool numbers = find_element_kind(a->type->dtype, left) && find_element_kind(b->type->dtype, right);
  if (numbers && left.scalar == scalar_id::bool_ && right.scalar != scalar_id::bool_) { // as those on the right are
    return product(with_numbers(a, right.scalar, left.option), b);
  }
  bool half = numbers && promote(left.scalar, right.scalar) == scalar_id::float16;
  const callable &matmul = matmul_kernel(a.ndim() <= 2 && b.ndim() <= 2);
  if (!half) {
    return matmul(a, b);
  }
  array x = with_numbers(a, scalar_id::float32, left.option), y = with_numbers(b, scalar_id::float32, right.option);
  return array(copy_values(matmul(x, y).get(), access_mode::immutable, ndt::make_scalar(scalar_id::float16),
                           error_mode::nocheck));
}

array without_axis(const array &a, bool last) {
  index all, zero, rest;
  all.kind = index::ellipsis;
  zero.kind = index::integer;
  rest.kind = index::slice;
  const index before_last[] = {all, zero, rest};
  return at(a, std::span(before_last, last ? 2 : 3));
}

} // namespace

array matmul(const array &a, const array &b) {
  if (a.ndim() == 0 || b.ndim() == 0) {
    fail(error_kind::type, "matmul: operands have at least one dimension; for numbers use multiply");
  }
  array x = a.ndim() == 1 ? with_unit_axis(a, 0) : a, y = b.ndim() == 1 ? with_unit_axis(b, 1) : b;
  array result = product(x, y);
  if (b.ndim() == 1) {
    result = without_axis(result, true);
  }
  if (a.ndim() == 1) {
    result = without_axis(result, b.ndim() == 1);
  }
  return result;
}

array tensordot(const array &left, const array &right, std::span<const int> a_axes, std::span<const int> b_axes) {
  array a = as_strided("tensordot", left), b = as_strided("tensordot", right);
  if (a_axes.size() != b_axes.size()) {
    fail(error_kind::value,
         "tensordot: " + std::to_string(a_axes.size()) + " axes of a and " + std::to_string(b_axes.size()) + " of b");
  }
  auto others = [](const array &x, const axis_list &summed) {
    axis_list kept;
    for (int d = 0; d < x.ndim(); d++) {
      if (std::find(summed.begin(), summed.end(), d) == summed.end()) {
        kept.push_back(d);
      }
    }
    return kept;
  };
  axis_list a_summed = checked_axes("tensordot", a_axes, a.ndim()), a_kept = others(a, a_summed);
  axis_list b_summed = checked_axes("tensordot", b_axes, b.ndim()), b_kept = others(b, b_summed);
  size_list sizes;
  for (size_t i = 0; i < a_summed.size(); i++) {
    if (a.size(a_summed[i]) != b.size(b_summed[i])) {
      fail(error_kind::broadcast, "tensordot: axis " + std::to_string(a_axes[i]) + " of a has size " +
                                      std::to_string(a.size(a_summed[i])) + ", axis " + std::to_string(b_axes[i]) +
                                      " of b " + std::to_string(b.size(b_summed[i])));
    }
  }
  for (int d : a_kept) {
    sizes.push_back(a.size(d));
  }
  for (int d : b_kept) {
    sizes.push_back(b.size(d));
  }
  const char *name = "tensordot";
  return reshaped(name, product(merged(name, a, {a_kept, a_summed}), merged(name, b, {b_summed, b_kept})), sizes);
}

// ---- einsum ---------------------------------------------------------------------------------------------------------

namespace {

/// An operand with a label for each axis. Letters are themselves; the axes of an ellipsis, from the last on, are -1,
/// -2.
struct labelled {
  array a;
  std::vector<int> labels;

  int axis_of(int label) const {
    auto found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? -1 : int(found - labels.begin());
  }
};

class summation {
public:
  summation(std::string_view text, std::span<const array> operands) : text_(text), operands_(operands) { parse(); }

  array run() {
    for (const array &a : operands_) {
      scalar_id own = as_strided("einsum", a)->scalar();
      common_ = &a == operands_.data() ? own : promote(common_, own);
    }
    labelled all = prepared(0);
    for (size_t i = 1; i < operands_.size(); i++) {
      all = combined(all, prepared(i), i + 1);
    }
    all = without_others(all, {}, operands_.size());
    axis_list order;
    for (int label : output_) {
      order.push_back(all.axis_of(label));
    }
    return transposed(all.a, order);
  }

private:
  [[noreturn]] void refuse(const std::string &why, error_kind kind = error_kind::value) const {
    fail(kind, "einsum: " + why + ": \"" + std::string(text_) + "\"");
  }

  void parse() {
    std::string compact;
    for (char c : text_) {
      if (c != ' ') {
        compact += c;
      }
    }
    size_t arrow = compact.find("->");
    std::vector<std::string> terms(1);
    for (char c : compact.substr(0, arrow)) {
      if (c == ',') {
        terms.emplace_back();
      } else {
        terms.back() += c;
      }
    }
    if (terms.size() != operands_.size()) {
      refuse(std::to_string(operands_.size()) + " operands for the subscripts of " + std::to_string(terms.size()));
    }
    for (size_t i = 0; i < terms.size(); i++) {
      given_.push_back(labels_of(terms[i], operands_[i].ndim()));
      note_sizes(i);
    }
    output_ = arrow == compact.npos ? implicit_output() : explicit_output(compact.substr(arrow + 2));
  }

  // `ndim` is that of the operand; of the result -1: its ellipsis has the axes that any operand's has.
  std::vector<int> labels_of(const std::string &term, int ndim) {
    std::vector<int> labels;
    size_t dots = term.find("...");
    int nletters = int(term.size()) - (dots == term.npos ? 0 : 3);
    int hidden = dots == term.npos ? 0 : ndim < 0 ? nellipsis_ : ndim - nletters;
    if (ndim >= 0 && (hidden < 0 || nletters + hidden != ndim)) {
      refuse("an operand of " + std::to_string(ndim) + " dimensions has the subscripts " + term);
    }
    for (size_t i = 0; i < term.size(); i++) {
      if (i == dots) {
        for (int d = hidden; d > 0; d--) {
          labels.push_back(-d);
        }
        i += 2;
      } else if ((term[i] | 32) < 'a' || (term[i] | 32) > 'z') {
        refuse(std::string("subscripts are letters, not '") + term[i] + "'");
      } else {
        labels.push_back(term[i]);
      }
    }
    nellipsis_ = std::max(nellipsis_, hidden);
    return labels;
  }

  // Of a label in an operand; -1 where it has none.
  intptr_t size_in(size_t operand, int label) const {
    const std::vector<int> &own = given_[operand];
    auto at = std::find(own.begin(), own.end(), label);
    return at == own.end() ? -1 : operands_[operand].size(int(at - own.begin()));
  }

  [[noreturn]] void refuse_sizes(int label, intptr_t a, size_t operand_a, intptr_t b, size_t operand_b) const {
    std::string name = label > 0 ? std::string(1, char(label)) : "a dimension of ...";
    refuse(name + " is " + std::to_string(a) + " in operand " + std::to_string(operand_a) + " and " +
               std::to_string(b) + " in operand " + std::to_string(operand_b),
           error_kind::broadcast);
  }

  // A size of 1 stretches.
  void note_sizes(size_t i) {
    for (size_t d = 0; d < given_[i].size(); d++) {
      intptr_t own = operands_[i]->is_var(int(d)) ? -1 : operands_[i].size(int(d));
      if (own < 0) {
        refuse("takes strided arrays of numbers, not " + std::string(operands_[i].type().str()), error_kind::type);
      }
      auto first = std::find(given_[i].begin(), given_[i].end(), given_[i][d]); // a diagonal has one size
      intptr_t of_first = operands_[i].size(int(first - given_[i].begin()));
      if (own != of_first) {
        refuse_sizes(given_[i][d], of_first, i, own, i);
      }
      auto [known, added] = size_.try_emplace(given_[i][d], own);
      if (!added && known->second != own && known->second != 1 && own != 1) {
        size_t before = 0; // the first operand with that size
        while (size_in(before, known->first) != known->second) {
          before++;
        }
        refuse_sizes(known->first, known->second, before, own, i);
      }
      known->second = known->second == 1 ? own : known->second;
    }
  }

  std::vector<int> implicit_output() const {
    std::map<int, int> count;
    for (const std::vector<int> &labels : given_) {
      for (int label : labels) {
        count[label]++;
      }
    }
    std::vector<int> output;
    for (auto [label, n] : count) { // the ellipsis is first, letters are in order
      if (label < 0 || n == 1) {
        output.push_back(label);
      }
    }
    return output;
  }

  std::vector<int> explicit_output(const std::string &term) {
    std::vector<int> output = labels_of(term, -1);
    for (size_t i = 0; i < output.size(); i++) {
      if (!size_.count(output[i])) {
        refuse(std::string("the result has a label that no operand has: ") + char(output[i]));
      }
      if (std::count(output.begin(), output.end(), output[i]) > 1) {
        refuse(std::string("the result has a label twice: ") + char(output[i]));
      }
    }
    return output;
  }

  // In the type that all have; diagonals taken; axes of size 1 that would stretch are gone.
  labelled prepared(size_t i) const {
    array a = as_strided("einsum", operands_[i]);
    if (a->scalar() != common_) {
      a = array(copy_values(a.get(), access_mode::immutable, ndt::make_scalar(common_), error_mode::nocheck));
    }
    std::vector<int> labels;
    size_list sizes, strides;
    for (size_t d = 0; d < given_[i].size(); d++) {
      int label = given_[i][d];
      intptr_t own = a.size(int(d)), stride = a->value_strides()[d];
      if (own == 1 && size_.at(label) != 1) {
        continue;
      }
      auto known = std::find(labels.begin(), labels.end(), label);
      if (known != labels.end()) {
        strides[size_t(known - labels.begin())] += stride;
        continue;
      }
      labels.push_back(label);
      sizes.push_back(own);
      strides.push_back(stride);
    }
    return {strided_view("einsum", a, sizes, strides), labels};
  }

  // Whether the result or an operand from `next` on has the label.
  bool is_needed(int label, size_t next) const {
    auto has = [&](const std::vector<int> &labels) { return std::count(labels.begin(), labels.end(), label) > 0; };
    return has(output_) || std::any_of(given_.begin() + long(next), given_.end(), has);
  }

  // Summed over the axes whose labels are in nothing else. In the operand's type, as all of einsum is.
  labelled without_others(const labelled &x, const std::vector<int> &other, size_t next) const {
    axis_list summed;
    std::vector<int> kept;
    for (size_t d = 0; d < x.labels.size(); d++) {
      bool needed = is_needed(x.labels[d], next) || std::count(other.begin(), other.end(), x.labels[d]);
      needed ? kept.push_back(x.labels[d]) : summed.push_back(int(d));
    }
    if (summed.empty()) {
      return x;
    }
    array total(evaluate(aggregate_id::sum, x.a.get(), false, reduced_axes(summed.data(), int(summed.size()))));
    ndt::type own(x.a->type->dtype);
    return {array(copy_values(total.get(), access_mode::immutable, own, error_mode::nocheck)), kept};
  }

  // Both have the same labels: a product of matrices would be a call for each element of the result.
  labelled sum_of_products(const labelled &x, const labelled &y, size_t next) const {
    axis_list order;
    for (int label : x.labels) {
      order.push_back(y.axis_of(label));
    }
    array turned = transposed(y.a, order);
    array_block *factors[] = {x.a.get(), turned.get()};
    return without_others({array(evaluate(arithmetic::product, {factors, 2, 2})), x.labels}, {}, next);
  }

  labelled combined(const labelled &left, const labelled &right, size_t next) const {
    labelled x = without_others(left, right.labels, next), y = without_others(right, left.labels, next);
    axis_list x_batch, y_batch, x_summed, y_summed, x_free, y_free;
    std::vector<int> labels;
    size_list sizes;
    auto add = [&](const labelled &from, int axis) {
      labels.push_back(from.labels[size_t(axis)]);
      sizes.push_back(from.a.size(axis));
    };
    for (size_t d = 0; d < x.labels.size(); d++) {
      int other = y.axis_of(x.labels[d]);
      if (other < 0) {
        x_free.push_back(int(d));
      } else if (is_needed(x.labels[d], next)) {
        x_batch.push_back(int(d));
        y_batch.push_back(other);
        add(x, int(d));
      } else {
        x_summed.push_back(int(d));
        y_summed.push_back(other);
      }
    }
    for (int d : x_free) {
      add(x, d);
    }
    for (size_t d = 0; d < y.labels.size(); d++) {
      if (x.axis_of(y.labels[d]) < 0) {
        y_free.push_back(int(d));
        add(y, int(d));
      }
    }
    // Bools have no products of their own, and float16 would be rounded once more: matmul takes them as other numbers.
    bool plain = common_ != scalar_id::bool_ && common_ != scalar_id::float16;
    if (x_free.empty() && y_free.empty() && plain) {
      return sum_of_products(x, y, next);
    }
    std::vector<axis_list> x_groups, y_groups;
    for (size_t i = 0; i < x_batch.size(); i++) {
      x_groups.push_back({x_batch[i]});
      y_groups.push_back({y_batch[i]});
    }
    x_groups.insert(x_groups.end(), {x_free, x_summed});
    y_groups.insert(y_groups.end(), {y_summed, y_free});
    array made = product(merged("einsum", x.a, x_groups), merged("einsum", y.a, y_groups));
    return {reshaped("einsum", made, sizes), labels};
  }

  std::string_view text_;
  std::span<const array> operands_;
  std::vector<std::vector<int>> given_; // the labels of each operand
  std::vector<int> output_;
  std::map<int, intptr_t> size_; // of each label
  int nellipsis_ = 0;
  scalar_id common_ = scalar_id::bool_; // the type of the result
};

} // namespace

array einsum(std::string_view subscripts, std::span<const array> operands) {
  if (operands.empty()) {
    fail(error_kind::type, "einsum: there are no operands");
  }
  return summation(subscripts, operands).run();
}

} // namespace dynd::nd

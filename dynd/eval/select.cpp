#include "dynd/eval/select_parts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dynd/array/view_parts.h"
#include "dynd/base/errors.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/work.h"
#include "dynd/ops/isa.h"

namespace dynd {

namespace {

bool has_rows(const nd::array &a, int first, int last) {
  bool rows = false;
  for (int d = first; d <= last; d++) {
    rows |= a->is_var(d);
  }
  return rows;
}

bool is_ellipsis(const selector &s) { return !s.array && s.plain.kind == nd::index::ellipsis; }

} // namespace

int axes_of(const selector &s) {
  if (!s.array) {
    return s.plain.kind == nd::index::integer || s.plain.kind == nd::index::slice;
  }
  if (s.array.ndim() == 0) {
    fail(error_kind::index,
         "index: an index array needs at least one dimension, not " + std::string(s.array.type().str()));
  }
  return is_mask(s.array->type) || s.array->type->var_count > 0 ? s.array.ndim() : 1;
}

index_expression::index_expression(const nd::array &a, std::span<const selector> selectors) {
  int consumed = 0, ellipses = 0;
  for (const selector &s : selectors) {
    consumed += axes_of(s);
    ellipses += is_ellipsis(s);
  }
  nd::check_index_counts(ellipses, consumed, a.ndim());
  bool ended = false;
  for (const selector &s : selectors) {
    bool in_group = s.array || s.plain.kind == nd::index::integer;
    if (in_group && ended) {
      fail(error_kind::index, "index: index arrays and integers that are separated by a slice, `...` or None; select "
                              "in two steps");
    }
    if (in_group) {
      arrays.push_back(s);
      naxes += axes_of(s);
      continue;
    }
    ended = !arrays.empty();
    int count = is_ellipsis(s) ? a.ndim() - consumed : 1;
    std::vector<nd::index> &part = ended ? after : before;
    part.insert(part.end(), size_t(count), is_ellipsis(s) ? nd::index::whole() : s.plain);
    first_axis += ended || s.plain.kind == nd::index::new_axis ? 0 : count;
  }
}

nd::array index_expression::rest_of(const nd::array &taken, int inside) const {
  if (after.empty()) {
    return taken;
  }
  std::vector<nd::index> indices(size_t(taken.ndim() - inside), nd::index::whole());
  indices.insert(indices.end(), after.begin(), after.end());
  return nd::at(taken, indices);
}

// Elements that are dimensions of numbers with gaps between them (the rows of a transposed array) are packed before
// they are taken, unless only a few are: each is then copied as a whole.
static nd::array packed(const nd::array &list, intptr_t taken) {
  const array_block &block = *list.get();
  if (!block.has_scalars() || block.type->var_count > 0 || block.ndim < 2 || taken < block.size()[0] / 8) {
    return list;
  }
  intptr_t inside = intptr_t(block.item_size());
  bool follow = true;
  for (int d = block.ndim - 1; d > 0; d--) {
    follow &= block.value_strides()[d] == inside;
    inside *= block.size()[d];
  }
  return follow ? list : nd::array(copy_values(list.get(), access_mode::immutable, list.type().dtype()));
}

nd::array selected::take(const char *name) const {
  nd::array list = packed(list_of(base, axis), start.size());
  if (rows_alike > 1) {
    return assemble(like, keep, dims, take_of_each_row(name, list, rows_alike, start));
  }
  list_places places = start;
  return assemble(like, keep, dims,
                  may_be_missing ? gather_or_missing(name, list, places) : gather(name, list, places));
}

namespace {

// ---- masks --------------------------------------------------------------------------------------------------------

[[noreturn]] void fail_mask(const nd::array &a, const nd::array &mask, int axis, int d) {
  fail(error_kind::index, "index: the mask's axis " + std::to_string(d) + " with size " + std::to_string(mask.size(d)) +
                              " does not fit axis " + std::to_string(axis + d) + " with size " +
                              std::to_string(a.size(axis + d)));
}

// A mask has the sizes and row lengths of the array's axes from `axis` on.
void check_mask_sizes(const nd::array &a, const nd::array &mask, int axis) {
  for (int d = 0; d < mask.ndim(); d++) {
    bool rows = a->is_var(axis + d), mask_rows = mask->is_var(d);
    if (!rows && !mask_rows && a.size(axis + d) != mask.size(d)) {
      fail_mask(a, mask, axis, d);
    }
    if (!rows && !mask_rows) {
      continue;
    }
    row_offsets own = rows_at(a, axis + d), other = rows_at(mask, d);
    if (own.at == other.at) {
      continue;
    }
    for (intptr_t r = 0; r < own.count; r++) {
      if (own.length(r) != other.length(r % std::max<intptr_t>(1, other.count))) {
        fail(error_kind::index, "index: " + row_name(a, axis + d, r) + " of the mask has " +
                                    std::to_string(other.length(r % other.count)) + " element(s), that of the array " +
                                    std::to_string(own.length(r)));
      }
    }
  }
}

// A mask as indices: positions along each of its axes.
std::vector<nd::array> as_indices(const nd::array &mask) {
  nd::array whole = compact(mask, mask.ndim() - 1);
  nd::array bytes = mask_list("index", whole, mask.ndim() - 1);
  place_buffer found = mask_bits("index", bytes->values().address, bytes.size(0)).positions("index");
  std::vector<nd::array> along;
  intptr_t below = 1;
  for (int d = mask.ndim() - 1; d >= 0; d--) {
    nd::array one = new_list<int64_t>(found.size());
    in_pieces("index", found.size(), [&, below, to = values_of<int64_t>(one)](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        to[i] = found[i] / below % mask.size(d);
      }
    });
    along.insert(along.begin(), one);
    below *= mask.size(d);
  }
  return along;
}

// ---- integers -----------------------------------------------------------------------------------------------------

// The indices of one axis, broadcast to all that are selected together.
struct axis_index {
  nd::array values; ///< keeps what follows alive
  const int64_t *at;
  const char *there = nullptr; ///< null: none is missing
};

class point_selection {
public:
  point_selection(const nd::array &base, int axis, int shown_axis, std::span<const nd::array> arrays)
      : base_(base), axis_(axis), shown_axis_(shown_axis), arrays_(arrays.begin(), arrays.end()) {}

  point_selection(const nd::array &base, const index_expression &e)
      : base_(base), axis_(e.axis()), shown_axis_(e.first_axis) {
    for (const selector &s : e.arrays) {
      if (!s.array) {
        check_integer(s.plain.at, int(arrays_.size()));
        arrays_.push_back(nd::array(int64_t(s.plain.at)));
      } else if (is_mask(s.array->type)) {
        int first = axis_ + int(arrays_.size());
        check_mask_sizes(compact(base, first + s.array.ndim() - 1), s.array, first);
        std::vector<nd::array> along = as_indices(s.array);
        arrays_.insert(arrays_.end(), along.begin(), along.end());
      } else {
        arrays_.push_back(s.array);
      }
    }
  }

  // `copies`: the elements are copied, and where the places in all rows are those in the first one, these are enough.
  selected run(bool copies) {
    broadcast();
    int last = axis_ + int(arrays_.size()) - 1;
    selected s;
    s.base = compact(base_, last);
    s.axis = last;
    s.like = s.base;
    s.keep = axis_;
    for (int d = 0; d < ndim_; d++) {
      s.dims.push_back(size_[d]);
    }
    for (const axis_index &index : index_) {
      s.may_be_missing |= index.there != nullptr;
    }
    intptr_t outer = axis_ ? list_of(s.base, axis_ - 1).size(0) : 1, count = checked_count(size_, ndim_, 8);
    intptr_t all = checked_product("index", outer, count);
    if (takes_index_itself(s, outer, count)) {
      return s;
    }
    bool repeats = outer > 1 && count > 0 && !has_rows(s.base, axis_, last);
    bool alike = repeats && copies && !s.may_be_missing && are_dense_numbers(list_of(s.base, last));
    s.rows_alike = alike ? outer : 1;
    s.start = place_buffer(alike ? count : all);
    for (size_t k = 0; k < arrays_.size(); k++) {
      step(s, int(k), repeats ? 1 : outer, count);
    }
    if (repeats && !alike) {
      repeat_places(s, outer, count);
    }
    return s;
  }

private:
  // Also where no element is selected; within rows, those are asked that are selected from.
  void check_integer(intptr_t wanted, int k) const {
    if (base_->is_var(axis_ + k)) {
      return;
    }
    intptr_t size = base_.size(axis_ + k);
    if (wanted < -size || wanted >= size) {
      fail(error_kind::index, nd::out_of_bounds_text(wanted, shown_axis_ + k, "", size));
    }
  }

  void broadcast() {
    for (const nd::array &a : arrays_) {
      check_index_type("index", a);
      if (a->type->var_count) {
        fail(error_kind::index, "index: an index with rows of its own cannot be joined with other index arrays");
      }
      ndim_ = std::max(ndim_, a.ndim());
    }
    std::fill_n(size_, ndim_, 1);
    for (const nd::array &a : arrays_) {
      for (int d = 0; d < a.ndim(); d++) {
        intptr_t &size = size_[ndim_ - a.ndim() + d];
        if (size != 1 && a.size(d) != 1 && size != a.size(d)) {
          fail(error_kind::broadcast, "index: index arrays cannot be broadcast together: sizes " +
                                          std::to_string(size) + " and " + std::to_string(a.size(d)));
        }
        size = size == 1 ? a.size(d) : size;
      }
    }
    for (const nd::array &a : arrays_) {
      index_.push_back(stretched(a));
    }
  }

  // One index over the first axis, none of it negative: its numbers are the places.
  bool takes_index_itself(selected &s, intptr_t outer, intptr_t count) {
    const axis_index &index = index_[0];
    bool whole = arrays_.size() == 1 && outer == 1 && axis_ == 0 && !index.there && !s.base->is_var(0);
    if (whole && isa().selections->within(index.at, size_t(count), s.base.size(0))) {
      s.start = place_buffer(index.values);
    }
    return s.start.data() != nullptr;
  }

  // As int64, one for each element of the broadcast shape.
  axis_index stretched(const nd::array &a) {
    element_kind kind;
    find_element_kind(a->type->dtype, kind);
    ndt::type dtype = number_type(scalar_id::int64, kind.option), type = dtype;
    for (int d = 0; d < ndim_; d++) {
      type = ndt::make_strided_dim(type);
    }
    bool whole = a.ndim() == ndim_ && std::equal(size_, size_ + ndim_, a->size());
    uint8_t ours = flag_ours | flag_dense;
    if (whole && a->type->dtype == dtype.get() && (a->flags & ours) == ours) {
      return {a, a.data<int64_t>()};
    }
    nd::array made = index_numbers("index", a, kind.option);
    if (!whole) {
      nd::array numbers = made;
      made = nd::array(new_empty(type.get(), size_));
      assign(made.get(), numbers.get(), unwatched);
    }
    const stream *streams = made->streams();
    return {made, reinterpret_cast<const int64_t *>(streams[made->nstreams - 1].address),
            kind.option ? streams[0].address : nullptr};
  }

  void check_within(const int64_t *index, intptr_t count, int k) const {
    std::for_each_n(index, count, [&](int64_t wanted) { check_integer(wanted, k); });
  }

  // One axis further inside, of one size, where no number is missing so far.
  void step_over_size(selected &s, int k, intptr_t outer, intptr_t count) {
    const int64_t *index = index_[size_t(k)].at;
    const auto size = uint64_t(s.base.size(axis_ + k)); // numbers out of bounds wrap before they are refused
    if (outer == 0) {
      check_within(index, count, k);
    }
    in_pieces("index", outer * count, [=, place = s.start.fill(), this](intptr_t begin, intptr_t end) {
      bool out = false;
      for (intptr_t at = begin, n; at < end; at += n) {
        intptr_t row = at / count, i = at - row * count;
        n = std::min(count - i, end - at);
        for (intptr_t j = 0; j < n; j++) {
          int64_t wanted = index[i + j];
          uint64_t positive = uint64_t(wanted) + (wanted < 0 ? size : 0);
          out |= positive >= size;
          place[at + j] = int64_t(uint64_t(k ? place[at + j] : row) * size + positive);
        }
      }
      if (out) {
        check_within(index, count, k);
        fail(error_kind::index, "index: another thread changed the index meanwhile");
      }
    });
  }

  // One axis further inside: the places so far are rows of it.
  void step(selected &s, int k, intptr_t outer, intptr_t count) {
    int axis = axis_ + k;
    const axis_index &index = index_[size_t(k)];
    bool rows = s.base->is_var(axis);
    auto missing = [](const axis_index &own) { return own.there != nullptr; };
    if (!rows && std::none_of(index_.begin(), index_.begin() + k + 1, missing)) {
      return step_over_size(s, k, outer, count);
    }
    row_offsets offsets = rows ? rows_at(s.base, axis) : row_offsets();
    intptr_t one_size = s.base.size(axis);
    int shown = shown_axis_ + k;
    in_pieces("index", outer * count, [&](intptr_t begin, intptr_t end) {
      intptr_t row = begin / std::max<intptr_t>(1, count), i = begin - row * count;
      for (intptr_t at = begin; at < end; at++) {
        int64_t outside = k ? s.start[at] : row;
        bool there = outside >= 0 && (!index.there || index.there[i]);
        int64_t wanted = index.at[i], place = -1;
        if (there) {
          intptr_t size = rows ? offsets.length(outside) : one_size, positive = wanted < 0 ? wanted + size : wanted;
          if (positive < 0 || positive >= size) {
            fail(error_kind::index,
                 nd::out_of_bounds_text(wanted, shown, rows ? row_name(s.base, axis, outside) : "", size));
          }
          place = (rows ? offsets.at[outside] : outside * one_size) + positive;
        }
        s.start.fill()[at] = place;
        if (++i == count) {
          i = 0;
          row++;
        }
      }
    });
  }

  // Axes of one size each: in every row the places are those in the first one, further on.
  void repeat_places(selected &s, intptr_t outer, intptr_t count) {
    int64_t further = 1;
    for (int axis = axis_; axis <= s.axis; axis++) {
      further *= s.base.size(axis);
    }
    const int64_t *first = s.start.data();
    int64_t *others = s.start.fill() + count;
    in_pieces("index", (outer - 1) * count, [=](intptr_t begin, intptr_t end) {
      intptr_t row = begin / count, i = begin - row * count;
      for (intptr_t at = begin; at < end; row++, i = 0) {
        intptr_t n = std::min(count - i, end - at);
        int64_t on = (row + 1) * further;
        for (intptr_t j = 0; j < n; j++) {
          others[at + j] = first[i + j] < 0 ? -1 : first[i + j] + on;
        }
        at += n;
      }
    });
  }

  nd::array base_;
  int axis_;       ///< of the base: the first that is indexed
  int shown_axis_; ///< the same in the array that was given, for messages
  std::vector<nd::array> arrays_;
  std::vector<axis_index> index_;
  int ndim_ = 0;
  intptr_t size_[max_ndim];
};

// ---- the whole ------------------------------------------------------------------------------------------------------

enum class group_kind { points, flat_mask, row_mask, row_index };

group_kind kind_of_group(const nd::array &base, int axis, const index_expression &e) {
  const nd::array &only = e.arrays[0].array;
  bool one = e.arrays.size() == 1 && only;
  bool rows = false;
  for (const selector &s : e.arrays) {
    rows |= s.array && s.array->type->var_count > 0;
  }
  if (rows && !one) {
    fail(error_kind::index, "index: an index with rows of its own stands alone, beside slices; select in two steps");
  }
  if (one && is_mask(only->type)) {
    rows |= has_rows(base, axis, axis + only.ndim() - 1);
    return rows ? group_kind::row_mask : axis == 0 ? group_kind::flat_mask : group_kind::points;
  }
  if (one && rows) {
    return group_kind::row_index;
  }
  bool on_rows = axis + 1 < base.ndim() ? base->is_var(axis + 1) : has_missing_rows(base->type);
  if (one && only.ndim() >= 2 && on_rows) {
    fail(error_kind::index, "index: an index of " + std::to_string(only.ndim()) +
                                " strided dimensions on an array with ragged rows: use nd.take for rows by their "
                                "number, or nd.take_along_axis for elements within the rows");
  }
  return group_kind::points;
}

// The mask with the array's rows: a flat one is that of every row of its axis.
nd::array mask_of_rows(const nd::array &base, const nd::array &mask, int axis) {
  int last = axis + mask.ndim() - 1;
  nd::array whole = compact(base, last), own = compact(mask, mask.ndim() - 1);
  check_mask_sizes(whole, own, axis);
  if (axis == 0) {
    return own;
  }
  nd::array bytes = mask_list("index", own, mask.ndim() - 1);
  intptr_t count = list_of(whole, last).size(0), size = std::max<intptr_t>(1, bytes.size(0));
  nd::array repeated = new_list<bool>(count);
  in_pieces("index", count, [&, to = values_of<bool>(repeated)](intptr_t begin, intptr_t end) {
    const bool *from = values_of<bool>(bytes);
    for (intptr_t n; begin < end; begin += n) {
      n = std::min(size - begin % size, end - begin);
      std::copy_n(from + begin % size, n, to + begin);
    }
  });
  return assemble(whole, last + 1, {}, repeated);
}

// The index with the array's dimensions outside of the axis: the same for each of its elements.
nd::array index_of_rows(const nd::array &base, const nd::array &index, int axis) {
  if (axis == 0) {
    return index;
  }
  nd::array whole = compact(base, axis - 1), one = nd::with_unit_axis(index, 0);
  place_buffer first(list_of(whole, axis - 1).size(0));
  std::fill_n(first.fill(), first.size(), 0);
  return assemble(whole, axis, {}, gather("index", one, first));
}

selected places_of_rows(const nd::array &base, const nd::array &index, int axis) {
  return places_in_rows("index", base, index_of_rows(base, index, axis), axis + index.ndim() - 1);
}

// The array and the mask down to the last axis of the mask, checked.
struct masked_axes {
  int last;
  nd::array whole, bytes;

  masked_axes(const nd::array &base, const nd::array &mask) : last(mask.ndim() - 1), whole(compact(base, last)) {
    nd::array own = compact(mask, last);
    check_mask_sizes(whole, own, 0);
    bytes = mask_list("index", own, last);
  }
  mask_bits bits() const { return {"index", bytes->values().address, bytes.size(0)}; }
};

} // namespace

nd::array take_selected(const nd::array &base, const index_expression &e) {
  const nd::array &only = e.arrays[0].array;
  switch (kind_of_group(base, e.axis(), e)) {
  case group_kind::flat_mask: {
    masked_axes axes(base, only);
    return gather_masked("index", list_of(axes.whole, axes.last), axes.bits());
  }
  case group_kind::row_mask:
    return filter_rows("index", base, mask_of_rows(base, only, e.axis()), e.axis() + only.ndim() - 1);
  case group_kind::row_index:
    return places_of_rows(base, only, e.axis()).take("index");
  default:
    return point_selection(base, e).run(true).take("index");
  }
}

selected find_selected(const nd::array &base, const index_expression &e, bool alike) {
  const nd::array &only = e.arrays[0].array;
  selected s;
  switch (kind_of_group(base, e.axis(), e)) {
  case group_kind::flat_mask: {
    masked_axes axes(base, only);
    s.base = s.like = axes.whole;
    s.axis = axes.last;
    s.start = axes.bits().positions("index");
    s.dims.push_back(s.start.size());
    return s;
  }
  case group_kind::row_mask: {
    masked_axes axes(base, mask_of_rows(base, only, e.axis()));
    s.base = s.like = axes.whole;
    s.axis = axes.last;
    s.keep = axes.last;
    mask_bits bits = axes.bits();
    s.start = bits.positions("index");
    s.dims.push_back(bits.rows("index", rows_at(s.base, s.axis)));
    return s;
  }
  case group_kind::row_index:
    return places_of_rows(base, only, e.axis());
  default:
    return point_selection(base, e).run(alike);
  }
}

nd::array select_points(const char *name, const nd::array &a, int axis, std::span<const nd::array> indices) {
  return point_selection(a, axis, axis, indices).run(true).take(name);
}

namespace {

// The integer inside of rows that have no rows inside, and how many axes the result has before it; -1: there is none.
struct inner_integer {
  intptr_t number = -1;
  int axes = 0;
};

inner_integer find_inner_integer(const nd::array &a, std::span<const selector> selectors) {
  auto takes = [](const selector &s) { return s.plain.kind == nd::index::integer || s.plain.kind == nd::index::slice; };
  auto taken = int(std::count_if(selectors.begin(), selectors.end(), takes));
  inner_integer found;
  int axis = 0;
  bool outside = false; // an axis of the array stays before this one
  for (size_t k = 0; k < selectors.size() && axis < a.ndim(); k++) {
    nd::index::kind_t kind = selectors[k].plain.kind;
    if (kind == nd::index::integer && outside && a->is_var(axis) && !has_rows(a, axis + 1, a.ndim() - 1)) {
      found.number = intptr_t(k);
      return found;
    }
    int passed = kind == nd::index::ellipsis ? std::max(a.ndim() - taken, 0) : kind != nd::index::new_axis;
    axis += passed;
    found.axes += kind == nd::index::integer ? 0 : kind == nd::index::new_axis ? 1 : passed;
    outside |= kind != nd::index::integer && passed > 0;
  }
  return found;
}

// a[:, i] where elements are no numbers: a[:, [i]], whose axis of one element goes.
nd::array select_inside(const nd::array &a, std::span<const selector> selectors, inner_integer which) {
  if (selectors[0].plain.kind == nd::index::integer) {
    return select(nd::at(a, selectors[0].plain.at), selectors.subspan(1));
  }
  size_t number = size_t(which.number), axes = size_t(which.axes);
  std::vector<selector> first(selectors.begin(), selectors.begin() + which.number + 1);
  first.back().array = nd::array{int64_t(first.back().plain.at)};
  std::vector<selector> rest(axes, selector{nd::index::whole(), {}});
  rest.push_back({nd::index::number(0), {}});
  rest.insert(rest.end(), selectors.begin() + intptr_t(number) + 1, selectors.end());
  return select(select(a, first), rest);
}

} // namespace

bool selects_in_one_row(const nd::array &a, std::span<const selector> selectors) {
  auto is_integer = [](const selector &s) { return !s.array && s.plain.kind == nd::index::integer; };
  auto first = std::find_if_not(selectors.begin(), selectors.end(), is_integer);
  return a->type->var_count > 0 && first != selectors.begin() && first != selectors.end() && first->array &&
         (is_mask(first->array->type) || first->array->type->var_count > 0);
}

nd::array select(const nd::array &a, std::span<const selector> selectors) {
  if (nd::array taken = direct_points(a, selectors)) {
    return taken;
  }
  if (selects_in_missing_rows(a, selectors)) {
    return select_in_missing_rows(a, selectors);
  }
  if (selects_in_one_row(a, selectors)) {
    return select(nd::at(a, selectors[0].plain.at), selectors.subspan(1));
  }
  bool arrays = std::any_of(selectors.begin(), selectors.end(), [](const selector &s) { return bool(s.array); });
  if (!arrays) {
    bool numbers = a->has_scalars() || a->type->var_count == 0;
    inner_integer inside = numbers ? inner_integer() : find_inner_integer(a, selectors);
    bool ellipsis = std::any_of(selectors.begin(), selectors.end(),
                                [](const selector &s) { return s.plain.kind == nd::index::ellipsis; });
    bool is_last = inside.number + 1 == intptr_t(selectors.size());
    if (inside.number >= 0 && (is_last || !ellipsis)) { // an ellipsis stands for what the rest leaves
      return select_inside(a, selectors, inside);
    }
    std::vector<nd::index> plain;
    for (const selector &s : selectors) {
      plain.push_back(s.plain);
    }
    return nd::at(a, plain);
  }
  index_expression e(a, selectors);
  nd::array base = e.base(a);
  return e.rest_of(take_selected(base, e), base.ndim() - e.axis() - e.naxes);
}

} // namespace dynd

// Assignment through a selection: the selected elements as a view, each a row of one element, and then any assignment.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/select_parts.h"
#include "dynd/eval/space.h"
#include "dynd/eval/work.h"

namespace dynd {

namespace {

// Of equal places all but the last get rows without elements: nothing is assigned to them, on any thread.
ref<buffer> rows_of_one(const place_buffer &start, intptr_t size, bool may_repeat) {
  intptr_t count = start.size();
  ref<buffer> memory = allocate_buffer(size_t(checked_count(&count, 1, sizeof(row_extent))) * sizeof(row_extent));
  auto *rows = reinterpret_cast<row_extent *>(memory->data);
  std::vector<bool> seen(may_repeat ? size_t(size) : 0);
  in_order("assign", count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t done = begin; done < end; done++) {
      intptr_t i = count - 1 - done;
      rows[i] = {start[i], may_repeat && seen[size_t(start[i])] ? 0 : 1};
      if (may_repeat) {
        seen[size_t(start[i])] = true;
      }
    }
  });
  return memory;
}

// Rows that do not follow each other: the places are those in their content.
bool find_in_content(const nd::array &base, int axis, place_buffer &start, nd::array &list) {
  place_buffer places;
  if (!list_of_content(base, axis, list, places)) {
    return false;
  }
  place_buffer moved(start.size());
  in_pieces("assign", start.size(), [&, to = moved.fill()](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = places[start[i]];
    }
  });
  start = moved;
  return true;
}

// As check_sizes, with the shape of what was selected: that of the target without its rows of one element.
void check_selected_sizes(const nd::array &target, int row_axis, const nd::array &value) {
  std::vector<intptr_t> sizes(target->size(), target->size() + target.ndim());
  sizes.erase(sizes.begin() + row_axis);
  bool fits = value.ndim() <= int(sizes.size());
  for (int d = 0; d < value.ndim() && fits; d++) {
    intptr_t to = sizes[sizes.size() - size_t(value.ndim() - d)], own = value->size()[d];
    fits = own < 0 || to < 0 || own == 1 || own == to;
  }
  if (!fits) {
    std::string text;
    for (intptr_t size : sizes) {
      text += (text.empty() ? "" : ", ") + (size < 0 ? "var" : std::to_string(size));
    }
    fail(error_kind::broadcast,
         "assign: cannot broadcast " + space_text(value.get()) + " to (" + text + (sizes.size() == 1 ? ",)" : ")"));
  }
}

// Numbers, which may be missing, and structs of these: every stream has one item for each.
bool has_only_items(const type_data *dtype) {
  bool items = true;
  for (int s = 0; s < dtype->nstreams; s++) {
    items &= dtype->roles[s] == stream_role::values || dtype->roles[s] == stream_role::valid;
  }
  return items && dtype->all_ndim == 0;
}

// The bytes of an element of a list, which has dimensions of one size, in a stream; -1 where they have gaps.
intptr_t bytes_of_element(const nd::array &list, int stream) {
  intptr_t bytes = intptr_t(stream_item(*list.get(), stream));
  for (int d = list.ndim() - 1; d > 0; d--) {
    if (list.size(d) > 1 && list->strides(stream)[d] != bytes) {
      return -1;
    }
    bytes *= list.size(d);
  }
  return bytes;
}

// The value as elements of the list, without gaps: one for all places, or, with one more dimension, one for each; null
// where it has to be broadcast otherwise, or is refused.
nd::array as_elements(const nd::array &list, const nd::array &value, intptr_t places) {
  int inside = list.ndim() - 1, outside = value.ndim() - inside;
  bool fits = outside <= 0 || (outside == 1 && value.size(0) == places);
  bool same = outside >= 0;
  for (int d = 0; d < value.ndim() && fits; d++) {
    int to = d + 1 - outside; // of the list
    fits = !value->is_var(d) && (to == 0 || value.size(d) == list.size(to) || (outside <= 0 && value.size(d) == 1));
    same &= to == 0 || value.size(d) == list.size(to);
  }
  if (!fits) {
    return {};
  }
  if (same) {
    return nd::array(copy_values(value.get(), access_mode::immutable, list.type().dtype()));
  }
  nd::array one = nd::empty(list.type().element(), list->size() + 1);
  assign(one.get(), value.get(), unwatched);
  return one;
}

// Copies the value, or one for each place, to the places, where nothing has to be broadcast otherwise; false: nothing
// was done. The places are in their order, unless none is there twice.
bool scatter(const nd::array &list, const selected &s, const nd::array &value, bool may_repeat, const settings &how) {
  const type_data *dtype = list->type->dtype;
  bool flat = s.keep == 0 && s.dims.size() == 1; // one value for each place has one order
  bool packed = list->type->var_count == 0 && has_only_items(dtype) && (flat || value.ndim() < list.ndim());
  intptr_t bytes[max_type_streams], most = 1;
  for (int k = 0; k < dtype->nstreams && packed; k++) {
    bytes[k] = bytes_of_element(list, k);
    packed &= bytes[k] > 0;
    most = std::max(most, bytes[k] / intptr_t(max_scalar_size));
  }
  nd::array source = packed && !how.watching ? as_elements(list, value, s.start.size()) : nd::array();
  if (!source) {
    return false;
  }
  bool one = source.ndim() < list.ndim();
  auto copy = [&](intptr_t begin, intptr_t end) { // all streams of an element: it is written as a whole
    for (int k = 0; k < dtype->nstreams; k++) {
      char *to = list->streams()[k].address;
      const char *from = source->streams()[k].address;
      intptr_t stride = list->strides(k)[0], step = one ? 0 : bytes[k];
      with_item(size_t(bytes[k]), [&](auto size) {
        for (intptr_t i = begin; i < end; i++) {
          std::memcpy(to + s.start[i] * stride, from + i * step, size);
        }
      });
    }
  };
  may_repeat ? in_order("assign", s.start.size(), copy, most) : in_pieces("assign", s.start.size(), copy, most);
  return true;
}

// One number goes to the same places of all rows.
void fill_places_of_rows(const nd::array &list, const selected &s, const nd::array &value) {
  nd::array source(copy_values(value.get(), access_mode::immutable, list.type().element()));
  intptr_t row = list.size(0) / s.rows_alike * intptr_t(list->item_size()), count = s.start.size();
  with_word(list->item_size(), [&](auto word) {
    std::memcpy(&word, source->values().address, sizeof(word));
    auto fill = [&, word](intptr_t begin, intptr_t end) {
      for (intptr_t done = begin; done < end;) {
        intptr_t r = done / count, first = done - r * count, past = std::min(count, first + end - done);
        char *to = list->values().address + r * row;
        for (intptr_t i = first; i < past; i++) {
          std::memcpy(to + s.start[i] * intptr_t(sizeof(word)), &word, sizeof(word));
        }
        done += past - first;
      }
    };
    in_pieces("assign", s.rows_alike * count, fill);
  });
}

// Integers, and one mask beside them: no place is there twice. An index array may repeat the mask's places.
bool selects_by_mask(const index_expression &e) {
  auto is_array = [](const selector &s) { return bool(s.array); };
  auto found = std::find_if(e.arrays.begin(), e.arrays.end(), is_array);
  return found == e.arrays.end() ||
         (std::none_of(found + 1, e.arrays.end(), is_array) && found->array->type->dtype->scalar == scalar_id::bool_);
}

void assign_in_copy(const nd::array &base, const index_expression &e, const nd::array &value, const settings &how);

void assign_to_base(const nd::array &base, const index_expression &e, const nd::array &value, const settings &how) {
  bool to_rows = value.ndim() == 0 && is_compact(base, base.ndim() - 1) && !how.watching;
  selected s = find_selected(base, e, to_rows);
  if (s.may_be_missing) {
    fail(error_kind::index, "assign: an index with missing values has no elements to assign to");
  }
  nd::array list;
  if (is_compact(base, s.axis)) {
    list = list_of(base, s.axis);
  } else if (!find_in_content(base, s.axis, s.start, list)) {
    return assign_in_copy(base, e, value, how);
  }
  if (s.rows_alike > 1) {
    return fill_places_of_rows(list, s, value);
  }
  bool may_repeat = !selects_by_mask(e);
  if (e.after.empty() && scatter(list, s, value, may_repeat, how)) {
    return;
  }
  intptr_t count = s.start.size();
  nd::array rows = rows_over(list, rows_of_one(s.start, list.size(0), may_repeat), count);
  nd::array target = assemble(s.like, s.keep, s.dims, rows);
  int inside = base.ndim() - s.axis - 1;
  target = e.rest_of(target, inside);
  inside = target.ndim() - s.keep - int(s.dims.size()) - 1;
  check_selected_sizes(target, s.keep + int(s.dims.size()), value);
  assign(target.get(), with_row_axis(value, inside).get(), how);
}

// Elements that no list shows: a copy is assigned to, and then everything.
void assign_in_copy(const nd::array &base, const index_expression &e, const nd::array &value, const settings &how) {
  nd::array copy(copy_values(base.get(), access_mode::readwrite));
  if (!is_compact(copy, base.ndim() - 1)) {
    refuse_view(base);
  }
  assign_to_base(copy, e, value, unwatched);
  assign(base.get(), copy.get(), how);
}

} // namespace

void refuse_view(const nd::array &view) {
  fail(error_kind::type, "assign: no selection of such a view can be assigned to: " + std::string(view.type().str()));
}

void assign_selected(const nd::array &a, std::span<const selector> selectors, const nd::array &value) {
  assign_to_selected(a, selectors, value, thread_settings());
}

void assign_to_selected(const nd::array &a, std::span<const selector> selectors, const nd::array &value,
                        const settings &how) {
  check_writable(*a.get());
  if (selects_in_missing_rows(a, selectors)) {
    return assign_in_missing_rows(a, selectors, value, how);
  }
  bool arrays = std::any_of(selectors.begin(), selectors.end(), [](const selector &s) { return bool(s.array); });
  bool outside = !arrays && selectors[0].plain.kind == nd::index::integer;
  if (outside || selects_in_one_row(a, selectors)) { // an integer outside of all rows is a view
    return assign_to_selected(nd::at(a, selectors[0].plain.at), selectors.subspan(1), value, how);
  }
  index_expression e(a, selectors);
  nd::array base = one_size_outside(e.base(a));
  if (base->access != access_mode::readwrite) {
    fail(error_kind::type, "assign: one element of every row is a copy; assign to a slice, a[:, i:i + 1]");
  }
  assign_to_base(base, e, value, how);
}

} // namespace dynd

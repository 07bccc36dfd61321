// Selections within rows: by a mask that has the array's rows, and by an index that is lined up with them.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/select_parts.h"
#include "dynd/eval/work.h"

namespace dynd {

std::string row_name(const nd::array &a, int axis, intptr_t row) {
  intptr_t index[max_ndim];
  for (int d = axis - 1; d >= 0; d--) {
    if (a->is_var(d)) {
      row_offsets rows = rows_at(a, d);
      intptr_t outer = std::upper_bound(rows.at, rows.at + rows.count + 1, row) - rows.at - 1;
      index[d] = row - rows.at[outer];
      row = outer;
    } else {
      index[d] = a.size(d) ? row % a.size(d) : 0;
      row = a.size(d) ? row / a.size(d) : 0;
    }
  }
  return row_text({index, size_t(axis)});
}

nd::array mask_list(const char *name, const nd::array &mask, int axis) {
  if (!is_mask(mask->type)) {
    fail(error_kind::type, std::string(name) + ": a mask must be of bool, not " + std::string(mask.type().str()));
  }
  bool option = mask->type->dtype->kind == type_kind::option;
  nd::array list = list_of(mask, axis);
  if (!option) {
    return native_list(list, scalar_id::bool_);
  }
  intptr_t count = list.size(0);
  nd::array bytes = new_list<bool>(count);
  char *to = bytes->values().address;
  const char *valid = list->streams()[0].address, *from = list->streams()[1].address;
  intptr_t valid_stride = list->strides(0)[0], stride = list->strides(1)[0];
  in_pieces(name, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) { // without a branch, which the CPU could not foresee
      to[i] = char((from[i * stride] != 0) & (valid[i * valid_stride] != 0));
    }
  });
  return bytes;
}

nd::array filter_rows(const char *name, const nd::array &a, const nd::array &mask, int axis) {
  nd::array whole = compact(a, axis), bytes = mask_list(name, compact(mask, axis), axis);
  mask_bits bits(name, bytes->values().address, bytes.size(0));
  nd::array taken = gather_masked(name, list_of(whole, axis), bits);
  return axis == 0 ? taken : assemble(whole, axis, {bits.rows(name, rows_at(whole, axis))}, taken);
}

// ---- an index that is lined up with the rows ------------------------------------------------------------------------

bool check_index_type(const char *name, const nd::array &index) {
  element_kind kind;
  if (!find_element_kind(index->type->dtype, kind) || !is_integer(kind.scalar)) {
    fail(error_kind::type, std::string(name) + ": an index array must be of integers, or of bool as a mask, not " +
                               std::string(index.type().str()));
  }
  return kind.option;
}

nd::array index_numbers(const char *name, const nd::array &index, bool option) {
  try {
    return nd::array(copy_values(index.get(), access_mode::immutable, number_type(scalar_id::int64, option)));
  } catch (const error &e) {
    if (e.kind() == error_kind::overflow) {
      fail(error_kind::index, std::string(name) + ": an index is out of bounds: " + e.what());
    }
    throw;
  }
}

namespace {

// The elements of an index as a list of int64; `there` is null where none can be missing.
struct index_list {
  nd::array values; ///< keeps what follows alive
  const int64_t *at;
  const char *there = nullptr;

  index_list(const char *name, const nd::array &index, int axis) {
    bool option = check_index_type(name, index);
    values = list_of(compact(index_numbers(name, index, option), axis), axis);
    at = reinterpret_cast<const int64_t *>(values->streams()[values->nstreams - 1].address);
    there = option ? values->streams()[0].address : nullptr;
  }
};

// The index has as many rows as the array, in the same dimensions.
void check_rows_of(const char *name, const nd::array &a, const nd::array &index, int axis) {
  for (int d = 0; d < axis; d++) {
    if (!a->is_var(d) && !index->is_var(d) && a.size(d) != index.size(d)) {
      fail(error_kind::index, std::string(name) + ": the index has size " + std::to_string(index.size(d)) +
                                  " along axis " + std::to_string(d) + ", the array " + std::to_string(a.size(d)));
    }
    if (a->is_var(d) || index->is_var(d)) {
      row_offsets own = rows_at(a, d), other = rows_at(index, d);
      for (intptr_t r = 0; r < own.count && own.at != other.at; r++) {
        if (own.length(r) != other.length(r)) {
          fail(error_kind::index, std::string(name) + ": " + row_name(a, d, r) + " of the index has " +
                                      std::to_string(other.length(r)) + " element(s), that of the array " +
                                      std::to_string(own.length(r)));
        }
      }
    }
  }
}

} // namespace

selected places_in_rows(const char *name, const nd::array &a, const nd::array &index, int axis) {
  selected s;
  nd::array whole = s.base = compact(a, axis), lined = s.like = compact(index, axis);
  s.axis = axis;
  s.keep = axis + 1;
  check_rows_of(name, whole, lined, axis);
  index_list list(name, lined, axis);
  row_offsets from = rows_at(whole, axis), to = rows_at(lined, axis);
  s.start = place_buffer(to.total());
  s.may_be_missing = list.there != nullptr;
  for_parts_of_rows(name, to, [&](intptr_t r, int64_t begin, int64_t end) {
    int64_t first = from.at[r], size = from.length(r);
    for (int64_t i = begin; i < end; i++) {
      int64_t at = list.at[i], positive = at < 0 ? at + size : at;
      bool there = !list.there || list.there[i];
      if (there && (positive < 0 || positive >= size)) {
        std::string row = axis > 0 ? row_name(whole, axis, r) : "";
        fail(error_kind::index, std::string(name) + ": " + nd::out_of_bounds_text(at, axis, row, size));
      }
      s.start.fill()[i] = there ? first + positive : -1;
    }
  });
  return s;
}

nd::array select_in_rows(const char *name, const nd::array &a, const nd::array &index, int axis) {
  return places_in_rows(name, a, index, axis).take(name);
}

} // namespace dynd

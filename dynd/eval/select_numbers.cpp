// Selections of numbers that need no general gather: a few of one axis, and the same places of many rows.
#include <cstring>

#include "dynd/array/layout.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/select_parts.h"

namespace dynd {

namespace {

template <class Index> bool copy_points(const array_block &from, const array_block &index, array_block &to) {
  return with_word(from.item_size(), [&](auto word) {
    using T = decltype(word);
    const char *numbers = index.values().address, *values = from.values().address;
    const intptr_t stride = from.value_strides()[0];
    for (intptr_t i = 0; i < index.count; i++) {
      Index number;
      std::memcpy(&number, numbers + i * intptr_t(sizeof(Index)), sizeof(Index));
      intptr_t place = number < 0 ? intptr_t(number) + from.count : intptr_t(number);
      if (place < 0 || place >= from.count) {
        return false;
      }
      std::memcpy(to.values().address + i * intptr_t(sizeof(T)), values + place * stride, sizeof(T));
    }
    return true;
  });
}

} // namespace

nd::array direct_points(const nd::array &a, std::span<const selector> selectors) {
  constexpr intptr_t most = 512; // beyond it, what this saves is not seen
  if (selectors.size() != 1 || !selectors[0].array || !direct_enabled.load(std::memory_order_relaxed)) {
    return {};
  }
  const nd::array &index = selectors[0].array;
  auto is_list = [](const nd::array &x) { return x.ndim() == 1 && x->has_scalars() && x->is_ready() && x->count >= 0; };
  if (!is_list(a) || !is_list(index) || !(index->flags & flag_dense) || (a->flags & flag_numbers) ||
      index->count > most || a->type->kind != type_kind::strided_dim) {
    return {};
  }
  auto *copy = index->scalar() == scalar_id::int64   ? copy_points<int64_t>
               : index->scalar() == scalar_id::int32 ? copy_points<int32_t>
                                                     : nullptr;
  nd::array taken(copy ? new_dense(a->type, index->size()) : ref<array_block>());
  return copy && copy(*a.get(), *index.get(), *taken.get()) ? taken : nd::array();
}

bool are_dense_numbers(const nd::array &list) {
  return list->has_scalars() && list.ndim() == 1 && list->value_strides()[0] == intptr_t(list->item_size());
}

nd::array take_of_each_row(const char *name, const nd::array &list, intptr_t rows, const place_buffer &places) {
  intptr_t count = places.size(), size = list.size(0) / rows;
  nd::array result = new_list(list.type().element(), rows * count);
  with_word(list->item_size(), [&](auto word) {
    constexpr intptr_t item = sizeof(word); // at any address: NumPy has such arrays
    const char *from = list->values().address;
    char *to = result->values().address;
    in_pieces(name, rows * count, [=, place = places.data()](intptr_t begin, intptr_t end) {
      intptr_t first = begin / count, i = begin - first * count; // few places: a division for each row would be seen
      const char *row = from + first * size * item;
      for (intptr_t at = begin; at < end; row += size * item, i = 0) {
        for (intptr_t last = std::min(count, i + end - at); i < last; i++, at++) {
          std::memcpy(to + at * item, row + place[i] * item, item);
        }
      }
    });
  });
  return result;
}

} // namespace dynd

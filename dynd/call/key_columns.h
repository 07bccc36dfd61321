// Columns of keys, one value for each element: numbers, texts or bytes, with what is missing marked. Private to
// dynd/call/.
#pragma once

#include <span>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/call/slot_table.h"
#include "dynd/call/sort_keys.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// Elements of a list that count: those that are marked, or without marks all.
struct marked_list {
  array list;
  array marks; ///< bools, or null

  presence counts() const {
    return marks ? presence{marks->values().address, marks->value_strides()[0]} : presence{};
  }
  /// Of a list of options: what is inside of them, those that are not missing and counted before.
  marked_list inside(const char *name) const;
};

/// A list of numbers or texts that nothing else writes, numbers in a native type and one after another.
array own_keys(const char *name, const array &list);

/// Reads texts as keys. What is behind a text in memory is read too, as far as texts are known to reach.
class text_reader {
public:
  explicit text_reader(const array &list);

  text_key operator()(intptr_t i) const {
    row_extent row = read_slot(slots_ + i * stride_, kind_);
    const char *data = content_ + row.start;
    text_key key = {0, data, row.size, i};
    if (row.size <= 0) {
      key.size = 0;
    } else if (limit_ - data >= 8) {
      std::memcpy(&key.word, data, 8);
      key.word &= row.size < 8 ? (uint64_t(1) << (8 * row.size)) - 1 : ~uint64_t(0);
    } else {
      std::memcpy(&key.word, data, size_t(row.size < 8 ? row.size : 8));
    }
    return key;
  }

private:
  const char *slots_, *content_, *limit_;
  intptr_t stride_;
  slot_kind kind_;
};

inline bool has_texts(const array &list) {
  type_kind kind = list->type->dtype->kind;
  return kind == type_kind::string || kind == type_kind::bytes;
}

/// Calls f with what reads the keys of a list from `own_keys`.
template <class F> auto with_keys(const array &list, F f) {
  if (has_texts(list)) {
    return f(text_reader(list));
  }
  return with_code(list->scalar(), [&](auto code) {
    using bits = typename decltype(code)::bits;
    return f([from = list->values().address](intptr_t i) {
      bits value;
      std::memcpy(&value, from + i * intptr_t(sizeof(bits)), sizeof(bits));
      return number_key{decltype(code)::key(value, false, true)};
    });
  });
}

} // namespace dynd::nd

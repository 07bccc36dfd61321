// What elements are ordered by: for each number, text or field a key of 64 bits. Private to dynd/call/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynd/call/list_texts.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// How elements are ordered.
struct ordering {
  bool descending = false;
  bool one_zero = false;            ///< -0.0 and 0.0 are equal
  std::vector<std::string> by = {}; ///< of structs: names of fields, "-x" for the reverse order; none are all fields
};

/// Numbers and texts that can be ordered: real numbers, bools, texts, bytes, or options of them.
struct ordered_kind {
  bool option = false, swapped = false;
  std::optional<scalar_id> number; ///< else text or bytes

  /// Of an array's elements; others are a type error.
  ordered_kind(const char *name, const array &a);
};

/// The struct or tuple that elements are, which may be missing; null where they are something else.
const type_data *record_type_of(const type_data *type);

/// A type error where the elements have no order: what is in ordered_kind has one, and structs and tuples of it, or
/// options of these.
void check_order(const char *name, const array &a, const std::vector<std::string> &by = {});

/// One key for each element of a list. Of a number it says all; of a text it is the beginning.
class key_column {
public:
  key_column(const char *name, const array &list, bool descending, bool one_zero);

  bool may_be_missing() const { return bool(is_there_); }
  bool is_missing(int64_t i) const { return !is_there_(i); }
  bool has_texts() const { return bool(texts_); }
  uint64_t key(int64_t i) const { return uint64_t(keys_[i]); }
  std::string_view text(int64_t i) const { return texts_[i]; }
  /// What the key is of a text that begins with its byte `from`: eight bytes, 0 after its end.
  uint64_t key_from(std::string_view text, size_t from) const {
    text.remove_prefix(std::min(from, text.size()));
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), std::min<size_t>(text.size(), 8));
    bytes = __builtin_bswap64(bytes);
    return descending_ ? ~bytes : bytes;
  }

  /// Less than 0, 0 or more, as element i of one list is before, equal to or after element j of the other.
  static int compare(const key_column &a, int64_t i, const key_column &b, int64_t j);
  /// The same for equal keys of elements that are not missing.
  static int compare_texts(const key_column &a, int64_t i, const key_column &b, int64_t j);

private:
  void read_numbers(const char *name, const array &numbers, scalar_id scalar, bool one_zero);
  void read_texts(const char *name);

  array list_;
  list_texts texts_; // none of numbers
  place_buffer keys_;
  presence is_there_;
  bool descending_ = false;
};

/// The keys of a list's elements: one column, or for structs one for each field that they are ordered by. Structs
/// that may be missing have one more before these.
class order_keys {
public:
  order_keys(const char *name, const array &list, const ordering &order = {});

  const std::vector<key_column> &columns() const { return columns_; }
  static int compare(const order_keys &a, int64_t i, const order_keys &b, int64_t j);

private:
  void add(const char *name, const array &list, bool descending, const ordering &order);
  void add_presence(const char *name, const array &structs);

  std::vector<key_column> columns_;
};

} // namespace dynd::nd

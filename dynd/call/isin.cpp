// isin: a set of the values, and a look-up for each element.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/call/list_texts.h"
#include "dynd/call/selection.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"

namespace dynd::nd {

namespace {

// A number as 128 bits, the same for equal numbers of a type.
struct number_key {
  uint64_t bits[2];
  bool operator==(const number_key &other) const = default;
};

// Numbers in a table with room for twice as many; a place that is free is marked beside it.
class number_set {
public:
  explicit number_set(const std::vector<number_key> &values) {
    size_t size = 8;
    while (size < 2 * values.size()) {
      size *= 2;
    }
    keys_.resize(size);
    used_.resize(size);
    for (const number_key &key : values) {
      size_t at = find(key);
      keys_[at] = key;
      used_[at] = 1;
    }
  }
  bool contains(const number_key &key) const { return used_[find(key)]; }

private:
  size_t find(const number_key &key) const {
    uint64_t hash = (key.bits[0] + 0x9e3779b97f4a7c15 * (key.bits[1] + 1)) * 0xd6e8feb86659fd93;
    size_t at = (hash ^ hash >> 32) & (keys_.size() - 1);
    while (used_[at] && keys_[at] != key) {
      at = (at + 1) & (keys_.size() - 1);
    }
    return at;
  }

  std::vector<number_key> keys_;
  std::vector<char> used_;
};

// What numbers of a type are compared as; all values of the type are values of it.
scalar_id key_type(scalar_id scalar) {
  return is_complex(scalar)            ? scalar_id::complex128
         : is_floating(scalar)         ? scalar_id::float64
         : scalar == scalar_id::uint64 ? scalar_id::uint64
                                       : scalar_id::int64;
}

// Zeros are one, whatever their sign.
number_key key_at(const char *value, scalar_id type) {
  number_key key = {};
  if (is_integer(type)) {
    std::memcpy(&key.bits[0], value, 8);
    return key;
  }
  for (size_t i = 0; i < (is_complex(type) ? 2 : 1); i++) {
    double part;
    std::memcpy(&part, value + 8 * i, 8);
    part += 0.0;
    std::memcpy(&key.bits[i], &part, 8);
  }
  return key;
}

array list_of_type(const array &list, scalar_id type) {
  return array(copy_values(list.get(), access_mode::immutable, ndt::make_scalar(type), error_mode::nocheck));
}

// The values that the type has exactly, as numbers of it.
array values_as(const array &values, scalar_id type) {
  array list = drop_missing(list_of(compact(values, values.ndim() - 1), values.ndim() - 1));
  array converted(copy_values(list.get(), access_mode::immutable, ndt::make_scalar(type), error_mode::nocheck));
  array_block *const both[] = {converted.get(), list.get()};
  array same(evaluate(logic::comparisons[0], {both, 2}));
  return filter_rows("isin", converted, same, 0);
}

// Up to so many values are compared with all elements in one pass: less work than a look-up, whose branches depend on
// the data.
constexpr intptr_t few_values = 16;

void compare_numbers(const array &list, const array &known, bool invert, char *to) {
  array found;
  for (intptr_t i = 0; i < known.size(0); i++) {
    array value = at(known, i);
    array_block *const both[] = {list.get(), value.get()};
    array same(evaluate(logic::comparisons[0], {both, 2}));
    array_block *const any[] = {found.get(), same.get()};
    found = found ? array(evaluate(logic::either, {any, 2})) : same;
  }
  if (found && invert) {
    array_block *const all[] = {found.get()};
    found = array(evaluate(logic::inverted, {all, 1}));
  }
  if (found) {
    std::memcpy(to, found.eval()->values().address, size_t(list.size(0)));
  } else {
    std::memset(to, invert, size_t(list.size(0)));
  }
}

void find_numbers(const array &list, scalar_id scalar, const array &values, bool invert, char *to) {
  scalar_id type = key_type(scalar);
  array exact = values_as(values, scalar);
  if (exact.size(0) <= few_values) {
    return compare_numbers(list, exact, invert, to);
  }
  array known = list_of_type(exact, type), numbers = list_of_type(list, type);
  std::vector<number_key> keys;
  intptr_t item = intptr_t(known->item_size());
  for (intptr_t i = 0; i < known.size(0); i++) {
    keys.push_back(key_at(known->values().address + i * item, type));
  }
  number_set set(keys);
  const char *from = numbers->values().address;
  in_pieces("isin", numbers.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = set.contains(key_at(from + i * item, type)) != invert; // no value is NaN: that is not equal to itself
    }
  });
}

void find_texts(const array &list, const array &values, bool invert, char *to) {
  std::unordered_set<std::string_view> set;
  list_texts texts(list), known(values);
  for (intptr_t i = 0; i < values.size(0); i++) {
    set.insert(known[i]);
  }
  in_pieces("isin", list.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = set.contains(texts[i]) != invert;
    }
  });
}

const type_data *below_option(const type_data *type) { return type->kind == type_kind::option ? type->element : type; }

} // namespace

array isin(const array &a, const array &values, bool invert) {
  const type_data *own = below_option(a->type->dtype), *other = below_option(values->type->dtype);
  element_kind kind, of_values;
  bool numbers = find_element_kind(a->type->dtype, kind) && find_element_kind(values->type->dtype, of_values);
  bool texts = is_text(own->kind) && is_text(other->kind) && is_string(own->kind) == is_string(other->kind);
  if (!numbers && !texts) {
    fail(error_kind::type, "isin: " + std::string(a.type().dtype().str()) + " among " +
                               std::string(values.type().dtype().str()) +
                               ": only numbers, texts and bytes are looked up");
  }
  array whole = compact(a, a.ndim() - 1), list = list_of(whole, a.ndim() - 1);
  bool option = a->type->dtype->kind == type_kind::option;
  intptr_t count = list.size(0);
  space shape;
  shape.ndim = 1;
  shape.size[0] = count;
  array found(new_result(shape, number_type(scalar_id::bool_, option)));
  char *to = found->streams()[option].address;
  if (option) {
    char *valid = found->streams()[0].address;
    const char *from = list->streams()[0].address;
    intptr_t stride = list->strides(0)[0];
    in_pieces("isin", count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        valid[i] = from[i * stride];
      }
    });
  }
  list = option ? inside_of_options(list) : list;
  if (numbers) {
    find_numbers(list, kind.scalar, values, invert, to);
  } else {
    array known = drop_missing(list_of(compact(values, values.ndim() - 1), values.ndim() - 1));
    find_texts(list, known, invert, to);
  }
  if (a.ndim() == 0) {
    return at(found, 0);
  }
  return assemble(whole, a.ndim(), {}, found);
}

} // namespace dynd::nd

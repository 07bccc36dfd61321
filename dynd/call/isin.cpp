// isin: a set of the values, and a look-up for each element.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/call/group_keys.h"
#include "dynd/call/key_lists.h"
#include "dynd/call/selection.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/fusion.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/eval/work.h"
#include "dynd/ops/logic.h"
#include "dynd/type/common.h"

namespace dynd::nd {

namespace {

// A complex number, the same for equal ones.
struct complex_key {
  uint64_t part[2];
  uint64_t hash() const { return mixed_bits(mixed_bits(part[0]) ^ part[1]); }
  bool operator==(const complex_key &other) const { return part[0] == other.part[0] && part[1] == other.part[1]; }
};

// Reads complex128 that follow each other as keys. Zeros are one, whatever their sign.
struct complex_reader {
  const char *from;

  complex_key operator()(intptr_t i) const {
    double parts[2];
    std::memcpy(parts, from + i * intptr_t(sizeof(parts)), sizeof(parts));
    complex_key key;
    for (int k = 0; k < 2; k++) {
      parts[k] += 0.0;
      std::memcpy(&key.part[k], &parts[k], sizeof(double));
    }
    return key;
  }
};

// A table of the values, and a look-up for each element of the list.
template <class Read>
void find_keys(intptr_t count, Read element, intptr_t nvalues, Read value, bool invert, char *to) {
  using table_of_keys = slot_table<decltype(value(0))>;
  table_of_keys table;
  table.insert("isin", 0, nvalues, {}, value, scratch_values<uint32_t>(nvalues).data());
  in_pieces("isin", count, [&](intptr_t begin, intptr_t end) {
    constexpr intptr_t most = 1024;
    uint32_t slots[most];
    for (intptr_t first = begin; first < end; first += most) {
      intptr_t n = std::min(most, end - first);
      table.find(first, first + n, {}, element, slots);
      for (intptr_t i = 0; i < n; i++) {
        to[first + i] = (slots[i] != table_of_keys::none) != invert;
      }
    }
  });
}

// The values that the type has exactly, as numbers of it.
array values_as(const array &values, scalar_id type) {
  array list = drop_missing(list_of(compact(values, values.ndim() - 1), values.ndim() - 1));
  array converted(copy_values(list.get(), access_mode::immutable, ndt::make_scalar(type), error_mode::nocheck));
  array_block *const both[] = {converted.get(), list.get()};
  array same(evaluate(arithmetic::equal, {both, 2}));
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
    array same(evaluate(arithmetic::equal, {both, 2}));
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
  array known = values_as(values, scalar); // no NaN: that is not equal to itself
  if (known.size(0) <= few_values) {
    return compare_numbers(list, known, invert, to);
  }
  if (is_complex(scalar)) {
    constexpr scalar_id complex = scalar_id::complex128;
    array numbers = native_list(list, complex, false), wanted = native_list(known, complex, false);
    return find_keys(numbers.size(0), complex_reader{numbers->values().address}, wanted.size(0),
                     complex_reader{wanted->values().address}, invert, to);
  }
  array numbers = own_keys("isin", list), wanted = own_keys("isin", known);
  with_code(scalar, [&](auto code) {
    using reader = number_reader<decltype(code)>;
    find_keys(numbers.size(0), reader{numbers->values().address}, wanted.size(0), reader{wanted->values().address},
              invert, to);
  });
}

void find_texts(const array &list, const array &values, bool invert, char *to) {
  array texts = own_keys("isin", list), wanted = own_keys("isin", values);
  find_keys(texts.size(0), text_reader(texts), wanted.size(0), text_reader(wanted), invert, to);
}

// Structs: the values and the elements are grouped together. What has NaN in it is equal to nothing.
void find_structs(const array &list, const array &values, bool invert, char *to) {
  const array both[] = {values, list};
  key_groups groups = group_keys("isin", concat(both)).in_order();
  array_block *const same[] = {list.get(), list.get()};
  array equal = native_list(array(evaluate(arithmetic::equal, {same, 2})), scalar_id::bool_, false);
  const char *itself = equal->values().address;
  std::vector<char> among(size_t(groups.slots));
  intptr_t first = values.size(0);
  groups.with_slots([&](auto slot) {
    in_order("isin", first, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        among[size_t(slot(i))] = 1;
      }
    });
    in_pieces("isin", list.size(0), [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        to[i] = (among[size_t(slot(first + i))] && itself[i]) != invert;
      }
    });
  });
}

bool are_structs(const type_data *a, const type_data *b) {
  return without_options(a)->nfields > 0 && without_options(b)->nfields > 0 && common_element(a, b);
}

} // namespace

array isin(const array &a, const array &values, bool invert) {
  if (has_missing_rows(a->type)) {
    missing_rows rows("isin", a);
    return rows.restored(isin(rows.operand(), values, invert));
  }
  element_kind kind, of_values;
  bool numbers = find_element_kind(a->type->dtype, kind) && find_element_kind(values->type->dtype, of_values);
  bool structs = are_structs(a->type->dtype, values->type->dtype);
  if (!numbers && !structs && !are_like_texts(a->type->dtype, values->type->dtype)) {
    fail(error_kind::type, "isin: " + std::string(a.type().dtype().str()) + " among " +
                               std::string(values.type().dtype().str()) +
                               ": only numbers, texts, bytes and structs are looked up, among their own kind");
  }
  array whole = compact(a, a.ndim() - 1), list = list_of(whole, a.ndim() - 1);
  bool option = a->type->dtype->kind == type_kind::option;
  array inside = option ? inside_of_options(list) : list, found = new_list<bool>(list.size(0));
  char *to = found->values().address;
  if (numbers) {
    find_numbers(inside, kind.scalar, values, invert, to);
  } else {
    array known = drop_missing(list_of(compact(values, values.ndim() - 1), values.ndim() - 1));
    structs ? find_structs(inside, known, invert, to) : find_texts(inside, known, invert, to);
  }
  found = option ? join_options(found, native_list(validity_of(list), scalar_id::bool_)) : found;
  if (a.ndim() == 0) {
    return at(found, 0);
  }
  return assemble(whole, a.ndim(), {}, found);
}

} // namespace dynd::nd

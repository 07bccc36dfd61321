#include "dynd/call/order_keys.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/sort_codes.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

const type_data *record_type_of(const type_data *type) {
  const type_data *inside = without_option(type);
  return inside->kind == type_kind::struct_ || inside->kind == type_kind::tuple ? inside : nullptr;
}

// ---- which elements have an order -----------------------------------------------------------------------------------

namespace {

// False where a type is neither number nor text.
bool find_ordered_kind(const type_data *dtype, bool &option, bool &swapped, std::optional<scalar_id> &number) {
  element_kind kind;
  if (find_element_kind(dtype, kind)) {
    option = kind.option;
    swapped = kind.swapped;
    number = kind.scalar;
    return !is_complex(kind.scalar);
  }
  option = dtype->kind == type_kind::option;
  return is_text(without_option(dtype)->kind);
}

void check_type(const char *name, const type_data *type) {
  bool option, swapped;
  std::optional<scalar_id> number;
  if (const type_data *structs = record_type_of(type)) {
    for (int i = 0; i < structs->nfields; i++) {
      check_type(name, structs->fields[i].type);
    }
  } else if (type->ndim > 0 || !find_ordered_kind(type, option, swapped, number)) {
    fail(error_kind::type, std::string(name) + ": elements of type " + std::string(ndt::type(type).str()) +
                               " have no order; real numbers, bools, texts, bytes and structs of these have");
  }
}

// A field to order by. The name of a field may begin with a minus itself.
struct ordered_field {
  int number;
  bool reversed;

  ordered_field(const char *name, const type_data *structs, std::string_view by) : reversed(false) {
    number = find_field(structs, by);
    if (number < 0 && by.starts_with('-')) {
      reversed = true;
      number = find_field(structs, by.substr(1));
    }
    if (number < 0) {
      fail(error_kind::index, std::string(name) + ": no field " + field_name_text(by.substr(by.starts_with('-'))) +
                                  " to order by in " + std::string(ndt::type(structs).str()));
    }
  }
};

} // namespace

ordered_kind::ordered_kind(const char *name, const array &a) {
  if (!find_ordered_kind(a->type->dtype, option, swapped, number)) {
    fail(error_kind::type, std::string(name) + ": elements of type " + std::string(a.type().dtype().str()) +
                               " have no order; real numbers, bools, texts and bytes have");
  }
}

void check_order(const char *name, const array &a, const std::vector<std::string> &by) {
  const type_data *dtype = a->type->dtype;
  if (by.empty()) {
    return check_type(name, dtype);
  }
  const type_data *structs = record_type_of(dtype);
  if (!structs || structs->kind != type_kind::struct_) {
    fail(error_kind::type,
         std::string(name) + ": only structs are ordered by fields, not " + std::string(a.type().dtype().str()));
  }
  for (const std::string &field : by) {
    check_type(name, structs->fields[ordered_field(name, structs, field).number].type);
  }
}

// ---- keys -----------------------------------------------------------------------------------------------------------

key_column::key_column(const char *name, const array &list, bool descending, bool one_zero)
    : list_(list), keys_(list.size(0)), descending_(descending) {
  ordered_kind kind(name, list);
  if (!kind.number && list->access != access_mode::immutable) { // texts are compared more than once
    list_ = gather_whole(list);
  }
  array inside = kind.option ? inside_of_options(list_) : list_;
  is_there_ = presence_of(list_);
  if (kind.number) {
    read_numbers(name, native_list(inside, *kind.number), *kind.number, one_zero);
  } else {
    texts_ = list_texts(inside);
    read_texts(name);
  }
}

void key_column::read_numbers(const char *name, const array &numbers, scalar_id scalar, bool one_zero) {
  const char *from = numbers->values().address;
  int64_t *to = keys_.fill();
  with_code(scalar, [&](auto code) {
    using bits = typename decltype(code)::bits;
    in_pieces(name, numbers.size(0), [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        bits value;
        std::memcpy(&value, from + i * intptr_t(sizeof(bits)), sizeof(bits));
        to[i] = int64_t(decltype(code)::key(value, descending_, one_zero));
      }
    });
  });
}

void key_column::read_texts(const char *name) {
  int64_t *to = keys_.fill();
  in_pieces(name, list_.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = int64_t(key_from(is_missing(i) ? std::string_view("") : texts_[i], 0));
    }
  });
}

int key_column::compare_texts(const key_column &a, int64_t i, const key_column &b, int64_t j) {
  int order = a.texts_[i].compare(b.texts_[j]);
  return a.descending_ ? -order : order;
}

int key_column::compare(const key_column &a, int64_t i, const key_column &b, int64_t j) {
  bool missing = a.is_missing(i), other = b.is_missing(j);
  if (missing || other) {
    return int(missing) - int(other);
  }
  if (a.key(i) != b.key(j)) {
    return a.key(i) < b.key(j) ? -1 : 1;
  }
  return a.has_texts() ? compare_texts(a, i, b, j) : 0;
}

order_keys::order_keys(const char *name, const array &list, const ordering &order) {
  if (order.by.empty()) {
    add(name, list, order.descending, order);
    return;
  }
  add_presence(name, list);
  for (const std::string &by : order.by) {
    ordered_field taken(name, record_type_of(list->type->dtype), by);
    add(name, field(list, taken.number), order.descending != taken.reversed, order);
  }
}

// Of structs that may be missing: those that are there come first, also before those of which all fields are missing.
void order_keys::add_presence(const char *name, const array &structs) {
  if (structs->type->dtype->kind == type_kind::option) {
    columns_.emplace_back(name, validity_of(structs), true, false);
  }
}

void order_keys::add(const char *name, const array &list, bool descending, const ordering &order) {
  const type_data *structs = record_type_of(list->type->dtype);
  if (!structs) {
    columns_.emplace_back(name, list, descending, order.one_zero);
    return;
  }
  add_presence(name, list);
  for (int i = 0; i < structs->nfields; i++) {
    add(name, field(list, i), descending, order);
  }
}

int order_keys::compare(const order_keys &a, int64_t i, const order_keys &b, int64_t j) {
  int order = 0;
  for (size_t c = 0; c < a.columns_.size() && order == 0; c++) {
    order = key_column::compare(a.columns_[c], i, b.columns_[c], j);
  }
  return order;
}

} // namespace dynd::nd

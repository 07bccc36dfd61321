// A table of the right side's keys, a look-up for each of the left side's, and gathers of both.
#include "dynd/call/join.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/key_lists.h"
#include "dynd/call/records.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

// ---- keys -----------------------------------------------------------------------------------------------------------

constexpr uint32_t none = slot_table<number_key>::none;

// Numbers and texts of keys, those in structs and options one by one; an element that lacks one of them does not count.
void add_columns(const marked_list &keys, std::vector<marked_list> &to) {
  const type_data *type = keys.list->type->element;
  if (type->kind == type_kind::option) {
    return add_columns(keys.inside("join"), to);
  }
  for (int i = 0; i < type->nfields; i++) {
    add_columns({field(keys.list, i), keys.marks}, to);
  }
  if (!type->nfields) {
    to.push_back({own_keys("join", keys.list), keys.marks});
  }
}

// The slots of the right side's keys, and of the left side's that are equal to one.
struct matched_slots {
  array left, right; // uint32; none where there is no slot
  intptr_t slots = 0;

  // Lists of one type.
  matched_slots(const marked_list &left_keys, const marked_list &right_keys)
      : left(new_list<uint32_t>(left_keys.list.size(0))), right(new_list<uint32_t>(right_keys.list.size(0))) {
    if (has_texts(left_keys.list)) {
      fill(left_keys, right_keys, text_reader(left_keys.list), text_reader(right_keys.list));
    } else {
      with_code(left_keys.list->scalar(), [&](auto code) {
        using reader = number_reader<decltype(code)>;
        fill(left_keys, right_keys, reader{left_keys.list->values().address},
             reader{right_keys.list->values().address});
      });
    }
  }

private:
  template <class Read>
  void fill(const marked_list &left_keys, const marked_list &right_keys, Read read_left, Read read_right) {
    slot_table<decltype(read_left(0))> table;
    in_chunks("join", right.size(0), 1, [&](intptr_t, intptr_t begin, intptr_t end) {
      table.insert("join", begin, end, right_keys.counts(), read_right, values_of<uint32_t>(right) + begin);
    });
    in_pieces("join", left.size(0), [&](intptr_t begin, intptr_t end) {
      table.find(begin, end, left_keys.counts(), read_left, values_of<uint32_t>(left) + begin);
    });
    slots = table.count();
  }
};

// Two columns as one: numbers of 64 bits, marked where both have a slot.
marked_list joined_column(const array &a, const array &b, intptr_t slots) {
  intptr_t count = a.size(0);
  marked_list both = {new_list<uint64_t>(count), new_list<bool>(count)};
  const uint32_t *slot_a = values_of<uint32_t>(a), *slot_b = values_of<uint32_t>(b);
  in_pieces("join", count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      values_of<bool>(both.marks)[i] = slot_a[i] != none && slot_b[i] != none;
      values_of<uint64_t>(both.list)[i] = uint64_t(slot_a[i]) * uint64_t(slots) + slot_b[i];
    }
  });
  return both;
}

matched_slots match(std::span<const array> left, std::span<const array> right) {
  std::vector<marked_list> columns[2];
  for (size_t k = 0; k < left.size(); k++) {
    add_columns({left[k], {}}, columns[0]);
    add_columns({right[k], {}}, columns[1]);
  }
  matched_slots all(columns[0][0], columns[1][0]);
  for (size_t k = 1; k < columns[0].size(); k++) {
    matched_slots own(columns[0][k], columns[1][k]);
    all = matched_slots(joined_column(all.left, own.left, own.slots), joined_column(all.right, own.right, own.slots));
  }
  return all;
}

// Calls f for all numbers below count, one after another.
template <class F> void in_order(intptr_t count, F f) {
  in_chunks("join", count, 1, [&](intptr_t, intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      f(i);
    }
  });
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

// The right side's rows of each slot.
struct right_rows {
  new_offsets offsets;
  place_buffer places;

  explicit right_rows(const matched_slots &matched) : offsets(matched.slots), places(matched.right.size(0)) {
    const uint32_t *slot = values_of<uint32_t>(matched.right);
    std::fill_n(offsets.fill(), matched.slots + 1, 0);
    in_order(places.size(), [&](intptr_t i) {
      if (slot[i] != none) {
        offsets.fill()[slot[i] + 1]++;
      }
    });
    make_offsets("join", offsets.fill(), matched.slots);
    scratch_values<int64_t> next(matched.slots);
    std::copy_n(offsets.at, matched.slots, next.data());
    in_order(places.size(), [&](intptr_t i) {
      if (slot[i] != none) {
        places.fill()[next[slot[i]]++] = i;
      }
    });
  }
};

// Where the rows of the result are in each side; -1: nowhere.
struct pair_places {
  place_buffer left, right;
};

pair_places pairs_of(const matched_slots &matched, bool keeps_left) {
  right_rows rows(matched);
  intptr_t count = matched.left.size(0);
  const uint32_t *slot = values_of<uint32_t>(matched.left);
  row_offsets first = offsets_of(
      "join", count, [&](intptr_t i) { return slot[i] == none ? int64_t(keeps_left) : rows.offsets.length(slot[i]); });
  pair_places pairs{place_buffer(first.total()), place_buffer(first.total())};
  in_pieces_of_rows("join", first.at, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      int64_t from = slot[i] == none ? -1 : rows.offsets.at[slot[i]];
      for (int64_t at = first.at[i]; at < first.at[i + 1]; at++) {
        pairs.left.fill()[at] = i;
        pairs.right.fill()[at] = from < 0 ? -1 : rows.places[from++];
      }
    }
  });
  return pairs;
}

template <class F> place_buffer places_where(intptr_t count, F keeps) {
  scratch_values<char> kept(count);
  in_pieces("join", count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      kept[i] = keeps(i);
    }
  });
  return mask_bits("join", kept.data(), count).positions("join");
}

// The right side's rows whose slot no left one has.
place_buffer unmatched_right(const matched_slots &matched) {
  scratch_values<char> seen(matched.slots + 1);
  std::fill_n(seen.data(), seen.size(), 0);
  const uint32_t *left = values_of<uint32_t>(matched.left), *right = values_of<uint32_t>(matched.right);
  in_pieces("join", matched.left.size(0), [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      char *mark = &seen[std::min<intptr_t>(left[i], matched.slots)];
      if (!__atomic_load_n(mark, __ATOMIC_RELAXED)) { // else its line would go from core to core at every element
        __atomic_store_n(mark, char(1), __ATOMIC_RELAXED);
      }
    }
  });
  return places_where(matched.right.size(0), [&](intptr_t i) { return right[i] == none || !seen[right[i]]; });
}

// ---- the result -----------------------------------------------------------------------------------------------------

bool contains(std::span<const std::string> names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

place_buffer with_more(const place_buffer &places, intptr_t more, const int64_t *from) {
  place_buffer all(places.size() + more);
  std::copy_n(places.data(), places.size(), all.fill());
  for (intptr_t i = 0; i < more; i++) {
    all.fill()[places.size() + i] = from ? from[i] : -1;
  }
  return all;
}

class joiner {
public:
  joiner(const array &left, const array &right, std::span<const std::string> on) : on_(on) {
    for (const array *side : {&left, &right}) {
      bool is_left = side == &left;
      if (side->ndim() != 1 || (*side)->type->dtype->kind != type_kind::struct_) {
        fail(error_kind::type, std::string("join: the ") + (is_left ? "left" : "right") +
                                   " side must be a list of structs, not " + std::string(side->type().str()));
      }
      (is_left ? left_ : right_) = list_of(compact(*side, 0), 0);
    }
    check_names();
    for (const std::string &key : on_) {
      keys_[0].push_back(field(left_, key));
      keys_[1].push_back(field(right_, key));
      make_equal(key, keys_[0].back(), keys_[1].back());
    }
  }

  array run(join_kind how) const {
    matched_slots matched = match(keys_[0], keys_[1]);
    if (how == join_kind::semi || how == join_kind::anti) {
      const uint32_t *slot = values_of<uint32_t>(matched.left);
      bool wants = how == join_kind::semi;
      return gather("join", left_, places_where(left_.size(0), [&](intptr_t i) { return (slot[i] != none) == wants; }));
    }
    pair_places pairs = pairs_of(matched, how != join_kind::inner);
    place_buffer more;
    if (how == join_kind::outer) {
      more = unmatched_right(matched);
    }
    return records(pairs, how, more);
  }

private:
  static std::vector<std::string> names_of(const array &structs) { return field_names(structs->type->dtype); }

  void check_names() const {
    if (on_.empty()) {
      fail(error_kind::value, "join: no key is given");
    }
    std::vector<std::string> left = names_of(left_), right = names_of(right_);
    for (size_t k = 0; k < on_.size(); k++) {
      for (const auto *names : {&left, &right}) {
        if (!contains(*names, on_[k])) {
          fail(error_kind::index, "join: no field " + field_name_text(on_[k]) + " in the " +
                                      (names == &left ? "left" : "right") + " side");
        }
      }
      if (contains(on_.subspan(0, k), on_[k])) {
        fail(error_kind::value, "join: the key " + field_name_text(on_[k]) + " is given twice");
      }
    }
    for (const std::string &name : right) {
      if (!contains(on_, name) && contains(left, name)) {
        fail(error_kind::value, "join: both sides have a field " + field_name_text(name) +
                                    " that is no key; nd.rename gives it another name");
      }
    }
  }

  // Numbers of the type that has the values of both; other keys must be of one type, but for missing ones.
  static void make_equal(const std::string &key, array &left, array &right) {
    element_kind own, other;
    const type_data *a = left->type->dtype, *b = right->type->dtype;
    bool numbers = find_element_kind(a, own) && find_element_kind(b, other);
    bool exact = numbers;
    if (numbers && own.scalar != other.scalar) {
      scalar_id both = promote(own.scalar, other.scalar);
      for (scalar_id one : {own.scalar, other.scalar}) {
        exact &= is_integer(both) || !is_integer(one) || scalar_size[size_t(one)] < scalar_size[size_t(both)];
      }
      if (exact) {
        for (array *side : {&left, &right}) {
          bool option = (*side)->type->dtype->kind == type_kind::option;
          *side =
              array(copy_values(side->get(), access_mode::immutable, number_type(both, option), error_mode::nocheck));
        }
      }
    }
    if (!exact && without_option(a) != without_option(b)) {
      fail(error_kind::type, "join: the key " + field_name_text(key) + " is of " + std::string(ndt::type(a).str()) +
                                 " and " + std::string(ndt::type(b).str()));
    }
  }

  array records(const pair_places &pairs, join_kind how, const place_buffer &more) const {
    bool outer = how == join_kind::outer;
    std::vector<std::string> names = names_of(left_);
    std::vector<array> lists;
    place_buffer from_left = outer ? with_more(pairs.left, more.size(), nullptr) : pairs.left;
    place_buffer from_right = outer ? with_more(pairs.right, more.size(), more.data()) : pairs.right;
    for (const std::string &name : names) {
      array own = field(left_, name);
      if (outer && contains(on_, name)) {
        const array both[] = {gather("join", own, pairs.left), gather("join", field(right_, name), more)};
        lists.push_back(compact(concat(both), 0));
      } else {
        lists.push_back(outer ? gather_or_missing("join", own, from_left) : gather("join", own, pairs.left));
      }
    }
    for (const std::string &name : names_of(right_)) {
      if (!contains(on_, name)) {
        names.push_back(name);
        array own = field(right_, name);
        lists.push_back(how == join_kind::inner ? gather("join", own, from_right)
                                                : gather_or_missing("join", own, from_right));
      }
    }
    return zip_lists(names, lists);
  }

  std::span<const std::string> on_;
  array left_, right_;
  std::vector<array> keys_[2];
};

} // namespace

array join(const array &left, const array &right, std::span<const std::string> on, join_kind how) {
  return joiner(left, right, on).run(how);
}

} // namespace dynd::nd

// Pairs of rows whose keys have one slot (join_keys.h), and gathers of both sides.
#include "dynd/call/join.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/join_keys.h"
#include "dynd/call/list_texts.h"
#include "dynd/call/records.h"
#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/work.h"
#include "dynd/type/common.h"

namespace dynd::nd {

namespace {

constexpr uint32_t none = matched_slots::none;

// ---- pairs ----------------------------------------------------------------------------------------------------------

// The rows of the result: which ones of the left side, and for each of them one of the right side.
struct row_pairs {
  std::optional<mask_bits> kept;    // the left side's, each once
  std::optional<place_buffer> left; // or these; without both, all of them once
  place_buffer right;               // -1: none
};

template <class F> mask_bits rows_where(intptr_t count, F keeps) {
  scratch_values<char> kept(count);
  in_pieces("join", count, [=, to = kept.data()](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = keeps(i);
    }
  });
  return mask_bits("join", kept.data(), count);
}

// The right side's rows where no slot has several: a slot's row is rows[slot], or without `rows` the slot itself. False
// where one has several.
bool find_single_rows(const matched_slots &matched, std::optional<place_buffer> &rows) {
  const uint32_t *slot = values_of<uint32_t>(matched.right);
  intptr_t count = matched.right.size(0), counted = 0;
  in_order("join", count, [&](intptr_t begin, intptr_t end) {
    counted += (end - begin) - std::count(slot + begin, slot + end, none);
  });
  if (matched.different < counted) {
    return false;
  }
  if (counted < count) {
    rows.emplace(matched.slots);
    in_order("join", count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        if (slot[i] != none) {
          rows->fill()[slot[i]] = i;
        }
      }
    });
  }
  return true;
}

row_pairs single_pairs(const matched_slots &matched, const std::optional<place_buffer> &rows, bool keeps_left) {
  intptr_t count = matched.left.size(0);
  const uint32_t *slot = values_of<uint32_t>(matched.left);
  auto row = [&](uint32_t s) { return s == none ? -1 : rows ? (*rows)[s] : int64_t(s); };
  row_pairs pairs;
  if (!keeps_left) {
    pairs.kept = rows_where(count, [=](intptr_t i) { return slot[i] != none; });
    if (pairs.kept->kept() < count) {
      place_buffer left = pairs.kept->positions("join");
      pairs.right = place_buffer(left.size());
      in_pieces("join", left.size(), [&, to = pairs.right.fill()](intptr_t begin, intptr_t end) {
        for (intptr_t i = begin; i < end; i++) {
          to[i] = row(slot[left[i]]);
        }
      });
      return pairs;
    }
    pairs.kept.reset();
  }
  pairs.right = place_buffer(count);
  in_pieces("join", count, [&, to = pairs.right.fill()](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      to[i] = row(slot[i]);
    }
  });
  return pairs;
}

// The right side's rows of each slot.
struct right_rows {
  new_offsets offsets;
  place_buffer places;

  explicit right_rows(const matched_slots &matched) : offsets(matched.slots), places(matched.right.size(0)) {
    const uint32_t *slot = values_of<uint32_t>(matched.right);
    std::fill_n(offsets.fill(), matched.slots + 1, 0);
    in_order("join", places.size(), [&, sizes = offsets.fill() + 1](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        if (slot[i] != none) {
          sizes[slot[i]]++;
        }
      }
    });
    make_offsets("join", offsets.fill(), matched.slots);
    scratch_values<int64_t> first(matched.slots);
    std::copy_n(offsets.at, matched.slots, first.data());
    in_order("join", places.size(), [&, next = first.data(), to = places.fill()](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        if (slot[i] != none) {
          to[next[slot[i]]++] = i;
        }
      }
    });
  }
};

row_pairs pairs_of(const matched_slots &matched, bool keeps_left) {
  if (std::optional<place_buffer> single; find_single_rows(matched, single)) {
    return single_pairs(matched, single, keeps_left);
  }
  right_rows rows(matched);
  intptr_t count = matched.left.size(0);
  const uint32_t *slot = values_of<uint32_t>(matched.left);
  row_offsets first = offsets_of(
      "join", count, [&](intptr_t i) { return slot[i] == none ? int64_t(keeps_left) : rows.offsets.length(slot[i]); });
  row_pairs pairs{{}, place_buffer(first.total()), place_buffer(first.total())};
  in_pieces_of_rows("join", first.at, count, [&](intptr_t begin, intptr_t end) {
    constexpr intptr_t ahead = 32;
    const int64_t *of_slot = rows.offsets.at, *places = rows.places.data();
    int64_t *left = pairs.left->fill(), *right = pairs.right.fill();
    for (intptr_t i = begin; i < end; i++) {
      if (uint32_t later = i + ahead < end ? slot[i + ahead] : none; later != none) {
        __builtin_prefetch(places + of_slot[later]);
      }
      int64_t from = slot[i] == none ? -1 : of_slot[slot[i]];
      for (int64_t at = first.at[i]; at < first.at[i + 1]; at++) {
        left[at] = i;
        right[at] = from < 0 ? -1 : places[from++];
      }
    }
  });
  return pairs;
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
  return rows_where(matched.right.size(0), [&](intptr_t i) { return right[i] == none || !seen[right[i]]; })
      .positions("join");
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
    matched_slots matched = match_keys(keys_[0], keys_[1]);
    if (how == join_kind::semi || how == join_kind::anti) {
      const uint32_t *slot = values_of<uint32_t>(matched.left);
      bool wants = how == join_kind::semi;
      return gather_masked("join", left_,
                           rows_where(left_.size(0), [=](intptr_t i) { return (slot[i] != none) == wants; }));
    }
    row_pairs pairs = pairs_of(matched, how != join_kind::inner);
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

  // Numbers of the type that has the values of both, texts of any length; other keys must be of one type, but for
  // missing ones.
  static void make_equal(const std::string &key, array &left, array &right) {
    element_kind own, other;
    const type_data *a = left->type->dtype, *b = right->type->dtype;
    bool numbers = find_element_kind(a, own) && find_element_kind(b, other);
    bool exact = numbers;
    if (!numbers && are_like_texts(a, b) && without_option(a) != without_option(b)) {
      ndt::type both(common_element(without_option(a), without_option(b)));
      for (array *side : {&left, &right}) {
        bool option = (*side)->type->dtype->kind == type_kind::option;
        *side = array(copy_values(side->get(), access_mode::immutable, option ? ndt::make_option(both) : both));
      }
      return;
    }
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

  // Elements of the left side.
  static array taken(const array &list, const row_pairs &pairs) {
    return pairs.kept                       ? gather_masked("join", list, *pairs.kept)
           : pairs.left                     ? gather("join", list, *pairs.left)
           : is_most_of_memory(*list.get()) ? unshared(list)
                                            : gather_whole(list);
  }

  // Whether numbers are most of what their memory holds: a result that shares a few of many would keep all of them.
  static bool is_most_of_memory(const array_block &list) {
    for (int s = 0; s < list.nstreams; s++) {
      const stream &own = list.streams()[s];
      const buffer *memory = as_buffer(own.owner);
      size_t item = stream_item(list, s), bytes = size_t(list.size()[0]) * item;
      bool dense = own.kind == slot_kind::none && list.all_ndim == 1 && list.strides(s)[0] == intptr_t(item);
      if (!dense || (memory && memory->size > 2 * bytes)) {
        return false;
      }
    }
    return true;
  }

  array records(const row_pairs &pairs, join_kind how, const place_buffer &more) const {
    bool outer = how == join_kind::outer;
    std::vector<std::string> names = names_of(left_);
    std::vector<array> lists;
    place_buffer from_left, from_right = outer ? with_more(pairs.right, more.size(), more.data()) : pairs.right;
    if (outer) {
      from_left = with_more(pairs.left ? *pairs.left : place_buffer::counting(left_.size(0)), more.size(), nullptr);
    }
    for (const std::string &name : names) {
      array own = field(left_, name);
      if (outer && contains(on_, name)) {
        const array both[] = {taken(own, pairs), gather("join", field(right_, name), more)};
        lists.push_back(compact(concat(both), 0));
      } else {
        lists.push_back(outer ? gather_or_missing("join", own, from_left) : taken(own, pairs));
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

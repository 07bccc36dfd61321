#include "dynd/call/group_keys.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "dynd/array/view.h"
#include "dynd/base/cache_lines.h"
#include "dynd/base/errors.h"
#include "dynd/call/key_lists.h"
#include "dynd/call/parted_keys.h"
#include "dynd/call/records.h"
#include "dynd/call/sort_rows.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/mask_bits.h"
#include "dynd/eval/threads.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

scratch_values<uint32_t> key_groups::group_of_slots() const {
  scratch_values<uint32_t> groups(slots + 1); // the last slot is of what does not count
  groups[slots] = 0;
  in_pieces("groups", count(), [&](intptr_t begin, intptr_t end) {
    for (intptr_t g = begin; g < end; g++) {
      groups[slot_of[g]] = uint32_t(g);
    }
  });
  return groups;
}

key_groups key_groups::in_order() const {
  key_groups ordered = *this;
  if (parts) {
    ordered.parts.reset();
    ordered.numbers = new_list<uint32_t>(elements);
    uint32_t *to = values_of<uint32_t>(ordered.numbers);
    const uint32_t *from = values_of<uint32_t>(numbers);
    const int64_t *first = parts->first.data();
    const element_parts &own = parts->elements;
    own.for_places([=, &own](intptr_t i, int64_t place) { to[i] = from[place] + uint32_t(first[own.part(i)]); });
  }
  return ordered;
}

namespace {

// ---- numbers of a small range ---------------------------------------------------------------------------------------

// Codes from first to last; none where first is above it.
struct code_range {
  uint64_t first = ~uint64_t(0), last = 0;

  void add(uint64_t code) {
    first = std::min(first, code);
    last = std::max(last, code);
  }
  uint64_t above() const { return last - first; } // how many are above the first
};

// Integers whose keys are slots: those of a range that has few numbers for as many elements.
template <class Code> class range_groups {
public:
  using bits = typename Code::bits;
  static constexpr bits largest = bits(~bits(0));

  range_groups(const char *name, const marked_list &keys)
      : name_(name), keys_(keys), counts_(keys.counts()), from_(values_of<bits>(keys.list)), count_(keys.list.size(0)) {
  }

  // False where the range has too many numbers.
  bool find(key_groups &to) {
    range_ = sampled();
    if (range_.first > range_.last || !is_small()) {
      return false;
    }
    bool exact = count_ <= sampled_whole;
    if (!exact) {
      uint64_t margin = range_.above() / 64 + 64; // what a sample does not show
      range_.first -= std::min(range_.first, margin);
      range_.last += std::min(uint64_t(largest) - range_.last, margin);
    }
    if (!mark()) {
      range_ = whole_range();
      if (!is_small()) {
        return false;
      }
      mark();
    }
    fill(to);
    return true;
  }

private:
  static constexpr intptr_t sampled_whole = 1 << 16, sample = 1 << 12;

  bits code(intptr_t i) const { return Code::encode(from_[i], false); }
  bool is_small() const {
    constexpr intptr_t most = intptr_t(1) << 31; // slots have 32 bits
    return range_.above() < uint64_t(std::clamp<intptr_t>(2 * count_, 1024, most));
  }
  intptr_t size() const { return intptr_t(range_.above()) + 1; }
  bits first_number() const { return Code::decode(bits(range_.first), false); }

  code_range sampled() const {
    code_range found;
    intptr_t step = count_ <= sampled_whole ? 1 : count_ / sample;
    for (intptr_t i = 0; i < count_; i += step) {
      if (counts_(i)) {
        found.add(code(i));
      }
    }
    if (count_ && counts_(count_ - 1)) {
      found.add(code(count_ - 1));
    }
    return found;
  }

  code_range whole_range() const {
    std::atomic<uint64_t> first = ~uint64_t(0), last = 0;
    in_pieces(name_, count_, [&](intptr_t begin, intptr_t end) {
      code_range found;
      for (intptr_t i = begin; i < end; i++) {
        if (counts_(i)) {
          found.add(code(i));
        }
      }
      for (uint64_t seen = first; seen > found.first && !first.compare_exchange_weak(seen, found.first);) {
      }
      for (uint64_t seen = last; seen < found.last && !last.compare_exchange_weak(seen, found.last);) {
      }
    });
    return {first, last};
  }

  // Marks the numbers that there are; false where one is outside of the range. Each thread has marks of its own, which
  // stay in the cache: bits, or bytes of few numbers, which are stored without being read.
  bool mark() {
    constexpr intptr_t few = 1 << 15;
    intptr_t chunks = count_ > (1 << 18) ? num_threads() : 1, words = size() / 64 + 1;
    intptr_t each = size() < few ? 8 * words : words;
    place_buffer parts(chunks * each);
    auto *part = reinterpret_cast<uint64_t *>(parts.fill());
    std::fill_n(part, chunks * each, 0);
    in_chunks(name_, count_, chunks, [&](intptr_t c, intptr_t begin, intptr_t end) {
      auto counted = [&](auto counts) {
        if (each > words) {
          auto *bytes = reinterpret_cast<uint8_t *>(part + c * each);
          mark_part(bytes, begin, end, counts, [](uint8_t *marks, uint64_t number) { marks[number] = 1; });
        } else {
          mark_part(part + c * each, begin, end, counts,
                    [](uint64_t *marks, uint64_t number) { marks[number / 64] |= uint64_t(1) << number % 64; });
        }
      };
      counts_ ? counted(counts_) : counted([](intptr_t) { return true; });
    });
    for (intptr_t w = each; w < chunks * each; w++) {
      part[w % each] |= part[w];
    }
    marks_ = each > words ? packed(reinterpret_cast<const uint8_t *>(part), words) : std::move(parts);
    return !(uint64_t(marks_[words - 1]) >> size() % 64 & 1);
  }

  static place_buffer packed(const uint8_t *bytes, intptr_t words) {
    place_buffer all(words);
    for (intptr_t w = 0; w < words; w++) {
      uint64_t word = 0;
      for (int i = 0; i < 64; i++) {
        word |= uint64_t(bytes[64 * w + i]) << i;
      }
      all.fill()[w] = int64_t(word);
    }
    return all;
  }

  // A function of its own, so that the address of the marks is in a register.
  template <class Mark, class Counts, class Set>
  [[gnu::noinline]] void mark_part(Mark *__restrict marks, intptr_t begin, intptr_t end, Counts counts, Set set) const {
    const bits *__restrict from = from_;
    bits base = first_number();
    uint64_t past = range_.above() + 1;
    in_eights(
        begin, end, [=](intptr_t i) { fetch_ahead(from + i); },
        [=](intptr_t i) {
          if (counts(i)) {
            set(marks, std::min(uint64_t(bits(from[i] - base)), past));
          }
        });
  }

  void fill(key_groups &to) const {
    to.elements = count_;
    to.slots = size();
    to.slot_of = mask_bits(name_, marks_, size()).positions(name_);
    intptr_t groups = to.count();
    array keys = new_list(keys_.list.type().element(), groups);
    in_pieces(name_, groups, [&](intptr_t begin, intptr_t end) {
      for (intptr_t g = begin; g < end; g++) {
        values_of<bits>(keys)[g] = Code::decode(bits(range_.first + uint64_t(to.slot_of[g])), false);
      }
    });
    to.keys = keys;
    bool few = to.slots > 4 * groups + 1024;
    if (sizeof(bits) >= 4 && !few && !counts_) {
      to.numbers = keys_.list;
      to.base = first_number();
    } else {
      store(to, few);
    }
  }

  // Slots of their own: where keys are narrow, where only few of the numbers are keys, and where some do not count.
  void store(key_groups &to, bool few) const {
    scratch_values<uint32_t> group = few ? to.group_of_slots() : scratch_values<uint32_t>();
    if (few) {
      to.slots = to.count();
      to.slot_of = place_buffer::counting(to.count());
    }
    to.numbers = new_list<uint32_t>(count_);
    uint32_t *numbers = values_of<uint32_t>(to.numbers);
    in_pieces(name_, count_, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        auto slot = bits(from_[i] - first_number());
        numbers[i] = !counts_(i) ? uint32_t(to.slots) : few ? group[intptr_t(slot)] : uint32_t(slot);
      }
    });
  }

  const char *name_;
  const marked_list &keys_;
  presence counts_;
  const bits *from_;
  intptr_t count_;
  code_range range_;
  place_buffer marks_;
};

// ---- keys in a table ------------------------------------------------------------------------------------------------

// Slots of their own, by a table of keys; those that do not count have one above all others. Each thread has a table
// for its part of the elements; the keys of the others are added to the first one's.
template <class Key, class Read>
void fill_table(const char *name, const marked_list &keys, Read read, slot_table<Key> &table, key_groups &to) {
  constexpr uint32_t none = slot_table<Key>::none;
  to.elements = keys.list.size(0);
  to.numbers = new_list<uint32_t>(to.elements);
  uint32_t *slots = values_of<uint32_t>(to.numbers);
  intptr_t chunks = to.elements > (1 << 18) ? num_threads() : 1, size = (to.elements + chunks - 1) / chunks;
  std::vector<slot_table<Key>> others(size_t(chunks) - 1);
  in_chunks(name, to.elements, chunks, [&](intptr_t c, intptr_t begin, intptr_t end) {
    slot_table<Key> &own = c == 0 ? table : others[size_t(c) - 1];
    own.insert(name, begin, end, keys.counts(), read, slots + begin);
  });
  for (intptr_t c = 1; c < chunks; c++) {
    const slot_table<Key> &other = others[size_t(c) - 1];
    scratch_values<uint32_t> joined(other.count());
    table.insert(name, 0, other.count(), {}, key_reader<Key>{&other.key(0)}, joined.data());
    intptr_t first = std::min(c * size, to.elements), last = std::min(first + size, to.elements);
    in_pieces(name, last - first, [&, first](intptr_t begin, intptr_t end) {
      for (intptr_t i = first + begin; i < first + end; i++) {
        slots[i] = slots[i] == none ? none : joined[slots[i]];
      }
    });
  }
  to.slots = table.count();
  if (keys.marks) {
    in_pieces(name, to.elements, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        slots[i] = std::min(slots[i], uint32_t(to.slots));
      }
    });
  }
}

// Distinct keys, one for each slot, in their order: groups.
void sort_groups(const char *name, const array &distinct, key_groups &to) {
  new_offsets row(1);
  row.fill()[0] = 0;
  row.fill()[1] = to.slots;
  to.slot_of = place_buffer(to.slots);
  argsort_rows(name, order_keys(name, distinct), row, to.slot_of.fill());
  to.keys = gather(name, distinct, to.slot_of);
}

// Keys in parts. Returns what they keep of all that are different.
template <class Keys> scratch_values<uint64_t> fill_parts(const char *name, const Keys &keys, key_groups &to) {
  constexpr intptr_t parts = element_parts::parts;
  auto made = std::make_shared<slot_parts>(keys.parts, std::vector<int64_t>());
  const element_parts &own = made->elements;
  to.elements = own.elements();
  to.numbers = new_list<uint32_t>(to.elements);
  new_offsets first(parts);
  in_pieces_of_rows(name, own.offsets(), parts, [&](intptr_t begin, intptr_t end) {
    slot_table<typename Keys::key> table;
    for (intptr_t part = begin; part < end; part++) {
      table.forget();
      table.insert(name, own.begin(part), own.begin(part + 1), {}, keys.read(),
                   values_of<uint32_t>(to.numbers) + own.begin(part));
      for (intptr_t s = 0; s < table.count(); s++) {
        keys.keep(own.begin(part) + s, table.key(s));
      }
      first.fill()[part + 1] = table.count();
    }
  });
  to.slots = make_offsets(name, first.fill(), parts);
  made->first.assign(first.at, first.at + parts + 1);
  scratch_values<uint64_t> distinct(to.slots);
  for (intptr_t part = 0; part < parts; part++) {
    std::copy_n(keys.kept() + own.begin(part), first.length(part), distinct.data() + first.at[part]);
  }
  to.parts = made;
  return distinct;
}

template <class Code> void group_numbers(const char *name, const marked_list &keys, key_groups &to) {
  number_reader<Code> read{keys.list->values().address};
  slot_table<number_key> table;
  scratch_values<uint64_t> codes;
  if constexpr (sizeof(typename Code::bits) >= 4) { // a table of all narrower numbers is small
    if (are_many(name, keys, read)) {
      codes = fill_parts(name, parted_numbers(name, keys.list.size(0), read), to);
    }
  }
  if (!to.parts) {
    fill_table(name, keys, read, table, to);
  }
  array distinct = new_list(keys.list.type().element(), to.slots);
  in_pieces(name, to.slots, [&](intptr_t begin, intptr_t end) {
    for (intptr_t s = begin; s < end; s++) {
      reinterpret_cast<typename Code::bits *>(distinct->values().address)[s] =
          number_of<Code>(to.parts ? codes[s] : table.key(s).code, false);
    }
  });
  sort_groups(name, distinct, to);
}

void group_texts(const char *name, const marked_list &keys, key_groups &to) {
  slot_table<text_key> table;
  scratch_values<uint64_t> numbers;
  text_reader read(keys.list);
  if (are_many(name, keys, read)) {
    if (parted_texts parted(name, keys.list.size(0), read); parted) {
      numbers = fill_parts(name, parted, to);
    }
  }
  if (!to.parts) {
    fill_table(name, keys, read, table, to);
  }
  place_buffer first(to.slots);
  in_pieces(name, to.slots, [&](intptr_t begin, intptr_t end) {
    for (intptr_t s = begin; s < end; s++) {
      first.fill()[s] = to.parts ? int64_t(numbers[s]) : table.key(s).position;
    }
  });
  sort_groups(name, gather(name, keys.list, first), to);
}

// ---- columns --------------------------------------------------------------------------------------------------------

// Elements that do not count have the slot above all others, which is no group's.
key_groups group_counted(const char *name, const marked_list &keys);

bool is_option(const array &list) { return list->type->element->kind == type_kind::option; }

// What does not count becomes the last group, without a key, where there is any.
void add_missing(const char *name, const marked_list &keys, key_groups &groups) {
  presence counts = keys.counts();
  std::atomic<bool> any = false;
  in_pieces(name, groups.elements, [&](intptr_t begin, intptr_t end) {
    bool found = false;
    for (intptr_t i = begin; i < end; i++) {
      found |= !counts(i);
    }
    if (found) {
      any = true;
    }
  });
  if (any) {
    place_buffer slots(groups.count() + 1);
    std::copy_n(groups.slot_of.data(), groups.count(), slots.fill());
    slots.fill()[groups.count()] = groups.slots++;
    groups.slot_of = slots;
  }
}

// Every element has a group.
key_groups group_all(const char *name, const marked_list &keys) {
  if (!is_option(keys.list)) {
    key_groups groups = group_counted(name, keys);
    if (keys.marks) {
      add_missing(name, keys, groups);
    }
    return groups;
  }
  marked_list inside = keys.inside(name);
  key_groups groups = group_counted(name, inside);
  add_missing(name, inside, groups);
  place_buffer places = place_buffer::counting(groups.count());
  if (groups.keys.size(0) < groups.count()) {
    places.fill()[groups.count() - 1] = -1;
  }
  groups.keys = gather_or_missing(name, groups.keys, places);
  return groups;
}

// All elements in one group.
key_groups one_group(intptr_t elements) {
  key_groups one;
  one.numbers = new_list<uint32_t>(elements);
  std::fill_n(values_of<uint32_t>(one.numbers), elements, 0);
  one.elements = elements;
  one.slots = 1;
  one.slot_of = place_buffer::counting(1);
  return one;
}

// The rank of each element in one, then in the other, as one number.
array joined_ranks(const char *name, const key_groups &one, const key_groups &other) {
  key_groups a = one.in_order(), b = other.in_order();
  scratch_values<uint32_t> rank_a = a.group_of_slots(), rank_b = b.group_of_slots();
  array ranks = new_list<uint64_t>(a.elements);
  uint64_t *to = values_of<uint64_t>(ranks), each = uint64_t(b.count());
  a.with_slots([&](auto slot_a) {
    b.with_slots([&](auto slot_b) {
      in_pieces(name, a.elements, [&](intptr_t begin, intptr_t end) {
        for (intptr_t i = begin; i < end; i++) {
          to[i] = rank_a[intptr_t(slot_a(i))] * each + rank_b[intptr_t(slot_b(i))];
        }
      });
    });
  });
  return ranks;
}

// Groups by several columns of the same length, of which the elements count that are marked.
key_groups group_columns(const char *name, std::span<const std::string> names, std::span<const array> columns,
                         const array &marks) {
  intptr_t elements = columns[0].size(0);
  key_groups all = marks ? one_group(elements) : group_all(name, {columns[0], {}});
  std::vector<array> parts; // the keys of each column, of all groups
  if (!marks) {
    parts.push_back(all.keys);
  }
  for (const array &column : columns.subspan(parts.size())) {
    key_groups own = group_all(name, {column, marks});
    auto each = uint64_t(own.count());
    all = group_counted(name, {joined_ranks(name, all, own), marks});
    place_buffer before(all.count()), rank(all.count());
    in_pieces(name, all.count(), [&, both = values_of<uint64_t>(all.keys)](intptr_t begin, intptr_t end) {
      for (intptr_t g = begin; g < end; g++) {
        before.fill()[g] = int64_t(both[g] / each);
        rank.fill()[g] = int64_t(both[g] % each);
      }
    });
    for (array &part : parts) {
      part = gather(name, part, before);
    }
    parts.push_back(gather(name, own.keys, rank));
  }
  all.keys = zip_lists(names, parts);
  return all;
}

key_groups group_counted(const char *name, const marked_list &keys) {
  const type_data *type = keys.list->type->element;
  if (type->nfields) {
    std::vector<array> columns;
    for (int i = 0; i < type->nfields; i++) {
      columns.push_back(field(keys.list, i));
    }
    return group_columns(name, field_names(type), columns, keys.marks);
  }
  key_groups groups;
  marked_list own = {own_keys(name, keys.list), keys.marks};
  if (has_texts(own.list)) {
    group_texts(name, own, groups);
    return groups;
  }
  with_code(own.list->scalar(), [&](auto code) {
    using coding = decltype(code);
    if constexpr (coding::is_integer) {
      if (range_groups<coding>(name, own).find(groups)) {
        return;
      }
    }
    group_numbers<coding>(name, own, groups);
  });
  return groups;
}

} // namespace

key_groups group_keys(const char *name, const array &list) { return group_all(name, {list, {}}); }

key_groups group_keys(const char *name, std::span<const std::string> names, std::span<const array> lists) {
  return group_columns(name, names, lists, {});
}

key_groups group_in_rows(const char *name, const row_offsets &rows, const key_groups &keys, new_offsets &first) {
  key_groups inside = keys.in_order();
  scratch_values<uint32_t> rank = inside.group_of_slots();
  array ranks = new_list<uint64_t>(inside.elements);
  uint64_t *to = values_of<uint64_t>(ranks), each = uint64_t(inside.count());
  inside.with_slots([&](auto slot) {
    for_parts_of_rows(name, rows, [&](intptr_t r, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        to[i] = uint64_t(r) * each + rank[intptr_t(slot(i))];
      }
    });
  });
  key_groups all = group_counted(name, {ranks, {}});
  place_buffer key(all.count());
  std::fill_n(first.fill(), first.count + 1, 0);
  in_order(name, all.count(), [&, both = values_of<uint64_t>(all.keys)](intptr_t begin, intptr_t end) {
    for (intptr_t g = begin; g < end; g++) {
      first.fill()[both[g] / each + 1]++;
      key.fill()[g] = int64_t(both[g] % each);
    }
  });
  make_offsets(name, first.fill(), first.count);
  all.keys = gather(name, inside.keys, key);
  return all;
}

} // namespace dynd::nd

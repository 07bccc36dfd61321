#include "dynd/call/join_keys.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/call/key_lists.h"
#include "dynd/call/parted_keys.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

const char *const join_name = "join";
constexpr uint32_t no_slot = matched_slots::none;

// Numbers and texts of keys, those in structs and options one by one; an element that lacks one of them does not count.
void add_columns(const marked_list &keys, std::vector<marked_list> &to) {
  const type_data *type = keys.list->type->element;
  if (type->kind == type_kind::option) {
    return add_columns(keys.inside(join_name), to);
  }
  for (int i = 0; i < type->nfields; i++) {
    add_columns({field(keys.list, i), keys.marks}, to);
  }
  if (!type->nfields) {
    to.push_back({own_keys(join_name, keys.list), keys.marks});
  }
}

// The slots of integers of a small range are at their distance from the first one: a look-up is one load, where a hash
// table has a place and a key to compare.
class range_table {
public:
  // Whether the range of the keys has few numbers for so many; else a hash table is smaller.
  template <class Read> bool find_range(const marked_list &keys, Read read) {
    presence counts = keys.counts();
    uint64_t first = ~uint64_t(0), last = 0;
    in_order(join_name, keys.list.size(0), [&](intptr_t begin, intptr_t end) {
      uint64_t least = first, most = last; // registers
      for (intptr_t i = begin; i < end; i++) {
        uint64_t code = read(i).code;
        least = std::min(least, counts(i) ? code : least);
        most = std::max(most, counts(i) ? code : most);
      }
      first = least;
      last = most;
    });
    first_ = first;
    constexpr intptr_t most = intptr_t(1) << 31; // slots have 32 bits
    if (first > last || last - first >= uint64_t(std::clamp<intptr_t>(4 * keys.list.size(0), 1024, most))) {
      return false;
    }
    size_ = intptr_t(last - first) + 1;
    return true;
  }

  // The slots of the keys whose range was found; returns how many there are.
  template <class Read> intptr_t insert(const marked_list &keys, Read read, uint32_t *to) {
    slots_ = scratch_values<uint32_t>(size_ + 1); // the last one is of all other numbers
    uint32_t *slots = slots_.data(), used = 0;
    std::memset(slots, 0, size_t(size_ + 1) * sizeof(uint32_t));
    presence counts = keys.counts();
    in_order(join_name, keys.list.size(0), [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        uint32_t *slot = slots + place(read(i).code, counts(i));
        if (counts(i) && !*slot) {
          *slot = ++used;
        }
        to[i] = *slot - 1;
      }
    });
    return used;
  }

  template <class Read> void find(intptr_t begin, intptr_t end, presence counts, Read read, uint32_t *to) const {
    const uint32_t *__restrict slots = slots_.data();
    auto look = [&](auto count) {
      in_eights(
          begin, end, [&](intptr_t i) { read.fetch(i); },
          [&](intptr_t i) { to[i - begin] = slots[place(read(i).code, count(i))] - 1; });
    };
    counts ? look(counts) : look([](intptr_t) { return true; });
  }

private:
  intptr_t place(uint64_t code, bool counts) const {
    return intptr_t(counts ? std::min(code - first_, uint64_t(size_)) : uint64_t(size_));
  }

  uint64_t first_ = 0;
  intptr_t size_ = 0;
  scratch_values<uint32_t> slots_; // 1 + the slot; 0: no key has this number
};

// The slots of parts of both sides: of a key, its first row on the right side.
template <class Keys> class part_matcher {
public:
  // rows: of the right side, in the order of the parts.
  part_matcher(const Keys &left, const Keys &right, const uint32_t *rows) : left_(left), right_(right), rows_(rows) {}

  // Slots of the left side in the order of the parts, of the right side in that of its rows. Returns how many there
  // are.
  intptr_t run(intptr_t part, uint32_t *left_slots, uint32_t *right_slots) {
    intptr_t begin = right_.parts.begin(part), size = right_.parts.begin(part + 1) - begin;
    if (slots_.size() < size) {
      slots_ = scratch_values<uint32_t>(size);
      first_row_ = scratch_values<uint32_t>(size);
    }
    uint32_t *first_row = first_row_.data(), known = 0;
    table_.forget();
    table_.insert(join_name, begin, begin + size, {}, right_.read(), slots_.data());
    for (intptr_t i = 0; i < size; i++) {
      uint32_t slot = slots_[i], row = rows_[begin + i];
      if (slot == known) { // slots rise
        first_row[known++] = row;
      }
      right_slots[row] = first_row[slot];
    }
    intptr_t first = left_.parts.begin(part), last = left_.parts.begin(part + 1);
    table_.find(first, last, {}, left_.read(), left_slots + first);
    for (intptr_t i = first; i < last; i++) {
      left_slots[i] = left_slots[i] == no_slot ? no_slot : first_row[left_slots[i]];
    }
    return table_.count();
  }

private:
  const Keys &left_, &right_;
  const uint32_t *rows_;
  slot_table<typename Keys::key> table_;
  scratch_values<uint32_t> slots_, first_row_;
};

// The slots of two lists of one type.
class column_matcher {
public:
  column_matcher(const marked_list &left, const marked_list &right)
      : left_(left),
        right_(right), found_{new_list<uint32_t>(left.list.size(0)), new_list<uint32_t>(right.list.size(0))} {}

  matched_slots run() {
    if (has_texts(left_.list)) {
      text_reader left(left_.list), right(right_.list);
      if (!is_parted(right) || !by_parts<parted_texts>(left, right)) {
        by_hash(left, right);
      }
      return found_;
    }
    with_code(left_.list->scalar(), [&](auto code) {
      number_reader<decltype(code)> left{left_.list->values().address}, right{right_.list->values().address};
      if (!is_floating(left_.list->scalar()) && by_range(left, right)) {
        return;
      }
      if constexpr (sizeof(typename decltype(code)::bits) >= 4) { // a table of all narrower numbers is small
        if (is_parted(right) && by_parts<parted_numbers>(left, right)) {
          return;
        }
      }
      by_hash(left, right);
    });
    return found_;
  }

private:
  template <class Read> void by_hash(Read read_left, Read read_right) {
    slot_table<decltype(read_left(0))> table;
    in_order(join_name, found_.right.size(0), [&](intptr_t begin, intptr_t end) {
      table.insert(join_name, begin, end, right_.counts(), read_right, values_of<uint32_t>(found_.right) + begin);
    });
    found_.slots = found_.different = table.count();
    find_in(table, read_left);
  }

  template <class Read> bool by_range(Read read_left, Read read_right) {
    range_table table;
    if (!table.find_range(right_, read_right)) {
      return false;
    }
    found_.slots = found_.different = table.insert(right_, read_right, values_of<uint32_t>(found_.right));
    find_in(table, read_left);
    return true;
  }

  // Parts of both sides, if the right one has many keys. Fewer are enough than for groups: its table is read for every
  // row of the left side.
  template <class Read> bool is_parted(Read read_right) const {
    constexpr intptr_t from = 1 << 18;
    return !left_.marks && are_many(join_name, right_, read_right, from);
  }

  template <class Keys, class Read> bool by_parts(Read read_left, Read read_right) {
    Keys left(join_name, found_.left.size(0), read_left), right(join_name, found_.right.size(0), read_right);
    if (!left || !right) {
      return false;
    }
    scratch_values<uint32_t> in_parts(found_.left.size(0)), rows(found_.right.size(0));
    right.parts.move(
        rows.data(), [](intptr_t) {}, [](intptr_t i) { return uint32_t(i); });
    std::atomic<intptr_t> different = 0;
    std::vector<int64_t> work(element_parts::parts + 1); // before each part, of both sides: either may be the larger
    for (intptr_t part = 0; part <= element_parts::parts; part++) {
      work[size_t(part)] = left.parts.begin(part) + right.parts.begin(part);
    }
    in_pieces_of_rows(join_name, work.data(), element_parts::parts, [&](intptr_t begin, intptr_t end) {
      part_matcher<Keys> matcher(left, right, rows.data());
      for (intptr_t part = begin; part < end; part++) {
        different += matcher.run(part, in_parts.data(), values_of<uint32_t>(found_.right));
      }
    });
    uint32_t *to = values_of<uint32_t>(found_.left);
    left.parts.for_places([=, from = in_parts.data()](intptr_t i, int64_t place) { to[i] = from[place]; });
    found_.slots = found_.right.size(0);
    found_.different = different;
    return true;
  }

  template <class Table, class Read> void find_in(const Table &table, Read read_left) {
    in_pieces(join_name, found_.left.size(0), [&](intptr_t begin, intptr_t end) {
      table.find(begin, end, left_.counts(), read_left, values_of<uint32_t>(found_.left) + begin);
    });
  }

  const marked_list &left_, &right_;
  matched_slots found_;
};

// Two columns as one: numbers of 64 bits, marked where both have a slot.
marked_list joined_column(const array &a, const array &b, intptr_t slots) {
  intptr_t count = a.size(0);
  marked_list both = {new_list<uint64_t>(count), new_list<bool>(count)};
  const uint32_t *slot_a = values_of<uint32_t>(a), *slot_b = values_of<uint32_t>(b);
  in_pieces(join_name, count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      values_of<bool>(both.marks)[i] = slot_a[i] != no_slot && slot_b[i] != no_slot;
      values_of<uint64_t>(both.list)[i] = uint64_t(slot_a[i]) * uint64_t(slots) + slot_b[i];
    }
  });
  return both;
}

} // namespace

matched_slots match_keys(std::span<const array> left, std::span<const array> right) {
  std::vector<marked_list> columns[2];
  for (size_t k = 0; k < left.size(); k++) {
    add_columns({left[k], {}}, columns[0]);
    add_columns({right[k], {}}, columns[1]);
  }
  matched_slots all = column_matcher(columns[0][0], columns[1][0]).run();
  for (size_t k = 1; k < columns[0].size(); k++) {
    matched_slots own = column_matcher(columns[0][k], columns[1][k]).run();
    marked_list both[] = {joined_column(all.left, own.left, own.slots), joined_column(all.right, own.right, own.slots)};
    all = column_matcher(both[0], both[1]).run();
  }
  return all;
}

} // namespace dynd::nd

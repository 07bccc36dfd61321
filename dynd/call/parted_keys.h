// Keys moved into parts by their hash (element_parts.h), so that a table of a part's keys is in a cache. Private to
// dynd/call/.
//
// A table of a million keys is larger than a cache near the core, and each look-up waits for memory. Where a sample has
// many different keys, moving them all first costs less. By bits of the hash that a table of a part does not use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "dynd/call/element_parts.h"
#include "dynd/call/key_lists.h"
#include "dynd/call/slot_table.h"

namespace dynd::nd {

/// Whether many of so many keys are different: then a table of them all would be larger than a cache. `from`: how many
/// keys that takes at least.
template <class Read> bool are_many(const char *name, const marked_list &keys, Read read, intptr_t from = 1 << 20) {
  constexpr intptr_t sample = 1 << 14;
  intptr_t count = keys.list.size(0), step = count / sample;
  if (keys.marks || count < from) {
    return false;
  }
  using key = decltype(read(0));
  slot_table<key> table;
  scratch_values<uint32_t> slots(sample);
  scratch_values<key> some(sample);
  for (intptr_t i = 0; i < sample; i++) {
    some[i] = read(i * step);
  }
  table.insert(name, 0, sample, {}, key_reader<key>{some.data()}, slots.data());
  return table.count() > sample / 4 * 3;
}

inline uint64_t part_of_hash(uint64_t hash) { return (hash >> 24) % element_parts::parts; }

/// Numbers, as mixed bits: mixing is one to one, so these are compared.
class parted_numbers {
public:
  using key = mixed_key;

  template <class Read>
  parted_numbers(const char *name, intptr_t count, Read read)
      : parts(name, count, fetch_of(read), [=](intptr_t i) { return part_of_hash(read(i).hash()); }), mixed_(count) {
    parts.move(mixed_.data(), fetch_of(read), [=](intptr_t i) { return read(i).hash(); });
  }

  explicit operator bool() const { return parts.elements() < intptr_t(slot_table<key>::none); } ///< numbers of 32 bits

  struct reader {
    const uint64_t *from;
    void fetch(intptr_t i) const { fetch_ahead(from + i); }
    mixed_key operator()(intptr_t i) const { return {from[i]}; }
  };
  /// Reads keys in the order of the parts.
  reader read() const { return {mixed_.data()}; }
  /// The code of a key, over one that was read.
  void keep(intptr_t place, mixed_key key) const { mixed_[place] = unmixed_bits(key.bits); }
  const uint64_t *kept() const { return mixed_.data(); }

  element_parts parts;

private:
  template <class Read> static auto fetch_of(Read read) {
    return [=](intptr_t i) { read.fetch(i); };
  }

  scratch_values<uint64_t> mixed_;
};

/// A text of up to 16 bytes, all of it.
struct short_text_key {
  uint64_t word, last;   ///< as in text_key
  uint32_t size, number; ///< of the element that it is of

  uint64_t hash() const { return hash_of_text(word, last, size); }
  bool operator==(const short_text_key &other) const {
    return word == other.word && last == other.last && size == other.size;
  }
};

/// Texts of up to 16 bytes.
class parted_texts {
  static constexpr int64_t longest = 16;
  std::atomic<bool> too_long_ = false; // before the parts, which are made with it

public:
  using key = short_text_key;

  parted_texts(const char *name, intptr_t count, const text_reader &read)
      : parts(
            name, count, [](intptr_t) {},
            [&](intptr_t i) {
              text_key key = read(i);
              if (key.size > longest) {
                too_long_.store(true, std::memory_order_relaxed);
              }
              return part_of_hash(hash_of_text(key.word, key.last, uint64_t(key.size)));
            }) {
    if (!*this || count >= intptr_t(slot_table<key>::none)) {
      too_long_ = true;
      return;
    }
    auto nothing = [](intptr_t) {};
    words_ = scratch_values<uint64_t>(count);
    lasts_ = scratch_values<uint64_t>(count);
    places_ = scratch_values<place>(count);
    parts.move(words_.data(), nothing, [=](intptr_t i) { return read(i).word; });
    parts.move(lasts_.data(), nothing, [=](intptr_t i) { return read(i).last; });
    parts.move(places_.data(), nothing, [=](intptr_t i) { return place{uint32_t(read(i).size), uint32_t(i)}; });
  }

  /// False where there are longer texts: then nothing else is there.
  explicit operator bool() const { return !too_long_; }

  struct place {
    uint32_t size, number;
  };
  struct reader {
    const uint64_t *words, *lasts;
    const place *places;
    void fetch(intptr_t i) const {
      fetch_ahead(words + i);
      fetch_ahead(lasts + i);
      fetch_ahead(places + i);
    }
    short_text_key operator()(intptr_t i) const { return {words[i], lasts[i], places[i].size, places[i].number}; }
  };
  reader read() const { return {words_.data(), lasts_.data(), places_.data()}; }
  /// The number of the element that a key is of, over a key that was read.
  void keep(intptr_t place, const short_text_key &key) const { words_[place] = key.number; }
  const uint64_t *kept() const { return words_.data(); }

  element_parts parts;

private:
  scratch_values<uint64_t> words_, lasts_;
  scratch_values<place> places_;
};

} // namespace dynd::nd

// A hash table that numbers keys: equal keys have one number, their slot. Slots rise in the order in which keys come.
// Private to dynd/call/.
//
// The table has slots only, the keys are beside it. A batch of keys is hashed first, and what it will read is fetched
// into the cache; then the first place of each is looked at without a branch. Keys that are not there (new ones, and
// those whose place another one has) are searched after that, one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <random>
#include <string>

#include "dynd/base/cache_lines.h"
#include "dynd/base/errors.h"
#include "dynd/call/scratch.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// Another odd number in each process: who does not know it cannot choose keys that all come to the same place. Results
/// do not depend on it, because no result depends on the order of slots.
inline const uint64_t secret_factor = [] {
  try {
    std::random_device bits;
    return (uint64_t(bits()) << 32 | bits()) | 1;
  } catch (const std::exception &) { // no source of random numbers here
    return uint64_t(0x9e3779b97f4a7c15);
  }
}();

inline constexpr uint64_t second_factor = 0xd6e8feb86659fd93;

inline uint64_t mixed_bits(uint64_t x) {
  x *= secret_factor;
  return (x ^ x >> 32) * second_factor;
}

/// The odd number whose product with this one is 1.
constexpr uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd; // of 3 bits; each step doubles them
  for (int bits = 3; bits < 64; bits *= 2) {
    inverse *= 2 - odd * inverse;
  }
  return inverse;
}

/// What was mixed: other bits are mixed to other ones.
inline uint64_t unmixed_bits(uint64_t x) {
  static const uint64_t first = inverse_of(secret_factor);
  x *= inverse_of(second_factor);
  return (x ^ x >> 32) * first;
}

/// Key: a plain struct with hash(), whose high bits are used, and ==. What reads keys may have fetch(i), which is
/// called for every eighth one.
template <class Key> class slot_table {
public:
  static constexpr uint32_t none = ~uint32_t(0);

  slot_table() { clear(1 << 10); }

  /// Without keys again; the memory stays.
  void forget() {
    std::memset(slots_.data(), 0, size_t(slots_.size()) * sizeof(uint32_t));
    used_ = 1;
  }

  intptr_t count() const { return used_ - 1; }
  const Key &key(intptr_t slot) const { return keys_[slot + 1]; }

  /// The slots of the keys read(i), i from begin to end; keys that are new get one. None where they do not count.
  template <class Read>
  void insert(const char *name, intptr_t begin, intptr_t end, presence counts, Read read, uint32_t *to) {
    batch part;
    for (; begin < end; begin += batch_size, to += batch_size) {
      reserve(name);
      intptr_t n = std::min(batch_size, end - begin), left = part.look(*this, begin, n, counts, read, to);
      for (intptr_t k = 0; k < left; k++) {
        intptr_t j = part.left[k];
        to[j] = counts(begin + j) ? found_or_new(part.items[j].key, part.items[j].place) : none;
      }
    }
  }

  /// The same where keys that are new have none.
  template <class Read> void find(intptr_t begin, intptr_t end, presence counts, Read read, uint32_t *to) const {
    batch part;
    for (; begin < end; begin += batch_size, to += batch_size) {
      intptr_t n = std::min(batch_size, end - begin), left = part.look(*this, begin, n, counts, read, to);
      for (intptr_t k = 0; k < left; k++) {
        intptr_t j = part.left[k];
        to[j] = counts(begin + j) ? found(part.items[j].key, part.items[j].place) : none;
      }
    }
  }

private:
  static constexpr intptr_t batch_size = 256, share = 4; // places for each key
  static constexpr intptr_t cached_places = 1 << 15;     // a table of more is not in the first cache

  struct batch {
    struct item {
      Key key;
      uint64_t place;
    } items[batch_size];
    uint32_t left[batch_size];

    /// The slots of a batch as far as the first place of each tells, and what is left. Not inline: most of what a
    /// reader compiles to, and called once for a batch.
    template <class Read>
    [[gnu::noinline]] intptr_t look(const slot_table &table, intptr_t begin, intptr_t n, presence counts, Read read,
                                    uint32_t *to);
  };

  uint32_t found(const Key &key, uint64_t place) const {
    for (;; place = (place + 1) & (uint64_t(slots_.size()) - 1)) {
      uint32_t slot = slots_[intptr_t(place)];
      if (!slot || keys_[slot] == key) {
        return slot - 1; // none where it is 0
      }
    }
  }

  uint32_t found_or_new(const Key &key, uint64_t place) {
    for (;; place = (place + 1) & (uint64_t(slots_.size()) - 1)) {
      uint32_t &slot = slots_[intptr_t(place)];
      if (!slot) {
        keys_[used_] = key;
        slot = uint32_t(used_++);
      } else if (!(keys_[slot] == key)) {
        continue;
      }
      return slot - 1;
    }
  }

  // Room for one more batch.
  void reserve(const char *name) {
    if (used_ + batch_size > keys_.size()) {
      grow(name);
    }
  }

  // A function of its own: rare, and compiled once for all that read keys.
  [[gnu::noinline]] void grow(const char *name) {
    if (used_ + batch_size >= intptr_t(none)) {
      fail(error_kind::memory, std::string(name) + ": more than 2^32 different keys");
    }
    scratch_values<Key> known = keys_;
    clear(slots_.size() * 4);
    std::memcpy(static_cast<void *>(keys_.data()), known.data(), size_t(used_) * sizeof(Key));
    for (intptr_t k = 1; k < used_; k++) {
      uint64_t place = keys_[k].hash() >> shift_;
      while (slots_[intptr_t(place)]) {
        place = (place + 1) & (uint64_t(slots_.size()) - 1);
      }
      slots_[intptr_t(place)] = uint32_t(k);
    }
  }

  void clear(intptr_t places) {
    slots_ = scratch_values<uint32_t>(places);
    keys_ = scratch_values<Key>(places / share);
    keys_[0] = Key();
    std::memset(slots_.data(), 0, size_t(places) * sizeof(uint32_t));
    shift_ = 64 - __builtin_ctzll(uint64_t(places));
  }

  scratch_values<uint32_t> slots_; // 1 + the slot; 0: the place is free
  scratch_values<Key> keys_;       // the first one is no key
  intptr_t used_ = 1;
  int shift_ = 0;
};

template <class Key>
template <class Read>
intptr_t slot_table<Key>::batch::look(const slot_table &table, intptr_t begin, intptr_t n, presence counts, Read read,
                                      uint32_t *to) {
  const uint32_t *slots = table.slots_.data();
  const Key *known = table.keys_.data();
  int shift = table.shift_;
  intptr_t count = 0;
  auto hash = [&](intptr_t j) {
    items[j].key = read(begin + j);
    items[j].place = items[j].key.hash() >> shift;
  };
  auto compare = [&](intptr_t j) {
    uint32_t slot = slots[items[j].place];
    to[j] = slot - 1;
    left[count] = uint32_t(j);
    count += !slot | !(known[slot] == items[j].key) | !counts(begin + j);
  };
  auto fetch = [&](intptr_t j) {
    if constexpr (requires { read.fetch(j); }) {
      read.fetch(begin + j);
    }
  };
  if (table.slots_.size() <= cached_places) {
    in_eights(0, n, fetch, [&](intptr_t j) {
      hash(j);
      compare(j);
    });
    return count;
  }
  in_eights(0, n, fetch, [&](intptr_t j) {
    hash(j);
    __builtin_prefetch(slots + items[j].place);
  });
  for (intptr_t j = 0; j < n; j++) {
    __builtin_prefetch(known + slots[items[j].place]);
  }
  for (intptr_t j = 0; j < n; j++) {
    compare(j);
  }
  return count;
}

/// Reads keys that are in memory.
template <class Key> struct key_reader {
  const Key *from;

  const Key &operator()(intptr_t i) const { return from[i]; }
};

struct number_key {
  uint64_t code;
  uint64_t hash() const { return mixed_bits(code); }
  bool operator==(const number_key &other) const { return code == other.code; }
};

/// A number by its mixed bits, which say all of it.
struct mixed_key {
  uint64_t bits;
  uint64_t hash() const { return bits; }
  bool operator==(const mixed_key &other) const { return bits == other.bits; }
};

/// Of a text of up to 16 bytes, by its first and last eight.
inline uint64_t hash_of_text(uint64_t word, uint64_t last, uint64_t size) {
  uint64_t bits = mixed_bits(word + size);
  return size > 8 ? mixed_bits(bits ^ last) : bits;
}

struct text_key {
  uint64_t word; ///< its first 8 bytes, 0 after its end
  uint64_t last; ///< of more than 8 bytes, the last 8: up to 16, nothing else is read
  const char *data;
  int64_t size;
  int64_t position; ///< of the element that it is of

  uint64_t hash() const {
    if (size <= 16) {
      return hash_of_text(word, last, uint64_t(size));
    }
    uint64_t bits = mixed_bits(word + uint64_t(size));
    for (int64_t at = 8; at < size - 8; at += 8) {
      uint64_t next;
      std::memcpy(&next, data + at, 8);
      bits = mixed_bits(bits ^ next);
    }
    return mixed_bits(bits ^ last);
  }
  bool operator==(const text_key &other) const {
    return word == other.word && last == other.last && size == other.size &&
           (size <= 16 || std::memcmp(data + 8, other.data + 8, size_t(size - 16)) == 0);
  }
};

} // namespace dynd::nd

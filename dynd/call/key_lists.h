// Lists of keys: numbers, texts or bytes, with what is missing marked. Private to dynd/call/.
#pragma once

#include <span>
#include <vector>

#include "dynd/base/cache_lines.h"
#include "dynd/call/list_texts.h"
#include "dynd/call/slot_table.h"
#include "dynd/call/sort_codes.h"
#include "dynd/eval/nested.h"

namespace dynd::nd {

/// Elements of a list that count: those that are marked, or without marks all.
struct marked_list {
  array list;
  array marks; ///< bools, or null

  presence counts() const { return marks ? presence{marks->values().address, marks->value_strides()[0]} : presence{}; }
  /// Of a list of options: what is inside of them, those that are not missing and counted before.
  marked_list inside(const char *name) const;
};

/// A list of numbers or texts that nothing else writes, numbers in a native type and one after another.
array own_keys(const char *name, const array &list);

/// Reads texts as keys. What is behind a text in memory is read too, as far as texts are known to reach.
class text_reader {
public:
  explicit text_reader(const array &list);

  // In registers: a key that is put together in memory waits for its parts when it is copied from there.
  text_key operator()(intptr_t i) const {
    std::string_view text = texts_[i];
    auto size = int64_t(text.size());
    uint64_t word, last = 0;
    if (size > 8) {
      std::memcpy(&last, text.data() + size - 8, 8);
    }
    if (size > 0 && limit_ - text.data() >= 8) {
      std::memcpy(&word, text.data(), 8);
      word &= size < 8 ? (uint64_t(1) << (8 * size)) - 1 : ~uint64_t(0);
    } else {
      word = first_bytes(text.data(), size);
    }
    return {word, last, text.data(), size, i};
  }

private:
  [[gnu::noinline]] static uint64_t first_bytes(const char *data, int64_t size) {
    uint64_t word = 0;
    std::memcpy(&word, data, size_t(size < 8 ? size : 8));
    return word;
  }

  list_texts texts_;
  const char *limit_ = nullptr;
};

inline bool has_texts(const array &list) { return is_text(list->type->dtype->kind); }

/// The number that has a key: of all NaNs a quiet one.
template <class Code> typename Code::bits number_of(uint64_t key, bool descending) {
  using bits = typename Code::bits;
  constexpr auto quiet = bits(Code::infinity | bits(Code::infinity >> 1));
  return Code::is_nan(quiet) && key == ~uint64_t(0) ? quiet : Code::decode(bits(key), descending);
}

/// Reads numbers that follow each other as keys.
template <class Code> struct number_reader {
  const char *from;

  void fetch(intptr_t i) const { fetch_ahead(from + i * intptr_t(sizeof(typename Code::bits))); }
  number_key operator()(intptr_t i) const {
    typename Code::bits value;
    std::memcpy(&value, from + i * intptr_t(sizeof(value)), sizeof(value));
    return {Code::key(value, false, true)};
  }
};

// What looks numbers up is compiled in key_lists.cpp, once for all that have tables of them: the codes of with_code().
#define DYND_LOOK(extern_, ...)                                                                                        \
  extern_ template intptr_t slot_table<number_key>::batch::look(const slot_table<number_key> &, intptr_t, intptr_t,    \
                                                                presence, number_reader<number_code<__VA_ARGS__>>,     \
                                                                uint32_t *);
#define DYND_LOOKS(extern_)                                                                                            \
  DYND_LOOK(extern_, uint8_t, key_kind::unsigned_integer)                                                              \
  DYND_LOOK(extern_, uint16_t, key_kind::unsigned_integer)                                                             \
  DYND_LOOK(extern_, uint32_t, key_kind::unsigned_integer)                                                             \
  DYND_LOOK(extern_, uint64_t, key_kind::unsigned_integer)                                                             \
  DYND_LOOK(extern_, uint8_t, key_kind::signed_integer)                                                                \
  DYND_LOOK(extern_, uint16_t, key_kind::signed_integer)                                                               \
  DYND_LOOK(extern_, uint32_t, key_kind::signed_integer)                                                               \
  DYND_LOOK(extern_, uint64_t, key_kind::signed_integer)                                                               \
  DYND_LOOK(extern_, uint16_t, key_kind::floating, 10)                                                                 \
  DYND_LOOK(extern_, uint32_t, key_kind::floating, 23)                                                                 \
  DYND_LOOK(extern_, uint64_t, key_kind::floating, 52)

DYND_LOOKS(extern)

} // namespace dynd::nd

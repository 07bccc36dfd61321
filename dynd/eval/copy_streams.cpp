#include "dynd/eval/copy_streams.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/cursor.h"
#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/memory/pool.h"

namespace dynd {

namespace {

// Elements of a container, by number: all of a stream that belongs to them is in one piece of memory.
struct element_range {
  int64_t begin, count;
};

class stream_copier {
public:
  stream_copier(array_block &dst, const array_block &src) : dst_(dst), src_(src) {}

  bool is_c_order() const {
    bool all = true;
    for_each_part({src_.type}, [&](const type_part &part, const dim_path *path) {
      for (int s = part.stream; part.has_stream() && s <= part.stream + part.is_text(); s++) {
        intptr_t chained = intptr_t(stream_item(src_, s));
        const dim_path *at = s == part.stream ? path : nullptr; // the bytes of texts have no dimension
        for (; at; at = at->outer) {
          all &= src_.strides(s)[at->dim] == chained || src_.size()[at->dim] == 1;
          chained *= src_.size()[at->dim];
        }
      }
    });
    return all;
  }

  /// The elements `from` of the source's container become those of the destination's from number `to` on.
  bool copy(const type_part &part, const element_range &from, int64_t to) {
    const type_data *t = part.type;
    switch (t->kind) {
    case type_kind::scalar:
    case type_kind::byteswap:
      copy_items(part.stream, from, to);
      return true;
    case type_kind::option:
      copy_items(part.stream, from, to);
      return !has_missing_rows(part, to, from.count) && copy(part.element(), from, to);
    case type_kind::string:
    case type_kind::bytes:
    case type_kind::var_dim:
      return copy_rows(part, from, to);
    case type_kind::fixed_dim:
    case type_kind::strided_dim: {
      intptr_t size = src_.size()[part.dim];
      return copy(part.element(), {from.begin * size, from.count * size}, to * size);
    }
    case type_kind::pointer:
      return false;
    default:
      break;
    }
    bool done = true;
    for (int i = 0; i < t->nfields && done; i++) {
      done = copy(part.field(i), from, to);
    }
    return done;
  }

private:
  // The rows of a missing value have no memory in a new array; those of the source may be of length 0.
  bool has_missing_rows(const type_part &option, int64_t begin, int64_t count) const {
    return has_role(option.type->element, stream_role::rows) &&
           std::memchr(dst_.streams()[option.stream].address + begin, 0, size_t(count));
  }

  void copy_items(int s, const element_range &from, int64_t to) {
    size_t item = stream_item(src_, s), left = size_t(from.count) * item;
    const char *source = src_.streams()[s].address + size_t(from.begin) * item;
    char *target = dst_.streams()[s].address + size_t(to) * item;
    for (constexpr size_t page = 4096; left > 0; walk_.step("copy")) {
      size_t part = std::min(left, page);
      std::memcpy(target, source, part);
      target += part;
      source += part;
      left -= part;
    }
  }

  // The slots as pairs, and what of the content they show; false where they are not one after another. They are read
  // once: another thread may write them, and then the copy has to be of some rows that there were.
  template <slot_kind Kind> bool read_slots(const char *slot, int64_t count, row_extent *rows, element_range &content) {
    int64_t begin = INT64_MAX, end = 0, total = 0;
    bool rising = true;
    for (int64_t r = 0; r < count; r++, slot += slot_size(Kind)) {
      row_extent row = rows[r] = read_slot(slot, Kind);
      bool shows = row.size != 0;
      rising &= !shows || (row.start >= end && row.size > 0);
      begin = shows ? std::min(begin, row.start) : begin;
      end = shows ? row.start + row.size : end;
      total += row.size;
    }
    content = {total ? begin : 0, total ? end - begin : 0};
    return rising && content.count <= 2 * total;
  }

  bool copy_rows(const type_part &part, const element_range &from, int64_t to) {
    const stream &slots = src_.streams()[part.stream];
    auto *rows = reinterpret_cast<row_extent *>(dst_.streams()[part.stream].address) + to;
    const char *slot = slots.address + from.begin * slot_size(slots.kind);
    element_range content;
    bool follow = slots.kind == slot_kind::offsets64 ? read_slots<slot_kind::offsets64>(slot, from.count, rows, content)
                  : slots.kind == slot_kind::pairs64
                      ? read_slots<slot_kind::pairs64>(slot, from.count, rows, content)
                      : read_slots<slot_kind::offsets32>(slot, from.count, rows, content);
    if (!follow) {
      return false;
    }
    int64_t place = as_pool(dst_.streams()[part.stream].owner)->take(content.count);
    if (place < 0) {
      fail(error_kind::memory, "copy: no memory for the rows");
    }
    for (int64_t r = 0; r < from.count; r++) {
      rows[r].start = rows[r].size ? rows[r].start - content.begin + place : has_no_memory(rows[r]) ? -1 : place;
    }
    if (part.is_text()) {
      copy_items(part.stream + 1, content, place);
      return true;
    }
    return copy(part.element(), content, place);
  }

  array_block &dst_;
  const array_block &src_;
  interruptible_walk walk_;
};

} // namespace

bool try_copy_streams(array_block &dst, const array_block &src) {
  stream_copier copier(dst, src);
  without_interpreter unlocked;
  return copier.is_c_order() && copier.copy({src.type}, {0, 1}, 0);
}

} // namespace dynd

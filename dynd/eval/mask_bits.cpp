#include "dynd/eval/mask_bits.h"

#include <algorithm>
#include <utility>

#include "dynd/base/cache_lines.h"
#include "dynd/base/cpu.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/work.h"
#include "dynd/ops/isa.h"

namespace dynd {

template <class F> void mask_bits::in_words(const char *name, F f) const { in_pieces(name, before_.count, f, 64); }

mask_bits::mask_bits(const char *name, const char *mask, intptr_t count) {
  intptr_t nwords = count / 64 + 1;
  words_ = place_buffer(nwords);
  before_ = new_offsets(nwords);
  auto *words = reinterpret_cast<uint64_t *>(words_.fill());
  int64_t *counts = before_.fill() + 1;
  words[nwords - 1] = 0;
  counts[nwords - 1] = 0;
  in_pieces(
      name, nwords,
      [&](intptr_t begin, intptr_t end) {
        intptr_t first = begin * 64, last = std::min(end * 64, count);
        isa().selections->pack(words + begin, counts + begin, mask + first, size_t(last - first));
      },
      64);
  make_offsets(name, before_.fill(), nwords);
}

mask_bits::mask_bits(const char *name, place_buffer words, intptr_t count) : words_(std::move(words)) {
  before_ = new_offsets(count / 64 + 1);
  in_words(name, [&](intptr_t begin, intptr_t end) {
    for (intptr_t w = begin; w < end; w++) {
      before_.fill()[w + 1] = __builtin_popcountll(this->words()[w]);
    }
  });
  make_offsets(name, before_.fill(), before_.count);
}

row_offsets mask_bits::rows(const char *name, const row_offsets &rows) const {
  new_offsets kept(rows.count);
  in_pieces(name, rows.count + 1, [&](intptr_t begin, intptr_t end) {
    isa().selections->rank(kept.fill() + begin, rows.at + begin, size_t(end - begin), words(), before_.at);
  });
  return kept;
}

place_buffer mask_bits::positions(const char *name) const {
  place_buffer found(kept());
  in_words(name, [&](intptr_t begin, intptr_t end) {
    int64_t *to = found.fill() + before_.at[begin];
    for (intptr_t w = begin; w < end; w++) {
      if (words()[w] == ~uint64_t(0)) {
        for (int64_t k = 0; k < 64; k++) {
          *to++ = w * 64 + k;
        }
        continue;
      }
      for (uint64_t word = words()[w]; word; word &= word - 1) {
        *to++ = w * 64 + __builtin_ctzll(word);
      }
    }
  });
  return found;
}

nd::array gather_masked(const char *name, const nd::array &list, const mask_bits &mask) {
  size_t item = list->has_scalars() ? list->item_size() : 0;
  if (list.ndim() != 1 || item == 0 || list->value_strides()[0] != intptr_t(item)) {
    place_buffer found = mask.positions(name);
    return gather(name, list, found);
  }
  intptr_t kept = mask.kept();
  ref<array_block> result = new_dense(ndt::make_strided_dim(list.type().element()).get(), &kept);
  char *to = result->values().address;
  const char *from = list->values().address;
  bool streams = size_t(list.size(0) + kept) * item >= this_cpu().stream_from;
  const select_loops &loops = *isa().selections;
  auto *compress = (streams ? loops.compress_stream : loops.compress)[__builtin_ctzll(item)];
  mask.in_words(name, [&](intptr_t begin, intptr_t end) {
    compress(to + size_t(mask.before(begin)) * item, to + size_t(mask.before(end)) * item,
             from + size_t(begin) * 64 * item, mask.words() + begin);
    store_fence();
  });
  return nd::array(std::move(result));
}

} // namespace dynd

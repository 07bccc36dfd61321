// Leaves of assignment for scalars, and the conversion through a third type.
#include <algorithm>
#include <cstring>
#include <new>

#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/conversion.h"
#include "dynd/kernel/level.h"

namespace dynd {

namespace {

constexpr size_t block = 128; // elements that are gathered at once

int log2_size(size_t item) { return __builtin_ctzl(item); }

// ---- convert ------------------------------------------------------------------------------------------------------

struct convert_leaf {
  ckernel_prefix base;
  block_fn convert;
  uint16_t dst, src;
  scalar_id to, from;
};

// One block, at most 512 elements: it is written whole, or not at all and the status says why.
int convert_block(const convert_leaf *k, char *dst, const char *src, size_t n, dynd_frame *frame) {
  if (k->convert(dst, src, nullptr, nullptr, n, nullptr) == 0) [[likely]] {
    return dynd_ok;
  }
  size_t item = scalar_size[size_t(k->from)], first = 0;
  alignas(16) char value[16];
  while (first + 1 < n && k->convert(value, src + first * item, nullptr, nullptr, 1, nullptr) == 0) {
    first++;
  }
  try {
    refusal why = why_refused(k->to, k->from, src + first * item);
    return report(frame, int(why.kind), "%s", why.text.c_str());
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "no memory to say which value was refused");
  }
}

// Elements that stand apart: gathered and scattered. Apart from `convert`, which needs no such buffers.
[[gnu::noinline]] int convert_strided(const convert_leaf *k, char *dst, intptr_t dst_stride, const char *src,
                                      intptr_t src_stride, size_t count, dynd_frame *frame) {
  size_t to = scalar_size[size_t(k->to)], from = scalar_size[size_t(k->from)];
  const isa_table &table = isa();
  alignas(64) char gathered[block * 16 + 64], converted[block * 16 + 64];
  for (size_t done = 0; done < count; done += block) {
    size_t n = std::min(block, count - done);
    table.fetch(log2_size(from)).load_strided(gathered, src + intptr_t(done) * src_stride, src_stride, n);
    if (int status = convert_block(k, converted, gathered, n, frame)) {
      return status;
    }
    table.fetch(log2_size(to)).store_strided(dst + intptr_t(done) * dst_stride, dst_stride, converted, n);
  }
  return dynd_ok;
}

int convert(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const convert_leaf *>(self);
  char *dst = stream[k->dst], *src = stream[k->src];
  intptr_t dst_stride = stride[k->dst], src_stride = stride[k->src];
  intptr_t to = intptr_t(scalar_size[size_t(k->to)]), from = intptr_t(scalar_size[size_t(k->from)]);
  if (count != 1 && (dst_stride != to || src_stride != from)) {
    return convert_strided(k, dst, dst_stride, src, src_stride, count, frame);
  }
  for (size_t done = 0; done < count; done += 512) {
    size_t n = std::min<size_t>(512, count - done);
    if (int status = convert_block(k, dst + intptr_t(done) * to, src + intptr_t(done) * from, n, frame)) {
      return status;
    }
  }
  return dynd_ok;
}

// ---- bytes as they are, and turned around -------------------------------------------------------------------------

struct bytes_leaf {
  ckernel_prefix base;
  uint16_t dst, src;
  uint32_t size; // of an element; of what is turned around, one component
  uint32_t components;
};

int copy_bytes(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *) {
  auto *k = reinterpret_cast<const bytes_leaf *>(self);
  char *dst = stream[k->dst], *src = stream[k->src];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst], src += stride[k->src]) {
    std::memcpy(dst, src, k->size);
  }
  return dynd_ok;
}

template <class Word> void swap_words(char *dst, const char *src, size_t components) {
  for (size_t c = 0; c < components; c++) {
    Word word;
    std::memcpy(&word, src + c * sizeof(Word), sizeof(Word));
    word = sizeof(Word) == 2   ? Word(__builtin_bswap16(uint16_t(word)))
           : sizeof(Word) == 4 ? Word(__builtin_bswap32(uint32_t(word)))
                               : Word(__builtin_bswap64(word));
    std::memcpy(dst + c * sizeof(Word), &word, sizeof(Word));
  }
}

template <class Word>
int swap_bytes(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *) {
  auto *k = reinterpret_cast<const bytes_leaf *>(self);
  char *dst = stream[k->dst], *src = stream[k->src];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst], src += stride[k->src]) {
    swap_words<Word>(dst, src, k->components);
  }
  return dynd_ok;
}

size_t make_bytes_leaf(ckernel_builder &out, size_t offset, streams_strided_t function, int dst, int src, size_t size,
                       size_t components) {
  out.ensure_capacity_leaf(offset + sizeof(bytes_leaf));
  auto *k = out.get_at<bytes_leaf>(offset);
  k->dst = uint16_t(dst);
  k->src = uint16_t(src);
  k->size = uint32_t(size);
  k->components = uint32_t(components);
  k->base.function = reinterpret_cast<void *>(function);
  return offset + sizeof(bytes_leaf);
}

// ---- through a third type -----------------------------------------------------------------------------------------

struct through_kernel {
  ckernel_prefix base;
  size_t scratch; // offset into the frame's
  uint32_t nstreams, item;
  uint32_t second, unused; // where the second child begins, 0 before there is one

  ckernel_prefix *child(size_t at) { return reinterpret_cast<ckernel_prefix *>(reinterpret_cast<char *>(this) + at); }
};

void destroy_through(ckernel_prefix *self) {
  auto *k = reinterpret_cast<through_kernel *>(self);
  destroy_child(k->child(sizeof(through_kernel)));
  if (k->second) {
    destroy_child(k->child(k->second));
  }
}

int run_through(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                dynd_frame *frame) {
  auto *k = reinterpret_cast<through_kernel *>(const_cast<ckernel_prefix *>(self)); // reads only
  char *at[max_call_streams];
  intptr_t step[max_call_streams];
  std::memcpy(at, stream, k->nstreams * sizeof(char *));
  std::memcpy(step, stride, k->nstreams * sizeof(intptr_t));
  at[k->nstreams] = frame->scratch + k->scratch;
  step[k->nstreams] = k->item;
  for (size_t done = 0; done < count; done += block) {
    size_t n = std::min(block, count - done);
    if (int status = call_strided(k->child(sizeof(through_kernel)), at, step, n, frame)) {
      return status;
    }
    if (int status = call_strided(k->child(k->second), at, step, n, frame)) {
      return status;
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] += intptr_t(n) * step[s];
    }
  }
  return dynd_ok;
}

} // namespace

size_t make_convert_leaf(ckernel_builder &out, size_t offset, int dst, scalar_id to, int src, scalar_id from,
                         error_mode mode) {
  out.ensure_capacity_leaf(offset + sizeof(convert_leaf));
  auto *k = out.get_at<convert_leaf>(offset);
  k->convert = isa().convert_checked(mode, to, from);
  k->dst = uint16_t(dst);
  k->src = uint16_t(src);
  k->to = to;
  k->from = from;
  k->base.function = reinterpret_cast<void *>(convert);
  return offset + sizeof(convert_leaf);
}

size_t make_copy_leaf(ckernel_builder &out, size_t offset, int dst, int src, size_t size) {
  return make_bytes_leaf(out, offset, copy_bytes, dst, src, size, 1);
}

size_t make_swap_leaf(ckernel_builder &out, size_t offset, int dst, int src, scalar_id scalar) {
  size_t components = component_count(scalar), size = scalar_size[size_t(scalar)] / components;
  streams_strided_t function = size == 2   ? swap_bytes<uint16_t>
                               : size == 4 ? swap_bytes<uint32_t>
                                           : swap_bytes<uint64_t>;
  return make_bytes_leaf(out, offset, function, dst, src, size, components);
}

size_t begin_through(ckernel_builder &out, size_t offset, int nstreams, scalar_id between) {
  size_t end = offset + sizeof(through_kernel);
  out.ensure_capacity(end);
  auto *k = out.get_at<through_kernel>(offset);
  k->base.destructor = destroy_through;
  k->base.function = reinterpret_cast<void *>(run_through);
  k->item = scalar_size[size_t(between)];
  k->nstreams = uint32_t(nstreams);
  k->scratch = ckernel_builder_reserve_scratch(&out, block * k->item + 64);
  return end;
}

void set_second_child(ckernel_builder &out, size_t through, size_t second) {
  out.ensure_capacity(second); // its prefix is there, and zero, before it counts
  out.get_at<through_kernel>(through)->second = uint32_t(second - through);
}

} // namespace dynd

// The leaves of assignment: scalars; strings and bytes, copied, formatted from scalars, parsed to scalars.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/level.h"
#include "dynd/kernel/program.h"
#include "dynd/memory/pool.h"
#include "dynd/ops/parse.h"
#include "dynd/type/utf8.h"

namespace dynd {

namespace {

// ---- scalars ------------------------------------------------------------------------------------------------------

// A chain of one step would do the same; but to make one costs as much as a whole small assignment, and a call of it
// three times as much: rows inside of elements are short.

constexpr size_t gathered_at_once = 128;

struct convert_leaf {
  ckernel_prefix base;
  batch_fn convert;
  uint16_t dst, src;
  scalar_id to, from;
};

int convert_contiguous(const convert_leaf *k, char *dst, const char *src, size_t n, dynd_frame *frame) {
  if (k->convert(dst, src, nullptr, nullptr, n, nullptr) == 0) [[likely]] {
    return dynd_ok;
  }
  size_t item = scalar_size[size_t(k->from)], first = 0;
  alignas(16) char value[max_scalar_size];
  while (first + 1 < n && k->convert(value, src + first * item, nullptr, nullptr, 1, nullptr) == 0) {
    first++;
  }
  fail_element(frame, first);
  return report_refusal(frame, k->to, k->from, src + first * item);
}

// Elements that are not contiguous: gathered and scattered. Not inline, so that `convert` does not pay for the buffers.
[[gnu::noinline]] int convert_strided(const convert_leaf *k, char *dst, intptr_t dst_stride, const char *src,
                                      intptr_t src_stride, size_t count, dynd_frame *frame) {
  const fetch_functions &to = isa().fetch(log2_size(k->to)), &from = isa().fetch(log2_size(k->from));
  alignas(64) char gathered[gathered_at_once * max_scalar_size + 64],
      converted[gathered_at_once * max_scalar_size + 64];
  for (size_t done = 0; done < count; done += gathered_at_once) {
    size_t n = std::min(gathered_at_once, count - done);
    from.load_strided(gathered, src + intptr_t(done) * src_stride, src_stride, n);
    if (int status = convert_contiguous(k, converted, gathered, n, frame)) {
      add_to_failed_index(frame, done);
      return status;
    }
    to.store_strided(dst + intptr_t(done) * dst_stride, dst_stride, converted, n);
  }
  return dynd_ok;
}

int convert(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const convert_leaf *>(self);
  intptr_t dst_stride = stride[k->dst], src_stride = stride[k->src];
  bool contiguous = dst_stride == scalar_size[size_t(k->to)] && src_stride == scalar_size[size_t(k->from)];
  return contiguous || count == 1
             ? convert_contiguous(k, stream[k->dst], stream[k->src], count, frame)
             : convert_strided(k, stream[k->dst], dst_stride, stream[k->src], src_stride, count, frame);
}

// ---- texts --------------------------------------------------------------------------------------------------------

struct text_leaf {
  ckernel_prefix base;
  text_slots dst, src; // of a number: its stream only
  uint16_t pool;
  scalar_id scalar; // of the number
  bool swapped;     // it is in the other order of bytes
  bool checked;     // the bytes must be UTF-8
  error_mode mode;
};

// A text whose length does not fit.
int refuse_length(const text_leaf *k, std::string_view text, dynd_frame *frame) {
  const type_data *to = k->dst.fixed;
  if (to->kind == type_kind::fixed_string) {
    int shown = int(whole_characters(text, 60));
    return report(frame, dynd_error_overflow, "overflow while assigning string \"%.*s%s\" of %zu bytes to %s", shown,
                  text.data(), size_t(shown) < text.size() ? "..." : "", text.size(), to->text);
  }
  bool large = text.size() > size_t(to->size);
  return report(frame, large ? dynd_error_overflow : dynd_error_value,
                large ? "overflow while assigning %zu bytes to %s"
                      : "cannot assign %zu bytes to %s, which has no fewer",
                text.size(), to->text);
}

// Puts a text in the place of the slot's old one, or in another.
int put_in_slot(const text_leaf *k, char *const *stream, char *slot, std::string_view text, dynd_frame *frame) {
  auto *pool = reinterpret_cast<row_pool *>(stream[k->pool]);
  if (!pool) {
    return report(frame, dynd_error_type, "assign: the texts of this array cannot be replaced");
  }
  int64_t pair[2];
  std::memcpy(pair, slot, sizeof(pair));
  int64_t start = pool->replace(pair[0], pair[1], int64_t(text.size()));
  if (start < 0) {
    return report(frame, dynd_error_memory, "assign: no memory for a text of %zu bytes", text.size());
  }
  std::memcpy(stream[k->dst.stream + 1] + start, text.data(), text.size());
  pair[0] = start;
  pair[1] = int64_t(text.size());
  std::memcpy(slot, pair, sizeof(pair));
  return dynd_ok;
}

int put_text(const text_leaf *k, char *const *stream, char *slot, std::string_view text, dynd_frame *frame) {
  if (!k->dst.fixed) {
    return put_in_slot(k, stream, slot, text, frame);
  }
  bool stored = store_fixed_text(slot, k->dst.fixed, text, k->mode == error_mode::nocheck);
  return stored ? int(dynd_ok) : refuse_length(k, text, frame);
}

// AnyFixed: the length of texts is fixed on one side or both.
template <bool AnyFixed>
int copy_text(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
              dynd_frame *frame) {
  auto *k = reinterpret_cast<const text_leaf *>(self);
  const text_slots texts = {k->src.stream, k->src.kind, AnyFixed ? k->src.fixed : nullptr};
  char *dst = stream[k->dst.stream], *src = stream[k->src.stream];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst.stream], src += stride[k->src.stream]) {
    std::string_view text = texts.read(stream, src);
    if (k->checked && !is_utf8(text)) {
      fail_element(frame, i);
      return report(frame, dynd_error_value, "the bytes are not UTF-8 text");
    }
    if (int status = (AnyFixed ? put_text : put_in_slot)(k, stream, dst, text, frame)) {
      fail_element(frame, i);
      return status;
    }
  }
  return dynd_ok;
}

int format(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const text_leaf *>(self);
  char *dst = stream[k->dst.stream], *src = stream[k->src.stream];
  try {
    std::string text;
    for (size_t i = 0; i < count; i++, dst += stride[k->dst.stream], src += stride[k->src.stream]) {
      text.clear();
      char swapped[max_scalar_size];
      if (k->swapped) {
        isa().swap_bytes(k->scalar)(swapped, src, nullptr, nullptr, 1, nullptr);
      }
      append_scalar(text, k->scalar, k->swapped ? swapped : src);
      if (int status = put_text(k, stream, dst, text, frame)) {
        fail_element(frame, i);
        return status;
      }
    }
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "assign: no memory for a text");
  }
  return dynd_ok;
}

int parse(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const text_leaf *>(self);
  char *dst = stream[k->dst.stream], *src = stream[k->src.stream];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst.stream], src += stride[k->src.stream]) {
    std::string_view text = k->src.read(stream, src);
    char value[max_scalar_size];
    parsed result = parse_scalar(text, k->scalar, k->mode, value);
    if (result != parsed::good) [[unlikely]] {
      fail_element(frame, i);
      bool large = result == parsed::too_large;
      size_t shown = whole_characters(text, 60);
      return report(frame, large ? dynd_error_overflow : dynd_error_value, "%s string \"%.*s%s\" to %s",
                    large ? "overflow converting" : "cannot cast", int(shown), text.data(),
                    shown < text.size() ? "..." : "", scalar_name[size_t(k->scalar)]);
    }
    if (k->swapped) {
      isa().swap_bytes(k->scalar)(value, value, nullptr, nullptr, 1, nullptr);
    }
    std::memcpy(dst, value, scalar_size[size_t(k->scalar)]);
  }
  return dynd_ok;
}

} // namespace

size_t make_convert_leaf(ckernel_builder &out, size_t offset, const kernel_operand &dst, const kernel_operand &src,
                         error_mode mode) {
  auto *k = make_leaf<convert_leaf>(out, offset, convert);
  k->to = dst.part.scalar();
  k->from = src.part.scalar();
  k->convert = isa().convert_checked(mode, k->to, k->from);
  k->dst = uint16_t(dst.stream());
  k->src = uint16_t(src.stream());
  return offset + sizeof(convert_leaf);
}

bool checks_utf8(const type_data *to, const type_data *from) {
  return is_string(to->kind) && (!is_string(from->kind) || (to->kind == type_kind::string && to != from));
}

bool always_fits(const type_data *to, const type_data *from) {
  return !is_fixed_text(to->kind) || to == from ||
         (to->kind == type_kind::fixed_string && is_fixed_text(from->kind) && from->size <= to->size) ||
         (from->kind == type_kind::fixed_bytes && from->size == to->size);
}

size_t make_text_leaf(ckernel_builder &out, size_t offset, const kernel_operand &dst, int pool,
                      const kernel_operand &src, error_mode mode) {
  bool parses = !dst.part.is_text(), formats = !src.part.is_text();
  const kernel_operand &number = parses ? dst : src;
  auto *copies =
      is_fixed_text(dst.type()->kind) || is_fixed_text(src.type()->kind) ? copy_text<true> : copy_text<false>;
  auto *k = make_leaf<text_leaf>(out, offset, parses ? parse : formats ? format : copies);
  k->dst = dst.texts();
  k->src = src.texts();
  k->pool = uint16_t(pool);
  k->scalar = number.part.scalar();
  k->swapped = number.type()->kind == type_kind::byteswap;
  k->checked = checks_utf8(dst.type(), src.type());
  k->mode = mode;
  return offset + sizeof(text_leaf);
}

} // namespace dynd

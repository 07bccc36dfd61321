// Leaves of assignment for strings and bytes: copied, formatted from scalars, parsed to scalars.
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "dynd/array/cursor.h"
#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"
#include "dynd/ops/parse.h"
#include "dynd/type/utf8.h"

namespace dynd {

namespace {

struct text_leaf {
  ckernel_prefix base;
  text_slots dst, src; // of a number: its stream only
  uint16_t pool;
  scalar_id scalar; // of the number
  bool swapped;     // it is in the other order of bytes
  bool checked;     // the bytes must be UTF-8
  error_mode mode;
};

// Puts a text where the destination's slot says; always in new memory, because other slots may show the old one.
int put_text(const text_leaf *k, char *const *stream, char *slot, std::string_view text, dynd_frame *frame) {
  auto *pool = reinterpret_cast<row_pool *>(stream[k->pool]);
  if (!pool) {
    return report(frame, dynd_error_type, "assign: the texts of this array cannot be replaced");
  }
  int64_t start = pool->take(int64_t(text.size()));
  if (start < 0) {
    return report(frame, dynd_error_memory, "assign: no memory for a text of %zu bytes", text.size());
  }
  std::memcpy(stream[k->dst.stream + 1] + start, text.data(), text.size());
  int64_t pair[2] = {start, int64_t(text.size())};
  std::memcpy(slot, pair, sizeof(pair));
  return dynd_ok;
}

int copy_text(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
              dynd_frame *frame) {
  auto *k = reinterpret_cast<const text_leaf *>(self);
  char *dst = stream[k->dst.stream], *src = stream[k->src.stream];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst.stream], src += stride[k->src.stream]) {
    std::string_view text = k->src.read(stream, src);
    if (k->checked && !is_utf8(text)) {
      fail_element(frame, i);
      return report(frame, dynd_error_value, "the bytes are not UTF-8 text");
    }
    if (int status = put_text(k, stream, dst, text, frame)) {
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
      char value[max_scalar_size];
      std::memcpy(value, src, scalar_size[size_t(k->scalar)]);
      if (k->swapped) {
        swap_bytes(value, k->scalar);
      }
      append_scalar(text, k->scalar, value);
      if (int status = put_text(k, stream, dst, text, frame)) {
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
    char value[16];
    parsed result = parse_scalar(text, k->scalar, k->mode, value);
    if (k->swapped) {
      swap_bytes(value, k->scalar);
    }
    if (result != parsed::good) [[unlikely]] {
      fail_element(frame, i);
      bool large = result == parsed::too_large;
      bool is_long = text.size() > 60;
      size_t shown = is_long ? 60 : text.size();
      while (is_long && shown > 0 && (text[shown] & 0xc0) == 0x80) { // not in the middle of a character
        shown--;
      }
      return report(frame, large ? dynd_error_overflow : dynd_error_value, "%s string \"%.*s%s\" to %s",
                    large ? "overflow converting" : "cannot cast", int(shown), text.data(), is_long ? "..." : "",
                    scalar_name[size_t(k->scalar)]);
    }
    std::memcpy(dst, value, scalar_size[size_t(k->scalar)]);
  }
  return dynd_ok;
}

} // namespace

size_t make_text_leaf(ckernel_builder &out, size_t offset, const kernel_operand &dst, int pool,
                      const kernel_operand &src, error_mode mode) {
  bool parses = !dst.part.is_text(), formats = !src.part.is_text();
  const kernel_operand &number = parses ? dst : src;
  out.ensure_capacity_leaf(offset + sizeof(text_leaf));
  auto *k = out.get_at<text_leaf>(offset);
  k->base.set_function(parses ? parse : formats ? format : copy_text);
  k->dst = dst.texts();
  k->src = src.texts();
  k->pool = uint16_t(pool);
  k->scalar = number.part.scalar();
  k->swapped = number.type()->kind == type_kind::byteswap;
  k->checked = dst.type()->kind == type_kind::string && src.type()->kind == type_kind::bytes;
  k->mode = mode;
  return offset + sizeof(text_leaf);
}

} // namespace dynd

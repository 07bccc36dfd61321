// Leaves of assignment for strings and bytes: copied, formatted from scalars, parsed to scalars.
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "dynd/array/rows.h"
#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"
#include "dynd/ops/parse.h"
#include "dynd/type/utf8.h"

namespace dynd {

namespace {

struct text_places {
  uint16_t stream;
  slot_kind kind;

  text_places() = default;
  explicit text_places(const text_operand &operand) : stream(uint16_t(operand.stream)), kind(operand.kind) {}
  std::string_view read(char *const *streams, const char *slot) const {
    row_extent row = read_slot(slot, kind);
    return {streams[stream + 1] + row.start, size_t(row.size)};
  }
};

// Puts a text in the place of the slot's old one, or in another.
int put_text(char *const *stream, const text_places &dst, char *slot, int pool_stream, std::string_view text,
             dynd_frame *frame) {
  auto *pool = reinterpret_cast<row_pool *>(stream[pool_stream]);
  if (!pool) {
    return report(frame, dynd_error_type, "assign: the texts of this array cannot be replaced");
  }
  int64_t pair[2];
  std::memcpy(pair, slot, sizeof(pair));
  int64_t start = pool->replace(pair[0], pair[1], int64_t(text.size()));
  if (start < 0) {
    return report(frame, dynd_error_memory, "assign: no memory for a text of %zu bytes", text.size());
  }
  std::memcpy(stream[dst.stream + 1] + start, text.data(), text.size());
  pair[0] = start;
  pair[1] = int64_t(text.size());
  std::memcpy(slot, pair, sizeof(pair));
  return dynd_ok;
}

// ---- text to text -------------------------------------------------------------------------------------------------

struct text_leaf {
  ckernel_prefix base;
  text_places dst, src;
  uint16_t pool;
  bool checked;
};

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
    if (int status = put_text(stream, k->dst, dst, k->pool, text, frame)) {
      fail_element(frame, i);
      return status;
    }
  }
  return dynd_ok;
}

// ---- scalar to text -----------------------------------------------------------------------------------------------

struct format_leaf {
  ckernel_prefix base;
  text_places dst;
  uint16_t pool, src;
  scalar_id from;
  bool swapped;
};

int format(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const format_leaf *>(self);
  char *dst = stream[k->dst.stream], *src = stream[k->src];
  try {
    std::string text;
    for (size_t i = 0; i < count; i++, dst += stride[k->dst.stream], src += stride[k->src]) {
      text.clear();
      char value[max_scalar_size];
      std::memcpy(value, src, scalar_size[size_t(k->from)]);
      if (k->swapped) {
        swap_bytes(value, k->from);
      }
      append_scalar(text, k->from, value);
      if (int status = put_text(stream, k->dst, dst, k->pool, text, frame)) {
        return status;
      }
    }
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "assign: no memory for a text");
  }
  return dynd_ok;
}

// ---- text to scalar -----------------------------------------------------------------------------------------------

struct parse_leaf {
  ckernel_prefix base;
  text_places src;
  uint16_t dst;
  scalar_id to;
  bool swapped;
  error_mode mode;
};

int parse(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const parse_leaf *>(self);
  char *dst = stream[k->dst], *src = stream[k->src.stream];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst], src += stride[k->src.stream]) {
    std::string_view text = k->src.read(stream, src);
    char value[16];
    parsed result = parse_scalar(text, k->to, k->mode, value);
    if (k->swapped) {
      swap_bytes(value, k->to);
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
                    scalar_name[size_t(k->to)]);
    }
    std::memcpy(dst, value, scalar_size[size_t(k->to)]);
  }
  return dynd_ok;
}

} // namespace

size_t make_text_leaf(ckernel_builder &out, size_t offset, text_operand dst, int pool, text_operand src, bool checked) {
  out.ensure_capacity_leaf(offset + sizeof(text_leaf));
  auto *k = out.get_at<text_leaf>(offset);
  k->dst = text_places(dst);
  k->src = text_places(src);
  k->pool = uint16_t(pool);
  k->checked = checked;
  k->base.function = reinterpret_cast<void *>(copy_text);
  return offset + sizeof(text_leaf);
}

size_t make_format_leaf(ckernel_builder &out, size_t offset, text_operand dst, int pool, number_operand src) {
  out.ensure_capacity_leaf(offset + sizeof(format_leaf));
  auto *k = out.get_at<format_leaf>(offset);
  k->dst = text_places(dst);
  k->pool = uint16_t(pool);
  k->src = uint16_t(src.stream);
  k->from = src.scalar;
  k->swapped = src.swapped;
  k->base.function = reinterpret_cast<void *>(format);
  return offset + sizeof(format_leaf);
}

size_t make_parse_leaf(ckernel_builder &out, size_t offset, number_operand dst, text_operand src, error_mode mode) {
  out.ensure_capacity_leaf(offset + sizeof(parse_leaf));
  auto *k = out.get_at<parse_leaf>(offset);
  k->src = text_places(src);
  k->dst = uint16_t(dst.stream);
  k->to = dst.scalar;
  k->swapped = dst.swapped;
  k->mode = mode;
  k->base.function = reinterpret_cast<void *>(parse);
  return offset + sizeof(parse_leaf);
}

} // namespace dynd

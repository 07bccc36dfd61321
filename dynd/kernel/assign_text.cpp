// Leaves of assignment for strings and bytes: copied, formatted from scalars, parsed to scalars.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "dynd/array/array.h"
#include "dynd/array/rows.h"
#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/conversion.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"
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

// Puts a text where the destination's slot says; always in new memory, because other slots may show the old one.
int put_text(char *const *stream, const text_places &dst, char *slot, int pool_stream, std::string_view text,
             dynd_frame *frame) {
  auto *pool = reinterpret_cast<row_pool *>(stream[pool_stream]);
  if (!pool) {
    return report(frame, dynd_error_type, "the texts of this array cannot be replaced");
  }
  int64_t start = pool->take(int64_t(text.size()));
  if (start < 0) {
    return report(frame, dynd_error_memory, "no memory for a text of %zu bytes", text.size());
  }
  std::memcpy(stream[dst.stream + 1] + start, text.data(), text.size());
  int64_t pair[2] = {start, int64_t(text.size())};
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
      return report(frame, dynd_error_value, "the bytes are not UTF-8 text");
    }
    if (int status = put_text(stream, k->dst, dst, k->pool, text, frame)) {
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
};

int format(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const format_leaf *>(self);
  char *dst = stream[k->dst.stream], *src = stream[k->src];
  try {
    std::string text;
    for (size_t i = 0; i < count; i++, dst += stride[k->dst.stream], src += stride[k->src]) {
      text.clear();
      nd::append_scalar(text, k->from, src);
      if (int status = put_text(stream, k->dst, dst, k->pool, text, frame)) {
        return status;
      }
    }
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "no memory for a text");
  }
  return dynd_ok;
}

// ---- text to scalar -----------------------------------------------------------------------------------------------

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  bool same = text.size() == lower.size();
  for (size_t i = 0; same && i < text.size(); i++) {
    same = (text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]) == lower[i];
  }
  return same;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (equals_ignoring_case(text, word)) {
      return true;
    }
  }
  return false;
}

enum class parsed : uint8_t { good, not_a_value, too_large };

// Whether a number that a floating-point type does not hold is too small for it rather than too large: its first digit
// that counts stands behind the point. from_chars says the same of both.
bool is_tiny(std::string_view number) {
  size_t e = std::min(number.find_first_of("eE"), number.size());
  std::string_view mantissa = number.substr(0, e), power = number.substr(std::min(e + 1, number.size()));
  power.remove_prefix(power.starts_with('+'));
  int exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec == std::errc::result_out_of_range) {
    return power.front() == '-';
  }
  size_t point = std::min(mantissa.find('.'), mantissa.size()), first = mantissa.find_first_of("123456789");
  int64_t leading = int64_t(point) - int64_t(first) - (first < point); // "120": 2, "1.5": 0, "0.1": -1
  return leading + exponent < 0;
}

// What a type holds of a number that is out of its range: infinity or zero, or the last bits of an integer.
template <class T> T out_of_range(std::string_view number) {
  bool negative = number.front() == '-';
  if constexpr (std::is_floating_point_v<T>) {
    T size = is_tiny(number) ? T(0) : std::numeric_limits<T>::infinity();
    return negative ? -size : size;
  } else {
    uint64_t bits = 0;
    for (char digit : number.substr(negative)) {
      bits = 10 * bits + uint64_t(digit - '0');
    }
    return T(negative ? -bits : bits);
  }
}

// Under nocheck what cannot be read is as good as it can be: a beginning that is a number, else zero.
template <class T> parsed parse_number(std::string_view text, T &value, bool checked) {
  value = 0;
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '+') {
    digits.remove_prefix(1);
    if (!digits.empty() && digits.front() == '-') {
      return checked ? parsed::not_a_value : parsed::good;
    }
  }
  const char *end = digits.data() + digits.size();
  std::from_chars_result read = std::from_chars(digits.data(), end, value);
  if (checked && (read.ec == std::errc::invalid_argument || read.ptr != end)) {
    return parsed::not_a_value;
  }
  if (read.ec == std::errc::result_out_of_range) {
    value = out_of_range<T>({digits.data(), size_t(read.ptr - digits.data())});
    bool tiny = std::is_floating_point_v<T> && value == 0;
    return checked && !tiny ? parsed::too_large : parsed::good;
  }
  return parsed::good;
}

parsed parse_integer(std::string_view text, scalar_id to, bool checked, char *value) {
  parsed result;
  size_t size = scalar_size[size_t(to)];
  if (is_signed_integer(to)) {
    int64_t wide;
    result = parse_number(text, wide, checked);
    int64_t limit = size == 8 ? INT64_MAX : (int64_t(1) << (8 * size - 1)) - 1;
    if (checked && result == parsed::good && (wide > limit || wide < -limit - 1)) {
      result = parsed::too_large;
    }
    std::memcpy(value, &wide, size); // the low bytes: little-endian, and wrapping
  } else {
    uint64_t wide;
    bool negative = !text.empty() && text.front() == '-';
    result = parse_number(negative ? text.substr(1) : text, wide, checked);
    uint64_t limit = size == 8 ? UINT64_MAX : (uint64_t(1) << (8 * size)) - 1;
    if (checked && result == parsed::good && (wide > limit || (negative && wide != 0))) {
      result = parsed::too_large;
    }
    wide = negative ? -wide : wide;
    std::memcpy(value, &wide, size);
  }
  return result;
}

// One number of a floating-point type of that many bytes.
parsed parse_floating(std::string_view text, size_t size, bool checked, char *value) {
  if (size == sizeof(double)) {
    double number;
    parsed result = parse_number(text, number, checked);
    std::memcpy(value, &number, sizeof(number));
    return result;
  }
  float number;
  parsed result = parse_number(text, number, checked);
  std::memcpy(value, &number, sizeof(number));
  return result;
}

void negate_floating(char *value, size_t size) { value[size - 1] ^= char(0x80); } // the sign is the last bit

// "1.5", "2j", "1.5-2j", "(1.5-2j)", and as messages have it "(1.5 + 2j)", "(1.5 + -2j)".
parsed parse_complex(std::string_view text, size_t size, bool checked, char *value) {
  std::memset(value, 0, 2 * size);
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {
    text = trimmed(text.substr(1, text.size() - 2));
  }
  if (text.empty() || (text.back() != 'j' && text.back() != 'J')) {
    return parse_floating(text, size, checked, value);
  }
  text.remove_suffix(1);
  size_t sign = text.size();
  for (size_t i = 1; i < text.size(); i++) { // the last sign that does not belong to an exponent
    bool exponent = text[i - 1] == 'e' || text[i - 1] == 'E';
    sign = (text[i] == '+' || text[i] == '-') && !exponent ? i : sign;
  }
  if (sign == text.size()) {
    return parse_floating(text, size, checked, value + size);
  }
  bool negative = text[sign] == '-';
  std::string_view before = trimmed(text.substr(0, sign)), behind = trimmed(text.substr(sign + 1));
  if (negative && before.ends_with('+')) {
    before = trimmed(before.substr(0, before.size() - 1));
  }
  parsed real = parse_floating(before, size, checked, value);
  parsed imaginary = parse_floating(behind, size, checked, value + size);
  if (negative) {
    negate_floating(value + size, size);
  }
  return real == parsed::good ? imaginary : real;
}

struct parse_leaf {
  ckernel_prefix base;
  text_places src;
  uint16_t dst;
  scalar_id to;
  error_mode mode;
};

parsed parse_scalar(std::string_view text, const parse_leaf *k, char *value) {
  bool checked = k->mode != error_mode::nocheck;
  size_t size = scalar_size[size_t(k->to)];
  if (k->to == scalar_id::bool_) {
    bool no = is_one_of(text, {"false", "off", "no", "f", "n", "0"}), nothing = text.empty();
    bool yes = is_one_of(text, {"true", "on", "yes", "t", "y", "1"});
    *value = checked ? yes : !no && !nothing;
    return yes || no || !checked ? parsed::good : parsed::not_a_value;
  }
  if (component_count(k->to) == 2) {
    return parse_complex(text, size / 2, checked, value);
  }
  if (is_integer(k->to)) {
    return parse_integer(text, k->to, checked, value);
  }
  if (size >= sizeof(float)) {
    return parse_floating(text, size, checked, value);
  }
  double number; // a small floating-point type
  parsed result = parse_number(text, number, checked);
  error_mode mode = checked ? error_mode::overflow : error_mode::nocheck;
  block_fn convert = isa().convert_checked(mode, k->to, scalar_id::float64);
  bool overflow = convert(value, &number, nullptr, nullptr, 1, nullptr) != 0;
  return result == parsed::good && overflow ? parsed::too_large : result;
}

int parse(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const parse_leaf *>(self);
  char *dst = stream[k->dst], *src = stream[k->src.stream];
  for (size_t i = 0; i < count; i++, dst += stride[k->dst], src += stride[k->src.stream]) {
    std::string_view text = k->src.read(stream, src);
    char value[16];
    parsed result = parse_scalar(trimmed(text), k, value);
    if (result != parsed::good) [[unlikely]] {
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

size_t make_format_leaf(ckernel_builder &out, size_t offset, text_operand dst, int pool, int src, scalar_id from) {
  out.ensure_capacity_leaf(offset + sizeof(format_leaf));
  auto *k = out.get_at<format_leaf>(offset);
  k->dst = text_places(dst);
  k->pool = uint16_t(pool);
  k->src = uint16_t(src);
  k->from = from;
  k->base.function = reinterpret_cast<void *>(format);
  return offset + sizeof(format_leaf);
}

size_t make_parse_leaf(ckernel_builder &out, size_t offset, int dst, scalar_id to, text_operand src, error_mode mode) {
  out.ensure_capacity_leaf(offset + sizeof(parse_leaf));
  auto *k = out.get_at<parse_leaf>(offset);
  k->src = text_places(src);
  k->dst = uint16_t(dst);
  k->to = to;
  k->mode = mode;
  k->base.function = reinterpret_cast<void *>(parse);
  return offset + sizeof(parse_leaf);
}

} // namespace dynd

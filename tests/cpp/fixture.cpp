#include "fixture.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/eval/evaluate.h"
#include "dynd/ops/isa.h"
#include "dynd/type/fixed_text.h"

namespace dynd::testing {

namespace {

// What an array of a datashape is made of: sizes (-1: `var`), offsets of each `var` dimension, bytes of the values.
class array_parts {
public:
  explicit array_parts(ndt::type type) : type_(type), size_(type->ndim), offsets_(type->ndim, {0}) {
    for (int d = 0; d < type->ndim; d++) {
      const type_data *dim = type.at_depth(d).get();
      size_[d] = dim->kind == type_kind::fixed_dim ? dim->size : unknown;
    }
  }

  bool is_var(int d) const { return type_.at_depth(d)->kind == type_kind::var_dim; }
  intptr_t size(int d) const { return size_[size_t(d)]; }

  void note_length(int d, intptr_t length) {
    if (is_var(d)) {
      offsets_[size_t(d)].push_back(offsets_[size_t(d)].back() + length);
    } else if (size_[size_t(d)] == unknown) {
      size_[size_t(d)] = length;
    } else if (size_[size_t(d)] != length) {
      throw std::runtime_error("parse: a list of " + std::to_string(length) + " for " + std::string(type_.str()));
    }
  }

  template <class Value> void append(Value value) {
    switch (type_->scalar) {
#define DYND_SCALAR(id, name, ctype)                                                                                   \
  case scalar_id::id: {                                                                                                \
    ctype converted;                                                                                                   \
    if constexpr (std::is_arithmetic_v<ctype>) {                                                                       \
      converted = static_cast<ctype>(value);                                                                           \
    } else {                                                                                                           \
      double number = static_cast<double>(value);                                                                      \
      batch_fn convert = isa().convert(scalar_id::id, scalar_id::float64);                                             \
      convert(&converted, &number, nullptr, nullptr, 1, nullptr);                                                      \
    }                                                                                                                  \
    values_.append(reinterpret_cast<const char *>(&converted), sizeof(converted));                                     \
    break;                                                                                                             \
  }
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
    }
  }

  nd::array build(access_mode access) {
    uint8_t ours = access == access_mode::immutable ? flag_ours : 0;
    bool dense = type_->var_count == 0;
    ref<array_block> block = new_block(type_.get(), access, uint8_t(ours | (dense ? flag_dense : 0)));
    int stream = 0, outer = -1;
    for (int d = 0; d < type_->ndim; d++) {
      block->size()[d] = is_var(d) ? -1 : size_[size_t(d)] == unknown ? 0 : size_[size_t(d)];
    }
    for (int d = 0; d < type_->ndim; d++) {
      if (is_var(d)) {
        const std::vector<int64_t> &offsets = offsets_[size_t(d)];
        give(block->streams()[stream], offsets.data(), offsets.size() * sizeof(int64_t));
        block->streams()[stream].kind = slot_kind::offsets64;
        set_strides(*block, stream++, d, outer, sizeof(int64_t));
        outer = d;
      }
    }
    give(block->values(), values_.data(), values_.size());
    set_strides(*block, stream, type_->ndim, outer, intptr_t(block->item_size()));
    if (dense) {
      block->count = checked_count(block->size(), type_->ndim, block->item_size());
    }
    return nd::array(std::move(block));
  }

private:
  static constexpr intptr_t unknown = -2;

  static void give(stream &to, const void *from, size_t bytes) {
    ref<buffer> memory = allocate_buffer(bytes);
    if (bytes) {
      std::memcpy(memory->data, from, bytes);
    }
    to.address = memory->data;
    to.owner = memory.take();
  }

  // The stream runs over the axes from `outer`, the `var` dimension outside of it, up to but not including `end`.
  static void set_strides(array_block &block, int stream, int end, int outer, intptr_t item) {
    for (int d = block.ndim - 1; d >= 0; d--) {
      block.strides(stream)[d] = d >= end || d < outer ? 0 : item;
      item *= d < end && d > outer ? block.size()[d] : 1;
    }
  }

  ndt::type type_;
  std::vector<intptr_t> size_;
  std::vector<std::vector<int64_t>> offsets_;
  std::string values_;
};

class reader {
public:
  reader(array_parts &parts, ndt::type type, std::string_view values) : parts_(parts), type_(type), rest_(values) {}

  void run() {
    value(0);
    if (next() != 0) {
      throw std::runtime_error("parse: more text after the value: " + std::string(rest_));
    }
  }

private:
  char next() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0]))) {
      rest_.remove_prefix(1);
    }
    return rest_.empty() ? 0 : rest_[0];
  }

  void take(char expected) {
    if (next() != expected) {
      throw std::runtime_error(std::string("parse: expected ") + expected + " at \"" + std::string(rest_) + "\"");
    }
    rest_.remove_prefix(1);
  }

  void value(int d) {
    if (d == type_->ndim) {
      number();
      return;
    }
    take('[');
    intptr_t length = 0;
    while (next() != ']') {
      if (length++) {
        take(',');
      }
      value(d + 1);
    }
    take(']');
    parts_.note_length(d, length);
  }

  void number() {
    next();
    std::string word(rest_.substr(0, rest_.find_first_of(",] \n")));
    rest_.remove_prefix(word.size());
    if (word == "true" || word == "false") {
      parts_.append(word == "true");
    } else if (is_floating(type_->scalar) || is_complex(type_->scalar)) {
      parts_.append(std::stod(word)); // nan and inf too
    } else if (word[0] == '-') {
      parts_.append(std::stoll(word));
    } else {
      parts_.append(std::stoull(word));
    }
  }

  array_parts &parts_;
  ndt::type type_;
  std::string_view rest_;
};

// Elements that are not scalars: texts in quotes, null, {name: value, ...} and (value, ...) in the order of the type.
class element_reader {
public:
  element_reader(ndt::type type, std::string_view values) : type_(type), writer_(type), rest_(values) {}

  nd::array run(access_mode access) {
    value({type_.get()});
    if (next() != 0) {
      throw std::runtime_error("parse: more text after the value: " + std::string(rest_));
    }
    nd::array made(writer_.finish(access));
    bool replaceable = access == access_mode::readwrite && has_role(type_.get(), stream_role::texts);
    return replaceable ? nd::array(copy_values(made.get(), access)) : made;
  }

private:
  char next() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0]))) {
      rest_.remove_prefix(1);
    }
    return rest_.empty() ? 0 : rest_[0];
  }

  bool taken(std::string_view text) {
    bool there = next() != 0 && rest_.starts_with(text);
    rest_.remove_prefix(there ? text.size() : 0);
    return there;
  }

  void take(std::string_view text) {
    if (!taken(text)) {
      throw std::runtime_error("parse: expected " + std::string(text) + " at \"" + std::string(rest_) + "\"");
    }
  }

  std::string quoted() {
    take("\"");
    size_t end = rest_.find('"');
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  // How many elements the list that begins here has: commas outside of what is nested.
  intptr_t length() {
    intptr_t depth = 0, count = 0;
    bool text = false;
    for (size_t i = 0; i < rest_.size(); i++) {
      char c = rest_[i];
      text ^= c == '"';
      if (text || std::isspace(static_cast<unsigned char>(c))) {
        count = depth == 0 && count == 0 && text ? 1 : count;
        continue;
      }
      if (depth == 0 && c == ']') {
        return count;
      }
      count = count == 0 ? 1 : count;
      count += depth == 0 && c == ',';
      depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    }
    throw std::runtime_error("parse: a list without an end");
  }

  void value(const type_part &part) {
    const type_data *t = part.type;
    switch (t->kind) {
    case type_kind::scalar:
    case type_kind::byteswap:
      return scalar(part);
    case type_kind::string:
    case type_kind::bytes:
      return writer_.add_text(part.stream, quoted());
    case type_kind::fixed_string:
    case type_kind::fixed_bytes:
      if (!store_fixed_text(writer_.add_space(part.stream, size_t(t->size)), t, quoted(), false)) {
        throw std::runtime_error("parse: a text that does not fit " + std::string(t->text));
      }
      return;
    case type_kind::option:
      if (taken("null")) {
        return writer_.add_nothing(part);
      }
      writer_.add_valid(part.stream, true);
      return value(part.element());
    case type_kind::pointer:
      writer_.add_pointer(part.stream);
      return value(part.element());
    case type_kind::tuple:
    case type_kind::struct_:
      take(t->kind == type_kind::struct_ ? "{" : "(");
      for (int i = 0; i < t->nfields; i++) {
        if (i) {
          take(",");
        }
        if (t->fields[i].name) {
          take(t->fields[i].name);
          take(":");
        }
        value(part.field(i));
      }
      return take(t->kind == type_kind::struct_ ? "}" : ")");
    default: {
      take("[");
      intptr_t count = length();
      if (t->kind == type_kind::var_dim) {
        writer_.add_row(part.stream, count);
      } else if (!writer_.add_size(part.dim, count)) {
        throw std::runtime_error("parse: a list of " + std::to_string(count) + " for " + std::string(type_.str()));
      }
      for (intptr_t i = 0; i < count; i++) {
        if (i) {
          take(",");
        }
        value(part.element());
      }
      return take("]");
    }
    }
  }

  void scalar(const type_part &part) {
    bool swapped = part.type->kind == type_kind::byteswap;
    const type_data *t = swapped ? part.type->element : part.type;
    next();
    std::string word(rest_.substr(0, rest_.find_first_of(",]}) \n")));
    rest_.remove_prefix(word.size());
    array_parts one{ndt::type(t)};
    reader(one, ndt::type(t), word).run();
    nd::array made = one.build(access_mode::immutable);
    std::string bytes(made->values().address, made->item_size());
    if (swapped) {
      std::reverse(bytes.begin(), bytes.end());
    }
    writer_.add_value(part.stream, bytes.data(), bytes.size());
  }

  ndt::type type_;
  array_writer writer_;
  std::string_view rest_;
};

// Appends the lengths of all lists and the bytes of all values, in C order.
void append_bits(std::string &result, const cursor &at) {
  size_t item = at.block().item_size();
  if (!at.is_dim()) {
    result.append(at.address(), item);
    return;
  }
  dimension elements(at);
  result += "[" + std::to_string(elements.size()) + ":";
  stream_room room;
  for (int64_t i = 0; i < elements.size(); i++) {
    append_bits(result, elements.enter(i, room));
  }
}

} // namespace

nd::array parse(std::string_view datashape, std::string_view values, access_mode access) {
  ndt::type type(datashape);
  if (type->scalar == not_scalar) {
    return element_reader(type, values).run(access);
  }
  array_parts parts(type);
  reader(parts, type, values).run();
  return parts.build(access);
}

nd::array ramp(std::string_view datashape, access_mode access) {
  ndt::type type(datashape);
  array_parts parts(type);
  int64_t next = 0;
  std::vector<int> rows(type->ndim, 0);
  std::function<void(int)> fill = [&](int d) {
    if (d == type->ndim) {
      parts.append(type->scalar == scalar_id::bool_ ? next % 2 : next);
      next++;
      return;
    }
    static constexpr intptr_t lengths[] = {2, 0, 1, 3};
    intptr_t length = parts.is_var(d) ? lengths[rows[size_t(d)]++ % 4] : parts.size(d);
    for (intptr_t i = 0; i < length; i++) {
      fill(d + 1);
    }
    parts.note_length(d, length);
  };
  fill(0);
  return parts.build(access);
}

std::string text(const nd::array &a) { return nd::values_text(a); }

std::string type_text(const nd::array &a) { return std::string(a.type().str()); }

std::string bits(const nd::array &a) {
  a.eval();
  if (!a->has_scalars()) { // what is printed: memory has gaps, where values are missing
    return type_text(a) + text(a);
  }
  stream_room room;
  std::string result = type_text(a);
  append_bits(result, cursor(*a.get(), room));
  return result;
}

} // namespace dynd::testing

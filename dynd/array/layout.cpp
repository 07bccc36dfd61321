#include "dynd/array/layout.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "dynd/base/errors.h"
#include "dynd/memory/pool.h"
#include "dynd/type/slots.h"

namespace dynd {

size_t stream_item(const type_data *type, int stream, slot_kind kind) {
  switch (type->roles[stream]) {
  case stream_role::values: {
    const type_data *t = type->dtype;
    t = t->kind == type_kind::option ? t->element : t; // the usual cases without a search
    return scalar_size[size_t(t->kind == type_kind::scalar ? t->scalar : stream_scalar(type, stream))];
  }
  case stream_role::chars:
  case stream_role::valid:
    return 1;
  case stream_role::index:
    return sizeof(int64_t);
  default:
    return size_t(slot_size(kind));
  }
}

scalar_id stream_scalar(const type_data *type, int stream) {
  scalar_id found = not_scalar;
  for_each_part({type}, [&](const type_part &part, const dim_path *) {
    if (part.stream == stream && part.scalar() != not_scalar) {
      found = part.scalar();
    }
  });
  return found;
}

void set_c_order(array_block &block) {
  std::fill_n(block.strides(0), block.nstreams * block.all_ndim, 0);
  for_each_part({block.type}, [&](const type_part &part, const dim_path *path) {
    if (!part.has_stream()) {
      return;
    }
    int s = part.stream;
    intptr_t chained = intptr_t(stream_item(block, s));
    for (; path; path = path->outer) {
      block.strides(s)[path->dim] = chained;
      chained = intptr_t(size_t(chained) * size_t(block.size()[path->dim])); // of a content's own dimension: not used
    }
  });
}

namespace {

// What is in one piece of memory: the streams of everything down to the next rows, texts and pointers.
struct container {
  std::vector<int> streams;
  std::vector<pool_stream> layout;
};

class empty_maker {
public:
  empty_maker(const type_data *type, const intptr_t *size) : type_(type) {
    block_ = new_block(type, access_mode::readwrite, 0);
    set_sizes(size);
    for (int s = 0; s < block_->nstreams; s++) {
      bool slots = type->roles[s] == stream_role::rows || type->roles[s] == stream_role::texts;
      block_->streams()[s] = {nullptr, nullptr, slots ? slot_kind::pairs64 : slot_kind::none};
    }
    set_c_order(*block_);
  }

  ref<array_block> run() {
    container outer;
    std::vector<type_part> rows;
    collect({type_}, 1, outer, rows);
    for (size_t i = 0; i < outer.streams.size(); i++) {
      size_t bytes = outer.layout[i].item;
      ref<buffer> memory = allocate_buffer(bytes);
      char *address = memory->data;
      fill_new(address, bytes, outer.layout[i].fill);
      place(outer.streams[i], address, ref<counted>::adopt(memory.take()));
    }
    for (const type_part &part : rows) {
      make_pool(part);
    }
    return std::move(block_);
  }

private:
  void set_sizes(const intptr_t *size) {
    for_each_part({type_}, [&](const type_part &part, const dim_path *) {
      if (part.is_dim() && !part.is_var()) {
        intptr_t own = part.type->kind == type_kind::fixed_dim ? part.type->size : size[part.dim];
        if (own < 0) {
          fail(error_kind::value, "empty: the size of a strided dimension is not known: " + std::string(type_->text));
        }
        block_->size()[part.dim] = own;
      } else if (part.restarts()) {
        block_->size()[part.dim] = -1;
      }
    });
  }

  // The streams that are in one container with `count` elements each; what is below rows comes later.
  void collect(const type_part &part, size_t count, container &all, std::vector<type_part> &rows) {
    const type_data *t = part.type;
    auto add = [&](pool_fill fill) {
      size_t item = stream_item(type_, part.stream);
      size_t bytes;
      if (__builtin_mul_overflow(count, item, &bytes) || bytes > size_t(INTPTR_MAX)) {
        fail(error_kind::memory, "empty: array is too large: " + std::string(type_->text));
      }
      all.streams.push_back(part.stream);
      all.layout.push_back({bytes, fill});
    };
    switch (t->kind) {
    case type_kind::scalar:
    case type_kind::byteswap:
      return add(pool_fill::zeros);
    case type_kind::string:
    case type_kind::bytes:
    case type_kind::var_dim:
      add(pool_fill::pairs);
      rows.push_back(part);
      return;
    case type_kind::pointer:
      add(pool_fill::indices);
      rows.push_back(part);
      return;
    case type_kind::option:
      add(pool_fill::zeros);
      return collect(part.element(), count, all, rows);
    case type_kind::fixed_dim:
    case type_kind::strided_dim: {
      intptr_t size = block_->size()[part.dim];
      if (__builtin_mul_overflow(count, size_t(size), &count)) {
        fail(error_kind::memory, "empty: array is too large: " + std::string(type_->text));
      }
      return collect(part.element(), count, all, rows);
    }
    default:
      for (int i = 0; i < t->nfields; i++) {
        collect(part.field(i), count, all, rows);
      }
    }
  }

  // The content of rows: a pool that is found through the owner of their slots.
  void make_pool(const type_part &part) {
    container content;
    std::vector<type_part> rows;
    if (part.is_text()) {
      content.streams.push_back(part.stream + 1);
      content.layout.push_back({1, pool_fill::zeros});
    } else {
      collect(part.element(), 1, content, rows);
    }
    stream &slots = block_->streams()[part.stream];
    ref<row_pool> pool = row_pool::make(content.layout, ref<counted>::share(slots.owner));
    release(slots.owner);
    slots.owner = ref<row_pool>(pool).take();
    for (size_t i = 0; i < content.streams.size(); i++) {
      place(content.streams[i], content.layout[i].address, ref<counted>::share(pool.get()));
    }
    for (const type_part &inner : rows) {
      make_pool(inner);
    }
  }

  void place(int s, char *address, ref<counted> owner) {
    block_->streams()[s].address = address;
    block_->streams()[s].owner = owner.take();
  }

  const type_data *type_;
  ref<array_block> block_;
};

} // namespace

ref<array_block> new_empty(const type_data *type, const intptr_t *size) { return empty_maker(type, size).run(); }

void settle(array_block &block) {
  auto move = [&](int s, counted *container, size_t item) {
    stream &own = block.streams()[s];
    row_pool *pool = as_pool(container);
    ref<counted> owner = ref<counted>::share(container);
    if (pool) {
      size_t bytes = size_t(pool->used()) * item;
      ref<buffer> memory = allocate_buffer(bytes);
      std::memcpy(memory->data, own.address, bytes);
      own.address = memory->data;
      owner = ref<counted>::adopt(memory.take());
    }
    release(std::exchange(own.owner, owner.take()));
  };
  for_each_part({block.type}, [&](const type_part &part, const dim_path *path) {
    if (!part.has_stream()) {
      return;
    }
    int s = part.stream;
    row_pool *rows = part.is_text() || part.restarts() ? as_pool(block.streams()[s].owner) : nullptr;
    size_t item = 0;
    for (; path; path = path->outer) { // along the outermost: what is below one element of the content
      item = size_t(block.strides(s)[path->dim]);
    }
    counted *chars = part.is_text() ? block.streams()[s + 1].owner : nullptr;
    move(s, rows ? rows->below() : block.streams()[s].owner, item);
    if (chars) {
      move(s + 1, chars, 1);
    }
  });
  block.access = access_mode::immutable;
  block.flags |= flag_ours;
}

// ---- from values ----------------------------------------------------------------------------------------------------

array_writer::array_writer(ndt::type type)
    : type_(type), bytes_(type->nstreams), size_(type->all_ndim, -1), strided_(type->all_ndim) {
  for_each_part({type.get()}, [&](const type_part &part, const dim_path *) {
    if (part.is_dim() && !part.is_var()) {
      size_[size_t(part.dim)] = part.type->size; // -1 of a strided one
      strided_[size_t(part.dim)] = part.type->size < 0;
    }
  });
  for (int s = 0; s < type->nstreams; s++) {
    bool slots = type->roles[s] == stream_role::rows || type->roles[s] == stream_role::texts;
    bytes_[size_t(s)].resize(slots ? sizeof(int64_t) : 0);
  }
}

char *array_writer::add_space(int stream, size_t size) {
  std::vector<char> &bytes = bytes_[size_t(stream)];
  bytes.resize(bytes.size() + size);
  return bytes.data() + bytes.size() - size;
}

void array_writer::add_value(int stream, const void *value, size_t size) {
  if (size > 0) {
    std::memcpy(add_space(stream, size), value, size);
  }
}

void array_writer::add_text(int stream, std::string_view text) {
  add_row(stream, intptr_t(text.size()));
  add_value(stream + 1, text.data(), text.size());
}

void array_writer::add_valid(int stream, bool valid) { bytes_[size_t(stream)].push_back(valid); }

void array_writer::add_row(int stream, intptr_t length) {
  int64_t end;
  std::vector<char> &bytes = bytes_[size_t(stream)];
  std::memcpy(&end, bytes.data() + bytes.size() - sizeof(end), sizeof(end));
  end += length;
  add_value(stream, &end, sizeof(end));
}

void array_writer::add_pointer(int stream) {
  int64_t index = int64_t(bytes_[size_t(stream)].size() / sizeof(int64_t));
  add_value(stream, &index, sizeof(index));
}

bool array_writer::add_size(int dim, intptr_t size) {
  if (size_[size_t(dim)] < 0) {
    size_[size_t(dim)] = size;
  }
  return size_[size_t(dim)] == size;
}

void array_writer::add_nothing(const type_part &part) {
  const type_data *t = part.type;
  switch (t->kind) {
  case type_kind::scalar:
  case type_kind::byteswap: {
    char zeros[16] = {};
    return add_value(part.stream, zeros, scalar_size[size_t(part.scalar())]);
  }
  case type_kind::string:
  case type_kind::bytes:
  case type_kind::var_dim:
    return add_row(part.stream, 0);
  case type_kind::option:
    add_valid(part.stream, false);
    return add_nothing(part.element());
  case type_kind::pointer:
    add_pointer(part.stream);
    return add_nothing(part.element());
  case type_kind::fixed_dim:
  case type_kind::strided_dim: {
    intptr_t size = size_[size_t(part.dim)];
    if (size < 0) {
      fail(error_kind::value, "array: a missing value before the size of its strided dimension is known; use `var` "
                              "or a fixed size in " +
                                  std::string(type_.str()));
    }
    for (intptr_t i = 0; i < size; i++) {
      add_nothing(part.element());
    }
    return;
  }
  default:
    for (int i = 0; i < t->nfields; i++) {
      add_nothing(part.field(i));
    }
  }
}

namespace {

// {start, size} pairs instead of offsets, and a pool that new texts come from.
void make_replaceable(array_block &block, int s) {
  stream &slots = block.streams()[s], &chars = block.streams()[s + 1];
  auto *offsets = as_buffer(slots.owner);
  size_t rows = offsets->size / sizeof(int64_t) - 1, length = as_buffer(chars.owner)->size;
  ref<buffer> pairs = allocate_buffer(rows * 2 * sizeof(int64_t));
  auto *from = reinterpret_cast<const int64_t *>(offsets->data);
  auto *to = reinterpret_cast<int64_t *>(pairs->data);
  for (size_t r = 0; r < rows; r++) {
    to[2 * r] = from[r];
    to[2 * r + 1] = from[r + 1] - from[r];
  }
  pool_stream layout = {1, pool_fill::zeros};
  char *address = pairs->data;
  ref<row_pool> pool = row_pool::make({&layout, 1}, ref<counted>::adopt(pairs.take()));
  if (pool->take(int64_t(length)) < 0) {
    fail(error_kind::memory, "array: no memory for the strings");
  }
  std::memcpy(layout.address, chars.address, length);
  release(slots.owner);
  release(chars.owner);
  slots = {address, ref<row_pool>(pool).take(), slot_kind::pairs64};
  chars = {layout.address, pool.take(), slot_kind::none};
}

} // namespace

ref<array_block> array_writer::finish(access_mode access) {
  for (size_t d = 0; d < size_.size(); d++) { // a strided dimension that no element reached has size 1
    size_[d] = strided_[d] && size_[d] < 0 ? 1 : size_[d];
  }
  if (type_->scalar != not_scalar && type_->nstreams == 1) { // a small one has its data in its block
    ref<array_block> block = new_dense(type_.get(), size_.data(), access);
    if (!bytes_[0].empty()) {
      std::memcpy(block->values().address, bytes_[0].data(), bytes_[0].size());
    }
    return block;
  }
  ref<array_block> block = new_block(type_.get(), access, access == access_mode::immutable ? flag_ours : 0);
  std::copy(size_.begin(), size_.end(), block->size());
  for (int s = 0; s < block->nstreams; s++) {
    const std::vector<char> &bytes = bytes_[size_t(s)];
    ref<buffer> memory = allocate_buffer(bytes.size());
    if (!bytes.empty()) {
      std::memcpy(memory->data, bytes.data(), bytes.size());
    }
    bool slots = type_->roles[s] == stream_role::rows || type_->roles[s] == stream_role::texts;
    char *address = memory->data;
    block->streams()[s] = {address, memory.take(), slots ? slot_kind::offsets64 : slot_kind::none};
  }
  if (access == access_mode::readwrite) {
    for (int s = 0; s < block->nstreams; s++) {
      if (type_->roles[s] == stream_role::texts) {
        make_replaceable(*block, s);
      }
    }
  }
  set_c_order(*block);
  return block;
}

} // namespace dynd

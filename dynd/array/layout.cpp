#include "dynd/array/layout.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "dynd/base/errors.h"
#include "dynd/memory/pool.h"
#include "dynd/type/slots.h"

namespace dynd {

namespace {

size_t value_size(const type_part &part) {
  return is_fixed_text(part.type->kind) ? size_t(part.type->size) : scalar_size[size_t(part.scalar())];
}

size_t find_value_size(const type_data *type, int stream) {
  size_t found = 0;
  for_each_part({type}, [&](const type_part &part, const dim_path *) {
    if (part.stream == stream && (part.scalar() != not_scalar || is_fixed_text(part.type->kind))) {
      found = value_size(part);
    }
  });
  return found;
}

} // namespace

size_t stream_item(const type_data *type, int stream, slot_kind kind) {
  switch (type->roles[stream]) {
  case stream_role::values: {
    const type_data *t = type->dtype;
    t = t->kind == type_kind::option ? t->element : t; // the usual cases without a search
    return t->kind == type_kind::scalar ? scalar_size[size_t(t->scalar)] : find_value_size(type, stream);
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

bool is_slots(stream_role role) { return role == stream_role::rows || role == stream_role::texts; }

// What is in one piece of memory: the streams of everything down to the next rows, texts and pointers.
struct container {
  int slots; // the stream through which it is found; -1: it is the outermost
  std::vector<int> streams = {};
  std::vector<pool_stream> layout = {};

  void add(int stream, size_t bytes, pool_fill fill) {
    streams.push_back(stream);
    layout.push_back({bytes, fill});
  }
};

class empty_maker {
public:
  empty_maker(const type_data *type, const intptr_t *size)
      : type_(type), block_(new_block(type, access_mode::readwrite, 0)) {
    set_sizes(size);
    for (int s = 0; s < block_->nstreams; s++) {
      block_->streams()[s] = {nullptr, nullptr, is_slots(type->roles[s]) ? slot_kind::pairs64 : slot_kind::none};
    }
    set_c_order(*block_);
  }

  ref<array_block> run() {
    for (container &content : find_containers()) { // from the outside in
      if (content.slots < 0) {
        allocate(content);
      } else {
        make_pool(content);
      }
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

  std::vector<container> find_containers() const {
    std::vector<container> all = {{-1}};
    std::vector<size_t> below(type_->all_ndim); // the container of what is in rows, or behind a pointer
    for_each_part({type_}, [&](const type_part &part, const dim_path *path) {
      if (part.has_stream()) {
        size_t bytes = stream_item(type_, part.stream), in = 0;
        for (; path; path = path->outer) {
          intptr_t size = block_->size()[path->dim];
          in = size < 0 ? below[size_t(path->dim)] : in;
          if (__builtin_mul_overflow(bytes, size_t(size < 0 ? 1 : size), &bytes) || bytes > size_t(INTPTR_MAX)) {
            fail(error_kind::memory, "empty: array is too large: " + std::string(type_->text));
          }
        }
        all[in].add(part.stream, bytes, fill_of(type_->roles[part.stream]));
      }
      if (part.restarts()) {
        below[size_t(part.dim)] = all.size();
        all.push_back({part.stream});
      } else if (part.has_chars()) {
        all.push_back({part.stream});
        all.back().add(part.stream + 1, 1, pool_fill::zeros);
      }
    });
    return all;
  }

  static pool_fill fill_of(stream_role role) {
    return role == stream_role::texts   ? pool_fill::texts
           : role == stream_role::rows  ? pool_fill::rows
           : role == stream_role::index ? pool_fill::indices
                                        : pool_fill::zeros;
  }

  void allocate(const container &content) {
    for (size_t i = 0; i < content.streams.size(); i++) {
      ref<buffer> memory = allocate_buffer(content.layout[i].item);
      char *address = memory->data;
      fill_new(address, content.layout[i].item, content.layout[i].fill);
      place(content.streams[i], address, ref<counted>::adopt(memory.take()));
    }
  }

  // Rows find their pool through the owner of their slots.
  void make_pool(container &content) {
    stream &slots = block_->streams()[content.slots];
    ref<row_pool> pool = row_pool::make(content.layout, ref<counted>::share(slots.owner));
    release(slots.owner);
    slots.owner = ref<row_pool>(pool).take();
    for (size_t i = 0; i < content.streams.size(); i++) {
      place(content.streams[i], content.layout[i].address, ref<counted>::share(pool.get()));
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

namespace nd {

void find_sizes(const char *name, ndt::type type, const intptr_t *given, intptr_t *size) {
  if (!type) {
    fail(error_kind::type, std::string(name) + ": expected a type, not None");
  }
  check_data_type(type.get(), name);
  std::fill_n(size, type->all_ndim, -1);
  const type_data *t = type.get();
  for (int d = 0; d < type->ndim; d++, t = t->element) {
    if (!given && t->kind == type_kind::strided_dim) {
      fail(error_kind::type, std::string(name) +
                                 ": expected a type with the size of every dimension (\"3 * 4 * float64\"), not " +
                                 std::string(type.str()));
    }
    size[d] = given ? given[d] : t->size;
    if (t->kind != type_kind::var_dim && (size[d] < 0 || (t->size >= 0 && t->size != size[d]))) {
      fail(error_kind::value, std::string(name) + ": size " + std::to_string(size[d]) + " of axis " +
                                  std::to_string(d) + " does not fit " + std::string(type.str()));
    }
  }
}

} // namespace nd

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
    row_pool *rows = part.has_chars() || part.restarts() ? as_pool(block.streams()[s].owner) : nullptr;
    size_t item = 0;
    for (; path; path = path->outer) { // along the outermost: what is below one element of the content
      item = size_t(block.strides(s)[path->dim]);
    }
    counted *chars = part.has_chars() ? block.streams()[s + 1].owner : nullptr;
    move(s, rows ? rows->below() : block.streams()[s].owner, item);
    if (chars) {
      move(s + 1, chars, 1);
    }
  });
  block.access = access_mode::immutable;
  block.flags |= flag_ours;
}

// ---- from values ----------------------------------------------------------------------------------------------------

void growing_buffer::reserve(size_t bytes) {
  if (bytes > capacity_) {
    ref<buffer> larger = allocate_buffer(bytes);
    std::memcpy(larger->data, memory_->data, size_);
    memory_ = std::move(larger);
    capacity_ = bytes;
  }
}

ref<buffer> growing_buffer::finish() {
  if (capacity_ - size_ > capacity_ / 8) {
    ref<buffer> fitting = allocate_buffer(size_);
    std::memcpy(fitting->data, memory_->data, size_);
    return fitting;
  }
  return memory_;
}

array_writer::array_writer(ndt::type type)
    : type_(type), bytes_(type->nstreams), size_(type->all_ndim, -1), strided_(type->all_ndim) {
  for_each_part({type.get()}, [&](const type_part &part, const dim_path *) {
    if (part.is_dim() && !part.is_var()) {
      size_[size_t(part.dim)] = part.type->size; // -1 of a strided one
      strided_[size_t(part.dim)] = part.type->size < 0;
    }
  });
  for (int s = 0; s < type->nstreams; s++) {
    if (is_slots(type->roles[s])) { // the first offset
      std::memset(add_space(s, sizeof(int64_t)), 0, sizeof(int64_t));
    }
  }
}

char *array_writer::add_space(int stream, size_t size) { return bytes_[size_t(stream)].add(size); }

void array_writer::add_value(int stream, const void *value, size_t size) {
  if (size > 0) {
    std::memcpy(add_space(stream, size), value, size);
  }
}

void array_writer::add_text(int stream, std::string_view text) {
  add_row(stream, intptr_t(text.size()));
  add_value(stream + 1, text.data(), text.size());
}

void array_writer::add_valid(int stream, bool valid) { *add_space(stream, 1) = valid; }

void array_writer::add_row(int stream, intptr_t length) {
  int64_t end;
  growing_buffer &bytes = bytes_[size_t(stream)];
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
  case type_kind::byteswap:
  case type_kind::fixed_string:
  case type_kind::fixed_bytes: {
    size_t size = value_size(part);
    std::memset(add_space(part.stream, size), 0, size);
    return;
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

ref<array_block> array_writer::finish(access_mode access) {
  for (size_t d = 0; d < size_.size(); d++) { // a strided dimension that no element reached has size 1
    size_[d] = strided_[d] && size_[d] < 0 ? 1 : size_[d];
  }
  bool scalars = type_->scalar != not_scalar && type_->nstreams == 1;
  if (scalars && bytes_[0].size() <= inline_limit) { // a small one has its data in its block
    ref<array_block> block = new_dense(type_.get(), size_.data(), access);
    std::memcpy(block->values().address, bytes_[0].data(), bytes_[0].size());
    return block;
  }
  ref<array_block> block = new_block(type_.get(), access, access == access_mode::immutable ? flag_ours : 0);
  std::copy(size_.begin(), size_.end(), block->size());
  for (int s = 0; s < block->nstreams; s++) {
    ref<buffer> memory = bytes_[size_t(s)].finish();
    char *address = memory->data;
    block->streams()[s] = {address, memory.take(), is_slots(type_->roles[s]) ? slot_kind::offsets64 : slot_kind::none};
  }
  set_c_order(*block);
  note_density(*block);
  return block;
}

} // namespace dynd

// Interning. Every type_data is the head of a type_node, which also knows the strided and the var dimension over it, so
// that the dimensions of the ordinary call path are found with one atomic load. Nodes are made under one lock and never
// destroyed: a type may be held by anything, until after the last static destructor.
#include "dynd/type/type.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "dynd/base/errors.h"

namespace dynd {
namespace {

struct type_node : type_data {
  constexpr explicit type_node(const type_data &data) : type_data(data) {}

  // Null until first asked for. The dimensions are found through their element, so they are mutable in a constant type.
  mutable std::atomic<const type_node *> strided_dim{nullptr};
  mutable std::atomic<const type_node *> var_dim{nullptr};
};
static_assert(std::is_trivially_destructible_v<type_node>, "types outlive static destruction");

constexpr type_node scalar_node(scalar_id id) {
  return type_node({type_kind::scalar, id, 0, 0, uint32_t(id), -1, nullptr, scalar_name[size_t(id)]});
}

// Initialised at compile time: usable from the constructors of other static objects.
constinit const type_node scalar_nodes[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) scalar_node(scalar_id::id),
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

struct fixed_dim_key {
  const type_data *element;
  intptr_t size;
  bool operator==(const fixed_dim_key &) const = default;
};

struct fixed_dim_hash {
  size_t operator()(const fixed_dim_key &key) const {
    return std::hash<const void *>()(key.element) ^ size_t(key.size) * size_t(0x9e3779b97f4a7c15);
  }
};

struct registry {
  std::mutex mutex;                // held while a node is made
  uint32_t next_id = scalar_count; // cannot run out: 2^32 nodes are half a terabyte
  std::unordered_map<fixed_dim_key, const type_node *, fixed_dim_hash> fixed_dims;
};

registry &the_registry() {
  static registry *instance = new registry; // on purpose never deleted
  return *instance;
}

const type_node *node_of(ndt::type element, const char *caller) {
  if (!element)
    fail(error_kind::type, std::string(caller) + ": the element has no type");
  return static_cast<const type_node *>(element.get());
}

void check_room_above(const type_node *element) {
  if (element->ndim >= max_ndim)
    fail(error_kind::value, "datashape: more than " + std::to_string(max_ndim) + " dimensions");
}

/// A new dimension over `element`; the caller holds the lock. The text lies behind the node, in the same allocation.
const type_node *new_dim(registry &types, type_kind kind, const std::string &dim, intptr_t size,
                         const type_node *element) {
  std::string text = dim + " * " + element->text;
  char *memory = static_cast<char *>(::operator new(sizeof(type_node) + text.size() + 1));
  char *text_memory = memory + sizeof(type_node);
  std::memcpy(text_memory, text.c_str(), text.size() + 1);
  uint8_t var_count = uint8_t(element->var_count + (kind == type_kind::var_dim));
  return new (memory) type_node(
      {kind, element->scalar, uint8_t(element->ndim + 1), var_count, types.next_id++, size, element, text_memory});
}

/// The dimension that `slot`, a member of `element`, points to; made at first use.
const type_node *intern(std::atomic<const type_node *> &slot, type_kind kind, const char *dim,
                        const type_node *element) {
  if (const type_node *found = slot.load(std::memory_order_acquire))
    return found;
  check_room_above(element);
  registry &types = the_registry();
  std::lock_guard lock(types.mutex);
  const type_node *node = slot.load(std::memory_order_relaxed);
  if (!node) {
    node = new_dim(types, kind, dim, -1, element);
    slot.store(node, std::memory_order_release);
  }
  return node;
}

} // namespace

namespace ndt {

type make_scalar(scalar_id id) { return type(&scalar_nodes[size_t(id)]); }

type make_fixed_dim(intptr_t size, type element) {
  const type_node *element_node = node_of(element, "make_fixed_dim");
  if (size < 0)
    fail(error_kind::value, "datashape: negative dimension size " + std::to_string(size));
  check_room_above(element_node);
  registry &types = the_registry();
  std::lock_guard lock(types.mutex);
  // If there is no memory for the node, a null is left, which the next call fills.
  const type_node *&node = types.fixed_dims[{element_node, size}];
  if (!node)
    node = new_dim(types, type_kind::fixed_dim, std::to_string(size), size, element_node);
  return type(node);
}

type make_strided_dim(type element) {
  const type_node *node = node_of(element, "make_strided_dim");
  return type(intern(node->strided_dim, type_kind::strided_dim, "strided", node));
}

type make_var_dim(type element) {
  const type_node *node = node_of(element, "make_var_dim");
  return type(intern(node->var_dim, type_kind::var_dim, "var", node));
}

type type::scalar() const { return make_scalar(data_->scalar); }

type type::at_depth(int n) const {
  if (n < 0 || n > data_->ndim)
    fail(error_kind::index, "type: cannot remove " + std::to_string(n) + " dimensions from " + data_->text);
  const type_data *data = data_;
  for (; n > 0; --n)
    data = data->element;
  return type(data);
}

} // namespace ndt
} // namespace dynd

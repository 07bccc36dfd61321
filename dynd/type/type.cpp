// Interning. Every type_data is the head of a type_node, which also knows the strided and the var dimension over it, so
// that the dimensions of the ordinary call path are found with one atomic load. Nodes are made under one lock and never
// destroyed: a type may be held by anything, until after the last static destructor.
#include "dynd/type/type.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "dynd/base/errors.h"
#include "dynd/type/datashape.h"

namespace dynd {
namespace {

struct type_node : type_data {
  constexpr explicit type_node(const type_data &data) : type_data(data) {}

  // Null until first asked for. The dimensions are found through their element, so they are mutable in a constant type.
  mutable std::atomic<const type_node *> strided_dim{nullptr};
  mutable std::atomic<const type_node *> var_dim{nullptr};
};
static_assert(std::is_trivially_destructible_v<type_node>, "types outlive static destruction");

constexpr stream_role value_roles[1] = {stream_role::values};
constexpr stream_role text_roles[2] = {stream_role::texts, stream_role::chars};

// The first nodes, initialised at compile time: usable from the constructors of other static objects. Their dtype is
// themselves.
extern const type_node scalar_nodes[scalar_count];
extern const type_node string_node, bytes_node;

constexpr type_node scalar_node(scalar_id id, const type_node *self) {
  return type_node({type_kind::scalar, id, 0, 0, uint32_t(id), -1, nullptr, scalar_name[size_t(id)], self, nullptr, 0,
                    1, 0, value_roles});
}

constexpr type_node text_node(type_kind kind, const char *name, uint32_t id, const type_node *self) {
  return type_node({kind, not_scalar, 0, 0, id, -1, nullptr, name, self, nullptr, 0, 2, 0, text_roles});
}

constinit const type_node scalar_nodes[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) scalar_node(scalar_id::id, &scalar_nodes[size_t(scalar_id::id)]),
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};
constinit const type_node string_node = text_node(type_kind::string, "string", scalar_count, &string_node);
constinit const type_node bytes_node = text_node(type_kind::bytes, "bytes", scalar_count + 1, &bytes_node);

struct registry {
  std::mutex mutex;                    // held while a node is made
  uint32_t next_id = scalar_count + 2; // cannot run out: 2^32 nodes are half a terabyte
  // All types but the scalars, texts of any length and the simple dimensions, by their text: it is canonical, so it
  // says everything.
  std::unordered_map<std::string_view, const type_node *> by_text;
};

registry &the_registry() {
  static registry *instance = [] {
    auto *made = new registry; // on purpose never deleted
    pthread_atfork([] { the_registry().mutex.lock(); }, [] { the_registry().mutex.unlock(); },
                   [] { the_registry().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

const type_node *node_of(ndt::type element, const char *caller) {
  if (!element)
    fail(error_kind::type, std::string(caller) + ": the element has no type");
  return static_cast<const type_node *>(element.get());
}

void check_name(const std::string &name, const char *what) {
  if (name.find('\0') != std::string::npos)
    fail(error_kind::type, std::string("datashape: the name of a ") + what + " has a zero byte in it");
}

void check_room_above(const type_node *element) { check_ndim("datashape", element->ndim + 1); }

int depth_of(const type_data *type) {
  int inside = type->element ? depth_of(type->element) : 0;
  for (int i = 0; i < type->nfields; i++)
    inside = std::max(inside, depth_of(type->fields[i].type));
  return inside + 1;
}

void check_depth_above(const type_data *inside) {
  if (depth_of(inside) >= max_type_depth)
    fail(error_kind::value, "datashape: types nest more than " + std::to_string(max_type_depth) + " deep");
}

/// Whether elements of this kind have a stream of their own above those of what they hold.
bool adds_stream(type_kind kind) {
  return kind == type_kind::var_dim || kind == type_kind::option || kind == type_kind::pointer;
}

stream_role role_of(type_kind kind) {
  return kind == type_kind::var_dim  ? stream_role::rows
         : kind == type_kind::option ? stream_role::valid
                                     : stream_role::index;
}

/// The memory of one type, never given back: the node, and behind it what it points to. One allocation, so that
/// nothing is lost where there is no memory.
class type_memory {
public:
  explicit type_memory(size_t behind) : begin_(static_cast<char *>(::operator new(sizeof(type_node) + behind))) {
    next_ = begin_ + sizeof(type_node);
  }
  void *node() { return begin_; }
  template <class T> T *take(size_t count) {
    T *taken = reinterpret_cast<T *>(next_);
    next_ += count * sizeof(T);
    return taken;
  }
  const char *take_text(std::string_view text) {
    char *taken = take<char>(text.size() + 1);
    std::memcpy(taken, text.data(), text.size());
    taken[text.size()] = 0;
    return taken;
  }

private:
  char *begin_, *next_;
};
static_assert(alignof(type_field) <= alignof(type_node));

/// A type over one other; the caller holds the lock.
const type_node *new_over(registry &types, type_kind kind, intptr_t size, const type_node *element,
                          const std::string &text) {
  bool dim = kind >= type_kind::fixed_dim, own = adds_stream(kind);
  size_t nstreams = element->nstreams + size_t(own);
  size_t all_ndim = element->all_ndim + size_t(dim || kind == type_kind::pointer);
  check_counts(nstreams, all_ndim);
  check_depth_above(element);
  const stream_role *roles = element->roles;
  type_memory memory((own ? nstreams * sizeof(stream_role) : 0) + text.size() + 1);
  if (own) {
    stream_role *made = memory.take<stream_role>(nstreams);
    made[0] = role_of(kind);
    std::copy_n(element->roles, element->nstreams, made + 1); // a pattern has none
    roles = made;
  }
  auto *node = new (memory.node()) type_node(
      {kind, dim ? element->scalar : not_scalar, uint8_t(dim ? element->ndim + 1 : 0),
       uint8_t(dim ? element->var_count + (kind == type_kind::var_dim) : 0), types.next_id++, size, element,
       memory.take_text(text), nullptr, nullptr, 0, uint8_t(nstreams), uint8_t(all_ndim), roles, element->abstract});
  node->dtype = dim ? element->dtype : node;
  return node;
}

/// A dimension of a pattern; the caller holds the lock.
const type_node *new_pattern_dim(registry &types, type_kind kind, std::string_view name, const type_node *element,
                                 const std::string &text) {
  type_memory memory(text.size() + 1 + name.size() + 1);
  const char *own_text = memory.take_text(text), *own_name = name.empty() ? nullptr : memory.take_text(name);
  auto *node = new (memory.node())
      type_node({kind, element->scalar, uint8_t(element->ndim + 1), element->var_count, types.next_id++, -1, element,
                 own_text, element->dtype, nullptr, 0, element->nstreams, uint8_t(element->all_ndim + 1),
                 element->roles, uint8_t(element->abstract | abstract_pattern), false, 0, type_family::any, own_name});
  return node;
}

/// A variable, a family or void: an element of a pattern.
const type_node *new_pattern_element(registry &types, type_kind kind, std::string_view name, type_family family,
                                     const std::string &text) {
  type_memory memory(text.size() + 1 + name.size() + 1);
  const char *own_text = memory.take_text(text), *own_name = name.empty() ? nullptr : memory.take_text(name);
  uint8_t abstract = kind == type_kind::nothing ? abstract_signature : abstract_pattern;
  auto *node = new (memory.node()) type_node({kind, not_scalar, 0, 0, types.next_id++, -1, nullptr, own_text, nullptr,
                                              nullptr, 0, 0, 0, nullptr, abstract, false, 0, family, own_name});
  node->dtype = node;
  return node;
}

/// The type of that text; `make` is called, under the lock, where it is new.
template <class Make> ndt::type intern_text(const std::string &text, Make make) {
  registry &types = the_registry();
  std::lock_guard lock(types.mutex);
  auto found = types.by_text.find(text);
  if (found != types.by_text.end())
    return ndt::type(found->second);
  const type_node *node = make(types);
  try {
    types.by_text.emplace(node->text, node);
  } catch (...) {
    ::operator delete(const_cast<type_node *>(node)); // no other code has seen it
    throw;
  }
  return ndt::type(node);
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
    node = new_over(types, kind, -1, element, std::string(dim) + " * " + element->text);
    slot.store(node, std::memory_order_release);
  }
  return node;
}

ndt::type make_fixed_text(type_kind kind, const char *name, intptr_t size) {
  if (size < 1 || size > max_fixed_text)
    fail(error_kind::value, std::string("datashape: a ") + name + " has 1 to " + std::to_string(max_fixed_text) +
                                " bytes, not " + std::to_string(size));
  std::string text = std::string(name) + "[" + std::to_string(size) + "]";
  return intern_text(text, [&](registry &types) {
    type_memory memory(text.size() + 1);
    auto *node = new (memory.node()) type_node({kind, not_scalar, 0, 0, types.next_id++, size, nullptr,
                                                memory.take_text(text), nullptr, nullptr, 0, 1, 0, value_roles});
    node->dtype = node;
    return node;
  });
}

ndt::type make_fields(type_kind kind, std::span<const std::string> names, std::span<const ndt::type> fields,
                      bool open) {
  bool named = kind == type_kind::struct_;
  if (named && names.size() != fields.size())
    fail(error_kind::value,
         "make_struct: " + std::to_string(names.size()) + " names for " + std::to_string(fields.size()) + " fields");
  if (fields.empty() && !open)
    fail(error_kind::type, std::string("datashape: a ") + (named ? "struct" : "tuple") + " has at least one field");
  std::string text = named ? "{" : "(";
  size_t nstreams = 0, ndim = 0;
  uint8_t abstract = open ? abstract_pattern : 0;
  for (size_t i = 0; i < fields.size(); i++) {
    const type_node *type = node_of(fields[i], named ? "make_struct" : "make_tuple");
    text += i ? ", " : "";
    if (named) {
      if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i)
        fail(error_kind::type, "datashape: two fields are named " + names[i]);
      check_name(names[i], "field");
      text += field_name_text(names[i]) + ": ";
    }
    text += type->text;
    nstreams += type->nstreams;
    ndim += type->all_ndim;
    abstract |= type->abstract;
    check_counts(std::max(nstreams, i + 1), ndim);
    check_depth_above(type);
  }
  text += open ? fields.empty() ? "..." : ", ..." : "";
  text += named ? "}" : ")";
  return intern_text(text, [&](registry &types) {
    size_t behind = fields.size() * sizeof(type_field) + nstreams * sizeof(stream_role) + text.size() + 1;
    for (const std::string &name : names)
      behind += name.size() + 1;
    type_memory memory(behind);
    type_field *made = memory.take<type_field>(fields.size());
    stream_role *roles = memory.take<stream_role>(nstreams);
    size_t stream = 0, dim = 0;
    for (size_t i = 0; i < fields.size(); i++) {
      const type_data *type = fields[i].get();
      made[i] = {named ? memory.take_text(names[i]) : nullptr, type, uint8_t(stream), uint8_t(dim)};
      std::copy_n(type->roles, type->nstreams, roles + stream); // a pattern has none
      stream += type->nstreams;
      dim += type->all_ndim;
    }
    auto *node = new (memory.node())
        type_node({kind, not_scalar, 0, 0, types.next_id++, -1, nullptr, memory.take_text(text), nullptr, made,
                   uint8_t(fields.size()), uint8_t(nstreams), uint8_t(ndim), roles, abstract, open});
    node->dtype = node;
    return node;
  });
}

/// "x: inout N * float64", "ddof: int64 = 1".
std::string parameter_text(const ndt::parameter &p) {
  return (p.name.empty() ? "" : field_name_text(p.name) + ": ") + (p.inout ? "inout " : "") +
         std::string(p.type.str()) + (p.value.empty() ? "" : " = " + p.value);
}

/// "(x: N * T, *, ddof: int64 = 1) -> T"
std::string function_text(std::span<const ndt::parameter> parameters, ndt::type result, bool open) {
  std::string text;
  bool keywords = false;
  for (const ndt::parameter &p : parameters) {
    text += text.empty() ? "" : ", ";
    text += p.keyword && !keywords ? "*, " : "";
    text += parameter_text(p);
    keywords |= p.keyword;
  }
  text += open ? text.empty() ? "..." : ", ..." : "";
  return "(" + text + ") -> " + std::string(result.str());
}

} // namespace

void check_ndim(const char *name, int ndim) {
  if (ndim > max_ndim)
    fail(error_kind::value, std::string(name) + ": more than " + std::to_string(max_ndim) + " dimensions");
}

void check_counts(size_t nstreams, size_t ndim) {
  if (nstreams > max_type_streams || ndim > max_type_streams)
    fail(error_kind::value, "datashape: more than " + std::to_string(max_type_streams) + " " +
                                (nstreams > max_type_streams ? "streams (a number has one, a text two, ?T, var and "
                                                               "pointer one more)"
                                                             : "dimensions, those inside elements included"));
}

void check_data_type(const type_data *type, const char *caller) {
  if (type->abstract)
    fail(error_kind::type, std::string(caller) + ": " + type->text + " is a " +
                               (type->abstract & abstract_signature ? "signature" : "pattern") + "; no array has it");
}

bool is_of_family(const type_data *type, type_family family) {
  if (family == type_family::any)
    return true;
  if (family == type_family::text)
    return is_string(type->kind);
  if (family == type_family::scalar && is_text(type->kind))
    return true;
  if (type->kind != type_kind::scalar)
    return false;
  switch (scalar_kind[size_t(type->scalar)]) {
  case number_kind::boolean:
    return family == type_family::boolean || family == type_family::scalar;
  case number_kind::complex:
    return family == type_family::complex || family == type_family::number || family == type_family::scalar;
  case number_kind::signed_integer:
    return family == type_family::integer || family <= type_family::real;
  case number_kind::unsigned_integer:
    return family == type_family::unsigned_integer || family <= type_family::real;
  default:
    return family == type_family::floating || family <= type_family::real;
  }
}

int path_ndim(const type_data *type) {
  int ndim = type->ndim;
  for (const type_data *t = type->dtype; t->kind == type_kind::option || t->kind == type_kind::pointer;
       t = t->element->dtype) {
    ndim += t->element->ndim;
  }
  return ndim;
}

bool find_element_kind(const type_data *dtype, element_kind &kind) {
  kind.option = dtype->kind == type_kind::option;
  dtype = kind.option ? dtype->element : dtype;
  kind.swapped = dtype->kind == type_kind::byteswap;
  dtype = kind.swapped ? dtype->element : dtype;
  kind.scalar = dtype->scalar;
  return dtype->kind == type_kind::scalar;
}

element_kind kind_of_numbers(const char *operation, const type_data *operand) {
  element_kind kind;
  if (!find_element_kind(operand->dtype, kind))
    fail(error_kind::type,
         std::string(operation) + ": there is no such operation for elements of type " + operand->dtype->text);
  return kind;
}

const type_data *without_options(const type_data *type) {
  while (type->kind == type_kind::option || type->kind == type_kind::pointer) {
    type = type->element;
  }
  return type;
}

std::vector<std::string> field_names(const type_data *record) {
  std::vector<std::string> names;
  for (int i = 0; i < record->nfields && record->kind == type_kind::struct_; i++) {
    names.push_back(record->fields[i].name);
  }
  return names;
}

int find_field(const type_data *record, std::string_view name) {
  for (int i = 0; i < record->nfields && record->kind == type_kind::struct_; i++) {
    if (record->fields[i].name == name) {
      return i;
    }
  }
  return -1;
}

int partner_field(const type_data *type, const type_data *other, int i) {
  if (type->kind != type_kind::struct_ || other->kind != type_kind::struct_) {
    return i < other->nfields ? i : -1;
  }
  return find_field(other, type->fields[i].name);
}

namespace ndt {

type make_scalar(scalar_id id) { return type(&scalar_nodes[size_t(id)]); }
type make_string() { return type(&string_node); }
type make_bytes() { return type(&bytes_node); }
type make_fixed_string(intptr_t size) { return make_fixed_text(type_kind::fixed_string, "fixed_string", size); }
type make_fixed_bytes(intptr_t size) { return make_fixed_text(type_kind::fixed_bytes, "fixed_bytes", size); }

type make_dim(type_kind kind, intptr_t size, type element) {
  return kind == type_kind::var_dim     ? make_var_dim(element)
         : kind == type_kind::fixed_dim ? make_fixed_dim(size, element)
                                        : make_strided_dim(element);
}

type make_fixed_dim(intptr_t size, type element) {
  const type_node *node = node_of(element, "make_fixed_dim");
  if (size < 0)
    fail(error_kind::value, "datashape: negative dimension size " + std::to_string(size));
  check_room_above(node);
  std::string text = std::to_string(size) + " * " + node->text;
  return intern_text(text, [&](registry &types) { return new_over(types, type_kind::fixed_dim, size, node, text); });
}

type make_strided_dim(type element) {
  const type_node *node = node_of(element, "make_strided_dim");
  return type(intern(node->strided_dim, type_kind::strided_dim, "strided", node));
}

type make_var_dim(type element) {
  const type_node *node = node_of(element, "make_var_dim");
  return type(intern(node->var_dim, type_kind::var_dim, "var", node));
}

type make_option(type element) {
  const type_node *node = node_of(element, "make_option");
  if (node->kind == type_kind::option)
    fail(error_kind::type, "datashape: an option of an option: ?" + std::string(node->text));
  std::string text = "?" + std::string(node->text);
  return intern_text(text, [&](registry &types) { return new_over(types, type_kind::option, -1, node, text); });
}

type make_pointer(type element) {
  const type_node *node = node_of(element, "make_pointer");
  std::string text = "pointer[" + std::string(node->text) + "]";
  return intern_text(text, [&](registry &types) { return new_over(types, type_kind::pointer, -1, node, text); });
}

type make_byteswap(type element) {
  const type_node *node = node_of(element, "make_byteswap");
  std::string text = "byteswap[" + std::string(node->text) + "]";
  if (node->kind != type_kind::scalar || scalar_size[size_t(node->scalar)] < 2)
    fail(error_kind::type, "datashape: only scalars of two or more bytes have an order of bytes: " + text);
  return intern_text(text, [&](registry &types) { return new_over(types, type_kind::byteswap, -1, node, text); });
}

type make_tuple(std::span<const type> fields, bool open) { return make_fields(type_kind::tuple, {}, fields, open); }

type make_struct(std::span<const std::string> names, std::span<const type> fields, bool open) {
  return make_fields(type_kind::struct_, names, fields, open);
}

type make_record(std::span<const std::string> names, std::span<const type> fields) {
  return names.empty() ? make_tuple(fields) : make_struct(names, fields);
}

type make_family(type_family family) {
  std::string text = family_name[size_t(family)];
  return intern_text(text,
                     [&](registry &types) { return new_pattern_element(types, type_kind::family, "", family, text); });
}

type make_variable(std::string_view name, type_family family) {
  std::string text = (family == type_family::any ? "" : std::string(family_name[size_t(family)]) + " ");
  text += name;
  return intern_text(
      text, [&](registry &types) { return new_pattern_element(types, type_kind::variable, name, family, text); });
}

type make_void() {
  return intern_text("void", [&](registry &types) {
    return new_pattern_element(types, type_kind::nothing, "", type_family::any, "void");
  });
}

static type make_pattern_dim(type_kind kind, std::string_view name, const std::string &shown, type element) {
  const type_node *node = node_of(element, "make_dim_variable");
  check_room_above(node);
  check_counts(0, size_t(node->all_ndim) + 1);
  check_depth_above(node);
  std::string text = shown + " * " + node->text;
  return intern_text(text, [&](registry &types) { return new_pattern_dim(types, kind, name, node, text); });
}

type make_dim_variable(std::string_view name, type element) {
  return make_pattern_dim(type_kind::dim_variable, name, std::string(name), element);
}
type make_any_fixed_dim(type element) { return make_pattern_dim(type_kind::any_fixed_dim, "", "fixed", element); }
type make_ellipsis(std::string_view name, type element) {
  return make_pattern_dim(type_kind::ellipsis, name, std::string(name) + "...", element);
}

type make_function(std::span<const parameter> parameters, type result, bool open) {
  for (const parameter &p : parameters) {
    check_depth_above(node_of(p.type, "make_function"));
    check_name(p.name, "parameter");
  }
  std::string text = function_text(parameters, type(node_of(result, "make_function")), open);
  check_counts(parameters.size(), 0);
  check_depth_above(result.get());
  return intern_text(text, [&](registry &types) {
    size_t behind = parameters.size() * sizeof(type_field) + text.size() + 1;
    for (const parameter &p : parameters)
      behind += p.name.size() + p.value.size() + 2;
    type_memory memory(behind);
    type_field *made = memory.take<type_field>(parameters.size());
    uint8_t abstract = result->abstract | abstract_signature | (open ? abstract_pattern : 0), nkeywords = 0;
    for (size_t i = 0; i < parameters.size(); i++) {
      const parameter &p = parameters[i];
      made[i] = {p.name.empty() ? nullptr : memory.take_text(p.name),  p.type.get(), 0, 0, p.inout,
                 p.value.empty() ? nullptr : memory.take_text(p.value)};
      abstract |= p.type->abstract;
      nkeywords += p.keyword;
    }
    auto *node = new (memory.node())
        type_node({type_kind::function, not_scalar, 0, 0, types.next_id++, -1, result.get(), memory.take_text(text),
                   nullptr, made, uint8_t(parameters.size()), 0, 0, nullptr, abstract, open, nkeywords});
    node->dtype = node;
    return node;
  });
}

type with_dtype(type dims, type dtype) {
  if (dims->ndim == 0)
    return dtype;
  return make_dim(dims->kind, dims->size, with_dtype(dims.element(), dtype));
}

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

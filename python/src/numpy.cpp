// NumPy's dtypes that are no plain buffers, in and out: records, the other byte order, texts, masked arrays. Everything
// is asked of the dtype objects themselves; NumPy's headers are not needed.
#include "values.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "arguments.h"
#include "dynd/array/layout.h"
#include "dynd/eval/evaluate.h"

namespace binding {

namespace {

/// The attribute, or nothing.
nb::object attribute(PyObject *object, const char *name) {
  nb::object found = nb::steal(PyObject_GetAttrString(object, name));
  if (!found.is_valid()) {
    forget_error(PyExc_AttributeError);
  }
  return found;
}

std::string text_of(nb::handle object) { return nb::str(object).c_str(); }

// ---- in -----------------------------------------------------------------------------------------------------------

// What the elements become. A view has them as they are in memory; a copy has texts, and this CPU's byte order.
enum class purpose { view, copy, masked_copy };

// ?T for what a mask can hide: everything below the fields.
ndt::type maybe_missing(ndt::type type, purpose wanted) {
  return wanted == purpose::masked_copy ? ndt::make_option(type) : type;
}

ndt::type type_of_scalar(nb::handle dtype, purpose wanted) {
  std::string kind = text_of(dtype.attr("kind"));
  if (wanted != purpose::view && std::strchr("SUT", kind[0])) {
    return maybe_missing(kind == "S" ? ndt::make_bytes() : ndt::make_string(), wanted);
  }
  auto bytes = nb::cast<size_t>(dtype.attr("itemsize")), bits = 8 * bytes;
  if (bytes > 0 && (kind == "S" || kind == "V")) { // zeros behind a value are not part of it in NumPy's S
    auto size = intptr_t(bytes);
    return maybe_missing(kind == "S" ? ndt::make_fixed_string(size) : ndt::make_fixed_bytes(size), wanted);
  }
  std::string name = kind == "b"   ? "bool"
                     : kind == "i" ? "int"
                     : kind == "u" ? "uint"
                     : kind == "f" ? "float"
                     : kind == "c" ? "complex"
                                   : "";
  name += kind == "b" ? "" : std::to_string(bits);
  for (size_t i = 0; i < scalar_count; i++) {
    if (name == scalar_name[i]) {
      bool swapped = wanted == purpose::view && !nb::cast<bool>(dtype.attr("isnative"));
      ndt::type type = ndt::make_scalar(scalar_id(i));
      return maybe_missing(swapped ? ndt::make_byteswap(type) : type, wanted);
    }
  }
  std::string advice = std::strchr("UT", kind[0]) ? "; nd.array copies them"
                       : kind == "O"              ? "; nd.array(x.tolist()) looks at the values"
                                                  : "";
  throw error(error_kind::type, std::string(wanted == purpose::view ? "asarray" : "array") +
                                    ": no type for elements of NumPy's dtype " + text_of(dtype) + advice);
}

ndt::type type_of_dtype(nb::handle dtype, purpose wanted) {
  if (nb::object sub = dtype.attr("subdtype"); !sub.is_none()) {
    ndt::type type = type_of_dtype(sub[0], wanted);
    nb::object shape = sub[1];
    for (size_t d = nb::len(shape); d-- > 0;) {
      type = ndt::make_fixed_dim(nb::cast<intptr_t>(shape[d]), type);
    }
    return type;
  }
  nb::object names = dtype.attr("names");
  if (names.is_none()) {
    return type_of_scalar(dtype, wanted);
  }
  std::vector<std::string> texts;
  std::vector<ndt::type> fields;
  for (nb::handle name : names) {
    texts.emplace_back(utf8_of(name.ptr(), {}));
    fields.push_back(type_of_dtype(dtype.attr("fields")[name][0], wanted));
  }
  return ndt::make_struct(texts, fields);
}

// The streams of a record's parts are all in its memory: each begins at its field, and moves by the array's strides.
class record_view {
public:
  record_view(array_block &block, const std::vector<intptr_t> &strides, buffer *memory)
      : block_(block), strides_(strides), memory_(memory) {}

  void place_part(const type_part &part, nb::handle dtype, char *address, std::vector<std::pair<int, intptr_t>> inner) {
    const type_data *t = part.type;
    if (t->kind == type_kind::fixed_dim) {
      return place_subarray(part, dtype, address, std::move(inner));
    }
    if (t->kind == type_kind::struct_) {
      nb::object names = dtype.attr("names");
      for (int i = 0; i < t->nfields; i++) {
        nb::object field = dtype.attr("fields")[names[i]];
        place_part(part.field(i), field[0], address + nb::cast<intptr_t>(field[1]), inner);
      }
      return;
    }
    intptr_t *stride = block_.strides(part.stream);
    std::fill_n(stride, block_.all_ndim, 0);
    std::copy(strides_.begin(), strides_.end(), stride);
    for (auto [dim, bytes] : inner) {
      stride[dim] = bytes;
    }
    retain(memory_);
    block_.streams()[part.stream] = {address, memory_, slot_kind::none};
  }

private:
  // All dimensions of one subarray, in C order.
  void place_subarray(type_part part, nb::handle dtype, char *address, std::vector<std::pair<int, intptr_t>> inner) {
    nb::object base = dtype.attr("subdtype")[0];
    intptr_t bytes = nb::cast<intptr_t>(dtype.attr("itemsize"));
    nb::object shape = dtype.attr("subdtype")[1];
    for (size_t d = nb::len(shape); d > 0; d--, part = part.element()) {
      intptr_t size = block_.size()[part.dim] = part.type->size;
      bytes = size ? bytes / size : 0;
      inner.emplace_back(part.dim, bytes);
    }
    place_part(part, base, address, std::move(inner));
  }

  array_block &block_;
  const std::vector<intptr_t> &strides_;
  buffer *memory_;
};

// Texts that are no view of NumPy's memory: it has no UTF-8.
bool has_strings(ndt::type type) {
  bool found = false;
  for_each_part({type.get()},
                [&](const type_part &part, const dim_path *) { found |= part.type->kind == type_kind::string; });
  return found;
}

bool has_texts(ndt::type type) { return std::count(type->roles, type->roles + type->nstreams, stream_role::texts) > 0; }

} // namespace

ndt::type type_of_copies(nb::handle dtype) { return type_of_dtype(dtype, purpose::copy); }

bool is_masked(PyObject *object) {
  const PyTypeObject *type = Py_TYPE(object);
  if (std::strcmp(type->tp_name, "numpy.ndarray") == 0) { // the usual case
    return false;
  }
  while (type && std::strcmp(type->tp_name, "MaskedArray") != 0) {
    type = type->tp_base;
  }
  return type != nullptr;
}

bool is_time(PyObject *object) {
  nb::object dtype = attribute(object, "dtype"), kind = dtype.is_valid() ? attribute(dtype.ptr(), "kind") : dtype;
  return kind.is_valid() && (text_of(kind) == "m" || text_of(kind) == "M");
}

nd::array view_of_numpy(PyObject *object) {
  if (!attribute(object, "dtype").is_valid()) {
    throw error(error_kind::type, "asarray: cannot make an array from " + type_name(object));
  }
  nb::object array = nb::module_::import_("numpy").attr("asarray")(nb::handle(object)); // a scalar becomes an array
  nb::object dtype = array.attr("dtype"); // an object can say anything of itself
  ndt::type type = type_of_dtype(dtype, purpose::view);
  auto shape = nb::cast<nb::tuple>(array.attr("shape")), steps = nb::cast<nb::tuple>(array.attr("strides"));
  std::vector<intptr_t> sizes, strides;
  for (size_t d = 0; d < nb::len(shape); d++) {
    sizes.push_back(nb::cast<intptr_t>(shape[d]));
    strides.push_back(nb::cast<intptr_t>(steps[d]));
    type = ndt::make_strided_dim(type);
  }
  nb::object data = array.attr("__array_interface__")["data"];
  auto *address = reinterpret_cast<char *>(nb::cast<uintptr_t>(data[0]));
  access_mode access = nb::cast<bool>(data[1]) ? access_mode::readonly : access_mode::readwrite;
  auto item = nb::cast<intptr_t>(array.attr("itemsize"));
  ref<buffer> memory = adopt_extent(address, int(sizes.size()), sizes.data(), strides.data(), item, release_object,
                                    array.release().ptr());
  ref<array_block> block = new_block(type.get(), access, 0);
  std::copy(sizes.begin(), sizes.end(), block->size());
  int ndim = type->ndim;
  record_view(*block, strides, memory.get()).place_part({type->dtype, 0, ndim}, dtype, address, {});
  note_density(*block);
  return nd::array(std::move(block));
}

nd::array copy_of_numpy(PyObject *object, ndt::type type, access_mode access) {
  bool masked = is_masked(object);
  nb::object dtype = attribute(object, "dtype");
  if (!dtype.is_valid()) {
    throw error(error_kind::type, "array: cannot make an array from " + type_name(object));
  }
  ndt::type own = type_of_dtype(dtype, masked ? purpose::masked_copy : purpose::copy);
  if (!masked && !has_strings(own)) {
    return converted(view_of_numpy(object), type ? type : own, access);
  }
  auto shape = nb::cast<nb::tuple>(nb::handle(object).attr("shape"));
  intptr_t size[max_ndim];
  if (nb::len(shape) > max_ndim) {
    throw error(error_kind::value, "array: more than " + std::to_string(max_ndim) + " dimensions");
  }
  type = type ? type : own;
  bool is_element = type->ndim == 0;
  for (size_t d = 0; d < nb::len(shape); d++) {
    size[d] = nb::cast<intptr_t>(shape[d]);
    type = is_element ? ndt::make_strided_dim(type) : type;
  }
  nb::object values = nb::handle(object).attr("tolist")();
  return read_values(values.ptr(), type, size_t(type->ndim) == nb::len(shape) ? size : nullptr, access);
}

// ---- out ----------------------------------------------------------------------------------------------------------

namespace {

nb::object dtype_of(const nd::array &a, const type_part &part, nb::module_ &numpy) {
  const type_data *t = part.type;
  switch (t->kind) {
  case type_kind::scalar:
    return numpy.attr("dtype")(scalar_name[size_t(t->scalar)]);
  case type_kind::byteswap:
    return numpy.attr("dtype")(scalar_name[size_t(t->element->scalar)]).attr("newbyteorder")("S");
  case type_kind::fixed_string:
  case type_kind::fixed_bytes:
    if (!has_texts(a.type())) {
      return numpy.attr("dtype")((is_string(t->kind) ? "S" : "V") + std::to_string(t->size));
    } // beside objects, which Python makes, an object too
    [[fallthrough]];
  case type_kind::string:
  case type_kind::bytes:
    return numpy.attr("dtype")("O");
  case type_kind::tuple:
  case type_kind::struct_: {
    nb::list names, formats;
    for (int i = 0; i < t->nfields; i++) {
      names.append(t->kind == type_kind::struct_ ? std::string(t->fields[i].name) : "f" + std::to_string(i));
      formats.append(dtype_of(a, part.field(i), numpy));
    }
    nb::dict fields;
    fields["names"] = names;
    fields["formats"] = formats;
    return numpy.attr("dtype")(fields);
  }
  case type_kind::fixed_dim:
  case type_kind::strided_dim: { // all sizes of a subarray in one shape
    nb::list shape;
    type_part element = part;
    for (; element.is_dim() && !element.is_var(); element = element.element()) {
      shape.append(a->size()[element.dim]);
    }
    return numpy.attr("dtype")(nb::make_tuple(dtype_of(a, element, numpy), nb::tuple(shape)));
  }
  default:
    throw error(error_kind::type, "__array__: " + std::string(a.type().str()) + " has no NumPy form because of " +
                                      t->text + "; use tolist(), or take the fields that have one");
  }
}

// The same memory, as if its bytes were in this CPU's order.
nd::array in_our_order(const nd::array &a) {
  ndt::type type = ndt::with_dtype(a.type(), ndt::type(a->type->dtype->element));
  ref<array_block> block = new_block(type.get(), a->access, 0);
  std::copy_n(a->size(), a.ndim(), block->size());
  std::copy_n(a->strides(0), a.ndim(), block->strides(0));
  block->streams()[0] = shared_stream(*a.get(), 0);
  note_density(*block);
  return nd::array(std::move(block));
}

// The same memory, as one more dimension of bytes.
nd::array as_bytes(const nd::array &a) {
  ndt::type type = ndt::with_dtype(a.type(), ndt::make_strided_dim(ndt::make_scalar(scalar_id::uint8)));
  ref<array_block> block = new_block(type.get(), a->access, 0);
  std::copy_n(a->size(), a.ndim(), block->size());
  std::copy_n(a->strides(0), a.ndim(), block->strides(0));
  block->size()[a.ndim()] = a->type->dtype->size;
  block->strides(0)[a.ndim()] = 1;
  block->streams()[0] = shared_stream(*a.get(), 0);
  note_density(*block);
  return nd::array(std::move(block));
}

} // namespace

nb::object to_numpy(nb::handle self, nb::handle wanted, nb::handle copy) {
  const nd::array &a = unwrap(self.ptr());
  if (a->type->var_count) {
    throw error(error_kind::value, "__array__: a ragged array has no NumPy form: " + std::string(a.type().str()));
  }
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object dtype = dtype_of(a, {a->type->dtype, 0, a.ndim()}, numpy);
  bool swapped = a->type->dtype->kind == type_kind::byteswap;
  bool fixed = is_fixed_text(a->type->dtype->kind);
  if (a->has_scalars() || swapped || fixed) {
    nb::object plain = swapped || fixed ? nb::steal(wrap(fixed ? as_bytes(a) : in_our_order(a))) : nb::borrow(self);
    nb::object memory = steal(PyMemoryView_FromObject(plain.ptr()));
    nb::object view = numpy.attr("asarray")(memory);
    view = swapped || fixed ? view.attr("view")(dtype) : view;
    if (fixed) {
      view = view[nb::make_tuple(nb::ellipsis(), 0)];
    }
    return numpy.attr("array")(view, nb::arg("dtype") = wanted, nb::arg("copy") = copy);
  }
  if (copy.ptr() == Py_False) {
    throw error(error_kind::value,
                "__array__: " + std::string(a.type().str()) + " is not NumPy's layout: needs a copy");
  }
  nb::object shape = self.attr("shape"), made = numpy.attr("empty")(shape, dtype);
  if (!has_texts(a.type())) {
    assign(view_of_numpy(made.ptr()).get(), a.get());
  } else if (nb::cast<size_t>(made.attr("size")) > 0) { // objects: only Python can make them
    nb::object values = nb::steal(to_values(a, true));
    made = numpy.attr("array")(values, dtype).attr("reshape")(shape);
  }
  return wanted.is_none() ? made : made.attr("astype")(wanted);
}

} // namespace binding

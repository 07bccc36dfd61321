// Callables as Python objects: operations of the library, kernels of plug-ins, and functions from elsewhere.
#include "values.h"

#include <optional>
#include <structmember.h>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "dynd/call/registry.h"
#include "dynd/call/resolve.h"
#include "dynd/kernel/external.h"
#include "elsewhere.h"

namespace binding {

namespace {

struct callable_object {
  PyObject_HEAD vectorcallfunc call;
  bool operation; // of the library
  nd::callable *function;
  PyObject *doc, *text_signature, *dict;
};

PyTypeObject *callable_type = nullptr;

callable_object *object_of(PyObject *self) { return reinterpret_cast<callable_object *>(self); }
const nd::callable &function_of(PyObject *self) { return *object_of(self)->function; }

// ---- calling --------------------------------------------------------------------------------------------------------

// The scalar that all overloads of that many operands have for operand i, or for the one of that name.
std::optional<scalar_id> wanted_scalar(const nd::callable &f, Py_ssize_t i, std::string_view name, Py_ssize_t total) {
  std::optional<scalar_id> found;
  bool same = true;
  f.for_each_signature([&](ndt::type s, size_t count) {
    int nparameters = s->nfields - s->nkeywords;
    for (int p = 0; same && p < nparameters && (nparameters == total || count == 1); p++) {
      if (name.empty() ? p != i : !s->fields[p].name || name != s->fields[p].name) {
        continue;
      }
      const type_data *t = without_option(s->fields[p].type->dtype);
      same = t->kind == type_kind::scalar && (!found || *found == t->scalar);
      found = same ? std::optional(t->scalar) : std::nullopt;
    }
  });
  return found;
}

// What has a type of its own: an array of the library, or memory as NumPy's arrays have it.
bool has_type(PyObject *object) { return is_array(object) || PyObject_CheckBuffer(object); }

// What a Python number takes its type from: the operand's type where the overloads say one, else that of an array among
// the arguments.
nd::array like_for(std::optional<scalar_id> wanted, const nd::array *other) {
  if (wanted) {
    alignas(16) const char zero[max_scalar_size] = {};
    return nd::scalar_of(*wanted, zero);
  }
  return other ? *other : nd::array();
}

PyObject *wrap_all(std::vector<nd::array> results) {
  if (results.size() == 1) {
    return wrap(std::move(results[0]));
  }
  if (results.empty()) {
    Py_RETURN_NONE;
  }
  nb::object all = steal(PyTuple_New(Py_ssize_t(results.size())));
  for (size_t i = 0; i < results.size(); i++) {
    PyTuple_SET_ITEM(all.ptr(), Py_ssize_t(i), wrap(std::move(results[i])));
  }
  return all.release().ptr();
}

struct python_arguments {
  std::vector<nd::array> operands;
  std::vector<nd::keyword> keywords;

  python_arguments(const nd::callable &f, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    operands.resize(size_t(count));
    const nd::array *other = nullptr; // the first that has a type
    for (Py_ssize_t i = count - 1; i >= 0; i--) {
      if (has_type(arguments[i])) {
        operands[size_t(i)] = to_operand(arguments[i], nullptr, f.name().c_str());
        other = &operands[size_t(i)];
      }
    }
    Py_ssize_t total = count + (names ? PyTuple_GET_SIZE(names) : 0);
    for (Py_ssize_t i = 0; i < count; i++) {
      if (!has_type(arguments[i])) {
        nd::array like = like_for(wanted_scalar(f, i, "", total), other);
        operands[size_t(i)] = to_operand(arguments[i], like ? &like : nullptr, f.name().c_str());
      }
    }
    for (Py_ssize_t i = 0; i < total - count; i++) {
      std::string name(utf8_of(PyTuple_GET_ITEM(names, i), {}));
      PyObject *value = arguments[count + i];
      std::optional<scalar_id> wanted = wanted_scalar(f, -1, name, total);
      nd::array like = has_type(value) ? nd::array() : like_for(wanted, nullptr);
      keywords.push_back({name, value == Py_None ? missing_value(wanted.value_or(scalar_id::bool_))
                                                 : to_operand(value, like ? &like : nullptr, f.name().c_str())});
    }
  }
};

} // namespace

PyObject *call_overloads(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  callable_object *object = object_of(self);
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  try {
    if (!names && count <= max_external_sources && std::all_of(arguments, arguments + count, is_array)) {
      array_block *blocks[max_external_sources];
      ref<array_block> results[max_external_outputs];
      for (Py_ssize_t i = 0; i < count; i++) {
        blocks[i] = unwrap(arguments[i]).get();
      }
      int made = object->function->call_into(blocks, int(count), results);
      if (made == 1) [[likely]] {
        return wrap(std::move(results[0]));
      }
      return wrap_all(std::vector<nd::array>(std::move_iterator(results), std::move_iterator(results + made)));
    }
    python_arguments given(*object->function, arguments, count, names);
    return wrap_all(object->function->call_all(given.operands, given.keywords));
  } catch (...) {
    return raise_current();
  }
}

namespace {

// ---- the object -----------------------------------------------------------------------------------------------------

// "triple(a, /)\n--\n\nThree times the value." is the line of the signature, and the text.
void set_text(callable_object *self, const std::string &text) {
  size_t line = text.find("\n--\n\n"), begin = text.find('(');
  std::string signature = line == text.npos ? "(*operands, **keywords)" : text.substr(begin, line - begin);
  self->text_signature = PyUnicode_FromString(signature.c_str());
  self->doc = PyUnicode_FromString(text.c_str() + (line == text.npos ? 0 : line + 5));
}

// Of overloads that leave out operands of the longest one, which are then what its author says: "x, *, n=None". Empty
// where the overloads are not like that.
std::string optional_parameters_text(const std::vector<ndt::type> &all) {
  std::vector<std::vector<std::string>> names;
  for (ndt::type signature : all) {
    std::vector<std::string> own;
    for (int i = 0; i < signature->nfields; i++) {
      own.emplace_back(signature->fields[i].name ? signature->fields[i].name : "");
    }
    if (signature->nkeywords || std::count(own.begin(), own.end(), "")) {
      return "";
    }
    names.push_back(std::move(own));
  }
  auto shorter = [](const auto &a, const auto &b) { return a.size() < b.size(); };
  const std::vector<std::string> longest = *std::max_element(names.begin(), names.end(), shorter);
  std::string required, optional;
  for (const std::string &name : longest) {
    bool always = std::all_of(names.begin(), names.end(),
                              [&](const auto &own) { return std::count(own.begin(), own.end(), name) > 0; });
    (always ? required : optional) += ", " + name + (always ? "" : "=None");
  }
  for (const std::vector<std::string> &own : names) {
    auto known = [&](const std::string &name) { return std::count(longest.begin(), longest.end(), name) > 0; };
    if (!std::all_of(own.begin(), own.end(), known)) {
      return "";
    }
  }
  std::string text = required + (optional.empty() ? "" : ", *" + optional);
  return text.empty() ? text : text.substr(2);
}

// A default as inspect reads it, which knows literals only.
std::string python_text(const std::string &value) {
  return value == "nan" ? "1e999-1e999" : value == "inf" ? "1e999" : value == "-inf" ? "-1e999" : value;
}

// "a, /, w, *, ddof=1"
std::string parameters_text(const nd::callable &f) {
  std::vector<ndt::type> all = f.signatures();
  if (all.size() != 1) {
    std::string text = all.empty() ? "" : optional_parameters_text(all);
    return text.empty() ? "*operands, **keywords" : text;
  }
  std::string text;
  int nparameters = all[0]->nfields - all[0]->nkeywords;
  for (int i = 0; i < nparameters; i++) {
    const char *name = all[0]->fields[i].name;
    bool last_nameless = !name && (i + 1 == nparameters || all[0]->fields[i + 1].name);
    text += (i ? ", " : "") + (name ? std::string(name) : std::string(1, char('a' + i))) + (last_nameless ? ", /" : "");
  }
  for (int i = nparameters; i < all[0]->nfields; i++) {
    const type_field &f = all[0]->fields[i];
    text += std::string(i == nparameters ? ", *" : "") + ", " + f.name + (f.value ? "=" + python_text(f.value) : "");
  }
  return text;
}

std::string document(const nd::callable &f) {
  std::string text = f.name() + "(" + parameters_text(f) + ")\n--\n\n" +
                     (f.doc().empty() ? "A kernel without documentation." : f.doc()) + "\n\n";
  for (ndt::type signature : f.signatures()) {
    text += std::string(signature.str()) + "\n";
  }
  text += "\nDimensions outside of those in the signature may be strided or ragged and broadcast together.\n";
  return text + (f.state()->library.empty() ? "" : "From the plug-in " + f.state()->library + "\n");
}

void destroy_callable(PyObject *self) {
  callable_object *object = object_of(self);
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete object->function;
  Py_XDECREF(object->doc);
  Py_XDECREF(object->text_signature);
  Py_XDECREF(object->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

// A Python function belongs to a cycle only where no other owner can call it: the callable is this object's alone (the
// registry has none of it), and the kernel the callable's. Then only threads with Python's lock reach either.
int traverse_callable(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(object_of(self)->dict);
  Py_VISIT(Py_TYPE(self));
  const nd::callable *function = object_of(self)->function; // null while the object is made
  const nd::callable_state *state = function ? function->state() : nullptr;
  if (!state || state->refs.load(std::memory_order_acquire) != 1) {
    return 0;
  }
  for (const std::unique_ptr<nd::overload> &o : state->overloads) {
    const python_owner *owner = python_owner::in(o->function.get());
    if (owner && owner->refs.load(std::memory_order_acquire) == nd::own_references(*state, *o)) {
      Py_VISIT(owner->object);
    }
  }
  return 0;
}

// To be called afterwards, as by a finalizer, is an error.
int clear_callable(PyObject *self) {
  callable_object *object = object_of(self);
  Py_CLEAR(object->dict);
  nd::callable dropped;
  if (object->function) {
    dropped = std::exchange(*object->function, nd::callable());
  }
  return 0;
}

PyObject *shown(PyObject *self) {
  return guarded([&] { return PyUnicode_FromFormat("<callable %s>", function_of(self).name().c_str()); });
}

// help() takes what is a descriptor without __set__ for a function.
PyObject *bind_to_nothing(PyObject *self, PyObject *, PyObject *) { return Py_NewRef(self); }

PyObject *signatures_of(PyObject *self, void *) {
  return guarded([&] {
    nb::list all;
    for (ndt::type signature : function_of(self).signatures()) {
      all.append(signature);
    }
    return all.release().ptr();
  });
}

PyObject *doc_of(PyObject *self, void *) {
  callable_object *object = object_of(self);
  if (object->operation) {
    return Py_NewRef(object->doc);
  }
  return guarded([&] { // overloads may have been added
    std::string text = document(*object->function);
    return PyUnicode_FromString(text.c_str() + text.find("\n--\n\n") + 5);
  });
}

PyObject *text_signature_of(PyObject *self, void *) {
  callable_object *object = object_of(self);
  if (object->operation) {
    return Py_NewRef(object->text_signature);
  }
  return guarded([&] { return PyUnicode_FromFormat("(%s)", parameters_text(*object->function).c_str()); });
}

PyObject *name_of(PyObject *self, void *) {
  return guarded([&] { return PyUnicode_FromString(function_of(self).name().c_str()); });
}
PyObject *module_of(PyObject *, void *) { return PyUnicode_FromString("dynd.nd"); }

// pickle finds it by its name.
PyObject *reduced(PyObject *self, PyObject *) { return name_of(self, nullptr); }

// f.add(g): the overloads of g, or a Python function with a signature.
PyObject *add_overload(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&]() -> PyObject * {
    const nd::callable *other = count == 1 ? callable_in(arguments[0]) : nullptr;
    if (other) {
      std::vector<nd::kernel> all = other->kernels();
      if (all.empty()) {
        throw error(error_kind::type, "add: " + other->name() + " has no kernels of its own");
      }
      function_of(self).add(all);
    } else if (count == 2 && PyCallable_Check(arguments[0]) && PyUnicode_Check(arguments[1])) {
      function_of(self).add(python_kernel(function_of(self).name(), utf8_of(arguments[1], {}), arguments[0], ""));
    } else {
      throw error(error_kind::type, "add: expected a callable, or a Python function and a signature");
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef callable_methods[] = {{"__reduce__", reduced, METH_NOARGS, nullptr},
                                  {"add", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(add_overload)),
                                   METH_FASTCALL,
                                   "add($self, function, signature=None, /)\n--\n\nAdds the overloads of another "
                                   "callable, or a Python function with a "
                                   "signature.\nAn overload that takes the same operands as another one is refused."},
                                  {nullptr, nullptr, 0, nullptr}};

PyGetSetDef callable_attributes[] = {
    {"signatures", signatures_of, nullptr, "What it takes and gives: an ndt.type for each overload.", nullptr},
    {"__doc__", doc_of, nullptr, nullptr, nullptr},
    {"__text_signature__", text_signature_of, nullptr, nullptr, nullptr},
    {"__name__", name_of, nullptr, nullptr, nullptr},
    {"__qualname__", name_of, nullptr, nullptr, nullptr},
    {"__module__", module_of, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef callable_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(callable_object, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(callable_object, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyTypeObject *make_callable_type() {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(destroy_callable)},
                         {Py_tp_traverse, reinterpret_cast<void *>(traverse_callable)},
                         {Py_tp_clear, reinterpret_cast<void *>(clear_callable)},
                         {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                         {Py_tp_repr, reinterpret_cast<void *>(shown)},
                         {Py_tp_descr_get, reinterpret_cast<void *>(bind_to_nothing)},
                         {Py_tp_methods, callable_methods},
                         {Py_tp_getset, callable_attributes},
                         {Py_tp_members, callable_members},
                         {0, nullptr}};
  PyType_Spec spec = {
      "dynd.nd.callable_type", sizeof(callable_object), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
}

nb::object callable_of_name(const std::string &name) {
  nd::callable found = nd::find_callable(name);
  return found ? new_callable(found) : nb::none();
}

} // namespace

nb::object new_callable(const nd::callable &function) {
  if (!callable_type && !(callable_type = make_callable_type())) {
    throw nb::python_error();
  }
  nb::object made = steal(callable_type->tp_alloc(callable_type, 0));
  callable_object *object = object_of(made.ptr());
  object->call = call_overloads;
  object->function = new nd::callable(function);
  return made;
}

nb::object new_operation(const nd::callable &function, const std::string &text, vectorcallfunc call) {
  nb::object made = new_callable(function);
  callable_object *object = object_of(made.ptr());
  object->call = call;
  object->operation = true;
  set_text(object, text);
  if (!object->doc || !object->text_signature) {
    throw nb::python_error();
  }
  return made;
}

const nd::callable *callable_in(PyObject *object) {
  return Py_TYPE(object) == callable_type && function_of(object) ? &function_of(object) : nullptr;
}

void add_callables(nb::module_ &m) {
  m.def(
      "load", [](const std::string &path) { return nd::load(path); }, nb::arg("path"));
  m.def("forget", nd::forget, nb::arg("path"));
  m.def("reserve_names", nd::reserve_names, nb::arg("names"));
  m.def("find_callable", callable_of_name, nb::arg("name"));
  m.def("new_callable",
        [](const std::string &name, const std::string &doc) { return new_callable(nd::callable(name, doc)); });
  m.def("callables", [] {
    nb::list all;
    for (const nd::callable &f : nd::callables()) {
      for (ndt::type signature : f.signatures()) {
        all.append(nb::make_tuple(f.name(), f.doc(), std::string(signature.str())));
      }
    }
    return all;
  });
}

} // namespace binding

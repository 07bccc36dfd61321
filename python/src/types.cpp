// ndt.type and the scalar types.
#include "values.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "dynd/type/pattern.h"

namespace binding {

namespace {

using ndt::bindings;
using kind_t = ndt::binding::kind_t;

// As Python quotes it: a field's name may have backslashes in it.
std::string quoted(const std::string &text) { return nb::repr(nb::str(text.c_str(), text.size())).c_str(); }

std::string repr_of_type(const ndt::type &t) {
  std::string text(t.str());
  return t->kind == type_kind::scalar ? "ndt." + text : "ndt.type(" + quoted(text) + ")";
}

ndt::type type_of_text(nb::handle object, const char *caller) {
  if (nb::isinstance<ndt::type>(object)) {
    return nb::cast<ndt::type>(object);
  }
  if (PyUnicode_Check(object.ptr())) {
    return ndt::type(utf8_of(object.ptr(), {}));
  }
  throw error(error_kind::type,
              std::string(caller) + ": expected datashape text or a type, not " + Py_TYPE(object.ptr())->tp_name);
}

// ---- bindings -------------------------------------------------------------------------------------------------------

nb::object dimension_object(const ndt::dimension &d) {
  return d.kind == type_kind::fixed_dim ? nb::object(nb::int_(d.size)) : nb::object(nb::str(d.str().c_str()));
}

nb::object bound_object(const ndt::binding &b) {
  if (b.kind == kind_t::type) {
    return nb::cast(b.type);
  }
  if (b.kind == kind_t::dimension) {
    return dimension_object(b.dims[0]);
  }
  nb::list dims;
  for (const ndt::dimension &d : b.dims) {
    dims.append(dimension_object(d));
  }
  return nb::tuple(dims);
}

[[noreturn]] void refuse_binding(const std::string &name, const char *wanted, nb::handle value) {
  throw error(error_kind::type, "substitute: " + name + " is " + wanted + ", not " + nb::repr(value).c_str());
}

ndt::dimension dimension_from(const std::string &name, nb::handle value) {
  if (PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr())) {
    int overflow = 0;
    long long size = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow || size < 0) {
      throw error(overflow ? error_kind::overflow : error_kind::value,
                  "substitute: " + name + " cannot be " + nb::repr(value).c_str());
    }
    return {type_kind::fixed_dim, intptr_t(size), ""};
  }
  if (PyUnicode_Check(value.ptr())) { // what datashape text has before a star
    ndt::type over(std::string(utf8_of(value.ptr(), {})) + " * int32");
    if (over->ndim == 1) {
      return ndt::dimension_of(over.get());
    }
  }
  refuse_binding(name, "a dimension: a size, 'strided', 'var' or a name", value);
}

ndt::binding binding_from(const ndt::variable &v, nb::handle value) {
  if (v.kind == kind_t::type) {
    if (!PyUnicode_Check(value.ptr()) && !nb::isinstance<ndt::type>(value)) {
      refuse_binding(v.name, "a type", value);
    }
    return {v.name, v.kind, type_of_text(value, "substitute"), {}};
  }
  if (v.kind == kind_t::dimension) {
    return {v.name, v.kind, {}, {dimension_from(v.name, value)}};
  }
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr())) {
    refuse_binding(v.name, "a list of dimensions", value);
  }
  ndt::binding made{v.name, v.kind, {}, {}};
  for (nb::handle d : nb::borrow<nb::object>(value)) {
    made.dims.push_back(dimension_from(v.name, d));
  }
  return made;
}

// type.substitute({"T": "float64"}, N=3)
ndt::type substitute(const ndt::type &pattern, nb::object values, nb::kwargs named) {
  std::vector<ndt::variable> variables = ndt::variables(pattern);
  bindings bound;
  auto add = [&](const std::string &name, nb::handle value) {
    for (const ndt::variable &v : variables) {
      if (v.name == name && !bound.find(name)) {
        bound.all.push_back(binding_from(v, value));
        return;
      }
    }
    if (!bound.find(name)) {
      throw error(error_kind::type, "substitute: " + std::string(pattern.str()) + " has no variable " + name);
    }
  };
  for (auto [name, value] : named) {
    add(nb::cast<std::string>(name), value);
  }
  if (nb::isinstance<bindings>(values)) {
    const bindings &found = *nb::inst_ptr<bindings>(values);
    if (!found) {
      throw error(error_kind::type, "substitute: nothing is bound, because " + found.why);
    }
    bound.all.insert(bound.all.end(), found.all.begin(), found.all.end());
  } else if (!values.is_none()) {
    if (!PyDict_Check(values.ptr())) {
      throw error(error_kind::type,
                  std::string("substitute: expected a dict or a match, not ") + nb::repr(values).c_str());
    }
    for (auto [name, value] : nb::borrow<nb::dict>(values)) {
      if (!PyUnicode_Check(name.ptr())) {
        throw error(error_kind::type,
                    std::string("substitute: the name of a variable is text, not ") + nb::repr(name).c_str());
      }
      add(std::string(utf8_of(name.ptr(), {})), value);
    }
  }
  return ndt::substitute(pattern, bound);
}

nb::dict dict_of(const bindings &found) {
  nb::dict all;
  for (const ndt::binding &b : found.all) {
    all[b.name.c_str()] = bound_object(b);
  }
  return all;
}

void add_bindings(nb::module_ &m) {
  nb::class_<bindings>(m, "match",
                       "What the variables of a pattern are bound to: a mapping. False where the type did not match;\n"
                       "`why` says where and why.")
      .def("__bool__", [](const bindings &b) { return b.matched; })
      .def("__len__", [](const bindings &b) { return b.all.size(); })
      .def("__contains__", [](const bindings &b, const std::string &name) { return b.find(name) != nullptr; })
      .def("__getitem__",
           [](const bindings &b, const std::string &name) {
             const ndt::binding *found = b.find(name);
             if (!found) {
               throw nb::key_error(name.c_str());
             }
             return bound_object(*found);
           })
      .def("__iter__", [](const bindings &b) { return nb::iter(dict_of(b)); })
      .def("keys", [](const bindings &b) { return dict_of(b).attr("keys")(); })
      .def("values", [](const bindings &b) { return dict_of(b).attr("values")(); })
      .def("items", [](const bindings &b) { return dict_of(b).attr("items")(); })
      .def("__eq__",
           [](const bindings &b, nb::object other) {
             return nb::isinstance<bindings>(other) ? nb::inst_ptr<bindings>(other)->matched == b.matched &&
                                                          nb::inst_ptr<bindings>(other)->all == b.all
                                                    : b.matched && dict_of(b).equal(other);
           })
      .def("__repr__",
           [](const bindings &b) {
             return b ? "<match " + std::string(nb::repr(dict_of(b)).c_str()) + ">" : "<no match: " + b.why + ">";
           })
      .def_ro("why", &bindings::why, "Where and why the type did not match; empty where it did.");
}

// ---- fields ---------------------------------------------------------------------------------------------------------

nb::object fields_of(const ndt::type &t) {
  if (t->kind == type_kind::struct_) {
    nb::dict fields;
    for (int i = 0; i < t->nfields; i++) {
      fields[t->fields[i].name] = ndt::type(t->fields[i].type);
    }
    return fields;
  }
  if (t->kind != type_kind::tuple) {
    throw error(error_kind::type, "ndt.type: " + std::string(t.str()) + " has no fields");
  }
  nb::list fields;
  for (int i = 0; i < t->nfields; i++) {
    fields.append(ndt::type(t->fields[i].type));
  }
  return nb::tuple(fields);
}

void check_signature(const ndt::type &t) {
  if (t->kind != type_kind::function) {
    throw error(error_kind::type, "ndt.type: " + std::string(t.str()) + " is no signature");
  }
}

// (name or None, type, default as text or None, "positional", "inout" or "keyword") of each
nb::list parameters_of(const ndt::type &t) {
  check_signature(t);
  nb::list all;
  for (int i = 0; i < t->nfields; i++) {
    const type_field &f = t->fields[i];
    const char *kind = i >= t->nfields - t->nkeywords ? "keyword" : f.inout ? "inout" : "positional";
    all.append(nb::make_tuple(f.name ? nb::object(nb::str(f.name)) : nb::none(), ndt::type(f.type),
                              f.value ? nb::object(nb::str(f.value)) : nb::none(), kind));
  }
  return all;
}

int dimensions_of(const ndt::type &t) {
  int ndim = t->ndim;
  for (const type_data *d = t.get(); d->kind >= type_kind::fixed_dim; d = d->element) {
    ndim -= d->kind == type_kind::ellipsis;
  }
  return ndim;
}

nb::tuple variables_of(const ndt::type &t) {
  nb::list names;
  for (const ndt::variable &v : ndt::variables(t)) {
    names.append(v.name);
  }
  return nb::tuple(names);
}

} // namespace

ndt::type to_type(nb::handle object, const char *operation) {
  if (!object.is_valid() || object.is_none()) {
    return ndt::type();
  }
  if (!PyUnicode_Check(object.ptr()) && !nb::isinstance<ndt::type>(object)) {
    throw error(error_kind::type, std::string(operation) + ": type must be datashape text or an ndt.type, not " +
                                      Py_TYPE(object.ptr())->tp_name);
  }
  ndt::type found = type_of_text(object, operation);
  check_data_type(found.get(), operation);
  return found;
}

void add_types(nb::module_ &m) {
  add_bindings(m);
  nb::class_<ndt::type>(
      m, "type",
      "A type, a pattern or a signature, made from datashape text: ndt.type('strided * var * float64'),\n"
      "ndt.type('N * T'), ndt.type('(N * T, N * T) -> T'). The grammar: docs/datashape.md.")
      .def(
          "__init__", [](ndt::type *self, nb::object text) { new (self) ndt::type(type_of_text(text, "ndt.type")); },
          nb::arg("datashape").none())
      .def("__str__", [](const ndt::type &t) { return std::string(t.str()); })
      .def("__repr__", repr_of_type)
      .def("__eq__",
           [](const ndt::type &t, nb::object other) {
             return nb::isinstance<ndt::type>(other) ? nb::cast<ndt::type>(other) == t : nb::str(t->text).equal(other);
           })
      .def("__hash__", [](const ndt::type &t) { return nb::hash(nb::str(t->text)); })
      .def("__reduce__",
           [](nb::handle self) {
             return nb::make_tuple(self.type(), nb::make_tuple(std::string(nb::cast<ndt::type>(self).str())));
           })
      .def(
          "match", [](const ndt::type &t, nb::object pattern) { return ndt::match(t, type_of_text(pattern, "match")); },
          nb::arg("pattern").none(),
          "What the variables of the pattern are bound to, where this type matches it; else something false that\n"
          "says why.\n\n>>> ndt.type('3 * float64').match('N * T')\n<match {'N': 3, 'T': ndt.float64}>")
      .def("substitute", substitute, nb::arg("values").none() = nb::none(), nb::arg("named"),
           "The pattern with its variables replaced, by the values of a dict or a match, and by keywords. Variables\n"
           "without a value stay.\n\n>>> ndt.type('Dims... * N * T').substitute(Dims=(2, 'var'), N=3)\n"
           "ndt.type('2 * var * 3 * T')")
      .def_prop_ro("variables", variables_of, "The names of the variables, in their order.")
      .def_prop_ro("fields", fields_of, "Of a struct, a dict of name and type; of a tuple, the types.")
      .def_prop_ro(
          "parameters", parameters_of,
          "Of a signature: a tuple (name, type, default, kind) for each parameter; None where there is no name\n"
          "or no default, which is text; the kind is 'positional', 'inout' or 'keyword'.")
      .def_prop_ro(
          "result",
          [](const ndt::type &t) {
            check_signature(t);
            return t.element();
          },
          "Of a signature: the type of the result; a tuple where there are several, void where there is none.")
      .def_prop_ro("ndim", dimensions_of, "Number of dimensions; of a pattern, without those of an ellipsis.")
      .def_prop_ro(
          "element",
          [](const ndt::type &t) {
            if (!t->element || t->kind == type_kind::function) {
              throw error(error_kind::type, "ndt.type: " + std::string(t.str()) + " has no dimension");
            }
            return t.element();
          },
          "The type below the outermost dimension.")
      .def_prop_ro(
          "dtype", [](const ndt::type &t) { return t.dtype(); }, "The type of the elements.");
  nb::dict scalars;
  for (size_t i = 0; i < scalar_count; i++) {
    scalars[scalar_name[i]] = ndt::make_scalar(scalar_id(i));
  }
  m.attr("scalar_types") = scalars;
}

} // namespace binding

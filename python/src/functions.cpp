// The functions: one for each operation of ops/, made from its entry, and the rest of the module.
#include "arguments.h"

#include <nanobind/eval.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/call/registry.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/space.h"
#include "dynd/eval/threads.h"
#include "dynd/memory/buffer.h"
#include "dynd/ops/op_id.h"

namespace binding {

namespace {

// ---- elementwise --------------------------------------------------------------------------------------------------

// Whether Python's numbers take the type of the other operands. What is only true or false may be of any size.
bool takes_type(value_rule operand) { return !has_own_type(operand) && operand != value_rule::truth; }

} // namespace

PyObject *call_operation(op_id op, PyObject *const *arguments, Py_ssize_t count, value_of_none none) {
  const operation &entry = operation_of(op);
  try {
    if (count != entry.noperands) {
      throw error(error_kind::type, std::string(entry.name) + ": takes " + std::to_string(int(entry.noperands)) +
                                        " operands, not " + std::to_string(count));
    }
    const nd::array *like = nullptr; // what Python scalars take their type from
    for (Py_ssize_t i = 0; i < count && !like; i++) {
      like = takes_type(entry.operand[i]) && is_array(arguments[i]) ? &unwrap(arguments[i]) : nullptr;
    }
    nd::array operands[3];
    array_block *blocks[3] = {};
    unsigned last_use = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
      if (is_array(arguments[i])) {
        blocks[i] = unwrap(arguments[i]).get();
        last_use |= unsigned(Py_REFCNT(arguments[i]) == 1) << i;
      } else if (arguments[i] != Py_None) {
        bool weak = takes_type(entry.operand[i]);
        operands[i] = to_operand(arguments[i], weak ? like : nullptr, entry.name, asked_beside(entry, int(i)));
        blocks[i] = operands[i].get();
        like = like || !weak ? like : &operands[i];
      }
    }
    for (Py_ssize_t i = 0; i < count; i++) { // None has the type of the other operands
      if (arguments[i] == Py_None) {
        operands[i] = none                            ? none(int(i), blocks)
                      : !takes_type(entry.operand[i]) ? missing_value(operand_type(op, int(i), scalar_id::bool_))
                                                      : to_operand(Py_None, like, entry.name);
      }
    }
    for (Py_ssize_t i = 0; i < count; i++) {
      blocks[i] = operands[i] ? operands[i].get() : blocks[i];
    }
    ref<array_block> results[2];
    evaluate(op, {blocks, int(count), last_use}, results);
    return entry.noutputs == 1 ? wrap(std::move(results[0])) : wrap_pair(results);
  } catch (...) {
    return raise_current();
  }
}

namespace {

template <op_id op> PyObject *call_by_id(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *names) {
  return names ? call_overloads(self, arguments, flags, names)
               : call_operation(op, arguments, PyVectorcall_NARGS(flags));
}

constexpr auto operation_functions = []<size_t... I>(std::index_sequence<I...>) {
  return std::array<vectorcallfunc, op_count>{call_by_id<op_id(I)>...};
}
(std::make_index_sequence<op_count>());

// What T may be, for help().
const char *set_text(type_set set) {
  static const char *const texts[] = {"any type",
                                      "any type but the complex ones",
                                      "any type but bool",
                                      "any integer or floating-point type",
                                      "any floating-point or complex type (integers are converted to float64)",
                                      "any floating-point type (integers are converted to float64)",
                                      "any integer type",
                                      "any signed integer type",
                                      "any integer type or bool"};
  return texts[size_t(set)];
}

std::string parameter_names(const operation &entry) {
  if (const named_operation *named = find_named_operation(entry.id)) {
    return named->parameters;
  }
  std::string names;
  char letter = 'a';
  for (int i = 0; i < entry.noperands; i++) {
    names += i ? ", " : "";
    names += entry.operand[i] == value_rule::boolean ? std::string("condition") : std::string(1, letter++);
  }
  return names + ", /";
}

// A call and its result, computed here: of a condition, a ragged array, one value for each row.
std::string example(const operation &entry) {
  static const char *const values[] = {"[[1, 4], [9]]", "[[2], [3]]", "[[7], [8]]"};
  std::string call = std::string(">>> nd.") + entry.name + "(";
  nd::array operands[max_operation_operands];
  array_block *blocks[max_operation_operands];
  for (int i = 0, value = 0; i < entry.noperands; i++) {
    const char *text = entry.operand[i] == value_rule::boolean ? "[[True], [False]]" : values[value++];
    operands[i] = from_python(nb::eval(nb::str(text)).ptr(), ndt::type(), access_mode::immutable);
    blocks[i] = operands[i].get();
    call += (i ? ", " : "") + nd::values_text(operands[i]);
  }
  call += ")\n";
  if (entry.noutputs == 1) {
    return call + nd::array(evaluate(entry.id, {blocks, entry.noperands})).str();
  }
  ref<array_block> results[2];
  evaluate(entry.id, {blocks, entry.noperands}, results);
  return call + "(" + nd::array(results[0]).str() + ", " + nd::array(results[1]).str() + ")";
}

// What help() shows: the entry's own text, what it accepts, and an example.
std::string document(const operation &entry) {
  std::string text = std::string(entry.name) + "(" + parameter_names(entry) + ")\n--\n\n" + entry.doc + "\n\n";
  text += std::string(entry.signature) + ", where T is " + set_text(entry.set);
  text += ".\n\nOperands may be strided or ragged and broadcast together, lined up at the last dimension; a size or\n"
          "row of 1 stretches. Types are promoted to one; a Python number takes the array's type.\n";
  text += entry.noutputs == 1
              ? "Over large immutable arrays the result is lazy: it is computed when its values are needed, in one\n"
                "pass with the operations around it.\n"
              : "Runs at once.\n";
  if (entry.failure) {
    text += std::string("Where T is ") + set_text(entry.fails_in) + ", it runs at once and may fail (" + entry.failure +
            ");\nthe error names the element.\n";
  }
  if (const named_operation *named = find_named_operation(entry.id)) {
    text += named->doc;
  }
  bool has_option = std::any_of(entry.operand, entry.operand + entry.noperands, [](value_rule rule) {
    return rule == value_rule::optional || rule == value_rule::presence;
  });
  return has_option ? text : text + "\n" + example(entry);
}

// ---- the rest -----------------------------------------------------------------------------------------------------

} // namespace

// nd.array(values, type=None, access=None)
PyObject *new_array(PyTypeObject *, PyObject *arguments, PyObject *keywords) {
  static const char *names[] = {"values", "type", "access", nullptr};
  PyObject *values, *type = nullptr, *access = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OO:array", const_cast<char **>(names), &values, &type,
                                   &access)) {
    return nullptr;
  }
  return guarded([&] {
    access_mode mode = access_or("array", access, access_mode::immutable);
    return wrap(from_python(values, to_element_type("array", type), mode));
  });
}

// nd.array(values) without the tuple that a call otherwise makes.
PyObject *call_array_type(PyObject *, PyObject *const *arguments, size_t count, PyObject *names) {
  if (PyVectorcall_NARGS(count) == 1 && !names) {
    return guarded([&] { return wrap(from_python(arguments[0], {}, access_mode::immutable)); });
  }
  Py_ssize_t positional = PyVectorcall_NARGS(count);
  nb::object tuple = nb::steal(PyTuple_New(positional)), keywords = nb::steal(PyDict_New());
  if (!tuple.is_valid() || !keywords.is_valid()) {
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < positional; i++) {
    PyTuple_SET_ITEM(tuple.ptr(), i, Py_NewRef(arguments[i]));
  }
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
    if (PyDict_SetItem(keywords.ptr(), PyTuple_GET_ITEM(names, i), arguments[positional + i]) != 0) {
      return nullptr;
    }
  }
  return new_array(array_type, tuple.ptr(), keywords.ptr());
}

namespace {

nd::array &array_argument(nb::handle object, const char *operation) {
  if (!is_array(object.ptr())) {
    throw error(error_kind::type,
                std::string(operation) + ": expected an nd.array, not " + Py_TYPE(object.ptr())->tp_name);
  }
  return unwrap(object.ptr());
}

nb::object shape_of(nb::handle self) {
  const nd::array &a = unwrap(self.ptr());
  nb::object shape = steal(PyTuple_New(a.ndim()));
  for (int d = 0; d < a.ndim(); d++) {
    PyTuple_SET_ITEM(shape.ptr(), d, a->is_var(d) ? Py_NewRef(Py_None) : PyLong_FromSsize_t(a.size(d)));
  }
  return shape;
}

// Runs f(*arguments) under an observation of this thread.
observation *observe(nb::callable f, nb::tuple arguments, bool tracing) {
  auto seen = std::make_unique<observation>();
  seen->tracing = tracing;
  observed_scope watched(seen.get());
  std::optional<eager_scope> eager;
  if (tracing) {
    eager.emplace();
  }
  nb::object result = f(*arguments);
  if (is_array(result.ptr())) { // its lazy operations belong to the observation
    unwrap(result.ptr()).eval();
  }
  return seen.release();
}

nd::array copied(const nd::array &a) {
  return a->access == access_mode::immutable ? a : nd::array(copy_values(a.get(), a->access));
}

nb::object as_complex(nb::handle self) {
  nb::object value = scalar_value(self.ptr(), "complex");
  return steal(PyObject_CallOneArg(reinterpret_cast<PyObject *>(&PyComplex_Type), value.ptr()));
}

nb::object formatted(nb::handle self, nb::object spec) {
  const nd::array &a = unwrap(self.ptr());
  nb::object text = a.ndim() == 0 ? steal(to_list(a)) : nb::object(nb::str(self));
  return steal(PyObject_Format(text.ptr(), spec.ptr()));
}

void add_array_properties() {
  auto property = [&](const char *name, auto getter, const char *doc) {
    nb::object get = nb::cpp_function(getter, nb::name(name), nb::is_method());
    nb::object made = nb::module_::import_("builtins").attr("property")(get, nb::none(), nb::none(), doc);
    nb::setattr(nb::handle(reinterpret_cast<PyObject *>(array_type)), name, made);
  };
  property(
      "type", [](nb::handle self) { return unwrap(self.ptr()).type(); }, "The type, as nd.type_of gives it.");
  property(
      "ndim", [](nb::handle self) { return unwrap(self.ptr()).ndim(); }, "Number of dimensions.");
  property(
      "dtype", [](nb::handle self) { return ndt::type(unwrap(self.ptr())->type->dtype); },
      "The type of the elements, without the dimensions.");
  property(
      "size", [](nb::handle self) { return unwrap(self.ptr()).element_count(); },
      "Number of elements, of ragged rows too.");
  property("shape", shape_of, "Sizes of the dimensions; None where rows differ.");
  property(
      "access", [](nb::handle self) { return access_name(unwrap(self.ptr())->access); },
      "immutable, readonly or readwrite.");
  property(
      "T", [](nb::handle self) { return wrapped(nd::transposed(unwrap(self.ptr()))); },
      "The axes in reverse order, as a view.");
}

void add_array_methods() {
  nb::handle type(reinterpret_cast<PyObject *>(array_type));
  auto method = [&](const char *name, auto function, const char *doc, auto... extra) {
    nb::setattr(type, name,
                nb::cpp_function(function, nb::name(name), nb::is_method(), nb::scope(type), doc, extra...));
  };
  method(
      "tolist", [](nb::handle self) { return steal(to_list(unwrap(self.ptr()))); },
      "The values as nested lists; the value itself if there is no dimension. A struct is a dict, a tuple a tuple,\n"
      "what is missing is None.");
  method("__complex__", as_complex, "complex(a), of an array without dimensions.");
  method(
      "eval",
      [](nb::handle self) {
        unwrap(self.ptr()).eval();
        return nb::borrow(self);
      },
      "Computes the values if the array is lazy; returns the array.");
  method("__format__", formatted, "A zero-dimensional array is formatted as its value.");
  method(
      "__copy__", [](nb::handle self) { return wrapped(copied(unwrap(self.ptr()))); },
      "An immutable array is its own copy.");
  method(
      "__deepcopy__", [](nb::handle self, nb::handle) { return wrapped(copied(unwrap(self.ptr()))); },
      "An immutable array is its own copy.");
  method(
      "__reduce__", [](nb::handle self) { return reduced_to_bytes(unwrap(self.ptr()), 4); },
      "For pickle: the type, the sizes, the offsets of the rows and the values in C order.");
  method(
      "__reduce_ex__", [](nb::handle self, int protocol) { return reduced_to_bytes(unwrap(self.ptr()), protocol); },
      "The same; from protocol 5 on, the values of rows in memory as a buffer that is not copied before.",
      nb::arg("protocol"));
  method(
      "__array__", [](nb::handle self, nb::object dtype, nb::object copy) { return to_numpy(self, dtype, copy); },
      "As a NumPy array: a view where that is possible, read-only if this array cannot be written. Structs and\n"
      "tuples are copied into a structured array, strings and bytes into one of objects.",
      nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
}

nb::object as_array(nb::object values) {
  if (is_array(values.ptr())) {
    return values;
  }
  if (makes_array(values.ptr())) {
    return wrapped(made_array(values.ptr()));
  }
  bool text = PyUnicode_Check(values.ptr()) || PyBytes_Check(values.ptr());
  bool plain = PyList_Check(values.ptr()) || PyTuple_Check(values.ptr()) || PyNumber_Check(values.ptr()) ||
               PyDict_Check(values.ptr()) || text;
  if (PyObject_CheckBuffer(values.ptr()) && !PyList_Check(values.ptr()) && !text) {
    return wrapped(view_of_buffer(values.ptr()));
  }
  if (plain) {
    return wrapped(from_python(values.ptr(), ndt::type(), access_mode::immutable));
  }
  return wrapped(view_of_buffer(values.ptr())); // says what is wrong
}

nb::object rows_from_offsets(nb::object offsets, nb::object content) {
  nd::array o = to_operand(offsets.ptr(), nullptr, "from_offsets");
  nd::array c = to_operand(content.ptr(), nullptr, "from_offsets");
  element_kind own; // what is no integer, or may be missing, is refused below
  bool integers = find_element_kind(o->type->dtype, own) && !own.option && is_integer(own.scalar);
  bool taken = own.scalar == scalar_id::int64 || own.scalar == scalar_id::int32;
  if (integers && (own.swapped || !taken) && own.scalar != scalar_id::uint64) {
    o = nd::array(copy_values(o.get(), access_mode::immutable, ndt::make_scalar(scalar_id::int64)));
  }
  return wrapped(nd::from_offsets(o, c));
}

} // namespace

void add_functions(nb::module_ &m) {
  nb::object operations = nb::list();
  for (size_t i = 0; i < op_count; i++) {
    const operation &entry = operation_of(op_id(i));
    named_operation *named = find_named_operation(entry.id);
    m.attr(entry.name) =
        new_operation(nd::callable_of(op_id(i)), document(entry), named ? named->call : operation_functions[i]);
    if (named && named->method.ml_name) {
      nb::setattr(reinterpret_cast<PyObject *>(array_type), entry.name,
                  steal(PyDescr_NewMethod(array_type, &named->method)));
    }
    operations.attr("append")(nb::make_tuple(entry.name, entry.doc, entry.signature));
  }
  m.attr("operations") = operations;
  add_reductions(m);
  add_array_properties();
  add_array_methods();

  m.def("asarray", as_array, nb::arg("values").none());
  m.def(
      "type_of", [](nb::handle a) { return array_argument(a, "type_of").type(); }, nb::arg("a").none());
  m.def("from_offsets", rows_from_offsets, nb::arg("offsets").none(), nb::arg("content").none());
  m.def(
      "set_num_threads",
      [](nb::handle count) {
        intptr_t number = to_integer("set_num_threads", "count", count);
        set_num_threads(int(std::clamp<intptr_t>(number, -1, 1 << 20)));
      },
      nb::arg("count").none());
  m.def("num_threads", num_threads);
  m.def("trim_memory", [] {
    trim_blocks();
    trim_memory();
  });
  m.def("set_direct", set_direct, nb::arg("on"));
  m.def("cpu_level", [] { return isa().name; });
  nb::class_<eager_scope>(m, "eager_scope").def(nb::init<>());
  nb::class_<traced_call>(m, "traced_call")
      .def_ro("level", &traced_call::level)
      .def_ro("name", &traced_call::name)
      .def_ro("sources", &traced_call::sources)
      .def_ro("destination", &traced_call::destination);
  nb::class_<observation>(m, "observation")
      .def_ro("calls", &observation::calls)
      .def("trace_text", [](const observation &o) { return trace_text(o); })
      .def("explanation", [](const observation &o) { return explanation_text(o); });
  m.def("observe", observe, nb::arg("f"), nb::arg("arguments"), nb::arg("tracing"), nb::rv_policy::take_ownership);
}

} // namespace binding

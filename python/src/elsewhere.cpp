#include "elsewhere.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "dynd/array/layout.h"
#include "dynd/call/signature.h"
#include "dynd/eval/core_call.h"
#include "dynd/eval/settings.h"
#include "dynd/kernel/level.h"
#include "dynd/type/fixed_text.h"
#include "values.h"

namespace binding {

namespace {

constexpr const char *in_function = " in the Python function";
thread_local PyObject *kept_exception = nullptr; // of the last one that failed on this thread, until it is raised again

void keep_exception() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) {
    PyException_SetTraceback(value, trace);
  }
  Py_XDECREF(type);
  Py_XDECREF(trace);
  Py_XDECREF(std::exchange(kept_exception, value));
}

} // namespace

bool raise_kept_exception(const std::string &text) {
  if (!kept_exception || text.find(in_function) == std::string::npos) {
    return false;
  }
  PyObject *exception = std::exchange(kept_exception, nullptr);
  PyObject *added = PyObject_CallMethod(exception, "add_note", "s", text.c_str());
  if (!added) {
    PyErr_Clear();
  }
  Py_XDECREF(added);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  return true;
}

int report_exception(dynd_frame *frame) {
  PyObject *type = PyErr_Occurred();
  int status = !PyErr_GivenExceptionMatches(type, PyExc_Exception)      ? dynd_error_cancelled // Ctrl-C, exit
               : PyErr_GivenExceptionMatches(type, PyExc_TypeError)     ? dynd_error_type
               : PyErr_GivenExceptionMatches(type, PyExc_OverflowError) ? dynd_error_overflow
               : PyErr_GivenExceptionMatches(type, PyExc_IndexError)    ? dynd_error_index
               : PyErr_GivenExceptionMatches(type, PyExc_MemoryError)   ? dynd_error_memory
                                                                        : dynd_error_value;
  std::string text = reinterpret_cast<PyTypeObject *>(type)->tp_name;
  keep_exception();
  return report(frame, status, "%s%s", text.c_str(), in_function);
}

namespace {

// ---- Python functions -----------------------------------------------------------------------------------------------

/// An operand of a Python function: an element, or a core block, whose sizes come with the call.
struct python_operand {
  const type_data *dtype;
  int ndim;
  intptr_t stride[max_ndim];
};

struct python_leaf {
  ckernel_prefix base;
  const python_owner *owner;
  PyObject *keywords; // null where there are none
  std::vector<python_operand> *operands;
  int noutputs;
};

void destroy_leaf(ckernel_prefix *self) {
  auto *leaf = reinterpret_cast<python_leaf *>(self);
  Py_XDECREF(leaf->keywords);
  delete leaf->operands;
}

// Calls f with the address of every element from a dimension of a block on, in C order.
template <class F> void for_each_from(int dim, const python_operand &o, char *at, const intptr_t *size, F &f) {
  if (dim == o.ndim) {
    f(at);
    return;
  }
  for (intptr_t i = 0; i < size[dim]; i++) {
    for_each_from(dim + 1, o, at + i * o.stride[dim], size, f);
  }
}
template <class F> void for_each_element(const python_operand &o, char *at, const intptr_t *size, F f) {
  if (std::find(size, size + o.ndim, 0) == size + o.ndim) { // billions of empty rows would take their time
    for_each_from(0, o, at, size, f);
  }
}

nb::object element_object(const type_data *type, const char *at) {
  if (type->kind == type_kind::scalar) {
    return steal(to_list(nd::scalar_of(type->scalar, at)));
  }
  if (is_fixed_text(type->kind)) {
    std::string_view text = read_fixed_text(at, type);
    auto size = Py_ssize_t(text.size());
    return steal(is_string(type->kind) ? PyUnicode_DecodeUTF8(text.data(), size, nullptr)
                                       : PyBytes_FromStringAndSize(text.data(), size));
  }
  c_layout layout = c_layout_of(type);
  if (type->kind == type_kind::option) {
    return at[0] ? element_object(type->element, at + layout.offset[1]) : nb::none();
  }
  nb::list fields;
  for (int i = 0; i < type->nfields; i++) {
    fields.append(element_object(type->fields[i].type, at + layout.offset[type->fields[i].stream]));
  }
  return nb::tuple(fields);
}

ndt::type block_type(const python_operand &o) {
  ndt::type type(o.dtype);
  for (int d = 0; d < o.ndim; d++) {
    type = ndt::make_strided_dim(type);
  }
  return type;
}

// A copy: the function may keep it.
nb::object block_object(const python_operand &o, char *at, const intptr_t *size, bool writable) {
  if (o.ndim == 0) {
    return element_object(o.dtype, at);
  }
  nd::array copy = nd::empty(block_type(o), size, writable ? access_mode::readwrite : access_mode::immutable);
  c_layout layout = c_layout_of(o.dtype);
  for (size_t s = 0; s < layout.offset.size(); s++) {
    char *to = copy->streams()[s].address;
    size_t item = stream_item(o.dtype, int(s));
    auto take = [&](char *from) {
      std::memcpy(to, from + layout.offset[s], item);
      to += item;
    };
    for_each_element(o, at, size, take);
  }
  return wrapped(copy);
}

// Where the function makes a row, `row` has its memory.
struct made_row {
  const dynd_core_call *call = nullptr;
  int destination = 0;
  size_t i = 0;
};

void store(const python_operand &o, char *to, intptr_t *size, nb::handle value, const made_row &row) {
  if (o.ndim == 0) {
    nd::array made = from_python(value.ptr(), ndt::type(o.dtype), access_mode::immutable, {}, error_mode::fractional);
    if (made.ndim() > 0) {
      throw error(error_kind::broadcast, "the Python function gave " + std::string(made.type().str()) +
                                             ", where the result is one value of type " + o.dtype->text);
    }
    c_layout layout = c_layout_of(o.dtype);
    for (size_t s = 0; s < layout.offset.size(); s++) {
      std::memcpy(to + layout.offset[s], made->streams()[s].address, stream_item(o.dtype, int(s)));
    }
    return;
  }
  bool list = PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()); // what has no type of its own
  nd::array given =
      list ? from_python(value.ptr(), ndt::type(o.dtype), access_mode::immutable, {}, error_mode::fractional)
           : to_operand(value.ptr(), nullptr, "its result");
  nd::array made(copy_values(given.get(), access_mode::immutable, ndt::type(o.dtype)));
  int ndim = made.ndim();
  bool empty = ndim > 0 && ndim < o.ndim && made.size(ndim - 1) == 0; // [] ends there, whatever is meant
  bool fits = (ndim == o.ndim || empty) && made->type->var_count == 0;
  std::string wanted;
  for (int d = 0; d < o.ndim; d++) {
    bool any = row.call && d == 0;
    fits = fits && (any || d >= ndim || made.size(d) == size[d]);
    wanted += (d ? ", " : "") + (any ? "var" : std::to_string(size[d]));
  }
  if (!fits) {
    throw error(error_kind::broadcast, "the Python function gave " + std::string(given.type().str()) +
                                           ", where the result has shape (" + wanted + (o.ndim == 1 ? ",)" : ")"));
  }
  if (row.call) {
    size[0] = made.size(0);
    to = dynd_core_make(row.call, row.destination, row.i, size[0]);
    if (!to) {
      throw std::bad_alloc();
    }
  }
  c_layout layout = c_layout_of(o.dtype);
  for (size_t s = 0; s < layout.offset.size(); s++) {
    const char *from = made->streams()[s].address;
    size_t item = stream_item(o.dtype, int(s));
    auto put = [&](char *at) {
      std::memcpy(at + layout.offset[s], from, item);
      from += item;
    };
    for_each_element(o, to, size, put);
  }
}

/// The operands of one call of the function: the addresses of their elements or blocks, and the sizes of these.
struct python_call {
  char *at[max_external_operands];
  intptr_t size[max_external_operands][max_ndim];
  bool inout[max_external_operands] = {};
  made_row row[max_external_operands];
};

/// Functions that call others through kernels need some 25 KB of stack for each: more than Python counts with.
class python_depth {
public:
  python_depth() {
    if (depth_ == most) {
      PyErr_Format(PyExc_RecursionError, "Python functions call each other through kernels more than %d deep", most);
      throw nb::python_error();
    }
    depth_++;
  }
  ~python_depth() { depth_--; }
  python_depth(const python_depth &) = delete;
  python_depth &operator=(const python_depth &) = delete;

private:
  static constexpr int most = 100;
  inline static thread_local int depth_ = 0;
};

nb::object called(PyObject *function, PyObject *arguments, PyObject *keywords) {
  return steal(or_sleep([&] { return PyObject_Call(function, arguments, keywords); }));
}

void call_function(const python_leaf &leaf, python_call &c) {
  python_depth deeper;
  const std::vector<python_operand> &all = *leaf.operands;
  int nsources = int(all.size()) - leaf.noutputs;
  nb::object arguments = steal(PyTuple_New(nsources));
  for (int i = 0; i < nsources; i++) {
    int o = leaf.noutputs + i;
    PyTuple_SET_ITEM(arguments.ptr(), i, block_object(all[size_t(o)], c.at[o], c.size[o], c.inout[o]).release().ptr());
  }
  setting_scope<bool> nested(&settings::once, true);
  nb::object result = called(leaf.owner->object, arguments.ptr(), leaf.keywords);
  if (leaf.noutputs > 1 && (!PyTuple_Check(result.ptr()) || PyTuple_GET_SIZE(result.ptr()) != leaf.noutputs)) {
    throw error(error_kind::type, "the Python function must give a tuple of " + std::to_string(leaf.noutputs) +
                                      " results, not " + nb::repr(result).c_str());
  }
  for (int o = 0; o < leaf.noutputs; o++) {
    nb::handle value = leaf.noutputs > 1 ? nb::handle(PyTuple_GET_ITEM(result.ptr(), o)) : nb::handle(result);
    store(all[size_t(o)], c.at[o], c.size[o], value, c.row[o]);
  }
  for (int i = 0; i < nsources; i++) {
    int o = leaf.noutputs + i;
    if (c.inout[o]) {
      store(all[size_t(o)], c.at[o], c.size[o], nb::handle(PyTuple_GET_ITEM(arguments.ptr(), i)), {});
    }
  }
}

int python_strided(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                   dynd_frame *frame) {
  auto *leaf = reinterpret_cast<const python_leaf *>(self);
  python_call one;
  for (size_t i = 0; i < count; i++) {
    for (size_t o = 0; o < leaf->operands->size(); o++) {
      one.at[o] = data[o] + intptr_t(i) * stride[o];
    }
    if (int status = guarded_call(frame, i, [&] { call_function(*leaf, one); })) {
      return status;
    }
  }
  return dynd_ok;
}

/// A Python function with its signature: which size each core dimension has.
struct python_function : python_owner {
  std::vector<std::vector<int64_t>> sizes; // of each operand, outputs first; -2 - n: the number n itself
  std::vector<char> inout, makes_rows;
  size_t nresults;

  python_function(std::string name, std::string signature, std::string doc, PyObject *kept)
      : python_owner(std::move(name), std::move(signature), std::move(doc), kept) {}
};

int python_core(const dynd_core_call *call, const ckernel_prefix *self, dynd_frame *frame) {
  auto *leaf = reinterpret_cast<const python_leaf *>(self);
  auto *function = static_cast<const python_function *>(leaf->owner);
  python_call one;
  for (size_t i = 0; i < call->count; i++) {
    for (size_t o = 0; o < leaf->operands->size(); o++) {
      one.at[o] = dynd_core_data(call, int(o), i);
      one.inout[o] = function->inout[o];
      one.row[o] = {function->makes_rows[o] ? call : nullptr, int(o), i};
      for (size_t d = 0; d < function->sizes[o].size(); d++) {
        int64_t s = function->sizes[o][d];
        one.size[o][d] = s < 0 ? -2 - s : dynd_core_size(call, int(s), i);
      }
    }
    if (int status = guarded_call(frame, i, [&] { call_function(*leaf, one); })) {
      return status;
    }
  }
  return dynd_ok;
}

nb::object keyword_object(const dynd_keyword &k) {
  if (!k.value) {
    return nb::none();
  }
  ndt::type type(k.type);
  const type_data *t = without_option(type.get());
  return t->kind == type_kind::string ? nb::object(nb::str(static_cast<const char *>(k.value)))
                                      : element_object(t, static_cast<const char *>(k.value));
}

intptr_t instantiate_python(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
  intptr_t end = offset + intptr_t(sizeof(python_leaf));
  if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
    return dynd_error_memory;
  }
  auto *leaf = reinterpret_cast<python_leaf *>(out->data + offset);
  auto *function = static_cast<const python_function *>(python_owner::of(self));
  try {
    auto operands = std::make_unique<std::vector<python_operand>>();
    for (uint32_t o = 0; o < bind->noperands; o++) {
      const dynd_arrmeta *meta = bind->arrmeta[o];
      python_operand made{ndt::type(bind->type[o])->dtype, meta ? int(meta->ndim) : 0, {}};
      std::copy_n(meta ? meta->stride : nullptr, made.ndim, made.stride);
      operands->push_back(made);
    }
    if (bind->nkeywords) {
      nb::dict keywords;
      for (uint32_t i = 0; i < bind->nkeywords; i++) {
        keywords[bind->keyword[i].name] = keyword_object(bind->keyword[i]);
      }
      leaf->keywords = keywords.release().ptr();
    }
    leaf->operands = operands.release();
  } catch (const std::exception &e) {
    std::snprintf(bind->error, bind->error_size, "%s", e.what());
    return dynd_error_value;
  }
  leaf->base.destructor = destroy_leaf;
  leaf->owner = function;
  leaf->noutputs = int(function->nresults);
  leaf->base.function = self->prototype == core_operation_funcproto_id ? reinterpret_cast<void *>(python_core)
                                                                       : reinterpret_cast<void *>(python_strided);
  return end;
}

} // namespace

nd::kernel python_kernel(const std::string &name, std::string_view signature, PyObject *function,
                         const std::string &doc) {
  auto *made = new python_function(name, std::string(signature), doc, function);
  nd::kernel owner = nd::kernel::adopt(made);
  made->instantiate = instantiate_python;
  made->prototype = core_operation_funcproto_id;
  kernel_signature parts = read_signature(*made);
  made->prototype = parts.is_scalar() ? multi_operation_funcproto_id : core_operation_funcproto_id;
  made->nresults = parts.results.size();
  made->sizes = size_numbers(parts);
  for (const core_pattern &p : parts.results) {
    made->inout.push_back(false);
    made->makes_rows.push_back(!p.dims.empty() && p.dims[0].kind == type_kind::var_dim);
  }
  for (const core_pattern &p : parts.operands) {
    if (p.inout && p.dims.empty()) {
      throw error(error_kind::type,
                  name + ": signature \"" + std::string(signature) +
                      "\" has one value that is written, which no Python function can: it takes rows");
    }
    made->inout.push_back(p.inout);
    made->makes_rows.push_back(false);
  }
  return owner;
}

namespace {

/// A Python function that another compiler made a function for C of, with the types of its operands.
struct original_function {
  nb::object function;
  std::vector<const type_data *> operands;
};

// The compiled function has failed at these operands: the Python function says why. Only threads of Python ask it: the
// caller's, where the first element that fails is looked for.
int fail_as_python(const void *self, size_t index, const char *const *src, dynd_frame *frame) {
  auto *original = static_cast<const original_function *>(self);
  int status = dynd_ok;
  if (PyGILState_GetThisThreadState()) {
    with_interpreter lock;
    status = guarded_call(frame, index, [&] {
      nb::list arguments;
      for (size_t o = 0; o < original->operands.size(); o++) {
        arguments.append(element_object(original->operands[o], src[o]));
      }
      python_depth deeper;
      called(original->function.ptr(), nb::tuple(arguments).ptr(), nullptr);
    });
  }
  if (status) {
    return status;
  }
  fail_element(frame, index);
  return report(frame, dynd_error_value, "the compiled function raised an exception");
}

using wrapper_maker = const deferred_ckernel *(*)(void *address, const char *name, const char *signature,
                                                  uint32_t flags, decltype(&fail_as_python) failed,
                                                  const void *original);

// A function for C, by its address. One that gives a status has an original, which stays: so does the compiled code.
void add_wrapped(nb::object target, size_t make, size_t address, const std::string &name, const std::string &signature,
                 uint32_t flags, nb::object original) {
  const original_function *kept = nullptr;
  if (!original.is_none()) {
    auto made = std::make_unique<original_function>();
    made->function = original;
    ndt::type type(signature);
    for (int i = 0; i < type->nfields; i++) {
      made->operands.push_back(type->fields[i].type);
    }
    kept = made.release();
  }
  const deferred_ckernel *made = reinterpret_cast<wrapper_maker>(make)(reinterpret_cast<void *>(address), name.c_str(),
                                                                       signature.c_str(), flags, fail_as_python, kept);
  if (!made) {
    throw std::bad_alloc();
  }
  callable_in(target.ptr())->add(nd::kernel::adopt(made));
}

} // namespace

void add_elsewhere(nb::module_ &m) {
  add_ufuncs(m);
  m.def("python_callable",
        [](const std::string &name, const std::string &signature, nb::object function, const std::string &doc) {
          nd::callable made(python_kernel(name, signature, function.ptr(), doc));
          return new_callable(made);
        });
  m.def("add_wrapped", add_wrapped, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}

} // namespace binding

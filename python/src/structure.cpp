// Selection and structure: what dynd/_structure.py calls. Arguments are converted here; what they mean is in dynd/.
#include "arguments.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "dynd/array/view.h"
#include "dynd/call/combinations.h"
#include "dynd/call/selection.h"
#include "dynd/call/structure.h"
#include "dynd/eval/nested.h"

namespace binding {

namespace {

// One value that takes the type of the array; None is no value.
nd::array value_for(nb::handle value, const nd::array &a, const char *name) {
  return value.is_none() ? nd::array() : to_operand(value.ptr(), &a, name);
}

std::vector<int> all_axes(const char *name, const char *what, nb::handle axes) {
  std::vector<int> all;
  for (const nb::object &axis : one_or_several(name, what, axes)) {
    all.push_back(axis_number(name, axis));
  }
  return all;
}

// None: all of them, whatever the function means by that.
template <class F> nb::object with_axes(F f, const char *name, nb::handle a, nb::handle axes) {
  nd::array given = operand(a, name);
  return wrapped(axes.is_none() ? f(given, std::nullopt) : f(given, all_axes(name, "axis", axes)));
}

std::vector<intptr_t> all_integers(const char *name, const char *what, nb::handle values) {
  std::vector<intptr_t> all;
  for (const nb::object &value : one_or_several(name, what, values)) {
    all.push_back(to_integer(name, what, value));
  }
  return all;
}

// A shape, in which None stands for a ragged axis.
std::vector<intptr_t> all_sizes(nb::handle shape) {
  nb::object sizes = nb::borrow(shape);
  if (PyList_Check(shape.ptr()) || PyTuple_Check(shape.ptr())) {
    nb::list numbers;
    for (nb::handle size : shape) {
      numbers.append(size.is_none() ? nb::int_(nd::ragged_size) : nb::borrow(size));
    }
    sizes = numbers;
  }
  std::vector<intptr_t> all;
  for (const nb::object &size : one_or_several("reshape", "the shape", sizes)) {
    all.push_back(to_integer("reshape", "shape", size));
  }
  return all;
}

nb::object wrapped_all(const std::vector<nd::array> &arrays) {
  nb::list all;
  for (const nd::array &a : arrays) {
    all.append(wrapped(a));
  }
  return nb::tuple(all);
}

void add_selection(nb::module_ &m) {
  m.def(
      "take",
      [](nb::handle a, nb::handle index, nb::handle axis) {
        return wrapped(nd::take(operand(a, "take"), integers(index, "take"), to_axis("take", axis)));
      },
      nb::arg("a").none(), nb::arg("index").none(), nb::arg("axis").none());
  m.def(
      "take_along_axis",
      [](nb::handle a, nb::handle index, nb::handle axis) {
        return wrapped(nd::take_along_axis(operand(a, "take_along_axis"), integers(index, "take_along_axis"),
                                           axis_number("take_along_axis", axis)));
      },
      nb::arg("a").none(), nb::arg("index").none(), nb::arg("axis").none());
  m.def(
      "nonzero", [](nb::handle a) { return wrapped_all(nd::nonzero(operand(a, "nonzero"))); }, nb::arg("a").none());
  m.def(
      "argwhere", [](nb::handle a) { return wrapped(nd::argwhere(operand(a, "argwhere"))); }, nb::arg("a").none());
  m.def(
      "drop_missing",
      [](nb::handle a, nb::handle axis) {
        return wrapped(nd::drop_missing(operand(a, "drop_missing"), axis_number("drop_missing", axis)));
      },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "mask",
      [](nb::handle a, nb::handle m, nb::handle axis) {
        return wrapped(nd::mask(operand(a, "mask"), operand(m, "mask"), to_axis("mask", axis)));
      },
      nb::arg("a").none(), nb::arg("mask").none(), nb::arg("axis").none());
  m.def(
      "nth",
      [](nb::handle a, nb::handle i, nb::handle axis, nb::handle empty) {
        nd::array from = operand(a, "nth");
        return wrapped(
            nd::nth(from, to_integer("nth", "i", i), axis_number("nth", axis), value_for(empty, from, "nth")));
      },
      nb::arg("a").none(), nb::arg("i").none(), nb::arg("axis").none(), nb::arg("empty").none());
  m.def(
      "isin",
      [](nb::handle a, nb::handle values, nb::handle invert) {
        nd::array from = operand(a, "isin");
        ndt::type element(elements_of_rows(from->type));
        auto known_values = [&] {
          if (!is_list(values.ptr())) {
            return integers(float_beyond(values.ptr(), element.get()), "isin");
          }
          if (intptr_t count = PySequence_Size(values.ptr()); count == 0) { // a list without elements has no type
            return nd::empty(ndt::make_strided_dim(element), &count, access_mode::immutable);
          }
          return from_python(values.ptr(), ndt::type(), access_mode::immutable, element);
        };
        nd::array known = known_values();
        return wrapped(nd::isin(from, known, to_flag("isin", "invert", invert)));
      },
      nb::arg("a").none(), nb::arg("values").none(), nb::arg("invert").none());
}

void add_rows(nb::module_ &m) {
  m.def(
      "rows_ndim", [](nb::handle a) { return rows_ndim(operand(a, "ndim")->type); }, nb::arg("a"));
  m.def(
      "num",
      [](nb::handle a, nb::handle axis) { return wrapped(nd::num(operand(a, "num"), axis_number("num", axis))); },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "local_index",
      [](nb::handle a, nb::handle axis) {
        return wrapped(nd::local_index(operand(a, "local_index"), axis_number("local_index", axis)));
      },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "row_index",
      [](nb::handle a, nb::handle axis) {
        return wrapped(nd::row_index(operand(a, "row_index"), axis_number("row_index", axis)));
      },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "flatten",
      [](nb::handle a, nb::handle axis) {
        return wrapped(nd::flatten(operand(a, "flatten"), to_axis("flatten", axis)));
      },
      nb::arg("a").none(), nb::arg("axis").none());
  m.def(
      "unflatten",
      [](nb::handle a, nb::handle lengths, nb::handle axis) {
        return wrapped(
            nd::unflatten(operand(a, "unflatten"), integers(lengths, "unflatten"), axis_number("unflatten", axis)));
      },
      nb::arg("a").none(), nb::arg("lengths").none(), nb::arg("axis").none());
}

void add_lengths(nb::module_ &m) {
  m.def(
      "pad",
      [](nb::handle a, nb::handle width, nb::handle value, nb::handle clip, nb::handle axis) {
        nd::array from = operand(a, "pad");
        return wrapped(nd::pad(from, to_integer("pad", "width", width), value_for(value, from, "pad"),
                               to_flag("pad", "clip", clip), axis_number("pad", axis)));
      },
      nb::arg("a").none(), nb::arg("width").none(), nb::arg("value").none(), nb::arg("clip").none(),
      nb::arg("axis").none());
  m.def(
      "to_dense",
      [](nb::handle a, nb::handle width, nb::handle value, nb::handle axis) {
        nd::array from = operand(a, "to_dense");
        return wrapped(nd::to_dense(from, to_integer("to_dense", "width", width), value_for(value, from, "to_dense"),
                                    axis_number("to_dense", axis)));
      },
      nb::arg("a").none(), nb::arg("width").none(), nb::arg("value").none(), nb::arg("axis").none());
  m.def(
      "from_dense",
      [](nb::handle a, nb::handle lengths, nb::handle axis) {
        return wrapped(
            nd::from_dense(operand(a, "from_dense"), integers(lengths, "from_dense"), axis_number("from_dense", axis)));
      },
      nb::arg("a").none(), nb::arg("lengths").none(), nb::arg("axis").none());
  m.def(
      "repeat",
      [](nb::handle a, nb::handle repeats, nb::handle axis) {
        return wrapped(nd::repeat(operand(a, "repeat"), integers(repeats, "repeat"), to_axis("repeat", axis)));
      },
      nb::arg("a").none(), nb::arg("repeats").none(), nb::arg("axis").none());
}

void add_moves(nb::module_ &m) {
  m.def(
      "tile",
      [](nb::handle a, nb::handle reps) {
        return wrapped(nd::tile(operand(a, "tile"), all_integers("tile", "reps", reps)));
      },
      nb::arg("a").none(), nb::arg("reps").none());
  m.def(
      "flip", [](nb::handle a, nb::handle axes) { return with_axes(nd::flip, "flip", a, axes); }, nb::arg("a").none(),
      nb::arg("axes").none());
  m.def(
      "roll",
      [](nb::handle a, nb::handle shift, nb::handle axis) {
        return wrapped(nd::roll(operand(a, "roll"), to_integer("roll", "shift", shift), to_axis("roll", axis)));
      },
      nb::arg("a").none(), nb::arg("shift").none(), nb::arg("axis").none());
  m.def(
      "rolling",
      [](nb::handle a, nb::handle window, nb::handle axis) {
        return wrapped(
            nd::rolling(operand(a, "rolling"), to_integer("rolling", "window", window), axis_number("rolling", axis)));
      },
      nb::arg("a").none(), nb::arg("window").none(), nb::arg("axis").none());
  m.def(
      "run_lengths",
      [](nb::handle a, nb::handle axis) {
        return wrapped(nd::run_lengths(operand(a, "run_lengths"), axis_number("run_lengths", axis)));
      },
      nb::arg("a").none(), nb::arg("axis").none());
}

void add_joins(nb::module_ &m) {
  m.def(
      "concat",
      [](nb::handle arrays, nb::handle axis) {
        return wrapped(nd::concat(operands(arrays, "concat"), axis_number("concat", axis)));
      },
      nb::arg("arrays"), nb::arg("axis").none());
  m.def(
      "stack",
      [](nb::handle arrays, nb::handle axis) {
        return wrapped(nd::stack(operands(arrays, "stack"), axis_number("stack", axis)));
      },
      nb::arg("arrays"), nb::arg("axis").none());
  m.def(
      "broadcast_arrays",
      [](nb::handle arrays) { return wrapped_all(nd::broadcast_arrays(operands(arrays, "broadcast_arrays"))); },
      nb::arg("arrays"));
  m.def(
      "zip",
      [](std::vector<std::string> names, nb::handle arrays) {
        return wrapped(nd::zip(names, operands(arrays, "zip")));
      },
      nb::arg("names"), nb::arg("arrays"));
  m.def(
      "unzip", [](nb::handle a) { return wrapped_all(nd::unzip(operand(a, "unzip"))); }, nb::arg("a").none());
  m.def(
      "with_field",
      [](nb::handle a, const std::string &name, nb::handle values) {
        return wrapped(nd::with_field(operand(a, "with_field"), name, operand(values, "with_field")));
      },
      nb::arg("a").none(), nb::arg("name"), nb::arg("values").none());
  m.def(
      "without_field",
      [](nb::handle a, std::vector<std::string> names) {
        return wrapped(nd::without_field(operand(a, "without_field"), names));
      },
      nb::arg("a").none(), nb::arg("names"));
  m.def(
      "rename",
      [](nb::handle a, std::vector<std::string> from, std::vector<std::string> to) {
        return wrapped(nd::rename(operand(a, "rename"), from, to));
      },
      nb::arg("a").none(), nb::arg("old"), nb::arg("new"));
}

void add_shapes(nb::module_ &m) {
  m.def(
      "integers",
      [](const char *name, const char *what, nb::handle values) {
        nb::list all;
        for (const nb::object &number : one_or_several(name, what, values)) {
          all.append(number);
        }
        return all;
      },
      nb::arg("name"), nb::arg("what"), nb::arg("values").none());
  m.def(
      "reshape",
      [](nb::handle a, nb::handle shape) { return wrapped(nd::reshape(operand(a, "reshape"), all_sizes(shape))); },
      nb::arg("a").none(), nb::arg("shape").none());
  m.def(
      "permute_dims",
      [](nb::handle a, nb::handle axes) {
        return wrapped(nd::permute_dims(operand(a, "permute_dims"), all_axes("permute_dims", "axes", axes)));
      },
      nb::arg("a").none(), nb::arg("axes").none());
  m.def(
      "squeeze", [](nb::handle a, nb::handle axes) { return with_axes(nd::squeeze, "squeeze", a, axes); },
      nb::arg("a").none(), nb::arg("axes").none());
  m.def(
      "expand_dims",
      [](nb::handle a, nb::handle axis) {
        return wrapped(nd::expand_dims(operand(a, "expand_dims"), axis_number("expand_dims", axis)));
      },
      nb::arg("a").none(), nb::arg("axis").none());
}

template <auto combine> void add_combinations(nb::module_ &m, const char *name) {
  m.def(
      name,
      [name](nb::handle a, nb::handle n, nb::handle axis, nb::handle replacement, std::vector<std::string> fields) {
        return wrapped(combine(operand(a, name), to_integer(name, "n", n), axis_number(name, axis),
                               to_flag(name, "replacement", replacement), fields));
      },
      nb::arg("a").none(), nb::arg("n").none(), nb::arg("axis").none(), nb::arg("replacement").none(),
      nb::arg("fields"));
}

template <auto combine> void add_product(nb::module_ &m, const char *name) {
  m.def(
      name,
      [name](std::vector<std::string> fields, nb::handle arrays, nb::handle axis, nb::handle nested) {
        return wrapped(
            combine(fields, operands(arrays, name), axis_number(name, axis), to_flag(name, "nested", nested)));
      },
      nb::arg("fields"), nb::arg("arrays"), nb::arg("axis").none(), nb::arg("nested").none());
}

} // namespace

void add_structure(nb::module_ &m) {
  add_selection(m);
  add_rows(m);
  add_lengths(m);
  add_moves(m);
  add_joins(m);
  add_shapes(m);
  add_combinations<nd::combinations>(m, "combinations");
  add_combinations<nd::argcombinations>(m, "argcombinations");
  add_product<nd::cartesian>(m, "cartesian");
  add_product<nd::argcartesian>(m, "argcartesian");
}

} // namespace binding

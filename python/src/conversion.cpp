// Assignment and conversion by name: nd.assign, array.astype, and the error modes they take.
#include "arguments.h"
#include "binding.h"

#include <nanobind/stl/string_view.h>

#include <string>

#include "dynd/eval/evaluate.h"

namespace binding {

namespace {

error_mode mode_of(std::string_view text, const char *operation) {
  static const char *const names[] = {"nocheck", "overflow", "fractional", "inexact"};
  static_assert(sizeof(names) / sizeof(names[0]) == error_mode_count);
  for (size_t i = 0; i < error_mode_count; i++) {
    if (text == names[i]) {
      return error_mode(i);
    }
  }
  throw error(error_kind::value, std::string(operation) +
                                     ": errmode must be 'nocheck', 'overflow', 'fractional' or 'inexact', not '" +
                                     std::string(text) + "'");
}

nb::object astype(nb::handle self, nb::handle type, std::string_view errmode) {
  const nd::array &a = unwrap(self.ptr());
  error_mode mode = mode_of(errmode, "astype");
  ndt::type wanted = to_element_type("astype", type.ptr());
  if (!wanted) {
    throw error(error_kind::type, "astype: expected a type, not None");
  }
  if (wanted->ndim == 0) {
    wanted = with_element(a, wanted, "astype");
  }
  if (wanted == a.type() && a->access == access_mode::immutable) {
    return nb::borrow(self);
  }
  return nb::steal(wrap(convert_values(a.get(), access_mode::immutable, wanted, mode)));
}

} // namespace

void add_conversions(nb::module_ &m) {
  m.def(
      "assign",
      [](nb::handle dst, nb::handle src, std::string_view errmode) {
        if (!is_array(dst.ptr())) {
          throw error(error_kind::type,
                      std::string("assign: expected an nd.array, not ") + Py_TYPE(dst.ptr())->tp_name);
        }
        const nd::array &to = unwrap(dst.ptr());
        error_mode mode = mode_of(errmode, "assign");
        nd::array from = to_assigned(src.ptr(), to, mode);
        assign(to.get(), from.get(), mode);
      },
      "dst[...] = src: src broadcasts to dst, never the reverse; values are converted to dst's type. A record is one\n"
      "value: nothing broadcasts inside of it, and its rows get the lengths that are assigned.\n\n"
      "errmode says what is an error, each also what the ones before it do:\n\n"
      "- nocheck: nothing; integers wrap, fractions are cut off, anything but 0 is True\n"
      "- overflow: a value outside the range of dst's type (of bool: other than 0 and 1)\n"
      "- fractional: a value with a fraction for an integer\n"
      "- inexact: a value that a floating-point type does not hold exactly\n\n"
      "The error names the first bad element; every element of dst is then as before or new, bad ones as before.",
      nb::sig("def assign(dst, src, errmode='fractional')"), nb::arg("dst"), nb::arg("src").none(),
      nb::arg("errmode") = "fractional");
  nb::handle type(reinterpret_cast<PyObject *>(array_type));
  nb::setattr(
      type, "astype",
      nb::cpp_function(astype, nb::name("astype"), nb::is_method(), nb::scope(type),
                       "The values converted to an element type (\"int8\"), or to a whole type with the same\n"
                       "dimensions. errmode: what is an error, see nd.assign. An array that is immutable and of\n"
                       "the type already is its own conversion.",
                       nb::arg("type").none(), nb::arg("errmode") = "fractional"));
}

} // namespace binding

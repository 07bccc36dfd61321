// Groups: what dynd/_groups.py calls. Arguments are converted here; what they mean is in dynd/call/groups.h.
#include "arguments.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "dynd/call/groups.h"
#include "dynd/call/join.h"

namespace binding {

namespace {

// Names, arrays and corrections of reductions that `takes` has said yes to: a list of results.
nb::object reduce(const nd::groups &groups, const std::vector<std::string> &names, nb::handle values,
                  nb::handle corrections) {
  std::vector<nd::group_reduction> reductions;
  for (size_t i = 0; i < names.size(); i++) {
    const aggregate *what = find_aggregate(names[i]);
    nb::object own = nb::borrow<nb::sequence>(values)[i], correction = nb::borrow<nb::sequence>(corrections)[i];
    if (!what) {
      throw error(error_kind::value, "groupby: there is no aggregate " + names[i]);
    }
    reductions.push_back({what->id, own.is_none() ? nd::array() : operand(own, "groupby"),
                          to_number(what->name, "correction", correction.ptr(), 0)});
  }
  nb::list results;
  for (nd::array &result : groups.reduce(reductions)) {
    results.append(wrapped(std::move(result)));
  }
  return results;
}

} // namespace

void add_groups(nb::module_ &m) {
  nb::class_<nd::groups>(m, "groups")
      .def(
          "__init__",
          [](nd::groups *self, nb::handle by, const std::vector<std::string> &names, bool several, nb::handle axis) {
            new (self) nd::groups(operands(by, "groupby"), names, several, axis_number("groupby", axis));
          },
          nb::arg("by"), nb::arg("names"), nb::arg("several"), nb::arg("axis").none())
      .def_prop_ro("axis", &nd::groups::axis)
      .def("check", [](const nd::groups &g, nb::handle values) { g.check(operand(values, "groupby")); })
      .def("keys", [](const nd::groups &g) { return wrapped(g.keys()); })
      .def("rows", [](const nd::groups &g, nb::handle values) { return wrapped(g.rows(operand(values, "groupby"))); })
      .def(
          "takes",
          [](const nd::groups &g, const std::string &name, nb::handle values, bool correction) {
            const aggregate *what = find_aggregate(name);
            return what && (!correction || (what->keywords & takes_correction)) &&
                   g.takes(what->id, values.is_none() ? nd::array() : operand(values, "groupby"), g.axis());
          },
          nb::arg("name"), nb::arg("values").none(), nb::arg("correction") = false)
      .def("reduce", reduce) // a correction may be None
      .def("spread", [](const nd::groups &g, nb::handle a) { return wrapped(g.spread(operand(a, "groupby"))); })
      .def("restored", [](const nd::groups &g, nb::handle a) { return wrapped(g.restored(operand(a, "groupby"))); });
  m.def(
      "join",
      [](nb::handle left, nb::handle right, const std::vector<std::string> &on, const std::string &how) {
        constexpr std::pair<const char *, nd::join_kind> kinds[] = {{"inner", nd::join_kind::inner},
                                                                    {"left", nd::join_kind::left},
                                                                    {"outer", nd::join_kind::outer},
                                                                    {"semi", nd::join_kind::semi},
                                                                    {"anti", nd::join_kind::anti}};
        for (auto &[name, kind] : kinds) {
          if (how == name) {
            return wrapped(nd::join(operand(left, "join"), operand(right, "join"), on, kind));
          }
        }
        throw error(error_kind::value,
                    "join: how must be 'inner', 'left', 'outer', 'semi' or 'anti', not '" + how + "'");
      },
      nb::arg("left").none(), nb::arg("right").none(), nb::arg("on"), nb::arg("how"));
}

} // namespace binding

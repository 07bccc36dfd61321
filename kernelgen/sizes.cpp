// The sizes of a call: which are measured on operands, which are computed for results, in which order values are found;
// and the signature that comes of it.
#include <algorithm>
#include <cctype>

#include "dynd/abi/arguments.h"
#include "kernelgen/resolve.h"

namespace kernelgen {

namespace {

class finder {
public:
  finder(variant &v, const kernel_text &text) : v_(v), text_(text) {}

  void find() {
    for (argument &a : v_.arguments) {
      check_functions(a);
      if (a.is_array() && a.operand >= 0) {
        measure(a);
      }
    }
    for (argument &a : v_.arguments) {
      check_known(a);
      check_outputs(a);
      if (a.is_array() && a.result >= 0 && a.operand < 0) {
        compute(a);
      }
    }
    if (v_.result.kind == return_kind::array) {
      check_functions(v_.result.value);
      check_known(v_.result.value);
      compute(v_.result.value);
    }
    evaluation_order(v_);
    for (const size_symbol &s : v_.sizes) {
      auto may_miss = [](const argument &a) { return a.may_miss; };
      if (s.computed && std::any_of(v_.arguments.begin(), v_.arguments.end(), may_miss)) {
        wrong(s.computed->at, text_.made.name, "",
              "the size " + s.computed->str() + " is computed, and could be missing: `missing = refuse`");
      }
    }
    for (const argument &a : v_.arguments) {
      check_count(a);
      check_skipping(a);
    }
    check_count(v_.result.value);
    check_skipping(v_.result.value);
    v_.signature = signature();
  }

private:
  // The functions of dynd/abi/arguments.h have room for so many.
  void check_count(const argument &a) const {
    if (a.dims.size() > DYND_MAX_CORE_DIMS) {
      refuse(a.dims[0], a,
             "it has " + std::to_string(a.dims.size()) + " dimensions, and an array argument has at most " +
                 std::to_string(DYND_MAX_CORE_DIMS));
    }
  }

  // What is left out shortens a row, and nothing else has a meaning.
  void check_skipping(const argument &a) const {
    bool is_row = a.core.size() == 1 && a.core[0].symbol >= 0 && a.form == argument_form::array;
    if (v_.skips && !a.core.empty() && !is_row) {
      refuse(a.dims[0], a, "`missing = skip` is for values and rows, `x(n)`; it has the dimensions " + type_text(a));
    }
  }

  [[noreturn]] void refuse(const expression &e, const argument &a, const std::string &why) const {
    place at = e.at.file ? e.at : a.at;
    wrong(at, text_.made.name, a.name, why);
  }

  void check_functions(const argument &a) const {
    for (const expression &d : a.dims) {
      kernelgen::check_functions(d, v_, a.at, text_.made.name, a.name);
    }
    if (a.value) {
      kernelgen::check_functions(*a.value, v_, a.at, text_.made.name, a.name);
    }
  }

  bool is_measured(const std::string &key) const {
    return symbols_.count(key) && !v_.sizes[size_t(symbols_.at(key))].computed;
  }

  // Names in sizes are arguments or sizes of inputs.
  void check_known(const argument &a) const {
    for (const expression &d : a.dims) {
      visit_names(d, [&](const expression &name, const std::string &function) {
        const argument *of = v_.find(name.spelling);
        if (function.empty() && !is_measured(name.spelling) &&
            (!of || of->is_array() || of->form == argument_form::opaque)) {
          refuse(name, a,
                 "its size has `" + name.spelling + "`, which is no argument and no size of an input" +
                     (of ? " (it is an array)" : "; a constant of C goes in backquotes"));
        }
        if (function.empty() && of && !is_measured(name.spelling) && of->intent == intent_kind::hide && !of->value) {
          refuse(name, a, "its size is `" + name.spelling + "`, which is hidden and has no value");
        }
      });
    }
  }

  // x(n), where n is what the function gives: what the caller gives is no size of it.
  void check_outputs(const argument &a) const {
    for (const expression &d : a.dims) {
      visit_names(d, [&](const expression &name, const std::string &function) {
        const argument *of = function.empty() ? v_.find(name.spelling) : nullptr;
        if (of && of->intent == intent_kind::output && !of->value) {
          refuse(name, a, "its size is `" + name.spelling + "`, which is known after the call only");
        }
      });
    }
  }

  core_dim add_symbol(const std::string &key, const std::string &wanted, std::optional<expression> computed) {
    auto known = symbols_.find(key);
    if (known != symbols_.end()) {
      return {-1, known->second};
    }
    static const std::set<std::string> taken = {"Any",    "Scalar",   "Number",   "Real",    "Integer",
                                                "Signed", "Unsigned", "Floating", "Complex", "Bool",
                                                "Fixed",  "Float",    "Int",      "UInt",    "Text"};
    std::string name = wanted;
    name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
    if (!std::isalpha(static_cast<unsigned char>(name[0]))) {
      name = "N" + name;
    }
    auto is_taken = [&](const std::string &n) {
      return taken.count(n) || v_.find(n) || // an operand of that name would be the size
             std::any_of(v_.sizes.begin(), v_.sizes.end(), [&](auto &s) { return s.name == n; });
    };
    std::string unique = name;
    for (int i = 1; is_taken(unique); i++) {
      unique = name + std::to_string(i);
    }
    symbols_[key] = int(v_.sizes.size());
    v_.sizes.push_back({unique, std::move(computed)});
    return {-1, int(v_.sizes.size()) - 1};
  }

  std::optional<core_dim> fixed_dim(const expression &e, const argument &a) const {
    std::optional<int64_t> number = constant(e);
    if (number && *number < 0) {
      refuse(e, a, "its size " + e.str() + " is negative");
    }
    return number ? std::optional(core_dim{*number, -1}) : std::nullopt;
  }

  // The dimensions of an operand are what it has: named ones agree, for others a check is emitted.
  void measure(argument &a) {
    for (size_t d = 0; d < a.dims.size(); d++) {
      const expression &e = a.dims[d];
      if (std::optional<core_dim> fixed = fixed_dim(e, a)) {
        a.core.push_back(*fixed);
      } else if (e.kind == expression::name) {
        a.core.push_back(add_symbol(e.spelling, e.spelling, std::nullopt));
      } else {
        a.core.push_back(add_symbol(a.name + "#" + std::to_string(d), a.name + "_" + std::to_string(d), std::nullopt));
      }
    }
  }

  void compute(argument &a) {
    for (size_t d = 0; d < a.dims.size(); d++) {
      a.core.push_back(result_dim(a.dims[d], a, d, 0));
    }
  }

  core_dim result_dim(const expression &e, const argument &a, size_t d, int depth) {
    if (depth > 16) {
      refuse(a.dims[d], a, "its size " + a.dims[d].str() + " depends on itself");
    }
    if (std::optional<core_dim> fixed = fixed_dim(e, a)) {
      return *fixed;
    }
    if (e.kind == expression::name && is_measured(e.spelling)) {
      return {-1, symbols_.at(e.spelling)};
    }
    const argument *of = e.kind == expression::name ? v_.find(e.spelling) : nullptr;
    bool by_value = of && of->intent == intent_kind::hide && of->value;
    if (by_value && (of->value->kind == expression::name || of->value->kind == expression::call)) {
      return result_dim(*of->value, a, d, depth + 1);
    }
    if (e.kind == expression::call && (e.spelling == "len" || e.spelling == "shape")) {
      const argument &array = *v_.find(e.parts[0].spelling);
      size_t axis = e.parts.size() == 2 ? std::stoul(e.parts[1].spelling) : 0;
      return array.operand >= 0 ? array.core[axis] : result_dim(array.dims[axis], a, d, depth + 1);
    }
    std::string wanted = e.kind == expression::name ? e.spelling : a.name + "_" + std::to_string(d);
    return add_symbol("=" + e.str(), wanted, e);
  }

  std::string type_text(const argument &a) const {
    std::string text;
    for (const core_dim &d : a.core) {
      text += (d.symbol < 0 ? std::to_string(d.fixed) : v_.sizes[size_t(d.symbol)].name) + " * ";
    }
    return text + (a.is_optional || a.may_miss ? "?" : "") + a.element;
  }

  std::string signature() const {
    std::vector<std::string> operands, results;
    for (const argument &a : v_.arguments) {
      if (a.operand >= 0) {
        operands.push_back(a.name + ": " + (a.is_written_operand() ? "inout " : "") + type_text(a));
      }
    }
    auto add_result = [&](const argument &a) {
      argument plain = a;
      plain.is_optional = false;
      if (a.result >= 0) {
        results.push_back(type_text(plain));
      }
    };
    std::for_each(v_.arguments.begin(), v_.arguments.end(), add_result);
    add_result(v_.result.value);
    std::string to = results.empty() ? "void" : results.size() == 1 ? results[0] : "(" + joined(results, ", ") + ")";
    return "(" + joined(operands, ", ") + ") -> " + to;
  }

  variant &v_;
  const kernel_text &text_;
  std::map<std::string, int> symbols_;
};

class orderer {
public:
  explicit orderer(const variant &v) : v_(v) {}

  std::vector<const argument *> order() {
    for (const argument &a : v_.arguments) {
      if (!a.is_array()) {
        visit(a);
      }
    }
    for (const argument &a : v_.arguments) { // sizes of hidden arrays and results
      if (a.is_array()) {
        visit(a);
      }
    }
    return std::move(ordered_);
  }

private:
  void visit(const argument &a) {
    if (done_.count(&a)) {
      return;
    }
    auto again = std::find(path_.begin(), path_.end(), &a);
    if (again != path_.end()) {
      std::string cycle;
      for (; again != path_.end(); ++again) {
        cycle += (*again)->name + " -> ";
      }
      throw problem(a.value ? a.value->at : a.at,
                    "argument " + a.name + ": its value depends on itself: " + cycle + a.name);
    }
    path_.push_back(&a);
    auto see = [&](const expression &name, const std::string &function) {
      const argument *other = v_.find(name.spelling);
      bool is_resource = other == &a && a.form == argument_form::opaque; // plan = plan
      // What an operand measures needs no other argument.
      if (other && !is_resource && !(other->is_array() && other->operand >= 0) &&
          !(function == "ndim" || function == "itemsize")) {
        visit(*other);
      }
    };
    if (a.value) {
      visit_names(*a.value, see);
    }
    for (const expression &d : a.dims) {
      if (a.operand < 0) {
        visit_names(d, see);
      }
    }
    path_.pop_back();
    done_.insert(&a);
    if (!a.is_array()) {
      ordered_.push_back(&a);
    }
  }

  const variant &v_;
  std::vector<const argument *> ordered_, path_;
  std::set<const argument *> done_;
};

} // namespace

void check_functions(const expression &e, const variant &v, place at, const std::string &kernel,
                     const std::string &argument_name) {
  auto refuse = [&](const expression &part, const std::string &why) {
    wrong(part.at.file ? part.at : at, kernel, argument_name, why);
  };
  for (const expression &part : e.parts) {
    check_functions(part, v, at, kernel, argument_name);
  }
  if (e.kind != expression::call || !is_array_function(e.spelling)) {
    return;
  }
  const std::string &name = e.parts[0].spelling;
  const argument *of = v.find(name);
  if (!of || !of->is_array()) {
    refuse(e.parts[0], e.spelling + " of `" + name + "`, which is no array among the arguments");
  }
  if (e.parts.size() == 2 && std::stoul(e.parts[1].spelling) >= of->dims.size()) {
    refuse(e.parts[1],
           name + " has " + std::to_string(of->dims.size()) + " dimensions, and no axis " + e.parts[1].spelling);
  }
  if (e.spelling == "stride" && v.kind != layout_kind::strided) {
    refuse(e, "stride is for functions of the kind Strided; others get arrays without gaps");
  }
  if (e.spelling == "stride" && of->intent == intent_kind::hide) {
    refuse(e, name + " is hidden, and has no gaps: its stride is 1");
  }
}

void find_sizes(variant &v, const kernel_text &text) { finder(v, text).find(); }

std::vector<const argument *> evaluation_order(const variant &v) { return orderer(v).order(); }

} // namespace kernelgen

#include "dynd/call/signature.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/call/callable.h"
#include "dynd/eval/core_call.h"

namespace dynd {

namespace {

class reader {
public:
  explicit reader(const deferred_ckernel &kernel) : kernel_(kernel) {}

  kernel_signature read() {
    kernel_signature made;
    made.type = parse();
    const type_data *t = made.type.get();
    if (t->kind != type_kind::function || t->open) {
      wrong("is not of the form (T, ...) -> R");
    }
    int nparameters = t->nfields - t->nkeywords;
    for (int i = 0; i < nparameters; i++) {
      const type_field &f = t->fields[i];
      if (f.value) {
        wrong("has a default for an operand: only keywords have one (behind *)");
      }
      made.operands.push_back(part(f.type, f.name, f.inout, false));
    }
    made.keywords.assign(t->fields + nparameters, t->fields + t->nfields);
    for (const type_field &f : made.keywords) {
      check_keyword(f);
    }
    bool several = t->element->kind == type_kind::tuple;
    for (int i = 0; i < (several ? t->element->nfields : t->element->kind != type_kind::nothing); i++) {
      made.results.push_back(part(several ? t->element->fields[i].type : t->element, nullptr, false, true));
    }
    check_counts(made);
    check_variables(made);
    check_prototype(made);
    return made;
  }

private:
  ndt::type parse() {
    try {
      return ndt::type(kernel_.signature);
    } catch (const error &e) {
      wrong(std::string("does not parse:\n") + e.what());
    }
  }

  // An ellipsis outside of everything says what is so anyway: there may be dimensions outside.
  core_pattern part(const type_data *type, const char *name, bool inout, bool result) {
    core_pattern made;
    made.name = name ? name : "";
    made.inout = inout;
    const type_data *t = type->kind == type_kind::ellipsis ? type->element : type;
    for (; t->kind >= type_kind::fixed_dim; t = t->element) {
      if (t->kind == type_kind::ellipsis || t->kind == type_kind::any_fixed_dim || t->kind == type_kind::strided_dim) {
        wrong(std::string("has a core dimension that is not a size, a variable or var: ") + type->text);
      }
      if (t->kind == type_kind::var_dim && !made.dims.empty()) {
        wrong(std::string("has a var dimension that is not the first: ") + type->text);
      }
      made.dims.push_back(ndt::dimension_of(t));
    }
    made.dtype = ndt::type(t);
    const type_data *value = without_option(t);
    bool symbol = value->kind == type_kind::variable || (value->kind == type_kind::family && !result);
    if (!symbol && (t->abstract || !has_c_layout(t))) {
      wrong(std::string("has an operand that a kernel cannot have: ") + type->text +
            " (its elements are scalars or texts of a fixed length, which may be missing, structs and tuples of these, "
            "or a variable)");
    }
    return made;
  }

  void check_keyword(const type_field &f) {
    const type_data *t = without_option(f.type);
    if (t->kind != type_kind::scalar && t->kind != type_kind::string) {
      wrong(std::string("has a keyword ") + f.name + " that is no bool, number or string: " + f.type->text);
    }
  }

  void check_counts(const kernel_signature &made) {
    bool none = made.operands.empty() && kernel_.prototype != core_operation_funcproto_id;
    if (none || made.operands.size() > size_t(max_external_sources)) {
      wrong("has " + std::to_string(made.operands.size()) + " operands; a kernel has 1 to " +
            std::to_string(max_external_sources));
    }
    if (made.results.size() > size_t(max_external_outputs)) {
      wrong("has " + std::to_string(made.results.size()) + " results; a kernel has up to " +
            std::to_string(max_external_outputs));
    }
    bool inout = std::any_of(made.operands.begin(), made.operands.end(), [](const core_pattern &p) { return p.inout; });
    bool calls_only = kernel_.prototype == core_operation_funcproto_id; // for what else the function does
    if (made.results.empty() && !inout && !calls_only) {
      wrong("has no result, and no operand that is written (inout)");
    }
  }

  // Results are made of what operands and keywords say.
  void check_variables(const kernel_signature &made) {
    std::vector<std::string> known;
    for (const core_pattern &p : made.operands) {
      known.push_back(p.name);
      add_names(p, known);
    }
    for (const type_field &f : made.keywords) {
      known.emplace_back(f.name);
    }
    size_t computed = 0;
    for (const core_pattern &p : made.results) {
      std::vector<std::string> used;
      add_names(p, used);
      for (const std::string &name : used) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
          if (!dynd_output_sizes(&kernel_)) {
            wrong("has " + name + " in the result and in no operand");
          }
          computed++;
          known.push_back(name);
        }
      }
      bool made_rows = !p.dims.empty() && p.dims[0].kind == type_kind::var_dim;
      if (made_rows && kernel_.prototype != core_operation_funcproto_id) {
        wrong("has a var result: that takes the core prototype");
      }
      if (made_rows && p.dims.size() > 1 && (kernel_.flags & dynd_callable_f_layout)) {
        wrong("has a var result of several dimensions, which cannot be in F order");
      }
    }
    if (dynd_output_sizes(&kernel_)) {
      check_output_sizes(made, computed);
    }
  }

  void check_output_sizes(const kernel_signature &made, size_t computed) {
    const deferred_ckernel &sizes = *dynd_output_sizes(&kernel_);
    nd::check_kernel(sizes); // before anything of it is read
    bool core = kernel_.prototype == core_operation_funcproto_id && sizes.prototype == core_operation_funcproto_id;
    if (!core || dynd_output_sizes(&sizes)) {
      wrong("has output_sizes that are no kernel of the core prototype");
    }
    kernel_signature own = reader(sizes).read();
    bool same = own.operands.size() == made.operands.size() && own.results.size() == computed && computed > 0;
    for (size_t i = 0; same && i < own.operands.size(); i++) {
      same = own.operands[i].dtype == made.operands[i].dtype &&
             own.operands[i].dims.size() == made.operands[i].dims.size() && !own.operands[i].inout;
    }
    for (const core_pattern &p : own.results) {
      same = same && p.dims.empty() && p.dtype == ndt::make_scalar(scalar_id::int64);
    }
    if (!same) {
      wrong(std::string("has output_sizes of another signature, \"") + sizes.signature +
            "\": it takes the same operands, and gives an int64 for each size that no operand has");
    }
  }

  static void add_names(const core_pattern &p, std::vector<std::string> &names) {
    for (const ndt::dimension &d : p.dims) {
      if (d.kind == type_kind::dim_variable) {
        names.push_back(d.name);
      }
    }
    if (const type_data *value = without_option(p.dtype.get()); value->kind == type_kind::variable) {
      names.emplace_back(value->name);
    }
  }

  void check_prototype(const kernel_signature &made) {
    auto has_dims = [](const core_pattern &p) { return !p.dims.empty() || p.inout; };
    bool core = std::any_of(made.operands.begin(), made.operands.end(), has_dims) ||
                std::any_of(made.results.begin(), made.results.end(), has_dims);
    uint32_t prototype = kernel_.prototype;
    if (prototype == core_operation_funcproto_id) {
      return;
    }
    auto may_miss = [](const core_pattern &p) { return p.dtype->kind == type_kind::option; };
    if (std::any_of(made.operands.begin(), made.operands.end(), may_miss) ||
        std::any_of(made.results.begin(), made.results.end(), may_miss)) {
      wrong("has values that may be missing: that takes the core prototype");
    }
    if (core) {
      wrong("has core dimensions or operands that are written: that takes the core prototype");
    }
    if (prototype != multi_operation_funcproto_id && made.results.size() != 1) {
      wrong("has several results: that takes the multi prototype");
    }
    if (prototype == unary_operation_funcproto_id && made.operands.size() != 1) {
      wrong("does not have the one operand of the unary prototype");
    }
    ndt::type boolean = ndt::make_scalar(scalar_id::bool_);
    if (prototype == binary_predicate_funcproto_id && (made.operands.size() != 2 || made.results[0].dtype != boolean)) {
      wrong("is not that of a binary predicate, (T, T) -> bool");
    }
  }

  [[noreturn]] void wrong(const std::string &why) {
    fail(error_kind::type, std::string(kernel_.name) + ": signature \"" + kernel_.signature + "\" " + why);
  }

  const deferred_ckernel &kernel_;
};

bool is_symbol(ndt::type dtype) { return dtype->kind == type_kind::variable || dtype->kind == type_kind::family; }

// Whether all types of the family `a` are of the family `b`.
bool is_inside(type_family a, type_family b) {
  return a == b || b == type_family::any || (b == type_family::scalar && a != type_family::any) ||
         (b == type_family::number && a >= type_family::real && a <= type_family::complex) ||
         (b == type_family::real && a >= type_family::integer && a <= type_family::floating);
}

signature_order compare_values(ndt::type a, ndt::type b) {
  if (!is_symbol(a) && !is_symbol(b)) {
    return a == b ? signature_order::same : signature_order::apart;
  }
  if (!is_symbol(a)) {
    return is_of_family(a.get(), b->family) ? signature_order::less : signature_order::apart;
  }
  if (!is_symbol(b)) {
    return is_of_family(b.get(), a->family) ? signature_order::greater : signature_order::apart;
  }
  bool below = is_inside(a->family, b->family), above = is_inside(b->family, a->family);
  return below && above ? signature_order::same
         : below        ? signature_order::less
         : above        ? signature_order::greater
                        : signature_order::apart;
}

// What cannot be missing is more specific.
signature_order compare_elements(ndt::type a, ndt::type b) {
  signature_order order = compare_values(ndt::type(without_option(a.get())), ndt::type(without_option(b.get())));
  bool first = a->kind == type_kind::option, second = b->kind == type_kind::option;
  if (first == second || order == signature_order::apart) {
    return order;
  }
  signature_order own = first ? signature_order::greater : signature_order::less;
  return order == signature_order::same || order == own ? own : signature_order::unclear;
}

} // namespace

bool kernel_signature::is_scalar() const {
  auto scalar = [](const core_pattern &p) {
    return p.dims.empty() && !p.inout && (p.dtype->kind == type_kind::scalar || is_symbol(p.dtype));
  };
  return std::all_of(operands.begin(), operands.end(), scalar) && std::all_of(results.begin(), results.end(), scalar) &&
         !results.empty();
}

kernel_signature read_signature(const deferred_ckernel &kernel) { return reader(kernel).read(); }

std::vector<std::vector<int64_t>> size_numbers(const kernel_signature &signature) {
  std::vector<std::string> names; // of the sizes so far; a `var` has none
  auto numbers = [&](const core_pattern &p) {
    std::vector<int64_t> found;
    for (const ndt::dimension &d : p.dims) {
      auto known = std::find(names.begin(), names.end(), d.name);
      if (d.kind == type_kind::fixed_dim) {
        found.push_back(-2 - d.size);
      } else if (d.kind == type_kind::dim_variable && known != names.end()) {
        found.push_back(known - names.begin());
      } else {
        found.push_back(int64_t(names.size()));
        names.push_back(d.name);
      }
    }
    return found;
  };
  std::vector<std::vector<int64_t>> sources, all;
  for (const core_pattern &p : signature.operands) {
    sources.push_back(numbers(p));
  }
  for (const core_pattern &p : signature.results) {
    all.push_back(numbers(p));
  }
  all.insert(all.end(), sources.begin(), sources.end());
  return all;
}

signature_order compare(const kernel_signature &a, const kernel_signature &b) {
  if (a.operands.size() != b.operands.size()) {
    return signature_order::apart;
  }
  bool less = false, greater = false;
  for (size_t i = 0; i < a.operands.size(); i++) {
    const core_pattern &x = a.operands[i], &y = b.operands[i];
    signature_order order = compare_elements(x.dtype, y.dtype);
    if (order == signature_order::apart) {
      return order;
    }
    bool unclear = order == signature_order::unclear;
    less |= unclear || order == signature_order::less || x.dims.size() > y.dims.size(); // more core dimensions: less
    greater |= unclear || order == signature_order::greater || x.dims.size() < y.dims.size();
  }
  return less && greater ? signature_order::unclear
         : less          ? signature_order::less
         : greater       ? signature_order::greater
                         : signature_order::same;
}

bool decides(const kernel_signature &both, const kernel_signature &a, const kernel_signature &b) {
  bool fits = both.operands.size() == a.operands.size();
  for (size_t i = 0; fits && i < a.operands.size(); i++) {
    const core_pattern &x = a.operands[i], &y = b.operands[i], &own = both.operands[i];
    signature_order order = compare_elements(x.dtype, y.dtype);
    const core_pattern &smaller = order == signature_order::greater ? y : x;
    fits = order != signature_order::unclear && own.dims.size() == std::max(x.dims.size(), y.dims.size()) &&
           compare_elements(own.dtype, smaller.dtype) == signature_order::same;
  }
  return fits;
}

} // namespace dynd

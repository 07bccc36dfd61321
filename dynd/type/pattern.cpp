// A match goes down both types at once. On failure the reason is written at the bottom, and the way up adds where it
// is.
#include "dynd/type/pattern.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/errors.h"

namespace dynd::ndt {

namespace {

bool is_dim(const type_data *type) { return type->kind >= type_kind::fixed_dim; }

std::string text_of(const type_data *type) { return type->text; }

class matcher {
public:
  explicit matcher(bindings &found) : found_(found) {}

  bool match_type(const type_data *type, const type_data *pattern) {
    if (!(pattern->abstract & abstract_pattern))
      return type == pattern || explain_difference(type, pattern);
    return is_dim(pattern) ? match_dims(type, pattern) : match_element(type, pattern);
  }

private:
  bool no(const std::string &why) {
    found_.why = why;
    return false;
  }

  /// On the way up: where the reason is.
  bool at(const std::string &where, bool matched) {
    if (!matched)
      found_.why = where + ": " + found_.why;
    return matched;
  }

  /// Two types without variables that differ: down to the part that does.
  bool explain_difference(const type_data *type, const type_data *pattern) {
    if (is_dim(type) && is_dim(pattern) && dimension_of(type) == dimension_of(pattern))
      return explain_difference(type->element, pattern->element);
    bool same_kind = type->kind == pattern->kind;
    if (same_kind && (type->kind == type_kind::option || type->kind == type_kind::pointer))
      return explain_difference(type->element, pattern->element);
    if (same_kind && (type->kind == type_kind::struct_ || type->kind == type_kind::tuple) &&
        !match_fields(type, pattern, "field "))
      return false;
    return no(text_of(type) + " is not " + text_of(pattern));
  }

  bool match_element(const type_data *type, const type_data *pattern) {
    switch (pattern->kind) {
    case type_kind::family:
      return check_family(type, pattern->family);
    case type_kind::variable:
      return (type->kind != type_kind::option ||
              no(text_of(type) + " may be missing, and " + pattern->name + " is not ?" + pattern->name)) &&
             (!is_dim(type) || no(text_of(type) + " has a dimension, and " + pattern->name + " has none")) &&
             check_family(type, pattern->family) && bind({pattern->name, binding::kind_t::type, ndt::type(type), {}});
    case type_kind::option:
    case type_kind::pointer:
    case type_kind::byteswap:
      return (type->kind == pattern->kind || no(text_of(type) + " is not " + text_of(pattern))) &&
             match_type(type->element, pattern->element);
    case type_kind::struct_:
      return match_struct(type, pattern);
    case type_kind::tuple:
      return match_fields(type, pattern, "field ");
    case type_kind::function:
      return match_fields(type, pattern, "parameter ") && at("result", match_type(type->element, pattern->element));
    default:
      return no(text_of(type) + " is not " + text_of(pattern));
    }
  }

  bool check_family(const type_data *type, type_family family) {
    return is_of_family(type, family) || no(text_of(type) + " is no " + family_name[size_t(family)]);
  }

  /// By name, where the pattern is open; else in order.
  bool match_struct(const type_data *type, const type_data *pattern) {
    if (!pattern->open || type->kind != type_kind::struct_)
      return match_fields(type, pattern, "field ");
    for (int i = 0; i < pattern->nfields; i++) {
      int partner = partner_field(pattern, type, i);
      std::string name = field_name_text(pattern->fields[i].name);
      if (partner < 0)
        return no(text_of(type) + " has no field " + name);
      if (!at("field " + name, match_type(type->fields[partner].type, pattern->fields[i].type)))
        return false;
    }
    return true;
  }

  bool match_fields(const type_data *type, const type_data *pattern, const char *what) {
    if (type->kind != pattern->kind)
      return no(text_of(type) + " is not " + text_of(pattern));
    if (type->nfields != pattern->nfields && !(pattern->open && type->nfields >= pattern->nfields))
      return no(text_of(type) + " has " + std::to_string(type->nfields) + " " +
                (what[0] == 'f' ? "field" : "parameter") + (type->nfields == 1 ? "" : "s") + ", not " +
                std::to_string(pattern->nfields) + (pattern->open ? " or more" : ""));
    for (int i = 0; i < pattern->nfields; i++) {
      const type_field &own = type->fields[i], &wanted = pattern->fields[i];
      std::string label = wanted.name ? field_name_text(wanted.name) : std::to_string(i);
      if (wanted.name && (type->kind == type_kind::struct_ || own.name) && std::strcmp(own.name, wanted.name) != 0)
        return no(text_of(type) + " has " + what + field_name_text(own.name) + " where " + label + " is wanted");
      if (own.inout != wanted.inout)
        return no(what + label + (wanted.inout ? " is not inout" : " is inout"));
      if (!at(what + label, match_type(own.type, wanted.type)))
        return false;
    }
    return type->kind != type_kind::function || type->nkeywords == pattern->nkeywords ||
           no(text_of(type) + " has " + std::to_string(type->nkeywords) + " keywords, not " +
              std::to_string(pattern->nkeywords));
  }

  bool match_dims(const type_data *type, const type_data *pattern) {
    std::vector<const type_data *> own = list_dims(type), wanted = list_dims(pattern);
    const type_data *below = wanted.back()->element;
    auto gap = std::find_if(wanted.begin(), wanted.end(), [](auto *t) { return t->kind == type_kind::ellipsis; });
    size_t before = size_t(gap - wanted.begin()), behind = gap == wanted.end() ? 0 : wanted.size() - before - 1;
    bool rest = gap == wanted.end() && below->kind == type_kind::family && below->family == type_family::any;
    if (own.size() < before + behind || (gap == wanted.end() && !rest && own.size() != before))
      return no(text_of(type) + " has " + std::to_string(own.size()) + " dimension" + (own.size() == 1 ? "" : "s") +
                ", not " + std::to_string(before + behind) + (gap == wanted.end() && !rest ? "" : " or more"));
    for (size_t d = 0; d < before; d++)
      if (!at("dimension " + std::to_string(d), match_dim(own[d], wanted[d])))
        return false;
    if (gap != wanted.end() && !match_ellipsis({own.begin() + long(before), own.end() - long(behind)}, *gap))
      return false;
    for (size_t d = 0; d < behind; d++) {
      size_t here = own.size() - behind + d;
      if (!at("dimension " + std::to_string(here), match_dim(own[here], wanted[before + 1 + d])))
        return false;
    }
    const type_data *element =
        rest ? (before ? own[before - 1]->element : type) : (own.empty() ? type : own.back()->element);
    return match_type(element, below);
  }

  static std::vector<const type_data *> list_dims(const type_data *type) {
    std::vector<const type_data *> dims;
    for (; is_dim(type); type = type->element)
      dims.push_back(type);
    return dims;
  }

  bool match_dim(const type_data *type, const type_data *pattern) {
    dimension own = dimension_of(type), wanted = dimension_of(pattern);
    if (pattern->kind == type_kind::dim_variable)
      return bind({pattern->name, binding::kind_t::dimension, {}, {own}});
    if (pattern->kind == type_kind::any_fixed_dim ? type->kind != type_kind::var_dim : own == wanted)
      return true;
    return no(own.str() + " is not " + wanted.str());
  }

  bool match_ellipsis(const std::vector<const type_data *> &dims, const type_data *pattern) {
    std::vector<dimension> taken;
    std::string_view name = pattern->name ? pattern->name : "";
    for (const type_data *d : dims) {
      if ((name == "var" && d->kind != type_kind::var_dim) || (name == "fixed" && d->kind == type_kind::var_dim))
        return no(dimension_of(d).str() + " is not one of " + std::string(name) + "...");
      taken.push_back(dimension_of(d));
    }
    return name.empty() || name == "var" || name == "fixed" ||
           bind({std::string(name), binding::kind_t::dimensions, {}, std::move(taken)});
  }

  bool bind(binding made) {
    const binding *before = found_.find(made.name);
    if (!before) {
      found_.all.push_back(std::move(made));
      return true;
    }
    return *before == made || no(made.name + " is " + before->str() + " before, and " + made.str() + " here");
  }

  bindings &found_;
};

// ---------------------------------------------------------------------------------------------------------------------

class substitution {
public:
  explicit substitution(const bindings &bound) : bound_(bound) {}

  type apply(type pattern) {
    if (!(pattern->abstract & abstract_pattern))
      return pattern;
    switch (pattern->kind) {
    case type_kind::variable:
      return apply_variable(pattern);
    case type_kind::option:
      return make_option(apply(pattern.element()));
    case type_kind::pointer:
      return make_pointer(apply(pattern.element()));
    case type_kind::byteswap:
      return make_byteswap(apply(pattern.element()));
    case type_kind::tuple:
    case type_kind::struct_:
      return apply_fields(pattern);
    case type_kind::function:
      return apply_function(pattern);
    default:
      return is_dim(pattern.get()) ? apply_dim(pattern) : pattern;
    }
  }

private:
  const binding *find(const type_data *variable, binding::kind_t kind) {
    const binding *found = variable->name ? bound_.find(variable->name) : nullptr;
    static const char *const kinds[] = {"a type", "a dimension", "a list of dimensions"};
    if (found && found->kind != kind)
      fail(error_kind::type,
           "substitute: " + found->name + " is " + kinds[size_t(kind)] + " in the pattern, not " + found->str());
    return found;
  }

  type apply_variable(type pattern) {
    const binding *found = find(pattern.get(), binding::kind_t::type);
    if (!found)
      return pattern;
    if (!is_of_family(found->type.get(), pattern->family) && found->type->kind != type_kind::variable)
      fail(error_kind::type, "substitute: " + found->name + " is " + std::string(found->type.str()) + ", which is no " +
                                 family_name[size_t(pattern->family)]);
    return found->type;
  }

  type apply_dim(type pattern) {
    type element = apply(pattern.element());
    const binding *found = pattern->kind == type_kind::dim_variable ? find(pattern.get(), binding::kind_t::dimension)
                           : pattern->kind == type_kind::ellipsis   ? find(pattern.get(), binding::kind_t::dimensions)
                                                                    : nullptr;
    if (!found)
      return dimension_of(pattern.get()).over(element);
    for (auto d = found->dims.rbegin(); d != found->dims.rend(); ++d)
      element = d->over(element);
    return element;
  }

  type apply_fields(type pattern) {
    std::vector<type> fields;
    std::vector<std::string> names;
    for (int i = 0; i < pattern->nfields; i++) {
      fields.push_back(apply(type(pattern->fields[i].type)));
      if (pattern->kind == type_kind::struct_)
        names.emplace_back(pattern->fields[i].name);
    }
    return pattern->kind == type_kind::struct_ ? make_struct(names, fields, pattern->open)
                                               : ndt::make_tuple(fields, pattern->open);
  }

  type apply_function(type pattern) {
    std::vector<parameter> parameters;
    for (int i = 0; i < pattern->nfields; i++) {
      const type_field &f = pattern->fields[i];
      parameters.push_back({f.name ? f.name : "", apply(type(f.type)), f.inout,
                            i >= pattern->nfields - pattern->nkeywords, f.value ? f.value : ""});
    }
    return make_function(parameters, apply(pattern.element()), pattern->open);
  }

  const bindings &bound_;
};

void list_variables(const type_data *pattern, std::vector<variable> &found) {
  if (!(pattern->abstract & abstract_pattern))
    return;
  std::string_view name = pattern->name ? pattern->name : "";
  auto is_same = [&](const variable &v) { return v.name == name; };
  if (!name.empty() && name != "var" && name != "fixed" && std::none_of(found.begin(), found.end(), is_same))
    found.push_back({std::string(name), pattern->kind == type_kind::variable   ? binding::kind_t::type
                                        : pattern->kind == type_kind::ellipsis ? binding::kind_t::dimensions
                                                                               : binding::kind_t::dimension});
  for (int i = 0; i < pattern->nfields; i++)
    list_variables(pattern->fields[i].type, found);
  if (pattern->element)
    list_variables(pattern->element, found);
}

} // namespace

std::string dimension::str() const {
  return kind == type_kind::fixed_dim       ? std::to_string(size)
         : kind == type_kind::strided_dim   ? "strided"
         : kind == type_kind::var_dim       ? "var"
         : kind == type_kind::any_fixed_dim ? "fixed"
         : kind == type_kind::ellipsis      ? name + "..."
                                            : name;
}

type dimension::over(type element) const {
  return kind == type_kind::fixed_dim       ? make_fixed_dim(size, element)
         : kind == type_kind::strided_dim   ? make_strided_dim(element)
         : kind == type_kind::var_dim       ? make_var_dim(element)
         : kind == type_kind::any_fixed_dim ? make_any_fixed_dim(element)
         : kind == type_kind::ellipsis      ? make_ellipsis(name, element)
                                            : make_dim_variable(name, element);
}

dimension dimension_of(const type_data *type) { return {type->kind, type->size, type->name ? type->name : ""}; }

std::string binding::str() const {
  if (kind == kind_t::type)
    return std::string(type.str());
  if (kind == kind_t::dimension)
    return dims[0].str();
  std::string text = "(";
  for (const dimension &d : dims)
    text += (text.size() > 1 ? ", " : "") + d.str();
  return text + ")";
}

const binding *bindings::find(std::string_view name) const {
  auto found = std::find_if(all.begin(), all.end(), [&](const binding &b) { return b.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bindings match(type concrete, type pattern) {
  bindings found;
  found.matched = !(concrete->abstract & abstract_pattern) && matcher(found).match_type(concrete.get(), pattern.get());
  if (!found.matched) {
    found.all.clear();
    std::string reason = concrete->abstract & abstract_pattern ? "it has variables itself" : found.why;
    found.why = std::string(concrete.str()) + " does not match " + std::string(pattern.str()) + ": " + reason;
  }
  return found;
}

type substitute(type pattern, const bindings &bound) { return substitution(bound).apply(pattern); }

std::vector<variable> variables(type pattern) {
  std::vector<variable> found;
  list_variables(pattern.get(), found);
  return found;
}

} // namespace dynd::ndt

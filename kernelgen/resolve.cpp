#include "kernelgen/resolve.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace kernelgen {

namespace {

// ---- [MODULE]
// --------------------------------------------------------------------------------------------------------

// ${NAME} and ${NAME|default} are variables of the environment. Paths are relative to the configuration.
std::string expand_path(const text_line &line, const std::string &config_path) {
  std::string text = line.text;
  for (size_t open = text.find("${"); open != text.npos; open = text.find("${", open)) {
    size_t close = text.find('}', open);
    if (close == text.npos) {
      throw problem(line.at, "expected } after ${");
    }
    std::string inside = text.substr(open + 2, close - open - 2), name = inside.substr(0, inside.find('|'));
    const char *value = std::getenv(name.c_str());
    if (!value && inside.find('|') == inside.npos) {
      throw problem(line.at,
                    "the variable " + name + " is not in the environment, and has no default: ${" + name + "|default}");
    }
    std::string put = value ? value : inside.substr(inside.find('|') + 1);
    text.replace(open, close + 1 - open, put);
    open += put.size();
  }
  // The original ran inside of Python; nd.wrap says where that is.
  for (const auto &[name, variable] : {std::pair("<prefix>", "DYND_PREFIX"), std::pair("<site>", "DYND_SITE")}) {
    size_t at = text.find(name);
    if (at != text.npos) {
      const char *value = std::getenv(variable);
      text.replace(at, std::string_view(name).size(), value ? value : "/usr");
    }
  }
  std::filesystem::path path(text), folder = std::filesystem::absolute(config_path).parent_path();
  return path.is_absolute() ? text : (folder / path).lexically_normal().string();
}

class module_reader {
public:
  module_reader(const config_section &section, module_model &to) : section_(section), to_(to) {}

  void read() {
    to_.name = section_.name;
    if (!is_name(to_.name)) {
      throw problem(section_.at, "a module has a name that is an identifier: [MODULE name]");
    }
    for (const config_entry &entry : section_.entries) {
      read_entry(entry);
    }
  }

private:
  void read_entry(const config_entry &entry) {
    static const std::set<std::string> of_kernels = {"kinds",      "ellipses", "arraytypes", "debug",
                                                     "threadsafe", "pure",     "missing"};
    if (of_kernels.count(entry.key)) {
      return; // read with the kernels, which have them from here
    }
    if (entry.key == "typemaps") {
      for (const text_line &item : split_list(entry.lines)) {
        read_typemap(item);
      }
    } else if (entry.key == "includes") {
      for (const text_line &line : entry.lines) {
        add_words(line, to_.includes);
      }
    } else if (entry.key == "libraries") {
      for (const text_line &item : split_list(entry.lines)) {
        add_words(item, to_.libraries);
      }
      for (std::string &library : to_.libraries) { // a file, or what comes after -l
        library = library.find('/') == library.npos ? library : expand_path({library, entry.at}, to_.path);
      }
    } else if (entry.key == "prefix") {
      to_.prefix = trimmed(entry.text());
      if (!is_name(to_.prefix)) {
        throw problem(entry.at, "`prefix` is the beginning of names");
      }
    } else if (entry.key == "header_code") {
      to_.header_code = entry.code();
    } else if (entry.key == "include_dirs" || entry.key == "library_dirs" || entry.key == "sources") {
      auto &list = entry.key == "sources"        ? to_.sources
                   : entry.key == "include_dirs" ? to_.include_dirs
                                                 : to_.library_dirs;
      for (const text_line &item : split_list(entry.lines)) {
        list.push_back(expand_path(item, to_.path));
      }
    } else {
      throw problem(
          entry.at,
          "module " + to_.name + ": there is no key `" + entry.key +
              "`; keys are typemaps, includes, include_dirs, sources, libraries, library_dirs, header_code, prefix, "
              "kinds, ellipses, arraytypes, threadsafe, pure, missing, debug");
    }
  }

  static void add_words(const text_line &line, std::vector<std::string> &to) {
    for (size_t i = 0; (i = line.text.find_first_not_of(" \t", i)) != line.text.npos;) {
      size_t end = std::min(line.text.find_first_of(" \t", i), line.text.size());
      to.push_back(line.text.substr(i, end - i));
      i = end;
    }
  }

  void read_typemap(const text_line &item) {
    size_t sign = item.text.find(':');
    if (sign == item.text.npos) {
      throw problem(item.at, "a typemap is `C type: type`, as in `MKL_INT: int64`");
    }
    std::vector<std::string> words;
    for (const token &t : read_tokens({{item.text.substr(0, sign), item.at}})) {
      if (t.kind != token::end) {
        words.push_back(t.spelling);
      }
    }
    std::string element = trimmed(item.text.substr(sign + 1));
    if (words.empty() || element.empty()) {
      throw problem(item.at, "a typemap is `C type: type`, as in `MKL_INT: int64`");
    }
    if (element == "void" || element == "<fill-me-in>") {
      return; // as `config` of the original leaves them
    }
    place at{item.at.file, item.at.line, item.at.column + int(sign) + 1};
    if (element[0] == '{') {
      read_struct(element, at);
    } else if (!is_scalar_type(element)) {
      throw problem(at, fixed_text_size(element)
                            ? "a text of a fixed length is the type of an argument, `types = name: " + element +
                                  "`, or of a field of a struct"
                            : "the library has no type " + element +
                                  "; it has bool, int8 to int64, uint8 to uint64, float16, float32, float64, "
                                  "complex64, complex128 and "
                                  "structs of them");
    }
    to_.typemaps.push_back({canonical_type(words), element, item.at});
  }

  const config_section &section_;
  module_model &to_;
};

std::unique_ptr<resource> read_resource(const config_section &section) {
  auto made = std::make_unique<resource>();
  made->name = section.name;
  made->at = section.at;
  for (const config_entry &entry : section.entries) {
    place at = entry.lines.empty() ? entry.at : entry.lines[0].at;
    if (entry.key == "type" || entry.key == "make" || entry.key == "release") {
      (entry.key == "type" ? made->type : entry.key == "make" ? made->make : made->release) = entry.text();
    } else if (entry.key == "key") {
      for (const text_line &item : split_list(entry.lines)) {
        made->key.push_back(parse_expression(item));
      }
    } else if (entry.key == "scope" && (entry.text() == "thread" || entry.text() == "kernel")) {
      made->is_shared = entry.text() == "kernel";
    } else {
      throw problem(at, "resource " + made->name +
                            ": keys are type, make, release, key, and scope, which is thread or kernel");
    }
  }
  if (!is_name(made->name) || made->type.empty() || made->make.empty() || made->release.empty() ||
      made->key.size() > 4) {
    throw problem(section.at, "a resource has a name, `type`, `make`, `release` and up to four values as `key`");
  }
  return made;
}

// ---- [KERNEL]
// --------------------------------------------------------------------------------------------------------

// The seed's table: which kinds the prototypes of `prototypes` can have.
bool can_have(layout_kind kind, const variant &v, const kernel_text &text) {
  int tensors = 0, fortran = 0;
  auto listed = text.fortran.find(layout_kind::xnd);
  for (const argument &a : v.arguments) {
    bool tensor = a.is_array() && a.dims.size() > 1 && a.intent != intent_kind::hide;
    tensors += tensor;
    fortran += tensor && listed != text.fortran.end() && listed->second.count(a.name);
  }
  if (!text.plain_kinds.count(kind)) {
    return true; // it has prototypes of its own
  }
  switch (kind) {
  case layout_kind::c:
    return fortran == 0;
  case layout_kind::fortran:
    return tensors > 0 ? fortran == tensors : !text.plain_kinds.count(layout_kind::c);
  default:
    return true;
  }
}

class kernel_maker {
public:
  kernel_maker(const kernel_text &text, module_model &model) : text_(text), model_(model), made_(text.made) {}

  kernel make() {
    check_names();
    made_.registered = model_.prefix + made_.name;
    for (const auto &[kind, prototypes] : text_.prototypes) {
      for (const prototype &p : prototypes) {
        for (size_t omit = 0; omit <= optional_arguments(p).size(); omit++) {
          add(kind, p, omit, {});
          if (omit == 0 && has_written_default(p)) {
            default_use defaults;
            defaults.plain_written = true;
            add(kind, p, 0, defaults);
          }
          if (made_.propagates_in_arrays && kind == layout_kind::xnd && has_array_or_text(p)) {
            default_use defaults;
            defaults.may_miss = true;
            add(kind, p, omit, defaults);
          }
        }
      }
    }
    if (made_.overloads.empty()) {
      wrong(made_.at, made_.name, "", "none of its kinds is possible: " + why_not_);
    }
    for (size_t i = 0; i < made_.overloads.size(); i++) {
      finish(made_.overloads[i], i);
    }
    return std::move(made_);
  }

private:
  std::vector<std::string> optional_arguments(const prototype &p) const {
    std::vector<std::string> names;
    for (const parameter &parameter : p.parameters) {
      auto given = text_.arguments.find(parameter.name);
      auto intents = text_.intents.find(parameter.name);
      bool given_by_caller = intents != text_.intents.end() &&
                             (intents->second.count(intent_kind::input) ||
                              intents->second.count(intent_kind::inplace) || intents->second.count(intent_kind::inout));
      if (given != text_.arguments.end() && given->second.has_value && given_by_caller) {
        names.push_back(parameter.name);
      }
    }
    return names;
  }

  // Two values with the same key would share a resource: it is made of whole numbers.
  void check_keys(const variant &v) const {
    for (const resource *r : made_.resources) {
      for (const expression &e : r->key) {
        check_functions(e, v, r->at, made_.name, "");
        visit_names(e, [&](const expression &name, const std::string &function) {
          const argument *a = v.find(name.spelling);
          bool whole = a && !a->is_array() && (a->element.rfind("int", 0) == 0 || a->element.rfind("uint", 0) == 0);
          if (a && function.empty() && !whole) {
            wrong(name.at, made_.name, name.spelling,
                  "it is in the key of resource " + r->name + ", and is no integer");
          }
        });
      }
    }
  }

  // Every name in a list is an argument of a function.
  void check_names() const {
    for (const auto &[name, at] : text_.where) {
      bool found = name == text_.returned_name() && text_.types.count(name);
      for (const auto &[kind, prototypes] : text_.prototypes) {
        for (const prototype &p : prototypes) {
          found |=
              std::any_of(p.parameters.begin(), p.parameters.end(), [&](const parameter &a) { return a.name == name; });
        }
      }
      if (!found) {
        wrong(at, made_.name, name, "no prototype of the kernel has an argument of this name");
      }
      if (name == "result" && text_.arguments.count(name)) {
        wrong(at, made_.name, name, "the name is that of the returned value");
      }
    }
  }

  bool has_written_default(const prototype &p) const {
    std::vector<std::string> optional = optional_arguments(p);
    return std::any_of(p.parameters.begin(), p.parameters.end(), [&](const parameter &a) { // C changes no value
      return a.type.pointers > 0 && std::count(optional.begin(), optional.end(), a.name) &&
             !text_.intents.at(a.name).count(intent_kind::input);
    });
  }

  bool has_array_or_text(const prototype &p) const {
    return std::any_of(p.parameters.begin(), p.parameters.end(), [&](const parameter &a) {
      auto given = text_.arguments.find(a.name);
      auto type = text_.types.find(a.name);
      return (given != text_.arguments.end() && given->second.has_dims) ||
             (type != text_.types.end() && fixed_text_size(type->second) > 0);
    });
  }

  void add(layout_kind kind, const prototype &p, size_t omit, default_use defaults) {
    std::vector<std::string> optional = optional_arguments(p);
    defaults.omitted = {optional.end() - long(omit), optional.end()};
    variant v = make_variant(text_, p, kind, defaults, model_);
    if (!can_have(kind, v, text_)) {
      why_not_ = std::string(kind == layout_kind::c ? "C" : "Fortran") +
                 " contradicts the layout of the arguments of " + p.name;
      model_.notes.push_back("kernel " + made_.name + ": the kind " + why_not_ + ", and is left out");
      return;
    }
    check_keys(v);
    auto written = [](const argument &a) { return a.is_written_operand() || a.result >= 0; };
    if (v.result.value.result < 0 && std::none_of(v.arguments.begin(), v.arguments.end(), written)) {
      model_.notes.push_back("kernel " + made_.name + ": " + p.name + " gives no result and changes no argument");
    }
    note_types(v);
    auto same = [&](const overload &o) { return o.variants[0].signature == v.signature; };
    auto known = std::find_if(made_.overloads.begin(), made_.overloads.end(), same);
    if (known == made_.overloads.end()) {
      made_.overloads.push_back({"", {v}});
      return;
    }
    for (const variant &other : known->variants) {
      if (other.kind == kind) {
        wrong(p.at, made_.name, "", p.name + " takes the same operands as " + other.function.name + ": " + v.signature);
      }
    }
    known->variants.push_back(v);
  }

  void note_types(const variant &v) {
    auto note = [&](const argument &a) {
      if (!a.element.empty() && a.c_element == a.type.base && !fixed_text_size(a.element)) {
        model_.used_types[a.c_element] = {a.c_element, a.element, a.at};
      }
    };
    std::for_each(v.arguments.begin(), v.arguments.end(), note);
    if (v.result.kind == return_kind::output || v.result.kind == return_kind::array) {
      note(v.result.value);
    }
  }

  // The most general variant last. The function of kind Xnd takes arrays that are in order where they are: C and
  // Fortran variants of the same function add nothing.
  void finish(overload &o, size_t number) {
    o.symbol = made_.name + "_" + std::to_string(number);
    std::sort(o.variants.begin(), o.variants.end(), [](const variant &a, const variant &b) { return a.kind < b.kind; });
    if (o.main().kind == layout_kind::xnd) {
      std::string general = o.main().function.name;
      auto covered = [&](const variant &v) {
        bool same_order = v.kind == layout_kind::c || v.kind == layout_kind::fortran;
        for (size_t i = 0; same_order && i < v.arguments.size() && v.function.name == general; i++) {
          same_order = v.arguments[i].fortran == o.main().arguments[i].fortran;
        }
        return same_order && v.function.name == general;
      };
      o.variants.erase(std::remove_if(o.variants.begin(), o.variants.end() - 1, covered), o.variants.end() - 1);
    }
  }

  const kernel_text &text_;
  module_model &model_;
  kernel made_;
  std::string why_not_;
};

// The original takes any text for a yes.
bool is_skipped(const config_entry &entry) {
  std::string text = lowered(trimmed(entry.text()));
  return !text.empty() && text != "no" && text != "false" && text != "off" && text != "0";
}

} // namespace

module_model resolve(const config &text) {
  module_model model;
  model.path = text.files[0]->path;
  const config_section *module = nullptr;
  std::string all; // what is wrong
  auto collect = [&](auto step) {
    try {
      step();
    } catch (const problem &p) {
      all += (all.empty() ? "" : "\n") + std::string(p.what());
    }
  };
  for (const config_section &section : text.sections) {
    if (section.kind == "MODULE") {
      collect([&] {
        if (module) {
          throw problem(section.at, "there is a second module; a file has one");
        }
        module = &section;
        module_reader(section, model).read();
      });
    } else if (section.kind == "RESOURCE") {
      collect([&] { model.resources.push_back(read_resource(section)); });
    } else if (section.kind != "KERNEL") {
      collect([&] { throw problem(section.at, "a section is [MODULE name], [KERNEL name] or [RESOURCE name]"); });
    }
  }
  if (!module) {
    throw problem({text.files[0].get(), 0, 0}, "there is no section [MODULE name]");
  }
  for (const config_section &section : text.sections) {
    const config_entry *skip = section.find("skip");
    collect([&] {
      if (section.kind != "KERNEL" || (skip && is_skipped(*skip))) {
        return;
      }
      if (!is_name(section.name)) {
        throw problem(section.at, "a kernel has a name that is an identifier: [KERNEL name]");
      }
      try {
        kernel_text kernel = read_kernel(section, *module, model);
        model.kernels.push_back(kernel_maker(kernel, model).make());
      } catch (const problem &p) { // those of the parsers do not know where they are
        bool named = p.message.empty() || p.message.rfind("kernel ", 0) == 0;
        throw named ? p : problem(p.at, "kernel " + section.name + ": " + p.message);
      }
    });
  }
  if (all.empty() && model.kernels.empty()) {
    throw problem(module->at, "module " + model.name + " has no kernels");
  }
  if (!all.empty()) {
    throw problem(all);
  }
  return model;
}

} // namespace kernelgen

// The keys of a [KERNEL] section.
#include <algorithm>

#include "kernelgen/resolve.h"

namespace kernelgen {

namespace {

// What the original called them, and what its files have.
const std::map<std::string, std::string> other_spellings = {
    {"input_arguments", "input"},      {"inplace_arguments", "inplace"},
    {"inout_arguments", "inout"},      {"output_arguments", "output"},
    {"hide_arguments", "hide"},        {"fortran_arguments", "fortran"},
    {"prototypes_c", "prototypes[c]"}, {"prototypes_fortran", "prototypes[fortran]"},
    {"fortran_c", "fortran[c]"},       {"fortran_fortran", "fortran[fortran]"},
    {"pre_call_code", "before"},       {"post_call_code", "after"}};

const std::map<std::string, intent_kind> intents = {{"input", intent_kind::input},
                                                    {"inplace", intent_kind::inplace},
                                                    {"inout", intent_kind::inout},
                                                    {"output", intent_kind::output},
                                                    {"hide", intent_kind::hide}};

const std::map<std::string, layout_kind> kinds = {{"c", layout_kind::c},
                                                  {"fortran", layout_kind::fortran},
                                                  {"strided", layout_kind::strided},
                                                  {"xnd", layout_kind::xnd}};

const char *const status_names[] = {"type", "value", "index", "overflow", "memory", "internal"};

class reader {
public:
  reader(const config_section &section, const config_section &module, const module_model &model)
      : section_(section), module_(module), model_(model) {}

  kernel_text read() {
    text_.section = &section_;
    text_.made.name = section_.name;
    text_.made.at = section_.at;
    for (const config_entry &entry : section_.entries) {
      try {
        read_entry(entry);
      } catch (const std::out_of_range &) {
        wrong(entry.at, section_.name, "", "there is no key `" + entry.key + "` for a kernel; keys are " + all_keys());
      }
    }
    read_inherited("threadsafe", text_.made.threadsafe);
    read_inherited("pure", text_.made.pure);
    read_inherited("debug", text_.made.debug);
    if (const config_entry *missing = inherited("missing")) {
      std::string choice = read_choice(*missing, {"propagate", "refuse", "skip"});
      text_.made.propagates = choice != "refuse";
      text_.made.propagates_in_arrays = text_.made.propagates && missing == section_.find("missing");
      text_.made.skips_missing = text_.made.propagates_in_arrays && choice == "skip";
    }
    if (text_.prototypes.empty() && !plain_) {
      wrong(section_.at, section_.name, "", "the kernel has no prototypes");
    }
    expand_kinds();
    return std::move(text_);
  }

private:
  const config_entry *inherited(const std::string &key) const {
    const config_entry *own = section_.find(key);
    return own ? own : module_.find(key);
  }
  void read_inherited(const char *key, bool &to) const {
    if (const config_entry *entry = inherited(key)) {
      to = read_bool(*entry);
    }
  }
  static std::string read_choice(const config_entry &entry, const std::vector<std::string> &all) {
    std::string text = lowered(trimmed(entry.text()));
    if (std::find(all.begin(), all.end(), text) == all.end()) {
      throw problem(entry.lines.empty() ? entry.at : entry.lines[0].at,
                    "`" + entry.key + "` is one of " + joined(all, ", "));
    }
    return text;
  }

  void read_entry(const config_entry &entry) {
    auto other = other_spellings.find(entry.key);
    const std::string &key = other == other_spellings.end() ? entry.key : other->second;
    static const std::set<std::string> elsewhere = {"skip", "threadsafe", "pure", "debug", "missing", "kinds"};
    if (elsewhere.count(key)) {
      return;
    }
    if (key == "ellipses" || key == "arraytypes") {
      check_words(entry, key == "ellipses");
    } else if (intents.count(key)) {
      read_intents(entry, intents.at(key));
    } else if (key == "dimension") {
      read_dimensions(entry);
    } else if (key == "prototypes") {
      plain_ = &entry;
    } else if (key.rfind("prototypes[", 0) == 0) {
      text_.prototypes.emplace_back(bracketed(entry, key), parse_prototypes(entry.lines));
    } else if (key == "fortran" || key.rfind("fortran[", 0) == 0) {
      layout_kind kind = key == "fortran" ? layout_kind::xnd : bracketed(entry, key);
      read_names(entry, text_.fortran[kind]);
    } else {
      read_new_entry(entry, key);
    }
  }

  // The keys that the original did not have.
  void read_new_entry(const config_entry &entry, const std::string &key) {
    if (key == "description") {
      text_.made.description = entry.text();
    } else if (key == "trusted") {
      read_names(entry, text_.trusted);
    } else if (key == "fully_written") {
      read_names(entry, text_.fully_written);
    } else if (key == "types") {
      read_types(entry);
    } else if (key == "return") {
      text_.return_text = trimmed(entry.text());
      text_.made.returns_status = text_.return_text == "status";
      text_.return_at = entry.lines.empty() ? entry.at : entry.lines[0].at;
    } else if (key == "errors") {
      for (const text_line &line : entry.lines) {
        text_.made.failures.push_back(read_failure(line));
      }
    } else if (key == "before" || key == "after") {
      (key == "before" ? text_.made.before : text_.made.after) = entry.code();
    } else if (key == "resources") {
      read_resources(entry);
    } else {
      throw std::out_of_range(key);
    }
  }

  static std::string all_keys() {
    return "prototypes, prototypes[C|Fortran|Strided|Xnd], input, inplace, inout, output, hide, fortran, kinds, "
           "ellipses, "
           "arraytypes, types, return, errors, before, after, resources, trusted, fully_written, threadsafe, pure, "
           "missing, "
           "description, skip, debug";
  }

  // What dimensions are outside of the function's is the library's matter: such words are read, and say nothing new.
  void check_words(const config_entry &entry, bool any_word) {
    for (const text_line &item : split_list(entry.lines)) {
      std::string word = lowered(item.text);
      if (!any_word && word != "symbolic" && word != "variable") {
        wrong(item.at, section_.name, "", "`" + entry.key + "` has " + item.text + ", and is symbolic or variable");
      }
    }
  }

  layout_kind bracketed(const config_entry &entry, const std::string &key) {
    size_t open = key.find('[');
    std::string name = key.back() == ']' ? key.substr(open + 1, key.size() - open - 2) : "";
    if (!kinds.count(name)) {
      wrong(entry.at, section_.name, "", "`" + entry.key + "`: the kinds are C, Fortran, Strided and Xnd");
    }
    return kinds.at(name);
  }

  void read_names(const config_entry &entry, std::set<std::string> &to) {
    for (const text_line &item : split_list(entry.lines)) {
      if (!is_name(item.text)) {
        wrong(item.at, section_.name, "", "expected the name of an argument, not `" + item.text + "`");
      }
      to.insert(item.text);
      text_.where.emplace(item.text, item.at);
    }
  }

  // An argument in several lists: its dimensions and its value may be in any of them.
  void add_argument(const argument_text &given) {
    text_.where.emplace(given.name, given.at);
    argument_text &all = text_.arguments.emplace(given.name, given).first->second;
    if (given.has_dims && all.has_dims && all.at.line != given.at.line) {
      auto text = [](const argument_text &a) {
        std::string dims;
        for (const expression &d : a.dims) {
          dims += d.str() + ",";
        }
        return dims;
      };
      if (text(all) != text(given)) {
        wrong(given.at, section_.name, given.name, "it has other dimensions in line " + std::to_string(all.at.line));
      }
    }
    if (given.has_dims) {
      all.has_dims = true;
      all.dims = given.dims;
    }
    if (given.has_value) {
      all.has_value = true;
      all.value = given.value;
    }
  }

  void read_intents(const config_entry &entry, intent_kind intent) {
    for (const text_line &item : split_list(entry.lines)) {
      argument_text given = parse_argument(item);
      if (!text_.intents[given.name].insert(intent).second) {
        wrong(given.at, section_.name, given.name, "it is in `" + entry.key + "` twice");
      }
      add_argument(given);
    }
  }

  void read_dimensions(const config_entry &entry) {
    for (const text_line &item : split_list(entry.lines)) {
      argument_text given = parse_argument(item);
      if (!given.has_dims) {
        wrong(given.at, section_.name, given.name, "`dimension` is a list of name(sizes)");
      }
      add_argument(given);
    }
  }

  void read_types(const config_entry &entry) {
    for (const text_line &item : split_list(entry.lines)) {
      size_t sign = item.text.find(':');
      std::string name = trimmed(item.text.substr(0, sign));
      std::string type = sign == item.text.npos ? "" : trimmed(item.text.substr(sign + 1));
      if (!is_name(name) || (!is_scalar_type(type) && type[0] != '{' && !fixed_text_size(type))) {
        wrong(item.at, section_.name, name,
              "`types` is a list of argument: type, with a type of the library: buf: uint8, name: fixed_string[16]");
      }
      if (type[0] == '{') {
        read_struct(type, item.at);
      }
      text_.types[name] = type;
      text_.where.emplace(name, item.at);
    }
  }

  void read_resources(const config_entry &entry) {
    for (const text_line &item : split_list(entry.lines)) {
      auto found = std::find_if(model_.resources.begin(), model_.resources.end(),
                                [&](const std::unique_ptr<resource> &r) { return r->name == item.text; });
      if (found == model_.resources.end()) {
        wrong(item.at, section_.name, "", "there is no section [RESOURCE " + item.text + "]");
      }
      text_.made.resources.push_back(found->get());
    }
  }

  // `result < 0 => value: argument {-result} is wrong`; {s: text} is a text.
  failure_rule read_failure(const text_line &line) {
    size_t arrow = line.text.find("=>"), colon = line.text.find(':', arrow);
    failure_rule rule;
    rule.at = line.at;
    std::string kind = arrow == line.text.npos || colon == line.text.npos
                           ? ""
                           : trimmed(line.text.substr(arrow + 2, colon - arrow - 2));
    rule.condition = trimmed(line.text.substr(0, arrow));
    if (std::find(std::begin(status_names), std::end(status_names), kind) == std::end(status_names) ||
        rule.condition.empty()) {
      wrong(line.at, section_.name, "",
            "an error is `condition => kind: message`, with a kind of type, value, index, "
            "overflow, memory, internal");
    }
    rule.status = "dynd_error_" + kind;
    std::string message = trimmed(line.text.substr(colon + 1));
    for (size_t i = 0; i < message.size(); i++) {
      size_t close = message[i] == '{' ? message.find('}', i) : message.npos;
      if (close == message.npos) {
        rule.format += message[i] == '%' ? "%%" : std::string(1, message[i]);
        continue;
      }
      std::string value = trimmed(message.substr(i + 1, close - i - 1));
      bool text = value.rfind("s:", 0) == 0;
      rule.format += "%s";
      rule.values.push_back(text ? trimmed(value.substr(2)) : "DYND_SHOWN(" + value + ")");
      i = close;
    }
    return rule;
  }

  // `prototypes` are used for every kind that has no prototypes of its own.
  void expand_kinds() {
    if (!plain_) {
      return;
    }
    std::vector<prototype> plain = parse_prototypes(plain_->lines);
    std::vector<layout_kind> wanted = {layout_kind::xnd};
    if (const config_entry *entry = inherited("kinds")) {
      wanted.clear();
      for (const text_line &item : split_list(entry->lines)) {
        auto kind = kinds.find(lowered(item.text));
        if (kind == kinds.end()) {
          wrong(item.at, section_.name, "", "there is no kind " + item.text + "; they are C, Fortran, Strided and Xnd");
        }
        wanted.push_back(kind->second);
      }
    }
    for (layout_kind kind : wanted) {
      auto own = [&](const auto &p) { return p.first == kind; };
      if (std::none_of(text_.prototypes.begin(), text_.prototypes.end(), own)) {
        text_.prototypes.emplace_back(kind, plain);
        text_.plain_kinds.insert(kind);
      }
    }
  }

  const config_section &section_, &module_;
  const module_model &model_;
  const config_entry *plain_ = nullptr;
  kernel_text text_;
};

} // namespace

void wrong(place at, const std::string &kernel, const std::string &argument, const std::string &why) {
  throw problem(at, "kernel " + kernel + (argument.empty() ? "" : ", argument " + argument) + ": " + why);
}

kernel_text read_kernel(const config_section &section, const config_section &module, const module_model &model) {
  return reader(section, module, model).read();
}

} // namespace kernelgen

#include "kernelgen/config.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace kernelgen {

namespace {

class reader {
public:
  reader(config &made, const source_file &file) : made_(made), file_(file) {}

  void read() {
    for (size_t n = 0; n < file_.lines.size(); n++) {
      const std::string &line = file_.lines[n];
      size_t begin = line.find_first_not_of(" \t");
      bool goes_on = entry_ && begin != line.npos && begin > key_indent_;
      if (begin == line.npos || (is_comment(line, begin) && !(goes_on && is_code(line, begin)))) {
        continue;
      }
      place at{&file_, int(n + 1), int(begin + 1)};
      if (goes_on) {
        entry_->lines.push_back({trimmed(line), at});
      } else if (line[begin] == '[') {
        start_section(line, at);
      } else {
        start_entry(line, begin, at);
      }
    }
  }

private:
  static bool is_comment(const std::string &line, size_t begin) { return line[begin] == '#' || line[begin] == ';'; }

  // Within C a semicolon begins no comment, and `#define` is the preprocessor's.
  bool is_code(const std::string &line, size_t begin) const {
    static const std::set<std::string> keys = {"header_code",   "before",         "after",  "make",
                                               "pre_call_code", "post_call_code", "release"};
    static const std::set<std::string> directives = {"define", "undef", "include", "if",     "ifdef", "ifndef",
                                                     "elif",   "else",  "endif",   "pragma", "error"};
    size_t end = begin + 1;
    while (end < line.size() && std::isalpha(static_cast<unsigned char>(line[end]))) {
      end++;
    }
    return keys.count(entry_->key) && (line[begin] == ';' || directives.count(line.substr(begin + 1, end - begin - 1)));
  }

  void start_section(const std::string &line, place at) {
    entry_ = nullptr;
    size_t open = size_t(at.column - 1), close = line.rfind(']');
    if (close == line.npos || trimmed(line.substr(close + 1)) != "") {
      throw problem(at, "a section is [KIND name]");
    }
    std::string inside = trimmed(line.substr(open + 1, close - open - 1));
    size_t space = std::min(inside.find(' '), inside.size());
    config_section section{inside.substr(0, space), trimmed(inside.substr(space)), at, {}};
    std::transform(section.kind.begin(), section.kind.end(), section.kind.begin(), ::toupper);
    for (const config_section &other : made_.sections) {
      if (other.kind == section.kind && other.name == section.name) {
        throw problem(at, "there is a section [" + inside + "] already, in line " + std::to_string(other.at.line));
      }
    }
    made_.sections.push_back(section);
  }

  void start_entry(const std::string &line, size_t begin, place at) {
    if (made_.sections.empty()) {
      throw problem(at, "a file begins with a section: [MODULE name]");
    }
    size_t sign = line.find_first_of("=:", begin);
    if (sign == line.npos) {
      throw problem(at, "expected `key = value` or `key: value`, or more indentation to go on with the value above");
    }
    config_section &section = made_.sections.back();
    std::string key = lowered(trimmed(line.substr(begin, sign - begin)));
    if (key.empty()) {
      throw problem(at, "expected a key before `" + line.substr(sign, 1) + "`");
    }
    if (const config_entry *other = section.find(key)) {
      throw problem(at, "the section has `" + key + "` already, in line " + std::to_string(other->at.line));
    }
    section.entries.push_back({key, at, {}});
    entry_ = &section.entries.back();
    key_indent_ = begin;
    size_t value = line.find_first_not_of(" \t", sign + 1);
    if (value != line.npos) {
      entry_->lines.push_back({trimmed(line.substr(value)), {&file_, at.line, int(value + 1)}});
    }
  }

  config &made_;
  const source_file &file_;
  config_entry *entry_ = nullptr;
  size_t key_indent_ = 0;
};

// Replaces %% and %(key)s. A single % stays: it is C's.
void interpolate(const config_section &section, text_line &line, int depth) {
  for (size_t i = line.text.find('%'); i != line.text.npos; i = line.text.find('%', i + 1)) {
    if (line.text.compare(i, 2, "%%") == 0) {
      line.text.erase(i, 1);
    } else if (line.text.compare(i, 2, "%(") == 0) {
      size_t close = line.text.find(")s", i);
      if (close == line.text.npos) {
        continue; // C: a %(b)
      }
      std::string key = lowered(line.text.substr(i + 2, close - i - 2));
      const config_entry *entry = section.find(key);
      if (!entry || depth > 8) {
        throw problem(line.at, "%(" + key + ")s: there is no key `" + key + "` in the section" +
                                   (entry ? " that does not need itself" : ""));
      }
      text_line other{entry->text(), line.at};
      interpolate(section, other, depth + 1);
      line.text.replace(i, close + 2 - i, other.text);
      i += other.text.size() - 1;
    }
  }
}

} // namespace

std::string config_entry::text() const {
  std::string all;
  for (size_t i = 0; i < lines.size(); i++) {
    all += (i ? "\n" : "") + lines[i].text;
  }
  return all;
}

std::vector<std::string> config_entry::code() const {
  std::vector<std::string> all;
  int first = 0; // the column of the least indented line below the key's
  for (const text_line &line : lines) {
    first = line.at.line != at.line && (first == 0 || line.at.column < first) ? line.at.column : first;
  }
  for (const text_line &line : lines) {
    bool below = line.at.line != at.line && line.text[0] != '#';
    all.push_back(std::string(size_t(below ? line.at.column - first : 0), ' ') + line.text);
  }
  return all;
}

const config_entry *config_section::find(std::string_view key) const {
  auto found = std::find_if(entries.begin(), entries.end(), [&](const config_entry &e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

config read_config(const std::string &path) {
  config made;
  made.files.push_back(read_source(path));
  reader(made, *made.files[0]).read();
  for (config_section &section : made.sections) {
    for (config_entry &entry : section.entries) {
      for (text_line &line : entry.lines) {
        interpolate(section, line, 0);
      }
    }
  }
  return made;
}

bool read_bool(const config_entry &entry) {
  std::string text = lowered(trimmed(entry.text()));
  for (const char *yes : {"yes", "true", "on", "1"}) {
    if (text == yes) {
      return true;
    }
  }
  for (const char *no : {"", "no", "false", "off", "0"}) {
    if (text == no) {
      return false;
    }
  }
  throw problem(entry.lines[0].at, "`" + entry.key + "` is yes or no");
}

} // namespace kernelgen

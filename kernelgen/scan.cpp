#include "kernelgen/scan.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>

#include "kernelgen/build.h"
#include "kernelgen/clang_api.h"
#include "kernelgen/config.h"
#include "kernelgen/model.h"

namespace kernelgen {

namespace {

namespace fs = std::filesystem;

// ---- reading
// ---------------------------------------------------------------------------------------------------------

// libclang without its own headers has no stddef.h: the C compiler's is as good.
std::string compiler_headers() {
  std::string path, command = "'" + program("CC", "cc") + "' -print-file-name=include 2>/dev/null";
  if (FILE *pipe = popen(command.c_str(), "r")) {
    char text[512];
    if (fgets(text, sizeof(text), pipe)) {
      path = trimmed(std::string(text).substr(0, std::string(text).find('\n')));
    }
    pclose(pipe);
  }
  return path;
}

class header_reader {
public:
  explicit header_reader(const scan_options &options) : clang_(load_clang()), options_(options) {}

  scanned_header read() {
    std::string text;
    for (const std::string &header : options_.headers) {
      text +=
          "#include " + (fs::exists(header) ? "\"" + fs::absolute(header).string() + "\"" : "<" + header + ">") + "\n";
    }
    std::vector<std::string> words = {"-xc", "-std=gnu11", "-fparse-all-comments",
                                      "-fretain-comments-from-system-headers"};
    if (std::string path = compiler_headers(); !path.empty()) {
      words.push_back("-isystem" + path);
    }
    for (const std::string &dir : options_.include_dirs) {
      words.push_back("-I" + dir);
    }
    std::vector<const char *> arguments;
    for (const std::string &word : words) {
      arguments.push_back(word.c_str());
    }
    progress("reading " + joined(options_.headers, ", "));
    clang_index index = clang_.createIndex(0, 0);
    clang_unsaved file = {"scan.c", text.c_str(), text.size()};
    clang_unit unit = nullptr;
    int failed = clang_.parseTranslationUnit2(index, "scan.c", arguments.data(), int(arguments.size()), &file, 1,
                                              parse_macros | parse_no_bodies, &unit);
    if (failed || !unit) {
      throw problem({}, "scan: libclang failed on " + joined(options_.headers, ", "));
    }
    check(unit);
    clang_.visitChildren(clang_.getTranslationUnitCursor(unit), visit, this);
    clang_.disposeTranslationUnit(unit);
    clang_.disposeIndex(index);
    return std::move(made_);
  }

private:
  void check(clang_unit unit) const {
    std::string errors;
    for (unsigned i = 0; i < clang_.getNumDiagnostics(unit); i++) {
      clang_diagnostic d = clang_.getDiagnostic(unit, i);
      if (clang_.getDiagnosticSeverity(d) >= 3) {
        errors += "\n" + clang_.text(clang_.formatDiagnostic(d, 1 | 2));
      }
      clang_.disposeDiagnostic(d);
    }
    if (!errors.empty()) {
      throw problem({}, "scan: the header does not compile:" + errors);
    }
  }

  static int visit(clang_cursor cursor, clang_cursor, void *data) {
    auto *self = static_cast<header_reader *>(data);
    bool macro = cursor.kind == cursor_macro && self->clang_.Cursor_isMacroFunctionLike(cursor);
    if (cursor.kind == cursor_function) {
      self->add(cursor);
    } else if (macro || cursor.kind == cursor_variable) {
      self->skip(cursor, macro ? "a macro: call it in a function of `header_code`" : "a variable");
    }
    return visit_continue;
  }

  // For a person who waits, and not for a file.
  static void progress(const std::string &text) {
    if (isatty(2)) {
      std::cerr << "scan: " << text << "\033[K\r" << std::flush;
    }
  }

  // What is declared, and is no function.
  void skip(clang_cursor cursor, const char *why) {
    scanned_function f = located(cursor);
    if (!f.file.empty() && is_own(f.file) && is_wanted(f.name) && seen_.insert(f.name).second) {
      made_.others.push_back(f.name + ": " + why + " (" + f.file + ":" + std::to_string(f.line) + ")");
    }
  }

  // The library's own files: the given headers, and others in their folders unless these are the system's.
  bool is_own(const std::string &file) {
    auto known = own_.find(file);
    if (known != own_.end()) {
      return known->second;
    }
    fs::path path(file), folder = path.parent_path();
    bool own = !options_.match.empty();
    for (const std::string &header : options_.headers) {
      std::string given = fs::exists(header) ? fs::absolute(header).string() : header;
      own = own || file == given ||
            (file.size() > given.size() && file.compare(file.size() - given.size() - 1, file.npos, "/" + given) == 0);
      std::string sub = fs::path(header).parent_path().string(); // gsl of gsl/gsl_sf.h
      own = own || (!sub.empty() && folder.string().size() >= sub.size() &&
                    folder.string().compare(folder.string().size() - sub.size(), sub.npos, sub) == 0);
    }
    return own_[file] = own;
  }

  bool is_wanted(const std::string &name) const {
    auto matches = [&](const std::string &pattern) { return std::regex_match(name, std::regex(pattern)); };
    bool any = options_.match.empty() || std::any_of(options_.match.begin(), options_.match.end(), matches);
    return any && std::none_of(options_.exclude.begin(), options_.exclude.end(), matches);
  }

  scanned_function located(clang_cursor cursor) const {
    clang_file file = nullptr;
    scanned_function f;
    unsigned line = 0;
    clang_.getExpansionLocation(clang_.getCursorLocation(cursor), &file, &line, nullptr, nullptr);
    f.name = clang_.text(clang_.getCursorSpelling(cursor));
    f.file = file ? clang_.text(clang_.getFileName(file)) : "";
    f.line = int(line);
    return f;
  }

  void add(clang_cursor cursor) {
    scanned_function f = located(cursor);
    if (!is_own(f.file) || !is_wanted(f.name) || !seen_.insert(f.name).second) {
      return;
    }
    f.comment = comment_text(clang_.text(clang_.Cursor_getRawCommentText(cursor)));
    f.is_variadic = clang_.isFunctionTypeVariadic(clang_.getCursorType(cursor));
    f.result = parameter_of(clang_.getCursorResultType(cursor), "");
    for (int i = 0; i < clang_.Cursor_getNumArguments(cursor); i++) {
      clang_cursor own = clang_.Cursor_getArgument(cursor, unsigned(i));
      std::string name = clang_.text(clang_.getCursorSpelling(own));
      f.parameters.push_back(parameter_of(clang_.getCursorType(own), name.empty() ? "arg" + std::to_string(i) : name));
    }
    made_.functions.push_back(std::move(f));
    if (made_.functions.size() % 100 == 0) {
      progress(std::to_string(made_.functions.size()) + " functions");
    }
  }

  scanned_parameter parameter_of(clang_type type, const std::string &name) {
    scanned_parameter p;
    p.name = name.substr(std::min(name.find_first_not_of('_'), name.size())); // __x of the system's headers
    p.name = p.name == "result" ? "result_" : p.name;
    p.spelling = clang_.text(clang_.getTypeSpelling(type));
    clang_type inside = type;
    for (clang_type canonical = clang_.getCanonicalType(inside);;) {
      bool array = canonical.kind == type_constant_array || canonical.kind == type_incomplete_array;
      if (array) {
        p.extents.push_back(canonical.kind == type_constant_array ? clang_.getArraySize(canonical) : -1);
        p.pointers += p.extents.size() == 1;
      } else if (canonical.kind == type_pointer) {
        p.pointers++;
      } else {
        break;
      }
      bool written =
          inside.kind == type_pointer || inside.kind == type_constant_array || inside.kind == type_incomplete_array;
      clang_type from = written ? inside : canonical;
      inside = array ? clang_.getArrayElementType(from) : clang_.getPointeeType(from);
      canonical = clang_.getCanonicalType(inside);
    }
    clang_type canonical = clang_.getCanonicalType(inside);
    p.is_const = clang_.isConstQualifiedType(inside) || clang_.isConstQualifiedType(canonical);
    p.is_function = canonical.kind == type_function;
    p.base = clang_.text(clang_.getTypeSpelling(inside));
    for (const char *word : {"const ", "volatile "}) {
      for (size_t at = p.base.find(word); at != p.base.npos; at = p.base.find(word)) {
        p.base.erase(at, std::string_view(word).size());
      }
    }
    p.element = p.base == "void" && p.pointers > 0 ? "void" : element_of(p.base, canonical);
    return p;
  }

  // What the library calls a type; a name that is not C's own is a typemap.
  std::string element_of(const std::string &base, clang_type canonical) {
    std::string plain = unqualified(clang_.text(clang_.getTypeSpelling(canonical)));
    if (canonical.kind == type_enum) {
      clang_type number = clang_.getEnumDeclIntegerType(clang_.getTypeDeclaration(canonical));
      plain = clang_.text(clang_.getTypeSpelling(clang_.getCanonicalType(number)));
    }
    std::string element = canonical.kind == type_record ? struct_of(canonical) : element_type({}, words_of(plain));
    if (!element.empty() && element_type({}, words_of(base)) != element) {
      made_.typemaps[base] = element;
    }
    return element;
  }
  static std::string unqualified(std::string text) { return text.rfind("const ", 0) == 0 ? text.substr(6) : text; }
  static std::string words_of(const std::string &text) {
    std::vector<std::string> words;
    if (text.find_first_of("*[(") != text.npos) {
      return "";
    }
    std::istringstream in(text);
    for (std::string word; in >> word;) {
      words.push_back(word);
    }
    return words.empty() ? "" : canonical_type(words);
  }

  // A struct of numbers.
  std::string struct_of(clang_type type) {
    struct fields {
      header_reader *self;
      std::vector<std::string> all;
      bool plain = true;
    } found{this, {}, true};
    clang_cursor declaration = clang_.getTypeDeclaration(type);
    if (declaration.kind != cursor_struct) {
      return "";
    }
    auto visit_field = [](clang_cursor cursor, clang_cursor, void *data) -> int {
      auto *list = static_cast<fields *>(data);
      const clang_api &clang = list->self->clang_;
      if (cursor.kind == cursor_field) {
        clang_type own = clang.getCanonicalType(clang.getCursorType(cursor));
        std::string element = element_type({}, words_of(unqualified(clang.text(clang.getTypeSpelling(own)))));
        list->plain = list->plain && !element.empty();
        list->all.push_back(clang.text(clang.getCursorSpelling(cursor)) + ": " + element);
      }
      return visit_continue;
    };
    clang_.visitChildren(declaration, visit_field, &found);
    return found.plain && !found.all.empty() ? "{" + joined(found.all, ", ") + "}" : "";
  }

  const clang_api &clang_;
  const scan_options &options_;
  scanned_header made_;
  std::set<std::string> seen_;
  std::map<std::string, bool> own_;
};

// ---- writing
// ---------------------------------------------------------------------------------------------------------

std::string prototype_text(const scanned_function &f) {
  auto declare = [](const scanned_parameter &p) {
    size_t bracket = p.spelling.find('[');
    if (bracket != p.spelling.npos) {
      return trimmed(p.spelling.substr(0, bracket)) + " " + p.name + p.spelling.substr(bracket);
    }
    bool star = !p.spelling.empty() && p.spelling.back() == '*';
    return p.spelling + (p.name.empty() || star ? "" : " ") + p.name;
  };
  std::vector<std::string> all;
  for (const scanned_parameter &p : f.parameters) {
    all.push_back(declare(p));
  }
  return declare(f.result) + (f.result.spelling.back() == '*' ? "" : " ") + f.name + "(" + joined(all, ", ") + ")";
}

std::string kernel_section(const scanned_function &f, const kernel_guess &guess) {
  std::string text = "\n[KERNEL " + f.name + "]\n";
  for (const std::string &question : guess.open) {
    text += "# decide: " + question + "\n";
  }
  if (!guess.open.empty()) {
    text += "skip = yes\n";
  }
  text += "prototypes = " + prototype_text(f) + "\n";
  auto list = [&](const char *key, const std::vector<std::string> &all) {
    text += all.empty() ? "" : std::string(key) + " = " + joined(all, ", ") + "\n";
  };
  list("input", guess.input);
  list("inplace", guess.inplace);
  list("output", guess.output);
  list("hide", guess.hide);
  if (!f.comment.empty()) {
    text += "description = ";
    for (char c : f.comment) { // a percent sign is the configuration's
      text += c == '\n' ? "\n    " : c == '%' ? "%%" : std::string(1, c);
    }
    text += "\n";
  }
  return text;
}

std::string module_section(const scan_options &options, const scanned_header &found) {
  std::string name = options.module;
  if (name.empty()) {
    name = fs::path(options.headers[0]).stem().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  }
  std::string text = "[MODULE " + name + "]\nincludes =";
  for (const std::string &header : options.headers) {
    text += " " + (fs::exists(header) ? "\"" + fs::absolute(header).string() + "\"" : "<" + header + ">");
  }
  text += "\n";
  text += options.library.empty() ? "" : "libraries = " + options.library + "\n";
  text += options.include_dirs.empty() ? "" : "include_dirs = " + joined(options.include_dirs, ", ") + "\n";
  text += options.prefix.empty() ? "" : "prefix = " + options.prefix + "\n";
  text += options.threadsafe ? "threadsafe = yes\n" : "";
  text += "typemaps =\n";
  for (const auto &[type, element] : found.typemaps) {
    text += "    " + type + ": " + element + "\n";
  }
  return text;
}

// Types of functions that are skipped are not needed.
void keep_used_types(scanned_header &found) {
  std::set<std::string> used;
  for (const scanned_function &f : found.functions) {
    if (!guess_kernel(f).skip) {
      used.insert(f.result.base);
      std::transform(f.parameters.begin(), f.parameters.end(), std::inserter(used, used.end()),
                     [](const scanned_parameter &p) { return p.base; });
    }
  }
  for (auto type = found.typemaps.begin(); type != found.typemaps.end();) {
    type = used.count(type->first) ? std::next(type) : found.typemaps.erase(type);
  }
}

// What a file has already stays as it is: kernels by their names, types by theirs.
std::string before_of(const scan_options &options, scanned_header &found, std::set<std::string> &known) {
  if (options.output.empty() || options.output == "-" || !fs::exists(options.output)) {
    return module_section(options, found);
  }
  config old = read_config(options.output);
  const source_file &file = *old.files[0];
  std::vector<std::string> lines = file.lines;
  for (const config_section &section : old.sections) {
    known.insert(section.kind == "KERNEL" ? section.name : "");
    if (section.kind != "MODULE") {
      continue;
    }
    const config_entry *types = section.find("typemaps");
    int after = section.at.line;
    if (types) {
      after = types->lines.empty() ? types->at.line : types->lines.back().at.line;
      for (const text_line &item : split_list(types->lines)) {
        found.typemaps.erase(trimmed(item.text.substr(0, item.text.find(':'))));
      }
    } else if (!found.typemaps.empty()) {
      lines.insert(lines.begin() + after++, "typemaps =");
    }
    for (const auto &[type, element] : found.typemaps) {
      lines.insert(lines.begin() + after++, "    " + type + ": " + element);
    }
  }
  return joined(lines, "\n") + "\n";
}

} // namespace

std::string comment_text(const std::string &raw) {
  std::istringstream in(raw);
  std::string all;
  for (std::string line; std::getline(in, line);) {
    size_t begin = line.find_first_not_of(" \t/*!"), end = line.find_last_not_of(" \t\r/*");
    if (begin == line.npos || end == line.npos || begin > end) {
      continue;
    }
    std::string text = line.substr(begin, end - begin + 1);
    bool command = text[0] == '\\' || text[0] == '@'; // Doxygen's: \brief text, @param x text
    std::istringstream words(text.substr(command));
    words >> text;
    if (command && text.rfind("param", 0) == 0) {
      words >> text;
      text += ":";
    } else if (command && text == "brief") {
      words >> text;
    }
    for (std::string word; words >> word;) {
      text += " " + word;
    }
    all += (all.empty() ? "" : "\n") + text;
  }
  return all;
}

scanned_header read_headers(const scan_options &options) { return header_reader(options).read(); }

std::string scan(const scan_options &options, std::vector<std::string> &skipped) {
  scanned_header found = read_headers(options);
  std::set<std::string> known;
  std::string sections;
  std::vector<std::string> undecided;
  keep_used_types(found);
  std::string text = before_of(options, found, known);
  for (const scanned_function &f : found.functions) {
    kernel_guess guess = guess_kernel(f);
    if (known.count(f.name)) {
      continue;
    }
    if (guess.skip) {
      skipped.push_back(f.name + ": " + *guess.skip + " (" + f.file + ":" + std::to_string(f.line) + ")");
      undecided.push_back(f.name + ": " + *guess.skip);
    } else {
      sections += kernel_section(f, guess);
      undecided.insert(undecided.end(), guess.open.size(), "");
      std::transform(guess.open.begin(), guess.open.end(), undecided.end() - long(guess.open.size()),
                     [&](const std::string &question) { return f.name + ": " + question; });
    }
  }
  if (options.guess && (!undecided.empty() || found.functions.size() < options.match.size())) {
    for (const std::string &name : options.match) {
      auto same = [&](const scanned_function &f) { return std::regex_match(f.name, std::regex(name)); };
      if (std::none_of(found.functions.begin(), found.functions.end(), same)) {
        undecided.push_back(name + ": the header does not declare it");
      }
    }
    throw problem({}, "scan: a configuration has to say\n  " + joined(undecided, "\n  "));
  }
  skipped.insert(skipped.end(), found.others.begin(), found.others.end());
  for (const std::string &reason : skipped) {
    bool said = text.find("# skipped: " + reason) != text.npos;
    sections += said ? "" : "\n# skipped: " + reason + "\n";
  }
  return text + sections;
}

} // namespace kernelgen

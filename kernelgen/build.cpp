#include "kernelgen/build.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

extern char **environ;

namespace kernelgen {

namespace {

namespace fs = std::filesystem;

class temporary_folder {
public:
  temporary_folder() {
    std::string pattern = (fs::temp_directory_path() / "dynd-kernelgen-XXXXXX").string();
    if (!mkdtemp(pattern.data())) {
      throw problem({}, "there is no place for temporary files: " + pattern);
    }
    path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder &) = delete;
  temporary_folder &operator=(const temporary_folder &) = delete;
  std::string file(const std::string &name) const { return (path_ / name).string(); }

private:
  fs::path path_;
};

std::string read_text(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs a command, and gives what it said. No shell: names may have any characters. A problem where it fails, for which
// `explain` makes the text out of what was said.
template <class Explain>
void run(const std::vector<std::string> &command, const temporary_folder &folder, bool verbose, Explain explain) {
  if (verbose) {
    std::cerr << joined(command, " ") << "\n";
  }
  std::vector<char *> arguments;
  for (const std::string &word : command) {
    arguments.push_back(const_cast<char *>(word.c_str()));
  }
  arguments.push_back(nullptr);
  std::string messages = folder.file("messages");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  pid_t child;
  int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ), status = 0;
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    throw problem({}, "there is no program " + command[0]);
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string said = read_text(messages);
  if (status != 0) {
    throw problem(explain(said));
  }
  std::cerr << said;
}

bool has_word(const std::string &text, const std::string &word) {
  auto is_letter = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) {
      return true;
    }
  }
  return false;
}

// Which kernels the compiler or the linker speaks of, by their places in the configuration, and what was said.
std::string explain(const module_model &model, const std::string &why, const std::string &said) {
  std::string text;
  std::set<std::string> shown;
  for (const kernel &k : model.kernels) {
    for (const overload &o : k.overloads) {
      for (const variant &v : o.variants) {
        bool about = has_word(said, v.function.name) || said.find(o.symbol + "_") != said.npos;
        if (about && shown.insert(k.name + " " + v.function.name).second) {
          text += show(v.function.at, "error", "kernel " + k.name + ": " + why) + "\n";
        }
      }
    }
  }
  return (text.empty() ? show({}, "error", why) + "\n" : text) + said;
}

enum class language { c, cplusplus, fortran, object };

language language_of(const std::string &source) {
  static const std::map<std::string, language> endings = {
      {".f", language::fortran},    {".for", language::fortran},   {".ftn", language::fortran},
      {".f77", language::fortran},  {".f90", language::fortran},   {".f95", language::fortran},
      {".f03", language::fortran},  {".f08", language::fortran},   {".cpp", language::cplusplus},
      {".cc", language::cplusplus}, {".cxx", language::cplusplus}, {".c++", language::cplusplus},
      {".o", language::object},     {".a", language::object}};
  std::string ending = fs::path(source).extension();
  auto found = endings.find(ending == ".C" ? ".cc" : lowered(ending));
  return found == endings.end() ? language::c : found->second;
}

std::vector<std::string> compile_command(language of, const module_model &model) {
  std::vector<std::string> command = {of == language::fortran     ? program("FC", "gfortran")
                                      : of == language::cplusplus ? program("CXX", "c++")
                                                                  : program("CC", "cc"),
                                      "-O2", "-fPIC", "-c"};
  for (const std::string &dir : model.include_dirs) {
    command.push_back("-I" + dir);
  }
  return command;
}

// Mistakes in a prototype that C would let pass are errors here. Loops are aligned: one that calls a small function for
// each element takes a quarter more time where the call crosses a cache line.
const char *const strict[] = {"-std=gnu11",
                              "-falign-loops=32",
                              "-Wall",
                              "-Wextra",
                              "-Werror=incompatible-pointer-types",
                              "-Werror=implicit-function-declaration",
                              "-Werror=int-conversion",
                              "-Wno-unused-parameter"};

} // namespace

std::string program(const char *variable, const char *standard) {
  const char *value = std::getenv(variable);
  return value && *value ? value : standard;
}

std::string find_headers() {
  std::vector<fs::path> places;
  if (const char *own = std::getenv("DYND_INCLUDE")) {
    places.emplace_back(own);
  }
  std::error_code ignored;
  fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char *near : {"include", "../include", "../..", "..", "../../.."}) {
    places.push_back(here / near);
  }
  for (const fs::path &place : places) {
    if (fs::exists(place / "dynd/abi/arguments.h", ignored)) {
      return fs::weakly_canonical(place).string();
    }
  }
  throw problem({}, "the headers of DyND are not found: set DYND_INCLUDE to the folder that has dynd/abi/ in it");
}

void write_text(const std::string &path, const std::string &text) {
  if (path == "-" || path == "stdout") {
    std::cout << text;
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) {
    throw problem({}, path + ": cannot be written");
  }
}

namespace {

class builder {
public:
  builder(const module_model &model, const build_options &options) : model_(model), options_(options) {}

  void make(const std::string &source) {
    for (const std::string &own : model_.sources) {
      compile_own(own);
    }
    compile_generated(source);
    link();
    if (!options_.inputs.empty()) {
      write_inputs();
    }
    std::error_code failed;
    fs::copy_file(folder_.file("plugin.so"), options_.output + ".new", fs::copy_options::overwrite_existing, failed);
    if (!failed) {
      fs::rename(options_.output + ".new", options_.output, failed);
    }
    if (failed) {
      throw problem({}, options_.output + ": cannot be written: " + failed.message());
    }
  }

private:
  void compile_own(const std::string &own) {
    language of = language_of(own);
    languages_.insert(of);
    if (of == language::object) {
      return objects_.push_back(own);
    }
    std::vector<std::string> command = compile_command(of, model_);
    objects_.push_back(folder_.file(std::to_string(objects_.size()) + ".o"));
    add_inputs(command, objects_.back());
    command.insert(command.end(), {"-o", objects_.back(), own});
    run(command, folder_, options_.verbose,
        [&](const std::string &said) { return show({}, "error", own + " does not compile:\n" + said); });
  }

  void compile_generated(const std::string &source) {
    std::string generated = folder_.file(model_.name + "-kernels.c"), object = folder_.file("kernels.o");
    write_text(generated, source);
    std::vector<std::string> command = compile_command(language::c, model_);
    command.insert(command.end(), std::begin(strict), std::end(strict));
    command.insert(command.end(), options_.flags.begin(), options_.flags.end());
    add_inputs(command, object);
    command.insert(command.end(), {"-I" + find_headers(), "-o", object, generated});
    run(command, folder_, options_.verbose, [&](const std::string &said) {
      return explain(model_,
                     "what is generated of it does not compile (are prototype, types and code those of the header?)",
                     said);
    });
  }

  void link() {
    bool cplusplus = languages_.count(language::cplusplus);
    std::vector<std::string> command = {cplusplus ? program("CXX", "c++") : program("CC", "cc"), "-shared", "-o",
                                        folder_.file("plugin.so"), folder_.file("kernels.o")};
    command.insert(command.end(), options_.flags.begin(), options_.flags.end());
    command.insert(command.end(), objects_.begin(), objects_.end());
    for (const std::string &dir : model_.library_dirs) {
      command.insert(command.end(), {"-L" + dir, "-Wl,-rpath," + dir});
    }
    for (const std::string &library : model_.libraries) {
      command.push_back(library.find('/') != library.npos ? library : "-l" + library);
    }
    if (languages_.count(language::fortran)) {
      command.push_back("-lgfortran");
    }
    command.push_back("-lm");
    if (joined(options_.flags, " ").find("-fsanitize") == std::string::npos) { // else the program has those functions
      command.push_back("-Wl,-z,defs");
    }
    run(command, folder_, options_.verbose, [&](const std::string &said) {
      return explain(model_, "the plug-in does not link (are all `libraries` and `sources` named?)", said);
    });
  }

  // The compiler writes which headers it has read; not those of the system.
  void add_inputs(std::vector<std::string> &command, const std::string &object) {
    if (!options_.inputs.empty() && command[0] != program("FC", "gfortran")) {
      command.insert(command.end(), {"-MMD", "-MF", object + ".d"});
      made_.push_back(object + ".d");
    }
  }

  void write_inputs() const {
    std::set<std::string> all(model_.sources.begin(), model_.sources.end());
    for (const std::string &rule : made_) { // object: file file \\ file
      std::string text = read_text(rule), word;
      for (size_t i = text.find(": ") + 2; i <= text.size(); i++) {
        char c = i < text.size() ? text[i] : ' ';
        if (c == '\\' && i + 1 < text.size() && text[i + 1] == ' ') {
          word += text[++i];
        } else if (c != ' ' && c != '\n' && c != '\\') {
          word += c;
        } else if (!word.empty()) {
          all.insert(word);
          word.clear();
        }
      }
    }
    std::string text;
    for (const std::string &name : all) {
      bool temporary = name.rfind(folder_.file(""), 0) == 0;
      text += temporary ? "" : fs::weakly_canonical(name).string() + "\n";
    }
    write_text(options_.inputs, text);
  }

  const module_model &model_;
  const build_options &options_;
  temporary_folder folder_;
  std::vector<std::string> objects_, made_;
  std::set<language> languages_;
};

} // namespace

void build(const module_model &model, const std::string &source, const build_options &options) {
  builder(model, options).make(source);
}

} // namespace kernelgen

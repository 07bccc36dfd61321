#include "kernelgen/build.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
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

std::string program(const char *variable, const char *standard) {
  const char *value = std::getenv(variable);
  return value && *value ? value : standard;
}

std::string read_text(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs a command with its messages in a file. No shell: names may have any characters.
void run(const std::vector<std::string> &command, const temporary_folder &folder, const std::string &what,
         bool verbose) {
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
    throw problem({}, what + ": there is no program " + command[0]);
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string said = read_text(messages);
  if (status != 0) {
    throw problem({}, what + ":\n" + said);
  }
  std::cerr << said;
}

std::vector<std::string> compile_command(const std::string &source, const module_model &model) {
  std::string ending = fs::path(source).extension();
  bool fortran = ending == ".f" || ending == ".f90" || ending == ".f95" || ending == ".for" || ending == ".F90";
  bool cplusplus = ending == ".cpp" || ending == ".cc" || ending == ".cxx";
  std::vector<std::string> command = {fortran     ? program("FC", "gfortran")
                                      : cplusplus ? program("CXX", "c++")
                                                  : program("CC", "cc")};
  for (const char *option : {"-O2", "-fPIC", "-c"}) {
    command.push_back(option);
  }
  for (const std::string &dir : model.include_dirs) {
    command.push_back("-I" + dir);
  }
  return command;
}

// Mistakes in a prototype that C would let pass are errors here.
const char *const strict[] = {"-std=gnu11",
                              "-Wall",
                              "-Wextra",
                              "-Werror=incompatible-pointer-types",
                              "-Werror=implicit-function-declaration",
                              "-Werror=int-conversion",
                              "-Wno-unused-parameter"};

} // namespace

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

void build(const module_model &model, const std::string &source, const build_options &options) {
  temporary_folder folder;
  std::string generated = folder.file(model.name + "-kernels.c");
  write_text(generated, source);
  std::vector<std::string> objects;
  bool fortran = false;
  for (const std::string &own : model.sources) {
    std::vector<std::string> command = compile_command(own, model);
    fortran |= command[0] == program("FC", "gfortran");
    objects.push_back(folder.file(std::to_string(objects.size()) + ".o"));
    command.insert(command.end(), {"-o", objects.back(), own});
    run(command, folder, own + " does not compile", options.verbose);
  }
  std::vector<std::string> command = compile_command(generated, model);
  command.insert(command.end(), std::begin(strict), std::end(strict));
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  command.insert(command.end(), {"-I" + find_headers(), "-o", folder.file("kernels.o"), generated});
  run(command, folder, "the generated source does not compile (are the prototypes those of the header?)",
      options.verbose);
  std::vector<std::string> link = {program("CC", "cc"), "-shared", "-o", folder.file("plugin.so"),
                                   folder.file("kernels.o")};
  link.insert(link.end(), options.flags.begin(), options.flags.end());
  link.insert(link.end(), objects.begin(), objects.end());
  for (const std::string &dir : model.library_dirs) {
    link.push_back("-L" + dir);
    link.push_back("-Wl,-rpath," + dir);
  }
  for (const std::string &library : model.libraries) {
    link.push_back(library.find('/') != library.npos ? library : "-l" + library);
  }
  if (fortran) {
    link.push_back("-lgfortran");
  }
  link.insert(link.end(), {"-lm", "-Wl,-z,defs"});
  bool sanitized = joined(options.flags, " ").find("-fsanitize") != std::string::npos;
  if (sanitized) {
    link.pop_back(); // the program has the sanitizer's functions
  }
  run(link, folder, "the plug-in does not link (are all libraries named?)", options.verbose);
  std::error_code failed;
  fs::copy_file(folder.file("plugin.so"), options.output + ".new", fs::copy_options::overwrite_existing, failed);
  if (!failed) {
    fs::rename(options.output + ".new", options.output, failed);
  }
  if (failed) {
    throw problem({}, options.output + ": cannot be written: " + failed.message());
  }
}

} // namespace kernelgen

// Compiling and linking a plug-in, with the system's compilers.
#pragma once

#include "kernelgen/model.h"

namespace kernelgen {

/// A compiler: what the environment has under this name (CC, CXX, FC), or the standard one.
std::string program(const char *variable, const char *standard);

/// Where dynd/abi/ is: DYND_INCLUDE, or beside this program; a problem where it is not found.
std::string find_headers();

struct build_options {
  std::string output;             ///< the plug-in
  std::vector<std::string> flags; ///< for the compiler of the generated source, after ours
  std::string inputs;             ///< a file for the names of all files it is made of, but the system's; may be empty
  bool verbose = false;
};

/// Compiles `source`, the text of the plug-in, and the module's own sources. A problem has what the compiler says.
void build(const module_model &model, const std::string &source, const build_options &options);

void write_text(const std::string &path, const std::string &text);

} // namespace kernelgen

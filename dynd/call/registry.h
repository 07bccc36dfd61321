// Kernels by name: those of plug-ins, and those that a program registers itself.
//
// A kernel that is registered stays for the life of the process, and so does its library. Any thread may ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dynd/call/lift.h"

namespace dynd::nd {

struct registered_kernel {
  std::string name, signature, doc;
  std::string library; ///< the path it was loaded from; empty where the program registered it
  lifted function;
};

/// Loads a plug-in (dynd/abi/plugin.h) and returns the names of its kernels. All of it or nothing: a library that is
/// wrong in any way is closed again, and nothing of it stays. One that was loaded before is not loaded again.
std::vector<std::string> load(const std::string &path);

/// A kernel of this program. The name must be an identifier that begins with a letter, and no operation or kernel may
/// have it.
void register_kernel(const kernel &k);

/// The kernel of that name; empty (false) if there is none.
lifted find_kernel(std::string_view name);

/// All of them, in the order in which they came.
std::vector<registered_kernel> kernels();

/// Names that no kernel may have, besides those of the operations: the functions of a binding, and the keywords of its
/// language.
void reserve_names(const std::vector<std::string> &names);

} // namespace dynd::nd

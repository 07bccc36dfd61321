// Callables by name: the operations of the library, those of plug-ins, and those that a program registers itself.
//
// A kernel that is registered stays for the life of the process, unless it is forgotten, and so does its library. Any
// thread may ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dynd/call/callable.h"

namespace dynd::nd {

/// Loads a plug-in (dynd/abi/plugin.h) and returns the names of its kernels. All of it or nothing: a library that is
/// wrong in any way is closed again, and nothing of it stays. One that was loaded before is not loaded again.
std::vector<std::string> load(const std::string &path);

/// The callables that a plug-in brought are no longer found by their names, so that another one may bring them; those
/// that are held go on working. What it added to other callables is no longer theirs. Its library stays.
void forget(const std::string &path);

/// A kernel of this program: an overload of the callable of its name, which is made where there is none. The name must
/// be an identifier that begins with a letter, and none of the names that are reserved. To an operation of the library
/// overloads for structs and tuples can be added.
void register_kernel(const kernel &k);

/// The operation or callable of that name; empty (false) if there is none.
callable find_callable(std::string_view name);

/// Those that were registered or loaded, in the order in which they came.
std::vector<callable> callables();

/// The operation as a callable.
callable callable_of(op_id op);

/// Names that no kernel may have: the functions of a binding, and the keywords of its language.
void reserve_names(const std::vector<std::string> &names);

} // namespace dynd::nd

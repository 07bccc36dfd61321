// From the text of a configuration to the model; all that can be known to be wrong is found here.
#pragma once

#include "kernelgen/config.h"
#include "kernelgen/model.h"

namespace kernelgen {

/// Throws `problem` with all that is wrong, one after another.
module_model resolve(const config &text);

// ---- the parts of it
// ---------------------------------------------------------------------------------------------------

/// What a [KERNEL] section says before prototypes are looked at.
struct kernel_text {
  kernel made;
  const config_section *section = nullptr;
  std::vector<std::pair<layout_kind, std::vector<prototype>>> prototypes;
  std::map<std::string, argument_text> arguments;
  std::map<std::string, std::set<intent_kind>> intents;
  std::map<std::string, place> where; ///< of the arguments
  std::map<std::string, std::string> types;
  std::set<std::string> trusted, fully_written;
  std::map<layout_kind, std::set<std::string>> fortran;
  std::string return_text;
  place return_at;
  std::set<layout_kind> plain_kinds; ///< kinds that have the prototypes of `prototypes`

  /// What the returned value is called, where it is a result.
  std::string returned_name() const {
    std::string name = return_text.substr(0, return_text.find('('));
    return name.empty() || name == "output" ? "result" : name;
  }
};

/// Reads the keys of a section. `module` has the defaults.
kernel_text read_kernel(const config_section &section, const config_section &module, const module_model &model);

/// How the arguments with defaults are called.
struct default_use {
  std::set<std::string> omitted; ///< they have no operand
  bool may_miss = false;         ///< all operands without a default, and the results, may be missing
  bool plain_written = false;    ///< operands that are written may not be missing
};

/// Makes the call of one prototype out of it.
variant make_variant(const kernel_text &text, const prototype &function, layout_kind kind, const default_use &defaults,
                     const module_model &model);

/// Finds the sizes of a variant, and its signature.
void find_sizes(variant &v, const kernel_text &text);

/// An expression's len(x), shape(x, 0) and the like are of arrays among the arguments, and of axes that these have;
/// else a problem: with an argument, or without a name with the kernel; at the place, where the expression has none.
void check_functions(const expression &e, const variant &v, place at, const std::string &kernel,
                     const std::string &argument_name);

/// Orders the arguments with values so that each comes after those it needs; a problem where there is a cycle.
std::vector<const argument *> evaluation_order(const variant &v);

[[noreturn]] void wrong(place at, const std::string &kernel, const std::string &argument, const std::string &why);

} // namespace kernelgen

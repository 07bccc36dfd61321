// The configuration file as text: sections, keys, values, each with its place.
//
// The format is that of Python's configparser: `key = value` or `key: value`, keys in any case, indented lines go on
// with the value, `#` and `;` begin comment lines, `%%` is a percent sign, `%(key)s` the value of another key. Of keys
// only this is known here: the values of some are C, in which `;` and `#define` begin no comments.
#pragma once

#include <optional>

#include "kernelgen/source.h"

namespace kernelgen {

struct config_entry {
  std::string key; ///< in lower case
  place at;
  std::vector<text_line> lines;          ///< the value; empty lines are left out
  std::string text() const;              ///< the lines, with line ends between them
  std::vector<std::string> code() const; ///< the lines of C, indented among each other as they are
};

struct config_section {
  std::string kind, name; ///< of [KERNEL ddot]: KERNEL, ddot
  place at;
  std::vector<config_entry> entries;
  const config_entry *find(std::string_view key) const;
};

struct config {
  std::vector<std::unique_ptr<source_file>> files;
  std::vector<config_section> sections;
};

config read_config(const std::string &path);

/// `yes`, `no`, `true`, `false`, `on`, `off`, `1`, `0`; of an empty value, `no`.
bool read_bool(const config_entry &entry);

} // namespace kernelgen

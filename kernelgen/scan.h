// From real headers to a configuration: libclang reads the declarations, a guess is made for every function.
#pragma once

#include <map>
#include <optional>

#include "kernelgen/source.h"

namespace kernelgen {

struct scan_options {
  std::vector<std::string> headers;
  std::vector<std::string> match, exclude; ///< regular expressions for the whole name
  std::vector<std::string> include_dirs;
  std::string module, output, library, prefix;
  bool guess = false;      ///< all functions must be guessed; else those that are not are marked
  bool threadsafe = false; ///< what is written of it
};

/// A parameter as a header has it.
struct scanned_parameter {
  std::string name, spelling; ///< spelling: the type
  std::string base;           ///< the type without pointers and const
  std::string element;        ///< what the library calls it, or nothing
  int pointers = 0;           ///< arrays included
  bool is_const = false, is_function = false;
  std::vector<long long> extents;
};

struct scanned_function {
  std::string name, comment, file;
  int line = 0;
  std::vector<scanned_parameter> parameters;
  scanned_parameter result; ///< without a name
  bool is_variadic = false;
};

struct scanned_header {
  std::vector<scanned_function> functions;
  std::vector<std::string> others;             ///< declarations that are no functions, and why they are skipped
  std::map<std::string, std::string> typemaps; ///< names of the library's own types
};

/// A comment of C or Doxygen as plain text.
std::string comment_text(const std::string &raw);

/// Reads the headers; a header that does not compile is a problem.
scanned_header read_headers(const scan_options &options);

/// The lists of a [KERNEL] section, and what a person has to decide.
struct kernel_guess {
  std::vector<std::string> input, inplace, output, hide;
  std::string returns;
  std::vector<std::string> open;   ///< questions
  std::optional<std::string> skip; ///< why it cannot be wrapped at all
};
kernel_guess guess_kernel(const scanned_function &f);

/// The whole: the configuration as text, with what was there before in `options.output`; what was skipped, and why.
std::string scan(const scan_options &options, std::vector<std::string> &skipped);

} // namespace kernelgen

// Text that a person has written: where a piece of it is, and what is wrong with it.
//
// Every piece that is read keeps its place, so that every error shows file, line, column and a caret.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {

struct source_file {
  std::string path;
  std::vector<std::string> lines;
};

/// Line and column count from 1; 0 where there is none.
struct place {
  const source_file *file = nullptr;
  int line = 0, column = 0;
};

/// A line, or the rest of one, of a value.
struct text_line {
  std::string text;
  place at;
};

/// Something that is wrong. `what()` has the place, the message, the line and a caret.
class problem : public std::runtime_error {
public:
  problem(place at, const std::string &message);
  explicit problem(const std::string &shown) : std::runtime_error(shown) {} ///< several, as `show` makes them
  place at;
  std::string message; ///< without the place; empty of several
};

/// `file:line:column: kind: message`, and the line with a caret.
std::string show(place at, std::string_view kind, const std::string &message);

/// Reads a file; a problem without a place where that fails.
std::unique_ptr<source_file> read_source(const std::string &path);

// ---- small functions on text
// -----------------------------------------------------------------------------------------

std::string trimmed(std::string_view text);
std::string lowered(std::string_view text);
std::string joined(const std::vector<std::string> &parts, std::string_view between);
bool is_name(std::string_view text); ///< an identifier of C
std::string quoted_c(std::string_view text);

/// Splits at commas and ends of lines that are in no brackets and no quotes; what is empty is left out.
std::vector<text_line> split_list(const std::vector<text_line> &lines);

} // namespace kernelgen

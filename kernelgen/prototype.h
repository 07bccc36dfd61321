// C declarations: tokens with their places, and the prototypes of functions.
#pragma once

#include "kernelgen/source.h"

namespace kernelgen {

struct token {
  enum kind_t { name, number, text, character, sign, end } kind;
  std::string spelling;
  place at;
};

/// The tokens of C, without comments; the last one is `end`. What is between backquotes is one token, a text.
std::vector<token> read_tokens(const std::vector<text_line> &lines);

/// A type: `const double *`, `unsigned int`, `T (*)[3]`.
struct c_type {
  std::string base;      ///< without qualifiers, its words in one order: "unsigned long", "struct point"
  bool is_const = false; ///< what is pointed to, or the value, is const
  bool is_volatile = false;
  int pointers = 0;                 ///< an array in a parameter is a pointer
  std::vector<std::string> extents; ///< of array declarators; empty texts where there is none: `a[]`
  bool is_decayed = false;          ///< written as an array: its first extent is that of the pointer
  bool is_function = false;         ///< a pointer to a function
  std::string before, after;        ///< a declaration is before + name + after
  std::string declare(const std::string &name) const;
};

struct parameter {
  std::string name;
  c_type type;
  place at;
};

struct prototype {
  std::string name;
  c_type result;
  std::vector<parameter> parameters;
  place at;
  std::string text() const; ///< as C, without the semicolon
};

/// Reads prototypes that are separated by semicolons or line ends.
std::vector<prototype> parse_prototypes(const std::vector<text_line> &lines);

/// Whether it is a word of C's own types.
bool is_type_word(std::string_view word);

/// The words of a type in the order that `c_type::base` has: "long unsigned int" is "unsigned long".
std::string canonical_type(const std::vector<std::string> &words);

} // namespace kernelgen

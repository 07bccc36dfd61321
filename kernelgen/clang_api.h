// The few functions of libclang that scan needs, found when it runs: its C interface is stable, so that its structures
// are declared here and none of its headers is needed.
#pragma once

#include <string>

namespace kernelgen {

struct clang_string {
  const void *data;
  unsigned flags;
};
struct clang_cursor {
  int kind, extra;
  const void *data[3];
};
struct clang_type {
  int kind;
  void *data[2];
};
struct clang_location {
  const void *data[2];
  unsigned number;
};
struct clang_unsaved {
  const char *name, *contents;
  unsigned long length;
};
using clang_index = void *;
using clang_unit = void *;
using clang_file = void *;
using clang_diagnostic = void *;
using clang_visitor = int (*)(clang_cursor cursor, clang_cursor parent, void *data);

enum { cursor_struct = 2, cursor_field = 6, cursor_function = 8, cursor_variable = 9, cursor_macro = 501 };
enum {
  type_pointer = 101,
  type_record = 105,
  type_enum = 106,
  type_function = 111,
  type_constant_array = 112,
  type_incomplete_array = 114
};
enum { visit_continue = 1 };
enum { parse_macros = 1, parse_no_bodies = 0x40 };

// clang-format off
#define KERNELGEN_CLANG(entry) \
  entry(clang_index, createIndex, (int, int)) \
  entry(void, disposeIndex, (clang_index)) \
  entry(int, parseTranslationUnit2, (clang_index, const char *, const char *const *, int, clang_unsaved *, unsigned, unsigned, clang_unit *)) \
  entry(void, disposeTranslationUnit, (clang_unit)) \
  entry(clang_cursor, getTranslationUnitCursor, (clang_unit)) \
  entry(unsigned, visitChildren, (clang_cursor, clang_visitor, void *)) \
  entry(clang_string, getCursorSpelling, (clang_cursor)) \
  entry(const char *, getCString, (clang_string)) \
  entry(void, disposeString, (clang_string)) \
  entry(clang_type, getCursorType, (clang_cursor)) \
  entry(clang_type, getCursorResultType, (clang_cursor)) \
  entry(int, Cursor_getNumArguments, (clang_cursor)) \
  entry(clang_cursor, Cursor_getArgument, (clang_cursor, unsigned)) \
  entry(clang_string, getTypeSpelling, (clang_type)) \
  entry(clang_type, getPointeeType, (clang_type)) \
  entry(clang_type, getCanonicalType, (clang_type)) \
  entry(clang_type, getArrayElementType, (clang_type)) \
  entry(unsigned, isConstQualifiedType, (clang_type)) \
  entry(unsigned, isFunctionTypeVariadic, (clang_type)) \
  entry(clang_location, getCursorLocation, (clang_cursor)) \
  entry(void, getExpansionLocation, (clang_location, clang_file *, unsigned *, unsigned *, unsigned *)) \
  entry(clang_string, getFileName, (clang_file)) \
  entry(clang_string, Cursor_getRawCommentText, (clang_cursor)) \
  entry(unsigned, getNumDiagnostics, (clang_unit)) \
  entry(clang_diagnostic, getDiagnostic, (clang_unit, unsigned)) \
  entry(int, getDiagnosticSeverity, (clang_diagnostic)) \
  entry(clang_string, formatDiagnostic, (clang_diagnostic, unsigned)) \
  entry(void, disposeDiagnostic, (clang_diagnostic)) \
  entry(clang_cursor, getTypeDeclaration, (clang_type)) \
  entry(clang_type, getEnumDeclIntegerType, (clang_cursor)) \
  entry(long long, getArraySize, (clang_type)) \
  entry(unsigned, Cursor_isMacroFunctionLike, (clang_cursor))
// clang-format on

/// The functions, without clang_ before their names.
struct clang_api {
#define KERNELGEN_DECLARE(result, name, parameters) result(*name) parameters;
  KERNELGEN_CLANG(KERNELGEN_DECLARE)
#undef KERNELGEN_DECLARE

  std::string text(clang_string s) const {
    const char *c = getCString(s);
    std::string made = c ? c : "";
    disposeString(s);
    return made;
  }
};

/// Opens libclang once: DYND_LIBCLANG, or the newest one that the system has; a problem where there is none.
const clang_api &load_clang();

} // namespace kernelgen

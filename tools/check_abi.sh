#!/bin/sh
# The frozen C ABI, compiled from its headers alone, without a warning, as C11 and as C++: sizes, offsets and enum values
# are asserted (tests/abi/layout.c: a change is a compile error), and the inline builder and frame are run
# (tests/abi/builder.c), and in C11 what wrappers share (tests/abi/arguments.c).
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
strict="-Wall -Wextra -Werror -I ."
check() { # compiler and language
  "$@" -pedantic $strict -fsyntax-only tests/abi/layout.c
  # Not pedantic: that a kernel's function is a void * is what POSIX has and ISO C has not.
  "$@" $strict -O1 -o "$folder/builder" tests/abi/builder.c
  "$folder/builder"
}
check "${CC:-gcc}" -std=c11
for standard in 11 17 20; do
  check "${CXX:-g++}" -std=c++$standard -x c++
done
"${CC:-gcc}" -std=c11 $strict -O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error -o "$folder/arguments" \
  tests/abi/arguments.c
"$folder/arguments"
echo "the ABI has its layout, its builder and its frame, in C11 and in C++ 11, 17 and 20"

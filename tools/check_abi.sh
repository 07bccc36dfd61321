#!/bin/sh
# Compiles the layout tests of the frozen C ABI, as C11 and as C++20: sizes, offsets and enum values are asserted.
# Nothing is run: a change of layout is a compile error.
set -eu
cd "$(dirname "$0")/.."
for file in tests/abi/*.c; do
  ${CC:-gcc} -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I . "$file"
  ${CXX:-g++} -std=c++20 -pedantic -Wall -Wextra -Werror -fsyntax-only -I . -x c++ "$file"
done
echo "the ABI has its layout, in C11 and in C++20"

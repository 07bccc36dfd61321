#!/bin/sh
# Checks (or with --fix makes) the format of all tracked C and C++ sources by .clang-format. Tables (.def) are laid out
# by hand.
set -eu
cd "$(dirname "$0")/.."
mode="--dry-run --Werror"
[ "${1:-}" = --fix ] && mode=-i
git ls-files -z '*.h' '*.c' '*.cpp' | xargs -0 -r -n 20 -P "$(nproc)" clang-format $mode

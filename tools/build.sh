#!/bin/sh
# Configures a preset where that is needed, and builds it with some jobs. Quiet, so that errors stand out. Without
# targets it builds everything. The tests become part of a build folder when they are first asked for: a folder without
# them needs no GoogleTest.
# Usage: tools/build.sh release 2 [target...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=$2
shift 2
folder=build/$preset
configure() { cmake --preset "$preset" "$@" >/dev/null; }
has_tests() { grep -q '^DYND_TESTS:BOOL=ON' "$folder/CMakeCache.txt" 2>/dev/null; }

[ -e "$folder/build.ninja" ] || echo "build: $folder with $jobs job(s), the first time takes minutes"
case "${*:-dynd_tests}" in
*dynd_tests*) has_tests || configure -DDYND_TESTS=ON ;;
*) [ -e "$folder/build.ninja" ] || configure -DDYND_TESTS=OFF ;;
esac
[ "$folder/build.ninja" -nt CMakePresets.json ] || configure
cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet

#!/bin/sh
# Configures a preset where that is needed, and builds it with some jobs. Quiet, so that errors stand out. Without
# targets it builds everything. The tests become part of a build folder when they are first asked for: a folder without
# them needs no GoogleTest. So do the loops for other CPUs: LEVELS=native starts a folder with those for this one.
# Usage: [LEVELS=native] tools/build.sh release 2 [target...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=$2
shift 2
folder=build/$preset
configure() { cmake --preset "$preset" "$@" >/dev/null; }
cached() { grep -q "^$1\$" "$folder/CMakeCache.txt" 2>/dev/null; }

[ -e "$folder/build.ninja" ] || echo "build: $folder with $jobs job(s), the first time takes minutes"
levels=all
[ "${LEVELS:-all}" = all ] || cached DYND_LEVELS:STRING=all || levels=$LEVELS
tests=ON
case "${*:-dynd_tests}" in
*dynd_tests*) ;;
*) cached DYND_TESTS:BOOL=ON || tests=OFF ;;
esac
cached "DYND_LEVELS:STRING=$levels" && cached "DYND_TESTS:BOOL=$tests" ||
  configure "-DDYND_LEVELS=$levels" "-DDYND_TESTS=$tests"
[ "$folder/build.ninja" -nt CMakePresets.json ] || configure
cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet

#!/bin/sh
# Configures a preset where that is needed, and builds it with some jobs. Quiet, so that errors stand out.
# Usage: tools/build.sh release 2 [target...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=$2
shift 2
[ -e "build/$preset/build.ninja" ] || echo "build: build/$preset with $jobs job(s), the first time takes minutes"
[ "build/$preset/build.ninja" -nt CMakePresets.json ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet

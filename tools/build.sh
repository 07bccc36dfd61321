#!/bin/sh
# Configures a preset where that is needed, and builds it with some jobs. Quiet, so that errors stand out.
# Usage: tools/build.sh release 2
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=$2
[ "build/$preset/build.ninja" -nt CMakePresets.json ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" -j "$jobs" -- --quiet

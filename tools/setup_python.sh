#!/bin/sh
# Makes .venv with the packages of the given sets (tools/requirements/<set>.txt), and lets it import dynd from python/.
# Instant when nothing has changed: each set has a stamp in .venv, named by the hash of its requirements.
# Usage: tools/setup_python.sh demo [test] [bench]
set -eu
cd "$(dirname "$0")/.."
new=
stamps=
for set in "$@"; do
  stamp=.venv/.$set-$( (cat "tools/requirements/$set.txt"; pwd) | sha256sum | cut -c1-16)
  [ -e "$stamp" ] || { new="$new -r tools/requirements/$set.txt"; stamps="$stamps $stamp"; }
done
[ -n "$new" ] || exit 0

echo "setup: Python packages into .venv:$(echo "$new" | sed 's| -r tools/requirements/| |g; s|\.txt||g')"
[ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check $new
echo "$PWD/python" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dynd.pth"
for stamp in $stamps; do
  rm -f "${stamp%-*}"-* # of the requirements before
  touch "$stamp"
done

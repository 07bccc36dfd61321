#!/bin/sh
# Makes .venv with the packages of tools/requirements.txt, and lets it import dynd from python/.
# Instant when the requirements have not changed: their hash is the name of a stamp in .venv.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.requirements-$( (cat tools/requirements.txt; pwd) | sha256sum | cut -c1-16)
[ -e "$stamp" ] && exit 0

echo "setup: Python packages into .venv"
[ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r tools/requirements.txt
echo "$PWD/python" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dynd.pth"
rm -f .venv/.requirements-*
touch "$stamp"

#!/bin/sh
# Installs the Debian (or Ubuntu) packages that building and testing need; does nothing when all are there.
# `--check` adds what `make check` wants. Says what it installs; asks for sudo only when not root.
set -eu
packages="cmake ninja-build g++ binutils python3-dev python3-venv libtbb-dev libfmt-dev libgtest-dev"
[ "${1:-}" = --check ] && packages="$packages clang-format"

installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $packages 2>/dev/null | sed -n 's/^ii *//p' || true)
missing=
for package in $packages; do
  echo "$installed" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "setup: installing Debian packages:$missing"
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
$sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
echo "setup: installed"

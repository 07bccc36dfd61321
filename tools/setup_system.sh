#!/bin/sh
# Installs the Debian (or Ubuntu) packages of the given sets; does nothing when all are there. Says what it installs;
# asks for sudo only when not root.
# Usage: tools/setup_system.sh [python] [demo] [test] [bench] [accuracy] [check]
set -eu
packages=
for set in "$@"; do
  case $set in
  python) packages="$packages python3-venv" ;; # what tools/setup_python.sh needs
  demo) packages="$packages cmake ninja-build g++ libpython3-dev libtbb-dev" ;;
  test) # the libraries that examples/kernelgen/ wraps, and libclang, which reads their headers
    packages="$packages libgtest-dev libmpfr-dev binutils gfortran libclang1 libopenblas-dev liblapacke-dev libgsl-dev"
    packages="$packages libfftw3-dev zlib1g-dev" ;;
  accuracy) packages="$packages libmpfr-dev" ;;
  bench) ;;
  check) packages="$packages clang-format" ;;
  *) echo "setup: no set '$set' of packages" >&2; exit 2 ;;
  esac
done

installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $packages 2>/dev/null | sed -n 's/^ii *//p' || true)
missing=
for package in $packages; do
  echo "$installed" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "setup: installing Debian packages:$missing"
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
# The lists of a minute ago, which the call before this one got, will do.
lists=$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' 2>/dev/null | head -n 1)
[ -n "$lists" ] && [ -n "$(find /var/lib/apt/lists -maxdepth 0 -mmin -5)" ] ||
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
echo "setup: installed"

#!/bin/sh
# The units compiled for one CPU level may show their tables and nothing else: a weak (inline) function compiled for
# AVX-512 that the linker keeps for everybody crashes elsewhere, and so does an initialiser that runs at load.
# Usage: tools/check_levels.sh build/release
set -eu
failed=0
count=0
for object in "$1"/CMakeFiles/dynd_level_*.dir/dynd/ops/level_unit.cpp.o; do
  [ -e "$object" ] || continue
  count=$((count + 1))
  level=${object#*dynd_level_}
  level=${level%%.dir*}
  tables="level_table_$level"
  [ "$level" = baseline ] && tables="$tables|strided_[a-z]+"
  # Lower case is local, except u (unique); everything else must be data (D, R, B) with the name of a table.
  wrong=$(nm -C --defined-only "$object" |
    grep -E '^[0-9a-f]* [A-Zu] |_GLOBAL__sub_I_|__cxx_global_var_init' |
    grep -vE "^[0-9a-f]* [DRB] dynd::(detail::)?($tables)\$" || true)
  if [ -n "$wrong" ]; then
    failed=1
    echo "$level: must show its table only, nothing weak, nothing that runs at load; but has:"
    echo "$wrong" | head -40
  fi
done
[ $failed = 0 ] && echo "$count CPU levels show their tables only"
exit $failed

#!/bin/sh
# The units compiled for one ISA level may show their tables and nothing else: a weak (inline) function compiled for
# AVX-512 that the linker keeps for everybody crashes elsewhere, and so does an initialiser that runs at load. And they
# may call nothing but what the compiler makes calls of: a function of libm has other bits on another system. At the
# baseline that includes the fused product in software, whose bits are its definition.
# Usage: tools/check_isa_levels.sh build/release
set -eu
failed=0
count=0
for object in "$1"/CMakeFiles/dynd_isa_*.dir/dynd/ops/units/*.cpp.o; do
  [ -e "$object" ] || continue
  count=$((count + 1))
  level=${object#*dynd_isa_}
  level=${level%%.dir*}
  tables="[a-z0-9_]+_$level"
  # Lower case is local, except u (unique); everything else must be data (D, R, B) with the name of a table.
  wrong=$(nm -C --defined-only "$object" |
    grep -E '^[0-9a-f]* [A-Zu] |_GLOBAL__sub_I_|__cxx_global_var_init' |
    grep -vE "^[0-9a-f]* [DRB] dynd::detail::($tables)\$" || true)
  if [ -n "$wrong" ]; then
    failed=1
    echo "$object: must show its tables only, nothing weak, nothing that runs at load; but has:"
    echo "$wrong" | head -40
  fi
  allowed='memcpy|memmove|memset|memcmp'
  [ "$level" != baseline ] || allowed="$allowed|fma|fmaf|__popcountdi2"
  called=$(nm --undefined-only "$object" | awk '{ print $2 }' | grep -vxE "$allowed|_GLOBAL_OFFSET_TABLE_" || true)
  if [ -n "$called" ]; then
    failed=1
    echo "$object: must call nothing outside, but calls:" $called
  fi
done
[ $count != 0 ] || { echo "no units in $1"; exit 1; }
[ $failed = 0 ] && echo "$count units show their tables only and call nothing outside"
exit $failed

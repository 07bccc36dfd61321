"""Plug-ins in C that tests build."""

import os
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")

#: What the small plug-ins below have in common: an identity for int32, which each registers in its own wrong way.
COMMON = """
#include <stdio.h>
#include <string.h>
#include "dynd/abi/plugin.h"

static int same(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                const ckernel_prefix *self, dynd_frame *frame) {
  (void)self, (void)frame;
  for (size_t i = 0; i < count; i++)
    memcpy(dst + i * dst_stride, src[0] + i * src_stride[0], 4);
  return dynd_ok;
}

static inline intptr_t put(ckernel_builder_struct *out, intptr_t offset, void *function) {
  intptr_t end = offset + (intptr_t)sizeof(ckernel_prefix);
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end)) return dynd_error_memory;
  ((ckernel_prefix *)(out->data + offset))->function = function;
  return end;
}

static intptr_t make_same(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                          const dynd_bind *bind) {
  (void)self, (void)bind;
  return put(out, offset, (void *)same);
}

static inline deferred_ckernel kernel_named(const char *name) {
  deferred_ckernel k = {sizeof(deferred_ckernel), DYND_ABI_VERSION, expr_operation_funcproto_id, 0, name,
                        "(int32) -> int32", "Its operand.", NULL, make_same, NULL, NULL, NULL, NULL};
  return k;
}
static deferred_ckernel kernel, other;
"""


def build(folder, name, source, common=COMMON):
    file = folder / f"{name}.c"
    file.write_text(common + textwrap.dedent(source))
    library = folder / f"{name}.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-O1", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "-I", str(ROOT), "-o", str(library), str(file)], check=True)
    return library

"""DYND_CPU_LEVEL holds for all contenders: imported before NumPy, which chooses its loops when it is imported."""

import os

LEVEL = os.environ.get("DYND_CPU_LEVEL", "")
# What a compiler of loops may use.
ARCH = {"baseline": "x86-64-v2", "avx2": "x86-64-v3"}.get(LEVEL, "native")

# What NumPy may not use; of the names it ignores those that it does not know, or cannot leave out.
_ABOVE_AVX2 = "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
_ABOVE_BASELINE = f"X86_V3 AVX F16C FMA3 AVX2 {_ABOVE_AVX2}"
if LEVEL in ("baseline", "avx2"):
    os.environ["NPY_DISABLE_CPU_FEATURES"] = _ABOVE_AVX2 if LEVEL == "avx2" else _ABOVE_BASELINE

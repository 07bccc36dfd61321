"""Broken configurations: dynd-kernelgen says what is wrong, or takes them; it never ends by a signal."""
import random

import pytest

import kernelgen_support
from kernelgen_configs import CONFIG, STRUCTS

PIECES = ["(", ")", "[", "]", "*", ",", "=", ":", "\n", "`", "'", '"', "const ", "len(", "shape(x, 99999999999999999999)", "%(x)s",
          "${", "-", "/ 0", "n", "input: ", "[KERNEL x]", "=>", "{", "}", "\t", "é", "...", "struct ", "999999999999999999999", "/*"]


def broken(text, rng):
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        kind = rng.randrange(3)
        if kind == 0:
            text = text[:at] + text[at + rng.randint(1, 6):]
        elif kind == 1:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        else:
            other = rng.randrange(len(text))
            text = text[:at] + text[other:other + rng.randint(1, 30)] + text[at:]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_broken_configurations(seed, tmp_path):
    rng = random.Random(seed)
    whole = (CONFIG if seed % 2 else STRUCTS).format(functions="f.c", types="", declarations="")
    for _ in range(60):
        config = tmp_path / "broken.cfg"
        config.write_text(broken(whole, rng))
        code, said, errors = kernelgen_support.run("generate", config, "-o", "-")
        assert code in (0, 1), config.read_text()
        assert said if code == 0 else "error: " in errors and ":" in errors, errors


@pytest.mark.parametrize("value", ["(" * 100000, "-" * 100000, "x" * 100000, "[" * 1000, "min(" * 50000])
def test_deep_nesting(value, tmp_path):
    config = kernelgen_support.write(tmp_path, f"[MODULE m]\n[KERNEL f]\nprototypes: double f(int n, const double *x)\ninput: x(n)\nhide: n = {value}\n")
    assert kernelgen_support.run("check", config)[0] in (0, 1)
    config = kernelgen_support.write(tmp_path, f"[MODULE m]\n[KERNEL f]\nprototypes: double f(int {'(*' * 50000}n)\ninput: n\n")
    assert kernelgen_support.run("check", config)[0] == 1

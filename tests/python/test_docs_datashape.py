"""The examples of docs/datashape.md are run."""
import re
from pathlib import Path

import pytest

from dynd import nd, ndt

PAGE = Path(__file__).parents[2] / "docs" / "datashape.md"


def blocks(kind):
    """The code blocks of that language."""
    parts = PAGE.read_text().split("```")[1::2]
    return [p.partition("\n")[2] for p in parts if p.partition("\n")[0] == kind]


def examples():
    for block in blocks("python"):
        for part in re.split(r"^>>> ", block, flags=re.M)[1:]:
            source, _, output = part.partition("\n")
            yield source, output.rstrip("\n")


def test_examples():
    names = {"nd": nd, "ndt": ndt}
    checked = 0
    for source, output in examples():
        if not output:
            exec(source, names)
            continue
        try:
            shown = repr(eval(source, names))
        except Exception as e:
            shown = f"{type(e).__name__}: {e}"
        assert shown == output, source
        checked += 1
    assert checked > 10


@pytest.mark.parametrize("line", [line for line in blocks("")[-1].splitlines() if line])
def test_signatures_are_canonical(line):
    assert str(ndt.type(line)) == line

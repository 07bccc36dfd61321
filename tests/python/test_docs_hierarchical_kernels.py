"""The examples of docs/hierarchical_kernels.md are run."""
import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "hierarchical_kernels.md"


def test_examples():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=report.append)
    assert len(test.examples) > 20 and runner.failures == 0, "".join(report)

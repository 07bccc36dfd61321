"""The examples of docs/hierarchical_kernels.md are run."""
import doctest

from documents import BLOCK, ROOT

PAGE = ROOT / "docs/hierarchical_kernels.md"


def test_examples():
    blocks = [text for language, text in BLOCK.findall(PAGE.read_text()) if language == "python"]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=report.append)
    assert len(test.examples) > 20 and runner.failures == 0, "".join(report)

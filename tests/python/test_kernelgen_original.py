"""Files as the original's own tests have them: scalars with every intent, with and without a value, and mixed layouts.
What the numbers are is in the reference's table of intents."""
import numpy as np
import pytest

import kernelgen_support
from dynd import nd

FUNCTIONS = """
void nothing(long a) { a += 10; }
void add_ten(long *a) { *a += 10; }
long plus_twenty(long a) { return a + 20; }
long ten_and_thirty(long *a) { *a += 10; return *a + 20; }
long corners(long n, long *a, long *b) { return a[n - 1] + 10 * b[n * (n - 1)]; }
"""
PROTOTYPES = {"value": "void nothing(long   a);", "pointer": "void add_ten(long*   a);", "value_return": "long plus_twenty(long   a);",
              "pointer_return": "long ten_and_thirty(long *  a);"}
INTENTS = ["input", "inplace", "inout", "input_output", "inplace_output", "inout_output", "output", "hide"]


def configuration(source):
    text = f"""
[MODULE test_original]
typemaps:
\tlong: int64
sources:
\t{source}
prefix: old_
kinds: Xnd
ellipses: none, ...
"""
    for form, prototype in PROTOTYPES.items():
        for intent in INTENTS:
            for name, value in (("", ""), ("_value", " = 5")):
                first, *second = intent.split("_")
                text += f"\n[KERNEL {form}{name}_{intent}]\nprototypes:\n\t{prototype}\ndescription: d\n{first}: a{value}\n"
                text += "output: a\n" if second else ""
    for name, kinds, fortran in (("CF", "Xnd", "b"), ("FC", "Xnd", "a"), ("CC", "C, Xnd", ""), ("FF", "Fortran, Xnd", "a, b")):
        text += (f"\n[KERNEL corners_{name}]\nkinds: {kinds}\nprototypes:\n\t   long corners(long n, long* a, long* b);\n"
                 f"inout: a(n, n), b(n,n)\nhide: n = len(a)\n" + (f"fortran: {fortran}\n" if fortran else ""))
    return text


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original")
    (folder / "functions.c").write_text(FUNCTIONS)
    config = kernelgen_support.write(folder, configuration(folder / "functions.c"))
    code, _, errors = kernelgen_support.run("build", config, "-o", folder / "plugin.so", "--flag=-Werror")
    assert code == 0 and "note: kernel value_input: nothing gives no result and changes no argument" in errors
    nd.load(folder / "plugin.so")


@pytest.mark.parametrize("intent", INTENTS)
@pytest.mark.parametrize("form", PROTOTYPES)
@pytest.mark.parametrize("value", [0, 5])
def test_scalars(form, intent, value):
    f = getattr(nd, f"old_{form}{'_value' if value else ''}_{intent}")
    given = intent not in ("output", "hide")
    changes = form.startswith("pointer")
    for start in ([3, None] if given and value else [3] if given else [None]):
        array = nd.array(start, type="?int64" if value else "int64", access="rw") if given else None
        before = value if start is None else start
        after = before + 10 if changes else before
        expected = ([after] if intent.endswith("output") else []) + ([after + 20] if form.endswith("return") else [])
        made = f(array) if given else f()
        results = [] if made is None else [r.tolist() for r in made] if isinstance(made, tuple) else [made.tolist()]
        assert results == expected
        if given:
            writes = changes and not intent.startswith("input")
            assert array.tolist() == (after if writes else start)


@pytest.mark.parametrize("intent", [i for i in INTENTS if i not in ("output", "hide")])
@pytest.mark.parametrize("form", PROTOTYPES)
def test_scalars_over_rows(form, intent):
    made = getattr(nd, f"old_{form}_{intent}")(nd.array([[1], [2, 3]], type="strided * var * int64", access="rw"))
    assert (made is None) == (not form.endswith("return") and not intent.endswith("output"))


def test_mixed_layouts():
    m = np.arange(9).reshape(3, 3)
    for name in ("CC", "CF", "FC", "FF"):
        f = getattr(nd, f"old_corners_{name}")
        a, b = (np.array(m, order=order) for order in name)
        in_memory = [x.ravel(order) for x, order in zip((a, b), name)]
        assert f(nd.asarray(a), nd.asarray(b)).tolist() == in_memory[0][2] + 10 * in_memory[1][6]
        with pytest.raises(ValueError, match="argument a must be .-contiguous, as it is inout"):
            f(nd.asarray(np.array(m, order="F" if name[0] == "C" else "C")), nd.asarray(b))

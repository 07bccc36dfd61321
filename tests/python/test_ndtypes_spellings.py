"""What ndtypes (and Blaze) write for types that are here too: accepted, refused, matched, as there. docs/datashape.md has
the list of what is refused on purpose."""
import itertools

import pytest

from dynd import ndt

ELEMENTS = {
    "Any": "Any", "ScalarKind": "Scalar", "SignedKind": "Int", "UnsignedKind": "UInt", "FloatKind": "Float",
    "ComplexKind": "Complex", "Signed": "Int", "Unsigned": "UInt", "Scalar": "Scalar", "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "float16", "float32": "float32", "float64": "float64", "complex64": "complex64",
    "complex128": "complex128", "intptr": "int64", "uintptr": "uint64", "string": "string", "bytes": "bytes", "Up": "Up",
    "fixed_string(100)": "fixed_string[100]", "fixed_string(100, 'utf8')": "fixed_string[100]", "fixed_bytes(size=16)": "fixed_bytes[16]",
    "fixed_string[1]": "fixed_string[1]", "fixed_bytes[ 16 ]": "fixed_bytes[16]", "fixed_bytes(3)": "fixed_bytes[3]",
    "pointer(Any)": "pointer[Any]", "ref(Any)": "pointer[Any]", "ref({a: string, b: N * float64})": "pointer[{a: string, b: N * float64}]",
    "(...)": "(...)", "(Any)": "(Any)", "(Any, )": "(Any)", "(int64, int64, Any)": "(int64, int64, Any)", "(Any, ...)": "(Any, ...)",
    "{...}": "{...}", "{a : Any}": "{a: Any}", "{x : int64, a : Any, }": "{x: int64, a: Any}", "{a : int64, ...}": "{a: int64, ...}",
    "{'a b' : int8, \"c'd\" : int8, 'e\\'f' : int8}": "{\"a b\": int8, \"c'd\": int8, \"e'f\": int8}",
    "<int64": "int64", "=float32": "float32", "|uint8": "uint8", ">int8": "int8", ">float64": "byteswap[float64]",
    ">complex64": "byteswap[complex64]", "option(int8)": "?int8",
}
DIMENSIONS = {
    "": "", "10 *": "10 * ", "2395344366*": "2395344366 * ", "N * M *": "N * M * ", "var * var *": "var * var * ",
    "... *": "... * ", "10 * ... *": "10 * ... * ", "Dims... * N *": "Dims... * N * ", "var... *": "var... * ",
    "fixed... *": "fixed... * ", "fixed *": "fixed * ", "fixed(shape=10) *": "10 * ", "fixed(10) * L *": "10 * L * ",
    "var * N_I1 * ... * 20 *": "var * N_I1 * ... * 20 * ", "# sizes\n3 # three\n *": "3 * ",
}
SIGNATURES = {
    "(...)-> Any": "(...) -> Any", "()->(...)": "() -> (...)", "(Any, )-> Any": "(Any) -> Any", "()->(Any, )": "() -> (Any)",
    "()->(int64, Any)": "() -> (int64, Any)", "(Any, ...) -> Any": "(Any, ...) -> Any", "() -> ()": "() -> void",
    "(...) -> ()": "(...) -> void", "(int32) -> void": "(int32) -> void", "(x: int64, a: Any, ...) -> Any": "(x: int64, a: Any, ...) -> Any",
    "(int32, scale : float64, color : float64) -> int32": "(int32, scale: float64, color: float64) -> int32",
    "(a : ref({b : int8, c : (int8, int16) -> float64})) -> int8": "(a: pointer[{b: int8, c: (int8, int16) -> float64}]) -> int8",
    "void -> T": "() -> T", "T -> T": "(T) -> T", "M*N*T, N*P*T -> M*P*T": "(M * N * T, N * P * T) -> M * P * T",
    "Dims... *M*N*T, Dims... *N*P*T -> Dims... *M*P*T": "(Dims... * M * N * T, Dims... * N * P * T) -> Dims... * M * P * T",
    "... * N * int64, ... * int64 -> ... * N * int64": "(... * N * int64, ... * int64) -> ... * N * int64",
    "var * var * (int32, float64), int32 -> var * var * int32": "(var * var * (int32, float64), int32) -> var * var * int32",
    "int64 -> int64, string": "(int64) -> (int64, string)", "10 * (Any) -> Any": "10 * (Any) -> Any",
}


@pytest.mark.parametrize("dims, canonical_dims", DIMENSIONS.items(), ids=str)
def test_accepted(dims, canonical_dims):
    for element, canonical in ELEMENTS.items():
        for option in ("", "?"):
            if option and canonical.startswith("?"):
                continue
            t = ndt.type(f"{dims} {option}{element}")
            assert str(t) == f"{canonical_dims}{option}{canonical}" and ndt.type(str(t)) == t


def test_accepted_signatures():
    for text, canonical in SIGNATURES.items():
        assert str(ndt.type(text)) == canonical and ndt.type(canonical) == ndt.type(text)


#: without a meaning here, or of types that are not here
REFUSED = [
    "char", "char('utf8')", "FixedString", "10 * FixedStringKind", "fixed_string", "fixed_string(100, 'utf16')", "fixed_string(size=3)", "fixed_string[N]",
    "fixed_bytes", "fixed_bytes[3", "fixed_bytes[size=3]", "fixed_string[1.5]", "fixed_string[-1]",
    "bytes(align=16)", "FixedBytesKind", "?FixedBytes", "fixed_bytes(size=16, align=4)", "categorical(63, 'a')",
    "CategoricalKind", "complex32", "bfloat16", "defined_t", "X(Any)", "Matrix(3 * 2 * float64)", "[A: int8 | B: string]",
    "()", "{}", "{x: int64, x: int64}", "(x: int64, x: int64) -> int64", "(..., a : int64, ...) -> int8", "(Any, ..., a : Any) -> Any",
    "fixed(shape=10, order='F') * int32", "fixed(shape=10, step=2) * int32", "var(offsets=[0,10]) * float64",
    "!2 * 3 * float64", "C[2 * 3 * float64]", "... * F[N * M * float64]", "(float32 |pack=2|, uint8)",
    "{x : float32 |align=16|}", "(float32, uint8, pack=2)", "array * int64", "array of int64", "??int64", "?option(int8)",
    ">string", "<T", "=Any", "> * int8", "... * ... * int8",
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    with pytest.raises(TypeError, match="^datashape: .* at line 1, column [0-9]+\n.*\n *\\^$"):
        ndt.type(text)


def test_damaged_text_is_refused():
    whole = ["{}Fixed * Any", "{}10 * N * T", "{}10 * 10 * var * int8", "{}10 * ... * {{a: Any}}", "{}fixed[212] * (int8, Any)"]
    count = 0
    for text in whole:
        plain = text.format("")
        stars = [i for i, c in enumerate(plain) if c == "*"]
        damaged = [text.format(c) for c in ("$", "=", "?$", "?=", "*", ",", "]")]
        damaged += [plain + c for c in ("$", "]", ")", "*", "->", ", , int8")]
        damaged += [f"$[{plain}]", f"xxx[{plain}]", f"?[{plain}$", f"({plain}", f"{{{plain}}}", f"{{x {plain}}}"]
        damaged += [plain[:i] + c + plain[i + 1:] for i, c in itertools.product(stars, "$=,:?|")]
        for bad in damaged:
            count += 1
            with pytest.raises(TypeError, match="^datashape: "):
                ndt.type(bad)
    assert count > 100


#: pattern, type, whether it matches. In ndtypes a variable for a dimension takes no ragged one, and functions match
#: nothing; "..." at the end of a tuple or struct matches nothing there.
MATCHES = [
    ("7 * Any", "7 * int64", 1), ("7 * Any", "8 * int64", 0), ("N * N * 7 * Any", "4 * 4 * 7 * float64", 1),
    ("N * M * N * Any", "4 * 4 * 7 * float64", 0), ("N * M * P * Any", "... * 4 * 7 * complex128", 0),
    ("L * Any", "L * (int64, float64)", 0), ("L * Any", "4 * (int64, float64)", 1), ("4 * L * Any", "9 * 4 * {a: int8}", 0),
    ("var * int64", "4 * int64", 0), ("4 * Any", "var * int64", 0), ("... * Any", "... * int64", 0), ("... * Any", "2 * 3 * int8", 1),
    ("... * 3 * Any", "2 * 2 * 3 * int64", 1), ("... * 2 * N * Any", "9 * 9 * 2 * 5 * int8", 1), ("... * N * 2 * Any", "9 * 9 * int8", 0),
    ("... * N * N * Any", "4 * 2 * 2 * int8", 1), ("Any", "4 * int64", 1), ("?Any", "?Any", 0), ("?Any", "?int64", 1), ("?Any", "int64", 0),
    ("4 * Scalar", "4 * (int8)", 0), ("Scalar", "string", 1), ("Scalar", "bytes", 1), ("Scalar", "fixed_bytes[3]", 1), ("Text", "fixed_string[3]", 1), ("Text", "fixed_bytes[3]", 0),
    ("fixed_string[3]", "fixed_string[4]", 0), ("{n: T, ...}", "{n: fixed_string[4], x: int8}", 1), ("?T", "?fixed_string[4]", 1), ("?Scalar", "?uint64", 1), ("Scalar", "?uint64", 0),
    ("complex128", "bool", 0), ("4 * Signed", "4 * int32", 1), ("4 * Signed", "4 * Signed", 0), ("?int8", "?Signed", 0),
    ("Unsigned", "uint16", 1), ("Unsigned", "int16", 0), ("uint32", "uint8", 0), ("?uint16", "?int16", 0), ("Float", "Float", 0),
    ("Float", "float16", 1), ("Complex", "complex64", 1), ("Complex", "float64", 0), ("ref(Any)", "ref(Any)", 0),
    ("4 * ref(Any)", "4 * ref(float64)", 1), ("(...)", "(...)", 0), ("{...}", "{...}", 0), ("(Any)", "(float64)", 1), ("?(Any)", "?(int8)", 1),
    ("(int64, Any)", "(int64, string)", 1), ("(int64, Any)", "(int64)", 0), ("{a: Any}", "{a: float64}", 1), ("{a: Any}", "{b: float64}", 0),
    ("{a: Any, x: int8}", "{x: int8, a: float64}", 0), ("4 * Up", "4 * bytes", 1), ("D... * N * T", "int64", 0), ("D... * T", "int64", 1),
    ("Dims... * 2 * 3 * int8", "3 * int8", 0), ("Dims... * 2 * 3 * int8", "4 * 2 * 3 * int8", 1), ("A... * float64", "float64", 1),
    ("(A * T, B * T, C * T, A * T)", "(B * int8, C * int8, 3 * int8, 3 * int8)", 0), ("(M * N * T, N * P * T)", "(2 * 3 * int8, 3 * 4 * int8)", 1),
    ("... * N * Z * N * T", "1 * 2 * 3 * 4 * 3 * int8", 1), ("... * N * Z * N * T", "1 * 2 * 3 * 4 * 5 * int8", 0),
    ("... * N * Z * N * T", "A * 2 * 3 * 1 * A * int8", 0), ("... * N * Z * 1 * N * Z * T", "9 * 1 * 2 * 1 * 1 * 2 * int8", 1),
    ("var... * int64", "var * var * int64", 1), ("var... * int64", "int64", 1), ("var... * int64", "3 * int64", 0), ("var * int64", "int64", 0),
    ("var * int64", "var * int64", 1), ("var * var * int64", "var * int64", 0), ("var * var * int8", "var * var * var * int8", 0),
    ("int64", ">int64", 0), (">int64", ">int64", 1), ("T", "T", 0), ("N * int64", "N * int64", 0),
]


def test_matches():
    wrong = [row for row in MATCHES if bool(ndt.type(row[1]).match(row[0])) != bool(row[2])]
    assert not wrong


#: inputs of a signature, and what it gives
CALLS = [
    ("T -> T", ["int64"], "int64"), ("M*N*T, N*P*T -> M*P*T", ["2 * 3 * int8", "3 * 4 * int8"], "2 * 4 * int8"),
    ("M*N*T, N*P*T -> M*P*T", ["2 * 3 * int8", "2 * 4 * int8"], None), ("M*N*T, N*P*T -> M*P*T", ["2 * 3 * int8", "3 * 4 * int16"], None),
    ("D... *M*N*T, D... *N*P*T -> D... *M*P*T", ["9 * 2 * 3 * int8", "9 * 3 * 4 * int8"], "9 * 2 * 4 * int8"),
    ("D... *M*N*T, D... *N*P*T -> D... *M*P*T", ["3 * int8", "3 * 4 * int8"], None), ("D... * M*T, D... * N*T -> D... * M*T", ["2 * 3 * int8", "3 * 3 * int8"], None),
    ("D... * int64 -> D... * int64", ["2 * 3 * int64"], "2 * 3 * int64"), ("var... * int64 -> var... * int64", ["2 * 3 * int64"], None),
    ("V... * var * int64 -> V... * var * int64", ["var * var * int64"], "var * var * int64"),
]


@pytest.mark.parametrize("signature, operands, result", CALLS)
def test_signatures_match_operands(signature, operands, result):
    pattern = ndt.type(signature)
    given = ndt.type(f"({', '.join(operands)})")
    wanted = ndt.type(f"({', '.join(str(p[1]) for p in pattern.parameters)})")
    found = given.match(wanted)
    assert bool(found) == (result is not None)
    if result:
        assert pattern.result.substitute(found) == ndt.type(result)

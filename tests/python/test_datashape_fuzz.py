"""Datashape from thousands of random texts: what parses prints as itself and matches itself; what does not has a caret."""
import pickle
import random

import pytest

from dynd import ndt

NUMBERS = ["bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64", "complex128"]
FAMILIES = ["Scalar", "Number", "Int", "UInt", "Float", "Complex", "Real", "Bool", "Text", "Any", "ScalarKind",
            "SignedKind", "UnsignedKind", "FloatKind", "ComplexKind", "Signed", "Unsigned"]
DIMS = ["3", "0", "strided", "var", "fixed(4)", "fixed[5]", "fixed(shape=6)"]
PATTERN_DIMS = ["N", "M", "Dims...", "...", "var...", "fixed...", "fixed"]
TOKENS = ["*", ",", ":", "->", "...", "(", ")", "{", "}", "[", "]", "?", "=", '"a b"', '"', "-1", "1e5", "2.5", "x", "T",
          "inout", "void", "#c\n", "é", "\0", "\t", "99999999999999999999", "int", "fixed", "option", "pointer", "N"]


class Grammar:
    """Texts by the rules of docs/datashape.md."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def space(self):
        return self.r.choice(["", "", " ", "  ", "\n", " # note\n"])

    def joined(self, parts):
        text = (self.space() + "," + self.space()).join(parts)
        return text + ("," if parts and self.r.random() < 0.2 else "")

    def name(self):
        return self.r.choice(["x", "y_1", "Zed", '"two words"', '"\\u00e9\\n"', "int", "N"])

    def element(self, depth, pattern):
        kinds = ["number"] * 4 + ["text"] + (["struct", "tuple", "option", "pointer"] if depth else [])
        kind = self.r.choice(kinds + (["variable", "family", "named"] if pattern else []))
        if kind == "number":
            return self.r.choice(NUMBERS)
        if kind == "text":
            return self.r.choice(["string", "bytes"])
        if kind == "variable":
            return self.r.choice("TUV")
        if kind == "family":
            return self.r.choice(FAMILIES)
        if kind == "named":
            return f"{self.r.choice(FAMILIES[:9])} {self.r.choice('TUV')}"
        if kind == "option":
            own = self.r.choice(NUMBERS + ["string"])
            return self.r.choice([f"?{own}", f"option[{own}]", f"option({own})", f"? {own}"])
        if kind == "pointer":
            return f"pointer[{self.whole(depth - 1, pattern)}]"
        parts = [self.whole(depth - 1, pattern) for _ in range(self.r.randint(1, 3))]
        if kind == "tuple":
            return f"({self.joined(parts + (['...'] if pattern and self.r.random() < 0.3 else []))})".replace("...,)", "...)")
        names = [self.name() for _ in parts]
        fields = [f"{n}{self.space()}:{self.space()}{p}" for n, p in dict(zip(names, parts)).items()]
        return f"{{{self.joined(fields)}}}"

    def whole(self, depth, pattern):
        dims = [self.r.choice(DIMS) for _ in range(self.r.choice([0, 0, 1, 2, 3]))]
        if pattern and self.r.random() < 0.6:
            dims.insert(self.r.randint(0, len(dims)), self.r.choice(PATTERN_DIMS))
        return (self.space() + "*" + self.space()).join(dims + [self.element(depth, pattern)])

    def signature(self):
        operands = [self.whole(1, True) for _ in range(self.r.randint(0, 3))]
        operands = [f"a{i}: {t}" if self.r.random() < 0.4 else t for i, t in enumerate(operands)]
        if self.r.random() < 0.4:
            operands += ["*", self.r.choice(["k: int64 = 3", "f: float64 = -1.5e3", 's: string = "x\\ty"', "o: ?int8 = None",
                                             "b: bool = True", "n: float32 = nan", "m: uint8"])]
        result = self.r.choice(["void", self.whole(1, True), f"({self.whole(0, True)}, {self.whole(0, True)})"])
        return f"({', '.join(operands)}){self.space()}->{self.space()}{result}"


@pytest.mark.parametrize("seed", range(8))
def test_what_the_grammar_makes_parses(seed):
    grammar = Grammar(seed)
    for _ in range(500):
        for text in (grammar.whole(3, False), grammar.whole(3, True), grammar.signature()):
            t = ndt.type(text)
            assert ndt.type(str(t)) == t and str(ndt.type(str(t))) == str(t), text
            assert hash(ndt.type(str(t))) == hash(t) and pickle.loads(pickle.dumps(t)) == t
            if t.variables:
                assert not t.match(t) and "it has variables itself" in t.match(t).why
                assert ndt.type(t.substitute({})) == t


@pytest.mark.parametrize("seed", range(8))
def test_every_type_matches_what_says_less(seed):
    grammar = Grammar(seed)
    for _ in range(400):
        own, pattern = ndt.type(grammar.whole(2, False)), ndt.type(grammar.whole(2, True))
        assert own.match(own) and own.match("Any") and own.match("... * Any") and own.match("Dims... * Any")
        found = own.match(pattern)
        if found:
            assert set(found) == set(pattern.variables)
            put_in = pattern.substitute(found)
            assert not put_in.variables and own.match(put_in)
        else:
            assert found.why.startswith(f"{own} does not match {pattern}: ") and len(found.why) > len(f"{own}{pattern}") + 19


@pytest.mark.parametrize("seed", range(8))
def test_broken_texts_have_a_caret(seed):
    grammar, r = Grammar(seed), random.Random(seed)
    refused = 0
    for _ in range(1200):
        text = r.choice([grammar.whole(3, True), grammar.signature()])
        for _ in range(r.randint(1, 3)):
            at = r.randint(0, len(text))
            cut = min(len(text), at + r.choice([0, 0, 1, 2, 5]))
            text = text[:at] + r.choice(["", " " + r.choice(TOKENS) + " ", r.choice(TOKENS)]) + text[cut:]
        try:
            t = ndt.type(text)
        except (TypeError, ValueError, OverflowError) as e:
            lines = str(e).split("\n")
            assert lines[0].startswith("datashape: "), (text, e)
            assert len(lines) == 3 and lines[2].strip() == "^" and len(lines[2]) <= len(lines[1]) + 1, (text, e)
            refused += 1
        else:
            assert ndt.type(str(t)) == t, text
    assert refused > 600

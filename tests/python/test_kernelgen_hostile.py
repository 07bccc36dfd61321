"""Configurations that mean harm, or mean well and are wrong: an error, or the right numbers; never code that compiles to
something else."""

import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kernelgen_support
from dynd import nd
from kernelgen_support import problems

HEAD = "[MODULE m]\n[KERNEL f]\n"
PROTOTYPE = "prototypes: double f(int n, const double *x)\n"

CASES = {
    "a constant that is too large": (PROTOTYPE + "input: x(k)\nhide: n = 5000000000\n", "its value 5000000000 is none that int can have"),
    "a constant that is negative": ("prototypes: double f(unsigned char n)\nhide: n = -1\n", "its value -1 is none that unsigned char can have"),
    "a default that is too large": ("prototypes: double f(short n)\ninput: n = 40000\n", "its value 40000 is none that short can have"),
    "a constant that is no integer": (PROTOTYPE + "input: x(k)\nhide: n = 2.5\n", "its value 2.5 is no whole number"),
    "a constant with an exponent": (PROTOTYPE + "input: x(k)\nhide: n = -1e3\n", "is no whole number"),
    "octal": (PROTOTYPE + "input: x(k)\nhide: n = 010\n", "begins with 0 is octal in C"),
    "an octal size": ("prototypes: void f(double *r)\noutput: r(010)\n", "begins with 0 is octal in C"),
    "a quotient that overflows": ("prototypes: void f(double *r)\noutput: r((-9223372036854775807 - 1) / -1)\n", "it overflows, or is divided by zero"),
    "a sign that overflows": ("prototypes: void f(double *r)\noutput: r(-(-9223372036854775807 - 1))\n", "it overflows, or is divided by zero"),
    "a division by zero": ("prototypes: void f(double *r)\noutput: r(3 % 0)\n", "divided by zero"),
    "an axis of 20 digits": (PROTOTYPE + "input: x(k)\nhide: n = shape(x, 99999999999999999999)\n", "shape takes an argument and the number of an axis"),
    "a cycle of hidden sizes": ("prototypes: double f(double *a, double *b)\nhide: a(len(b)), b(len(a))\n", "depends on itself: a -> b -> a"),
    "a cycle of values": ("prototypes: double f(int n, int m)\nhide: n = m + 1, m = n - 1\n", "depends on itself: n -> m -> n"),
    "a result of its own size": ("prototypes: void f(double *r)\noutput: r(len(r))\n", "depends on itself"),
    "an input sized by an output": ("prototypes: void f(int *n, double *x)\noutput: n\ninput: x(n)\n", "which is known after the call only"),
    "dimensions that contradict the prototype": ("prototypes: double f(const double a[3])\ninput: a(4)\n", "contradicts the prototype, which has [3]"),
    "a free size where the prototype has one": ("prototypes: double f(const double a[3])\ninput: a(n)\n", "contradicts the prototype, which has [3]"),
    "rows that contradict the prototype": ("prototypes: double f(double (*a)[3])\ninput: a(2, 4)\n", "contradicts the prototype, which has [3]"),
    "dimensions that the prototype has not": ("prototypes: double f(double (*a)[3])\ninput: a(3)\n", "it has 1 dimensions, and the prototype 2"),
    "a name of the wrapper": ("prototypes: double f(const double *x, int x_size)\ninput: x(n), x_size\n", "the wrapper has a variable of this name, of x"),
    "a name of the library": ("prototypes: double f(double dynd_call)\ninput: dynd_call\n", "the wrapper has another meaning for this name"),
    "the name of the function": ("prototypes: double f(double f)\ninput: f\n", "the wrapper has another meaning for this name"),
    "a struct that is none": ("prototypes: double f(void *p)\ninput: p\ntypes: p: {x: float64,, y}\n", "expected a struct of numbers"),
    "an array type of old that is none": (PROTOTYPE + "input: x(n)\nhide: n\narraytypes: sym\n", "and is symbolic or variable"),
    "skipping in a matrix": (PROTOTYPE + "input: x(n, 3)\nhide: n\nmissing: skip\n", "`missing = skip` is for values and rows"),
    "a stride of scratch": ("prototypes: double f(double *w, long s)\nkinds: Strided\nhide: w(3), s = stride(w, 0)\n", "w is hidden, and has no gaps"),
    "code in a message of the parser": (PROTOTYPE + "input: x(n), *\nhide: n\n", "kernel f: expected the name of an argument"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_can_be_known_when_it_is_generated(case, tmp_path):
    text, message = CASES[case]
    said = problems(tmp_path, HEAD + text)
    assert message in said and "kernel f" in said and "^" in said and said.startswith("test.cfg:"), said


@pytest.mark.parametrize("kind, bits", [("signed char", 8), ("short", 16), ("int", 32), ("unsigned char", 8), ("unsigned short", 16), ("unsigned int", 32)])
def test_constants_at_the_ends_of_their_types(kind, bits, tmp_path):
    least = 0 if kind.startswith("unsigned") else -(2 ** (bits - 1))
    text = HEAD + f"prototypes: double f({kind} n, double x)\ninput: x\nhide: n = "
    for value in (least, least + 2**bits - 1):
        code, _, errors = kernelgen_support.run("check", kernelgen_support.write(tmp_path, text + f"{value}\n"))
        assert code == 0, errors
    for value in (least - 1, least + 2**bits):
        assert f"its value {value} is none that {kind} can have" in problems(tmp_path, text + f"{value}\n")


TYPES = {
    "a struct with other fields": ("typedef struct { double x, z; } point;", "{x: float64, y: float64}", "no member named"),
    "a struct of other sizes": ("typedef struct { float x, y; } point;", "{x: float64, y: float64}", "typemaps: point is not"),
    "a struct of other kinds": ("typedef struct { long x, y; } point;", "{x: float64, y: float64}", "typemaps: point is not"),
    "a struct in another order": ("typedef struct { int y; double x; } point;", "{x: float64, y: int32}", "typemaps: point is not"),
    "a struct with more fields": ("typedef struct { double x, y, z; } point;", "{x: float64, y: float64}", "typemaps: point is not"),
    "a packed struct": ("typedef struct __attribute__((packed)) { char x; double y; } point;", "{x: int8, y: float64}", "typemaps: point is not"),
    "a struct inside": ("typedef struct { struct { short a; } p; double y; } point;", "{p: {a: int32}, y: float64}", "typemaps: point is not"),
}


@pytest.mark.parametrize("case", TYPES)
def test_structs_are_compared_with_those_of_c(case, tmp_path):
    declared, element, message = TYPES[case]
    config = kernelgen_support.write(tmp_path, f"[MODULE m]\ntypemaps: point: {element}\nheader_code: {declared}\n    double f(point p);\n"
                                               "[KERNEL f]\nprototypes: double f(point p)\ninput: p\n")
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "x.so")
    assert code == 1 and message in errors


PROTOTYPES = {
    "a narrower result": ("int hypot(double x, double y)", "input: x, y"),
    "an argument of another type": ("double hypot(float x, double y)", "input: x, y"),
    "an argument less": ("double hypot(double x)", "input: x"),
    "a pointer to another type": ("double frexp(double x, long *e)", "input: x\noutput: e"),
    "const where the header has none": ("double frexp(double x, const int *e)", "input: x, e"),
}


@pytest.mark.parametrize("case", PROTOTYPES)
def test_prototypes_are_compared_with_those_of_the_header(case, tmp_path):
    prototype, lists = PROTOTYPES[case]
    config = kernelgen_support.write(tmp_path, f"[MODULE m]\nincludes: <math.h>\n[KERNEL wrong]\nprototypes: {prototype}\n{lists}\n")
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "x.so")
    assert code == 1 and "test.cfg:4:" in errors and "kernel wrong: what is generated of it does not compile" in errors and "^" in errors
    assert not (tmp_path / "x.so").exists()


def test_code_is_c_as_it_is(tmp_path):
    """Semicolons and directives at the beginning of a line are no comments; percent signs and quotes are C's."""
    nd.load(kernelgen_support.build(tmp_path, """
        [MODULE code]
        prefix: code_
        header_code:
            #define THREE 3
            # a comment of the configuration
            static int last(int n) {
              while (n-- > 0)
                ;
              return n;
            }
            #ifdef THREE
            static int rest(int a, int b) { return a %(b) + THREE; }
            #endif
            static int letter(int a, char c) { return a + c; }
        [KERNEL last]
        prototypes: int last(int n)
        input: n
        [KERNEL rest]
        prototypes: int rest(int a, int b)
        input: a, b
        [KERNEL letter]
        prototypes: int letter(int a, char c)
        input: a
        hide: c = ','
        before: ;
        """))
    assert (nd.code_last(5).tolist(), nd.code_rest(7, 4).tolist(), nd.code_letter(1).tolist()) == (-1, 6, 1 + ord(","))


def test_sizes_that_differ_in_brackets_only(tmp_path):
    nd.load(kernelgen_support.build(tmp_path, """
        [MODULE brackets]
        header_code: static void brackets(int m, int n, double *a, double *b) { (void)m, (void)n, (void)a, (void)b; }
        [KERNEL brackets]
        prototypes: void brackets(int m, int n, double *a, double *b)
        input: m, n
        output: a(-(m - n)), b(-m - n)
        """))
    assert [r.shape for r in nd.brackets(-3, 1)] == [(4,), (2,)]


# ---- sizes of random expressions, in exact integers ---------------------------------------------------------------------

class Wrong(Exception):
    pass


def checked(value):
    if not -2 ** 63 <= value < 2 ** 63:
        raise Wrong
    return value


def divided(a, b):
    if b == 0:
        raise Wrong
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATORS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": divided,
             "%": lambda a, b: a - b * divided(a, b), "<": lambda a, b: int(a < b), "==": lambda a, b: int(a == b)}


def shifted(sign, a, b):
    if a < 0 or not 0 <= b <= 62:
        raise Wrong
    return a << b if sign == "<<" else a >> b


def expression(rng, depth):
    """(C, a function of the variables)"""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.7:
            name = rng.choice(["m", "n", "len(x)", "u"])
            return name, lambda v: checked(v[name])
        number = rng.choice([0, 1, 2, 3, 7, 100, 2 ** 31, 2 ** 62])
        return str(number), lambda v: number
    (a, fa), (b, fb), (c, fc) = (expression(rng, depth - 1) for _ in range(3))
    kind = rng.choice([*OPERATORS] * 2 + ["min", "max", "?", "-", "<<", ">>"])
    if kind in ("min", "max"):
        return f"{kind}({a}, {b})", lambda v: (min if kind == "min" else max)(fa(v), fb(v))
    if kind == "?":
        return f"(({a}) ? ({b}) : ({c}))", lambda v: fb(v) if fa(v) else fc(v)
    if kind == "-" and rng.random() < 0.5:
        return f"-({a})", lambda v: checked(-fa(v))
    if kind in ("<<", ">>"):
        return f"({a}) {kind} ({b})", lambda v: checked(shifted(kind, fa(v), fb(v)))
    return f"(({a}) {kind} ({b}))", lambda v: checked(OPERATORS[kind](fa(v), fb(v)))


def wrapped_expressions(folder, rng, count):
    text = ("[MODULE sizes]\nprefix: size_\nthreadsafe: yes\nheader_code:\n    static long size_of(int m, long n, unsigned long u, const double *x, long size) "
            "{ (void)m, (void)n, (void)u, (void)x; return size; }\n")
    made = []
    while len(made) < count:
        c, function = expression(rng, 3)
        section = (f"[KERNEL s{len(made)}]\nprototypes: long size_of(int m, long n, unsigned long u, const double *x, long size)\n"
                   f"input: m, n, u, x(k)\nhide: size = {c}\n")
        try:
            constant = function({})
        except (KeyError, Wrong):
            constant = None
        if constant is None and not any(name in c for name in ("m", "n", "u")):
            continue  # a constant that is wrong is refused before
        config = kernelgen_support.write(folder, "[MODULE sizes]\n" + section)
        code, _, errors = kernelgen_support.run("check", config)
        if code:
            assert "overflows, or is divided by zero" in errors, errors  # a constant inside of it
            continue
        text += section
        made.append((c, function))
    return text, made


@pytest.mark.parametrize("seed", range(2))
def test_random_sizes(seed, tmp_path):
    rng = random.Random(seed)
    text, made = wrapped_expressions(tmp_path, rng, 12)
    nd.load(kernelgen_support.build(tmp_path, text.replace("prefix: size_", f"prefix: size{seed}_")))
    for i, (c, function) in enumerate(made):
        f = getattr(nd, f"size{seed}_s{i}")
        for _ in range(25):
            m = rng.choice([0, 1, -1, 5, -2 ** 31, 2 ** 31 - 1, rng.randint(-9, 9)])
            n = rng.choice([0, 1, -1, 62, 2 ** 62, -2 ** 63, 2 ** 63 - 1, rng.randint(-99, 99)])
            u = rng.choice([0, 1, 3, 2 ** 63, 2 ** 64 - 1])
            k = rng.randint(0, 5)
            try:
                expected = function({"m": m, "n": n, "u": u, "len(x)": k})
            except Wrong:
                with pytest.raises(OverflowError, match="cannot have"):
                    f(m, n, np.uint64(u), np.ones(k))
                continue
            assert f(m, n, np.uint64(u), np.ones(k)).tolist() == expected, (c, m, n, u, k)


# ---- what is known when it is called ------------------------------------------------------------------------------------

RUN = """
[MODULE run]
prefix: run_
typemaps: point: {{x: float64, y: float64}}
header_code:
    #include <stdlib.h>
    #include <math.h>
    typedef struct {{ double x, y; }} point;
    static int made_of_shared;
    static void swap(int n, double *x, double *y) {{ for (int i = 0; i < n; i++) {{ double t = x[i]; x[i] = y[i]; y[i] = t; }} }}
    static void add_to(int n, const double *x, double *y) {{ for (int i = 0; i < n; i++) y[i] += x[i]; }}
    static void fill(double size, double *r) {{ r[0] = size; }}
    static double mean(int n, const double *x) {{ double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s / n; }}
    static double weighted(int n, const double *x, const double *w, double by, double *r) {{
      double s = 0;
      for (int i = 0; i < n; i++) {{ s += x[i] * w[i]; r[i] = x[i] * by; }}
      return s;
    }}
    static double root(double x) {{ return sqrt(x); }}
    static int *new_counter(void) {{ made_of_shared++; return calloc(1, sizeof(int)); }}
    static double counted(int *counter, double made) {{ ++*counter; return made + made_of_shared; }}
    static int nothing(void *p, int n) {{ (void)p; return n; }}
    static double big(long N, double *r) {{ r[0] = (double)N; return 0; }}

[RESOURCE counter]
type: int *
make: new_counter()
release: free(counter)
scope: kernel

[RESOURCE never]
type: void *
make: NULL
release: (void)never

[KERNEL swap]
prototypes: void swap(int n, double *x, double *y)
inplace: x(n), y(n)
hide: n

[KERNEL add_to]
prototypes: void add_to(int n, const double *x, double *y)
input: x(n)
inplace: y(n)
hide: n

[KERNEL fill]
prototypes: void fill(double size, double *r)
input: size
output: r(size + 0.5)

[KERNEL mean]
prototypes: double mean(int n, const double *x)
input: x(n)
hide: n
missing: skip

[KERNEL mean_refuse]
prototypes: double mean(int n, const double *x)
input: x(n)
hide: n
missing: refuse

[KERNEL root_refuse]
prototypes: double root(double x)
input: x
missing: refuse
errors: isnan(result) => value: no root of {{x}}

[KERNEL root]
prototypes: double root(double x)
input: x

[KERNEL weighted]
prototypes: double weighted(int n, const double *x, const double *w, double by, double *r)
input: x(n), w(n), by
output: r(n)
hide: n
missing: skip

[KERNEL counted]
prototypes: double counted(int *counter, double made)
resources: counter
input: made
hide: counter = counter
threadsafe: yes

[KERNEL nothing]
prototypes: int nothing(void *p, int n)
resources: never
input: n
hide: p = never

[KERNEL big]
prototypes: double big(long N, double *r)
input: N
output: r(N)
return: hide
"""


@pytest.fixture(scope="module", autouse=True)
def run_kernels(tmp_path_factory):
    nd.load(kernelgen_support.build(tmp_path_factory.mktemp("run"), RUN.format(), "run"))


def test_written_arguments_that_overlap():
    x = np.arange(6.0)
    for first, second in [(x, x), (x[:4], x[2:]), (x, x[::-1])]:
        with pytest.raises(ValueError, match="are written and share memory"):
            nd.run_swap(nd.asarray(first[:4]), nd.asarray(second[:4]))
    assert x.tolist() == list(range(6))
    nd.run_swap(nd.asarray(x[:3]), nd.asarray(x[3:]))
    assert x.tolist() == [3, 4, 5, 0, 1, 2]


def test_a_written_argument_that_overlaps_one_that_is_read():
    x = np.arange(5.0)
    with pytest.raises(ValueError, match="run_add_to: .* is written and shares memory with .*, which is read: give a copy"):
        nd.run_add_to(nd.asarray(x[:4]), nd.asarray(x[1:]))
    assert x.tolist() == list(range(5))
    table = np.arange(12.0).reshape(4, 3)                              # columns have no element in common
    nd.run_add_to(nd.asarray(table[:, 0]), nd.asarray(table[:, 2]))
    assert table.tolist() == [[0, 1, 2], [3, 4, 8], [6, 7, 14], [9, 10, 20]]
    with pytest.raises(ValueError, match="which is read"):
        nd.run_add_to(nd.asarray(table[:, 1]), nd.asarray(table[:, 1]))


@pytest.mark.parametrize("size", [float("nan"), float("inf"), 1e30, -1e30, -2.0])
def test_sizes_from_floating_point_numbers(size):
    assert nd.run_fill(3.0).tolist() == [3, 0, 0]
    with pytest.raises(ValueError, match="the size size \\+ 0.5 of a result is (too large|negative)"):
        nd.run_fill(size)


def test_an_operand_with_the_name_of_a_size():
    assert nd.run_big([2, 1]).tolist() == [[2, 0], [1]]


def test_missing_values_are_refused_or_skipped_or_propagated():
    rows = nd.array([[1.0, None, 3.0], [None], [4.0], []])
    with pytest.raises(ValueError, match="run_mean_refuse: operand 0 has a missing value"):
        nd.run_mean_refuse(rows)
    assert nd.run_mean_refuse(rows[2:3]).tolist() == [4]
    means = nd.run_mean(rows).tolist()
    assert means[0] == 2 and means[2] == 4 and np.isnan(means[1]) and np.isnan(means[3])
    assert nd.run_mean([[1.0, 2.0], [6.0]]).tolist() == [1.5, 6]
    with pytest.raises(ValueError, match="missing"):
        nd.run_root_refuse(nd.array([4.0, None]))
    with pytest.raises(ValueError, match=r"run_root_refuse: no root of -0.25 at index \(1,\)"):
        nd.run_root_refuse([4.0, -0.25])
    assert nd.run_root(nd.array([4.0, None])).tolist() == [2, None]


def test_skipping_in_several_rows():
    x, w = nd.array([[1.0, None, 3.0, 4.0], [5.0]]), nd.array([[1.0, 1.0, None, 10.0], [2.0]])
    made, sums = nd.run_weighted(x, w, 2.0)
    assert (made.tolist(), sums.tolist()) == ([[2, None, None, 8], [10]], [41, 10])
    made, sums = nd.run_weighted(x, w, nd.array([None, 3.0]))
    assert (made.tolist(), sums.tolist()) == ([[None] * 4, [15]], [None, 10])
    made, sums = nd.run_weighted(x[:, ::-1], w[:, ::-1], 2.0)
    assert (made.tolist(), sums.tolist()) == ([[8, None, None, 2], [10]], [41, 10])


def test_a_resource_of_the_kernel_is_made_once():
    made = nd.run_counted(np.zeros(200000))
    assert set(made.tolist()) == {1}


def test_a_resource_that_cannot_be_made():
    with pytest.raises(MemoryError, match="never could not be made"):
        nd.run_nothing(1)


@pytest.mark.parametrize("type, most", [
    ("int8", 2**7 - 1), ("uint8", 2**8 - 1), ("int16", 2**15 - 1), ("uint16", 2**16 - 1), ("int32", 2**31 - 1),
    ("uint32", 2**32 - 1), ("int64", 2**63 - 1), ("uint64", 2**63 - 1),
])  # fmt: skip
def test_a_hidden_number_that_its_type_cannot_have_is_refused(tmp_path, monkeypatch, type, most):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = tmp_path / "ranges.cfg"
    config.write_text(f"""[MODULE ranges_{type}]
header_code = static double hidden_{type}({type}_t m, int64_t n) {{ (void)n; return (double)m; }}
[KERNEL hidden_{type}]
prototypes = double hidden_{type}({type}_t m, int64_t n)
input = n
hide = m = n + 0
""")
    f = getattr(nd.wrap(str(config)), f"hidden_{type}")
    least = 0 if type[0] == "u" else -most - 1
    assert f([most, least]).tolist() == [float(most), float(least)]
    for n in [n for n in (most + 1, least - 1) if -(2**63) <= n < 2**63]:  # n itself is an int64
        with pytest.raises(OverflowError, match=f"m = .* is {n}, which {type}_t cannot have"):
            f(n)


@pytest.mark.parametrize("sign", ["/", "%"])
def test_the_least_size_divided_by_minus_one_is_refused(tmp_path, monkeypatch, sign):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name = {"/": "divided", "%": "rest"}[sign]
    config = tmp_path / "divided.cfg"
    config.write_text(f"""[MODULE m_{name}]
header_code = static double {name}(int64_t a, int64_t b, int64_t n) {{ (void)a; (void)b; return (double)n; }}
[KERNEL {name}]
prototypes = double {name}(int64_t a, int64_t b, int64_t n)
input = a, b
hide = n = a {sign} b
""")
    code = f"""
        from dynd import nd
        f = nd.wrap({str(config)!r}).{name}
        for b in (-1, 0):
            try: print(f(-2**63 if b else 1, b))
            except OverflowError: print("refused")
    """
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert made.stdout == "refused\nrefused\n", made

"""What is wrong with a configuration: every message names file, line, kernel and argument, with a caret."""
import pytest

import kernelgen_support
from kernelgen_support import problems

HEAD = "[MODULE m]\ntypemaps: double: float64\n\n[KERNEL f]\n"
PROTOTYPE = "prototypes: double f(int n, const double *x)\n"

CASES = {
    "a missing intent": (PROTOTYPE + "input: x(n)\n", "5:26: error: kernel f, argument n: it has no intent"),
    "an unknown argument": (PROTOTYPE + "input: x(n), y\nhide: n\n", "6:14: error: kernel f, argument y: no prototype"),
    "an unknown key": (PROTOTYPE + "input: x(n)\nhide: n\ninptu: x\n", "8:1: error: kernel f: there is no key `inptu`"),
    "intents that exclude each other": (PROTOTYPE + "input: x(n)\ninout: x\nhide: n\n", "several intents that exclude"),
    "an argument twice": (PROTOTYPE + "input: x(n), x(n)\nhide: n\n", "6:14: error: kernel f, argument x: it is in `input` twice"),
    "no bracket": (PROTOTYPE + "input: x(n\nhide: n\n", "expected `)`"),
    "a cycle": (PROTOTYPE + "input: x(k)\nhide: n = n + 1\n", "argument n: its value depends on itself: n -> n"),
    "an output without a size": ("prototypes: void f(double *r)\noutput: r(k)\n",
                                 "6:11: error: kernel f, argument r: its size has `k`, which is no argument"),
    "a negative size": ("prototypes: void f(double *r)\noutput: r(2 - 3)\n", "its size 2 - 3 is negative"),
    "a size that overflows": ("prototypes: void f(double *r)\noutput: r(99999999999 * 99999999999)\n", "overflows"),
    "a size that is too large": ("prototypes: void f(double *r)\noutput: r(99999999999999999999)\n", "the number is too large"),
    "a size that is known too late": ("prototypes: void f(int *n, double *r)\noutput: n, r(n)\n", "known after the call only"),
    "a hidden size without a value": ("prototypes: void f(int n, double *r)\nhide: n\noutput: r(n)\n",
                                      "argument r: its size is `n`, which is hidden and has no value"),
    "len of no array": (PROTOTYPE + "input: x(k)\nhide: n = len(z)\n", "len of `z`, which is no array"),
    "an axis that is not there": (PROTOTYPE + "input: x(k)\nhide: n = shape(x, 1)\n", "x has 1 dimensions, and no axis 1"),
    "stride of a dense array": (PROTOTYPE + "input: x(k)\nhide: n = stride(x, 0)\n", "stride is for functions of the kind Strided"),
    "dimensions of a value": ("prototypes: double f(double x)\ninput: x(n)\n", "it has dimensions, and the function takes one value"),
    "other dimensions in another list": (PROTOTYPE + "input: x(n)\noutput: x(m)\nhide: n\n", "it has other dimensions in line 6"),
    "varargs": ("prototypes: int f(const char *a, ...)\ninput: a\n", "5:34: error: kernel f: a function with a variable number of arguments"),
    "a body": ("prototypes: int f(int a) { return a; }\ninput: a\n", "expected a prototype, not a function with a body"),
    "no prototype": ("prototypes: int f\ninput: a\n", "expected the prototype of a function"),
    "no type": ("prototypes: f(int a)\ninput: a\n", "error"),
    "a C++ default": ("prototypes: int f(int a = 2)\ninput: a\n", "C has no default arguments"),
    "a struct without a name at the end": ("prototypes: struct\ninput: a\n", "5:19: error: kernel f: expected a name after `struct`"),
    "an enum without a name": ("prototypes: int f(const enum)\ninput: a\n", "5:29: error: kernel f: expected a name after `enum`"),
    "a union with a body": ("prototypes: int f(union { int i; } a)\ninput: a\n", "expected a name after `union`"),
    "two parameters of a name": ("prototypes: int f(int a, int a)\ninput: a\n", "two parameters are called `a`"),
    "an unknown type": ("prototypes: int f(FILE *a)\ninput: a\n", "argument a: there is no type for `FILE *`: hide it"),
    "void without a type": ("prototypes: int f(const void *a, int n)\ninput: a(n)\nhide: n\n", "it points to void: say what is there"),
    "a pointer returned": ("prototypes: double *f(int n)\ninput: n\n", "f returns `double *`: give its size"),
    "a status of void": ("prototypes: void f(int *n)\ninplace: n\nreturn: status\n", "f returns nothing"),
    "a bad error": ("prototypes: int f(int n)\ninput: n\nerrors: result < 0\n", "an error is `condition => kind: message`"),
    "a bad kind": (PROTOTYPE + "input: x(n)\nhide: n\nkinds: D\n", "there is no kind D"),
    "the same operands twice": ("prototypes: double f(double a); double g(double a)\ninput: a\n", "g takes the same operands as f"),
    "an impossible kind": ("prototypes: double f(const double *a)\ninput: a(2, 3)\nkinds: Fortran\n", "none of its kinds is possible"),
    "a resource that is not there": (PROTOTYPE + "input: x(n)\nhide: n\nresources: plan\n", "no section [RESOURCE plan]"),
    "a default for an array": (PROTOTYPE + "input: x(n) = 2\nhide: n\n", "an array has no default value"),
    "too many operands": ("prototypes: int f(" + ", ".join(f"int a{i}" for i in range(9)) + ")\ninput: "
                          + ", ".join(f"a{i}" for i in range(9)) + "\n", "up to 8 of each"),
    "too many dimensions": ("prototypes: double f(const double *x)\ninput: x(" + ", ".join("2" * 17) + ")\n",
                            "6:10: error: kernel f, argument x: it has 17 dimensions, and an array argument has at most 16"),
    "the name of the returned value": ("prototypes: int f(int result)\ninput: result\n", "the name is that of the returned value"),
    "a missing size": ("prototypes: void f(int n, double *r)\ninput: n\noutput: r(n)\nmissing: propagate\n", "could be missing"),
    "a change of what is missing": ("prototypes: void f(int n, double *x)\ninplace: x(n)\nhide: n\nmissing: propagate\n",
                                    "it is changed, and cannot be missing"),
    "no prototypes": ("input: x\n", "the kernel has no prototypes"),
    "a yes that is none": ("prototypes: int f(int a)\ninput: a\npure: maybe\n", "`pure` is yes or no"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_kernel(case, tmp_path):
    text, message = CASES[case]
    said = problems(tmp_path, HEAD + text)
    assert message in said
    assert said.startswith("test.cfg:") and "\n" in said and "^" in said


WHOLE = {
    "nothing": ("", "there is no section [MODULE name]"),
    "a key before a section": ("a = b\n", "1:1: error: a file begins with a section"),
    "no module": ("[KERNEL f]\nprototypes: int f(int a)\ninput: a\n", "there is no section [MODULE name]"),
    "no kernels": ("[MODULE m]\n", "module m has no kernels"),
    "two modules": ("[MODULE m]\n[MODULE n]\n[KERNEL f]\nprototypes: int f(int a)\ninput: a\n", "a second module"),
    "a section of another kind": ("[MODULE m]\n[KERNLE f]\n", "a section is [MODULE name], [KERNEL name]"),
    "a section twice": ("[MODULE m]\n[KERNEL f]\n[KERNEL f]\n", "there is a section [KERNEL f] already, in line 2"),
    "a key twice": ("[MODULE m]\n[KERNEL f]\ninput: a\ninput: b\n", "the section has `input` already, in line 3"),
    "no name": ("[MODULE 3m]\n", "a module has a name that is an identifier"),
    "an open section": ("[MODULE m\n", "a section is [KIND name]"),
    "no value": ("[MODULE m]\nfoo\n", "expected `key = value`"),
    "an unknown key": ("[MODULE m]\nfoo: 1\n", "module m: there is no key `foo`"),
    "a type that there is not": ("[MODULE m]\ntypemaps: long double: float128\n", "the library has no type float128"),
    "a variable that is not set": ("[MODULE m]\nsources: ${DYND_NOT_SET_AT_ALL}/f.c\n", "is not in the environment"),
    "an open interpolation": ("[MODULE m]\nheader_code: %(nothing)s\n", "there is no key `nothing` in the section"),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_wrong_file(case, tmp_path):
    text, message = WHOLE[case]
    assert message in problems(tmp_path, text)


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    said = problems(tmp_path, HEAD + PROTOTYPE + "input: x(n)\n\n[KERNEL g]\n" + PROTOTYPE + "input: x(m)\nhide: n, k\n")
    assert "kernel f, argument n: it has no intent" in said and "kernel g, argument k: no prototype" in said
    assert said.count("^") == 2


def test_the_caret_is_below_what_is_wrong(tmp_path):
    said = problems(tmp_path, HEAD + PROTOTYPE + "input: x(n), y\nhide: n\n").splitlines()
    line, caret = said[1], said[2]
    assert line.index("y") == caret.index("^")


def test_no_source_that_compiles_to_something_wrong(tmp_path):
    """A prototype that is not that of the header, a type of another size: the compiler refuses."""
    head = "[MODULE m]\nincludes: <math.h> <stdlib.h>\n[KERNEL f]\n"
    for text in ["typemaps: double: float32", "typemaps: long: int32", "typemaps: size_t: int64"]:
        t = text.split(":")[1].strip()
        config = kernelgen_support.write(tmp_path, f"[MODULE m]\n{text}\nincludes: <stddef.h>\nheader_code: {t} f({t} a) {{ return a; }}\n"
                                                   f"[KERNEL f]\nprototypes: {t} f({t} a)\ninput: a\n")
        code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "x.so")
        assert code == 1 and f"typemaps: {t} is not" in errors
    config = kernelgen_support.write(tmp_path, head + "prototypes: double frexp(double x, double *e)\ninput: x\noutput: e\n")
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "x.so")
    assert code == 1 and "kernel f: what is generated of it does not compile" in errors
    config = kernelgen_support.write(tmp_path, head + "prototypes: double no_such_function(double x)\ninput: x\n")
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "x.so")
    assert code == 1 and "no_such_function" in errors
    config = kernelgen_support.write(tmp_path, "[MODULE m]\n[KERNEL f]\nprototypes: double no_such_function(double x)\ninput: x\n")
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "x.so")
    assert code == 1 and "test.cfg:3:20: error: kernel f: the plug-in does not link" in errors and "^" in errors
    assert not (tmp_path / "x.so").exists()


def test_a_resource_is_found_by_whole_numbers(tmp_path):
    text = ("[MODULE m]\n[RESOURCE plan]\ntype: void *\nmake: make_plan(x)\nrelease: drop(plan)\nkey: x\n[KERNEL f]\n"
            "prototypes: double f(void *plan, double x)\ninput: x\nhide: plan = plan\nresources: plan\n")
    assert "6:6: error: kernel f, argument x: it is in the key of resource plan, and is no integer" in problems(tmp_path, text)
    for key, message in [("len(nothing)", "6:10: error: kernel f: len of `nothing`, which is no array among the arguments"),
                         ("2 * size(x)", "size of `x`, which is no array"), ("shape(a, 1)", "6:15: error: kernel f: a has 1 dimensions, and no axis 1"),
                         ("stride(a, 0)", "stride is for functions of the kind Strided")]:
        own = text.replace("key: x", f"key: {key}").replace("double x)", "double x, const double *a)").replace("input: x", "input: x, a(n)")
        assert message in problems(tmp_path, own), key


def test_the_command(tmp_path):
    assert "dynd-kernelgen build CONFIG" in kernelgen_support.run("--help")[1]
    assert kernelgen_support.run()[0] == 0
    for words, message in [(["explode"], "no command explode"), (["check"], "expected one configuration"),
                           (["check", "nowhere.cfg"], "cannot be read"), (["check", "--fast", "x"], "no option --fast"),
                           (["build", "x", "-o"], "a value is missing")]:
        code, _, errors = kernelgen_support.run(*words)
        assert code == 1 and message in errors
    binary = tmp_path / "binary.cfg"
    binary.write_bytes(b"[MODULE m]\n\0\n")
    assert "is no text" in kernelgen_support.run("check", binary)[2]


def test_the_original_spellings(tmp_path):                                        # D8, D9, D12, D13, D14
    """Files of the original are read as they are."""
    config = kernelgen_support.write(tmp_path, """
        [MODULE old]
        typemaps =
          double: float64
          long: int64
        kinds = C, Fortran, Xnd
        ellipses = ..., var...
        debug = False
        # a comment
        ; another one
        [KERNEL one]
        skip = False
        prototypes_C =
            double one_c(double * a, long n)
        prototypes_Fortran =
            double one_f(double * a, long n);
        prototypes =
            double one_x(double const * restrict a, long n);
        input_arguments = a
        dimension = a(n, m)
        hide_arguments = n = len(a)
        fortran_Fortran = a
        [KERNEL two]
        arraytypes = variable
        Prototypes = extern double two(unsigned long int x, signed char *y, double z[3], float _Complex w)
        input = x, z, w
        inout = y(k)
        [KERNEL two_sizes]
        prototypes = void two_sizes(int n, long m, double *r); void two_sizesf(long n, int m, float *r)
        input = n, m
        output = r(n * m)
        [KERNEL three]
        skip = REMOVE THIS LINE WHEN READY
        prototypes = broken(
        """)
    code, said, errors = kernelgen_support.run("check", config)
    assert code == 0, errors
    assert said.splitlines() == [
        "one (a: N * M * float64) -> float64  [one_x]",
        "two (x: uint64, y: inout K * int8, z: 3 * float64, w: complex64) -> float64  [two]",
        "two_sizes (n: int32, m: int64) -> R_0 * float64  [two_sizes]",
        "two_sizes (n: int64, m: int32) -> R_0 * float32  [two_sizesf]"]
    code, source, _ = kernelgen_support.run("generate", config, "-o", "-")
    assert all(f in source for f in ("one_c(", "one_f(", "one_x(")) and code == 0
    assert "inline void" not in source and "atexit" not in source and "printf" not in source  # D15, D17
    assert source == kernelgen_support.run("generate", config, "-o", "-")[1]                   # deterministic
    kernelgen_support.run("generate", config, "-o", tmp_path / "here.c")
    assert (tmp_path / "here.c").read_text() == source


def test_prototypes_of_all_forms(tmp_path):
    config = kernelgen_support.write(tmp_path, """
        [MODULE forms]
        typemaps: my_int: int32
        [KERNEL f]
        prototypes:
            extern "C" __attribute__((nothrow)) double a(double) __attribute__((const));
            MY_API double b(my_int const);
            MY_API my_int c(unsigned arg0)
            long long int d(unsigned long long arg0);
            static inline float e(const float arg0) /* a comment */
            __declspec(dllimport) short __cdecl g(short int arg0); // another
            _Bool h(bool arg0)
        input: arg0
        """)
    code, said, errors = kernelgen_support.run("check", config)
    assert code == 0, errors
    assert [line.split("  ")[0] for line in said.splitlines()] == [
        f"f (arg0: {a}) -> {r}" for a, r in [("float64", "float64"), ("int32", "float64"), ("uint32", "int32"), ("uint64", "int64"),
                                             ("float32", "float32"), ("int16", "int16"), ("bool", "bool")]]

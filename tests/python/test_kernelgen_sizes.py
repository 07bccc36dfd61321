"""Sizes that are hidden, computed or given: a wrapper compares them with those of its arrays before it calls. And
results of several sizes: each has strides of its own."""
import numpy as np
import pytest

import kernelgen_support
from dynd import nd

CONFIG = """
[MODULE kgs]
typemaps: double:float64, int:int32
header_code:
    static inline double total(int n, const double *x, const double *y) {
      double sum = y[0];
      for (int i = 0; i < n; i++)
        sum += x[i];
      return sum;
    }
    static inline void longer(int n, int m, const double *x, double *r) {
      for (int i = 0; i < m; i++)
        r[i] = i < n ? x[i] : m;
    }
    static inline double plus(double x, double y) { return x + y; }
    static inline void ones_of(int i, int j, int n, int m, double *a, double *b) {
      (void)n, (void)m;
      while (i > 0)
        a[--i] = 1;
      while (j > 0)
        b[--j] = 1;
    }
    static inline void three(int m, int n, const double *x, double *a, double *b, double *c) {
      for (int i = 0; i < m * n; i++)
        a[i] = x[i];
      for (int i = 0; i < n; i++)
        b[i] = i;
      *c = m;
    }
prefix: kgs_

[KERNEL of_other]
prototypes: double total(int n, const double *x, const double *y)
input: x(n), y(m)
hide: n = len(y)

[KERNEL of_both]
prototypes: double total(int n, const double *x, const double *y)
input: x(n), y(n)
hide: n = len(y)

[KERNEL computed]
prototypes: double total(int n, const double *x, const double *y)
input: x(n), y(m)
hide: n = 2 * len(y) - 1

[KERNEL in_dimension]
prototypes: double total(int n, const double *x, const double *y)
input: x(2 * n), y(m)
hide: n = len(y)

[KERNEL given]
prototypes: double total(int n, const double *x, const double *y)
input: n, x(n), y(m)

[KERNEL square]
prototypes: double total(int n, const double *x, const double *y)
input: x(n, n), y(m)
hide: n = shape(x, 1)

[KERNEL three]
prototypes: void three(int m, int n, const double *x, double *a, double *b, double *c)
input: x(m, n)
output: a(n, m), b(n), c
hide: m = shape(x, 0), n = shape(x, 1)
missing: propagate
"""

#: Sizes whose numbers are written in other ways. In C an E is a digit of a hexadecimal number, not an exponent; a sign
#: behind it is an operator nevertheless, though C itself wants a space there.
SIZES = {"0xE+n": 14, "0x1E-0x1D+n": 1, "0x2e-40+n": 6, "n+0xE-0x3": 11, "0xe + n": 14, "0x10+n": 16, "2*n+0xE-n": 14,
         "0XE+n": 14, "n+0X2e-40": 6}
#: And numbers with exponents.
POWERS = {"0x1p-3": 0.125, "0x1.8p+1": 3.0, "0X1P-2": 0.25, "0x1p3": 8.0, "1e-3": 0.001, "1.5E+2": 150.0, ".5e-1": 0.05,
          "1e3-2": 998.0, "0xE-0x1p-1": 13.5, "0x1e+1": 31.0}
for number, size in enumerate(SIZES):
    CONFIG += f"""
[KERNEL longer{number}]
prototypes: void longer(int n, int m, const double *x, double *r)
input: x(n)
output: r({size})
hide: n, m = {size}
"""
#: Two sizes of one kernel that differ in brackets only, and what each is.
BRACKETS = [
    ("n - m - 1", lambda n, m: n - m - 1, "n - (m - 1)", lambda n, m: n - (m - 1)),
    ("n - (m + 1)", lambda n, m: n - (m + 1), "n - m + 1", lambda n, m: n - m + 1),
    ("12 / (n * m)", lambda n, m: 12 // (n * m), "12 / n * m", lambda n, m: 12 // n * m),
    ("n * (m / 2)", lambda n, m: n * (m // 2), "n * m / 2", lambda n, m: n * m // 2),
    ("n * (m + 1)", lambda n, m: n * (m + 1), "n * m + 1", lambda n, m: n * m + 1),
    ("n % (m + 1)", lambda n, m: n % (m + 1), "n % m + 1", lambda n, m: n % m + 1),
    ("n << (m - 1)", lambda n, m: n << (m - 1), "(n << m) - 1", lambda n, m: (n << m) - 1),
    ("n / m / 2", lambda n, m: n // m // 2, "n / (m / 2)", lambda n, m: n // (m // 2)),
    ("n < 9 ? 2 : 1 + m", lambda n, m: 2 if n < 9 else 1 + m, "(n < 9 ? 2 : 1) + m", lambda n, m: 1 + m + (n < 9)),
    ("-(m - n)", lambda n, m: n - m, "-m + 2 * n", lambda n, m: 2 * n - m),
    ("n - (m - (m - 1))", lambda n, m: n - 1, "n - (m - m - 1)", lambda n, m: n + 1),
]
for number, (a, _, b, _) in enumerate(BRACKETS):
    CONFIG += f"""
[KERNEL brackets{number}]
prototypes: void ones_of(int i, int j, int n, int m, double *a, double *b)
input: n, m
hide: i = {a}, j = {b}
output: a({a}), b({b})
"""
for number, value in enumerate(POWERS):
    CONFIG += f"""
[KERNEL plus{number}]
prototypes: double plus(double x, double y)
input: x
hide: y = {value}
"""


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    nd.load(kernelgen_support.build(tmp_path_factory.mktemp("sizes"), CONFIG, "sizes"))


def ones(*shape):
    return nd.array(np.ones(shape))


def call(name, x, y):
    return getattr(nd, f"kgs_{name}")(ones(x), ones(y))


WANTED = {
    "of_other": lambda y: y,
    "of_both": lambda y: y,
    "computed": lambda y: 2 * y - 1,
    "in_dimension": lambda y: 2 * y,
}


@pytest.mark.parametrize("name", WANTED)
def test_only_the_size_that_fits_is_taken(name):
    for y in (1, 2, 3, 5):
        for x in range(12):
            if x == WANTED[name](y):
                assert call(name, x, y).tolist() == 1 + (y if name == "in_dimension" else x)
                continue
            with pytest.raises(ValueError, match="has size|N is"):
                call(name, x, y)


def test_a_message_says_which_sizes_differ():
    with pytest.raises(ValueError, match=r"kgs_of_other: x has size 4 along axis 0, and n is 3"):
        nd.kgs_of_other(ones(4), ones(3))
    with pytest.raises(ValueError, match=r"kgs_in_dimension: x has size 4 along axis 0, and 2 \* n is 6"):
        nd.kgs_in_dimension(ones(4), ones(3))
    with pytest.raises(ValueError, match=r"kgs_given: x has size 4 along axis 0, and n is 5"):
        nd.kgs_given(5, ones(4), ones(1))
    assert nd.kgs_given(4, ones(4), ones(1)).tolist() == 5
    assert nd.kgs_square(ones(3, 3), ones(1)).tolist() == 4
    with pytest.raises(ValueError, match="N is"):
        nd.kgs_square(ones(3, 4), ones(1))


def test_rows_are_compared_one_by_one():
    x, y = nd.array([[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]), nd.array([[10.0, 0.0], [20.0], [30.0, 0.0, 0.0]])
    assert nd.kgs_of_other(x, y).tolist() == [13.0, 23.0, 45.0]
    with pytest.raises(ValueError, match=r"x has size 3 along axis 0, and n is 1"):
        nd.kgs_of_other(x, nd.array([[10.0, 0.0], [20.0], [30.0]]))


@pytest.mark.parametrize("m, n", [(1, 1), (2, 3), (3, 2), (1, 4), (5, 1), (40, 3)])
def test_where_an_operand_is_missing_every_element_of_every_result_is(m, n):
    plain = np.arange(float(m * n)).reshape(m, n).tolist()
    whole = [np.reshape(plain, (n, m)).tolist(), list(map(float, range(n))), float(m)]
    for i in range(0, m * n, 1 + m * n // 9):
        punctured = [[None if r * n + c == i else plain[r][c] for c in range(n)] for r in range(m)]
        found = nd.kgs_three(nd.array([plain, punctured, plain, punctured], type=f"4 * {m} * {n} * ?float64"))
        nothing = [[[None] * m] * n, [None] * n, None]
        assert [part.tolist() for part in found] == [[w, none, w, none] for w, none in zip(whole, nothing)]


@pytest.mark.parametrize("number, more", list(enumerate(SIZES.values())), ids=list(SIZES))
def test_numbers_of_base_16_in_sizes(number, more):
    longer = getattr(nd, f"kgs_longer{number}")
    for n in (0, 1, 5):
        assert longer(ones(n)).tolist() == [1.0] * n + [n + more] * more
    assert [len(row) for row in longer([[1.0, 2.0], [], [3.0]])] == [more + 2, more, more + 1]


@pytest.mark.parametrize("number, value", list(enumerate(POWERS.values())), ids=list(POWERS))
def test_numbers_with_exponents(number, value):
    assert getattr(nd, f"kgs_plus{number}")([1.0, 2.0]).tolist() == [1 + value, 2 + value]


@pytest.mark.parametrize("number", range(len(BRACKETS)), ids=[f"{a}, {b}" for a, _, b, _ in BRACKETS])
def test_sizes_that_differ_in_brackets(number):
    """They are sizes of their own, also where both are in one kernel."""
    _, size_a, _, size_b = BRACKETS[number]
    for n, m in ((5, 2), (7, 3), (4, 2), (9, 5), (2, 3)):
        if size_a(n, m) >= 0:
            a, b = getattr(nd, f"kgs_brackets{number}")(n, m)
            assert (a.tolist(), b.tolist()) == ([1.0] * size_a(n, m), [1.0] * size_b(n, m)), (n, m)

"""What the transcendental functions must give, for oracle.py: NumPy's functions of long doubles, rounded once, so that
an oracle's value is nearly always the nearest one; and the system's for those that NumPy does not have."""

import ctypes

import numpy as np

LIBM = ctypes.CDLL("libm.so.6")


def wide(function):
    """Computed in long doubles."""

    def rounded(*columns):
        more = [x.astype("clongdouble" if x.dtype.kind == "c" else "longdouble") for x in columns]
        found = function(*more)
        real = found.dtype.kind != "c"
        return found.astype(columns[0].real.dtype if real else columns[0].dtype)

    return rounded


def system(name):
    """A function of doubles that only the system's library has."""
    function = getattr(LIBM, name)
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double

    def rounded(a):
        return np.array([function(x) for x in a.astype("float64").tolist()], "float64").astype(a.dtype)

    return rounded


def log1p(a):
    """NumPy's, but of complex numbers without the loss of digits near 0."""
    if a.dtype.kind != "c":
        return np.log1p(a)
    found, near = np.empty_like(a), abs(a) < 0.5
    found.real, found.imag = np.log(np.hypot(1 + a.real, a.imag)), np.arctan2(a.imag, 1 + a.real)
    found.real[near] = (np.log1p(a.real * (2 + a.real) + a.imag * a.imag) / 2)[near]
    return found


def expit(a):
    return 1 / (1 + np.exp(-a))


def logit(a):
    return np.where(abs(a - 0.5) < 0.25, np.log1p((2 * a - 1) / (1 - a)), np.log(a / (1 - a)))


def gamma(a):
    """The system's, but NaN at minus infinity too."""
    return np.where(a == -np.inf, np.nan, system("tgamma")(a)).astype(a.dtype)


def power(a, b):
    """Integers wrap. Of complex numbers NumPy's in the type itself: its long ones have no products for whole powers."""
    if a.dtype.kind == "f":
        return wide(np.power)(a, b)
    if a.dtype.kind == "c":
        return np.power(a.astype("complex128"), b.astype("complex128")).astype(a.dtype)
    bits = 8 * a.dtype.itemsize
    wrapped = [pow(x, y, 2**bits) for x, y in zip(a.tolist(), b.tolist())]
    return np.array(wrapped, "uint64").astype(a.dtype)


#: name -> (arity, set of types it works on, function of columns), as oracle.ELEMENTWISE
TRANSCENDENTAL = {
    "exp": (1, "floats", wide(np.exp)),
    "exp2": (1, "floats", wide(np.exp2)),
    "expm1": (1, "floats", wide(np.expm1)),
    "log": (1, "floats", wide(np.log)),
    "log1p": (1, "floats", wide(log1p)),
    "log2": (1, "floats", wide(np.log2)),
    "log10": (1, "floats", wide(np.log10)),
    "logaddexp": (2, "real_floats", wide(np.logaddexp)),
    "logaddexp2": (2, "real_floats", wide(np.logaddexp2)),
    "expit": (1, "real_floats", wide(expit)),
    "logit": (1, "real_floats", wide(logit)),
    "sin": (1, "floats", wide(np.sin)),
    "cos": (1, "floats", wide(np.cos)),
    "tan": (1, "floats", wide(np.tan)),
    "asin": (1, "floats", wide(np.arcsin)),
    "acos": (1, "floats", wide(np.arccos)),
    "atan": (1, "floats", wide(np.arctan)),
    "atan2": (2, "real_floats", wide(np.arctan2)),
    "angle": (1, "floats", wide(np.angle)),
    "sinh": (1, "floats", wide(np.sinh)),
    "cosh": (1, "floats", wide(np.cosh)),
    "tanh": (1, "floats", wide(np.tanh)),
    "asinh": (1, "floats", wide(np.arcsinh)),
    "acosh": (1, "floats", wide(np.arccosh)),
    "atanh": (1, "floats", wide(np.arctanh)),
    "cbrt": (1, "real_floats", wide(np.cbrt)),
    "hypot": (2, "real_floats", wide(np.hypot)),
    "erf": (1, "real_floats", system("erf")),
    "erfc": (1, "real_floats", system("erfc")),
    "gamma": (1, "real_floats", gamma),
    "lgamma": (1, "real_floats", system("lgamma")),
}

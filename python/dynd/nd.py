"""Arrays and operations on them.

The elementwise functions and the reductions come from the library's own list of operations: `nd.operations()`.
"""
import builtins as _builtins
import collections as _collections
import contextlib as _contextlib
import keyword as _keyword
import os as _os

from dynd import _dynd
from dynd._dynd import array, assign, kernel, num_threads, set_num_threads, trim_memory, type_of, vecdot

from dynd._groups import *  # its __all__
from dynd._order import *  # its __all__
from dynd._structure import *  # its __all__

Operation = _collections.namedtuple("Operation", "name doc signature")


def operations():
    """The operations there are: name, documentation and signature of each."""
    return [Operation(*entry) for entry in _dynd.operations]


globals().update({entry[0]: getattr(_dynd, entry[0]) for entry in _dynd.operations})
globals().update({name: getattr(_dynd, name) for name in _dynd.scans + _dynd.creations})

from dynd._linear import einsum, matmul, tensordot  # noqa: E402
from dynd._elsewhere import callable, from_address, from_c, from_ufunc  # noqa: E402
from dynd._kernelgen import wrap, wrap_header  # noqa: E402


def diff(a, n=1, axis=-1, *, prepend=None, append=None):
    """The differences of neighbours, a[1:] - a[:-1] along the axis, n times.

    A row is one shorter each time, and a row without elements stays so. What is next to a missing element is missing.
    prepend, append: what comes before and after the elements along the axis, an array or one value for each row.

    >>> nd.diff([[1, 4, 9], [], [5]], prepend=0)
    nd.array([[1, 3, 5], [], [5]], type="strided * var * int32")
    """
    if n and (prepend is not None or append is not None):
        a = _with_ends(array(a), axis, prepend, append)
    return _dynd.diff(a, n, axis)


def _with_ends(a, axis, prepend, append):
    def end(values):
        if getattr(values, "ndim", 0) or isinstance(values, (list, tuple)):
            return values
        return full_like(count(a, axis=axis, keepdims=True), values, type=(zeros((), type=a.dtype) + values).dtype)

    return concat([x if x is a else end(x) for x in (prepend, a, append) if x is not None], axis=axis)


def nan_to_num(a, nan=0.0, posinf=None, neginf=None):
    """The elements with numbers in place of NaN and the infinities, of complex numbers in both components.

    Without posinf and neginf the infinities become the largest number of the type and its negative.

    >>> nd.nan_to_num([[1.5, float("nan")], [float("-inf")]], neginf=-1)
    nd.array([[1.5, 0.0], [-1.0]], type="strided * var * float64")
    """
    return _dynd.nan_to_num(a, nan, posinf, neginf)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where |a - b| <= atol + rtol * |b|, or where both are the same infinity; with equal_nan, or both are NaN.

    Integers are compared as float64.

    >>> nd.isclose([[1.0, 2.0], [3.0]], [[1.0 + 1e-9], [3.1]])
    nd.array([[True, False], [False]], type="strided * var * bool")
    """
    return _dynd.isclose(a, b, rtol, atol, equal_nan)


def logsumexp(a, axis=None, keepdims=False, *, where=None):
    """The logarithm of the sum of the exponentials, over one axis, several (a tuple) or all; nothing overflows on the way.

    Integers are converted to float64. Of no elements it is minus infinity; missing ones are skipped, and those where the
    mask where= is not true.

    >>> nd.logsumexp([[1000.0, 1000.0], []], axis=1)
    nd.array([1000.6931471805599, -inf], type="strided * float64")
    """
    return _dynd.logsumexp(a, axis, keepdims, where)


def softmax(a, axis=-1):
    """The exponentials divided by their sum along an axis, several (a tuple) or all (None); nothing overflows on the way.

    Integers are converted to float64. Missing elements stay missing.

    >>> nd.softmax([[0.0, 0.0], [7.5]], axis=1)
    nd.array([[0.5, 0.5], [1.0]], type="strided * var * float64")
    """
    return _dynd.softmax(a, axis)


# The methods that NumPy's arrays have and that are functions of this module.
array.conj = array.conjugate = lambda self: _dynd.conj(self)
array.conj.__doc__ = "The complex conjugates: nd.conj(self)."
array.real = property(_dynd.real, doc="The real components: nd.real(self).")
array.imag = property(_dynd.imag, doc="The imaginary components: nd.imag(self).")


def asarray(values):
    """An array over the same memory: NumPy arrays and other buffers as views, lists and dicts by copying.

    NumPy's records, other byte orders, S and V are views too ({x: T}, byteswap[T], fixed_string[N], fixed_bytes[N]). Its
    other texts and masked arrays are not values in memory: nd.array copies them, to string and ?T. The owner of the memory can write it at any time,
    so operations on a view are never lazy.
    """
    return _dynd.asarray(values)


def from_offsets(offsets, content):
    """Rows over content, without a copy: row i is content[offsets[i]:offsets[i + 1]].

    Offsets in memory that can be written are copied, and checked.

    >>> nd.from_offsets([0, 2, 2, 3], [1.5, 2.5, 3.5])
    nd.array([[1.5, 2.5], [], [3.5]], type="strided * var * float64")
    """
    return _dynd.from_offsets(offsets, content)


@_contextlib.contextmanager
def eager():
    """Inside, nothing is lazy: every operation of this thread computes its values at once.

    It belongs to the thread that enters it, which must be the one that leaves it.
    """
    scope = _dynd.eager_scope()
    try:
        yield
    finally:
        del scope


class Explanation(str):
    """Text that shows itself as it is."""

    def __repr__(self):
        return str(self)


class Trace:
    """The calls that a kernel made, one for each level and element; print it to see them as a table.

    The first 10,000 are kept; long values are cut short in the middle.
    """

    def __init__(self, observation):
        self._observation = observation

    @property
    def calls(self):
        return self._observation.calls

    def __str__(self):
        return self._observation.trace_text()

    __repr__ = __str__


def _observe(name, f, args, tracing):
    if not _builtins.callable(f):
        raise TypeError(f"{name}: the first argument must be a function to call, not {type(f).__name__}")
    return _dynd.observe(f, args, tracing)


def explain(f, *args):
    """Calls f(*args) and shows the kernels that it built: each level's kind, sizes, strides, bytes and offset.

    In comparisons of records, text and what may be missing all that is inside of the elements is shown as one level.
    """
    return Explanation(_observe("explain", f, args, False).explanation())


def trace(f, *args):
    """Calls f(*args) unplanned and unfused, one call for each element, and lists the calls level by level.

    >>> a = nd.array([[5, 6, 7], [8, 9, 10]], access="rw")
    >>> nd.trace(nd.assign, a, nd.array([[1, 2, 3], [4]]))
    """
    return Trace(_observe("trace", f, args, True))


def load(path):
    """Loads a plug-in, a shared library with kernels written in C, and returns their names.

    Each becomes a function of this module. A library that is not a plug-in for this version is refused, whole. It stays
    loaded: loading a file again changes nothing, even if it was built anew. How to write one: docs/kernels.md.

    >>> nd.load("./triple.so")
    ['triple']
    >>> nd.triple([[1, 2], [3]])
    nd.array([[3, 6], [9]], type="strided * var * int32")
    """
    names = _dynd.load(_os.fspath(path))
    for name in names:
        globals()[name] = __getattr__(name)
    return names


def kernels():
    """The kernels that were loaded or registered: name, documentation and signature of each overload."""
    return [Operation(*entry) for entry in _dynd.callables()]


def __getattr__(name):
    # Kernels that a program has registered in C++, or another module has loaded.
    function = globals().get(name) or (None if name.startswith("__") else _dynd.find_callable(name))
    if function is None:
        raise AttributeError(f"module 'dynd.nd' has no attribute {name!r}")
    globals()[name] = function
    return function


def _restore(*parts):
    # What pickle calls: it can name a function of Python only.
    return _dynd.restore(*parts)


_dynd.reserve_names([name for name in globals() if not name.startswith("_")] + _keyword.kwlist)

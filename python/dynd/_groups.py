"""Groups: elements by keys, and joins of records by keys.

Keys are real numbers, bools, text, bytes, structs of these, and what of these may be missing. There is one NaN and one
zero. Keys are sorted; what is missing is last.
"""
from dynd import _dynd
from dynd._structure import _names

__all__ = ["groupby", "join"]

_REDUCTIONS = _dynd.reductions
_OTHERS = ["first", "last", "median"]
_OPERATORS = [
    f"__{side}{name}__"
    for name in "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()
    for side in ("", "r")
] + [f"__{name}__" for name in "neg pos abs invert eq ne lt le gt ge".split()]


def groupby(a, by, axis=0):
    """The elements of an array grouped by keys: a lazy ragged array with one row for each key.

    by: an array with one key for each element; several of them in a list or tuple, or with names in a dict. With axis=1
    the elements of each row are grouped, and the keys have the same rows. `keys` are the sorted keys.

    Reductions take values in the order of the keys that were given, or without values reduce the grouped array itself:
    one pass, and the rows are not made. Any function of this module takes the groups as an array.

    >>> a = nd.array([{"state": "b", "cars": 3}, {"state": "a", "cars": 1}, {"state": "b", "cars": 4}])
    >>> gb = nd.groupby(a, by=a.state)
    >>> gb.keys
    nd.array(["a", "b"], type="strided * string")
    >>> gb.sum(a.cars, axis=1) / [10, 2]
    nd.array([0.1, 3.5], type="strided * float64")
    >>> gb.agg({"n": "count", "most": ("cars", "max")})
    nd.array([{"n": 1, "most": 1}, {"n": 2, "most": 4}], type="strided * {n: int64, most: int32}")
    >>> nd.groupby([1.5, 2.5, 3.5], by=[7, None, 7])[0]
    nd.array([1.5, 3.5], type="strided * float64")
    """
    return GroupBy(a, by, axis)


def join(left, right, on, how="inner"):
    """The records of two lists whose fields `on` (a name or several) are equal, in the left side's order.

    how: 'inner'; 'left': also left records without an equal one, whose right fields are missing; 'outer': also right
    ones, at the end; 'semi' and 'anti': the left records that have an equal one, and those that have none. A missing key
    is equal to no other. Fields that are no keys have different names.

    >>> left, right = nd.array([{"k": 2, "x": 1.5}, {"k": 1, "x": 2.5}]), nd.array([{"k": 2, "y": "a"}, {"k": 2, "y": "b"}])
    >>> nd.join(left, right, on="k")
    nd.array([{"k": 2, "x": 1.5, "y": "a"}, {"k": 2, "x": 1.5, "y": "b"}], type="strided * {k: int32, x: float64, y: string}")
    >>> nd.join(left, right, on="k", how="anti")
    nd.array([{"k": 1, "x": 2.5}], type="strided * {k: int32, x: float64}")
    """
    return _dynd.join(left, right, _names("join", "on", on), str(how))


def _keys(by):
    """Names, arrays, and whether an element's key is made of several."""
    if isinstance(by, dict):
        return list(by), [_dynd.asarray(keys) for keys in by.values()], True
    if isinstance(by, str):
        raise TypeError(f"groupby: by must be an array with a key for each element, as a[{by!r}], not {by!r}")
    several = isinstance(by, (list, tuple)) and any(getattr(keys, "ndim", 0) > 0 for keys in by)
    return [], [_dynd.asarray(keys) for keys in (by if several else [by])], several


class GroupBy:
    """Elements grouped by keys, a lazy ragged array: what `nd.groupby` returns."""

    def __init__(self, a, by, axis):
        names, arrays, several = _keys(by)
        values = _dynd.asarray(a)
        # What is written later is not seen: keys and rows would be older than sums.
        self._array = values if values.access == "immutable" else _dynd.array(values)
        self._groups = _dynd.groups(arrays, names, several, axis)
        self._groups.check(self._array)
        self._rows = None

    @property
    def keys(self):
        """The keys, sorted; what is missing is last. Of several arrays tuples, of a dict structs; of axis=1, in rows."""
        return self._groups.keys()

    def __dynd_array__(self):
        if self._rows is None:
            self._rows = self._groups.rows(self._array)
        return self._rows

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        return self.__dynd_array__()[index]

    def __iter__(self):
        return iter(self.__dynd_array__())

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"nd.groupby has no attribute {name!r}")
        return getattr(self.__dynd_array__(), name)

    def __repr__(self):
        return f"nd.groupby(keys={self.keys!r}, type={str(self._array.type)!r})"

    def _column(self, values):
        if values is None:
            return self._array
        return self._array[values] if isinstance(values, str) else _dynd.asarray(values)

    def _axis(self, values, axis):
        """Which axis of the rows of these values: without one, that of the elements of a group."""
        inside = self._groups.axis + 1
        if axis is None:
            return inside
        return axis + _dynd.rows_ndim(values) + 1 if isinstance(axis, int) and axis < 0 else axis

    def _grouped(self, values):
        return self.__dynd_array__() if values is self._array else self._groups.rows(values)

    def _is_one_pass(self, name, values, axis, keywords):
        correction = "correction" in keywords
        return axis == self._groups.axis + 1 and len(keywords) == correction and self._groups.takes(name, values, correction)

    def _reduce(self, name, values, axis, keywords):
        values = self._column(values)
        axis = self._axis(values, axis)
        if self._is_one_pass(name, values, axis, keywords):
            return self._groups.reduce([name], [values], [keywords.get("correction")])[0]
        for key in {"where", "weights"} & set(keywords):
            if keywords[key] is not None:
                keywords[key] = self._groups.rows(keywords[key])
        return getattr(_dynd, name)(self._grouped(values), axis, **keywords)

    def first(self, values=None, axis=None):
        """The first element of each group."""
        return self.nth(0, values, axis)

    def last(self, values=None, axis=None):
        """The last element of each group."""
        return self.nth(-1, values, axis)

    def nth(self, i, values=None, axis=None):
        """The i-th element of each group, negative from the end; missing where it has none."""
        values = self._column(values)
        return _dynd.nth(self._grouped(values), i, self._axis(values, axis), None)

    def median(self, values=None, axis=None):
        """The median of each group's values, as nd.median."""
        values = self._column(values)
        return _dynd.median(self._grouped(values), self._axis(values, axis), False)

    def quantile(self, q, values=None, axis=None, *, method="linear"):
        """The value below which the part q of each group's values are, as nd.quantile."""
        from dynd import nd

        values = self._column(values)
        return nd.quantile(self._grouped(values), q, self._axis(values, axis), method=method)

    def reduce(self, function, values=None, axis=None, *, identity=None):
        """The left fold of each group by an operation of two operands, as nd.reduce."""
        values = self._column(values)
        return _dynd.reduce(function, self._grouped(values), self._axis(values, axis), identity=identity)

    def agg(self, what):
        """Several reductions in one pass, as structs: {name: "count", name: (field or values, "sum")}."""
        if not isinstance(what, dict) or not what:
            raise TypeError(f"groupby: agg takes a dict with one aggregate or more, not {what!r}")
        asked = {name: _request(name, request) for name, request in what.items()}
        fields = {v: self._array[v] for v, _ in asked.values() if isinstance(v, str)}  # one array each: folds of it are shared
        asked = {
            name: (fields[values] if isinstance(values, str) else self._column(values), how)
            for name, (values, how) in asked.items()
        }
        together = [name for name, (values, how) in asked.items() if how in _REDUCTIONS and self._groups.takes(how, values)]
        values, names = [asked[name][0] for name in together], [asked[name][1] for name in together]
        found = dict(zip(together, self._groups.reduce(names, values, [None] * len(names))))
        for name in asked.keys() - found.keys():
            values, how = asked[name]
            found[name] = getattr(self, how)(values)
        return _dynd.zip(list(asked), [found[name] for name in asked])

    def transform(self, how, values=None):
        """What a reduction gives for each group, or a function of the rows for each element, in the order of the elements.

        how: the name of a reduction, or a function that takes the ragged array and returns one of the same rows, or with
        one value for each.

        >>> nd.groupby([1.0, 2.0, 5.0], by=[7, 8, 7]).transform("mean")
        nd.array([3.0, 2.0, 3.0], type="strided * float64")
        """
        if isinstance(how, str):
            return self._groups.spread(getattr(self, _known(how))(values))
        column = self._column(values)
        result = _dynd.asarray(how(self._grouped(column)))
        inside, ndim = self._groups.axis + 1, _dynd.rows_ndim(result)
        if ndim < inside:
            raise ValueError(f"groupby: transform: the function must return the rows, or one value for each, not {result!r}")
        return self._groups.restored(result) if ndim > inside else self._groups.spread(result)


def _known(how):
    if how not in _REDUCTIONS and how not in _OTHERS:
        raise ValueError(f"groupby: there is no aggregate {how!r}; there are {', '.join(_REDUCTIONS + _OTHERS)}")
    return how


def _request(name, request):
    """(values, aggregate) from a request of agg."""
    if isinstance(request, str):
        return None, _known(request)
    if not isinstance(request, tuple) or len(request) != 2 or not isinstance(request[1], str):
        raise TypeError(f"groupby: {name!r} must be the name of an aggregate, or a tuple (values, name), not {request!r}")
    return request[0], _known(request[1])


def _add_methods():
    def reduction(name):
        def method(self, values=None, axis=None, **keywords):
            return self._reduce(name, values, axis, keywords)

        method.__doc__ = f"{name} of each group's values; with another axis, of the ragged array. As nd.{name}."
        return method

    def operator(name):
        def method(self, *others):
            return getattr(self.__dynd_array__(), name)(*others)

        return method

    for maker, names in ((reduction, _REDUCTIONS), (operator, _OPERATORS)):
        for name in names:
            method = maker(name)
            method.__name__, method.__qualname__ = name, f"GroupBy.{name}"
            setattr(GroupBy, name, method)


_add_methods()

"""Dynamically typed multidimensional arrays, ragged ones included.

    >>> from dynd import nd, ndt
    >>> nd.array([[1, 2], [3]]) + nd.array([[4], [5, 6, 7]])
    nd.array([[5, 6], [8, 9, 10]], type="strided * var * int32")
"""
from dynd import nd, ndt

__all__ = ["nd", "ndt"]

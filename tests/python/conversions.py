"""What a conversion of one value gives or is refused with, in exact Python integers and fractions."""

import math
from fractions import Fraction

MODES = ["nocheck", "overflow", "fractional", "inexact"]
#: digits, lowest exponent, first that is too large
FLOATS = {"float16": (11, -24, 16), "float32": (24, -149, 128), "float64": (53, -1074, 1024)}
COMPONENTS = {"complex64": "float32", "complex128": "float64"}


class Refused(Exception):
    """`kind` is what the message begins with."""

    def __init__(self, kind):
        self.kind = kind


def limits(scalar):
    if scalar == "bool":
        return 0, 1
    bits = int(scalar.lstrip("uint"))
    return (0, 2**bits - 1) if scalar.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def nearest(exact, scalar):
    """The value of a floating type nearest to a fraction, ties to even; beyond its range an infinity."""
    digits, lowest, top = FLOATS[scalar]
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent  # 2 ** exponent <= size < 2 ** (exponent + 1)
    unit = Fraction(2) ** max(exponent - digits + 1, lowest)
    rounded = round(size / unit) * unit
    found = math.inf if rounded >= Fraction(2) ** top else float(rounded)
    return math.copysign(found, exact)


def wrapped(number, scalar):
    low, high = limits(scalar)
    return (number - low) % (high - low + 1) + low


def truncated(value, scalar):
    """A float without a check: by way of int32 or int64, whose smallest value stands for what they cannot hold."""
    way = "int32" if scalar in ("int8", "int16", "int32", "uint8", "uint16") else "int64"
    low, high = limits(way)
    if not math.isfinite(value):
        number = 0 if scalar == "uint64" and value > 0 else low
    elif scalar == "uint64" and value >= 2.0**63:
        number = int(value) if value < 2.0**64 else 0
    else:
        number = int(value) if low <= int(value) <= high else low
    return wrapped(number, scalar)


def shown(scalar):
    """The name of a type in messages."""
    return f"complex[{COMPONENTS[scalar]}]" if scalar in COMPONENTS else scalar


def convert(value, source, to, mode):
    """A Python value of type `source` as one of type `to`; raises Refused."""
    if to in COMPONENTS:
        parts = (value.real, value.imag) if source in COMPONENTS else (value, 0.0)
        found, kinds = [], []
        for part, own in zip(parts, (COMPONENTS.get(source, source), COMPONENTS.get(source, "float64"))):
            try:
                found.append(convert(part, own, COMPONENTS[to], mode))
            except Refused as refusal:
                kinds.append(refusal.kind)
        if kinds:
            raise Refused("overflow" if "overflow" in kinds else kinds[0])
        return complex(*found)
    if source in COMPONENTS and to != "bool":
        if mode != "nocheck" and not value.imag == 0:
            raise Refused("loss of imaginary component")
        return convert(value.real, COMPONENTS[source], to, mode)
    from_float, to_float = source in FLOATS, to in FLOATS
    finite = not from_float or math.isfinite(value)
    checked = mode != "nocheck"
    if to == "bool":
        if checked and value not in (0, 1):
            raise Refused("overflow")
        return value != 0
    if to_float:
        if not finite:
            return value
        found = nearest(Fraction(value), to)
        found = math.copysign(found, value) if from_float else found  # -0.0
        if checked and math.isinf(found):
            raise Refused("overflow")
        if mode == "inexact" and Fraction(found) != Fraction(value):
            raise Refused("inexact precision loss" if from_float else "inexact value")
        return found
    low, high = limits(to)
    if checked and not (finite and low <= Fraction(value) <= high):
        raise Refused("overflow")
    if from_float and checked and mode != "overflow" and Fraction(value).denominator != 1:
        raise Refused("fractional part lost")
    return truncated(value, to) if from_float else wrapped(int(value), to)

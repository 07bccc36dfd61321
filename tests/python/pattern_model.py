"""What a pattern of datashape matches, by the rules of docs/datashape.md alone: trees, walked with every way to share
dimensions between an ellipsis and its neighbours. It never imports dynd and never parses.

    ("scalar", "int8")   ("string",)   ("option", t)   ("pointer", t)   ("dim", "3" | "strided" | "var", t)
    ("struct", ((name, t), ...), is_open)   ("tuple", (t, ...), is_open)   ("function", ((name, t), ...), result)
    patterns also: ("variable", "T", family or None)   ("family", "Float")   ("any",)
                   ("named_dim", "N", t)   ("fixed_dim", t)   ("dims", name or None, "any" | "var" | "fixed", t)
"""
SIGNED, UNSIGNED = {"int8", "int16", "int32", "int64"}, {"uint8", "uint16", "uint32", "uint64"}
FLOATS, COMPLEX = {"float16", "float32", "float64"}, {"complex64", "complex128"}
REAL = SIGNED | UNSIGNED | FLOATS
FAMILIES = {
    "Int": SIGNED, "UInt": UNSIGNED, "Float": FLOATS, "Complex": COMPLEX, "Real": REAL, "Number": REAL | COMPLEX,
    "Bool": {"bool"}, "Text": {"string"}, "Scalar": REAL | COMPLEX | {"bool", "string", "bytes"},
}  # fmt: skip


def text(t):
    kind = t[0]
    if kind == "scalar":
        return t[1]
    if kind == "option":
        return f"?{text(t[1])}"
    if kind == "pointer":
        return f"pointer[{text(t[1])}]"
    if kind in ("dim", "named_dim"):
        return f"{t[1]} * {text(t[2])}"
    if kind == "fixed_dim":
        return f"fixed * {text(t[1])}"
    if kind == "dims":
        return f"{t[1] or {'any': '', 'var': 'var', 'fixed': 'fixed'}[t[2]]}... * {text(t[3])}"
    if kind == "variable":
        return f"{t[2]} {t[1]}" if t[2] else t[1]
    if kind == "family":
        return t[1]
    if kind == "any":
        return "Any"
    if kind == "function":
        return f"({', '.join((f'{n}: ' if n else '') + text(p) for n, p in t[1])}) -> {text(t[2])}"
    parts = [f"{n}: {text(p)}" for n, p in t[1]] if kind == "struct" else [text(p) for p in t[1]]
    inside = ", ".join(parts + ["..."] * t[2])
    return f"{{{inside}}}" if kind == "struct" else f"({inside})"


def bind(bound, name, value):
    if name is None:
        return [bound]
    return [bound] if bound.get(name, value) == value and name in bound else [] if name in bound else [{**bound, name: value}]


def match_all(pairs, bound):
    found = [bound]
    for t, p in pairs:
        found = [b for before in found for b in match(t, p, before)]
    return found


def below_ellipsis(p):
    """Any is an element there, because an ellipsis takes all dimensions that are left."""
    return ("any_element",) if p[0] == "any" else (*p[:-1], below_ellipsis(p[-1])) if p[0].endswith("dim") else p


def match(t, p, bound):
    """All ways to bind what the pattern names; empty where it does not match."""
    kind = p[0]
    if kind == "any" or kind == "any_element" and t[0] != "dim":
        return [bound]
    if kind == "dims":
        found, outer, rest, p = [], (), t, (*p[:3], below_ellipsis(p[3]))
        while True:
            found += [b for before in bind(bound, p[1], outer) for b in match(rest, p[3], before)]
            if rest[0] != "dim" or rest[1] == "var" and p[2] == "fixed" or rest[1] != "var" and p[2] == "var":
                return found
            outer, rest = (*outer, rest[1]), rest[2]
    if kind in ("dim", "named_dim", "fixed_dim"):
        if t[0] != "dim" or kind == "dim" and t[1] != p[1] or kind == "fixed_dim" and t[1] == "var":
            return []
        bounds = bind(bound, p[1], t[1]) if kind == "named_dim" else [bound]
        return [b for before in bounds for b in match(t[2], p[-1], before)]
    if t[0] == "dim":
        return []
    if kind in ("variable", "family"):
        family = p[2] if kind == "variable" else p[1]
        if t[0] == "option" or family and not (t[0] == "scalar" and t[1] in FAMILIES[family]):
            return []
        return bind(bound, p[1], t) if kind == "variable" else [bound]
    if t[0] != kind:
        return []
    if kind == "scalar":
        return [bound] if t == p else []
    if kind in ("option", "pointer"):
        return match(t[1], p[1], bound)
    if kind == "function":
        if [n for n, _ in t[1]] != [n for n, _ in p[1]]:
            return []
        return match_all([*zip([x for _, x in t[1]], [x for _, x in p[1]]), (t[2], p[2])], bound)
    if kind == "struct" and p[2]:
        own = dict(t[1])
        return match_all([(own[n], x) for n, x in p[1]], bound) if all(n in own for n, _ in p[1]) else []
    if kind == "struct":
        if [n for n, _ in t[1]] != [n for n, _ in p[1]]:
            return []
        return match_all(zip([x for _, x in t[1]], [x for _, x in p[1]]), bound)
    if len(t[1]) < len(p[1]) or not p[2] and len(t[1]) != len(p[1]):
        return []
    return match_all(zip(t[1], p[1]), bound)


def substitute(p, bound):
    kind = p[0]
    if kind == "variable":
        return bound.get(p[1], p)
    if kind == "named_dim":
        inner = substitute(p[2], bound)
        return ("dim", bound[p[1]], inner) if p[1] in bound else ("named_dim", p[1], inner)
    if kind == "dims":
        inner = substitute(p[3], bound)
        if p[1] is None or p[1] not in bound:
            return (*p[:3], inner)
        for d in reversed(bound[p[1]]):
            inner = ("dim", d, inner)
        return inner
    if kind in ("option", "pointer", "fixed_dim", "dim"):
        return (*p[:-1], substitute(p[-1], bound))
    if kind == "struct":
        return (kind, tuple((n, substitute(x, bound)) for n, x in p[1]), p[2])
    if kind == "tuple":
        return (kind, tuple(substitute(x, bound) for x in p[1]), p[2])
    if kind == "function":
        return (kind, tuple((n, substitute(x, bound)) for n, x in p[1]), substitute(p[2], bound))
    return p


# ---- random trees ----------------------------------------------------------------------------------------------------

SCALARS = sorted(FAMILIES["Scalar"])


def random_type(r, depth=3):
    for_dims = [r.choice(["3", "2", "strided", "var"]) for _ in range(r.choice([0, 0, 0, 1, 1, 2, 3]))]
    kind = r.choice(["scalar"] * 4 + (["struct", "tuple", "option", "pointer"] if depth else []))
    if kind == "scalar":
        made = ("scalar", r.choice(SCALARS))
    elif kind == "option":
        inside = random_type(r, 0)
        while inside[0] == "dim":
            inside = inside[2]
        made = ("option", inside)
    elif kind == "pointer":
        made = ("pointer", random_type(r, depth - 1))
    else:
        parts = [random_type(r, depth - 1) for _ in range(r.randint(1, 3))]
        made = ("tuple", tuple(parts), False) if kind == "tuple" else (
            "struct", tuple(zip(r.sample("abcxyz", len(parts)), parts)), False)
    for d in for_dims:
        made = ("dim", d, made)
    return made


def random_function(r):
    names = r.sample([None, None, None, "x", "y", "k"], r.randint(1, 3))
    names.sort(key=lambda n: n is not None)
    return ("function", tuple((n, random_type(r, 1)) for n in names), random_type(r, 1))


def pattern_of(r, t):
    """A pattern made from a type, which may no longer match it: names come twice, parts are changed."""
    change = r.random()
    if t[0] == "function":
        return ("function", tuple((n, pattern_of(r, x)) for n, x in t[1]), pattern_of(r, t[2]))
    if t[0] == "dim":
        dims, inner = [], t
        while inner[0] == "dim":
            dims.append(inner[1])
            inner = inner[2]
        made = pattern_of(r, inner)
        if change < 0.1:
            return ("any",)
        cut = sorted(r.randint(0, len(dims)) for _ in range(2)) if change < 0.5 else None
        for i in reversed(range(len(dims))):
            if cut and i == (cut[1] - 1 if cut[0] < cut[1] else cut[0]):
                name = r.choice([None, "Dims", "Outer"])
                made = ("dims", name, "any" if name else r.choice(["any", "var", "fixed"]), made)
            if cut and cut[0] <= i < cut[1]:
                continue
            made = r.choice([("dim", dims[i], made), ("named_dim", r.choice("NMK"), made), ("fixed_dim", made),
                             ("dim", r.choice(["3", "strided", "var"]), made)])
        return made
    if change < 0.35 and t[0] != "option":
        return ("variable", r.choice("TUV"), r.choice([None, None, None, *FAMILIES]))
    if change < 0.45:
        return r.choice([("any",), ("family", r.choice(sorted(FAMILIES)))])
    if t[0] == "scalar":
        return t if change < 0.95 else ("scalar", r.choice(SCALARS))
    if t[0] in ("option", "pointer"):
        return (t[0], pattern_of(r, t[1]))
    is_open = r.random() < 0.4
    parts = list(t[1])
    if is_open:
        if t[0] == "struct":
            r.shuffle(parts)
        parts = parts[: r.randint(0, len(parts))]
    if t[0] == "struct":
        return ("struct", tuple((n, pattern_of(r, x)) for n, x in parts), is_open)
    return ("tuple", tuple(pattern_of(r, x) for x in parts), is_open)

"""Functions from elsewhere as callables: Python functions, C functions, Numba's, NumPy's ufuncs."""
import ctypes
import hashlib
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from dynd import _dynd, ndt

# What C calls the scalar types, and how ctypes does.
C_TYPES = {
    "bool": ("_Bool", ctypes.c_bool), "int8": ("int8_t", ctypes.c_int8), "int16": ("int16_t", ctypes.c_int16),
    "int32": ("int32_t", ctypes.c_int32), "int64": ("int64_t", ctypes.c_int64), "uint8": ("uint8_t", ctypes.c_uint8),
    "uint16": ("uint16_t", ctypes.c_uint16), "uint32": ("uint32_t", ctypes.c_uint32),
    "uint64": ("uint64_t", ctypes.c_uint64), "float32": ("float", ctypes.c_float),
    "float64": ("double", ctypes.c_double), "complex64": ("float _Complex", None),
    "complex128": ("double _Complex", None),
}

# The types of prototypes, their words sorted.
PROTOTYPE_TYPES = {
    "_Bool": "bool", "bool": "bool", "char": "int8", "char signed": "int8", "char unsigned": "uint8",
    "double": "float64", "float": "float32", "_Complex float": "complex64", "_Complex double": "complex128",
    "complex float": "complex64", "complex double": "complex128", "intptr_t": "int64", "uintptr_t": "uint64",
    "size_t": "uint64", "ssize_t": "int64", "ptrdiff_t": "int64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{" ".join(sorted(words.split())): name for name, spellings in {
        "int16": ["short", "short int", "signed short", "signed short int"],
        "uint16": ["unsigned short", "unsigned short int"],
        "int32": ["int", "signed", "signed int"], "uint32": ["unsigned", "unsigned int"],
        "int64": ["long", "long int", "signed long", "signed long int", "long long", "long long int",
                  "signed long long", "signed long long int"],
        "uint64": ["unsigned long", "unsigned long int", "unsigned long long", "unsigned long long int"],
    }.items() for words in spellings},
}

PURE, TOTAL, ONE_THREAD = 1, 2, 16  # deferred_ckernel_flags

WRAPPER = """\
#include <complex.h>
#include "dynd/abi/callable.h"

typedef {returned} (*function_t)({parameters});
typedef int (*failed_t)(const void *original, size_t index, const char *const *src, dynd_frame *frame);

typedef struct {{
  deferred_ckernel base;
  failed_t failed; /* where the function gives a status */
  const void *original;
  long refs;
  char text[];
}} wrapped;

typedef struct {{
  ckernel_prefix base;
  const wrapped *of;
}} leaf;

static int run(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *stride, size_t count,
               const ckernel_prefix *self, dynd_frame *frame) {{
  const wrapped *of = ((const leaf *)self)->of;
  function_t function = (function_t)of->base.data_ptr;
  {locals}
  (void)frame;
  if (dst_stride == sizeof({result}){dense}) /* fewer registers, which the calls keep */
    for (size_t i = 0; i < count; i++) {{
      {dense_call}
    }}
  else
    for (size_t i = 0; i < count; i++, dst += dst_stride{steps}) {{
      {call}
    }}
  return dynd_ok;
}}

static intptr_t instantiate(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {{
  intptr_t end = offset + (intptr_t)sizeof(leaf);
  (void)bind;
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end) != dynd_ok)
    return dynd_error_memory;
  ((leaf *)(out->data + offset))->base.function = (void *)run;
  ((leaf *)(out->data + offset))->of = (const wrapped *)self;
  return end;
}}

static void retain(const deferred_ckernel *self) {{ __atomic_fetch_add(&((wrapped *)self)->refs, 1, __ATOMIC_RELAXED); }}
static void release(const deferred_ckernel *self) {{
  if (__atomic_sub_fetch(&((wrapped *)self)->refs, 1, __ATOMIC_ACQ_REL) == 0)
    free((void *)self);
}}

const deferred_ckernel *dynd_wrap(void *address, const char *name, const char *signature, uint32_t flags,
                                  failed_t failed, const void *original) {{
  size_t first = strlen(name) + 1, second = strlen(signature) + 1;
  wrapped *made = (wrapped *)calloc(1, sizeof(wrapped) + first + second);
  if (!made)
    return NULL;
  memcpy(made->text, name, first);
  memcpy(made->text + first, signature, second);
  made->refs = 1;
  made->failed = failed;
  made->original = original;
  made->base = (deferred_ckernel){{sizeof(deferred_ckernel), DYND_ABI_VERSION, expr_operation_funcproto_id, flags,
                                  made->text, made->text + first, NULL, address, instantiate, retain, release, NULL, NULL}};
  return &made->base;
}}
"""

_kept = {}  # wrappers by their source, the libraries of functions, and what Numba has compiled: all stay


def _headers():
    package = pathlib.Path(__file__).parent
    return package / "include" if (package / "include").exists() else package.resolve().parents[1]


def _compiler():
    return shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc") or shutil.which("clang")


def _cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dynd"


def _compiled(source, compiler):
    """The library of a wrapper, from the cache or compiled now."""
    headers = _headers()
    abi = b"".join((headers / "dynd" / "abi" / name).read_bytes() for name in ("kernel.h", "callable.h"))
    key = hashlib.sha256(source.encode() + abi + compiler.encode()).hexdigest()[:32]
    target = _cache() / f"{key}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            (pathlib.Path(folder) / "wrapper.c").write_text(source)
            made = subprocess.run([compiler, "-std=gnu11", "-O2", "-shared", "-fPIC", "-I", str(headers), "-o",
                                   f"{folder}/wrapper.so", f"{folder}/wrapper.c"], capture_output=True, text=True)
            if made.returncode:
                raise RuntimeError(f"from_address: the wrapper does not compile:\n{made.stderr}")
            os.replace(f"{folder}/wrapper.so", target)
    return ctypes.CDLL(str(target))


def _check_texts(caller, name, doc):
    for what, given in (("name", name), ("doc", doc)):
        if not isinstance(given, str):
            raise TypeError(f"{caller}: {what} must be text, not {given!r}")


def _scalar_signature(caller, what, signature):
    """The names of the types of the operands and of the result."""
    if signature is None:
        raise TypeError(f"{caller}: {what} takes a signature, as '(float64) -> float64'")
    signature = ndt.type(signature)
    if any(p[3] != "positional" for p in signature.parameters):
        raise TypeError(f"{caller}: {what} takes numbers by their position: {signature}")
    operands = [str(p[1]) for p in signature.parameters]
    result = str(signature.result)
    for name in [*operands, result]:
        if name not in C_TYPES:
            raise TypeError(f"{caller}: {what} takes and gives one number each, not {name}: {signature}")
    return signature, operands, result


def from_address(address, signature, *, name="function", doc="", pure=False, threads=True):
    """A C function by its address, with a signature of scalars, as a callable.

    A loop for the signature is compiled once with the system's C compiler, and kept in the user's cache; without a
    compiler ctypes calls the function. The address has to stay valid. pure: the result depends on the operands only,
    so that it may be lazy. threads: it may be called on several threads at once.

    >>> nd.from_address(ctypes.cast(libm.hypot, ctypes.c_void_p).value, "(float64, float64) -> float64")
    """
    signature, operands, result = _scalar_signature("from_address", "a C function by its address", signature)
    _check_texts("from_address", name, doc)
    if isinstance(address, bool) or not isinstance(address, int) or not 0 < address < 2**64:
        raise TypeError(f"from_address: expected an address, not {address!r}")
    if _compiler() is None:
        return _by_ctypes(address, signature, operands, result, name, doc)
    flags = TOTAL | (PURE if pure else 0) | (0 if threads else ONE_THREAD)
    return _wrapped(address, signature, operands, result, name, doc, flags)


def _wrapped(address, signature, operands, result, name, doc, flags, original=None):
    """A callable whose loop calls the address. Where there is a Python function that it was made of, it gives a status
    and takes addresses, of the result first: see add_wrapped."""
    types = [C_TYPES[t][0] for t in operands]
    own = C_TYPES[result][0]
    numbered = list(enumerate(types))

    def call(to, elements):
        if original is None:
            return f"*{to} = function({', '.join('*' + e for e in elements)});"
        at = ", ".join(f"(const char *){e}" for e in elements)
        return (f"if (function({', '.join([to, *elements])})) "
                f"return of->failed(of->original, i, (const char *const[]){{{at}}}, frame);")
    source = WRAPPER.format(
        result=own, returned="int32_t" if original else own,
        parameters=", ".join([f"{own} *", *(f"const {t} *" for t in types)] if original else types),
        locals=" ".join(f"const char *s{i} = src[{i}]; const intptr_t d{i} = stride[{i}];" for i, _ in numbered),
        dense="".join(f" && d{i} == sizeof({t})" for i, t in numbered),
        dense_call=call(f"(({own} *)dst + i)", [f"((const {t} *)s{i} + i)" for i, t in numbered]),
        steps="".join(f", s{i} += d{i}" for i, _ in numbered),
        call=call(f"({own} *)dst", [f"(const {t} *)s{i}" for i, t in numbered]))
    library = _kept.get(source) or _kept.setdefault(source, _compiled(source, _compiler()))
    made = _dynd.new_callable(name, doc)
    make = ctypes.cast(library.dynd_wrap, ctypes.c_void_p).value
    _dynd.add_wrapped(made, make, address, name, str(signature), flags, original)
    return made


def _by_ctypes(address, signature, operands, result, name, doc):
    kinds = [C_TYPES[t][1] for t in [result, *operands]]
    if None in kinds:
        raise RuntimeError(f"from_address: complex numbers take a C compiler, and there is none: {signature}")
    return _dynd.python_callable(name, str(signature), ctypes.CFUNCTYPE(*kinds)(address), doc)


def _prototype_type(text, prototype):
    words = sorted(w for w in re.findall(r"\w+|\S", text) if w not in ("const", "volatile", "restrict", "register"))
    found = PROTOTYPE_TYPES.get(" ".join(words))
    if found is None:
        raise TypeError(f"from_c: there is no type for {text.strip()!r} in {prototype!r}")
    return found


def _parse_prototype(prototype):
    """(name, types of the operands, type of the result)."""
    found = re.fullmatch(r"\s*(?:extern\s+)?(?P<result>[\w\s*]+?)\s*\b(?P<name>[A-Za-z_]\w*)\s*\((?P<arguments>[^()]*)\)\s*;?\s*",
                         prototype)
    if not found:
        raise ValueError(f"from_c: expected a prototype as 'double hypot(double, double)', not {prototype!r}")
    arguments = found["arguments"].strip()
    if arguments in ("", "void"):
        raise TypeError(f"from_c: a function without operands cannot be applied to arrays: {prototype!r}")
    operands = []
    for argument in arguments.split(","):
        words = re.findall(r"\w+|\S", argument)
        known = {w for t in PROTOTYPE_TYPES for w in t.split()} | {"const", "volatile", "register"}
        named = len(words) > 1 and words[-1].isidentifier() and words[-1] not in known  # the parameter's name
        operands.append(_prototype_type(" ".join(words[:-1] if named else words), prototype))
    return found["name"], operands, _prototype_type(found["result"], prototype)


def from_c(prototype, library=None, *, doc="", pure=False, threads=True):
    """A function of a shared library, by its C prototype.

    library: a file, the name of a library of the system, or None for the functions of this process.

    >>> nd.from_c("double hypot(double, double)", "libm.so.6")([[3.0, 5.0], [8.0]], [[4.0], [15.0]])
    nd.array([[5.0, 6.4031242374328485], [17.0]], type="strided * var * float64")
    """
    if not isinstance(prototype, str):
        raise TypeError(f"from_c: expected a prototype as 'double hypot(double, double)', not {prototype!r}")
    name, operands, result = _parse_prototype(prototype)
    if not isinstance(library, (str, bytes, os.PathLike, type(None))):
        raise TypeError(f"from_c: expected the name of a library, not {library!r}")
    key = os.fspath(library) if library is not None else None
    try:
        opened = _kept.get(("library", key)) or _kept.setdefault(("library", key), ctypes.CDLL(key))
    except OSError as e:
        raise ValueError(f"from_c: the library {key!r} cannot be loaded: {e}") from None
    try:
        function = getattr(opened, name)
    except AttributeError:
        raise ValueError(f"from_c: there is no function {name!r} in {key or 'this process'}") from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    return from_address(address, f"({', '.join(operands)}) -> {result}", name=name, doc=doc or prototype, pure=pure,
                        threads=threads)


# NumPy's characters for types; C has two names for some.
UFUNC_TYPES = {"?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32",
               "l": "int64", "L": "uint64", "q": "int64", "Q": "uint64", "e": "float16", "f": "float32", "d": "float64",
               "F": "complex64", "D": "complex128"}


def _core_dims(ufunc):
    """Every form of a gufunc, '(m?,n),(n,3)->(m?,3)': a tuple of the core dimensions of each operand and result as texts,
    the numbers of NumPy's core dimensions among the sizes of a call, and where each operand has NumPy's core dimensions
    (see add_ufunc_loop). Those with a question mark may be missing, all of one name together: NumPy then has size 1."""
    if not getattr(ufunc, "signature", None):
        yield [""] * ufunc.nargs, [], [[] for _ in range(ufunc.nargs)]
        return
    groups = [[n.strip().removesuffix("|1") for n in group.split(",") if n.strip()]
              for group in re.findall(r"\(([^()]*)\)", ufunc.signature)]
    names = list(dict.fromkeys(n for group in groups for n in group))      # NumPy's core dimensions, in their order
    optional = [n for n in names if n.endswith("?")]
    for missing in itertools.chain.from_iterable(itertools.combinations(optional, k) for k in range(len(optional) + 1)):
        there = [n for n in names if n not in missing and not n.rstrip("?").isdigit()]
        own = [[n.rstrip("?") for n in group if n not in missing] for group in groups]
        texts = ["".join(f"{n[0].upper()}{n[1:]} * " for n in group) for group in own]
        sizes = [there.index(n) if n in there else -2 if n in missing else -1 - int(n.rstrip("?")) for n in names]
        numbers = [iter(range(len(group))) for group in own]
        places = [[-1 if n in missing else next(number) for n in group] for group, number in zip(groups, numbers)]
        yield texts, sizes, places


def _chosen_sizes(ufunc, types, dims):
    """What add_ufunc_loop needs for the sizes of results that no operand has, as min(m, n) of svd: the signature and the
    function that finds them, and how many there are; None where there are none. NumPy itself is asked, with no element."""
    def names(texts):
        return list(dict.fromkeys(n for text in texts for n in text.split(" * ") if n and not n.isdigit()))
    known = names(dims[:ufunc.nin])
    missing = [n for n in names(dims[ufunc.nin:]) if n not in known]
    if not missing:
        return None
    kinds = types.split("->")[0]

    def sizes(*given):
        size_of = dict(zip(known, given))
        operands = [sys.modules["numpy"].empty((0, *(int(size_of.get(n, n)) for n in text.split(" * ") if n)), kind)
                    for text, kind in zip(dims, kinds)]
        results = ufunc(*operands, signature=types)
        for text, result in zip(dims[ufunc.nin:], results if isinstance(results, tuple) else (results,)):
            size_of.update(zip((n for n in text.split(" * ") if n), result.shape[1:]))
        return [size_of[n] for n in missing]
    operands = ", ".join(d + UFUNC_TYPES[k] for d, k in zip(dims, kinds))
    result = "int64" if len(missing) == 1 else f"({', '.join(['int64'] * len(missing))})"
    return f"({operands}) -> {result}", sizes, len(known), len(missing)


def from_ufunc(ufunc):
    """A ufunc or gufunc of NumPy, SciPy or Numba as a callable: its own compiled loops, called on rows and blocks.

    Every loop for types of the library is an overload. It runs on the calling thread.

    >>> nd.from_ufunc(np.ldexp)([[1.0, 2.0], [3.0]], [[1], [2]])
    nd.array([[2.0, 4.0], [12.0]], type="strided * var * float64")
    """
    numpy = sys.modules.get("numpy")
    writes = getattr(getattr(ufunc, "gufunc_builder", None), "writable_args", ())  # of Numba
    of_numba, ufunc = hasattr(ufunc, "ufunc"), getattr(ufunc, "ufunc", ufunc)
    if numpy is None or not isinstance(ufunc, numpy.ufunc):
        raise TypeError(f"from_ufunc: expected a ufunc, not {ufunc!r}")
    name = re.sub(r"\W", "_", ufunc.__name__)
    if writes or name.startswith("qr_r_raw"):  # NumPy's qr hands it a copy
        raise TypeError(f"from_ufunc: {name} writes to its operand, which its signature does not say")
    made = _dynd.new_callable(name, (ufunc.__doc__ or "").strip())
    for dims, sizes, places in _core_dims(ufunc):
        known = set()  # C has two names for some types
        for index, types in enumerate(ufunc.types):
            kinds = types.replace("->", "")
            if any(k not in UFUNC_TYPES for k in kinds):
                continue
            parts = [d + UFUNC_TYPES[k] for d, k in zip(dims, kinds)]
            operands, results = parts[:ufunc.nin], parts[ufunc.nin:]
            if tuple(operands) not in known:
                result = results[0] if len(results) == 1 else f"({', '.join(results)})"
                _dynd.add_ufunc_loop(made, ufunc, index, f"({', '.join(operands)}) -> {result}", sizes, places,
                                     _chosen_sizes(ufunc, types, dims))
                known.add(tuple(operands))
    if of_numba and not ufunc.types:
        raise TypeError(f"from_ufunc: {name} has no loops yet; give its types where it is made, "
                        "as @numba.vectorize(['float64(float64)'])")
    if not made.signatures:
        raise TypeError(f"from_ufunc: {name} has no loop for types of this library: {', '.join(ufunc.types) or 'NumPy lists none'}")
    return made


def _numba_signature(function):
    signature = function._sig
    return f"({', '.join(str(a) for a in signature.args)}) -> {signature.return_type}"


def _never_raises(function):
    """Whether Numba found that the function cannot raise: the status that it gives is 0."""
    bodies = re.findall(r"^define[^\n]*%excinfo.*?^}", function.inspect_llvm(), re.S | re.M)
    return bool(bodies) and all(status == "0" for body in bodies for status in re.findall(r"\bret i32 (\S+)", body))


def _numba_callable(function, signature, name, doc):
    """A function of @numba.cfunc. What it raises cannot leave it: Numba prints it and gives 0. Nor does it take complex64
    as C does. Such a function is compiled again, to take addresses and give a status; where it fails, the Python function
    says why."""
    signature, operands, result = _scalar_signature("callable", "a function that Numba compiles", signature)
    total = _never_raises(function)
    if total and "complex64" not in (*operands, result):
        _kept["numba", function.address] = function  # it owns the code, and lazy arrays may outlive the callable
        return from_address(function.address, signature, name=name, doc=doc, pure=True)
    if _compiler() is None:
        return _dynd.python_callable(name, str(signature), function._pyfunc, doc)
    import numba
    own = function._sig
    names = [f"x{i}" for i in range(len(operands))]
    values = [f"{n}[0] != 0" if t == "bool" else f"{n}[0]" for n, t in zip(names, operands)]
    space = {"function": numba.njit(own, **function._compiler.targetoptions)(function._pyfunc)}
    exec(f"def guarded(result, {', '.join(names)}):\n"
         f"    try:\n        result[0] = function({', '.join(values)})\n"
         "    except Exception:\n        return 1\n"
         "    return 0\n", space)
    at = [numba.types.CPointer(numba.uint8 if t == numba.boolean else t) for t in (own.return_type, *own.args)]
    guarded = numba.cfunc(numba.int32(*at))(space["guarded"])
    _kept["numba", guarded.address] = guarded
    return _wrapped(guarded.address, signature, operands, result, name, doc, PURE | (TOTAL if total else 0),
                    function._pyfunc)


def callable(function, signature=None, *, name=None, doc=None, numba=False):
    """A callable: a name, documentation and overloads, each with a signature (docs/datashape.md).

    callable("add")                                the operation or kernel of that name, or a new one without overloads
    callable(f, "(float64) -> float64")            a Python function, called for every element
    callable(f, "(N * float64) -> float64")        the same for every row, which it gets as an array
    callable(f)                                    a function of @numba.cfunc
    callable(f, "(float64) -> float64", numba=True)    a Python function that Numba compiles

    >>> nd.callable(lambda x, y: x if x > y else y, "(float64, float64) -> float64")([[1.0, 5.0], [2.0]], 3.0)
    nd.array([[3.0, 5.0], [3.0]], type="strided * var * float64")
    """
    if isinstance(function, str):
        if signature is not None:
            raise TypeError("callable: a name alone has no signature; add overloads with .add(function, signature)")
        found = getattr(sys.modules["dynd.nd"], function, None)
        if found is not None and not isinstance(found, type(_dynd.add)):
            raise ValueError(f"callable: nd.{function} is a function of its own, without overloads")
        if not function.isidentifier():
            raise ValueError(f"callable: {function!r} cannot be a name: it is no identifier")
        return found or _dynd.new_callable(function, doc or "")
    if isinstance(function, type(_dynd.add)) and signature is None:
        return function
    name = name or re.sub(r"\W", "_", getattr(function, "__name__", "") or "function")
    doc = doc or (getattr(function, "__doc__", "") or "").strip()
    _check_texts("callable", name, doc)
    if numba:
        import numba as compiler
        _, operands, result = _scalar_signature("callable", "a function that Numba compiles", signature)
        function = compiler.cfunc(f"{result}({', '.join(operands)})")(getattr(function, "py_func", function))  # of @njit
    if hasattr(function, "address") and hasattr(function, "_sig"):
        own = ndt.type(_numba_signature(function))
        if signature is not None and [p[1] for p in ndt.type(signature).parameters] + [ndt.type(signature).result] != \
                [p[1] for p in own.parameters] + [own.result]:
            raise TypeError(f"callable: {name} was compiled by Numba as {own}, not {ndt.type(signature)}")
        return _numba_callable(function, signature or own, name, doc)
    if not hasattr(function, "__call__"):
        raise TypeError(f"callable: expected a name or a function, not {function!r}")
    if signature is None:
        raise TypeError("callable: a Python function takes a signature, as '(float64) -> float64'")
    return _dynd.python_callable(name, str(ndt.type(signature)), function, doc)

"""C and Fortran functions as kernels: configurations of dynd-kernelgen, built once and loaded."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import types

from dynd import _dynd
from dynd._foreign import _cache, _headers


def _generator():
    """The program: in the package, beside the library of a checkout, or in the PATH."""
    package = pathlib.Path(__file__).parent
    module = pathlib.Path(_dynd.__file__).resolve().parent
    for place in (package / "dynd-kernelgen", module / "dynd-kernelgen", module.parent / "dynd-kernelgen"):
        if place.exists():
            return str(place)
    found = shutil.which("dynd-kernelgen")
    if not found:
        raise RuntimeError("wrap: there is no dynd-kernelgen; build the target of that name")
    return found


def _run(*words):
    environment = dict(os.environ, DYND_INCLUDE=str(_headers()))
    made = subprocess.run([_generator(), *words], capture_output=True, text=True, env=environment)
    if made.returncode:
        raise ValueError(f"wrap: {made.stderr.strip()}")
    return made.stdout


def _sources(config, text):
    """The files that a configuration names, as far as they are there: a change of one is another plug-in."""
    found = re.search(r"^\s*sources\s*[=:](.*(?:\n\s+.*)*)", text, re.MULTILINE | re.IGNORECASE)
    names = re.split(r"[,\s]+", found[1]) if found else []
    return [p for p in (config.parent / n for n in names if n) if p.is_file()]


def _key(config):
    """What the plug-in is made of: the generated source, the module's own files, the ABI and the compiler."""
    text = config.read_text()
    parts = [_run("generate", str(config), "-o", "-").encode(), text.encode(), str(config.parent).encode()]
    parts += [p.read_bytes() for p in _sources(config, text)]
    parts += [p.read_bytes() for p in sorted((_headers() / "dynd" / "abi").glob("*.h"))]
    parts += [os.environ.get(name, "").encode() for name in ("CC", "CXX", "FC")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def wrap(config):
    """Makes kernels of the C or Fortran functions that a configuration describes, and returns them as a namespace.

    The plug-in is built once, and kept in the user's cache; a change of the configuration or of a source builds it anew.
    Its kernels are functions of this module too, under their names with the configuration's `prefix`.
    docs/kernelgen.md shows how to write one.

    >>> blas = nd.wrap("blas.cfg")
    >>> blas.ddot([[1.0, 2.0], [3.0]], [[1.0, 1.0], [2.0]])
    nd.array([3.0, 6.0], type="strided * float64")
    """
    from dynd import nd
    config = pathlib.Path(config).resolve()
    if not config.is_file():
        raise FileNotFoundError(f"wrap: there is no file {str(config)!r}")
    target = _cache() / f"{_key(config)}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            _run("build", str(config), "-o", f"{folder}/plugin.so")
            os.replace(f"{folder}/plugin.so", target)
    found = re.search(r"^\s*prefix\s*[=:]\s*(\w+)", config.read_text(), re.MULTILINE | re.IGNORECASE)
    prefix = found[1] if found else ""
    names = nd.load(target)
    return types.SimpleNamespace(**{n.removeprefix(prefix): getattr(nd, n) for n in names})


def wrap_header(header, functions, library=None, *, include_dirs=(), prefix="", threadsafe=True):
    """A quick start: scans a C header for functions, and wraps them as well as their declarations can be guessed.

    const pointers are inputs, sizes are recognised by their names; where nothing can be guessed, it says what a
    configuration would have to say. `library` is what the linker calls it, without lib.

    >>> m = nd.wrap_header("math.h", ["hypot"], "m", prefix="c_")
    >>> m.hypot([[3.0, 5.0], [8.0]], [[4.0], [15.0]])
    nd.array([[5.0, 6.4031242374328485], [17.0]], type="strided * var * float64")
    """
    folder = _cache() / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    words = [f"--include-dir={d}" for d in include_dirs] + [f"--match={f}" for f in functions]
    words += [f"--library={library}"] if library else []
    words += [f"--prefix={prefix}"] if prefix else []
    words += ["--threadsafe"] if threadsafe else []
    text = _run("scan", os.fspath(header), "--guess", *words, "-o", "-")
    config = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.cfg"
    config.write_text(text)
    return wrap(config)

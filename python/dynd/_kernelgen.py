"""C and Fortran functions as kernels: configurations of dynd-kernelgen, built once and loaded."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types

from dynd import _dynd
from dynd._elsewhere import _cache, _headers


_loaded = {}  # of each configuration: its plug-in, and the names of its kernels


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
    environment = dict(os.environ, DYND_INCLUDE=str(_headers()), DYND_PREFIX=sys.prefix, DYND_SITE=sysconfig.get_path("purelib"))
    made = subprocess.run([_generator(), *words], capture_output=True, text=True, env=environment)
    if made.returncode:
        raise ValueError(f"wrap: {made.stderr.strip()}")
    return made.stdout


def _digest(*parts):
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _key(config, generated):
    """What the plug-in is made of, but for the files that compilers read: the configuration, the ABI, the compilers."""
    parts = [generated.encode(), config.read_bytes(), str(config.parent).encode()]
    parts += [p.read_bytes() for p in sorted((_headers() / "dynd" / "abi").glob("*.h"))]
    parts += [os.environ.get(name, "").encode() for name in ("CC", "CXX", "FC")]
    return _digest(*parts)


def _target(key, inputs):
    """The plug-in, by the contents of its sources and headers, which the last build has listed; None before the first."""
    if not inputs.exists():
        return None
    files = map(pathlib.Path, inputs.read_text().splitlines())
    return inputs.parent / f"{_digest(key.encode(), *(p.read_bytes() if p.is_file() else b'' for p in files))}.so"


def _built(config, generated):
    key = _key(config, generated)
    inputs = _cache() / f"{key}.inputs"
    target = _target(key, inputs)
    if target is None or not target.exists():
        inputs.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=inputs.parent) as folder:
            _run("build", str(config), "-o", f"{folder}/plugin.so", "--inputs", f"{folder}/inputs")
            os.replace(f"{folder}/inputs", inputs)
            target = _target(key, inputs)
            os.replace(f"{folder}/plugin.so", target)
    return target


def _load(config, target):
    """The names of its kernels. What the configuration was before is forgotten, unless the new plug-in is refused."""
    from dynd import nd
    before = _loaded.get(config)
    if before and before[0] != target:
        _dynd.forget(str(before[0]))
        for name in before[1]:
            vars(nd).pop(name, None)
    try:
        names = nd.load(target)
    except BaseException:
        if before and before[0] != target:
            del _loaded[config]  # it may be refused too: its file may be gone
            _loaded[config] = before[0], nd.load(before[0])
        raise
    _loaded[config] = target, names
    return names


def wrap(config):
    """Makes kernels of the C or Fortran functions that a configuration describes, and returns them as a namespace.

    The plug-in is built once, and kept in the user's cache; a change of the configuration, a source or a header of its
    own builds it anew, and its kernels take the place of those from before.
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
    generated = _run("generate", str(config), "-o", "-")
    names = _load(config, _built(config, generated))
    found = re.search(r"Names begin with (\w+)\.", generated.partition("\n")[0])
    return types.SimpleNamespace(**{n.removeprefix(found[1] if found else ""): getattr(nd, n) for n in names})


def wrap_header(header, functions, library=None, *, include_dirs=(), prefix="", threadsafe=False):
    """A quick start: scans a C header for functions, and wraps them as well as their declarations can be guessed.

    const pointers are inputs, sizes are recognised by their names; where nothing can be guessed, it says what a
    configuration would have to say. `library` is what the linker calls it, without lib. Functions run on several threads
    where `threadsafe` promises that they may.

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

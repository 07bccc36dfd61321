"""Real libraries, each wrapped from its own header by the configurations in examples/kernelgen/."""
import inspect
import math
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

import kernelgen_support
from dynd import nd

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kernelgen"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME") if before is None else os.environ.__setitem__("XDG_CACHE_HOME", before)


def wrapped(name):
    return nd.wrap(EXAMPLES / f"{name}.cfg")


def test_libm():
    m = wrapped("libm")
    assert m.hypot([[3.0, 5.0], [8.0]], [[4.0], [15.0]]).tolist() == [[5.0, math.hypot(5, 4)], [17.0]]
    assert nd.c_hypot is m.hypot
    assert str(m.hypot(np.float32([3]), np.float32([4])).type) == "strided * float32"
    exponent, fraction = m.frexp([8.0, 0.75])
    assert fraction.tolist() == [0.5, 0.75] and exponent.tolist() == [4, 0]
    assert m.pow([3.0, 2.0]).tolist() == [9, 4] and m.pow(2.0, 10.0).tolist() == 1024
    with pytest.raises(ValueError, match=r"c_pow: Numerical argument out of domain at index \(1,\)"):
        m.pow([1.0, -1.0], 0.5)
    with pytest.raises(ValueError, match="zero has no exponent"):
        m.ilogb([1.0, 0.0])
    assert "The Bessel function of the first kind" in m.j0.__doc__
    assert m.j0(nd.array([0.0, None])).tolist() == [1.0, None]


def test_cblas():
    blas = wrapped("cblas")
    assert blas.cblas_ddot([[1.0, 2.0], [3.0]], [[1.0, 1.0], [2.0]]).tolist() == [3, 6]
    x = np.arange(12.0)
    assert blas.cblas_ddot_strided(nd.asarray(x[::3]), nd.asarray(x[1::3])).tolist() == x[::3] @ x[1::3]
    assert blas.cblas_dnrm2([[3.0, 4.0], []]).tolist() == [5, 0]
    assert blas.cblas_idamax([[1.0, -7.0, 3.0]]).tolist() == [1]
    z = np.array([1 + 2j, 3 - 1j])
    assert blas.cblas_zdotu(z, z).tolist() == (z * z).sum()
    y = np.ones(4)
    blas.cblas_daxpy(2.0, [1.0, 2.0], nd.asarray(y[::2]))
    assert y.tolist() == [3, 1, 5, 1]
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for left in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        assert blas.cblas_dgemm(nd.asarray(left), b).tolist() == (a @ b).tolist()
        assert blas.cblas_dgemv(nd.asarray(left), b[:, 0]).tolist() == (a @ b[:, 0]).tolist()
    assert blas.cblas_dgemm(a, b, alpha=2.0).tolist() == (2 * a @ b).tolist()
    assert blas.cblas_dgemm(np.ones((5, 1, 2, 3)), np.ones((7, 3, 4))).shape == (5, 7, 2, 4)
    assert blas.cblas_dgemm(np.ones((2, 0)), np.ones((0, 2))).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="K is 3 in operand 0 and 2 in operand 1"):
        blas.cblas_dgemm(a, np.ones((2, 2)))
    assert inspect.signature(blas.cblas_dgemm).parameters.keys() == {"a", "b", "alpha"}
    assert "alpha times the product" in blas.cblas_dgemm.__doc__ and "c(m, n): float64, output" in blas.cblas_dgemm.__doc__


def test_lapacke():
    lapack = wrapped("lapacke")
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(4, 3, 3)), rng.normal(size=(4, 3, 2))
    before = a.copy()
    assert np.allclose(np.asarray(lapack.lapack_dgesv(a, b)), np.linalg.solve(a, b)) and (a == before).all()
    with pytest.raises(ValueError, match=r"lapack_dgesv: the matrix is singular: U\[1, 1\] is zero at index \(1,\)"):
        lapack.lapack_dgesv([np.eye(2), np.ones((2, 2))], np.ones((2, 1)))
    s = a + a.transpose(0, 2, 1)
    vectors, values = lapack.lapack_dsyev(s)
    assert np.allclose(np.asarray(values), np.linalg.eigvalsh(s))
    assert np.allclose(s @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[:, None])
    for m in (rng.normal(size=(4, 3)), rng.normal(size=(2, 5))):
        s, u, vt = map(np.asarray, lapack.lapack_dgesvd(m))
        assert np.allclose(u * s @ vt, m) and np.allclose(s, np.linalg.svd(m, compute_uv=False))


def test_gsl():
    gsl = wrapped("gsl")
    made = gsl.gsl_gamma([5.0, 0.5])
    assert np.allclose(made["val"].tolist(), [24, math.sqrt(math.pi)])
    with pytest.raises(ValueError, match=r"gsl_gamma: .*domain error at index \(1,\)"):
        gsl.gsl_gamma([5.0, -1.0])
    assert abs(gsl.gsl_bessel_Jn([0, 1], 1.0)[1].tolist() - 0.4400505857449335) < 1e-12
    rows = [[1.0, 4.0], [2.0], [3.0, 5.0, 10.0]]
    a = nd.array(rows)
    assert gsl.gsl_stats_mean(a).tolist() == [2.5, 2, 6]
    assert np.allclose(gsl.gsl_stats_sd(a[2:]).tolist(), [np.std(rows[2], ddof=1)])
    shuffled = nd.array([[3.0, 1.0, 2.0], [5.0]])
    assert gsl.gsl_stats_median(shuffled).tolist() == [2, 5] and shuffled.tolist() == [[3, 1, 2], [5]]


def test_zlib():
    z = wrapped("zlib")
    texts = [b"hello", b"", b"kernels"]
    rows = nd.array([list(t) for t in texts], type="strided * var * uint8")
    assert z.zlib_crc32(rows).tolist() == [zlib.crc32(t) for t in texts]
    assert z.zlib_crc32(nd.array(texts)).tolist() == [zlib.crc32(t) for t in texts]            # elements of bytes are rows
    assert z.zlib_crc32(nd.array([texts, texts[:1]])[::-1]).tolist() == [[zlib.crc32(t) for t in r] for r in (texts[:1], texts)]
    assert z.zlib_crc32(nd.array(texts[2])).tolist() == zlib.crc32(texts[2])
    assert z.zlib_crc32(nd.array(texts), crc=nd.array([1, 2, 3], type="uint64")).tolist() == [zlib.crc32(t, c + 1) for c, t in enumerate(texts)]
    assert z.zlib_crc32(nd.array([], type="0 * bytes")).tolist() == []
    with pytest.raises(TypeError, match="string"):
        z.zlib_crc32(nd.array(["text"]))
    assert z.zlib_crc32(np.frombuffer(texts[0], np.uint8), crc=7).tolist() == zlib.crc32(texts[0], 7)


def test_fftw():
    fftw = wrapped("fftw")
    rng = np.random.default_rng(2)
    m = rng.normal(size=(5, 8)) + 1j * rng.normal(size=(5, 8))
    assert np.allclose(np.asarray(fftw.fftw_forward(m)), np.fft.fft(m, axis=1))
    rows = [rng.normal(size=n) + 0j for n in (3, 0, 8, 3, 1)]
    made = fftw.fftw_forward(nd.array([r.tolist() for r in rows], type="strided * var * complex128"))
    assert all(np.allclose(x, np.fft.fft(r)) if len(r) else x == [] for x, r in zip(made.tolist(), rows))
    big = rng.normal(size=(3000, 256)) + 0j                    # on several threads
    assert np.allclose(np.asarray(fftw.fftw_forward(big)), np.fft.fft(big, axis=1))


def test_fortran():
    f = wrapped("fortran")
    a = np.arange(12.0).reshape(4, 3) ** 2
    for layout in (a, np.asfortranarray(a)):
        mean, variance = f.column_moments(nd.asarray(layout))
        assert np.allclose(np.asarray(mean), a.mean(0)) and np.allclose(np.asarray(variance), a.var(0))


@pytest.mark.parametrize("config", sorted(EXAMPLES.glob("*.cfg")), ids=lambda path: path.stem)
def test_examples_compile_without_a_warning(config, tmp_path):
    code, _, errors = kernelgen_support.run("build", config, "-o", tmp_path / "plugin.so", "--flag=-Werror")
    assert code == 0 and errors == ""


def test_a_change_of_a_header_builds_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config = kernelgen_support.write(tmp_path, """
        [MODULE changing]
        include_dirs = .
        includes = changing.h
        sources = changing.cpp
        prefix = {prefix}
        header_code = static const char *const prefix = "prefix = none";
            static int changing(int x) { return x + ADDED + twice(x) + (prefix == 0); }
        [KERNEL changing]
        prototypes = int changing(int x)
        input = x
        """.replace("{prefix}", "first_"))
    (tmp_path / "changing.cpp").write_text('#include <vector>\nextern "C" int twice(int x) { return std::vector<int>(2, x).at(0) * 2; }\n')
    (tmp_path / "changing.h").write_text("#define ADDED 1\nint twice(int);\n")
    assert nd.wrap(config).changing(10).tolist() == 31
    (tmp_path / "changing.h").write_text("#define ADDED 100\nint twice(int);\n")
    config.write_text(config.read_text().replace("first_", "second_"))
    assert nd.wrap(config).changing(10).tolist() == 130
    (tmp_path / "changing.h").write_text("#define ADDED 200\nint twice(int);\n")
    assert nd.wrap(config).changing(10).tolist() == 230                                       # under the same name too
    (tmp_path / "changing.h").write_text("#define ADDED 100\nint twice(int);\n")
    assert nd.wrap(config).changing(10).tolist() == 130                                       # what was forgotten, again


def test_wrapping_twice_builds_once(tmp_path, monkeypatch):
    config = kernelgen_support.write(tmp_path, """
        [MODULE once]
        header_code = static double wrapped_once(double x) { return x + 1; }
        [KERNEL wrapped_once]
        prototypes = double wrapped_once(double x)
        input = x
        """)
    assert nd.wrap(config).wrapped_once(1.0).tolist() == 2
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(ValueError, match="there is no program /nowhere/cc"):
        nd.wrap(config)                                       # another compiler is another plug-in
    monkeypatch.undo()
    assert nd.wrap(config).wrapped_once(1.0).tolist() == 2
    with pytest.raises(FileNotFoundError):
        nd.wrap(tmp_path / "nothing.cfg")
    config.write_text(config.read_text().replace("input = x", "inptu = x"))
    with pytest.raises(ValueError, match="there is no key `inptu`"):
        nd.wrap(config)


def test_a_plugin_that_is_refused_leaves_the_one_before(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config = kernelgen_support.write(tmp_path, """
        [MODULE kept]
        header_code = static double kept_kernel(double x) { return x + 1; }
        [KERNEL kept_kernel]
        prototypes = double kept_kernel(double x)
        input = x
        """)
    assert nd.wrap(config).kept_kernel(1.0).tolist() == 2
    config.write_text(config.read_text().replace("kept_kernel", "sum"))             # a name that is taken
    with pytest.raises(ValueError, match="sum: the name is taken"):
        nd.wrap(config)
    assert nd.kept_kernel(1.0).tolist() == 2
    config.write_text(config.read_text().replace("sum", "kept_kernel").replace("x + 1", "x + 2"))
    assert nd.wrap(config).kept_kernel(1.0).tolist() == nd.kept_kernel(1.0).tolist() == 3

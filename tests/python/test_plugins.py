"""Plug-ins: kernels in C as functions of nd, over every layout; and plug-ins that are wrong, each refused whole."""

import os
import pydoc
import subprocess
import textwrap
from pathlib import Path

import numpy as np
import pytest

from dynd import _dynd, nd

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")

#: What the small plug-ins below have in common: an identity for int32, which each registers in its own wrong way.
COMMON = """
#include <stdio.h>
#include <string.h>
#include "dynd/abi/plugin.h"

static int same(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                const ckernel_prefix *self, dynd_frame *frame) {
  (void)self, (void)frame;
  for (size_t i = 0; i < count; i++)
    memcpy(dst + i * dst_stride, src[0] + i * src_stride[0], 4);
  return dynd_ok;
}

static inline intptr_t put(ckernel_builder_struct *out, intptr_t offset, void *function) {
  intptr_t end = offset + (intptr_t)sizeof(ckernel_prefix);
  if (ckernel_builder_ensure_capacity_leaf(out, (size_t)end)) return dynd_error_memory;
  ((ckernel_prefix *)(out->data + offset))->function = function;
  return end;
}

static intptr_t make_same(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                          const dynd_bind *bind) {
  (void)self, (void)bind;
  return put(out, offset, (void *)same);
}

static inline deferred_ckernel kernel_named(const char *name) {
  deferred_ckernel k = {sizeof(deferred_ckernel), DYND_ABI_VERSION, expr_operation_funcproto_id, 0, name,
                        "(int32) -> int32", "Its operand.", NULL, make_same, NULL, NULL, NULL, NULL};
  return k;
}
static deferred_ckernel kernel, other;
"""


def build(folder, name, source, common=COMMON):
    file = folder / f"{name}.c"
    file.write_text(common + textwrap.dedent(source))
    library = folder / f"{name}.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-O1", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "-I", str(ROOT), "-o", str(library), str(file)], check=True)
    return library


@pytest.fixture(scope="module")
def triple(tmp_path_factory):
    """The example, built with the C compiler alone, as its first lines say."""
    library = build(tmp_path_factory.mktemp("triple"), "libtriple", (ROOT / "examples/plugin_triple.c").read_text(), "")
    assert nd.load(library) == ["triple"]
    return library


# ---- a plug-in that is right


def test_the_example_is_short():
    assert len((ROOT / "examples/plugin_triple.c").read_text().splitlines()) <= 40


def test_triple_of_every_layout(triple):
    values = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for view in [values, values.T, values[:, ::-1, ::2], values[0, 0, 0], values[:0], values.transpose(1, 2, 0)]:
        assert np.array_equal(np.asarray(nd.triple(nd.asarray(view))), 3 * view)
    odd = np.frombuffer(b"\0" + values.tobytes(), np.uint8)[1:].view(np.int32)
    assert nd.triple(odd).tolist() == (3 * odd).tolist()
    assert nd.triple(odd[::-2]).tolist() == (3 * odd[::-2]).tolist()


def test_triple_of_ragged_rows(triple):
    rows = nd.array([[1, 2], [], [3]])
    assert nd.triple(rows).tolist() == [[3, 6], [], [9]]
    assert str(nd.type_of(nd.triple(rows))) == "strided * var * int32"
    assert nd.triple(nd.array([[[1], [2, 3]], [[4]]])).tolist() == [[[3], [6, 9]], [[12]]]
    assert nd.triple(rows + rows).tolist() == [[6, 12], [], [18]]


def test_triple_of_python_values(triple):
    assert nd.triple(4).tolist() == 12
    assert nd.triple(True).tolist() == 3
    assert nd.triple([1, 2]).tolist() == [3, 6]
    assert nd.triple(nd.array([1], type="strided * int8")).tolist() == [3]


def test_triple_of_other_bytes_and_pointers(triple):
    swapped = nd.asarray(np.array([1, 2], ">i4"))
    assert nd.triple(swapped).tolist() == [3, 6]
    assert nd.triple(nd.array([[1, 2], [3]], type="strided * var * pointer[int16]")).tolist() == [[3, 6], [9]]


def test_a_trace_shows_the_operands(triple):
    calls = nd.trace(nd.triple, nd.array([[1, 2], [3]], type="int16")).calls
    assert [call.sources for call in calls] == [["[[1, 2], [3]]"], ["[1, 2]"], ["1"], ["2"], ["[3]"], ["3"]]


def test_triple_on_several_threads(triple):
    values = np.arange(1_000_000, dtype=np.int32)
    assert np.array_equal(np.asarray(nd.triple(values)), 3 * values)
    assert np.array_equal(np.asarray(nd.triple(values[::-3])), 3 * values[::-3])


def test_errors_name_the_kernel(triple):
    for call, kind, text in [
        (lambda: nd.triple(1.5), TypeError, "triple: operand 0 is float64, which does not convert to int32 without"),
        (lambda: nd.triple(), TypeError, "triple: takes 1 operand, not 0"),
        (lambda: nd.triple(1, 2, 3, 4, 5), TypeError, "triple: takes 1 operand, not 5"),
        (lambda: nd.triple("x"), TypeError, "triple: operand 0 has elements of type string; it takes (int32) -> int32"),
        (lambda: nd.triple(2**40), OverflowError, "triple: overflow"),
    ]:
        with pytest.raises(kind) as raised:
            call()
        assert text in str(raised.value)


def test_help_shows_signature_and_documentation(triple):
    text = pydoc.plain(pydoc.render_doc(nd.triple))
    for part in ["triple(a, /)", "Three times the value.", "(int32) -> int32", str(triple)]:
        assert part in text
    assert "capsule" not in text.lower() and "method of" not in text
    assert ("triple", "Three times the value.", "(int32) -> int32") in nd.kernels()


def test_loading_twice_changes_nothing(triple):
    before = nd.triple
    assert nd.load(str(triple)) == ["triple"]
    assert nd.triple([1]).tolist() == before([1]).tolist() == [3]


def test_a_bare_name_is_the_file_here(tmp_path, monkeypatch):
    build(tmp_path, "bare", 'int dynd_plugin_init(const dynd_host *h) { kernel = kernel_named("plugin_bare");'
          "return h->register_kernel(h, &kernel); }")
    monkeypatch.chdir(tmp_path)
    assert nd.load("bare.so") == ["plugin_bare"]
    assert nd.plugin_bare([7]).tolist() == [7]


BINARY = """
static int divide(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  (void)self;
  for (size_t i = 0; i < count; i++) {
    int64_t a = *(int64_t *)(data[2] + i * stride[2]), b = *(int64_t *)(data[3] + i * stride[3]);
    if (b == 0) {
      snprintf(frame->text, sizeof(frame->text), "%lld / 0", (long long)a);
      return dynd_error_value;
    }
    if (b == 99) return 1; /* no status of ours */
    if (b == 98) return dynd_error_overflow;
    *(int64_t *)(data[0] + i * stride[0]) = a / b;
    *(double *)(data[1] + i * stride[1]) = (double)a / (double)b;
  }
  return dynd_ok;
}
static intptr_t make_divide(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
  (void)self, (void)bind;
  return put(out, offset, (void *)divide);
}
int dynd_plugin_init(const dynd_host *h) {
  kernel = kernel_named("plugin_divide");
  kernel.prototype = multi_operation_funcproto_id;
  kernel.signature = "(int64, int64) -> (int64, float64)";
  kernel.instantiate = make_divide;
  return h->register_kernel(h, &kernel);
}
"""


@pytest.fixture(scope="module")
def divide(tmp_path_factory):
    nd.load(build(tmp_path_factory.mktemp("divide"), "divide", BINARY))
    return nd.plugin_divide


def test_two_outputs_broadcast(divide):
    whole, real = divide(nd.array([[7, 8], [9]]), nd.array([[2], [4]]))
    assert whole.tolist() == [[3, 4], [2]] and real.tolist() == [[3.5, 4.0], [2.25]]
    whole, real = divide(7, 2)
    assert (whole.tolist(), real.tolist()) == (3, 3.5)


def test_a_failing_element_is_named(divide):
    with pytest.raises(ValueError, match=r"^plugin_divide: 9 / 0 at index \(1, 0\)$"):
        divide(nd.array([[7, 8], [9]]), nd.array([[2], [0]]))
    with pytest.raises(ValueError, match=r"^plugin_divide: failed at index \(2,\)$"):
        divide(1, [1, 2, 99])
    with pytest.raises(OverflowError, match=r"^plugin_divide: failed at index \(0, 1\)$"):
        divide([[1], [2]], [1, 98])
    divisors = np.ones(1_000_000, np.int64)
    divisors[[123_456, 900_000]] = 0
    with pytest.raises(ValueError, match=r"^plugin_divide: 5 / 0 at index \(123456,\)$"):
        divide(5, divisors)


EIGHT = """
/* Each of eight results from each of eight operands: r[i] = x[(i + 1) % 8], in int64 or double. */
static int rotate(char *const *data, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                  dynd_frame *frame) {
  (void)self, (void)frame;
  for (size_t i = 0; i < count; i++) {
#define AT(type, o) (*(type *)(data[o] + (intptr_t)i * stride[o]))
    AT(int64_t, 0) = AT(int32_t, 9);
    AT(int64_t, 1) = AT(int16_t, 10);
    AT(double, 2) = AT(double, 11);
    AT(double, 3) = AT(float, 12);
    AT(int64_t, 4) = AT(uint8_t, 13);
    AT(int64_t, 5) = AT(int8_t, 14);
    AT(int64_t, 6) = AT(uint32_t, 15);
    AT(int64_t, 7) = AT(int64_t, 8);
  }
  return dynd_ok;
}
static intptr_t make_rotate(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
  (void)self;
  if (bind->size != sizeof(*bind) || bind->noperands != 16 || bind->error_mode != assign_error_fractional)
    return dynd_error_internal;
  return put(out, offset, (void *)rotate);
}
int dynd_plugin_init(const dynd_host *h) {
  kernel = kernel_named("plugin_rotate");
  kernel.prototype = multi_operation_funcproto_id;
  kernel.signature = "(int64, int32, int16, float64, float32, uint8, int8, uint32) -> "
                     "(int64, int64, float64, float64, int64, int64, int64, int64)";
  kernel.instantiate = make_rotate;
  return h->register_kernel(h, &kernel);
}
"""


@pytest.fixture(scope="module")
def rotate(tmp_path_factory):
    nd.load(build(tmp_path_factory.mktemp("rotate"), "rotate", EIGHT))
    return nd.plugin_rotate


def records(shape):
    """Fields in records of 33 bytes, the first at an odd address: no operand is aligned."""
    names = ["i8", "i4", "i2", "f8", "f4", "u1", "i1", "u4"]
    dtype = np.dtype([(f"f{i}", name) for i, name in enumerate(names)] + [("pad", "u1")])
    memory = np.zeros(int(np.prod(shape)) * dtype.itemsize + 1, np.uint8)[1:].view(dtype).reshape(shape)
    random = np.random.default_rng(7)
    for i in range(8):
        memory[f"f{i}"] = random.integers(0, 100, shape)
    return [memory[f"f{i}"] for i in range(8)]


def assert_rotated(results, operands):
    assert isinstance(results, tuple) and len(results) == 8
    expected = np.broadcast_arrays(*operands)
    for i, result in enumerate(results):
        dtype = np.float64 if i in (2, 3) else np.int64
        got = np.asarray(result)
        assert got.dtype == dtype and np.array_equal(got, expected[(i + 1) % 8].astype(dtype)), i


def test_eight_results_of_eight_operands(rotate):
    for shape in [(), (1,), (7,), (300,), (0, 3), (20, 30)]:
        operands = records(shape)
        assert_rotated(rotate(*operands), operands)
    operands = [x.T if i % 2 else np.ascontiguousarray(x.T) for i, x in enumerate(records((20, 30)))]
    assert_rotated(rotate(*operands), operands)
    operands = [x[:, :1] if i % 3 == 0 else x[:1] if i % 3 == 1 else x for i, x in enumerate(records((20, 30)))]
    assert_rotated(rotate(*operands), operands)
    large = records((600, 700))
    assert_rotated(rotate(*large), large)


def test_eight_ragged_operands(rotate):
    offsets = np.array([0, 3, 3, 4, 10])
    rows = [nd.from_offsets(offsets, np.ascontiguousarray(x)) for x in records((10,))]
    for i, result in enumerate(rotate(*rows)):
        assert result.tolist() == rows[(i + 1) % 8].tolist()
    rows[2] = nd.array([[2], [3], [4], [5]], type="strided * strided * int16")
    assert rotate(*rows)[1].tolist() == [[2] * 3, [], [4], [5] * 6]
    with pytest.raises(TypeError, match="^plugin_rotate: takes 8 operands, not 7$"):
        rotate(*rows[:7])
    assert "plugin_rotate(a, b, c, d, e, f, g, h, /)" in pydoc.plain(pydoc.render_doc(rotate))


LOCK = """
extern int PyGILState_Check(void); /* of the interpreter that loads this */
static int held(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride, size_t count,
                const ckernel_prefix *self, dynd_frame *frame) {
  (void)src, (void)src_stride, (void)self, (void)frame;
  for (size_t i = 0; i < count; i++)
    *(char *)(dst + (intptr_t)i * dst_stride) = (char)PyGILState_Check();
  return dynd_ok;
}
static intptr_t make_held(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                          const dynd_bind *bind) {
  (void)bind;
  if ((self->flags & dynd_callable_python_lock) && !PyGILState_Check())
    return dynd_error_internal;
  return put(out, offset, (void *)held);
}
int dynd_plugin_init(const dynd_host *h) {
  kernel = kernel_named("plugin_locked");
  other = kernel_named("plugin_unlocked");
  kernel.signature = other.signature = "(int32) -> bool";
  kernel.instantiate = other.instantiate = make_held;
  kernel.flags = dynd_callable_python_lock;
  return h->register_kernel(h, &kernel) || h->register_kernel(h, &other) ? dynd_error_internal : dynd_ok;
}
"""


def test_a_kernel_that_needs_the_lock_has_it(tmp_path):
    nd.load(build(tmp_path, "lock", LOCK))
    large = np.zeros(1_000_000, np.int32)
    ragged = nd.from_offsets(np.arange(0, 1_000_001, 5), large)
    for operand in [nd.array(3), nd.array([1, 2]), large, large[::-2], ragged, nd.array(large) + 1]:
        assert nd.min(nd.where(nd.plugin_locked(operand), 1, 0)).tolist() == 1
    assert nd.max(nd.where(nd.plugin_unlocked(large), 1, 0)).tolist() == 0, "a long one runs without it"


# ---- plug-ins that are wrong

WRONG = {
    "wrong_version": ("kernel.version = 77;", "made for version 77 of the ABI"),
    "old_struct": ("kernel.size = 48;", "its struct says that it has 48 bytes"),
    "no_instantiate": ("kernel.instantiate = NULL;", "instantiate is NULL"),
    "no_signature": ("kernel.signature = NULL;", "it has no signature"),
    "bad_signature": ('kernel.signature = "(int33) -> int32";', 'unrecognized data type "int33"'),
    "no_arrow": ('kernel.signature = "int32";', "is not of the form"),
    "array_signature": ('kernel.signature = "(var * int32) -> int32";', "takes the core prototype"),
    "many_operands": (f'kernel.signature = "({", ".join(["int8"] * 9)}) -> int8";', "has 9 operands; a kernel has 1 to 8"),
    "many_results": (f'kernel.signature = "(int8) -> ({", ".join(["int8"] * 9)})";', "has 9 results; a kernel has up to 8"),
    "unknown_flag": ("kernel.flags = 4096;", "flags 4096 have one that this library does not know"),
    "two_layouts": ("kernel.flags = dynd_callable_c_layout | dynd_callable_f_layout;", "C layout and F layout at once"),
    "bad_prototype": ("kernel.prototype = 12;", "unknown prototype 12"),
    "no_name": ("kernel.name = NULL;", "it has no name"),
    "no_identifier": ('kernel.name = "a-b";', "not an identifier"),
    "name_of_operation": ('kernel.name = "add";', "cannot be added to an operation of the library"),
    "name_of_reduction": ('kernel.name = "sum";', "sum: the name is taken"),
    "name_of_function": ('kernel.name = "load";', "load: the name is taken"),
    "name_of_python": ('kernel.name = "__class__";', "not an identifier that begins with a letter"),
    "private_name": ('kernel.name = "_dynd";', "not an identifier that begins with a letter"),
    "keyword": ('kernel.name = "class";', "class: the name is taken"),
    "constant": ('kernel.name = "None";', "None: the name is taken"),
    "name_not_utf8": ('kernel.name = "a\\xff";', "must be UTF-8"),
    "signature_not_utf8": ('kernel.signature = "(int32) -> int32 # \\xff";', "must be UTF-8"),
    "doc_not_utf8": ('kernel.doc = "caf\\xe9";', "must be UTF-8"),
    "half_counted": ("kernel.retain = count;", "retain and release"),
    "var_result_in_f_order": ('kernel.prototype = core_operation_funcproto_id; kernel.flags = dynd_callable_f_layout; '
                              'kernel.signature = "(N * int8) -> var * 2 * int8";', "cannot be in F order"),
    "unbound_result": ('kernel.prototype = core_operation_funcproto_id; kernel.signature = "(N * int8) -> M * int8";',
                       "has M in the result and in no operand"),
    "sizes_that_are_none": ('static deferred_ckernel sizes; kernel.prototype = core_operation_funcproto_id; '
                            'kernel.signature = "(N * int8) -> M * int8"; kernel.output_sizes = &sizes;',
                            "made for version 0 of the ABI"),
} | {
    f"sizes_{name}": ('static deferred_ckernel sizes; sizes = kernel; kernel.prototype = core_operation_funcproto_id; '
                      'kernel.signature = "(N * int8) -> M * int8"; kernel.output_sizes = &sizes; '
                      'sizes.prototype = core_operation_funcproto_id; sizes.signature = "(N * int8) -> int64";' + change, text)
    for name, change, text in [
        ("of_the_scalar_prototype", "sizes.prototype = expr_operation_funcproto_id;",
         "has output_sizes that are no kernel of the core prototype"),
        ("too_small", "sizes.size = 8;", "its struct says that it has 8 bytes"),
        ("half_counted", "sizes.retain = count;", "retain and release"),
        ("of_unknown_flag", "sizes.flags = 4096;", "flags 4096 have one that this library does not know"),
    ]
}
REDUCTION = """static dynd_reduction r = {sizeof(r), DYND_ABI_VERSION, 8, (void (*)(void *))count, (void *)count, NULL, (void *)count};
  kernel.prototype = reduction_funcproto_id; kernel.instantiate = NULL; kernel.data_ptr = &r;
  kernel.signature = "(N * float64) -> float64"; """
WRONG |= {f"reduction_{name}": (REDUCTION + change, text) for name, change, text in [
    ("without_functions", "kernel.data_ptr = NULL;", "must point to a dynd_reduction of this version"),
    ("of_another_version", "r.version = 9;", "must point to a dynd_reduction of this version"),
    ("that_is_too_small", "r.size = 8;", "must point to a dynd_reduction of this version"),
    ("that_does_nothing", "r.accumulate = NULL;", "a reduction has initialise, accumulate and finish"),
    ("without_a_state", "r.state_size = 0;", "the state of a reduction has 1 to 1048576 bytes, not 0"),
    ("with_a_huge_state", "r.state_size = (size_t)-1;", "the state of a reduction has 1 to 1048576 bytes"),
    ("with_a_kernel", "kernel.instantiate = (void *)count;", "a reduction has no instantiate"),
    ("of_two_sizes", 'kernel.signature = "(N * int8, M * int8) -> int8";', "is not that of a reduction"),
    ("of_no_row", 'kernel.signature = "(int8) -> int8";', "is not that of a reduction"),
    ("of_any_type", 'kernel.signature = "(N * T) -> T";', "is not that of a reduction"),
]}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_refused_and_nothing_stays(tmp_path, name):
    change, text = WRONG[name]
    good = f"good_{name}"
    library = build(
        tmp_path,
        name,
        f"""
        static void count(const deferred_ckernel *self) {{ (void)self; }}
        int dynd_plugin_init(const dynd_host *h) {{
          other = kernel_named("{good}");
          if (h->register_kernel(h, &other)) return dynd_error_internal;
          kernel = kernel_named("wrong_one");
          {change}
          return h->register_kernel(h, &kernel);
        }}""",
    )
    assert_refused(library, text, good)


def assert_refused(library, text, *names):
    before = nd.kernels()
    with pytest.raises((ValueError, TypeError)) as raised:
        nd.load(library)
    assert text in str(raised.value)
    assert str(library) in str(raised.value) and str(raised.value).startswith("load: ")
    assert nd.kernels() == before
    for name in names:
        assert not hasattr(nd, name)
    assert library.name not in Path("/proc/self/maps").read_text(), "the library is still loaded"


def test_a_plug_in_is_forgotten_with_what_it_added_to_others(tmp_path):
    """By any spelling of its path; then it can be loaded again."""
    text = """
        int dynd_plugin_init(const dynd_host *h) {{
          kernel = kernel_named("shared_by_two"); kernel.signature = "({0}) -> int32";
          other = kernel_named("only_of_{0}");
          return h->register_kernel(h, &kernel) ? dynd_error_internal : h->register_kernel(h, &other);
        }}"""
    first, second = (build(tmp_path, f"of_{kind}", text.format(kind)) for kind in ("int32", "uint32"))
    nd.load(first)
    shared = nd.shared_by_two
    for spelling in (second, f"{tmp_path}/../{tmp_path.name}/{second.name}", second):
        nd.load(second)
        assert [str(s) for s in shared.signatures] == ["(int32) -> int32", "(uint32) -> int32"]
        assert shared(nd.array([3], type="uint32")).tolist() == [3]
        held = _dynd.find_callable("only_of_uint32")
        _dynd.forget(str(spelling))
        assert [str(s) for s in shared.signatures] == ["(int32) -> int32"]
        assert _dynd.find_callable("only_of_uint32") is None
        assert held(nd.array([4])).tolist() == [4]
        assert shared(nd.array([5])).tolist() == [5]
        with pytest.raises(TypeError):
            shared(nd.array([3], type="uint32"))


def test_an_init_that_fails_half_way(tmp_path):
    library = build(
        tmp_path,
        "half",
        """
        static int held;
        static void retain(const deferred_ckernel *self) { (void)self; held++; }
        static void release(const deferred_ckernel *self) { (void)self; held--; }
        __attribute__((destructor)) static void check(void) {
          FILE *file = fopen(HELD, "w");
          fprintf(file, "%d", held);
          fclose(file);
        }
        int dynd_plugin_init(const dynd_host *h) {
          kernel = kernel_named("plugin_half");
          kernel.retain = retain;
          kernel.release = release;
          if (h->register_kernel(h, &kernel)) return dynd_error_internal;
          h->set_error(h, "no licence found");
          return dynd_error_value;
        }""".replace("HELD", f'"{tmp_path}/held"'),
    )
    assert_refused(library, "no licence found", "plugin_half")
    assert (tmp_path / "held").read_text() == "0"


def test_an_init_that_says_nothing(tmp_path):
    library = build(tmp_path, "silent", "int dynd_plugin_init(const dynd_host *h) { (void)h; return -7; }")
    assert_refused(library, "dynd_plugin_init failed with status -7")


def test_an_init_that_ignores_the_refusal(tmp_path):
    library = build(
        tmp_path,
        "ignores",
        """
        int dynd_plugin_init(const dynd_host *h) {
          kernel = kernel_named("plugin_ignores");
          h->register_kernel(h, &kernel);
          h->register_kernel(h, &kernel);
          h->register_kernel(h, NULL);
          return dynd_ok;
        }""",
    )
    assert_refused(library, "plugin_ignores: the plug-in registers it twice", "plugin_ignores")


def test_kernels_of_one_plug_in_between_which_nothing_decides(tmp_path):
    library = build(
        tmp_path,
        "unclear",
        """
        int dynd_plugin_init(const dynd_host *h) {
          kernel = kernel_named("plugin_unclear"); kernel.signature = "(int32, T) -> int32";
          other = kernel_named("plugin_unclear"); other.signature = "(T, int32) -> int32";
          h->register_kernel(h, &kernel);
          h->register_kernel(h, &other);
          return dynd_ok;
        }""",
    )
    assert_refused(library, "plugin_unclear: the plug-in registers it twice for the same operands", "plugin_unclear")


def test_kernels_of_one_plug_in_between_which_another_decides(tmp_path):
    """As those do that are added to a callable."""
    signatures = ["(int32, int32) -> int32", "(int32, T) -> int32", "(T, int32) -> int32"]
    library = build(
        tmp_path,
        "decided",
        """
        static deferred_ckernel all[3];
        int dynd_plugin_init(const dynd_host *h) {
          const char *const signatures[] = {%s};
          for (int i = 0; i < 3; i++) {
            all[i] = kernel_named("plugin_decided"); all[i].signature = signatures[i];
            if (h->register_kernel(h, &all[i])) return dynd_error_internal;
          }
          return dynd_ok;
        }"""
        % ", ".join(f'"{s}"' for s in signatures),
    )
    nd.load(library)
    assert [str(s) for s in nd.plugin_decided.signatures] == signatures
    assert nd.plugin_decided([1, 2], [3, 4]).tolist() == [1, 2]
    _dynd.forget(str(library))


def test_an_init_that_registers_nothing(tmp_path):
    library = build(tmp_path, "nothing", "int dynd_plugin_init(const dynd_host *h) { (void)h; return 0; }")
    assert_refused(library, "registered no kernel")


def test_a_library_without_init(tmp_path):
    assert_refused(build(tmp_path, "none", "int something;"), "exports no dynd_plugin_init")


def test_a_file_that_is_no_library(tmp_path):
    file = tmp_path / "text.so"
    file.write_text("not a library")
    assert_refused(file, "text.so")
    with pytest.raises(ValueError, match="load: .*absent.so"):
        nd.load(tmp_path / "absent.so")


def test_another_plug_in_has_the_name(triple, tmp_path):
    library = build(
        tmp_path,
        "again",
        """
        int dynd_plugin_init(const dynd_host *h) {
          kernel = kernel_named("triple");
          return h->register_kernel(h, &kernel);
        }""",
    )
    with pytest.raises(TypeError, match="triple: .* is ambiguous with .*, which it has already, from .*libtriple.so"):
        nd.load(library)
    assert nd.triple([1]).tolist() == [3]


def test_instantiate_that_fails_or_makes_nothing(tmp_path):
    nd.load(
        build(
            tmp_path,
            "lazy",
            """
            static intptr_t refuse(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                                   const dynd_bind *bind) {
              (void)self, (void)out, (void)offset;
              snprintf(bind->error, bind->error_size, "not on a Sunday");
              return dynd_error_value;
            }
            static intptr_t nothing(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                                    const dynd_bind *bind) {
              (void)self, (void)bind;
              return put(out, offset, NULL);
            }
            int dynd_plugin_init(const dynd_host *h) {
              kernel = kernel_named("plugin_refuses");
              kernel.instantiate = refuse;
              other = kernel_named("plugin_makes_nothing");
              other.instantiate = nothing;
              return h->register_kernel(h, &kernel) || h->register_kernel(h, &other);
            }""",
        )
    )
    with pytest.raises(ValueError, match="^plugin_refuses: not on a Sunday$"):
        nd.plugin_refuses([1])
    with pytest.raises(RuntimeError, match="^plugin_makes_nothing: instantiate made no kernel"):
        nd.plugin_makes_nothing([1])


def test_the_path_must_be_a_path():
    with pytest.raises(TypeError):
        nd.load(3)


def test_a_kernel_that_fails_once_below_a_reduction(tmp_path):
    # It says that it cannot fail, and does, once. No row is empty: the message is the kernel's own.
    build(tmp_path, "once", """
        static int calls;
        static int fails_once(char *dst, intptr_t dst_stride, const char *const *src, const intptr_t *src_stride,
                              size_t count, const ckernel_prefix *self, dynd_frame *frame) {
          return calls++ ? same(dst, dst_stride, src, src_stride, count, self, frame) : dynd_error_value;
        }
        static intptr_t make_once(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                                  const dynd_bind *bind) {
          return put(out, offset, (void *)fails_once);
        }
        int dynd_plugin_init(const dynd_host *h) {
          kernel = kernel_named("plugin_fails_once");
          kernel.flags = dynd_callable_pure | dynd_callable_total;
          kernel.instantiate = make_once;
          return h->register_kernel(h, &kernel);
        }
    """)
    nd.load(tmp_path / "once.so")
    inner = nd.from_offsets(nd.array(np.arange(0, 20001, 2)), nd.array(np.arange(20000, dtype=np.int32)))
    rows = nd.from_offsets(nd.array(np.array([0, 1, 10000])), inner)
    with pytest.raises(ValueError, match="plugin_fails_once: failed"):
        nd.plugin_fails_once(rows).max(axis=2)
    assert nd.plugin_fails_once(rows).max(axis=2)[1, 0].tolist() == 3

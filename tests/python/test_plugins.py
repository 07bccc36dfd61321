"""Plug-ins: kernels in C as functions of nd, over every layout."""

import pydoc

import numpy as np
import pytest

from dynd import nd

from plugin_support import ROOT, build


@pytest.fixture(scope="module")
def triple(tmp_path_factory):
    """The example, built with the C compiler alone, as its first lines say."""
    library = build(tmp_path_factory.mktemp("triple"), "libtriple", (ROOT / "examples/plugin_triple.c").read_text(), "")
    assert nd.load(library) == ["triple"]
    return library


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

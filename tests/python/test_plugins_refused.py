"""Plug-ins that are wrong, each refused whole."""

from pathlib import Path

import numpy as np
import pytest

from dynd import _dynd, nd

from plugin_support import build


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

// Pickle: an array is (restore, (type, access, sizes, offsets of each `var` dimension, values)).
#include "arguments.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dynd/call/structure.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/space.h"
#include "dynd/eval/work.h"
#include "dynd/memory/buffer.h"

namespace binding {

nb::object reduced_to_bytes(const nd::array &a, int protocol) {
  if (!a->has_scalars()) {
    throw error(error_kind::type, "pickle: only arrays of scalars can be pickled, not " + std::string(a.type().str()));
  }
  // In C order, rows one after another: as it is, or a copy.
  nd::array whole = a.eval();
  auto follow_each_other = [](const array_block &block) {
    return block.type->var_count ? bool(contiguous_rows(block)) : (block.flags & flag_dense) != 0;
  };
  if ((whole->type->var_count && a->access != access_mode::immutable) || !follow_each_other(*whole.get())) {
    whole = nd::array(copy_values(a.get(), access_mode::immutable));
  }
  array_block *block = whole.get();
  offsets_run rows = contiguous_rows(*block);
  space shape;
  space_of(block, shape);
  nb::list sizes, offsets;
  for (int d = 0; d < shape.ndim; d++) {
    sizes.append(shape.size[d]);
    if (block->is_var(d)) {
      const offsets_run &run = shape.slots[shape.slot_index[d]].run;
      nb::object bytes = steal(PyBytes_FromStringAndSize(nullptr, (run.rows + 1) * intptr_t(sizeof(int64_t))));
      auto *to = reinterpret_cast<int64_t *>(PyBytes_AS_STRING(bytes.ptr()));
      in_pieces("pickle", run.rows + 1, [&, first = run.first()](intptr_t begin, intptr_t end) {
        for (intptr_t i = begin; i < end; i++) {
          to[i] = run[i] - first; // they may begin anywhere
        }
      });
      offsets.append(bytes);
    }
  }
  buffer *memory = as_buffer(block->values().owner);
  const char *first = rows                      ? block->values().address + rows.first() * intptr_t(block->item_size())
                      : !block->type->var_count ? block->values().address
                      : memory                  ? memory->data
                                                : small_data(block);
  size_t bytes = value_bytes(shape, ndt::type(block->type->dtype));
  nb::object values;
  if (protocol >= 5 && shape.ndim > 0 && follow_each_other(*block)) { // pickle copies it from where it is
    nb::object content = nb::steal(wrap(nd::flatten(whole)));
    values = steal(PyPickleBuffer_FromObject(content.ptr()));
  } else {
    values = nb::bytes(first, bytes);
  }
  nb::object restore = nb::module_::import_("dynd.nd").attr("_restore");
  return nb::make_tuple(restore,
                        nb::make_tuple(std::string(a.type().str()), access_name(a->access), sizes, offsets, values));
}

namespace {

[[noreturn]] void fail_restore(const char *what) {
  throw error(error_kind::value, std::string("restore: the pickled array is damaged: ") + what);
}

// The rows of the next `var` dimension, checked: a pickle may come from anywhere.
std::vector<int64_t> restored_offsets(nb::bytes bytes, intptr_t rows) {
  if (bytes.size() % sizeof(int64_t) || bytes.size() / sizeof(int64_t) != size_t(rows) + 1) {
    fail_restore("wrong number of rows");
  }
  std::vector<int64_t> offsets(size_t(rows) + 1);
  std::memcpy(offsets.data(), bytes.c_str(), bytes.size());
  if (offsets[0] != 0 || !std::is_sorted(offsets.begin(), offsets.end())) {
    fail_restore("offsets that decrease");
  }
  return offsets;
}

// The memory of an object that lends it: bytes, or what a buffer of the pickle has become.
class lent_memory {
public:
  explicit lent_memory(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      throw nb::python_error();
    }
  }
  lent_memory(const lent_memory &) = delete;
  ~lent_memory() { PyBuffer_Release(&view_); }
  size_t size() const { return size_t(view_.len); }
  const void *data() const { return view_.buf; }

private:
  Py_buffer view_;
};

nb::object restore(std::string_view text, const std::string &access, std::vector<intptr_t> sizes,
                   std::vector<nb::bytes> offsets, nb::object memory) {
  lent_memory values(memory);
  ndt::type type(text);
  access_mode mode = access_of("restore", access);
  if (type->abstract || type->scalar == not_scalar || size_t(type->ndim) != sizes.size() ||
      type->var_count != offsets.size()) {
    fail_restore("sizes that are not the type's");
  }
  space shape;
  shape.ndim = type->ndim;
  std::vector<std::vector<int64_t>> row_offsets;
  intptr_t count = 1;
  const type_data *t = type.get();
  for (int d = 0; d < shape.ndim; d++, t = t->element) {
    bool var = t->kind == type_kind::var_dim;
    shape.size[d] = var ? -1 : sizes[size_t(d)];
    shape.fixed[d] = t->kind == type_kind::fixed_dim;
    if (var) {
      shape.slot_index[d] = int8_t(shape.nvar++);
      row_offsets.push_back(restored_offsets(offsets[row_offsets.size()], count));
      count = row_offsets.back().back();
    } else if (shape.size[d] < 0 || (shape.fixed[d] && shape.size[d] != t->size) ||
               __builtin_mul_overflow(count, shape.size[d], &count)) {
      fail_restore("a size that is not the type's");
    }
  }
  if (values.size() / scalar_size[size_t(type->scalar)] != size_t(count) ||
      values.size() % scalar_size[size_t(type->scalar)] != 0) {
    fail_restore("wrong number of values");
  }
  make_slots(shape, row_offsets);
  ref<array_block> block = new_result(shape, type.dtype());
  if (values.size()) {
    in_pieces("restore", intptr_t(values.size()), [&](intptr_t begin, intptr_t end) {
      std::memcpy(block->values().address + begin, static_cast<const char *>(values.data()) + begin,
                  size_t(end - begin));
    });
  }
  block->access = mode;
  if (mode != access_mode::immutable) {
    block->flags &= uint8_t(~flag_ours);
  }
  return nb::steal(wrap(std::move(block)));
}

} // namespace

void add_pickle(nb::module_ &m) { m.def("restore", restore); }

} // namespace binding

// Records that are put together from lists, and records that are gathered when they are wanted.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/callable.h"
#include "dynd/call/joined.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/group.h"
#include "dynd/eval/settings.h"
#include "dynd/eval/work.h"
#include "dynd/kernel/level.h"

namespace dynd::nd {

array zip_lists(std::span<const std::string> names, std::span<const array> lists) {
  std::vector<ndt::type> types;
  bool writable = true, ours = true, immutable = true;
  for (const array &list : lists) {
    types.push_back(list.type().element());
    writable &= list->access == access_mode::readwrite;
    immutable &= list->access == access_mode::immutable;
    ours &= (list->flags & flag_ours) != 0;
  }
  ndt::type structs = names.empty() ? ndt::make_tuple(types) : ndt::make_struct(names, types);
  access_mode access = immutable ? access_mode::immutable : writable ? access_mode::readwrite : access_mode::readonly;
  ref<array_block> block = new_block(ndt::make_strided_dim(structs).get(), access, ours ? flag_ours : 0);
  std::fill_n(block->strides(0), block->nstreams * block->all_ndim, 0);
  block->size()[0] = lists[0].size(0);
  for (size_t k = 0; k < lists.size(); k++) {
    const type_field &field = structs->fields[k];
    array_block &from = *lists[k].get();
    int dim = 1 + field.dim;
    std::copy(from.size() + 1, from.size() + from.all_ndim, block->size() + dim);
    for (int s = 0; s < from.nstreams; s++) {
      int to = field.stream + s;
      block->streams()[to] = shared_stream(from, s);
      block->strides(to)[0] = from.strides(s)[0];
      std::copy(from.strides(s) + 1, from.strides(s) + from.all_ndim, block->strides(to) + dim);
    }
  }
  return array(std::move(block));
}

// ---- a gather of numbers as a kernel --------------------------------------------------------------------------------

namespace {

// (int32) -> T: the element of a list that has this number. Lazy operations keep it alive, and it keeps the list.
struct gather_kernel : deferred_ckernel {
  array list;
  std::string signature_text;
  std::atomic<intptr_t> refs{1};

  struct leaf {
    ckernel_prefix base;
    const char *from;
    intptr_t stride;
  };

  explicit gather_kernel(const array &of) : deferred_ckernel{}, list(of) {
    signature_text = std::string("(int32) -> ") + scalar_name[size_t(of->scalar())];
    deferred_ckernel &base = *this;
    base = {sizeof(deferred_ckernel),
            DYND_ABI_VERSION,
            unary_operation_funcproto_id,
            dynd_callable_pure | dynd_callable_total,
            "gather",
            signature_text.c_str(),
            nullptr,
            nullptr,
            make_leaf,
            [](const deferred_ckernel *self) { of_kernel(self)->refs.fetch_add(1, std::memory_order_relaxed); },
            [](const deferred_ckernel *self) {
              if (of_kernel(self)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                delete of_kernel(self);
              }
            },
            nullptr,
            nullptr};
  }

private:
  static gather_kernel *of_kernel(const deferred_ckernel *self) {
    return const_cast<gather_kernel *>(static_cast<const gather_kernel *>(self));
  }

  static intptr_t make_leaf(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
    if (bind->request != kernel_request_strided) { // the engine makes no other
      return dynd_error_type;
    }
    intptr_t end = offset + intptr_t(sizeof(leaf));
    if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
      return dynd_error_memory;
    }
    const array &list = of_kernel(self)->list;
    auto *made = reinterpret_cast<leaf *>(out->data + offset);
    made->base.function = function_of(list->item_size());
    made->from = list->values().address;
    made->stride = list->value_strides()[0];
    return end;
  }

  static void *function_of(size_t item) {
    return item == 1   ? reinterpret_cast<void *>(take<1>)
           : item == 2 ? reinterpret_cast<void *>(take<2>)
           : item == 4 ? reinterpret_cast<void *>(take<4>)
           : item == 8 ? reinterpret_cast<void *>(take<8>)
                       : reinterpret_cast<void *>(take<16>);
  }

  template <size_t Item>
  static int take(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t count,
                  const ckernel_prefix *self, dynd_frame *) {
    auto *k = reinterpret_cast<const leaf *>(self);
    const char *from = k->from;
    intptr_t stride = k->stride;
    for (size_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {
      int32_t index;
      std::memcpy(&index, src, sizeof(index));
      std::memcpy(dst, from + index * stride, Item);
    }
    return dynd_ok;
  }
};

// ---- records that are gathered when they are wanted
// -------------------------------------------------------------------

array gather_now(const char *name, const record_field &field) {
  int last = field.index.ndim() - 1;
  array numbers = list_of(field.index, last);
  const int32_t *from = values_of<int32_t>(numbers);
  place_buffer start(numbers.size(0));
  in_pieces(name, start.size(),
            [&](intptr_t begin, intptr_t end) { std::copy(from + begin, from + end, start.fill() + begin); });
  return gather(name, field.list, {start.data(), nullptr, start.size()});
}

std::vector<std::string> names_of(const type_data *record) {
  std::vector<std::string> names;
  for (int i = 0; i < record->nfields && record->kind == type_kind::struct_; i++) {
    names.push_back(record->fields[i].name);
  }
  return names;
}

array records_now(const char *name, std::span<const std::string> names, std::span<const record_field> fields) {
  std::vector<array> lists;
  for (const record_field &field : fields) {
    lists.push_back(gather_now(name, field));
  }
  const array &index = fields[0].index;
  return assemble(index, index.ndim(), {}, zip_lists(names, lists));
}

// The inputs of a lazy array of records: a list and an index for each field.
std::vector<record_field> fields_of_inputs(array_block *const *input, int nfields) {
  std::vector<record_field> fields;
  for (int i = 0; i < nfields; i++) {
    fields.push_back({array(ref<array_block>::share(input[2 * i])), array(ref<array_block>::share(input[2 * i + 1]))});
  }
  return fields;
}

void compute_records(array_block *block) {
  const type_data *record = block->type->dtype;
  array made = records_now("gather", names_of(record), fields_of_inputs(block->lazy->input, record->nfields));
  std::copy_n(made->size(), block->all_ndim, block->size());
  std::copy_n(made->strides(0), block->nstreams * block->all_ndim, block->strides(0));
  for (int s = block->type->var_count; s < block->nstreams; s++) { // those of an attempt that failed are none
    block->streams()[s] = shared_stream(*made.get(), s);
  }
}

ref<array_block> field_of_records(const array_block &block, array_block *const *input, int i) {
  record_field field = fields_of_inputs(input, block.type->dtype->nfields)[size_t(i)];
  const type_data *type = field.list->type->element;
  if (type->kind == type_kind::scalar) {
    array values = callable(kernel::adopt(new gather_kernel(field.list)))(field.index);
    return ref<array_block>::share(values.get());
  }
  array values;
  if (type->nfields) {
    std::vector<record_field> inside;
    for (int k = 0; k < type->nfields; k++) {
      inside.push_back({nd::field(field.list, k), field.index});
    }
    values = gather_records("gather", names_of(type), inside);
  } else {
    values = assemble(field.index, field.index.ndim(), {}, gather_now("gather", field));
  }
  return ref<array_block>::share(values.get());
}

ref<lazy_elements> records_to_be() {
  static auto *elements = [] { // for all, and never destroyed
    auto *made = new lazy_elements;
    made->refs = 1;
    made->destroy = [](counted *) noexcept {};
    made->compute = compute_records;
    made->field = field_of_records;
    return made;
  }();
  return ref<lazy_elements>::share(elements);
}

// Nothing of it is written any more, and it is large enough for the fields to be computed later.
bool may_be_lazy(std::span<const record_field> fields, intptr_t count) {
  bool ours = !thread_settings().eager && size_t(count) * max_scalar_size >= lazy_from && fields.size() <= 64;
  for (const record_field &field : fields) {
    ours &= (field.list->flags & field.index->flags & flag_ours) != 0;
  }
  return ours;
}

} // namespace

array gather_records(const char *name, std::span<const std::string> names, std::span<const record_field> fields) {
  const array &index = fields[0].index;
  if (!may_be_lazy(fields, count_elements(*index.get()))) {
    return records_now(name, names, fields);
  }
  std::vector<ndt::type> types;
  std::vector<array_block *> inputs;
  for (const record_field &field : fields) {
    types.push_back(field.list.type().element());
    inputs.push_back(field.list.get());
    inputs.push_back(field.index.get());
  }
  ndt::type record = names.empty() ? ndt::make_tuple(types) : ndt::make_struct(names, types);
  ndt::type type = ndt::with_dtype(index.type(), record);
  ref<array_block> result =
      new_block(type.get(), access_mode::immutable, flag_ours, lazy_operation::bytes(int(inputs.size())));
  std::fill_n(result->size(), result->all_ndim, -1);
  std::copy_n(index->size(), index->ndim, result->size());
  std::fill_n(result->strides(0), result->nstreams * result->all_ndim, 0);
  for (int s = 0; s < index->type->var_count; s++) {
    result->streams()[s] = shared_stream(*index.get(), s);
    std::copy_n(index->strides(s), index->ndim, result->strides(s));
  }
  ref<lazy_elements> elements = records_to_be();
  make_lazy(result.get(), {{}, {}, uint8_t(inputs.size()), false, 0, elements.get(), true}, inputs.data());
  return array(std::move(result));
}

} // namespace dynd::nd

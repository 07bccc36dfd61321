// Records that are put together from lists, and records of choices, which are put together when they are wanted.
#include <algorithm>
#include <cstring>

#include "dynd/array/view.h"
#include "dynd/base/errors.h"
#include "dynd/call/records.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/group.h"
#include "dynd/eval/work.h"
#include "dynd/kernel/level.h"
#include "dynd/ops/isa.h"

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
  ndt::type structs = ndt::make_record(names, types);
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

// ---- members of choices as a kernel ---------------------------------------------------------------------------------

namespace {

// (int64) -> T, or several: the elements of lists that are members of the choice with this number. Lazy operations and
// kernels keep it alive, and it keeps the lists and the choices.
struct member_function : external_function {
  deferred_ckernel deferred;
  std::vector<record_field> fields; // of one item size
  ref<choices> which;

  struct leaf {
    ckernel_prefix base;
    const member_function *function; // which lives as long as what is built by it
  };

  member_function(std::vector<record_field> all, const ref<choices> &of) : fields(std::move(all)), which(of) {
    refs = 1;
    destroy = [](counted *self) noexcept { delete static_cast<member_function *>(self); };
    family = &members;
    kernel = &deferred;
    deferred = {sizeof(deferred_ckernel),
                DYND_ABI_VERSION,
                multi_operation_funcproto_id,
                dynd_callable_pure | dynd_callable_total,
                "choose",
                "(int64) -> T",
                nullptr,
                this,
                make_leaf,
                [](const deferred_ckernel *self) { dynd::retain(of_kernel(self)); },
                [](const deferred_ckernel *self) { dynd::release(of_kernel(self)); },
                nullptr,
                nullptr};
    types.noutputs = int(fields.size());
    types.nsources = 1;
    scalar_id *type = types.type;
    for (const record_field &field : fields) {
      *type++ = field.list->scalar();
    }
    *type = scalar_id::int64;
  }

private:
  static member_function *of_kernel(const deferred_ckernel *self) {
    return static_cast<member_function *>(self->data_ptr);
  }

  // Of the same choices, so that they are gone through once.
  static ref<external_function> join_members(const external_function &a, const external_function &b) {
    auto &first = static_cast<const member_function &>(a), &second = static_cast<const member_function &>(b);
    std::vector<record_field> all = first.fields;
    all.insert(all.end(), second.fields.begin(), second.fields.end());
    bool possible = first.which.get() == second.which.get() && all.size() <= choice_rows::most_fields &&
                    first.fields[0].list->item_size() == second.fields[0].list->item_size();
    return ref<external_function>::adopt(possible ? new member_function(std::move(all), first.which) : nullptr);
  }
  static constexpr external_family members = {join_members};

  static intptr_t make_leaf(const deferred_ckernel *self, ckernel_builder_struct *out, intptr_t offset,
                            const dynd_bind *bind) {
    if (bind->request != kernel_request_strided) { // the engine makes no other
      return dynd_error_type;
    }
    intptr_t end = offset + intptr_t(sizeof(leaf));
    if (ckernel_builder_ensure_capacity_leaf(out, size_t(end)) != dynd_ok) {
      return dynd_error_memory;
    }
    auto *made = reinterpret_cast<leaf *>(out->data + offset);
    made->function = of_kernel(self);
    made->base.function = with_word(made->function->fields[0].list->item_size(),
                                    [](auto word) { return reinterpret_cast<void *>(take<sizeof(word)>); });
    return end;
  }

  // The numbers of a batch follow each other, in nearly all walks.
  template <size_t Item>
  static int take(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *) {
    const member_function &f = *reinterpret_cast<const leaf *>(self)->function;
    size_t fields = f.fields.size();
    const char *src = stream[fields];
    auto *number = reinterpret_cast<const int64_t *>(src);
    bool dense = stride[fields] == intptr_t(sizeof(int64_t)) &&
                 std::all_of(stride, stride + fields, [](intptr_t s) { return s == intptr_t(Item); });
    if (count && dense && isa().choices->follow(number, count)) {
      f.which->take<Item>(f.fields, number[0], int64_t(count), stream);
      return dynd_ok;
    }
    char *to[max_external_outputs];
    for (size_t i = 0; i < count; i++) {
      int64_t one;
      std::memcpy(&one, src + intptr_t(i) * stride[fields], sizeof(one));
      for (size_t k = 0; k < fields; k++) {
        to[k] = stream[k] + intptr_t(i) * stride[k];
      }
      f.which->take<Item>(f.fields, one, 1, to);
    }
    return dynd_ok;
  }
};

// ---- records that are put together when they are wanted -------------------------------------------------------------

array members_now(const char *name, const record_field &field, const choices &which) {
  place_buffer start(which.counts().total());
  in_pieces(name, start.size(), [&](intptr_t begin, intptr_t end) {
    which.places(field.member, begin, end - begin, start.fill() + begin);
  });
  return gather(name, field.list, start);
}

array records_now(const char *name, std::span<const std::string> names, std::span<const record_field> fields,
                  const choices &which, const array &numbers) {
  std::vector<array> lists;
  for (const record_field &field : fields) {
    lists.push_back(members_now(name, field, which));
  }
  return assemble(numbers, numbers.ndim(), {}, zip_lists(names, lists));
}

// The lists of the fields are the inputs of the lazy array.
struct lazy_records : lazy_elements {
  ref<choices> which;
  array numbers;
  std::vector<int> members; ///< of each field

  lazy_records(const ref<choices> &of, const array &in, std::span<const record_field> fields) : which(of), numbers(in) {
    for (const record_field &field : fields) {
      members.push_back(field.member);
    }
    refs = 1;
    destroy = [](counted *self) noexcept { delete static_cast<lazy_records *>(self); };
    compute = compute_records;
    field = field_of_records;
  }

private:
  static const lazy_records &of(const lazy_elements &self) { return static_cast<const lazy_records &>(self); }

  record_field field_at(array_block *const *input, int i) const {
    return {array(ref<array_block>::share(input[i])), members[size_t(i)]};
  }

  static void compute_records(const lazy_elements &self, array_block *block) {
    const type_data *record = block->type->dtype;
    std::vector<record_field> fields;
    for (int i = 0; i < record->nfields; i++) {
      fields.push_back(of(self).field_at(block->lazy->input, i));
    }
    array made = records_now("choose", field_names(record), fields, *of(self).which, of(self).numbers);
    std::copy_n(made->size(), block->all_ndim, block->size());
    std::copy_n(made->strides(0), block->nstreams * block->all_ndim, block->strides(0));
    for (int s = block->type->var_count; s < block->nstreams; s++) { // those of an attempt that failed are none
      block->streams()[s] = shared_stream(*made.get(), s);
    }
  }

  static ref<array_block> field_of_records(const lazy_elements &self, array_block *const *input, int i) {
    record_field field = of(self).field_at(input, i);
    const ref<choices> &which = of(self).which;
    const array &numbers = of(self).numbers;
    const type_data *type = field.list->type->element;
    array values;
    if (type->kind == type_kind::scalar) {
      auto function = ref<external_function>::adopt(new member_function({field}, which));
      array_block *operand = numbers.get();
      ref<array_block> made;
      evaluate(*function, {&operand, 1}, &made);
      return made;
    } else if (type->nfields) {
      std::vector<record_field> inside;
      for (int k = 0; k < type->nfields; k++) {
        inside.push_back({nd::field(field.list, k), field.member});
      }
      values = choose_records("choose", field_names(type), inside, which, numbers, thread_settings());
    } else {
      values = assemble(numbers, numbers.ndim(), {}, members_now("choose", field, *which));
    }
    return ref<array_block>::share(values.get());
  }
};

// Nothing of it is written any more, and it is large enough for the fields to be computed later.
bool may_be_lazy(std::span<const record_field> fields, intptr_t count, const settings &how) {
  bool ours = !how.eager && size_t(count) * max_scalar_size >= lazy_from && fields.size() <= 64;
  for (const record_field &field : fields) {
    ours &= (field.list->flags & flag_ours) != 0;
  }
  return ours;
}

} // namespace

array choose_records(const char *name, std::span<const std::string> names, std::span<const record_field> fields,
                     const ref<choices> &which, const array &numbers, const settings &how) {
  if (!may_be_lazy(fields, which->counts().total(), how)) {
    return records_now(name, names, fields, *which, numbers);
  }
  std::vector<ndt::type> types;
  std::vector<array_block *> inputs;
  for (const record_field &field : fields) {
    types.push_back(field.list.type().element());
    inputs.push_back(field.list.get());
  }
  ndt::type record = ndt::make_record(names, types);
  ndt::type type = ndt::with_dtype(numbers.type(), record);
  ref<array_block> result =
      new_block(type.get(), access_mode::immutable, flag_ours, lazy_operation::bytes(int(inputs.size())));
  std::fill_n(result->size(), result->all_ndim, -1);
  std::copy_n(numbers->size(), numbers->ndim, result->size());
  std::fill_n(result->strides(0), result->nstreams * result->all_ndim, 0);
  for (int s = 0; s < numbers->type->var_count; s++) {
    result->streams()[s] = shared_stream(*numbers.get(), s);
    std::copy_n(numbers->strides(s), numbers->ndim, result->strides(s));
  }
  auto elements = ref<lazy_elements>::adopt(new lazy_records(which, numbers, fields));
  lazy_operation later = {.op = {},
                          .computation = {},
                          .ninputs = uint8_t(inputs.size()),
                          .of_rows = false,
                          .held = 0,
                          .external = elements.get(),
                          .of_elements = true};
  make_lazy(result.get(), later, inputs.data());
  return array(std::move(result));
}

} // namespace dynd::nd

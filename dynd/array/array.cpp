#include "dynd/array/array.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/layout.h"
#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/type/utf8.h"

namespace dynd::nd {

ref<array_block> array::new_text(std::string_view text) {
  if (!is_utf8(text)) {
    fail(error_kind::value, "array: the text is not UTF-8");
  }
  array_writer writer(ndt::make_string());
  writer.add_text(0, text);
  return writer.finish(access_mode::immutable);
}

ref<array_block> array::new_list(scalar_id scalar, const void *values, size_t count) {
  intptr_t size = intptr_t(count);
  ref<array_block> block = new_dense(ndt::make_strided_dim(ndt::make_scalar(scalar)).get(), &size);
  std::copy_n(static_cast<const char *>(values), count * block->item_size(), block->values().address);
  return block;
}

array scalar_of(scalar_id type, const void *value) { return array(new_scalar(type, value)); }

namespace {

// Offsets that are not written any more: a later write would become a read out of bounds.
array own_offsets(const array &offsets) {
  if ((offsets->flags & flag_ours) && (offsets->flags & flag_dense)) {
    return offsets;
  }
  intptr_t count = offsets.size(0), stride = offsets->value_strides()[0], item = intptr_t(offsets->item_size());
  array own(new_dense(offsets->type, &count));
  char *to = own->values().address;
  const char *from = offsets->values().address;
  interruptible_walk walk;
  with_item(size_t(item), [&](auto size) {
    for (intptr_t i = 0; i < count; i++) {
      walk.step("from_offsets");
      std::memcpy(to + i * intptr_t(size), from + i * stride, size);
    }
  });
  return own;
}

void check_offsets(const offsets_run &o, intptr_t length) {
  if (o[0] < 0) {
    fail(error_kind::value, "from_offsets: offset 0 is negative: " + std::to_string(o[0]));
  }
  interruptible_walk walk;
  for (intptr_t i = 1; i <= o.rows; i++) {
    walk.step("from_offsets");
    if (o[i] < o[i - 1]) {
      fail(error_kind::value, "from_offsets: offsets decrease at row " + std::to_string(i - 1) + ": " +
                                  std::to_string(o[i - 1]) + " then " + std::to_string(o[i]));
    }
  }
  if (o[0] > length) {
    fail(error_kind::value, "from_offsets: the rows begin at " + std::to_string(o[0]) + ", past the content's " +
                                std::to_string(length) + " elements");
  }
  if (o.last() > length) {
    intptr_t row = 0;
    while (o[row + 1] <= length) {
      row++;
    }
    fail(error_kind::value, "from_offsets: row " + std::to_string(row) + " ends at " + std::to_string(o[row + 1]) +
                                ", past the content's " + std::to_string(length) + " elements");
  }
}

} // namespace

array empty(ndt::type type, const intptr_t *size, access_mode access) {
  intptr_t own[max_type_streams];
  find_sizes("empty", type, size, own);
  size = size ? size : own;
  if (type->scalar != not_scalar && type->var_count == 0) {
    return array(new_dense(type.get(), size, access));
  }
  ref<array_block> block = new_empty(type.get(), size);
  if (access == access_mode::immutable) {
    settle(*block);
  }
  block->access = access;
  return array(std::move(block));
}

intptr_t array::element_count() const { return count_elements(*block_.get()); }

intptr_t count_elements(const array_block &block, interruptible_walk *walk) {
  if (block.count >= 0) {
    return block.count;
  }
  // Inside of the last `var` dimension all sizes are known. The values may be lazy: only slots are read.
  int nvar = block.type->var_count, last = nvar ? block.var_axis(nvar - 1) : -1;
  intptr_t inside = 1;
  for (int d = last + 1; d < block.ndim; d++) {
    inside *= block.size()[d];
  }
  if (nvar == 0) {
    return inside;
  }
  if (offsets_run rows = rows_of(block, nvar - 1)) {
    return rows.content() * inside;
  }
  intptr_t total = 0;
  stream_room room;
  without_interpreter unlocked(walk && has_many_places(block, last));
  for_each_place(cursor::over_rows(block, room), last, [&](const cursor &row, const intptr_t *) {
    total += row.size() * inside;
    if (walk) {
      walk->step("count");
    }
  });
  return total;
}

array from_offsets(const array &offsets, const array &content) {
  materialize(offsets.get());
  materialize(content.get());
  bool narrow = offsets->scalar() == scalar_id::int32;
  if (offsets.ndim() != 1 || offsets->type->var_count || (offsets->scalar() != scalar_id::int64 && !narrow)) {
    fail(error_kind::type,
         "from_offsets: offsets must be one-dimensional int64 or int32, not " + std::string(offsets.type().str()));
  }
  if (content.ndim() == 0 || content->is_var(0)) {
    fail(error_kind::type,
         "from_offsets: content must have a strided dimension, not " + std::string(content.type().str()));
  }
  intptr_t rows = offsets.size(0) - 1;
  if (rows < 0) {
    fail(error_kind::value, "from_offsets: offsets must have at least one element, the start of the first row");
  }
  without_interpreter unlocked(rows > unlocked_from);
  array own = own_offsets(offsets);
  slot_kind kind = narrow ? slot_kind::offsets32 : slot_kind::offsets64;
  check_offsets({own->values().address, kind, rows}, content.size(0));
  ndt::type type = ndt::make_strided_dim(ndt::make_var_dim(content.type().element()));
  ref<array_block> block = new_block(type.get(), content->access, content->flags & flag_ours);
  block->size()[0] = rows;
  block->size()[1] = -1;
  std::copy(content->size() + 1, content->size() + content->all_ndim, block->size() + 2);
  block->streams()[0] = shared_stream(*own.get(), 0);
  block->streams()[0].kind = kind;
  std::fill_n(block->strides(0), block->all_ndim, 0);
  block->strides(0)[0] = slot_size(kind);
  for (int s = 0; s < content->nstreams; s++) {
    block->streams()[s + 1] = shared_stream(*content.get(), s);
    block->strides(s + 1)[0] = 0;
    std::copy_n(content->strides(s), content->all_ndim, block->strides(s + 1) + 1);
  }
  return array(std::move(block));
}

} // namespace dynd::nd

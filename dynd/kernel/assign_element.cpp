// Levels of assignment for elements that have something inside: options, fields, pointers, rows.
#include <cstring>
#include <new>
#include <string>

#include "dynd/array/rows.h"
#include "dynd/kernel/assign_levels.h"
#include "dynd/kernel/level.h"
#include "dynd/memory/pool.h"

namespace dynd {

namespace {

/// The streams of a call, moved by `elements` along its own dimension.
struct moved_streams {
  char *at[max_call_streams];
  moved_streams(char *const *stream, const intptr_t *stride, size_t elements, uint32_t nstreams) {
    for (uint32_t s = 0; s < nstreams; s++) {
      at[s] = stream[s] + intptr_t(elements) * stride[s];
    }
  }
};

// ---- missing values -----------------------------------------------------------------------------------------------

struct option_kernel {
  ckernel_prefix base;
  uint32_t child, nstreams;
  int32_t dst, src;
  text_operand text;
  missing_rule rule;
};

bool is_missing_text(std::string_view text) { return text.empty() || text == "NA" || text == "null"; }

bool is_there(const option_kernel *k, char *const *stream, const intptr_t *stride, size_t i) {
  intptr_t at = intptr_t(i);
  if (k->src >= 0 && stream[k->src][at * stride[k->src]] == 0) {
    return false;
  }
  if (k->rule != missing_rule::read_from_text) {
    return true;
  }
  row_extent row = read_slot(stream[k->text.stream] + at * stride[k->text.stream], k->text.kind);
  return !is_missing_text({stream[k->text.stream + 1] + row.start, size_t(row.size)});
}

// Runs of elements that are there go to the child in one call; validity is written after the values.
int option(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const option_kernel *>(self);
  for (size_t begin = 0; begin < count;) {
    bool there = is_there(k, stream, stride, begin);
    size_t end = begin + 1;
    while (end < count && is_there(k, stream, stride, end) == there) {
      end++;
    }
    if (there) {
      moved_streams run(stream, stride, begin, k->nstreams);
      if (int status = call_strided(child_of(k), run.at, stride, end - begin, frame)) {
        add_to_failed_index(frame, begin);
        return status;
      }
    } else if (k->rule == missing_rule::refused) {
      fail_element(frame, begin);
      return report(frame, dynd_error_overflow, "cannot assign an NA value to a non-option type");
    }
    for (size_t i = begin; i < end && k->dst >= 0; i++) {
      stream[k->dst][intptr_t(i) * stride[k->dst]] = there;
    }
    begin = end;
  }
  return dynd_ok;
}

// ---- fields -------------------------------------------------------------------------------------------------------

struct one_field {
  uint32_t child; // where its kernel begins, 0 before there is one
  const char *name;
};

struct fields_kernel {
  ckernel_prefix base;
  uint32_t nstreams, count;
  one_field field[];

  ckernel_prefix *child_at(uint32_t i) {
    return reinterpret_cast<ckernel_prefix *>(reinterpret_cast<char *>(this) + field[i].child);
  }
};

void destroy_fields(ckernel_prefix *self) {
  auto *k = reinterpret_cast<fields_kernel *>(self);
  for (uint32_t i = 0; i < k->count; i++) {
    if (k->field[i].child) {
      destroy_child(k->child_at(i));
    }
  }
}

// Adds the field to the path of the failure; a frame of user code has no path: there it goes before the message.
int fail_field(dynd_frame *frame, int status, const char *name, uint32_t number) {
  char text[sizeof(frame->text)];
  if (state_of(frame)) {
    try {
      std::string shown = name ? field_name_text(name) : std::to_string(number);
      fail_in_field(frame, !name || shown[0] == '"' ? shown.c_str() : ('"' + shown + '"').c_str());
    } catch (const std::bad_alloc &) { // the path lacks a field
    }
  } else if (name && frame->text[0]) {
    std::memcpy(text, frame->text, sizeof(text));
    std::snprintf(frame->text, sizeof(frame->text), "field %s: %.200s", name, text);
  }
  return status;
}

// By columns: the kernel of each field takes all elements at once.
int fields(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<fields_kernel *>(const_cast<ckernel_prefix *>(self)); // reads only
  int status = dynd_ok;
  uint32_t failed = 0;
  for (uint32_t i = 0; i < k->count && !status; i++) {
    status = call_strided(k->child_at(i), stream, stride, count, frame);
    failed = i;
  }
  if (status && count > 1 && state_of(frame)) { // an element before that one may have failed in another field
    for (size_t e = 0; e < count; e++) {
      moved_streams one(stream, stride, e, k->nstreams);
      if (int first = fields(one.at, stride, 1, self, frame)) {
        add_to_failed_index(frame, e);
        return first;
      }
    }
  }
  return status ? fail_field(frame, status, k->field[failed].name, failed) : status;
}

// ---- content: what rows and pointers move to ----------------------------------------------------------------------

struct content_stream {
  uint32_t stream, unused;
  intptr_t stride, unit; // along the rows, and what their starts count in
};

// The streams below `part`, along its dimension.
uint32_t list_content(const kernel_operand &part, content_stream *list) {
  kernel_operand inside = part.element();
  for (int s = 0; s < inside.type()->nstreams; s++) {
    intptr_t stride = part.stride(inside.part.stream + s, part.part.dim);
    list[s] = {uint32_t(inside.stream() + s), 0, stride, start_unit(stride, part.step())};
  }
  return inside.type()->nstreams;
}

struct pointer_kernel {
  ckernel_prefix base;
  uint32_t child, nstreams;
  uint32_t index, ncontent;
  int32_t pool; // of the destination's pointers; -1: it is the source's
  int32_t null; // of the source's: where pointers to nothing go, or -1
  content_stream content[];
};

int pointer(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const pointer_kernel *>(self);
  char *at[max_call_streams];
  std::memcpy(at, stream, k->nstreams * sizeof(char *));
  for (size_t i = 0; i < count; i++) {
    int64_t index;
    std::memcpy(&index, at[k->index], sizeof(index));
    bool fresh = index < 0;
    if (fresh && k->null >= 0) {
      std::memcpy(at[k->null], &index, sizeof(index));
      for (uint32_t s = 0; s < k->nstreams; s++) {
        at[s] += stride[s];
      }
      continue;
    }
    if (fresh) {
      auto *pool = k->pool < 0 ? nullptr : reinterpret_cast<row_pool *>(stream[k->pool]);
      index = pool ? pool->take(1) : -1;
      if (index < 0) {
        fail_element(frame, i);
        return report(frame, pool ? dynd_error_memory : dynd_error_value, "%s",
                      pool ? "no memory for what a pointer points to" : "a pointer points to nothing");
      }
    }
    for (uint32_t c = 0; c < k->ncontent; c++) {
      at[k->content[c].stream] = stream[k->content[c].stream] + index * k->content[c].stride;
    }
    if (int status = call_strided(child_of(k), at, stride, 1, frame)) {
      add_to_failed_index(frame, i);
      return status;
    }
    if (fresh) {
      std::memcpy(at[k->index], &index, sizeof(index));
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s];
    }
  }
  return dynd_ok;
}

// ---- rows ---------------------------------------------------------------------------------------------------------

// One side of a dimension in which the other, or itself, has rows.
struct rows_side {
  intptr_t size;   // of all rows; -1: read from the slots
  uint32_t stream; // of the slots
  slot_kind kind;

  explicit rows_side(const kernel_operand *operand)
      : size(operand ? operand->size() : 1), stream(operand ? uint32_t(operand->stream()) : 0),
        kind(operand ? operand->slots() : slot_kind::none) {}
  row_extent read(char *const *at) const { return size >= 0 ? row_extent{0, size} : read_slot(at[stream], kind); }
};

struct rows_kernel {
  ckernel_prefix base;
  uint32_t child, nstreams;
  rows_side dst, src;
  uint32_t ndst, nsrc; // streams of the content: the destination's, then the source's
  int32_t pool;
  bool exact;
  content_stream content[];
};

int rows(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const rows_kernel *>(self);
  char *at[max_call_streams], *inner[max_call_streams];
  intptr_t inner_stride[max_call_streams];
  std::memcpy(at, stream, k->nstreams * sizeof(char *));
  std::memset(inner_stride, 0, k->nstreams * sizeof(intptr_t));
  for (size_t i = 0; i < count; i++) {
    row_extent to = k->dst.read(at), from = k->src.read(at);
    auto *pool = k->dst.size < 0 ? reinterpret_cast<row_pool *>(stream[k->pool]) : nullptr;
    bool other = k->exact && from.size != to.size, fresh = has_no_memory(to) || (other && pool);
    if (has_no_memory(to) && (has_no_memory(from) || (!pool && from.size == 0))) { // nothing to nothing
      for (uint32_t s = 0; s < k->nstreams; s++) {
        at[s] += stride[s];
      }
      continue;
    }
    bool replaced = fresh && !has_no_memory(to);
    if (fresh) {
      to = {pool ? pool->replace(to.start, to.size, from.size) : -1, from.size};
      if (to.start < 0) {
        fail_element(frame, i);
        return report(frame, pool ? dynd_error_memory : dynd_error_value, "no memory for a row of %lld",
                      (long long)from.size);
      }
    }
    if (from.size != to.size && (from.size != 1 || k->exact)) {
      fail_element(frame, i);
      return report(frame, dynd_error_broadcast, "assign: cannot broadcast a row of %lld to a row of %lld",
                    (long long)from.size, (long long)to.size);
    }
    if (replaced) { // its old place is not its own any more
      std::memcpy(at[k->dst.stream], &to, sizeof(to));
    }
    std::memcpy(inner, at, k->nstreams * sizeof(char *));
    for (uint32_t c = 0; c < k->ndst + k->nsrc; c++) {
      const content_stream &content = k->content[c];
      const row_extent &row = c < k->ndst ? to : from;
      inner[content.stream] += row.start * content.unit;
      inner_stride[content.stream] = row.size == to.size ? content.stride : 0;
    }
    if (int status = call_strided(child_of(k), inner, inner_stride, size_t(to.size), frame)) {
      fail_in_dimension(frame, i);
      return status;
    }
    if (fresh) {
      std::memcpy(at[k->dst.stream], &to, sizeof(to));
    }
    for (uint32_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s];
    }
  }
  return dynd_ok;
}

} // namespace

size_t begin_option(ckernel_builder &out, size_t offset, const option_spec &spec) {
  auto *k = begin_level<option_kernel>(out, offset, sizeof(option_kernel), option);
  k->nstreams = uint32_t(spec.nstreams);
  k->dst = spec.dst;
  k->src = spec.src;
  k->text = spec.text;
  k->rule = spec.rule;
  return offset + sizeof(option_kernel);
}

size_t begin_fields(ckernel_builder &out, size_t offset, int count, int nstreams) {
  size_t size = sizeof(fields_kernel) + size_t(count) * sizeof(one_field);
  out.ensure_capacity(offset + size);
  auto *k = out.get_at<fields_kernel>(offset);
  k->count = uint32_t(count);
  k->nstreams = uint32_t(nstreams);
  k->base.destructor = destroy_fields;
  k->base.function = reinterpret_cast<void *>(fields);
  return offset + size;
}

void set_field(ckernel_builder &out, size_t fields, int i, size_t child, const char *name) {
  out.ensure_capacity(child); // its prefix is there, and zero, before it counts
  one_field &field = out.get_at<fields_kernel>(fields)->field[i];
  field.name = name;
  field.child = uint32_t(child - fields);
}

namespace {

size_t begin_any_pointer(ckernel_builder &out, size_t offset, const kernel_operand &operand, int nstreams, int pool,
                         int null) {
  size_t size = sizeof(pointer_kernel) + operand.element().type()->nstreams * sizeof(content_stream);
  auto *k = begin_level<pointer_kernel>(out, offset, size, pointer);
  k->nstreams = uint32_t(nstreams);
  k->index = uint32_t(operand.stream());
  k->pool = pool;
  k->null = null;
  k->ncontent = list_content(operand, k->content);
  return offset + size;
}

} // namespace

size_t begin_source_pointer(ckernel_builder &out, size_t offset, const kernel_operand &operand, int nstreams, int dst) {
  return begin_any_pointer(out, offset, operand, nstreams, -1, dst);
}

size_t begin_pointer(ckernel_builder &out, size_t offset, const kernel_operand &operand, int nstreams, int pool) {
  return begin_any_pointer(out, offset, operand, nstreams, pool, -1);
}

size_t begin_rows(ckernel_builder &out, size_t offset, const rows_spec &spec) {
  size_t ncontent = spec.dst->element().type()->nstreams + (spec.src ? spec.src->element().type()->nstreams : 0);
  size_t size = sizeof(rows_kernel) + ncontent * sizeof(content_stream);
  auto *k = begin_level<rows_kernel>(out, offset, size, rows);
  k->nstreams = uint32_t(spec.nstreams);
  k->dst = rows_side(spec.dst);
  k->src = rows_side(spec.src);
  k->pool = spec.pool;
  k->exact = spec.exact;
  k->ndst = list_content(*spec.dst, k->content);
  k->nsrc = spec.src ? list_content(*spec.src, k->content + k->ndst) : 0;
  return offset + size;
}

} // namespace dynd

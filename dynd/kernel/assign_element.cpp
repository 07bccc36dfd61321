// Levels of assignment for elements that have something inside: options, fields, pointers. (Rows are
// in dims.cpp.)
#include <algorithm>
#include <cstring>
#include <new>
#include <string>

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

constexpr size_t options_at_once = 512;

struct option_kernel {
  ckernel_prefix base;
  uint32_t child;
  option_spec spec;
};

bool is_missing_text(std::string_view text) { return text.empty() || text == "NA" || text == "null"; }

/// A byte of each element of one call, from `first` on.
struct byte_stream {
  char *at;
  intptr_t step;
  byte_stream(char *const *stream, const intptr_t *stride, int s, size_t first)
      : at(stream[s] + intptr_t(first) * stride[s]), step(stride[s]) {}
  char &operator[](size_t i) const { return at[intptr_t(i) * step]; }
};

/// Fills in which of n elements are there, from `first` on.
void find_present(const option_spec &spec, char *const *stream, const intptr_t *stride, size_t first, size_t n,
                  bool *there) {
  std::memset(there, 1, n);
  for (int s : spec.src) {
    if (s >= 0) {
      const byte_stream valid(stream, stride, s, first);
      for (size_t i = 0; i < n; i++) {
        there[i] &= valid[i] != 0;
      }
    }
  }
  if (spec.text.is_text()) {
    const byte_stream slot(stream, stride, spec.text.stream, first);
    for (size_t i = 0; i < n; i++) {
      there[i] = there[i] && !is_missing_text(spec.text.read(stream, &slot[i]));
    }
  }
}

// Runs of elements that are there go to the child in one call; validity is written after the values.
int option(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const option_kernel *>(self);
  const option_spec &spec = k->spec;
  bool there[options_at_once];
  for (size_t done = 0; done < count; done += options_at_once) {
    size_t n = std::min(options_at_once, count - done);
    find_present(spec, stream, stride, done, n, there);
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
      for (; begin < n && !there[begin]; begin++) {
        if (spec.refuses) {
          fail_element(frame, done + begin);
          return report(frame, dynd_error_overflow, "cannot assign an NA value to a non-option type");
        }
      }
      for (end = begin; end < n && there[end]; end++) {
      }
      moved_streams run(stream, stride, done + begin, uint32_t(spec.nstreams));
      if (int status = end > begin ? call_strided(child_of(k), run.at, stride, end - begin, frame) : int(dynd_ok)) {
        add_to_failed_index(frame, done + begin);
        return status;
      }
    }
    if (spec.dst >= 0) {
      const byte_stream valid(stream, stride, spec.dst, done);
      for (size_t i = 0; i < n; i++) {
        valid[i] = there[i];
      }
    }
    if (spec.zeroed >= 0) {
      const byte_stream value(stream, stride, spec.zeroed, done);
      for (size_t i = 0; i < n; i++) {
        value[i] &= there[i];
      }
    }
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
};

void destroy_fields(ckernel_prefix *self) {
  auto *k = reinterpret_cast<fields_kernel *>(self);
  for (uint32_t i = 0; i < k->count; i++) {
    if (k->field[i].child) {
      destroy_child(const_cast<ckernel_prefix *>(child_at(self, k->field[i].child)));
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
    } catch (const std::bad_alloc &) {
      state_of(frame)->lacks_parts = true;
    }
  } else if (name && frame->text[0]) {
    std::memcpy(text, frame->text, sizeof(text));
    std::snprintf(frame->text, sizeof(frame->text), "field %s: %.200s", name, text);
  }
  return status;
}

// By columns: the kernel of each field takes all elements at once.
int fields(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const fields_kernel *>(self);
  int status = dynd_ok;
  uint32_t failed = 0;
  for (uint32_t i = 0; i < k->count && !status; i++) {
    status = call_strided(child_at(self, k->field[i].child), stream, stride, count, frame);
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

// ---- pointers -----------------------------------------------------------------------------------------------------

struct pointer_kernel {
  ckernel_prefix base;
  uint32_t child, index;
  uint32_t content, ncontent; // streams of what it points to
  pointer_spec spec;
  intptr_t stride[]; // of the content, along what it points to
};

void set_null(char *pointer, row_pool *pool) {
  int64_t before;
  std::memcpy(&before, pointer, sizeof(before));
  if (before >= 0 && pool) {
    pool->give_back(before, 1);
  }
  const int64_t nothing = -1;
  std::memcpy(pointer, &nothing, sizeof(nothing));
}

int pointer(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self, dynd_frame *frame) {
  auto *k = reinterpret_cast<const pointer_kernel *>(self);
  const uint32_t nstreams = uint32_t(k->spec.nstreams);
  char *at[max_call_streams];
  std::memcpy(at, stream, nstreams * sizeof(char *));
  for (size_t i = 0; i < count; i++) {
    int64_t index;
    std::memcpy(&index, at[k->index], sizeof(index));
    bool fresh = index < 0;
    bool stays_null = fresh && k->spec.null >= 0;
    auto *pool = k->spec.pool < 0 ? nullptr : reinterpret_cast<row_pool *>(stream[k->spec.pool]);
    if (stays_null) {
      set_null(at[k->spec.null], pool);
    } else if (fresh) {
      index = pool ? pool->take(1) : -1;
      if (index < 0) {
        fail_element(frame, i);
        return report(frame, pool ? dynd_error_memory : dynd_error_value, "%s",
                      pool ? "no memory for what a pointer points to" : "a pointer points to nothing");
      }
    }
    for (uint32_t c = 0; c < k->ncontent; c++) {
      at[k->content + c] = stream[k->content + c] + index * k->stride[c];
    }
    if (int status = stays_null ? int(dynd_ok) : call_strided(child_of(k), at, stride, 1, frame)) {
      if (fresh) {
        pool->give_back(index, 1);
      }
      add_to_failed_index(frame, i);
      return status;
    }
    if (fresh && !stays_null) {
      std::memcpy(at[k->index], &index, sizeof(index));
    }
    advance(at, stride, nstreams);
  }
  return dynd_ok;
}

} // namespace

size_t begin_option(ckernel_builder &out, size_t offset, const option_spec &spec) {
  begin_level<option_kernel>(out, offset, sizeof(option_kernel), option)->spec = spec;
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

size_t begin_pointer(ckernel_builder &out, size_t offset, const kernel_operand &operand, const pointer_spec &spec) {
  kernel_operand inside = operand.element();
  uint32_t ncontent = inside.type()->nstreams;
  size_t size = sizeof(pointer_kernel) + ncontent * sizeof(intptr_t);
  auto *k = begin_level<pointer_kernel>(out, offset, size, pointer);
  k->spec = spec;
  k->index = uint32_t(operand.stream());
  k->content = uint32_t(inside.stream());
  k->ncontent = ncontent;
  for (uint32_t c = 0; c < ncontent; c++) {
    k->stride[c] = operand.stride(inside.part.stream + int(c), operand.part.dim);
  }
  return offset + size;
}

} // namespace dynd

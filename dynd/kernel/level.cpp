#include "dynd/kernel/level.h"

#include <new>

#include "dynd/ops/refusal.h"

namespace dynd {

namespace {

void put_before_path(frame_state &state, const char *what) {
  try {
    state.path = std::string(", ") + what + state.path;
  } catch (const std::bad_alloc &) {
    state.lacks_parts = true;
  }
}

} // namespace

int report_refusal(dynd_frame *frame, scalar_id to, scalar_id from, const char *value) {
  try {
    refusal why = why_refused(to, from, value);
    return report(frame, int(why.kind), "%s", why.text.c_str());
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "no memory to say which value was refused");
  }
}

void fail_element(dynd_frame *frame, size_t index, const char *field) {
  if (frame_state *state = state_of(frame)) {
    state->index = index;
    state->path.clear();
    if (field) {
      put_before_path(*state, field);
    }
  }
}

void fail_in_dimension(dynd_frame *frame, size_t index) {
  if (frame_state *state = state_of(frame)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%zu", state->index);
    put_before_path(*state, text);
    state->index = index;
  }
}

void fail_in_field(dynd_frame *frame, const char *field) {
  if (frame_state *state = state_of(frame)) {
    put_before_path(*state, field);
  }
}

} // namespace dynd

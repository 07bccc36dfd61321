#include "dynd/eval/frame.h"

#include <new>
#include <string>
#include <utility>

#include "dynd/base/errors.h"
#include "dynd/memory/buffer.h"

namespace dynd {

namespace {

// Scratch is kept by the thread and grows; it is used by one piece at a time. It has no destructor: another
// thread_local object may evaluate something in its own.
struct thread_scratch {
  char *memory = nullptr;
  size_t size = 0;
  bool used = false;
};
constinit thread_local thread_scratch scratch_of_thread;

// Frees the scratch when the thread ends.
struct scratch_keeper {
  void begin() {} // the first use makes it
  ~scratch_keeper() {
    ::operator delete(std::exchange(scratch_of_thread.memory, nullptr), std::align_val_t(64));
    scratch_of_thread.size = 0;
  }
};
thread_local scratch_keeper keeper_of_thread;

char *new_scratch(size_t size) {
  auto *memory = static_cast<char *>(::operator new(size, std::align_val_t(64), std::nothrow));
  if (!memory) {
    fail(error_kind::memory, "cannot allocate " + std::to_string(size) + " bytes of scratch");
  }
  return memory;
}

} // namespace

work_frame::work_frame(size_t scratch_size) {
  size = sizeof(dynd_frame);
  version = DYND_ABI_VERSION;
  temp = allocate_temp;
  cancel = nullptr;
  kind = 0;
  text[0] = 0;
  engine = &state;
  temps = nullptr;
  scratch = nullptr;
  if (scratch_size == 0) {
    return;
  }
  thread_scratch &own = scratch_of_thread;
  if (own.used) { // a kernel that evaluates something itself
    scratch = own_scratch_ = new_scratch(scratch_size);
  } else {
    if (own.size < scratch_size) {
      char *larger = new_scratch(scratch_size * 2);
      ::operator delete(own.memory, std::align_val_t(64));
      own.memory = larger;
      keeper_of_thread.begin();
      own.size = scratch_size * 2;
    }
    own.used = true;
    scratch = own.memory;
  }
  if (poisoning) {
    poison(scratch, scratch_size);
  }
}

work_frame::~work_frame() {
  if (own_scratch_) {
    ::operator delete(own_scratch_, std::align_val_t(64));
  } else if (scratch) {
    scratch_of_thread.used = false;
  }
  while (temps) {
    ::operator delete(std::exchange(temps, *static_cast<void **>(temps)), std::align_val_t(64));
  }
}

void *work_frame::allocate_temp(dynd_frame *self, size_t size) {
  constexpr size_t header = 64; // keeps what is handed out aligned
  void *memory =
      size <= SIZE_MAX - header ? ::operator new(header + size, std::align_val_t(64), std::nothrow) : nullptr;
  if (!memory) {
    return nullptr;
  }
  if (poisoning) {
    poison(memory, header + size);
  }
  *static_cast<void **>(memory) = std::exchange(self->temps, memory);
  return static_cast<char *>(memory) + header;
}

} // namespace dynd

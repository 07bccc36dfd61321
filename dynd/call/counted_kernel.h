// A deferred kernel that C++ makes: counted, with its texts in it. And what its calls throw as errors of the call.
#pragma once

#include <atomic>
#include <exception>
#include <new>
#include <string>

#include "dynd/abi/callable.h"
#include "dynd/base/errors.h"
#include "dynd/kernel/level.h"

namespace dynd::nd {

/// Self derives from it, sets prototype, flags and instantiate, and may have a `destroy` of its own.
template <class Self> struct counted_kernel : deferred_ckernel {
  std::string name_text, signature_text, doc_text;
  std::atomic<intptr_t> refs{1};

  explicit counted_kernel(std::string own_name = {}, std::string own_signature = {}, std::string own_doc = {})
      : deferred_ckernel{}, name_text(std::move(own_name)), signature_text(std::move(own_signature)),
        doc_text(std::move(own_doc)) {
    size = sizeof(deferred_ckernel);
    version = DYND_ABI_VERSION;
    name = name_text.c_str();
    signature = signature_text.c_str();
    doc = doc_text.c_str();
    retain = [](const deferred_ckernel *self) { of(self)->refs.fetch_add(1, std::memory_order_relaxed); };
    release = release_self;
  }
  counted_kernel(const counted_kernel &) = delete;
  counted_kernel &operator=(const counted_kernel &) = delete;

  static Self *of(const deferred_ckernel *self) { return const_cast<Self *>(static_cast<const Self *>(self)); }
  void destroy() { delete static_cast<Self *>(this); }

protected:
  static void release_self(const deferred_ckernel *self) {
    if (of(self)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      of(self)->destroy();
    }
  }
};

/// In a handler of exceptions: what was thrown becomes the error of the call, whose code it returns.
inline int report_caught(dynd_frame *frame) {
  try {
    throw;
  } catch (const error &e) {
    return report(frame, int(e.kind()), "%s", e.what());
  } catch (const std::bad_alloc &) {
    return report(frame, dynd_error_memory, "no memory");
  } catch (const std::exception &e) {
    return report(frame, dynd_error_value, "%s", e.what());
  } catch (...) {
    return report(frame, dynd_error_value, "an exception of unknown type");
  }
}

} // namespace dynd::nd

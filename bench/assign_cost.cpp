// What assignment costs in C++, without a call from Python. Of three values, float64 from int32: building the kernel
// and running it (bar: 80 ns), and the whole of nd::assign. Of many, beside the hand-written loops of the library that
// bench/floors.py builds, where its path is given (bar: 1.15).
//
// Usage: assign_cost [floors.so]

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "dynd/call/functions.h"
#include "dynd/eval/threads.h"
#include "dynd/kernel/assign.h"
#include "floors.h"

namespace {

using namespace dynd;

/// Of one call, in seconds.
template <class Work> double time_of(Work work, int calls) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; i++) {
    work();
    asm volatile("" : : : "memory");
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

template <class Work> double nanoseconds(Work work) {
  double best = 1e9;
  for (int round = 0; round < 500; round++) {
    best = std::min(best, time_of(work, 4000));
  }
  return best * 1e9;
}

/// The hand-written loops of one family, by the C interface of floors.cpp.
struct loop_family {
  void *library;
  const char *name;

  double best_time(const floors::work &work, int calls) const {
    auto name_of = reinterpret_cast<const char *(*)(int64_t)>(dlsym(library, "floor_name"));
    auto time = reinterpret_cast<double (*)(int64_t, const floors::work *, int64_t)>(dlsym(library, "floor_time"));
    double best = 1e9;
    for (int64_t i = 0; const char *loop = name_of(i); i++) {
      if (std::strncmp(loop, name, std::strlen(name)) == 0 && loop[std::strlen(name)] == '/') {
        time(i, &work, 1); // the one before may have written past the cache
        best = std::min(best, time(i, &work, calls) / calls);
      }
    }
    return best;
  }
};

void compare(void *library, const char *from, const char *to, intptr_t count) {
  std::string family = std::strcmp(from, to) == 0 ? "copy" : std::string(from) + " to " + to;
  loop_family loops{library, family.c_str()};
  std::string size = std::to_string(count) + " * ";
  nd::array dst = nd::empty(ndt::type(size + to), &count), src = nd::empty(ndt::type(size + from), &count);
  nd::assign(src, nd::array(7.0));
  nd::assign(dst, nd::array(0.0));
  floors::work work = {const_cast<double *>(dst.data<double>()), {src.data<double>()}, nullptr, 1, count, {}};
  int calls = int(std::max<intptr_t>(1, 1'000'000 / count)), rounds = count > 1'000'000 ? 25 : 100;
  double ours = 1e9, best = 1e9;
  for (int round = 0; round < rounds; round++) {
    nd::assign(dst, src, error_mode::nocheck);
    ours = std::min(ours, time_of([&] { nd::assign(dst, src, error_mode::nocheck); }, calls));
    best = std::min(best, loops.best_time(work, calls));
  }
  std::printf("nd::assign %s to %s, %td: %.2f us, %.2f of the best loop (bar 1.15)\n", from, to, count, ours * 1e6,
              ours / best);
}

} // namespace

int main(int argc, char **argv) {
  ndt::type to("3 * float64"), from("3 * int32");
  intptr_t size = 3, to_stride = 8, from_stride = 4;
  uint32_t kind = 0;
  int32_t step = 1;
  constexpr uint32_t bytes = sizeof(dynd_arrmeta);
  dynd_arrmeta to_meta = {bytes, DYND_ABI_VERSION, 1, 1, &size, &to_stride, &kind, &step},
               from_meta = {bytes, DYND_ABI_VERSION, 1, 1, &size, &from_stride, &kind, &step};
  double dst[3] = {};
  int32_t src[3] = {1, 2, 3};
  element_assignment what{{{to.get()}, &to_meta, 0}, {{from.get()}, &from_meta, 1}, 2, error_mode::fractional};
  char *stream[] = {reinterpret_cast<char *>(dst), reinterpret_cast<char *>(src)};
  const intptr_t stride[] = {0, 0};
  alignas(64) char scratch[16384]; // a thread has one and uses it again
  dynd_frame frame = {};
  frame.size = sizeof(frame);
  frame.scratch = scratch;
  double built = nanoseconds([&] {
    ckernel_builder kernel;
    make_assignment_kernel(kernel, 0, what, kernel_request_strided);
    auto function = reinterpret_cast<streams_strided_t>(kernel.root()->function);
    function(stream, stride, 1, kernel.root(), &frame);
  });
  nd::array target = nd::copy(nd::array{0.0, 0.0, 0.0}, access_mode::readwrite), source{1, 2, 3};
  double whole = nanoseconds([&] { nd::assign(target, source); });
  if (dst[2] != 3 || target.data<double>()[2] != 3) {
    std::fprintf(stderr, "the assignment is wrong\n");
    return 1;
  }
  std::printf("build and run of a 3-element assignment %.1f ns (bar 80); nd::assign %.1f ns\n", built, whole);
  if (argc < 2) {
    return 0;
  }
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  set_num_threads(1);
  for (intptr_t count : {10'000, 100'000, 16'000'000}) {
    compare(library, "float64", "float64", count);
    compare(library, "float64", "float32", count);
    compare(library, "int32", "float64", count);
    compare(library, "float64", "int32", count);
  }
}

// A fork leaves no lock behind that a thread of the parent held, and no array that such a thread was computing.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "dynd/call/functions.h"
#include "dynd/call/wrap.h"
#include "dynd/memory/buffer.h"
#include "fixture.h"

namespace dynd {
namespace {

using testing::bits;
using testing::ramp;

enum class outcome { good, bad, sanitizer };

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer's allocator has locks of its own, which a fork leaves behind where a thread holds one: with GCC 12 up
// to 3 of 100 children hang in a program that has nothing but malloc, threads and fork. Those children say nothing
// about our locks: a child that is still there after 10 seconds says whether it is the sanitizer that it waits in.
constexpr int fewer = 5, in_sanitizer = 3; // each that hangs costs 10 seconds

void tell_where(int, siginfo_t *, void *context) {
  alarm(2); // the next one ends it
  Dl_info found;
  auto *at = reinterpret_cast<void *>(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
  bool sanitizer = dladdr(at, &found) && found.dli_fname && std::strstr(found.dli_fname, "libasan");
  _exit(sanitizer ? in_sanitizer : 1);
}

void limit_time() {
  struct sigaction action = {};
  action.sa_sigaction = tell_where;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
  sigaction(SIGALRM, &action, nullptr);
  alarm(10);
}
#else
constexpr int fewer = 1, in_sanitizer = -1;
void limit_time() { alarm(10); }
#endif

// Forks; the child calls, for 10 seconds at most. Whether it returned true.
outcome in_child(const std::function<bool()> &call) {
  pid_t child = fork();
  if (child == 0) {
    limit_time();
    _exit(call() ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  bool sanitizer = WIFEXITED(status) && WEXITSTATUS(status) == in_sanitizer;
  return status == 0 ? outcome::good : sanitizer ? outcome::sanitizer : outcome::bad;
}

// Calls on another thread again and again, as long as it lives.
class meanwhile {
public:
  explicit meanwhile(const std::function<void()> &call)
      : thread_([this, call] {
          while (!done_) {
            call();
          }
        }) {}
  ~meanwhile() {
    done_ = true;
    thread_.join();
  }

private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

void expect_children_work(int count, const std::function<void()> &call) {
  meanwhile one(call), two(call);
  int good = 0;
  count /= fewer;
  for (int i = 0; i < count; i++) {
    outcome found = in_child([&] { return call(), true; });
    ASSERT_NE(found, outcome::bad) << "child " << i;
    good += found == outcome::good;
  }
  EXPECT_GT(good, count / 2); // all, without a sanitizer
}

TEST(Fork, LeavesNoLockOfBuffersBehind) {
  expect_children_work(100, [] { allocate_buffer(3000); });
}

TEST(Fork, LeavesNoLockOfTypesBehind) {
  expect_children_work(100, [] {
    static std::atomic<int> number = 0;
    ndt::make_fixed_dim(number++ % 1000, ndt::make_string());
  });
}

TEST(Fork, LeavesNoLockOfLazyArraysBehind) {
  nd::array a = ramp("8200 * float64");
  expect_children_work(100, [&] { (a * a).eval(); });
}

// Operands of other types than those of the last call are looked up under a lock.
TEST(Fork, LeavesNoLockOfCallablesBehind) {
  nd::callable f = nd::callable(nd::make_kernel("twice", [](double x) { return 2 * x; }));
  nd::array a = {1, 2}, b = {1.5f, 2.5f};
  expect_children_work(200, [&] {
    f(a);
    f(b);
  });
}

// All threads look at one array, so that some compute it and some wait for them.
TEST(Fork, TheChildComputesWhatTheParentWasComputing) {
  nd::array a = ramp("400000 * float64"), shared = a;
  std::string expected = bits(nd::sqrt(a * a + a).eval());
  for (int round = 0; round < 30; round++) {
    shared = nd::sqrt(a * a + a);
    std::thread one([&] { shared.eval(); }), two([&] { shared.eval(); });
    while (shared->state.load() == array_state::lazy) {
    }
    EXPECT_NE(in_child([&] { return bits(shared) == expected; }), outcome::bad) << "round " << round;
    one.join();
    two.join();
  }
}

} // namespace
} // namespace dynd

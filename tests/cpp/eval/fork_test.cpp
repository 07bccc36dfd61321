// A fork leaves no lock behind that a thread of the parent held, and no array that such a thread was computing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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

// Forks; the child calls, for 10 seconds at most. Whether it returned true.
bool in_child(const std::function<bool()> &call) {
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(call() ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  return status == 0;
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
  for (int i = 0; i < count; i++) {
    ASSERT_TRUE(in_child([&] { return call(), true; })) << "child " << i;
  }
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
    EXPECT_TRUE(in_child([&] { return bits(shared) == expected; })) << "round " << round;
    one.join();
    two.join();
  }
}

} // namespace
} // namespace dynd

// At the end of the tests the workers of TBB end too, and with them what threads keep: otherwise it looks like a leak.
#include <gtest/gtest.h>

#include <tbb/global_control.h>

namespace dynd::testing {
namespace {

class end_of_threads : public ::testing::Environment {
  void TearDown() override {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    tbb::finalize(handle, std::nothrow);
  }
};

[[maybe_unused]] ::testing::Environment *const added = ::testing::AddGlobalTestEnvironment(new end_of_threads);

} // namespace
} // namespace dynd::testing

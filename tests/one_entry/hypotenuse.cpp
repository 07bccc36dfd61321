// What one entry more in numbers.def brings, in C++: compiled and run by tools/check_one_entry.py.
#include <cstdio>
#include <string>

#include "dynd/call/functions.h"
#include "dynd/eval/observe.h"

using namespace dynd;

static int failures = 0;

static void expect(const std::string &found, const std::string &expected) {
  if (found != expected) {
    std::printf("found %s, expected %s\n", found.c_str(), expected.c_str());
    failures++;
  }
}

int main() {
  nd::array a{3.0, 5.0, 8.0}, b{4.0, 12.0, 15.0};
  expect(nd::values_text(nd::hypotenuse(a, b)), "[5.0, 13.0, 17.0]");
  expect(nd::values_text(nd::hypotenuse(nd::array{3, 5}, nd::array(4))), "[5.0, 6.4031242374328485]");

  intptr_t count = 4;
  nd::array offsets = nd::empty(ndt::type("strided * int64"), &count);
  const int64_t starts[] = {0, 2, 2, 3};
  std::copy_n(starts, 4, const_cast<int64_t *>(offsets.data<int64_t>()));
  nd::array rows = nd::from_offsets(offsets, a);
  expect(nd::values_text(nd::hypotenuse(rows, 4.0)), "[[5.0, 6.4031242374328485], [], [8.94427190999916]]");
  expect(nd::values_text(nd::hypotenuse(rows, nd::with_unit_axis(b, 1))), "[[5.0, 6.4031242374328485], [], [17.0]]");

  // Fused with its neighbours, into one kernel.
  intptr_t size = 20000;
  nd::array large = nd::empty(ndt::type("strided * float64"), &size);
  nd::assign(large, nd::array(3.0));
  large = nd::copy(large, access_mode::immutable);
  observation seen;
  thread_settings().watching = &seen;
  nd::array total = nd::sum(nd::hypotenuse(large, large * 0.0 + 4.0) - 1.0);
  thread_settings().watching = nullptr;
  expect(nd::values_text(total), "80000.0");
  expect(std::to_string(seen.kernels.size()) + " kernel", "1 kernel");
  return failures != 0;
}

// Arrays from datashape and JSON-like text, as the tests write them, and what they look at afterwards.
//
//   nd::array a = parse("2 * var * int32", "[[1, 2], [3]]");
//   EXPECT_EQ(text(a + a), "[[2, 4], [6]]");
#pragma once

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dynd/array/array.h"
#include "dynd/base/errors.h"
#include "dynd/eval/settings.h"
#include "dynd/eval/threads.h"

namespace dynd::testing {

/// Numbers, true, false, nan, inf and -inf, in brackets for each dimension. Lists of the wrong length throw
/// std::runtime_error. Other elements: "text", null, {x: 1, y: 2} and (1, 2), fields in order. With readwrite access
/// the memory is not immutable, so nothing over it is lazy.
nd::array parse(std::string_view datashape, std::string_view values, access_mode access = access_mode::immutable);

/// Values 0, 1, 2 ... in C order (bool: 0, 1, 0 ...). Strided dimensions are given by their size; rows of `var` have
/// the lengths 2, 0, 1, 3, then again: "5 * var * int32" has rows of 2, 0, 1, 3, 2.
nd::array ramp(std::string_view datashape, access_mode access = access_mode::immutable);

/// The values as they are printed: "[[1, 2], [3]]".
std::string text(const nd::array &a);
std::string type_text(const nd::array &a);

/// Type, lengths and bytes of every value in C order: equal for two arrays that cannot be told apart.
std::string bits(const nd::array &a);

/// So many threads, while it is there.
class with_threads {
public:
  explicit with_threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~with_threads() { set_num_threads(before_); }

private:
  int before_;
};

/// With the direct step or without, while it is there.
class with_direct {
public:
  explicit with_direct(bool on) : before_(direct_enabled.exchange(on)) {}
  ~with_direct() { set_direct(before_); }

private:
  bool before_;
};

/// What the call fails with: "broadcast: add: cannot ..." (the kind, then the message), or "no error".
template <class F> std::string failure(F &&call) {
  static const char *const kinds[] = {"type", "value", "index", "broadcast", "overflow", "memory", "internal"};
  try {
    call();
  } catch (const error &e) {
    return std::string(kinds[-1 - int(e.kind())]) + ": " + e.what();
  }
  return "no error";
}

/// The message alone.
template <class F> std::string message(F &&call) {
  std::string said = failure(call);
  size_t kind = said.find(": ");
  return kind == std::string::npos ? said : said.substr(kind + 2);
}

/// The call by so many threads at once, each with its number.
template <class F> void on_threads(int count, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) {
    threads.emplace_back([&f, i] { f(i); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

/// What the call gives where nothing is lazy.
template <class F> auto at_once(F f) {
  eager_scope eager;
  return f();
}

} // namespace dynd::testing

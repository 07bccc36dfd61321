// Groups and joins of keys that are taken in parts, on threads: for TSan above all. What they give is tested in Python
// (tests/python/test_groups.py, test_joins.py).
#include "dynd/call/creation.h"
#include "dynd/call/functions.h"
#include "dynd/call/groups.h"
#include "dynd/call/join.h"
#include "dynd/call/structure.h"
#include "fixture.h"

using namespace dynd;
using namespace dynd::testing;

namespace {

constexpr intptr_t many = 600000; // parts begin at 2^18 keys

nd::array as(const char *dtype, const nd::array &a) {
  nd::array to = nd::empty(ndt::type(std::string("strided * ") + dtype), a.get()->size());
  nd::assign(to, a);
  return to;
}

// Integers of a small range in no order; of others all bits matter.
nd::array scattered(intptr_t count, int64_t range) {
  return nd::arange(int64_t(0), int64_t(count), int64_t(1)) * nd::array(int64_t(7919)) % nd::array(range);
}

struct keys {
  const char *name;
  nd::array (*make)(intptr_t count);
};

const keys kinds[] = {
    {"few", [](intptr_t count) { return scattered(count, 1000); }},
    {"range", [](intptr_t count) { return scattered(count, 400009); }},
    {"sparse", [](intptr_t count) { return scattered(count, 400009) * nd::array(int64_t(1) << 40); }},
    {"float64", [](intptr_t count) { return scattered(count, 400009) / nd::array(3.0); }},
    {"short texts", [](intptr_t count) { return as("string", scattered(count, 300007)); }},
    {"long texts", [](intptr_t count) { return as("string", scattered(count, 300007) * nd::array(int64_t(1) << 44)); }},
};

nd::array structs(const nd::array &key, const std::string &name) {
  const std::string names[] = {"k", name};
  return nd::zip(names, std::vector{key, nd::arange(int64_t(0), key.size(0), int64_t(1))});
}

} // namespace

TEST(groups, OnThreadsTheyAreWhatTheyAreOnOne) {
  nd::array values = nd::arange(0.0, double(many), 1.0) / nd::array(7.0);
  std::vector<nd::group_reduction> reductions = {{aggregate_id::sum, values}, {aggregate_id::max, values}};
  for (const keys &kind : kinds) {
    nd::array by = kind.make(many);
    auto compute = [&](int threads) {
      with_threads some(threads);
      nd::groups groups(std::vector{by}, {}, false);
      std::vector<nd::array> reduced = groups.reduce(reductions);
      return bits(groups.keys()) + bits(reduced[0]) + bits(reduced[1]) + bits(groups.rows(values)) +
             bits(groups.spread(reduced[0]));
    };
    EXPECT_TRUE(compute(1) == compute(4)) << kind.name;
  }
}

TEST(joins, OnThreadsTheyAreWhatTheyAreOnOne) {
  const std::string on[] = {"k"};
  for (const keys &kind : kinds) {
    nd::array left = structs(kind.make(many), "x");
    nd::array right = structs(kind.make(&kind == kinds ? 999 : many / 2), "y"); // of few, each once
    for (nd::join_kind how : {nd::join_kind::left, nd::join_kind::anti}) {
      auto compute = [&](int threads) {
        with_threads some(threads);
        nd::array joined = nd::join(left, right, on, how);
        return bits(nd::field(joined, how == nd::join_kind::left ? "y" : "x"));
      };
      EXPECT_TRUE(compute(1) == compute(4)) << kind.name;
    }
  }
}

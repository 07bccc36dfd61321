// Groups and joins by hand, on one thread and on two: what two threads gain is compared with ours (bench/groups.py).
//
// Groups: in[0] has the values, offsets the keys (int64, or with `columns` of 16 texts of 16 bytes each), rows counts
// them. Sums go to out, of dense keys by key, of others in any order. Joins: offsets has the left keys, rows counts
// them; more[0] the right keys, columns counts those; in[0] the right values, and out gets those of the left keys.
// Memory is kept between the runs, as ours is.
#include "floors.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace floors {
namespace {

// Calls f(thread) on so many threads, this one among them.
template <int threads, class F> void at_once(F f) {
  if constexpr (threads == 1) {
    f(0);
  } else {
    std::thread other(f, 1);
    f(0);
    other.join();
  }
}

int64_t cut(int64_t count, int part, int parts) { return count * part / parts; }

// ---- keys of a small range ------------------------------------------------------------------------------------------

// Accumulators of each thread; a byte says that a key is there.
template <int threads> void group_dense(const work &w) {
  static std::vector<double> sums[2];
  static std::vector<uint8_t> seen[2];
  int64_t groups = w.columns;
  at_once<threads>([&](int t) {
    sums[t].assign(size_t(groups), -0.0);
    seen[t].assign(size_t(groups), 0);
    double *to = sums[t].data();
    uint8_t *there = seen[t].data();
    int64_t end = cut(w.rows, t + 1, threads);
    for (int64_t i = cut(w.rows, t, threads); i < end; i++) {
      __builtin_prefetch(w.offsets + i + 512);
      __builtin_prefetch(w.in[0] + i + 512);
      if (groups > 1 << 17) {
        __builtin_prefetch(to + w.offsets[std::min(i + 64, end - 1)]);
      }
      to[w.offsets[i]] += w.in[0][i];
      there[w.offsets[i]] = 1;
    }
  });
  at_once<threads>([&](int t) {
    for (int64_t g = cut(groups, t, threads); g < cut(groups, t + 1, threads); g++) {
      bool there = seen[0][g] | (threads == 2 && seen[1][g]);
      w.out[g] = !there ? 0 : threads == 2 ? sums[0][g] + sums[1][g] : sums[0][g];
    }
  });
}

template <int threads> void join_dense(const work &w) {
  static std::vector<int32_t> table;
  table.assign(size_t(w.columns), -1);
  const int64_t *right = (const int64_t *)w.more[0];
  for (int64_t i = 0; i < w.columns; i++) {
    table[size_t(right[i])] = int32_t(i);
  }
  at_once<threads>([&](int t) {
    for (int64_t i = cut(w.rows, t, threads); i < cut(w.rows, t + 1, threads); i++) {
      w.out[i] = w.in[0][table[size_t(w.offsets[i])]];
    }
  });
}

// ---- other keys: parts by their hash, each with a table in the cache ------------------------------------------------

struct number {
  uint64_t bits;
  bool operator==(const number &) const = default;
  uint64_t hash() const {
    uint64_t x = bits * 0x9e3779b97f4a7c15;
    return (x ^ x >> 32) * 0xd6e8feb86659fd93;
  }
};

struct text {
  uint64_t first, last;
  bool operator==(const text &) const = default;
  uint64_t hash() const { return number{number{first}.hash() ^ last}.hash(); }
};

constexpr int64_t parts = 512;
int64_t part_of(uint64_t hash) { return int64_t(hash >> 24) % parts; }

// Elements moved into parts: blocks of them are sorted in the cache, then copied to where they belong.
template <class Key> struct parted {
  struct element {
    Key key;
    double value;
  };
  static constexpr int64_t block = (1 << 19) / int64_t(sizeof(element));
  std::vector<element> elements;
  std::vector<int64_t> counts, begin = std::vector<int64_t>(parts + 1);

  template <int threads, class Value> void fill(const Key *keys, Value value, int64_t count) {
    int64_t blocks = (count + block - 1) / block;
    elements.resize(size_t(count));
    counts.assign(size_t(blocks * parts), 0);
    at_once<threads>([&](int t) {
      for (int64_t b = cut(blocks, t, threads); b < cut(blocks, t + 1, threads); b++) {
        for (int64_t i = b * block; i < std::min(count, (b + 1) * block); i++) {
          counts[size_t(b * parts + part_of(keys[i].hash()))]++;
        }
      }
    });
    std::vector<int64_t> next(size_t(blocks * parts));
    int64_t before = 0;
    for (int64_t p = 0; p < parts; p++) {
      begin[size_t(p)] = before;
      for (int64_t b = 0; b < blocks; b++) {
        next[size_t(b * parts + p)] = before;
        before += counts[size_t(b * parts + p)];
      }
    }
    begin[parts] = before;
    at_once<threads>([&](int t) {
      std::vector<element> sorted(static_cast<size_t>(block));
      for (int64_t b = cut(blocks, t, threads); b < cut(blocks, t + 1, threads); b++) {
        int64_t at[parts], sum = 0;
        for (int64_t p = 0; p < parts; p++) {
          at[p] = sum;
          sum += counts[size_t(b * parts + p)];
        }
        for (int64_t i = b * block; i < std::min(count, (b + 1) * block); i++) {
          sorted[size_t(at[part_of(keys[i].hash())]++)] = {keys[i], value(i)};
        }
        for (int64_t p = 0, from = 0; p < parts; from = at[p++]) {
          const auto *words = (const long long *)(sorted.data() + from);
          auto *to = (long long *)(elements.data() + next[size_t(b * parts + p)]);
          for (int64_t k = 0; k < (at[p] - from) * int64_t(sizeof(element) / 8); k++) {
            _mm_stream_si64(to + k, words[k]);
          }
        }
      }
      _mm_sfence();
    });
  }
};

// Sums of a part; returns where the next ones go.
template <class Key> double *group_part(const parted<Key> &all, int64_t part, double *to) {
  struct group {
    Key key;
    double sum;
  };
  thread_local std::vector<int32_t> table;
  thread_local std::vector<group> groups;
  int64_t begin = all.begin[size_t(part)], end = all.begin[size_t(part) + 1];
  int bits = 64 - __builtin_clzll(uint64_t((end - begin) / 2 + 64)); // ten of one group, mostly
  table.assign(size_t(1) << bits, -1);
  groups.clear();
  for (int64_t i = begin; i < end; i++) {
    const auto &own = all.elements[size_t(i)];
    uint64_t place = own.key.hash() >> (64 - bits);
    while (table[place] >= 0 && !(groups[size_t(table[place])].key == own.key)) {
      place = (place + 1) & (table.size() - 1);
    }
    if (table[place] < 0) {
      table[place] = int32_t(groups.size());
      groups.push_back({own.key, 0.0});
      if (groups.size() == table.size()) {
        __builtin_trap(); // more groups than these operands have
      }
    }
    groups[size_t(table[place])].sum += own.value;
  }
  for (const group &g : groups) {
    *to++ = g.sum;
  }
  return to;
}

template <class Key, int threads> void group_hashed(const work &w) {
  static parted<Key> all;
  static std::vector<double> own[2];
  all.template fill<threads>((const Key *)w.offsets, [&](int64_t i) { return w.in[0][i]; }, w.rows);
  int64_t sums[2] = {};
  at_once<threads>([&](int t) {
    own[t].resize(size_t(w.rows));
    double *to = own[t].data();
    for (int64_t p = cut(parts, t, threads); p < cut(parts, t + 1, threads); p++) {
      to = group_part(all, p, to);
    }
    sums[t] = to - own[t].data();
  });
  std::copy_n(own[0].data(), sums[0], w.out);
  if (threads == 2) {
    std::copy_n(own[1].data(), sums[1], w.out + sums[0]);
  }
}

// The left elements carry their numbers, and what they find goes to these.
template <int threads> void join_hashed(const work &w) {
  static parted<number> left, right;
  auto numbered = [](int64_t i) { return double(i); };
  left.fill<threads>((const number *)w.offsets, numbered, w.rows);
  right.fill<threads>((const number *)w.more[0], [&](int64_t i) { return w.in[0][i]; }, w.columns);
  at_once<threads>([&](int t) {
    std::vector<int32_t> table;
    for (int64_t p = cut(parts, t, threads); p < cut(parts, t + 1, threads); p++) {
      int64_t first = right.begin[size_t(p)], last = right.begin[size_t(p) + 1];
      int bits = 64 - __builtin_clzll(uint64_t(2 * (last - first) + 16));
      table.assign(size_t(1) << bits, -1);
      for (int64_t i = first; i < last; i++) {
        uint64_t place = right.elements[size_t(i)].key.hash() >> (64 - bits);
        while (table[place] >= 0) {
          place = (place + 1) & (table.size() - 1);
        }
        table[place] = int32_t(i);
      }
      for (int64_t i = left.begin[size_t(p)]; i < left.begin[size_t(p) + 1]; i++) {
        const auto &own = left.elements[size_t(i)];
        uint64_t place = own.key.hash() >> (64 - bits);
        while (!(right.elements[size_t(table[place])].key == own.key)) { // all are found
          place = (place + 1) & (table.size() - 1);
        }
        w.out[int64_t(own.value)] = right.elements[size_t(table[place])].value;
      }
    }
  });
}

const loop loops[] = {
    {"group dense/one", group_dense<1>},
    {"group dense in two threads/two", group_dense<2>},
    {"group sparse/one", group_hashed<number, 1>},
    {"group sparse in two threads/two", group_hashed<number, 2>},
    {"group texts/one", group_hashed<text, 1>},
    {"group texts in two threads/two", group_hashed<text, 2>},
    {"join dense/one", join_dense<1>},
    {"join dense in two threads/two", join_dense<2>},
    {"join sparse/one", join_hashed<1>},
    {"join sparse in two threads/two", join_hashed<2>},
};

} // namespace

loop_list group_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

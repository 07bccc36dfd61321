// The sum of everything of an F-ordered plane in the order of docs/decisions/0004-order-of-summation.md, bit for bit:
// the elements are numbered in C order, while a column is contiguous in memory. `w.rows` are the columns here, as
// memory has them, and `w.columns` the length of each.
#include "floors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

namespace floors {
namespace {

using lanes = vec<8>;
template <int W> using numbers = decltype(vec<W>{} == vec<W>{});

/// Nodes of the pairwise tree in their order, like the digits of a binary counter; what is left goes from the top down.
class counter {
public:
  void push(lanes x, uint64_t blocks) {
    for (; count_ & blocks; blocks *= 2) {
      count_ -= blocks;
      x = digit_[std::countr_zero(blocks)] + x;
    }
    digit_[std::countr_zero(blocks)] = x;
    count_ += blocks;
  }
  double total() const {
    int lowest = std::countr_zero(count_);
    lanes x = digit_[lowest];
    for (int k = lowest + 1; count_ >> k; ++k) {
      x = count_ >> k & 1 ? digit_[k] + x : x;
    }
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
  }

private:
  lanes digit_[64];
  uint64_t count_ = 0;
};

/// Any plane: a block after another.
double one_by_one(const double *a, int64_t rows, int64_t length) {
  counter sum;
  for (int64_t i = 0, total = rows * length; i < total; i += 64) {
    lanes x = repeat<8>(-0.0);
    for (int64_t k = i; k < std::min(i + 64, total); ++k) {
      x[k % 8] += a[k % length * rows + k / length];
    }
    sum.push(x, 1);
  }
  return sum.total();
}

/// 2^Level blocks of rows of four: two elements of each column are all lanes, which stay where they are.
struct four_pairs {
  vec<2> x[4];
};
template <int Level> inline __attribute__((always_inline)) four_pairs four_columns(const double *a, int64_t rows) {
  four_pairs sum;
  if constexpr (Level > 0) {
    sum = four_columns<Level - 1>(a, rows);
    four_pairs second = four_columns<Level - 1>(a + (8 << Level), rows);
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      sum.x[c] += second.x[c];
    }
    return sum;
  }
#pragma GCC unroll 8
  for (int k = 0; k < 16; k += 2) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      vec<2> x = load<2>(a + c * rows + k);
      sum.x[c] = k == 0 ? x : sum.x[c] + x;
      __asm__ volatile("" : "+v"(sum.x[c])); // loads stay in the order of memory
    }
  }
  return sum;
}

double rows_of_4(const double *a, int64_t rows) {
  counter sum;
  for (int64_t r = 0, n; r < rows; r += 16 * n) {
    n = r + 128 <= rows ? 8 : 1; // blocks
    auto [x] = n == 8 ? four_columns<3>(a + r, rows) : four_columns<0>(a + r, rows);
    sum.push(lanes{x[0][0], x[1][0], x[2][0], x[3][0], x[0][1], x[1][1], x[2][1], x[3][1]}, n);
  }
  return sum.total();
}

/// Four rows of whole blocks: 64 columns are one run of memory. The lanes of the blocks, an eighth of it, are put in
/// their order.
double four_rows(const double *a, int64_t length) {
  static std::vector<lanes> block; // not asked of the system each time
  block.resize(std::max(block.size(), size_t(length / 16)));
  int64_t windows = length / 64;
  for (int64_t w = 0; w < windows; ++w, a += 256) {
    vec<widest> x[32 / widest];
#pragma GCC unroll 8
    for (int j = 0; j < 256; j += 32) {
#pragma GCC unroll 8
      for (int i = 0; i < 32 / widest; ++i) {
        vec<widest> next = load<widest>(a + j + i * widest);
        x[i] = j == 0 ? next : x[i] + next;
        __asm__ volatile("" : "+v"(x[i])); // loads stay in the order of memory
      }
    }
    double mixed[32];
    std::memcpy(mixed, x, sizeof x);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const double *m = mixed + r;
      block[r * windows + w] = lanes{m[0], m[4], m[8], m[12], m[16], m[20], m[24], m[28]};
    }
  }
  counter sum;
  for (int64_t b = 0, n; b < 4 * windows; b += n) {
    const lanes *x = &block[b];
    n = b + 8 <= 4 * windows ? 8 : 1;
    sum.push(n == 8 ? ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])) : x[0], n);
  }
  return sum.total();
}

/// Rows side by side, with nothing transposed. Their length is a multiple of 8, so a column has the same lane in all of
/// them: 64 columns are 8 of each lane, and everything is computed for `lane * rows + row`, which is how memory has it.
///
/// In 64 columns (a window) each row comes to the end of one block, so in 2^k windows to the end of one node of level
/// k. What is a left half in one row is a right half in another. A row whose first block, number first / 64, has the
/// bit k is a step *ahead* at that level: it joins its nodes 2u - 1 and 2u, any other row 2u and 2u + 1. So of each
/// level one number waits, and where it is joined is chosen by a mask that is the same in all windows:
///
///   rows of 4000, blocks of 64: row 1 begins in block 62, and joins 62 + 63, 64 + 65; row 2 in 125, a step ahead: 125
///   has its left half in row 1 and is kept (a head), then come 126 + 127, 128 + 129
template <int W> class side_by_side {
public:
  side_by_side(const double *a, int64_t rows, int64_t length)
      : a_(a), rows_(rows), length_(length), count_(8 * rows), windows_(length / 64),
        levels_(std::bit_width(uint64_t(windows_)) - 1) {
    static std::vector<int32_t> first; // not asked of the system each time
    static std::vector<double> memory;
    first.resize(std::max(first.size(), size_t(count_)));
    memory.resize(std::max(memory.size(), size_t((2 * levels_ + nodes() + 1) * pitch() + 8)));
    first_ = first.data();
    for (int64_t r = 0; r < rows; ++r) {
      first_[r] = int32_t(r * length & ((64ll << levels_) - 1)); // all that is asked is in these bits
    }
    for (int l = 1; l < 8; ++l) {
      std::copy(first_, first_ + rows, first_ + l * rows);
    }
    open_ = memory.data() + 8;
    for (int k = 0; k < levels_; ++k) {
      wait_[k] = open_ + (1 + 2 * k) * pitch();
      head_[k] = wait_[k] + pitch();
    }
    top_ = open_ + (1 + 2 * levels_) * pitch();
  }

  double sum() {
    length_ % 64 == 0 ? run<8>() : length_ % 32 == 0 ? run<4>() : run<1>();
    join_rows();
    return join_all();
  }

private:
  int64_t pitch() const { return count_ + 72; } // not the same set of the cache for all
  int64_t nodes() const { return (windows_ >> levels_) + 1; }
  numbers<W> first(int64_t e) const {
    typedef int32_t narrow __attribute__((vector_size(4 * W), aligned(4), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const narrow *>(&first_[e]), numbers<W>);
  }
  /// Whether the bit k of a row's first block is set.
  static numbers<W> ahead(numbers<W> first, int k) { return first << (57 - k) < 0; }
  static void put(double *to, vec<W> x) { store<store_kind::regular, W>(to, x); }

  template <int Step> void run() {
    if (length_ % 64) {
      find_tails();
    }
    for (int64_t w = 0; w < windows_; ++w) {
      int level = std::min(std::countr_zero(uint64_t(w + 1)), levels_);
      if (((w + 1) & w) == 0) {
        add_window<Step, true, -1>(w, level);
      } else if (level == 0) {
        add_window<Step, false, 0>(w, 0);
      } else if (level == 1) {
        add_window<Step, false, 1>(w, 1);
      } else {
        add_window<Step, false, -1>(w, level);
      }
    }
    add_rest();
  }

  /// The block that ends in the n * 8 columns from c on, if there is one. `open` is what has begun.
  template <int Step> vec<W> add_columns(int64_t e, int64_t c, int n, numbers<W> first, vec<W> &open) const {
    const double *at = a_ + c * rows_ + e;
    vec<W> whole = open;
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
      vec<W> x = load<W>(at + j * count_), more = open + x;
      if (Step == 8) {
        more = j == 0 ? x : more;
      } else if (j % Step == 0) {
        numbers<W> begins = ((first + c) & 56) == ((64 - 8 * j) & 56);
        whole = begins ? open : whole;
        more = begins ? x : more;
      }
      open = more;
    }
    return Step == 8 ? open : ((first + c + 8 * n) & 56) == 0 ? open : whole;
  }

  /// What a row leaves open is where the next one goes on.
  void find_tails() {
    for (int64_t e = 0; e < count_; e += W) {
      vec<W> open = {};
      add_columns<1>(e, length_ - 64, 8, first(e), open);
      put(open_ + e + 1, open);
    }
  }

  /// `head`: nodes of some level come for the first time; those without a left half in the row are kept.
  template <int Step, bool Head, int Level> void add_window(int64_t w, int level) {
    level = Level >= 0 ? Level : level;
    bool is_top = level == levels_, is_second = Head && w + 1 == 1ll << level;
    double *const *wait = wait_, *end = is_top ? top_ + (((w + 1) >> level) - 1) * pitch() : wait_[level];
    for (int64_t e = 0; e < count_; e += W) {
      numbers<W> first = this->first(e);
      vec<W> open = Step < 8 ? load<W>(open_ + e) : vec<W>{}, x = add_columns<Step>(e, 64 * w, 8, first, open);
      if (Step < 8) {
        put(open_ + e, open);
      }
#pragma GCC unroll 2
      for (int k = 0; k < level; ++k) {
        vec<W> other = load<W>(wait[k] + e), both = other + x;
        if (is_second && k == level - 1) {
          put(head_[k] + e, (first & ((64ll << k) - 64)) != 0 ? x : load<W>(head_[k] + e));
        }
        put(wait[k] + e, x);
        x = ahead(first, k) ? other : both;
      }
      if (is_top) {
        put(end + e, x);
        continue;
      }
      if (Head) {
        put(head_[level] + e, x);
      }
      put(end + e, ahead(first, level) ? load<W>(end + e) + x : x);
    }
  }

  /// The last columns; and rows a step ahead have nodes that are whole, but were not passed on.
  void add_rest() {
    for (int64_t e = 0; e < count_; e += W) {
      numbers<W> first = this->first(e);
      vec<W> open = load<W>(open_ + e), x = add_columns<1>(e, 64 * windows_, length_ % 64 / 8, first, open);
      put(open_ + e, open);
      for (int k = 0; k < levels_; ++k) {
        numbers<W> begin = first >> (6 + k), n = ((first + length_) >> (6 + k)) - begin, is_left = (n & 1) != 0;
        numbers<W> comes = n > windows_ >> k, ahead = (begin & 1) != 0;
        vec<W> other = load<W>(wait_[k] + e), both = other + x, now = comes ? ahead & is_left ? both : x : other;
        put(wait_[k] + e, now);
        x = comes & ~is_left ? ahead ? other : both : now;
      }
      put(top_ + (nodes() - 1) * pitch() + e, x);
    }
  }

  /// The nodes that are in two rows, from the bottom up: what waits in the row before, and the head of this one.
  void join_rows() {
    for (int64_t e = 0; e < count_; e += W) {
      numbers<W> first = this->first(e);
      vec<W> x = {};
      for (int k = 0; k < levels_; ++k) {
        numbers<W> ahead = (first & 64ll << k) != 0, inside = (first & ((64ll << k) - 64)) != 0;
        vec<W> left = ahead ? load<W>(wait_[k] + e - 1) : x;
        x = left + (ahead & inside ? x : load<W>(head_[k] + e));
      }
      put(top_ + e, (first & ((64ll << levels_) - 64)) != 0 ? x : load<W>(top_ + e));
    }
  }

  double join_all() const {
    counter sum;
    auto push = [&](const double *from, int level) {
      lanes x;
      for (int l = 0; l < 8; ++l) {
        x[l] = from[l * rows_];
      }
      sum.push(x, 1ull << level);
    };
    for (int64_t r = 0, i = 0; r < rows_; ++r, i += length_) {
      int64_t n = ((i + length_) >> (6 + levels_)) - (i >> (6 + levels_));
      for (int64_t u = 0; u < n; ++u) {
        push(top_ + u * pitch() + r, levels_);
      }
    }
    int64_t blocks = rows_ * length_ / 64;
    for (int k = levels_ - 1; k >= 0; --k) {
      if (blocks >> k & 1) {
        push(wait_[k] + rows_ - 1, k);
      }
    }
    if (rows_ * length_ % 64) {
      push(open_ + rows_ - 1, 0);
    }
    return sum.total();
  }

  const double *a_;
  int64_t rows_, length_, count_, windows_;
  int levels_;
  int32_t *first_;                              // the number of a row's first element
  double *open_, *wait_[64], *head_[64], *top_; // of each lane and row: begun; for its right half; for its left; nodes
};

template <int W, bool Mean> void sum_in_order(const work &w) {
  int64_t length = w.rows, rows = w.columns;
  double total = length == 4 && rows % 16 == 0     ? rows_of_4(w.in[0], rows)
                 : rows == 4 && length % 64 == 0   ? four_rows(w.in[0], length)
                 : length % 8 == 0 && length >= 64 ? side_by_side<W>(w.in[0], rows, length).sum()
                                                   : one_by_one(w.in[0], rows, length);
  w.out[0] = Mean ? total / double(rows * length) : total;
}

const loop loops[] = {
    {"plane sum in order/wide", sum_in_order<widest, false>},
    {"plane sum in order/half", sum_in_order<widest / 2, false>},
    {"plane mean in order/wide", sum_in_order<widest, true>},
    {"plane mean in order/half", sum_in_order<widest / 2, true>},
};

} // namespace

loop_list ordered_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

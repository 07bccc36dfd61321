// Sorting of one long row of numbers, on threads (docs/decisions/0034). A sample says where the numbers are; they are
// moved into buckets of which most fit a cache, and the buckets are sorted. Private to dynd/call/.
#pragma once

#include <algorithm>
#include <vector>

#include "dynd/call/scratch.h"
#include "dynd/call/sort_codes.h"
#include "dynd/call/sort_loops.h"
#include "dynd/eval/nested.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

inline constexpr intptr_t long_row = intptr_t(1) << 16; ///< elements

/// Calls f(begin, end, the longest row) for pieces of the rows, on threads; g(row) for each long row, which has threads
/// of its own.
template <class F, class G> void for_rows(const char *name, const row_offsets &rows, F f, G g) {
  std::vector<intptr_t> alone;
  for (intptr_t r = 0; r < rows.count; r++) {
    if (rows.length(r) >= long_row) {
      alone.push_back(r);
    }
  }
  intptr_t first = 0;
  auto in_pieces_up_to = [&](intptr_t stop) {
    const int64_t *at = rows.at + first;
    in_pieces_of_rows(name, at, stop - first, [&](intptr_t begin, intptr_t end) {
      int64_t longest = 0;
      for (intptr_t r = begin; r < end; r++) {
        longest = std::max(longest, at[r + 1] - at[r]);
      }
      f(first + begin, first + end, longest);
    });
    first = stop + 1;
  };
  for (intptr_t r : alone) {
    in_pieces_up_to(r);
    g(r);
  }
  in_pieces_up_to(rows.count);
}

inline constexpr intptr_t sample_size = 8192;
/// Calls f(i) for so many i from 0 to n, at random places, the same ones each time.
template <class F> void for_sample(intptr_t n, F f) {
  uint64_t random = 0x9e3779b97f4a7c15;
  for (intptr_t i = 0; i < sample_size; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    f(intptr_t(random % uint64_t(n)));
  }
}

/// Buckets in the order of the codes, about equally full. The range of a sample is cut into cells of one width, and a
/// cell in which there is much of the sample into 2^k buckets of one width; cells with little are one bucket together.
/// So codes of floating-point numbers, whose upper bits are the exponent, fill the buckets too.
///
/// cells:    | 0      | 1      | 2  3  4  5  6      | 7      |
/// buckets:    0 1 2 3  4 5      6                    7 8
template <class U> class bucket_map {
public:
  bucket_map(const U *sorted_sample, intptr_t size, intptr_t wanted)
      : low_(sorted_sample[0]), high_(sorted_sample[size - 1]), cells_(size_t(1) << cell_bits) {
    cell_width_ = std::max(0, width_of(U(high_ - low_)) - cell_bits);
    double full = double(size) / double(wanted), filled = 0;
    bool joins = false; // whether the bucket before takes more cells
    intptr_t i = 0, last_cell = cell_of(high_);
    for (intptr_t cell = 0; cell <= last_cell; cell++) {
      intptr_t begin = i;
      while (i < size && cell_of(sorted_sample[i]) == cell) {
        i++;
      }
      double own = double(i - begin);
      int split = std::min(cell_width_, width_of(uint64_t(own / full + 0.5)) - 1);
      if (split < 1) {
        bool starts = !joins || filled + own > 1.25 * full;
        count_ += starts;
        filled = starts ? own : filled + own;
        cells_[size_t(cell)] = {uint32_t(count_ - 1), uint32_t(cell_width_)};
      } else {
        cells_[size_t(cell)] = {uint32_t(count_), uint32_t(cell_width_ - split)};
        count_ += intptr_t(1) << split;
      }
      joins = split < 1;
    }
    mask_ = U((U(1) << cell_width_) - 1);
  }

  intptr_t count() const { return count_; }
  /// Codes outside of the sample's range are in the first or the last bucket.
  intptr_t find(U code) const {
    U inside = U(std::min(std::max(code, low_), high_) - low_);
    cell own = cells_[size_t(inside >> cell_width_)];
    return intptr_t(own.first + uint32_t(U(inside & mask_) >> own.shift));
  }

private:
  static constexpr int cell_bits = sizeof(U) == 1 ? 8 : 11;
  struct cell {
    uint32_t first, shift;
  };
  intptr_t cell_of(U code) const { return intptr_t(U(code - low_) >> cell_width_); }

  U low_, high_, mask_;
  int cell_width_;
  std::vector<cell> cells_;
  intptr_t count_ = 0;
};

template <class Code> class long_sort {
  using bits = typename Code::bits;

public:
  /// Sorts the numbers at `from` into `to`: NaNs are last, in their order.
  long_sort(const char *name, const char *from, intptr_t n, bool descending, bits *to)
      : name_(name), from_(from), n_(n), descending_(descending), to_(to), scratch_(n) {}

  void run() {
    bucket_map<bits> map = sampled();
    nan_bucket_ = map.count();
    place_buffer offsets = counted(map);
    scatter(map, offsets);
    sort_buckets();
  }

private:
  static constexpr intptr_t block = intptr_t(1) << 20; // elements that one thread moves; each block has its counts

  bits value(intptr_t i) const {
    bits own;
    std::memcpy(&own, from_ + i * intptr_t(sizeof(bits)), sizeof(bits));
    return own;
  }
  intptr_t blocks() const { return (n_ + block - 1) / block; }
  intptr_t bucket_of(const bucket_map<bits> &map, bits own, bits code) const {
    intptr_t found = map.find(code);
    return Code::is_nan(own) ? nan_bucket_ : found;
  }
  template <class F> void in_blocks(F f) {
    in_pieces(
        name_, blocks(),
        [&](intptr_t begin, intptr_t end) {
          for (intptr_t b = begin; b < end; b++) {
            f(b, b * block, std::min((b + 1) * block, n_));
          }
        },
        block);
  }

  bucket_map<bits> sampled() {
    scratch_values<bits> sample(2 * sample_size);
    intptr_t count = 0;
    for_sample(n_, [&](intptr_t i) {
      sample.data()[count] = Code::encode(value(i), descending_);
      count += !Code::is_nan(value(i));
    });
    if (count == 0) { // nearly all are NaN
      sample.data()[count++] = 0;
    }
    sort_items(sample.data(), count, sample.data() + sample_size, sample.data());
    return bucket_map<bits>(sample.data(), count, std::clamp<intptr_t>(n_ >> 13, 16, most_buckets));
  }
  static constexpr intptr_t most_buckets = 1024; // measured: moving to more places at once is slower

  // Where the items of each block go, bucket by bucket.
  place_buffer counted(const bucket_map<bits> &map) {
    intptr_t buckets = nan_bucket_ + 1;
    place_buffer counts(blocks() * buckets);
    in_blocks([&](intptr_t b, intptr_t begin, intptr_t end) {
      int64_t *own = counts.fill() + b * buckets;
      std::fill_n(own, buckets, 0);
      for (intptr_t i = begin; i < end; i++) {
        own[bucket_of(map, value(i), Code::encode(value(i), descending_))]++;
      }
    });
    starts_.resize(size_t(buckets) + 1);
    int64_t before = 0;
    for (intptr_t bucket = 0; bucket < buckets; bucket++) {
      starts_[size_t(bucket)] = before;
      for (intptr_t b = 0; b < blocks(); b++) {
        before += std::exchange(counts.fill()[b * buckets + bucket], before);
      }
    }
    starts_[size_t(buckets)] = before;
    return counts;
  }

  void scatter(const bucket_map<bits> &map, place_buffer &offsets) {
    in_blocks([&](intptr_t b, intptr_t begin, intptr_t end) {
      int64_t *next = offsets.fill() + b * (nan_bucket_ + 1);
      bits *to = scratch_.data();
      for (intptr_t i = begin; i < end; i++) {
        bits own = value(i), code = Code::encode(own, descending_);
        to[next[bucket_of(map, own, code)]++] = Code::is_nan(own) ? own : code;
      }
    });
  }

  void sort_buckets() {
    in_pieces_of_rows(name_, starts_.data(), nan_bucket_, [&](intptr_t begin, intptr_t end) {
      int64_t longest = 0;
      for (intptr_t b = begin; b < end; b++) {
        longest = std::max(longest, starts_[size_t(b) + 1] - starts_[size_t(b)]);
      }
      scratch_values<bits> cached(longest);
      for (intptr_t b = begin; b < end; b++) {
        int64_t first = starts_[size_t(b)], count = starts_[size_t(b) + 1] - first;
        sort_items(scratch_.data() + first, count, cached.data(), to_ + first);
        for (int64_t i = first; i < first + count; i++) {
          to_[i] = Code::decode(to_[i], descending_);
        }
      }
    });
    int64_t nans = starts_[size_t(nan_bucket_)];
    std::copy(scratch_.data() + nans, scratch_.data() + n_, to_ + nans);
  }

  const char *name_, *from_;
  intptr_t n_;
  bool descending_;
  bits *to_;
  scratch_values<bits> scratch_;
  intptr_t nan_bucket_ = 0; // after all others
  std::vector<int64_t> starts_;
};

} // namespace dynd::nd

// Sorting of one long row of numbers, on threads (docs/decisions/0034). A sample says where the numbers are; blocks of
// the row are put in the order of buckets, of which most fit a cache; then a bucket is fetched from all blocks, and
// sorted. Private to dynd/call/.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "dynd/call/scratch.h"
#include "dynd/call/sort_codes.h"
#include "dynd/call/sort_loops.h"
#include "dynd/eval/nested.h"
#include "dynd/eval/threads.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

inline constexpr intptr_t long_row = intptr_t(1) << 16; ///< elements

/// Calls f(begin, end, the longest row) for pieces of the rows, on threads; g(row) for each long row, which has threads
/// of its own.
template <class F, class G> void for_short_and_long_rows(const char *name, const row_offsets &rows, F f, G g) {
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
  /// The last code of each bucket, for compiled loops, which have signed ones.
  std::vector<U> last_codes() const {
    std::vector<U> last(size_t(count_), U(0));
    for (intptr_t cell = 0; cell <= cell_of(high_); cell++) {
      auto [first, shift] = cells_[size_t(cell)];
      for (intptr_t i = 0; i < intptr_t(1) << (cell_width_ - int(shift)); i++) {
        last[first + size_t(i)] = U(low_ + U(U(cell) << cell_width_) + U(U(i + 1) << shift) - 1);
      }
    }
    last.back() = U(~U(0));
    for (U &code : last) {
      code = U(code ^ smallest_signed);
    }
    return last;
  }

  static constexpr U smallest_signed = U(~(U(~U(0)) >> 1));

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
      : name_(name), from_(from), n_(n), descending_(descending), to_(to), scratch_(n), map_(sampled()),
        last_(map_.last_codes()), buckets_(map_.count() + 1), starts_(blocks() * buckets_) {}

  void run() {
    split_blocks();
    find_starts();
    sort_buckets();
  }

private:
  // Measured: a block and a bucket are sorted within a cache, and a bucket has some hundred codes in each block.
  static constexpr intptr_t block_bytes = intptr_t(1) << 19, bucket_bytes = intptr_t(1) << 18, most_buckets = 512;

  bits value(intptr_t i) const {
    bits own;
    std::memcpy(&own, from_ + i * intptr_t(sizeof(bits)), sizeof(bits));
    return own;
  }
  intptr_t blocks() const { return (n_ * intptr_t(sizeof(bits)) + block_bytes - 1) / block_bytes; }
  intptr_t block_begin(intptr_t b) const { return b * (n_ / blocks()) + std::min(b, n_ % blocks()); }

  bucket_map<bits> sampled() const {
    scratch_values<bits> sample(2 * sample_size);
    intptr_t count = 0;
    for_sample(n_, [&](intptr_t i) {
      sample.data()[count] = Code::encode(value(i), descending_);
      count += !Code::is_nan(value(i));
    });
    if (count == 0) { // nearly all are NaN
      sample.data()[count++] = 0;
    }
    sort_items(sample.data(), count, sample.data() + sample_size);
    return bucket_map<bits>(sample.data(), count,
                            std::clamp<intptr_t>(n_ * intptr_t(sizeof(bits)) / bucket_bytes, 4, most_buckets));
  }

  // Each block has its codes in the order of buckets, and how many of each there are.
  void split_blocks() {
    in_pieces(
        name_, blocks(),
        [&](intptr_t begin, intptr_t end) {
          for (intptr_t b = begin; b < end; b++) {
            split_block(block_begin(b), block_begin(b + 1), starts_.fill() + b * buckets_);
          }
        },
        block_bytes / intptr_t(sizeof(bits)));
  }
  void split_block(intptr_t begin, intptr_t end, int64_t *counts) {
    if constexpr (sizeof(bits) >= 4) {
      if (auto *split = isa().row_sorts->split[sizeof(bits) == 8]) {
        return split(scratch_.data() + begin, from_ + begin * intptr_t(sizeof(bits)), size_t(end - begin),
                     Code::compiled(descending_), {last_.data(), last_.size()}, counts);
      }
    }
    auto bucket_of = [&](bits own) {
      return Code::is_nan(own) ? buckets_ - 1 : map_.find(Code::encode(own, descending_));
    };
    std::fill_n(counts, buckets_, 0);
    for (intptr_t i = begin; i < end; i++) {
      counts[bucket_of(value(i))]++;
    }
    std::vector<intptr_t> next(size_t(buckets_), begin);
    for (size_t bucket = 1; bucket < next.size(); bucket++) {
      next[bucket] = next[bucket - 1] + counts[bucket - 1];
    }
    for (intptr_t i = begin; i < end; i++) {
      bits own = value(i);
      scratch_[next[size_t(bucket_of(own))]++] = Code::is_nan(own) ? own : Code::encode(own, descending_);
    }
  }

  // Counts become places in the scratch; and the buckets have theirs in the result.
  void find_starts() {
    bucket_starts_.assign(size_t(buckets_) + 1, 0);
    for (intptr_t b = 0; b < blocks(); b++) {
      int64_t before = block_begin(b);
      for (intptr_t bucket = 0; bucket < buckets_; bucket++) {
        int64_t &start = starts_.fill()[b * buckets_ + bucket];
        bucket_starts_[size_t(bucket) + 1] += start;
        before += std::exchange(start, before);
      }
    }
    std::partial_sum(bucket_starts_.begin(), bucket_starts_.end(), bucket_starts_.begin());
  }

  void sort_buckets() {
    in_pieces_of_rows(name_, bucket_starts_.data(), buckets_, [&](intptr_t begin, intptr_t end) {
      for (intptr_t bucket = begin; bucket < end; bucket++) {
        gather(bucket);
        if (bucket + 1 < buckets_) {
          sort_bucket(bucket);
        }
      }
    });
  }
  void gather(intptr_t bucket) {
    bits *to = to_ + bucket_starts_[size_t(bucket)];
    for (intptr_t b = 0; b < blocks(); b++) {
      const int64_t *starts = starts_.fill() + b * buckets_ + bucket;
      int64_t end = bucket + 1 < buckets_ ? starts[1] : block_begin(b + 1);
      to = std::copy(scratch_.data() + starts[0], scratch_.data() + end, to);
    }
  }
  void sort_bucket(intptr_t bucket) {
    size_t b = size_t(bucket);
    bits *items = to_ + bucket_starts_[b];
    intptr_t n = bucket_starts_[b + 1] - bucket_starts_[b];
    if constexpr (sizeof(bits) >= 4) {
      if (auto *sort = isa().row_sorts->codes[sizeof(bits) == 8]) {
        bits low = b == 0 ? bucket_map<bits>::smallest_signed : bits(last_[b - 1] + 1);
        return sort(items, size_t(n), int64_t(low), int64_t(last_[b]), Code::compiled(descending_));
      }
    }
    scratch_values<bits> cached(n);
    sort_digits(items, n, cached.data(), items);
    for (intptr_t i = 0; i < n; i++) {
      items[i] = Code::decode(items[i], descending_);
    }
  }

  const char *name_, *from_;
  intptr_t n_;
  bool descending_;
  bits *to_;
  scratch_values<bits> scratch_;
  bucket_map<bits> map_;
  std::vector<bits> last_; // codes of the buckets
  intptr_t buckets_;       // with that of NaNs, the last one
  place_buffer starts_;    // of each bucket in each block
  std::vector<int64_t> bucket_starts_;
};

/// Sorts one long row; `to` is another place.
template <class Code>
void sort_long_row(const char *name, const char *from, intptr_t n, bool descending, typename Code::bits *to) {
  constexpr intptr_t size = sizeof(typename Code::bits), most = intptr_t(1) << 23;
  if constexpr (size >= 4) {
    auto *loop = isa().row_sorts->rows[size == 8];
    if (loop && num_threads() == 1 && n * size <= most) { // measured: parts cost more than they save
      int64_t offsets[2] = {0, n};
      intptr_t sorted = 0;
      auto sort = [&](intptr_t, intptr_t) {
        sorted = loop(reinterpret_cast<char *>(to), from, offsets, 0, 1, Code::compiled(descending));
      };
      in_pieces(name, 1, sort, n);
      if (sorted) { // no NaN
        return;
      }
    }
  }
  long_sort<Code>(name, from, n, descending, to).run();
}

} // namespace dynd::nd

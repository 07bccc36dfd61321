// Selection from one long row, on threads: a sample says between which two codes the wanted ones are, and only those
// between are looked at again. Private to dynd/call/.
#pragma once

#include "dynd/call/sort_long.h"

namespace dynd::nd {

template <class U> class long_selection {
public:
  /// The codes stay as they are.
  long_selection(const char *name, const U *codes, intptr_t n)
      : name_(name), codes_(codes), n_(n), sample_(2 * sample_size), between_(n) {
    U *to = sample_.data();
    for_sample(n, [&](intptr_t i) { *to++ = codes[i]; });
    sort_items(sample_.data(), sample_size, sample_.data() + sample_size);
  }

  /// Codes k and k + 1 in order, the same one twice where there is none after it.
  std::pair<U, U> two(intptr_t k) {
    intptr_t place = place_in_sample(k);
    U low = place >= margin ? sample_.data()[place - margin] : U(0), high = upper(place);
    keep(low, high);
    if (low == high && k >= below_ && k + 1 < below_ + kept_) { // many equal ones
      return {low, low};
    }
    if (k < below_ || (k + 1 >= below_ + kept_ && below_ + kept_ < n_)) {
      keep(0, U(~U(0)));
    }
    return select_two(between_.data(), kept_, k - below_);
  }

  /// The k smallest codes in order; 0 < k < n. They are valid until the next call.
  U *smallest(intptr_t k) {
    keep(0, upper(place_in_sample(k)));
    if (kept_ < k) {
      keep(0, U(~U(0)));
    }
    scratch_values<U> moved(kept_);
    std::copy_n(between_.data(), kept_, moved.data());
    return smallest_of(between_.data(), kept_, k, moved.data());
  }

private:
  static constexpr intptr_t margin = 200; // more than four standard deviations of a place in the sample
  static constexpr intptr_t block = intptr_t(1) << 18;

  intptr_t place_in_sample(intptr_t k) const { return intptr_t(double(k) / double(n_) * double(sample_size)); }
  U upper(intptr_t place) { return place + margin < sample_size ? sample_.data()[place + margin] : U(~U(0)); }

  // Those from low to high are copied, those below are counted.
  void keep(U low, U high) {
    intptr_t blocks = (n_ + block - 1) / block;
    std::vector<intptr_t> kept(size_t(blocks), 0), below(size_t(blocks), 0);
    in_pieces(
        name_, blocks,
        [&](intptr_t begin, intptr_t end) {
          for (intptr_t b = begin; b < end; b++) {
            U *to = between_.data() + b * block;
            intptr_t count = 0, before = 0;
            for (intptr_t i = b * block; i < std::min((b + 1) * block, n_); i++) {
              U code = codes_[i];
              to[count] = code;
              count += U(code - low) <= U(high - low);
              before += code < low;
            }
            kept[size_t(b)] = count;
            below[size_t(b)] = before;
          }
        },
        block);
    kept_ = below_ = 0;
    without_interpreter unlocked(n_ > unlocked_from);
    interruptible_walk walk;
    for (intptr_t b = 0; b < blocks; b++) {
      walk.step(name_, uint64_t(kept[size_t(b)]));
      std::copy_n(between_.data() + b * block, kept[size_t(b)], between_.data() + kept_);
      kept_ += kept[size_t(b)];
      below_ += below[size_t(b)];
    }
  }

  const char *name_;
  const U *codes_;
  intptr_t n_;
  scratch_values<U> sample_, between_;
  intptr_t kept_ = 0, below_ = 0;
};

} // namespace dynd::nd

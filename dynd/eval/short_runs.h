// Places of a list as runs of a bounded length, so that a copy of them can be cut into pieces. Private to gather.cpp.
#pragma once

#include <array>
#include <vector>

#include "dynd/eval/gather.h"

namespace dynd {

/// Each run in parts of at most `together` elements.
struct short_runs {
  static constexpr intptr_t together = 1024;
  new_offsets offsets;
  place_buffer start;
  std::vector<int32_t> source;

  short_runs(int64_t first, intptr_t size) : short_runs(list_places(&first, both_ends(size).data(), 1)) {}
  explicit short_runs(const list_places &runs) : offsets(count_of(runs)), start(offsets.count) {
    intptr_t n = 0;
    source.reserve(runs.source ? size_t(offsets.count) : 0);
    for (intptr_t r = 0; r < runs.count; r++) {
      for (int64_t done = runs.offsets[r]; done < runs.offsets[r + 1]; done += together) {
        start.fill()[n] = runs.start[r] + done - runs.offsets[r];
        offsets.fill()[n++] = done;
        if (runs.source) {
          source.push_back(runs.source[r]);
        }
      }
    }
    offsets.fill()[n] = runs.total();
  }
  list_places places() const {
    return {start.data(), offsets.at, offsets.count, source.empty() ? nullptr : source.data()};
  }

private:
  static std::array<int64_t, 2> both_ends(intptr_t size) { return {0, size}; }
  static intptr_t count_of(const list_places &runs) {
    intptr_t count = 0;
    for (intptr_t r = 0; r < runs.count; r++) {
      count += (runs.offsets[r + 1] - runs.offsets[r] + together - 1) / together;
    }
    return count;
  }
};

} // namespace dynd

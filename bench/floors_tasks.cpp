// Hand-written loops of the tasks of tasks.py that have none elsewhere, as a person would write them.

#include "floors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace floors {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The largest pt of a row above 25 where |eta| < 2.4; -infinity where there is none.
void select_max(const work &w) {
  const double *pt = w.in[0], *eta = w.in[1];
  for (int64_t r = 0; r < w.rows; ++r) {
    double most = -infinity;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double x = pt[i] > 25.0 && std::fabs(eta[i]) < 2.4 ? pt[i] : -infinity;
      most = x > most ? x : most;
    }
    w.out[r] = most;
  }
}

// eta where pt is largest; NaN for an empty row.
void leading(const work &w) {
  const double *pt = w.in[0], *eta = w.in[1];
  for (int64_t r = 0; r < w.rows; ++r) {
    double most = -infinity, found = std::numeric_limits<double>::quiet_NaN();
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      found = pt[i] > most ? eta[i] : found;
      most = pt[i] > most ? pt[i] : most;
    }
    w.out[r] = found;
  }
}

// The nearest of the other row by eta and the angle, which is folded to -pi .. pi; infinity where that is empty.
void nearest_angle(const work &w) {
  const double *eta = w.in[0], *phi = w.in[1], *eta2 = w.in[2], *phi2 = w.in[3];
  const int64_t *other = static_cast<const int64_t *>(w.more[0]);
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double least = infinity;
      for (int64_t j = other[r]; j < other[r + 1]; ++j) {
        double e = eta[i] - eta2[j], p = phi[i] - phi2[j] + M_PI;
        p = p - std::floor(p / (2 * M_PI)) * (2 * M_PI) - M_PI;
        double d = e * e + p * p;
        least = d < least ? d : least;
      }
      w.out[i] = std::sqrt(least);
    }
  }
}

void sort_std(const work &w) {
  std::memcpy(w.out, w.in[0], size_t(w.offsets[w.rows]) * 8);
  for (int64_t r = 0; r < w.rows; ++r) {
    std::sort(w.out + w.offsets[r], w.out + w.offsets[r + 1]);
  }
}

void sort_insertion(const work &w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t begin = w.offsets[r], i = begin; i < w.offsets[r + 1]; ++i) {
      double x = w.in[0][i];
      int64_t j = i;
      for (; j > begin && w.out[j - 1] > x; --j) {
        w.out[j] = w.out[j - 1];
      }
      w.out[j] = x;
    }
  }
}

// The largest sum of the rows of each outer row, whose offsets are more[0]; -infinity where it has no row.
void max_of_sums(const work &w) {
  const int64_t *outer = static_cast<const int64_t *>(w.more[0]);
  for (int64_t o = 0; o < w.rows; ++o) {
    double most = -infinity;
    for (int64_t r = outer[o]; r < outer[o + 1]; ++r) {
      double sum = 0;
      for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
        sum += w.in[0][i];
      }
      most = sum > most ? sum : most;
    }
    w.out[o] = most;
  }
}

// The mean of the values of each key, 0 .. rows; more[0]: keys, int64, `columns` of them.
void group_mean(const work &w) {
  const int64_t *key = static_cast<const int64_t *>(w.more[0]);
  int64_t *count = static_cast<int64_t *>(w.more[1]);
  std::memset(w.out, 0, size_t(w.rows) * 8);
  std::memset(count, 0, size_t(w.rows) * 8);
  for (int64_t i = 0; i < w.columns; ++i) {
    w.out[key[i]] += w.in[0][i];
    count[key[i]]++;
  }
  for (int64_t g = 0; g < w.rows; ++g) {
    w.out[g] /= double(count[g]);
  }
}

// Ten bins of width 10 for each row, int64 in out.
void row_histogram(const work &w) {
  auto *to = reinterpret_cast<int64_t *>(w.out);
  std::memset(to, 0, size_t(w.rows) * 80);
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      double x = w.in[0][i];
      if (x >= 0 && x < 100) {
        to[10 * r + int64_t(x / 10.0)]++;
      }
    }
  }
}

// Spaces in each row of bytes (more[0]), and one: int64 in out.
void count_words(const work &w) {
  auto *to = reinterpret_cast<int64_t *>(w.out);
  auto *byte = static_cast<const uint8_t *>(w.more[0]);
  for (int64_t r = 0; r < w.rows; ++r) {
    int64_t count = 1;
    for (int64_t i = w.offsets[r]; i < w.offsets[r + 1]; ++i) {
      count += byte[i] == 32;
    }
    to[r] = count;
  }
}

const loop loops[] = {
    {"select max/plain", select_max},       {"leading/plain", leading},
    {"nearest angle/plain", nearest_angle}, {"row sort/std", sort_std},
    {"row sort/insertion", sort_insertion}, {"max of sums/plain", max_of_sums},
    {"group mean/plain", group_mean},       {"row histogram/plain", row_histogram},
    {"count words/plain", count_words},
};

} // namespace

loop_list task_loops() { return {std::begin(loops), std::end(loops)}; }

} // namespace floors

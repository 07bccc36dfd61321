#include "dynd/eval/work.h"

#include <algorithm>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/base/interruption.h"
#include "dynd/eval/threads.h"

namespace dynd {

void run_work(const char *name, intptr_t count, const std::function<piece(intptr_t)> &piece_at,
              const std::function<void(intptr_t, intptr_t)> &f) {
  without_interpreter unlocked;
  interruption stop(true);
  int status = for_each_piece(count, [&](intptr_t i) {
    if (stop.poll()) {
      return int(dynd_error_cancelled);
    }
    piece part = piece_at(i);
    if (part.size()) {
      f(part.begin, part.end);
    }
    return int(dynd_ok);
  });
  if (status) {
    fail(kind_of(status), std::string(name) + ": interrupted");
  }
}

void in_chunks(const char *name, intptr_t count, intptr_t chunks,
               const std::function<void(intptr_t, intptr_t, intptr_t)> &f, intptr_t each) {
  intptr_t size = (count + chunks - 1) / chunks, step = std::max<intptr_t>(1, work_piece / each);
  bool unlocks = count > unlocked_from / each;
  without_interpreter unlocked(unlocks);
  interruption stop(unlocks);
  auto run_chunk = [&](intptr_t chunk) {
    intptr_t end = std::min(count, (chunk + 1) * size);
    for (intptr_t begin = std::min(count, chunk * size); begin < end; begin += step) {
      if (stop.poll()) {
        return int(dynd_error_cancelled);
      }
      f(chunk, begin, std::min(end, begin + step));
    }
    return int(dynd_ok);
  };
  int status = chunks == 1 ? run_chunk(0) : for_each_piece(chunks, run_chunk);
  if (status) {
    fail(kind_of(status), std::string(name) + ": interrupted");
  }
}

namespace {

void check_fits(const char *name, bool overflow) {
  if (overflow) {
    fail(error_kind::memory, std::string(name) + ": the result is too large");
  }
}

} // namespace

intptr_t checked_sum(const char *name, intptr_t a, intptr_t b) {
  intptr_t sum;
  check_fits(name, __builtin_add_overflow(a, b, &sum));
  return sum;
}

intptr_t checked_product(const char *name, intptr_t a, intptr_t b) {
  intptr_t product;
  check_fits(name, __builtin_mul_overflow(a, b, &product));
  return product;
}

int64_t make_offsets(const char *name, int64_t *offsets, intptr_t count) {
  int64_t total = 0;
  bool overflow = false;
  offsets[0] = 0;
  for (intptr_t i = 1; i <= count; i++) {
    overflow |= __builtin_add_overflow(total, offsets[i], &total);
    offsets[i] = total;
  }
  check_fits(name, overflow);
  return total;
}

} // namespace dynd

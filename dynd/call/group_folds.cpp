#include "dynd/call/group_folds.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>

#include "dynd/base/cache_lines.h"
#include "dynd/base/errors.h"
#include "dynd/call/sort_codes.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/work.h"

namespace dynd::nd {

namespace {

// How many parts the values are cut into, each with its own accumulators: a power of two.
intptr_t chunks_of(intptr_t values, intptr_t groups) {
  intptr_t most = values / std::max<intptr_t>(4 * groups, 1 << 15);
  return intptr_t(std::bit_floor(uint64_t(std::clamp<intptr_t>(most, 1, 16))));
}

} // namespace

/// Some elements, and the accumulators that they go to.
struct fold_part {
  const char *slots;
  uint64_t base;
  char *accumulators;
  const char *values;
  intptr_t stride;
  presence counts;
  const char *about;
  bool far; // the accumulators are not in a cache near the core
  intptr_t begin, end;
};

namespace {

using real = double;
using complex_number = std::complex<double>;

// ---- folds ----------------------------------------------------------------------------------------------------------
// Each has the type of its accumulators, what they begin with, how a value is added and how two are joined.

struct count_fold {
  using accumulator = uint64_t;
  static constexpr accumulator first = 0;
  template <class T> static void add(accumulator &to, T, const char *, uint64_t) { to++; }
  static void join(accumulator &to, accumulator from) { to += from; }
};

struct truth_fold : count_fold {
  template <class T> static void add(accumulator &to, T value, const char *, uint64_t) { to += value != T(0); }
};

template <class A> struct sum_fold {
  using accumulator = A;
  static constexpr accumulator first = -A(0);
  template <class T> static void add(accumulator &to, T value, const char *, uint64_t) { to += A(value); }
  static void join(accumulator &to, accumulator from) { to += from; }
};

template <class A> struct prod_fold {
  using accumulator = A;
  static constexpr accumulator first = A(1);
  template <class T> static void add(accumulator &to, T value, const char *, uint64_t) { join(to, A(value)); }
  static void join(accumulator &to, accumulator from) {
    if constexpr (std::is_same_v<A, complex_number>) {
      to = {to.real() * from.real() - to.imag() * from.imag(), to.real() * from.imag() + to.imag() * from.real()};
    } else {
      to *= from;
    }
  }
};

template <class A> struct square_fold {
  using accumulator = real;
  static constexpr accumulator first = 0;
  template <class T> static void add(accumulator &to, T value, const char *about, uint64_t slot) {
    to += std::norm(A(value) - reinterpret_cast<const A *>(about)[slot]);
  }
  static void join(accumulator &to, accumulator from) { to += from; }
};

template <class Code, bool descending> struct code_fold {
  using accumulator = uint64_t;
  static constexpr accumulator first = 0;
  static void add(accumulator &to, typename Code::bits value, const char *, uint64_t) {
    join(to, Code::key(value, descending, false));
  }
  static void join(accumulator &to, accumulator from) { to = std::max(to, from); }
};

// ---- loops ----------------------------------------------------------------------------------------------------------

template <class T> T value_at(const char *address) {
  if constexpr (std::is_same_v<T, bool>) {
    return *address != 0;
  } else {
    T value;
    std::memcpy(&value, address, sizeof(T));
    return value;
  }
}

template <class Slot, class T, class Fold> void fold_values(const fold_part &part) {
  auto *__restrict to = reinterpret_cast<typename Fold::accumulator *>(part.accumulators);
  const Slot *__restrict slots = reinterpret_cast<const Slot *>(part.slots);
  const char *__restrict values = part.values;
  auto base = Slot(part.base);
  if (!part.counts && part.stride == intptr_t(sizeof(T))) {
    const char *about = part.about;
    auto fetch = [=](intptr_t i) {
      fetch_ahead(slots + i);
      fetch_ahead(values + i * intptr_t(sizeof(T)));
    };
    auto add = [=](intptr_t i) {
      auto slot = Slot(slots[i] - base);
      Fold::add(to[slot], value_at<T>(values + i * intptr_t(sizeof(T))), about, slot);
    };
    constexpr intptr_t ahead = 64; // measured
    intptr_t begin = part.begin;
    if (part.far) {
      for (; begin + ahead < part.end; begin++) {
        fetch(begin);
        __builtin_prefetch(to + Slot(slots[begin + ahead] - base));
        add(begin);
      }
    }
    in_eights(begin, part.end, fetch, add);
    return;
  }
  for (intptr_t i = part.begin; i < part.end; i++) {
    if (part.counts(i)) {
      auto slot = Slot(slots[i] - base);
      Fold::add(to[slot], value_at<T>(values + i * part.stride), part.about, slot);
    }
  }
}

template <class Fold> void join_accumulators(char *to, const char *from, intptr_t begin, intptr_t end) {
  using accumulator = typename Fold::accumulator;
  for (intptr_t i = begin; i < end; i++) {
    Fold::join(reinterpret_cast<accumulator *>(to)[i], reinterpret_cast<const accumulator *>(from)[i]);
  }
}

template <class Fold> void clear_accumulators(char *to, intptr_t count) {
  std::fill_n(reinterpret_cast<typename Fold::accumulator *>(to), count, Fold::first);
}

template <class T, class Fold> fold_functions functions_of(bool wide) {
  return {wide ? fold_values<uint64_t, T, Fold> : fold_values<uint32_t, T, Fold>, join_accumulators<Fold>,
          clear_accumulators<Fold>, sizeof(typename Fold::accumulator)};
}

// ---- the choice of a loop -------------------------------------------------------------------------------------------

// Calls f with the type of numbers. A float16 is converted before.
template <class F> fold_functions with_number(scalar_id scalar, F f) {
  switch (scalar) {
  case scalar_id::bool_:
    return f(bool());
  case scalar_id::int8:
    return f(int8_t());
  case scalar_id::int16:
    return f(int16_t());
  case scalar_id::int32:
    return f(int32_t());
  case scalar_id::int64:
    return f(int64_t());
  case scalar_id::uint8:
    return f(uint8_t());
  case scalar_id::uint16:
    return f(uint16_t());
  case scalar_id::uint32:
    return f(uint32_t());
  case scalar_id::uint64:
    return f(uint64_t());
  case scalar_id::float32:
    return f(float());
  case scalar_id::float64:
    return f(double());
  case scalar_id::complex64:
    return f(std::complex<float>());
  case scalar_id::complex128:
    return f(std::complex<double>());
  default:
    fail(error_kind::internal, "groupby: values that are no numbers");
  }
}

fold_functions functions_for(group_fold what, scalar_id scalar, bool wide) {
  if (what == group_fold::count) {
    return functions_of<char, count_fold>(wide);
  }
  if (what == group_fold::least || what == group_fold::greatest) {
    return with_code(scalar, [&](auto code) {
      using coding = decltype(code);
      using bits = typename coding::bits;
      return what == group_fold::least ? functions_of<bits, code_fold<coding, true>>(wide)
                                       : functions_of<bits, code_fold<coding, false>>(wide);
    });
  }
  return with_number(scalar, [&](auto number) {
    using T = decltype(number);
    using computed = std::conditional_t<is_native_complex<T>, complex_number, real>;
    using wide_type = std::conditional_t<std::is_integral_v<T>, uint64_t, computed>;
    switch (what) {
    case group_fold::truth:
      return functions_of<T, truth_fold>(wide);
    case group_fold::sum:
      return functions_of<T, sum_fold<wide_type>>(wide);
    case group_fold::mean:
      return functions_of<T, sum_fold<computed>>(wide);
    case group_fold::squares:
      return functions_of<T, square_fold<computed>>(wide);
    default:
      return functions_of<T, prod_fold<wide_type>>(wide);
    }
  });
}

// Numbers of a native type, in memory as they are.
array native_numbers(const array &list, group_fold what) {
  element_kind kind;
  find_element_kind(list->type->dtype, kind);
  bool ordered = what == group_fold::least || what == group_fold::greatest;
  scalar_id type = kind.scalar == scalar_id::float16 && !ordered ? scalar_id::float32 : kind.scalar;
  return type == kind.scalar && !kind.swapped ? list : native_list(list, type, false);
}

} // namespace

size_t group_folds::add(group_fold what, const array &list, const group_folds *about, size_t about_fold) {
  const char *values = about ? about->of_slots<char>(about_fold) : nullptr;
  for (size_t k = 0; k < folds_.size(); k++) {
    if (folds_[k].what == what && folds_[k].list.get() == list.get() && folds_[k].about == values) {
      return k;
    }
  }
  one_fold fold{what, list, {}, {}, values, 0, {}, scratch_values<char>()};
  if (about) {
    fold.about_item = about->folds_[about_fold].functions.item;
  }
  if (list) {
    bool option = list->type->element->kind == type_kind::option;
    fold.marks = option ? validity_of(list) : array();
    fold.values = what == group_fold::count ? array() : native_numbers(option ? inside_of_options(list) : list, what);
  }
  fold.functions = functions_for(what, fold.values ? fold.values->scalar() : scalar_id::bool_, groups_.wide());
  folds_.push_back(std::move(fold));
  return folds_.size() - 1;
}

constexpr intptr_t near_bytes = 1 << 20; // a second cache; measured

fold_part group_folds::part_of(const one_fold &fold, intptr_t chunk) const {
  bool read = bool(fold.values);
  const array &numbers = groups_.numbers;
  return {numbers->values().address,
          groups_.base,
          fold.accumulators.data() + chunk * groups_.slots * intptr_t(fold.functions.item),
          read ? fold.values->values().address : numbers->values().address,
          read ? fold.values->value_strides()[0] : 1,
          fold.marks ? presence{fold.marks->values().address, fold.marks->value_strides()[0]} : presence{},
          fold.about,
          !groups_.parts && groups_.slots * intptr_t(fold.functions.item) > near_bytes,
          0,
          0};
}

void group_folds::run_in_order(intptr_t chunks) {
  constexpr intptr_t few = 1 << 12; // elements whose slots are still in the cache for the next fold
  for (one_fold &fold : folds_) {
    fold.accumulators = scratch_values<char>(chunks * groups_.slots * intptr_t(fold.functions.item));
    in_pieces(name_, chunks * groups_.slots, [&](intptr_t begin, intptr_t end) {
      fold.functions.clear(fold.accumulators.data() + begin * intptr_t(fold.functions.item), end - begin);
    });
  }
  in_chunks(name_, groups_.elements, chunks, [&](intptr_t chunk, intptr_t begin, intptr_t end) {
    for (intptr_t at = begin, next; at < end; at = next) {
      next = folds_.size() == 1 ? end : std::min(end, at + few);
      for (const one_fold &fold : folds_) {
        fold_part part = part_of(fold, chunk);
        part.begin = at;
        part.end = next;
        fold.functions.loop(part);
      }
    }
  });
  for (one_fold &fold : folds_) {
    char *to = fold.accumulators.data();
    in_pieces(
        name_, groups_.slots,
        [&](intptr_t begin, intptr_t end) {
          for (intptr_t c = 1; c < chunks; c++) {
            fold.functions.join(to, to + c * groups_.slots * intptr_t(fold.functions.item), begin, end);
          }
        },
        chunks);
  }
}

namespace {

// The elements of a list of plain values, in the order of the parts.
array moved(const array &list, const element_parts &parts) {
  intptr_t count = parts.elements(), stride = list->value_strides()[0];
  array to(new_dense(list->type, &count));
  const char *from = list->values().address;
  with_word(list->item_size(), [&](auto word) {
    using T = decltype(word);
    parts.move(
        reinterpret_cast<T *>(to->values().address), [=](intptr_t i) { fetch_ahead(from + i * stride); },
        [=](intptr_t i) { return value_at<T>(from + i * stride); });
  });
  return to;
}

} // namespace

void group_folds::run_parts(intptr_t chunks) {
  const element_parts &parts = groups_.parts->elements;
  const std::vector<int64_t> &first = groups_.parts->first;
  std::vector<std::vector<int64_t>> from; // of each chunk, where it begins in each part
  for (intptr_t c = 0; c <= chunks; c++) {
    from.push_back(parts.from(std::min(c * ((parts.elements() + chunks - 1) / chunks), parts.elements())));
  }
  for (one_fold &fold : folds_) {
    fold.values = fold.values ? moved(fold.values, parts) : array();
    fold.marks = fold.marks ? moved(fold.marks, parts) : array();
    auto item = intptr_t(fold.functions.item);
    fold.accumulators = scratch_values<char>(groups_.slots * item);
    in_pieces_of_rows(name_, parts.offsets(), element_parts::parts, [&](intptr_t begin, intptr_t end) {
      for (intptr_t p = begin; p < end; p++) {
        intptr_t slots = first[size_t(p) + 1] - first[size_t(p)];
        scratch_values<char> next(slots * item); // of a chunk after the first one
        char *all = fold.accumulators.data() + first[size_t(p)] * item;
        fold_part part = part_of(fold, 0);
        part.about = fold.about ? fold.about + first[size_t(p)] * int64_t(fold.about_item) : nullptr;
        for (intptr_t c = 0; c < chunks; c++) {
          part.accumulators = c == 0 ? all : next.data();
          part.begin = from[size_t(c)][size_t(p)];
          part.end = from[size_t(c) + 1][size_t(p)];
          fold.functions.clear(part.accumulators, slots);
          fold.functions.loop(part);
          if (c > 0) {
            fold.functions.join(all, next.data(), 0, slots);
          }
        }
      }
    });
    fold.values = fold.marks = array(); // their memory is for the next one
  }
}

void group_folds::run() {
  intptr_t chunks = chunks_of(groups_.elements, groups_.count());
  groups_.parts ? run_parts(chunks) : run_in_order(chunks);
}

} // namespace dynd::nd

#include "dynd/kernel/chain_strips.h"

namespace dynd::chain {

namespace {

constexpr size_t slot_bytes = 64 * window_slots + column_line; // of a row: another line, for the sets of the cache
constexpr size_t never = ~size_t(0);

} // namespace

bool sums_windows(const chain_kernel *k) {
  if (k->nsteps || k->nstored || k->nsources != 1 || k->nreductions != 1) {
    return false;
  }
  const reduced_output &reduced = k->reduced()[0];
  return reduced.functions->strips.window && reduced.other == no_register && reduced.valid == no_register;
}

size_t strip_sums_bytes(int log2, size_t row) {
  size_t lines = 5 * (size_t(64) >> log2) + 1; // open and finished, twice; phases; identities
  return lines * (window_line << log2) + most_window_rows * (slot_bytes + segment_bytes(segment_entries(row)));
}

const char *row_columns::address(size_t column) const {
  const char *at = first;
  for (int i = nloops - 1; i >= 0; i--) {
    at += intptr_t(column % size_t(size[i])) * stride[i];
    column /= size_t(size[i]);
  }
  return at;
}

void row_columns::addresses(size_t column, size_t n, const char **to) const {
  size_t inner = size_t(size[nloops - 1]);
  for (size_t done = 0; done < n;) {
    size_t run = std::min(n - done, inner - (column + done) % inner);
    const char *at = address(column + done);
    for (size_t i = 0; i < run; i++) {
      to[done++] = at + intptr_t(i) * stride[nloops - 1];
    }
  }
}

strip_sums::strip_sums(const reduce_functions &functions, int log2, char *memory, size_t row)
    : functions_(functions), log2_(log2), row_(row), entries_(segment_entries(row)), line_(window_line << log2) {
  size_t half = 2 * lane_count() * line_;
  open_[0] = memory;
  open_[1] = memory + half;
  phase_ = memory + 2 * half;
  identity_ = phase_ + lane_count() * line_;
  slots_ = identity_ + line_;
  segments_ = slots_ + most_window_rows * slot_bytes;
  alignas(64) char identity[64] = {};
  functions_.block(identity, identity, 0);
  isa().fetch(log2_).splat(identity_, identity, most_window_rows);
}

void strip_sums::run(const row_columns &columns, size_t begin, size_t rows, bool follows, row_lanes &lanes) {
  begin_ = begin;
  rows_ = rows;
  start();
  size_t windows = (row_ + batch - 1) / batch, w = run_few(columns);
  for (; w < windows; w++) {
    run_window(columns, w);
    isa().fetch(log2_).transpose(slots_ + w % window_slots * 64, slot_bytes, open(half_, lane_count()), intptr_t(line_),
                                 rows_, lane_count());
    push_blocks(w);
  }
  bool boundaries = row_ % batch != 0;
  if (boundaries) {
    log2_ == 3 ? keep_open<int64_t>() : keep_open<int32_t>();
    pass_on(follows);
    run_window(columns, 0);
    isa().fetch(log2_).transpose(slots_, slot_bytes, open(half_, lane_count()), intptr_t(line_), rows_, lane_count());
  }
  for (size_t r = 0; r < rows_; r++) {
    push_row(r, lanes, boundaries && (r || follows));
  }
}

// Few rows whose columns follow each other, of whole blocks: all windows that come before nodes are made, at once.
size_t strip_sums::run_few(const row_columns &columns) {
  auto *few = rows_ <= few_functions::most ? functions_.few.rows[rows_] : nullptr;
  if (!few || row_ % batch != 0 || columns.nloops != 1 || columns.stride[0] != intptr_t(rows_ << log2_)) {
    return 0;
  }
  size_t windows = row_ / batch;
  for (size_t w = 0, next; w < windows; w = next) {
    next = std::min(*std::min_element(due_, due_ + rows_), windows - 1) + 1;
    few(slots_, slot_bytes, w, columns.address(w * batch), next - w);
    push_blocks(next - 1);
  }
  return windows;
}

void strip_sums::start() {
  for (size_t r = 0; r < rows_; r++) {
    depth_[r] = 0;
    size_t block = first_block(r), end = end_block(r);
    due_[r] = block == end ? never : window_of(r, std::min(end - 1, block | (window_slots - 1)));
  }
  log2_ == 3 ? fill_phases<int64_t>() : fill_phases<int32_t>();
}

template <class Word> void strip_sums::fill_phases() {
  for (size_t p = 0; p < lane_count(); p++) {
    auto *to = reinterpret_cast<Word *>(phase_ + p * line_);
    for (size_t r = 0; r < rows_; r++) {
      to[r] = Word(phase(r, p));
    }
  }
}

// The lines that are open change.
void strip_sums::run_window(const row_columns &columns, size_t number) {
  const char *addresses[batch];
  size_t column = number * batch, count = std::min(batch, row_ - column);
  strip_window w;
  w.first = columns.address(column);
  w.stride = columns.stride[columns.nloops - 1];
  bool even = column % size_t(columns.size[columns.nloops - 1]) + count <= size_t(columns.size[columns.nloops - 1]);
  w.addresses = even ? nullptr : addresses;
  if (!even) {
    columns.addresses(column, count, addresses);
  }
  w.next = columns.address(std::min(column + batch, row_ - 1));
  w.columns = count;
  w.rows = rows_;
  w.unit = row_ % batch == 0 ? batch : row_ % (batch / 2) == 0 ? batch / 2 : 1;
  w.before = open_[half_];
  half_ = !half_;
  w.after = open_[half_];
  w.phase = phase_;
  w.identity = identity_;
  functions_.strips.window(w);
}

// The blocks of a row that are in slots become nodes where the tree has a joint behind them.
void strip_sums::push_blocks(size_t window) {
  for (size_t r = 0; r < rows_; r++) {
    if (due_[r] != window) {
      continue;
    }
    size_t last = window - window_of(r, first_block(r)) + first_block(r), end = last + 1;
    row_segment to = segment(r);
    for (size_t at = std::max(first_block(r), last / window_slots * window_slots); at < end;) {
      size_t most = at % window_slots ? at & -at : window_slots, blocks = std::min(most, std::bit_floor(end - at));
      functions_.strips.node(to.top(depth_[r]), slots_ + r * slot_bytes, window_of(r, at), blocks);
      at += blocks;
      to.push(functions_, depth_[r], blocks, at);
    }
    due_[r] = end == end_block(r) ? never : window_of(r, std::min(end_block(r) - 1, end | (window_slots - 1)));
  }
}

// Where the rows end within the last window, a block that would have ended in it is still open.
template <class Word> void strip_sums::keep_open() {
  size_t count = lane_count(), columns = row_ % batch;
  for (size_t p = 0; p < count; p++) {
    typedef Word bits __attribute__((may_alias)); // of a number
    const auto *phase = reinterpret_cast<const Word *>(phase_ + p * line_);
    const auto *from = reinterpret_cast<const bits *>(open(half_, count + p));
    auto *to = reinterpret_cast<bits *>(open(half_, p));
    for (size_t r = 0; r < rows_; r++) {
      bool ends_later = phase[r] && p + batch - size_t(phase[r]) * count >= columns;
      to[r] = ends_later ? from[r] : to[r];
    }
  }
}

// What is open of a row is what is open before the next one. The same lane is row_ positions later there.
void strip_sums::pass_on(bool follows) {
  size_t count = lane_count(), item = size_t(1) << log2_, last = (rows_ - 1) << log2_;
  alignas(64) char passed[64];
  for (size_t p = 0; p < count; p++) {
    const char *from = open(half_, (p + row_) % count);
    char *to = open(!half_, p);
    std::memcpy(to + item, from, last);
    std::memcpy(to, follows ? passed_ + (p + row_) % count * item : identity_, item);
  }
  for (size_t p = 0; p < count; p++) {
    std::memcpy(passed + p * item, open(half_, p) + last, item);
  }
  std::memcpy(passed_, passed, 64);
  half_ = !half_;
}

// Positions become lanes.
void strip_sums::push_row(size_t r, row_lanes &lanes, bool boundary) {
  alignas(64) char turned[64];
  size_t shift = offset(r) % lane_count() << log2_;
  auto push = [&](const char *from, size_t blocks) {
    if (shift == 0) {
      return lanes.push_lanes(0, from, blocks);
    }
    std::memcpy(turned + shift, from, 64 - shift);
    std::memcpy(turned, from + 64 - shift, shift);
    lanes.push_lanes(0, turned, blocks);
  };
  if (boundary && offset(r)) {
    push(slots_ + r * slot_bytes, 1);
  }
  row_segment from = segment(r);
  for (size_t i = 0; i < depth_[r]; i++) {
    push(from.top(i), from.weight(i));
  }
}

} // namespace dynd::chain

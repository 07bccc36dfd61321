// The walk over columns: an axis is reduced along which the sources jump, while they are contiguous along the call.
#include <algorithm>
#include <bit>

#include "dynd/kernel/chain_kernel.h"

namespace dynd::chain {

namespace {

// The rows that columns are made of, of a register or of the products with a second one.
struct column_rows {
  const char *x, *y; // y null: x itself
  intptr_t stride, other_stride;
};

// Lanes of columns side by side. The same order as for one row (ops/loops.h): lanes without an element are left out,
// which is what combining with the identity does. Where the order does not matter there is one block: of one lane, or
// of as many as rows are read from memory at once.
//
// A lane is a row of scratch. Of few columns whose rows follow each other in memory, the lanes do too (packed): element
// i of each column joins its lane where the memory is read as one long row, as many elements as all lanes have at once.
class column_stack {
public:
  // `step` elements of each column come at once, of `rows`.
  void start(const reduced_output &reduced, char *scratch, size_t rows, size_t step, size_t width, bool in_place,
             bool rows_follow) {
    reduced_ = &reduced;
    scratch_ = scratch;
    size_t line = size_t(64) >> reduced.log2;
    packed_ = rows_follow && !reduced.functions->index && rows >= line && step % line == 0;
    lanes_ = reduced.functions->index ? 2 : packed_ || reduced.functions->in_order ? line : in_place ? 8 : 1;
    width_ = width;
    depth_ = 0;
  }
  // The elements i .. i + rows of all columns; they are in one block.
  void add(size_t i, const column_rows &x, size_t rows, bool in_cache) {
    size_t first = has_blocks() ? i % batch : i;
    bool ends = has_blocks() && (i + rows) % batch == 0;
    size_t joins = ends ? joins_of_block() : 0;
    if (packed_) {
      size_t whole = rows / lanes_ * lanes_, rest = rows - whole;
      column_rows wide = {x.x, x.y, x.stride * intptr_t(lanes_), x.other_stride * intptr_t(lanes_)};
      add_rows(wide, 1, first / lanes_, whole / lanes_, lanes_ * width_, joins, in_cache);
      wide.x += x.stride * intptr_t(whole);
      wide.y += x.y ? x.other_stride * intptr_t(whole) : 0;
      add_rows(wide, 1, (first + whole) / lanes_, rest != 0, rest * width_, 0, in_cache);
    } else {
      add_rows(x, lanes_, first, rows, width_, joins, in_cache);
    }
    used_[depth_] = std::min(lanes_, first + rows);
    if (ends) {
      depth_ -= int(joins);
      weight_[depth_++] = size_t(1) << joins;
    }
  }
  // Some following blocks at once: few columns that are read as one long row.
  bool has_nodes() const {
    return packed_ && has_blocks() && width_ <= few_functions::most && reduced_->functions->few.columns[width_] &&
           reduced_->other == no_register;
  }
  void add_node(const char *x, size_t blocks) {
    reduced_->functions->few.columns[width_](lane(depth_, 0), x, blocks);
    used_[depth_] = lanes_;
    weight_[depth_++] = blocks;
    while (depth_ > 1 && weight_[depth_ - 1] == weight_[depth_ - 2]) {
      merge();
    }
  }
  // The folded columns, or the positions.
  const char *finish(size_t rows) {
    if (reduced_->functions->index) {
      return lane(0, 1);
    }
    if (!has_blocks() || rows % batch) {
      depth_++;
    }
    while (depth_ > 1) {
      merge();
    }
    for (size_t half = lanes_ / 2; half > 0; half /= 2) {
      if (packed_) { // what is combined beyond half of the lanes is not read again
        combine(lane(0, 0), lane(0, 0), lane(0, half), half * width_);
      }
      for (size_t l = 0; !packed_ && l < half && l + half < used_[0]; l++) {
        combine(lane(0, l), lane(0, l), lane(0, l + half), width_);
      }
      used_[0] = std::min(used_[0], half);
    }
    return lane(0, 0);
  }
  // Whole vectors of columns of at most one element in each lane, folded as they are in memory.
  void fold_few(char *dst, const column_rows &x, size_t rows) {
    const char *at[few_rows];
    for (size_t l = 0; l < rows; l++) {
      at[l] = x.x + intptr_t(l) * x.stride;
    }
    for (size_t half = lanes_ / 2, used = rows; half > 0; half /= 2) {
      for (size_t l = 0; l < half && l + half < used; l++) {
        char *to = half == 1 ? dst : lane(0, l);
        combine(to, at[l], at[l + half], width_);
        at[l] = to;
      }
      used = std::min(used, half);
    }
  }
  bool has_few(size_t rows) const {
    bool whole = (width_ << reduced_->log2) % 64 == 0;
    return whole && rows > 1 && rows <= std::min(lanes_, few_rows) && !reduced_->functions->index &&
           reduced_->other == no_register;
  }

private:
  bool has_blocks() const { return reduced_->functions->in_order && !reduced_->functions->index; }
  char *lane(int level, size_t l) {
    size_t row = (columns_at_once << reduced_->log2) + column_line;
    return scratch_ + size_t(level) * lanes_ * row + l * (packed_ ? width_ << reduced_->log2 : row);
  }
  void add_rows(const column_rows &x, size_t count, size_t first, size_t rows, size_t width, size_t joins,
                bool in_cache) {
    column_lanes to = {lane(depth_, 0), lane(0, 1) - lane(0, 0), count, joins, lane(1, 0) - lane(0, 0)};
    if (rows == 0) {
      return;
    }
    if (x.y) {
      reduced_->functions->products.columns(to, x.x, x.stride, x.y, x.other_stride, first, rows, width);
    } else {
      reduced_->functions->columns(to, x.x, x.stride, first, rows, width, in_cache);
    }
  }
  void combine(char *to, const char *a, const char *b, size_t n) {
    reduced_->functions->combine(to, a, b, ((n << reduced_->log2) + 63) / 64);
  }
  // How many nodes the block joins that comes next, as in a binary counter.
  size_t joins_of_block() const {
    size_t joins = 0;
    while (int(joins) < depth_ && weight_[depth_ - 1 - int(joins)] == size_t(1) << joins) {
      joins++;
    }
    return joins;
  }
  void merge() {
    int upper = --depth_;
    if (packed_) {
      combine(lane(upper - 1, 0), lane(upper - 1, 0), lane(upper, 0), used_[upper] * width_);
    }
    for (size_t l = 0; !packed_ && l < used_[upper]; l++) {
      combine(lane(upper - 1, l), lane(upper - 1, l), lane(upper, l), width_);
    }
    weight_[upper - 1] += weight_[upper];
  }

  const reduced_output *reduced_;
  char *scratch_;
  size_t lanes_, width_;
  bool packed_;
  int depth_;
  size_t weight_[64], used_[64];
};

// The columns of a call, some of them at a time; each is reduced in groups of rows.
class column_groups {
public:
  column_groups(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t count, dynd_frame *frame)
      : k_(k), stream_(stream), stride_(stride), frame_(frame), rows_follow_(count <= computed_columns) {
    set_temporaries(k, reg_, frame);
    for (const port &p : k->all_ports()) {
      in_place_ &= is_direct(p);
      rows_follow_ &= is_direct(p) && p.where.axis_stride == intptr_t(count << p.log2);
    }
    in_place_ &= k->nsteps == 0;
    std::span<const reduced_output> reduced = k->reduced();
    for (size_t o = 0; o < reduced.size(); o++) {
      from_[o][0] = find_source(reduced[o].reg);
      from_[o][1] = find_source(reduced[o].other);
      most_lanes_ = std::max(most_lanes_, size_t(64) >> reduced[o].log2);
    }
  }

  int run(size_t count) {
    size_t most = !in_place_ ? computed_columns : size_t(k_->axis_size) <= few_rows ? few_columns : columns_at_once;
    size_t j = fold_rows(count);
    rows_follow_ &= j == 0; // what is left is a part of the rows
    for (; j < count; j += most) {
      if (int status = run(j, std::min(most, count - j))) {
        return status;
      }
    }
    return status_of(frame_);
  }

private:
  // Where a register that is reduced comes from.
  struct column_source {
    const port *direct; // else from scratch
    char *scratch;
    uint8_t reg;
  };

  column_source find_source(uint8_t reg) const {
    column_source found = {nullptr, reg_[reg], reg};
    for (const port &p : k_->all_ports()) {
      if (p.reg == reg) {
        found = {is_direct(p) ? &p : nullptr, frame_->scratch + p.scratch, reg};
      }
    }
    return found;
  }

  // All whole vectors of columns of few rows, which are folded in one loop; how many columns these are.
  size_t fold_rows(size_t count) {
    const reduced_output &o = k_->reduced()[0];
    size_t rows = size_t(k_->axis_size), line = size_t(64) >> o.log2;
    auto *fold = rows < std::size(o.functions->few.fold) ? o.functions->few.fold[rows] : nullptr;
    if (!fold || !in_place_ || k_->nreductions != 1 || o.other != no_register || count < line ||
        stride_[o.stream] != intptr_t(1) << o.log2) {
      return 0;
    }
    const char *row[2 * few_functions::most];
    column_rows x = rows_of(o, from_[0], 0, 0, count);
    for (size_t r = 0; r < rows; r++) {
      row[r] = x.x + intptr_t(r) * x.stride;
    }
    fold(result_at(o, 0), row, count / line);
    return count / line * line;
  }

  int run(size_t j, size_t width) {
    std::span<const reduced_output> reduced = k_->reduced();
    size_t rows = size_t(k_->axis_size), most = rows_at_once(width);
    column_stack stacks[max_reductions];
    for (size_t o = 0; o < reduced.size(); o++) {
      stacks[o].start(reduced[o], frame_->scratch + k_->panels + o * column_scratch(rows), rows, most, width, in_place_,
                      rows_follow_);
    }
    if (in_place_ && reduced.size() == 1 && stacks[0].has_few(rows) &&
        stride_[reduced[0].stream] == intptr_t(1) << reduced[0].log2) {
      stacks[0].fold_few(result_at(reduced[0], j), rows_of(reduced[0], from_[0], 0, j, width), rows);
      return dynd_ok;
    }
    size_t i = 0;
    if (in_place_ && reduced.size() == 1 && stacks[0].has_nodes()) {
      for (; i + node_blocks * batch <= rows; i += node_blocks * batch) {
        stacks[0].add_node(rows_of(reduced[0], from_[0], i, j, width).x, node_blocks);
      }
    }
    for (size_t n; i < rows; i += n) {
      n = std::min(most, rows - i);
      if (int status = in_place_ ? int(dynd_ok) : compute(i, n, j, width)) {
        return status;
      }
      for (size_t o = 0; o < reduced.size(); o++) {
        bool in_cache = !from_[o][0].direct && !from_[o][1].direct;
        stacks[o].add(i, rows_of(reduced[o], from_[o], i, j, width), n, in_cache);
      }
    }
    for (size_t o = 0; o < reduced.size(); o++) {
      const char *result = stacks[o].finish(rows);
      int log2 = reduced[o].functions->index ? log2_size(scalar_id::int64) : reduced[o].log2;
      isa().fetch(log2).store_strided(result_at(reduced[o], j), stride_[reduced[o].stream], result, width);
    }
    return dynd_ok;
  }

  // A block, or what divides it and fits into scratch. Of rows that follow each other no more than a batch has, or than
  // all lanes take: memory is read while they are computed, and waits while they are reduced.
  size_t rows_at_once(size_t width) const {
    size_t fit = computed_rows * (computed_columns + column_line) / width;
    size_t wanted = std::max(reduce_batch / width, most_lanes_);
    return in_place_ ? batch : rows_follow_ ? std::bit_floor(std::min({batch, fit, wanted})) : computed_rows;
  }

  char *result_at(const reduced_output &o, size_t j) const {
    return stream_[o.stream] + intptr_t(j) * stride_[o.stream];
  }

  column_rows rows_of(const reduced_output &o, const column_source *from, size_t i, size_t j, size_t width) const {
    auto at = [&](const column_source &s) { return s.direct ? address(*s.direct, i, j) : s.scratch; };
    auto step = [&](const column_source &s) {
      return s.direct ? s.direct->where.axis_stride : scratch_stride(o.log2, width);
    };
    bool product = o.other != no_register;
    return {at(from[0]), product ? at(from[1]) : nullptr, step(from[0]), product ? step(from[1]) : 0};
  }

  bool is_source(const port &p) const { return &p >= k_->sources().data(); }
  bool is_direct(const port &p) const {
    return is_contiguous(p, stride_[p.where.stream]) && (is_source(p) || !k_->stores_late);
  }
  char *address(const port &p, size_t i, size_t j) const {
    return stream_[p.where.stream] + intptr_t(j) * stride_[p.where.stream] + intptr_t(i) * p.where.axis_stride;
  }
  intptr_t scratch_stride(int log2, size_t width) const {
    return intptr_t(width << log2) + (rows_follow_ ? 0 : column_line);
  }

  // The elements i .. i + rows of the reduced axis; those that are reduced from scratch are there row after row.
  int compute(size_t i, size_t rows, size_t j, size_t width) {
    size_t step = rows_follow_ ? std::bit_floor(std::min(rows_at_once(width), reduce_batch / width)) : 1;
    start(i, step, j, width);
    for (size_t r = 0; r < rows; r += step) {
      for (const port &p : k_->sources()) {
        if (!is_direct(p)) { // one value for all columns
          fetch_of(p).splat(reg_[p.reg], address(p, i + r, j), width);
        }
      }
      if (int status = run_steps(k_, reg_, std::min(step, rows - r) * width, frame_)) {
        return status;
      }
      for (const port &p : k_->outputs()) {
        if (!is_direct(p)) {
          fetch_of(p).store_strided(address(p, i + r, j), stride_[p.where.stream], reg_[p.reg], width);
        }
      }
      advance(step * width);
    }
    return dynd_ok;
  }

  // Where the registers are, and how those move that do.
  void start(size_t i, size_t step, size_t j, size_t width) {
    nmoves_ = 0;
    for (const port &p : k_->all_ports()) {
      reg_[p.reg] = is_direct(p) ? address(p, i, j) : frame_->scratch + p.scratch;
      if (is_direct(p)) {
        move_[nmoves_++] = {p.reg, p.log2, p.where.axis_stride * intptr_t(step)};
      }
    }
    nfetched_ = nmoves_;
    for (size_t o = 0; o < k_->reduced().size(); o++) {
      uint8_t log2 = k_->reduced()[o].log2;
      for (const column_source &source : from_[o]) {
        bool again =
            std::any_of(move_ + nfetched_, move_ + nmoves_, [&](const auto &m) { return m.reg == source.reg; });
        if (source.reg != no_register && !source.direct && !again) {
          reg_[source.reg] = source.scratch;
          move_[nmoves_++] = {source.reg, log2, scratch_stride(log2, width) * intptr_t(step)};
        }
      }
    }
  }

  // The next n elements. What comes 8 KB later is prefetched: the rows are too short for the CPU to do it, unless they
  // follow each other.
  void advance(size_t n) {
    for (size_t m = 0; m < nmoves_; m++) {
      char *&at = reg_[move_[m].reg];
      at += move_[m].stride;
      size_t bytes = n << move_[m].log2;
      const char *later = at + intptr_t(std::max<size_t>(8192 / bytes, 1) - 1) * move_[m].stride;
      for (size_t line = 0; line < bytes && m < nfetched_ && !rows_follow_; line += 64) {
        __builtin_prefetch(later + line, 0, 2); // to the L2
      }
    }
  }

  const chain_kernel *k_;
  char *const *stream_;
  const intptr_t *stride_;
  dynd_frame *frame_;
  bool in_place_ = true, rows_follow_;
  size_t most_lanes_ = 1;
  column_source from_[max_reductions][2]; // of the register and of the other one, if there is one
  struct {
    uint8_t reg, log2;
    intptr_t stride;
  } move_[max_registers + 2 * max_reductions];
  size_t nmoves_, nfetched_; // those of operands come first
  char *reg_[256];
};

} // namespace

int columns_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  return column_groups(chain_of(self), stream, stride, count, frame).run(count);
}

} // namespace dynd::chain

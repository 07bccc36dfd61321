// The walk over a nest of loops as one logical row, in its order.
#include <algorithm>
#include <cstring>

#include "dynd/kernel/chain_strips.h"
#include "dynd/kernel/chain_trees.h"

namespace dynd::chain {

namespace {

// The nest in order is one logical row. Its elements begin .. end go through in batches, each of which is contiguous
// for the steps: in memory; or in scratch, collected a run of the innermost loop at a time, or from panels.
//
// Of a source whose elements are side by side along an outer loop, while they jump along the inner ones, several
// iterations of that loop are brought into a panel at once, because each line of memory holds elements of several.
// Short iterations go there whole. Of long ones the panel holds some columns, and the iterations (the rows of a strip)
// advance together, each with the lanes of its own part of the logical row:
//
//   3 rows of 200 elements, blocks of 64: row 0 has the blocks 0, 1, 2 whole, row 1 the blocks 4, 5, row 2 the blocks
//   7, 8; block 3 is the end of row 0 and the beginning of row 1, and is collected when row 0 has been pushed
class ordered_row {
public:
  ordered_row(const chain_kernel *k, dynd_frame *frame) : k_(k), frame_(frame), nports_(k->all_ports().size()) {
    const intptr_t *nest = k->at<intptr_t>(k->nest);
    nloops_ = int(*nest);
    loops_ = nest + 1;
    panels_ = reinterpret_cast<const ordered_panel *>(loops_ + size_t(nloops_) * (1 + nports_));
    set_temporaries(k, reg_, frame);
  }

  size_t length() const { return inside(0); }

  int run(char *const *stream, size_t begin, size_t end, row_lanes &lanes) {
    stream_ = stream;
    begin_ = begin;
    start(begin);
    size_t at = begin;
    if (strips_) {
      int status = strips_->kind == panel_kind::trees     ? run_trees(at, end, lanes)
                   : strips_->kind == panel_kind::windows ? run_windows(at, end, lanes)
                                                          : run_strips(at, end, lanes);
      if (status) {
        return status;
      }
    }
    run_turned(at, end, lanes);
    int status = run_batches(at, end, lanes);
    return status ? status : status_of(frame_);
  }

private:
  enum class way : uint8_t { constant, direct, panel, strip, collected };
  struct panel_state {
    size_t begin, end; // elements that are in the panel
  };

  intptr_t size(int loop) const { return loops_[size_t(loop) * (1 + nports_)]; }
  intptr_t stride(int loop, size_t port) const { return loops_[size_t(loop) * (1 + nports_) + 1 + port]; }
  // The elements of one iteration of the loop outside of `loop`.
  size_t inside(int loop) const {
    size_t n = 1;
    for (int i = loop; i < nloops_; i++) {
      n *= size_t(size(i));
    }
    return n;
  }
  // Blocks are those of the call.
  size_t block_of(size_t at) const { return (at - begin_) / batch; }
  size_t block_before(size_t at) const { return begin_ + block_of(at) * batch; }
  size_t block_after(size_t at) const { return block_before(at + batch - 1); }

  way way_of(size_t p) const {
    const port &source = k_->all_ports()[p];
    bool constant = true, direct = true;
    for (int i = 0; i < nloops_; i++) {
      constant &= stride(i, p) == 0 || size(i) == 1;
      direct &= stride(i, p) == intptr_t(inside(i + 1) << source.log2);
    }
    return constant                               ? way::constant
           : direct                               ? way::direct
           : !panels_[p].rows                     ? way::collected
           : panels_[p].kind == panel_kind::whole ? way::panel
                                                  : way::strip;
  }

  void start(size_t begin) {
    for (size_t i = k_->nstored; i < nports_; i++) {
      const port &p = k_->all_ports()[i];
      way_[i] = way_of(i);
      if (way_[i] == way::constant) {
        reg_[p.reg] = frame_->scratch + p.scratch;
        fetch_of(p).splat(reg_[p.reg], stream_[p.where.stream], reduce_batch);
      } else if (way_[i] == way::panel) {
        size_t row = inside(panels_[i].loop + 1);
        panel_[i] = {begin / row * row, begin / row * row};
      } else if (way_[i] == way::strip) {
        strips_ = &panels_[i];
        strip_port_ = i;
      }
    }
    if (strips_) { // panels are for batches that follow each other
      std::replace(way_ + k_->nstored, way_ + nports_, way::panel, way::collected);
    }
  }

  // ---- batches in the order of the row

  int run_batches(size_t at, size_t end, row_lanes &lanes) {
    for (size_t n; at < end; at += n) {
      n = std::min(reduce_batch - (at - begin_) % reduce_batch, end - at);
      for (size_t i = k_->nstored; i < nports_; i++) {
        const port &p = k_->all_ports()[i];
        if (way_[i] == way::panel) {
          reg_[p.reg] = load_panel(p, i, at, n);
        } else if (way_[i] == way::strip) {
          move_port(p, i, at, n, true);
        }
      }
      if (int status = compute(at, n)) {
        return status;
      }
      lanes.push_from(block_of(at), reg_, n);
      if (lanes.are_decided()) {
        break;
      }
    }
    return dynd_ok;
  }

  // The steps on n elements, those of panels are there.
  int compute(size_t at, size_t n) {
    for (size_t i = k_->nstored; i < nports_; i++) {
      const port &p = k_->all_ports()[i];
      if (way_[i] == way::direct) {
        reg_[p.reg] = stream_[p.where.stream] + (at << p.log2);
      } else if (way_[i] == way::collected) {
        move_port(p, i, at, n, true);
      }
    }
    for (const port &p : k_->outputs()) {
      reg_[p.reg] = frame_->scratch + p.scratch;
    }
    if (int status = run_steps(k_, reg_, n, frame_)) {
      return status;
    }
    for (size_t i = 0; i < k_->nstored; i++) {
      move_port(k_->all_ports()[i], i, at, n, false);
    }
    return dynd_ok;
  }

  // The elements at .. at + n, collected into the port's register or stored from there.
  void move_port(const port &p, size_t number, size_t at, size_t n, bool source) {
    intptr_t index[max_loops];
    int last = nloops_ - 1;
    for (int i = last; i >= 0; i--) {
      index[i] = intptr_t(at % size_t(size(i)));
      at /= size_t(size(i));
    }
    intptr_t step = stride(last, number);
    char *scratch = frame_->scratch + p.scratch;
    reg_[p.reg] = scratch;
    for (size_t done = 0; done < n;) {
      size_t run = std::min(n - done, size_t(size(last) - index[last]));
      char *from = stream_[p.where.stream];
      for (int i = 0; i < nloops_; i++) {
        from += index[i] * stride(i, number);
      }
      if (source) {
        fetch_of(p).load_strided(scratch + (done << p.log2), from, step, run);
      } else {
        fetch_of(p).store_strided(from, step, scratch + (done << p.log2), run);
      }
      done += run;
      index[last] += intptr_t(run);
      for (int i = last; i > 0 && index[i] == size(i); i--) {
        index[i] = 0;
        index[i - 1]++;
      }
    }
  }

  // ---- panels

  // Where the elements at .. at + n are in the port's panel, after those that are not there yet were transposed
  // into it: some iterations of its loop at once. They follow each other in order; what is left of the last ones moves
  // to the front.
  char *load_panel(const port &p, size_t number, size_t at, size_t n) {
    char *panel = frame_->scratch + panels_[number].scratch;
    panel_state &state = panel_[number];
    if (at + n > state.end && at > state.begin && at < state.end) {
      std::memmove(panel, panel + ((at - state.begin) << p.log2), (state.end - at) << p.log2);
      state.begin = at;
    } else if (at + n > state.end && at == state.end) {
      state.begin = at;
    }
    size_t row = inside(panels_[number].loop + 1);
    while (state.end < at + n) {
      size_t first = state.end / row, rows = rows_of_panel(p, number, first);
      transpose(p, number, first, rows, 0, row, panel + ((state.end - state.begin) << p.log2), intptr_t(row << p.log2));
      state.end += rows * row;
    }
    return panel + ((at - state.begin) << p.log2);
  }

  // The first element of an iteration of the panel's loop.
  const char *address(const port &p, size_t number, size_t iteration) const {
    const char *from = stream_[p.where.stream];
    for (int i = panels_[number].loop; i >= 0; i--) {
      from += intptr_t(iteration % size_t(size(i))) * stride(i, number);
      iteration /= size_t(size(i));
    }
    return from;
  }

  // How many iterations from the first on are side by side and in the panel; the next ones begin at a line. There is
  // room for half of a panel more, so that few iterations are not a panel of their own.
  size_t rows_of_panel(const port &p, size_t number, size_t first) const {
    size_t lane = (reinterpret_cast<uintptr_t>(address(p, number, first)) & 63) >> p.log2;
    size_t loop = size_t(size(panels_[number].loop)), left = loop - first % loop, rows = size_t(panels_[number].rows);
    return left <= rows * 3 / 2 ? left : rows - lane;
  }

  // The elements begin .. end of each of so many iterations, to rows of the panel.
  void transpose(const port &p, size_t number, size_t first, size_t rows, size_t begin, size_t end, char *to,
                 intptr_t to_stride) {
    int last = nloops_ - 1;
    const char *from = address(p, number, first);
    size_t line = size_t(size(last));
    for (size_t at = begin, n; at < end; at += n) {
      const char *part = from + intptr_t(at % line) * stride(last, number);
      size_t index = at / line;
      for (int i = last - 1; i > panels_[number].loop; i--) {
        part += intptr_t(index % size_t(size(i))) * stride(i, number);
        index /= size_t(size(i));
      }
      n = std::min(line - at % line, end - at);
      fetch_of(p).transpose(to + ((at - begin) << p.log2), to_stride, part, stride(last, number), rows, n);
    }
  }

  // The sum of few columns, each of which is contiguous: what a panel would hold is turned in registers.
  void run_turned(size_t &at, size_t end, row_lanes &lanes) {
    size_t columns = size_t(size(nloops_ - 1)), number = k_->nstored;
    const reduce_functions &functions = *k_->reduced()[0].functions;
    auto *turned = columns <= few_functions::most ? functions.few.turned[columns] : nullptr;
    if (!turned || nloops_ != 2 || !sums_windows(k_) || way_[number] != way::panel) {
      return;
    }
    const port &p = k_->all_ports()[number];
    alignas(64) char node[64];
    for (; at + node_blocks * batch <= end; at += node_blocks * batch) {
      turned(node, address(p, number, at / columns), stride(1, number), node_blocks);
      lanes.push_lanes(0, node, node_blocks);
    }
    panel_[number] = {at, at};
  }

  // ---- strips

  // The rows of the strip loop that are whole in at .. end; returns with `at` behind what was pushed.
  int run_strips(size_t &at, size_t end, row_lanes &lanes) {
    size_t row = inside(strips_->loop + 1), last = end / row;
    for (size_t first = (at + row - 1) / row; first < last;) {
      size_t rows = std::min(rows_of_strip(first), last - first);
      if (int status = run_strip(first, rows, row)) {
        return status;
      }
      for (size_t r = 0; r < rows; r++) {
        if (int status = run_batches(at, block_after((first + r) * row), lanes)) {
          return status;
        }
        at = push_segments(r, lanes);
      }
      first += rows;
    }
    return dynd_ok;
  }

  // The same, as they are in memory.
  int run_windows(size_t &at, size_t end, row_lanes &lanes) {
    size_t row = inside(strips_->loop + 1), last = end / row;
    const port &p = k_->all_ports()[strip_port_];
    strip_sums sums(*k_->reduced()[0].functions, p.log2, frame_->scratch + strips_->scratch, row);
    row_columns columns;
    columns.nloops = nloops_ - strips_->loop - 1;
    for (int i = 0; i < columns.nloops; i++) {
      columns.size[i] = size(strips_->loop + 1 + i);
      columns.stride[i] = stride(strips_->loop + 1 + i, strip_port_);
    }
    bool follows = false;
    for (size_t first = (at + row - 1) / row, rows; first < last; first += rows) {
      rows = std::min(rows_of_strip(first), last - first);
      bool few = rows < sums.fewest_rows();
      if (few || !follows) {
        if (int status = run_batches(at, few ? block_before((first + rows) * row) : block_after(first * row), lanes)) {
          return status;
        }
      }
      if (!few) {
        columns.first = address(p, strip_port_, first);
        sums.run(columns, first * row - begin_, rows, follows, lanes);
      }
      at = block_before((first + rows) * row);
      follows = !few;
    }
    return dynd_ok;
  }

  // The same, of more rows at once.
  int run_trees(size_t &at, size_t end, row_lanes &lanes) {
    const reduce_functions &functions = *k_->reduced()[0].functions;
    const port &p = k_->all_ports()[strip_port_];
    size_t row = inside(strips_->loop + 1), last = end / row, lane_count = size_t(64) >> p.log2;
    tree_sums sums(functions, p.log2, frame_->scratch + strips_->scratch, row);
    for (size_t first = (at + row - 1) / row, rows; first < last && begin_ % lane_count == 0; first += rows) {
      size_t loop = size_t(size(strips_->loop)), left = loop - first % loop;
      rows = std::min({size_t(strips_->rows), left, last - first});
      size_t begin = first * row, block = block_before(begin);
      if (int status = run_batches(at, block, lanes)) {
        return status;
      }
      alignas(64) char tail[64];
      move_port(p, strip_port_, block, begin - block, true);
      functions.block(tail, reg_[p.reg], begin - block);
      sums.run(address(p, strip_port_, first), stride(nloops_ - 1, strip_port_), begin - begin_, rows, tail, lanes);
      at = block_before((first + rows) * row);
    }
    return dynd_ok;
  }

  size_t rows_of_strip(size_t first) const { return rows_of_panel(k_->all_ports()[strip_port_], strip_port_, first); }

  // Whole blocks of each of the rows, which go to its segments.
  int run_strip(size_t first, size_t rows, size_t row) {
    for (size_t r = 0; r < rows; r++) {
      next_[r] = block_after((first + r) * row);
      depth_[r] = 0;
    }
    for (size_t c = 0, n; c < row; c += n) {
      n = std::min(strip_columns, row - c);
      for (size_t i = k_->nstored; i < nports_; i++) {
        const port &p = k_->all_ports()[i];
        if (way_[i] == way::strip) {
          transpose(p, i, first, rows, c, c + n, strip_row(p, i, 0), strip_stride(p.log2));
        }
      }
      for (size_t r = 0; r < rows; r++) {
        if (int status = run_columns(r, (first + r) * row + c, n)) {
          return status;
        }
      }
    }
    return dynd_ok;
  }

  // The row's elements at .. at + n are in the panel; before them, what was not a whole block.
  int run_columns(size_t r, size_t at, size_t n) {
    size_t begin = next_[r], end = block_before(at + n);
    if (end > begin) {
      for (size_t i = k_->nstored; i < nports_; i++) {
        const port &p = k_->all_ports()[i];
        if (way_[i] == way::strip) {
          reg_[p.reg] = strip_row(p, i, r) + ((intptr_t(begin) - intptr_t(at)) << p.log2);
        }
      }
      if (int status = compute(begin, end - begin)) {
        return status;
      }
      add_segments(r, block_of(begin), block_of(end));
      next_[r] = end;
    }
    size_t left = at + n > next_[r] ? at + n - next_[r] : 0;
    for (size_t i = k_->nstored; i < nports_ && left; i++) {
      const port &p = k_->all_ports()[i];
      if (way_[i] == way::strip && left < batch) {
        char *to = strip_row(p, i, r);
        std::memmove(to - (left << p.log2), to + ((n - left) << p.log2), left << p.log2);
      }
    }
    return dynd_ok;
  }

  char *strip_row(const port &p, size_t number, size_t r) const {
    return frame_->scratch + panels_[number].scratch + intptr_t(r) * strip_stride(p.log2) + (batch << p.log2);
  }

  row_segment segment(size_t r, size_t output) const {
    size_t entries = segment_entries(inside(strips_->loop + 1));
    return {frame_->scratch + k_->panels + (r * k_->nreductions + output) * segment_bytes(entries), entries};
  }

  // The reduced registers have the blocks begin .. end of the logical row.
  void add_segments(size_t r, size_t begin, size_t end) {
    size_t depth = depth_[r];
    for (size_t o = 0; o < k_->nreductions; o++) {
      const reduced_output &reduced = k_->reduced()[o];
      row_segment to = segment(r, o);
      depth = depth_[r];
      reduced.for_nodes(reg_, begin, (end - begin) * batch, [&](char *const *at, size_t n, size_t b, size_t blocks) {
        reduced.lanes(to.top(depth), at, n);
        to.push(*reduced.functions, depth, blocks, b + blocks);
      });
    }
    depth_[r] = depth;
  }

  // Returns the element behind them.
  size_t push_segments(size_t r, row_lanes &lanes) {
    for (size_t o = 0; o < k_->nreductions; o++) {
      row_segment from = segment(r, o);
      for (size_t i = 0; i < depth_[r]; i++) {
        lanes.push_lanes(o, from.top(i), from.weight(i));
      }
    }
    return next_[r];
  }

  const chain_kernel *k_;
  dynd_frame *frame_;
  size_t nports_;
  int nloops_;
  const intptr_t *loops_;
  const ordered_panel *panels_;
  char *const *stream_ = nullptr;
  size_t begin_ = 0;
  const ordered_panel *strips_ = nullptr; // of a source that has them; those of all others are alike
  size_t strip_port_ = 0;
  way way_[max_registers];
  panel_state panel_[max_registers];
  size_t next_[most_strip_rows], depth_[most_strip_rows]; // of each row of a strip
  char *reg_[256];
};

} // namespace

int ordered_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                    dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  ordered_row row(k, frame);
  size_t length = row.length();
  char *at[max_call_streams];
  std::copy_n(stream, k->nstreams, at);
  for (size_t i = 0; i < count; i++) {
    int status;
    if (length == 0) {
      status = reduce_nothing(k, stream, stride, i, frame);
    } else {
      row_lanes lanes(k);
      status = row.run(at, 0, length, lanes);
      if (status == dynd_ok) {
        lanes.store_folded(stream, stride, i);
      }
    }
    if (status) {
      return status;
    }
    for (uint16_t s = 0; s < k->nstreams; s++) {
      at[s] += stride[s];
    }
  }
  return dynd_ok;
}

int ordered_lanes_strided(char *const *stream, const intptr_t *, size_t count, const ckernel_prefix *self,
                          dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  size_t begin = size_t(stream[k->number_stream] - number_origin);
  ordered_row row(k, frame);
  row_lanes lanes(k);
  int status = row.run(stream, begin, begin + count, lanes);
  if (status == dynd_ok) {
    lanes.store_lanes(stream);
  }
  return status;
}

} // namespace dynd::chain

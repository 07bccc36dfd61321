#include "dynd/eval/core_call.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/assign_rows.h"
#include "dynd/eval/core_layout.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/nested.h"
#include "dynd/eval/observe.h"
#include "dynd/eval/run.h"
#include "dynd/eval/task.h"
#include "dynd/eval/work.h"

namespace dynd {

namespace {

class core_call {
public:
  core_call(const core_function &f, const call_operands &operands, const settings &how)
      : f_(f), given_(operands), how_(how), noperands_(int(f.operands.size())) {}

  void run(ref<array_block> *results) {
    for (int o = f_.noutputs; o < noperands_; o++) {
      prepare(o);
    }
    check_overlap();
    find_space();
    find_sizes();
    if (f_.output_sizes) {
      refuse_to_be_kept("computes sizes of its result, which a kernel on buffers cannot know");
    }
    compute_output_sizes(f_, given_, shape_, how_, size_, measured_);
    measure();
    for (int o = 0; o < f_.noutputs; o++) {
      if (is_made(o)) {
        refuse_to_be_kept("makes rows, which a kernel on buffers has no memory for"); // they are in memory of this call
        made_[o] = new_result(shape_, ndt::make_scalar(scalar_id::int64), true);
        place_[o] = new_result(shape_, ndt::make_scalar(scalar_id::int64), true);
      } else {
        block_[o] = new_output(o);
        packed_[o] = !is_usable(f_, core(o), *block_[o]);
      }
    }
    call();
    for (int o = 0; o < f_.noutputs; o++) {
      results[o] = is_made(o) ? collected(o) : block_[o];
    }
  }

private:
  const char *name() const { return f_.kernel->name; }
  const core_operand &core(int o) const { return f_.operands[size_t(o)]; }
  int ncore(int o) const { return int(core(o).sizes.size()); }
  int outer(int o) const { return o < f_.noutputs ? shape_.ndim : block_[o]->ndim - ncore(o); }
  std::string label(int o) const { return "operand " + std::to_string(core(o).parameter); }
  bool is_ragged(int o) const { return ncore(o) > 0 && block_[o]->is_var(outer(o)); }
  bool is_made(int o) const { return ncore(o) > 0 && f_.sizes[size_t(core(o).sizes[0])].made; }

  [[noreturn]] void refuse(error_kind kind, const std::string &why) const {
    fail(kind, std::string(name()) + ": " + why);
  }

  void refuse_to_be_kept(const char *why) const {
    if (how_.watching && how_.watching->keep) {
      refuse(error_kind::type, why);
    }
  }

  // ---- the operands ----------------------------------------------------------------------------------------------

  // Ready, of the type, and laid out in memory as the kernel wants it.
  void prepare(int o) {
    array_block *given = given_.block[core(o).parameter];
    materialize(given);
    block_[o] = ref<array_block>::share(given);
    if (given->ndim < ncore(o)) {
      refuse(error_kind::type, label(o) + " has " + std::to_string(given->ndim) + " dimensions, and the kernel takes " +
                                   std::to_string(ncore(o)) + ": " + f_.kernel->signature);
    }
    if (core(o).inout) {
      check_writable(o);
    } else if (given->type->dtype != core(o).dtype.get()) {
      block_[o] = converted(o, given);
    }
    for (int d = 1; d < ncore(o); d++) {
      if (block_[o]->is_var(outer(o) + d)) {
        refuse(error_kind::broadcast, label(o) + ": its core dimension " + size_name(core(o).sizes[size_t(d)]) +
                                          " is ragged inside of another core dimension");
      }
    }
    packed_[o] = !is_usable(f_, core(o), *block_[o]);
  }

  // A value that is missing has no place in a core block.
  ref<array_block> converted(int o, array_block *given) const {
    try {
      return copy_values(given, access_mode::immutable, core(o).dtype);
    } catch (const error &e) {
      bool option = given->type->dtype->kind == type_kind::option && e.kind() == error_kind::overflow;
      fail(option ? error_kind::value : e.kind(),
           std::string(name()) + ": " + label(o) + (option ? " has a missing value: " : ": ") + e.what());
    }
  }

  void check_writable(int o) const {
    const array_block &given = *block_[o];
    if (given.type->dtype != core(o).dtype.get()) {
      refuse(error_kind::type, label(o) + " is read and written, and has elements of type " + given.type->dtype->text +
                                   ", not " + core(o).dtype->text);
    }
    if (given.access != access_mode::readwrite) {
      refuse(error_kind::type, label(o) + " is read and written, and the array cannot be written: make it with "
                                          "access='rw'");
    }
    if (!has_own_places(given)) {
      refuse(error_kind::broadcast, label(o) + " is read and written, and some of its elements share memory");
    }
  }

  // What is written must not be another operand too: a function in C or Fortran may take its arguments for separate.
  void check_overlap() {
    for (int o = f_.noutputs; o < noperands_; o++) {
      for (int other = f_.noutputs; core(o).inout && other < noperands_; other++) {
        if (other == o || !may_write_to(*block_[o], *block_[other])) {
          continue;
        }
        refuse(error_kind::value, core(other).inout
                                      ? label(o) + " and " + label(other) + " are written and share memory"
                                      : label(o) + " is written and shares memory with " + label(other) +
                                            ", which is read: give a copy of one of them");
      }
    }
  }

  // ---- the space and the sizes -----------------------------------------------------------------------------------

  space_operands outer_operands() const {
    space_operands list;
    for (int o = f_.noutputs; o < noperands_; o++) {
      list.push_back({block_[o].get(), outer(o)});
    }
    return list;
  }

  // The elements of results are counted from the first row on.
  void start_rows_at_zero(const space_operands &operands, space &shape) const {
    if (shape.nvar > 0 && shape.slots.back().run.first() != 0) {
      make_slots(shape, measure_rows(name(), operands, shape));
    }
  }

  // Whether nothing of an operand is stretched: rows of one element would be where another operand's are longer.
  bool is_whole(int o) const { return outer(o) == shape_.ndim && has_rows_of(nd::array(block_[o]), shape_); }

  void find_space() {
    broadcast_space(name(), outer_operands(), shape_);
    start_rows_at_zero(outer_operands(), shape_);
    for (int o = f_.noutputs; o < noperands_; o++) {
      if (core(o).inout && !is_whole(o)) {
        refuse(error_kind::broadcast, label(o) + " is read and written, and would be stretched from " +
                                          space_text({block_[o].get(), outer(o)}));
      }
    }
  }

  std::string size_name(int s) const { return f_.sizes[size_t(s)].name; }

  // The sizes that are the same for all outer elements; the others are -1.
  void find_sizes() {
    int from[max_core_sizes];
    for (size_t s = 0; s < f_.sizes.size(); s++) {
      size_[s] = f_.sizes[s].fixed;
      from[s] = -1;
    }
    for (int o = f_.noutputs; o < noperands_; o++) {
      for (int d = 0; d < ncore(o); d++) {
        size_t s = size_t(core(o).sizes[size_t(d)]);
        intptr_t own = block_[o]->size()[outer(o) + d];
        if (own < 0) {
          ragged_[s] = true;
          continue;
        }
        if (size_[s] >= 0 && size_[s] != own) {
          std::string wanted = std::to_string(size_[s]), here = std::to_string(own);
          refuse(error_kind::broadcast, from[s] < 0 ? label(o) + " has size " + here + " where it takes " + wanted
                                                    : size_name(int(s)) + " is " + wanted + " in " + label(from[s]) +
                                                          " and " + here + " in " + label(o));
        }
        size_[s] = own;
        from[s] = o;
      }
    }
  }

  bool is_used_by_output(int s) const {
    for (int o = 0; o < f_.noutputs; o++) {
      if (std::count(core(o).sizes.begin(), core(o).sizes.end(), s)) {
        return true;
      }
    }
    return false;
  }

  // Compares the rows that must be equally long, and finds the sizes that results need.
  void measure() {
    int nragged = 0, checked = 0;
    for (int o = f_.noutputs; o < noperands_; o++) {
      nragged += is_ragged(o);
      checked += is_ragged(o) && size_[core(o).sizes[0]] >= 0;
    }
    if (!checked && nragged > 0 && take_equal_rows()) {
      return;
    }
    std::vector<int> wanted;
    for (size_t s = 0; s < f_.sizes.size(); s++) {
      bool used = size_[s] < 0 && is_used_by_output(int(s));
      bool first = wanted.empty() && (nragged >= 2 || checked); // a task has an output, which has its whole space
      if (ragged_[s] && (used || first)) {
        wanted.push_back(int(s));
        measured_[s] = new_result(shape_, ndt::make_scalar(scalar_id::int64));
      }
    }
    if (!wanted.empty()) {
      run_measure(wanted);
    }
  }

  // Where the operands that are ragged have the same rows over the whole space, their lengths are in the offsets; that
  // they are the same is known, or is found once for two buffers.
  bool take_equal_rows() {
    for (size_t s = 0; s < f_.sizes.size(); s++) {
      offsets_run first;
      counted *owner = nullptr;
      for (int o = f_.noutputs; o < noperands_ && ragged_[s]; o++) {
        if (!is_ragged(o) || core(o).sizes[0] != int(s)) {
          continue;
        }
        const array_block &block = *block_[o];
        int slots = block.slot_stream(outer(o));
        bool whole = outer(o) == shape_.ndim && std::equal(shape_.size, shape_.size + shape_.ndim, block.size());
        offsets_run run = whole ? rows_of(block, slots) : offsets_run();
        if (!run || (first && !same_row_lengths(first, owner, run, block.streams()[slots].owner))) {
          return false;
        }
        owner = first ? owner : block.streams()[slots].owner;
        first = first ? first : run;
      }
      if (first && is_used_by_output(int(s))) {
        measured_[s] = new_result(shape_, ndt::make_scalar(scalar_id::int64));
        for (intptr_t i = 0; i < first.rows; i++) {
          numbers(measured_[s])[i] = first[i + 1] - first[i];
        }
      }
    }
    return true;
  }

  void run_measure(const std::vector<int> &wanted) {
    task t;
    start_task(t);
    for (int s : wanted) {
      t.add_operand(space_operand(measured_[s].get(), shape_.ndim));
    }
    t.noutputs = int(wanted.size());
    for (int o = f_.noutputs; o < noperands_; o++) {
      t.add_operand(space_operand(block_[o].get(), outer(o)));
    }
    t.leaf = [&](ckernel_builder &out, size_t offset, const kernel_operand *operands, kernel_request_t,
                 std::vector<explained_level> *levels) {
      core_stream streams[max_core_operands] = {};
      int written[max_core_sizes];
      std::fill_n(written, max_core_sizes, -1);
      for (size_t i = 0; i < wanted.size(); i++) {
        written[wanted[i]] = operands[i].stream();
      }
      for (int o = f_.noutputs; o < noperands_; o++) {
        streams[o] = stream_of(operands[wanted.size() + size_t(o - f_.noutputs)], ncore(o));
      }
      size_t end = make_core_measure(out, offset, f_, streams, size_, written);
      if (levels) {
        levels->push_back({offset, end - offset, "sizes of core dimensions"});
      }
      return end;
    };
    run_named(t);
  }

  void run_named(task &t) const {
    lower(t);
    try {
      run_task(t);
    } catch (const error &e) { // what has no text of the kernel begins with its name
      std::string_view text = e.what();
      text.remove_prefix(text.starts_with(std::string(name()) + ": ") ? std::strlen(name()) + 2 : 0);
      refuse(e.kind(), std::string(text));
    }
  }

  // Of an int64 array over the space that is in C order.
  static int64_t *numbers(const ref<array_block> &sizes) {
    return reinterpret_cast<int64_t *>(sizes->values().address);
  }

  // ---- the results -----------------------------------------------------------------------------------------------

  [[noreturn]] void refuse_inner(int s) const {
    refuse(error_kind::broadcast, size_name(s) + " differs between rows, and is not the first dimension of the result");
  }

  // With the rows that the kernel has made, where it makes them.
  ref<array_block> new_output(int o) const {
    space whole = shape_;
    const core_operand &own = core(o);
    std::vector<std::vector<int64_t>> offsets;
    const ref<array_block> *rows = nullptr;
    for (size_t d = 0; d < own.sizes.size(); d++) {
      int s = own.sizes[d];
      bool varies = is_made(o) ? d == 0 : size_[s] < 0;
      if (varies && d > 0) {
        refuse_inner(s);
      }
      check_ndim(name(), whole.ndim + 1);
      rows = varies ? is_made(o) ? &made_[o] : &measured_[s] : rows;
      whole.size[whole.ndim] = varies ? -1 : size_[s];
      whole.fixed[whole.ndim] = false;
      whole.slot_index[whole.ndim] = int8_t(varies ? whole.nvar++ : 0);
      whole.ndim++;
    }
    for (space_slots &slots : whole.slots) {
      std::fill(slots.stride + shape_.ndim, slots.stride + whole.ndim, 0);
    }
    if (rows) {
      if (shape_.nvar) {
        offsets = measure_rows(name(), outer_operands(), shape_);
      }
      offsets.push_back(running_sum(numbers(*rows), element_count(shape_)));
      make_slots(whole, offsets);
    }
    return new_core_result(f_, own, whole);
  }

  std::vector<int64_t> running_sum(const int64_t *sizes, size_t count) const {
    std::vector<int64_t> offsets(count + 1);
    for (size_t i = 0; i < count; i++) {
      if (__builtin_add_overflow(offsets[i], sizes[i], &offsets[i + 1])) {
        refuse(error_kind::memory, "the result is too large");
      }
    }
    return offsets;
  }

  intptr_t each(int o) const { // bytes of an element of the first core dimension
    intptr_t bytes = c_layout_of(core(o).dtype.get()).size;
    for (size_t d = 1; d < core(o).sizes.size(); d++) {
      intptr_t size = size_[core(o).sizes[d]];
      if (size < 0) {
        refuse_inner(core(o).sizes[d]);
      }
      if (__builtin_mul_overflow(bytes, size, &bytes)) {
        refuse(error_kind::memory, "the result is too large");
      }
    }
    return bytes;
  }

  // The rows that the kernel has made, one behind the other.
  ref<array_block> collected(int o) const {
    ref<array_block> result = new_output(o);
    intptr_t count = intptr_t(element_count(shape_)), bytes = each(o);
    const int64_t *size = numbers(made_[o]), *place = numbers(place_[o]);
    std::vector<int64_t> offsets = running_sum(size, size_t(count));
    char *to = result->streams()[shape_.nvar + 1].address;
    in_pieces_of_rows(name(), offsets.data(), count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        if (size[i]) {
          std::memcpy(to + offsets[size_t(i)] * bytes, reinterpret_cast<const char *>(intptr_t(place[i])),
                      size_t(size[i] * bytes));
        }
      }
    });
    return result;
  }

  // ---- the kernel ------------------------------------------------------------------------------------------------

  void start_task(task &t) {
    t.name = name();
    t.how = how_;
    t.shape = shape_;
    t.keep_lock = f_.has(dynd_callable_python_lock);
    t.one_thread = t.keep_lock || f_.has(dynd_callable_one_thread);
    t.runs_once = std::any_of(f_.operands.begin(), f_.operands.end(), [](const core_operand &o) { return o.inout; });
    for (size_t s = 0; s < f_.sizes.size(); s++) {
      intptr_t size = size_[s] >= 0 ? size_[s] : 8; // of ragged rows a guess
      t.each = std::min<intptr_t>(t.each * std::max<intptr_t>(1, std::min<intptr_t>(size, 1 << 20)), intptr_t(1) << 30);
    }
  }

  static core_stream stream_of(const kernel_operand &operand, int ncore) {
    core_stream found;
    found.stream = operand.stream();
    if (ncore > 0 && operand.type()->kind == type_kind::var_dim) {
      found.slots = found.stream++;
      found.kind = operand.slots();
      found.step = operand.meta->step[operand.part.stream];
      found.unit = operand.stride(operand.part.stream + 1, operand.part.dim);
    }
    return found;
  }

  void call() {
    task t;
    start_task(t);
    int at[max_core_operands]; // of each operand of the function among those of the task
    ref<array_block> nothing;  // which no kernel sees: a task has an output, which has its whole space
    if (f_.noutputs == 0 && !t.runs_once) {
      nothing = new_result(shape_, ndt::make_scalar(scalar_id::bool_));
      t.add_operand(space_operand(nothing.get(), shape_.ndim));
      t.runs_once = true;
    }
    auto add = [&](int o) {
      at[o] = t.operands.size();
      if (is_made(o)) {
        t.add_operand(space_operand(made_[o].get(), shape_.ndim));
        t.add_operand(space_operand(place_[o].get(), shape_.ndim));
      } else {
        t.add_operand(space_operand(block_[o].get(), outer(o)));
      }
    };
    for (int o = 0; o < f_.noutputs; o++) {
      add(o);
    }
    for (bool inout : {true, false}) { // what is written comes first
      for (int o = f_.noutputs; o < noperands_; o++) {
        if (core(o).inout == inout) {
          add(o);
        }
      }
      t.noutputs = inout ? t.operands.size() : t.noutputs;
    }
    t.leaf = [&](ckernel_builder &out, size_t offset, const kernel_operand *operands, kernel_request_t,
                 std::vector<explained_level> *levels) {
      size_t end = make_leaf(out, offset, operands, at);
      if (levels) {
        levels->push_back({offset, end - offset, std::string(name()) + " " + f_.kernel->signature});
      }
      return end;
    };
    run_or_undo(t);
  }

  // A function that is not total may fail for any element: what it had written until then is as it was again.
  void run_or_undo(task &t) {
    ref<array_block> before[max_core_operands];
    for (int o = f_.noutputs; o < noperands_; o++) {
      if (core(o).inout && !f_.has(dynd_callable_total)) {
        before[o] = copy_values(block_[o].get(), access_mode::immutable);
      }
    }
    try {
      run_named(t);
    } catch (...) {
      without_interruption undoing;
      for (int o = f_.noutputs; o < noperands_; o++) {
        if (before[o]) {
          assign(block_[o].get(), before[o].get(), unwatched);
        }
      }
      throw;
    }
  }

  size_t make_leaf(ckernel_builder &out, size_t offset, const kernel_operand *operands, const int *at) {
    core_stream streams[max_core_operands];
    dynd_arrmeta metas[max_core_operands];
    const dynd_arrmeta *arrmeta[max_core_operands];
    intptr_t dim_size[max_core_operands][max_ndim], stride[max_core_operands][max_ndim];
    core_extras extras;
    for (int o = 0; o < noperands_; o++) {
      const kernel_operand &own = operands[at[o]];
      streams[o] = is_made(o) ? core_stream{-1} : stream_of(own, ncore(o));
      for (int d = 0; d < ncore(o); d++) {
        dim_size[o][d] = is_made(o) && d == 0 ? -1 : size_[core(o).sizes[size_t(d)]];
        stride[o][d] = is_made(o) ? 0 : own.stride(own.part.stream + (streams[o].slots >= 0), own.part.dim + d);
      }
      if (is_made(o)) {
        extras.made.push_back({o, own.stream(), operands[at[o] + 1].stream(), each(o)});
      } else if (packed_[o]) {
        extras.packed.push_back(packed_from(f_, o, streams[o], own));
      }
      if (is_made(o) || packed_[o]) {
        dense_strides(f_, core(o), size_, stride[o]);
      }
      metas[o] = core_arrmeta(ncore(o), dim_size[o], stride[o]);
      arrmeta[o] = ncore(o) ? &metas[o] : nullptr;
    }
    extras.memory = &rows_;
    return make_core(out, offset, f_, streams, arrmeta, size_, std::move(extras));
  }

  const core_function &f_;
  const call_operands &given_;
  settings how_;
  int noperands_;
  space shape_;
  intptr_t size_[max_core_sizes];
  bool ragged_[max_core_sizes] = {};
  ref<array_block> block_[max_core_operands]; // outputs and sources
  bool packed_[max_core_operands] = {};       // its blocks are brought into scratch
  ref<array_block> measured_[max_core_sizes]; // int64 over the space: sizes that differ
  // Of rows that the kernel makes: int64 over the space, how many elements there are and where.
  ref<array_block> made_[max_core_operands], place_[max_core_operands];
  row_memory rows_;
};

} // namespace

void evaluate(const core_function &function, const call_operands &operands, ref<array_block> *results,
              const settings &how) {
  direct_failure failure;
  if (try_direct(function, operands, how, results, failure)) {
    return;
  }
  if (!failure.is_final(how)) {
    core_call(function, operands, how).run(results);
  }
  failure.raise(function.kernel->name);
}

} // namespace dynd

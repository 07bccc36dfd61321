#include "dynd/kernel/chain.h"

#include <algorithm>
#include <cstring>

#include "dynd/base/errors.h"
#include "dynd/kernel/chain_choice.h"
#include "dynd/kernel/chain_kernel.h"
#include "dynd/ops/logic.h"
#include "dynd/plan/tile.h"

namespace dynd {

void lane_stack::push(size_t blocks) {
  weight_[depth_++] = blocks;
  while (depth_ > 1 && weight_[depth_ - 1] == weight_[depth_ - 2]) {
    reduce_.combine(lanes_[depth_ - 2], lanes_[depth_ - 2], lanes_[depth_ - 1], 1);
    weight_[depth_ - 2] *= 2;
    depth_--;
  }
}

void lane_stack::finish(void *lanes) {
  while (depth_ > 1) {
    reduce_.combine(lanes_[depth_ - 2], lanes_[depth_ - 2], lanes_[depth_ - 1], 1);
    depth_--;
  }
  std::memcpy(lanes, lanes_[0], 64);
}

using namespace chain;

namespace {

void destroy_chain(ckernel_prefix *self) {
  const chain_kernel *k = chain_of(self);
  const chain_step *step = k->at<chain_step>(k->steps);
  for (int i = 0; i < k->nsteps; i++) {
    if (step[i].child) {
      destroy_child(const_cast<ckernel_prefix *>(k->at<external_operands>(step[i].child)->kernel()));
    }
  }
}

/// Puts a chain together: first the room and the offsets, then each part.
class chain_builder {
public:
  chain_builder(ckernel_builder &out, size_t offset, const program &p, const chain_layout &layout)
      : out_(out), offset_(offset), p_(p), layout_(layout), reduces_(p.reduces()), stages_(p), chosen_(p, layout) {}

  size_t build() {
    find_last_reads();
    size_t end = lay_out();
    fill_ports();
    fill_steps();
    fill_walk();
    for (int i = 0; i < chosen_.count; i++) {
      if (p_.steps[chosen_.steps[i].step].kind == step_kind::external) {
        end = make_external_step(i, end);
      }
    }
    kernel()->base.set_function(function());
    return offset_ + end;
  }

private:
  chain_kernel *kernel() { return out_.get_at<chain_kernel>(offset_); }
  template <class T> T *part(uint32_t at) { return out_.get_at<T>(offset_ + at); }

  streams_strided_t function() {
    const chain_kernel *k = kernel();
    bool lanes = layout_.lanes;
    if (k->scans && layout_.kind != chain_kind::var_rows) {
      return layout_.kind == chain_kind::row       ? scan_row_strided
             : layout_.kind == chain_kind::columns ? scan_columns_strided
             : layout_.kind == chain_kind::flat    ? scan_part_strided
                                                   : scan_rows_strided;
    }
    if (k->nstages && layout_.kind != chain_kind::var_rows) {
      return layout_.kind == chain_kind::row ? staged_row_strided : staged_rows_strided;
    }
    switch (layout_.kind) {
    case chain_kind::flat:
      return reduces_ ? lanes_strided : is_one_external() ? flat_external_strided : flat_strided;
    case chain_kind::small_rows:
      return reduces_ && k->axis_size > intptr_t(group / 2) ? long_rows_strided : small_rows_strided;
    case chain_kind::panel:
      return panel_strided;
    case chain_kind::var_rows:
      return lanes ? var_lanes_strided : var_rows_strided;
    case chain_kind::row:
      return row_strided;
    case chain_kind::columns:
      return columns_strided;
    case chain_kind::ordered:
      return lanes ? ordered_lanes_strided : ordered_strided;
    }
    return nullptr;
  }

  // Is one external step all there is, from the sources to the outputs?
  bool is_one_external() const {
    const program_step &step = p_.steps[0];
    bool numbers = std::any_of(layout_.ports.begin(), layout_.ports.end(), [](const auto &p) { return p.numbers; });
    if (p_.nsteps != 1 || step.kind != step_kind::external || step.valid != no_register ||
        p_.noutputs != step.nwrites || numbers) {
      return false;
    }
    int found = 0;
    p_.for_writes(step, [&](uint8_t reg) { found += is_stored(reg); });
    return found == p_.noutputs;
  }

  uint32_t reserve(uint8_t reg) {
    size_t bytes = (chosen_.elements_of_batch() << log2_size(p_.type[reg])) + register_padding;
    return uint32_t(ckernel_builder_reserve_scratch(&out_, bytes));
  }

  bool is_stored(uint8_t reg) const {
    return std::any_of(p_.output, p_.output + p_.noutputs,
                       [&](const program_output &o) { return !o.reduced && o.reg == reg; });
  }
  bool is_reduced(uint8_t reg) const {
    return chosen_.terms.uses(reg) || std::any_of(p_.output, p_.output + p_.noutputs,
                                                  [&](const program_output &o) { return o.reduced && o.reg == reg; });
  }

  // The last step that reads each register; a register's scratch can be used again after it.
  void find_last_reads() {
    std::fill_n(last_read_, p_.nregisters, -1);
    for (int i = 0; i < chosen_.count; i++) {
      chosen_.for_reads(i, [&](uint8_t reg) { last_read_[reg] = i; });
    }
  }

  bool is_row_output(const program_output &o) const { return !o.reduced && p_.row[o.reg]; }

  size_t lay_out() {
    auto row_outputs =
        std::count_if(p_.output, p_.output + p_.noutputs, [&](const auto &o) { return is_row_output(o); });
    auto reduced = std::count_if(p_.output, p_.output + p_.noutputs, [](const auto &o) { return o.reduced; });
    if (reduced > max_reductions) {
      fail(error_kind::internal, "chain: too many reductions");
    }
    size_t nports = size_t(p_.noutputs - reduced + p_.nsources);
    size_t end = sizeof(chain_kernel);
    auto place = [&](size_t bytes) {
      size_t at = end;
      end = (end + bytes + 7) / 8 * 8;
      return uint32_t(at);
    };
    uint32_t ports = place(nports * sizeof(port)), reductions = place(size_t(reduced) * sizeof(reduced_output));
    uint32_t temporaries = place(p_.nregisters * sizeof(temporary)), steps = place(p_.nsteps * sizeof(chain_step));
    uint32_t details = place(p_.nsteps * sizeof(step_details)), nest = uint32_t(end);
    if (layout_.kind == chain_kind::ordered) {
      place(sizeof(intptr_t) * (1 + size_t(layout_.loops->loop_count) * (1 + nports)) + nports * sizeof(ordered_panel));
    }
    bool scans = chosen_.scans();
    place(scans ? sizeof(chain_scan) : 0);
    out_.ensure_capacity_leaf(offset_ + end);
    chain_kernel *k = kernel();
    k->scans = scans;
    k->ports = ports;
    k->reductions = reductions;
    k->temporaries = temporaries;
    k->steps = steps;
    k->details = details;
    k->nest = nest;
    k->axis_size = layout_.axis_size;
    k->prefetch_distance = layout_.prefetch_distance;
    k->shape_slots = layout_.shape_slots;
    k->number_stream = layout_.number_stream;
    k->nstored = uint8_t(p_.noutputs - reduced - row_outputs);
    k->nrow_outputs = uint8_t(row_outputs);
    k->nstages = stages_.count;
    k->nreductions = uint8_t(reduced);
    k->nsources = p_.nsources;
    k->nsteps = uint8_t(chosen_.count);
    k->narrower = uint8_t(chosen_.narrower());
    size_t elements = chosen_.elements_of_batch();
    k->window = uint16_t(elements);
    if (k->window != elements) {
      fail(error_kind::internal, "chain: too many elements in a batch");
    }
    k->whole_constant = false;
    k->whole_calls = chosen_.count == 1 && !reduces_ && takes_whole_calls(p_.steps[chosen_.steps[0].step]);
    return end;
  }

  // What is fetched ahead while values are converted to another type is fetched between batches (0011).
  bool takes_whole_calls(const program_step &step) const {
    bool converts = step.kind == step_kind::conversion && p_.type[step.reads[0]] != step.type;
    return step.kind != step_kind::external && !(converts && layout_.prefetch_distance);
  }

  void fill_ports() {
    chain_kernel *k = kernel();
    port *to = part<port>(k->ports), *of_rows = to + k->nstored + k->nsources;
    auto *reduced = part<reduced_output>(k->reductions);
    bool fails = false;
    for (int i = 0; i < p_.nsteps; i++) {
      fails |= p_.can_fail(p_.steps[i]);
    }
    k->stores_late = fails && k->nstored > 1;
    for (int i = 0; i < layout_.ports.size(); i++) {
      const chain_port &where = layout_.ports[i];
      uint8_t reg = i < p_.noutputs ? p_.output[i].reg : p_.source[i - p_.noutputs];
      k->nstreams = std::max<uint16_t>(k->nstreams, uint16_t(where.stream + 1));
      uint8_t log2 = uint8_t(log2_size(p_.type[reg]));
      if (i < p_.noutputs && p_.output[i].reduced) {
        const program_output &o = p_.output[i];
        folded_terms own = {i, reg};
        const folded_terms &terms = i == chosen_.terms.output ? chosen_.terms : own;
        bool asks_for_any = o.reduction == logic::any && p_.type[reg] == scalar_id::bool_ && !o.empty_fails;
        *reduced++ = {terms.functions ? terms.functions : &isa().reduce(o.reduction, p_.type[reg]),
                      where.stream,
                      terms.reg,
                      uint8_t(log2_size(p_.type[terms.reg])),
                      terms.other,
                      terms.valid,
                      o.empty_fails,
                      asks_for_any && is_constant(reg),
                      asks_for_any ? told_by(reg) : no_register,
                      terms.finish};
      } else {
        port *&next = i < p_.noutputs && is_row_output(p_.output[i]) ? of_rows : to;
        *next++ = {where, reserve(reg), reg, log2};
      }
    }
    k->copies = layout_.kind == chain_kind::flat && !layout_.streaming && is_copy() &&
                p_.steps[0].type != scalar_id::bool_; // whose bytes become 0 or 1
    k->stops_early = !fails && k->nstored == 0 && k->nreductions > 0 && !k->nstages &&
                     std::all_of(k->reduced().begin(), k->reduced().end(),
                                 [](const reduced_output &r) { return r.functions->decided_by >= 0; });
  }

  // The least or largest of the elements where a register is true, by its number among the folds. Of narrower types
  // what nothing gives is a value like others.
  uint8_t told_by(uint8_t valid) const {
    uint8_t number = 0;
    for (int i = 0; i < p_.noutputs; i++) {
      const program_output &o = p_.output[i];
      bool tells = o.reduced && (o.reduction == arithmetic::least || o.reduction == arithmetic::largest) &&
                   (log2_size(p_.type[o.reg]) == 2 || log2_size(p_.type[o.reg]) == 3);
      for (int s = 0; tells && s < p_.nsteps; s++) {
        const program_step &step = p_.steps[s];
        if (step.fills && step.reduction == o.reduction && step.reads[0] == valid && step.writes[0] == o.reg) {
          return number;
        }
      }
      number += o.reduced;
    }
    return no_register;
  }

  // Whether the result of a step may be stored over what it reads. After a failure it would be gone.
  bool may_alias(int step) const {
    const program_step &s = p_.steps[chosen_.steps[step].step];
    return s.kind == step_kind::external && s.nwrites == 1 &&
           s.external->has(dynd_callable_may_alias | dynd_callable_total);
  }

  // Scratch of temporaries is used again as soon as its value was read for the last time. Sizes differ by type, so
  // only within one size. Values of rows stay while a long row's elements are computed again.
  void give_scratch(uint8_t reg, int step) {
    chain_kernel *k = kernel();
    if (p_.row[reg]) {
      uint32_t scratch = reserve(reg);
      part<temporary>(k->temporaries)[k->ntemporaries++] = {scratch, reg};
      return;
    }
    int log2 = log2_size(p_.type[reg]), until = std::max(last_read_[reg], step);
    if (is_reduced(reg)) {
      until = chosen_.count;
    }
    // Of columns, many rows of a reduced register are computed before they are reduced: it has its own.
    bool own = is_reduced(reg) && layout_.kind == chain_kind::columns;
    int free_before = step + may_alias(step);
    used_scratch *found = std::find_if(
        used_, used_ + nused_, [&](const used_scratch &u) { return !own && u.log2 == log2 && u.until < free_before; });
    if (found == used_ + nused_) {
      uint32_t scratch = reserve(reg);
      used_[nused_++] = {scratch, log2, 0};
    }
    found->until = until;
    part<temporary>(k->temporaries)[k->ntemporaries++] = {found->scratch, reg};
  }

  void fill_steps() {
    chain_kernel *k = kernel();
    auto *step = part<chain_step>(k->steps);
    auto *details = part<step_details>(k->details);
    auto size_of = [&](uint8_t reg) { return reg == no_register ? uint8_t(0) : scalar_size[size_t(p_.type[reg])]; };
    auto read_size = [&](uint8_t reg) { return is_constant(reg) ? uint8_t(0) : size_of(reg); }; // there may be one only
    for (int i = 0; i < chosen_.count; i++) {
      const chosen_step &chosen = chosen_.steps[i];
      const program_step &from = p_.steps[chosen.step];
      bool external = from.kind == step_kind::external;
      auto reads = [&](int n) {
        return chosen.is_pair ? chosen.reads[n] : !external && n < from.nreads ? from.reads[n] : no_register;
      };
      auto writes = [&](int n) { return !external && n < from.nwrites ? from.writes[n] : no_register; };
      step[i] = {{external ? nullptr : loop_of(chosen)},
                 reads(0),
                 reads(1),
                 reads(2),
                 writes(0),
                 writes(1),
                 from.valid,
                 uint16_t(i),
                 0,
                 extent_of(p_, from),
                 stages_.needed_in[i],
                 uint8_t(log2_size(from.type)),
                 false};
      if (from.kind == step_kind::fold) {
        step[i].fold = &isa().reduce(from.reduction, from.type);
      }
      details[i] = {
          from.kind,
          from.op,
          from.type,
          reads(0) == no_register ? from.type : p_.type[reads(0)],
          {read_size(reads(0)), read_size(reads(1)), read_size(reads(2)), size_of(writes(0)), size_of(writes(1))},
          from.field};
      if (from.kind == step_kind::scan) {
        fill_scan(from);
      }
      p_.for_writes(from, [&](uint8_t reg) {
        if (!is_stored(reg)) {
          give_scratch(reg, i);
        }
      });
    }
    join_squares(p_, step);
  }

  void fill_scan(const program_step &step) {
    auto is_it = [&](const program_output &o) { return !o.reduced && o.reg == step.writes[0]; };
    auto output = std::find_if(p_.output, p_.output + p_.noutputs, is_it) - p_.output;
    const scan *s = scan_by(step.op);
    size_t state = ckernel_builder_reserve_scratch(&out_, sizeof(scan_state));
    *part<chain_scan>(kernel()->nest) = {s ? isa().scan(s->id, step.type) : scan_functions{},
                                         isa().loop(step.op, step.type), uint32_t(state), uint8_t(log2_size(step.type)),
                                         uint8_t(output)};
  }

  // A source that is one value for all elements.
  bool is_constant(uint8_t reg) const {
    int source = p_.source_of(reg);
    return source >= 0 && layout_.ports[p_.noutputs + source].constant;
  }

  // Which of the two operands of a step is one value, if there is a loop for that; else -1.
  int constant_operand(const program_step &step) const {
    bool one = step.kind == step_kind::operation && step.nreads == 2 &&
               is_constant(step.reads[0]) != is_constant(step.reads[1]);
    bool mixed = one && operation_of(step.op).compares && p_.type[step.reads[0]] != p_.type[step.reads[1]];
    int which = one && is_constant(step.reads[1]);
    return one && !mixed && isa().constant_loop(step.op, which, step.type) ? which : -1;
  }

  // With streaming stores where the step's result leaves the cache and nothing else reads it.
  batch_fn loop_of(const chosen_step &chosen) {
    const program_step &step = p_.steps[chosen.step];
    bool streams = layout_.streaming && !reduces_ && !kernel()->stores_late && step.nwrites == 1 &&
                   step.valid == no_register && is_stored(step.writes[0]) && last_read_[step.writes[0]] < 0;
    if (chosen.is_pair) {
      return streams ? chosen.pair.stream : chosen.pair.loop;
    }
    batch_fn stream = streams ? p_.stream_loop_of(step) : nullptr;
    int constant = stream ? -1 : constant_operand(step);
    kernel()->whole_constant |= constant >= 0;
    return stream ? stream : p_.loop_of(step, constant);
  }

  void fill_walk() {
    chain_kernel *k = kernel();
    if (layout_.kind == chain_kind::columns && reduces_) {
      size_t bytes = column_scratch(size_t(layout_.axis_size)) * k->nreductions;
      k->panels = uint32_t(ckernel_builder_reserve_scratch(&out_, bytes));
    } else if (layout_.kind == chain_kind::panel) {
      fill_panels(k);
    } else if (layout_.kind == chain_kind::ordered) {
      auto *nest = part<intptr_t>(k->nest);
      *nest++ = layout_.loops->loop_count;
      for (int i = 0; i < layout_.loops->loop_count; i++) {
        *nest++ = layout_.loops->loops[i].size;
        for (const port &p : k->all_ports()) {
          *nest++ = layout_.loops->loops[i].stride[p.where.stream];
        }
      }
      auto *panel = reinterpret_cast<ordered_panel *>(nest);
      const ordered_panel *strips = nullptr;
      for (const port &p : k->all_ports()) {
        *panel = &p < k->sources().data() ? ordered_panel{} : plan_panel(out_, k, layout_, p, strips);
        strips = panel->kind == panel_kind::strips ? panel : strips;
        panel++;
      }
    }
  }

  void fill_panels(chain_kernel *k) {
    const port &dst = k->outputs()[0];
    bool lines = dst.log2 == 2 || dst.log2 == 3; // items of which tiles are made a line wide
    k->transposes = lines && layout_.streaming && is_copy() && k->sources()[0].where.fetched;
    size_t fetched_bytes = 0;
    for (const port &p : k->all_ports()) {
      fetched_bytes += p.where.fetched ? size_t(1) << p.log2 : 0;
    }
    k->panel = layout_.streaming ? far_panel(dst.log2, fetched_bytes) : near_panel;
    k->panel_ahead = layout_.streaming || layout_.prefetch_distance;
    size_t bytes = 0;
    for (const port &p : k->all_ports()) {
      bytes += p.where.fetched ? size_t(k->panel.rows * k->panel.stride(p.log2)) : 0;
    }
    k->panels = uint32_t(ckernel_builder_reserve_scratch(&out_, bytes));
  }

  // Whether one source goes to one output as it is.
  bool is_copy() {
    const program_step &step = p_.steps[0];
    return p_.nsteps == 1 && step.kind == step_kind::conversion && p_.type[step.reads[0]] == step.type &&
           kernel()->nstored == 1 && kernel()->nsources == 1;
  }

  // The external kernel of step i, `end` bytes into the chain; returns where it ends.
  size_t make_external_step(int i, size_t end) {
    const program_step &step = p_.steps[chosen_.steps[i].step];
    size_t child = end + sizeof(external_operands);
    out_.ensure_capacity(offset_ + child);
    auto *operands = out_.get_at<external_operands>(offset_ + end);
    operands->name = step.external->kernel->name;
    auto add = [&](uint8_t reg) { operands->operand[operands->count++] = {reg, scalar_size[size_t(p_.type[reg])]}; };
    const uint8_t *reg = p_.external_registers + step.first_operand;
    std::for_each(reg, reg + step.nwrites + step.nreads, add);
    // There is room for the child's prefix, zero, so that the chain's destructor never finds a child that is not there.
    chain_kernel *k = kernel();
    part<chain_step>(k->steps)[i].child = uint32_t(end);
    k->base.destructor = destroy_chain;
    end = make_external(out_, offset_ + child, *step.external) - offset_;
    return (end + 7) / 8 * 8;
  }

  ckernel_builder &out_;
  size_t offset_;
  const program &p_;
  const chain_layout &layout_;
  bool reduces_;
  stage_plan stages_;
  step_choice chosen_;
  int last_read_[max_registers];
  struct used_scratch {
    uint32_t scratch;
    int log2, until;
  } used_[max_registers];
  int nused_ = 0;
};

} // namespace

size_t make_chain(ckernel_builder &out, size_t offset, const program &p, const chain_layout &layout) {
  return chain_builder(out, offset, p, layout).build();
}

// ---- failures -------------------------------------------------------------------------------------------------------

namespace chain {

namespace {

/// The step on the elements begin .. end of the batch.
uint32_t run_part(const chain_step &step, const step_details &details, char *const *reg, size_t begin, size_t end) {
  auto at = [&](uint8_t r, int i) { return r == no_register ? nullptr : reg[r] + begin * details.size[i]; };
  return step.function(at(step.dst, 3), at(step.a, 0), at(step.b, 1), at(step.c, 2), end - begin, at(step.dst2, 4));
}

int report_failed(const step_details &details, char *const *reg, const chain_step &step, size_t i, dynd_frame *frame) {
  fail_element(frame, i, details.field);
  switch (details.kind) {
  case step_kind::conversion:
    return report_refusal(frame, details.type, details.from, reg[step.a] + i * details.size[0]);
  case step_kind::require:
    return report(frame, dynd_error_overflow, "cannot assign an NA value to a non-option type");
  default:
    return report(frame, dynd_error_value, "%s: %s", operation_of(details.op).name, operation_of(details.op).failure);
  }
}

} // namespace

int explain_failure(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame) {
  const step_details &details = k->at<step_details>(k->details)[step.number];
  const char *valid = step.valid == no_register ? nullptr : reg[step.valid];
  for (size_t begin = 0, end; begin < n; begin = end) {
    for (end = begin; end < n && (!valid || valid[end]); end++) {
    }
    if (end > begin && run_part(step, details, reg, begin, end)) {
      size_t first = begin;
      while (first + 1 < end && !run_part(step, details, reg, first, first + 1)) {
        first++;
      }
      return report_failed(details, reg, step, first, frame);
    }
    for (; end < n && !valid[end]; end++) {
    }
  }
  return dynd_ok;
}

namespace {

int call_external(const external_operands &f, char *const *stream, const intptr_t *stride, size_t n,
                  dynd_frame *frame) {
  int status = call_strided(f.kernel(), stream, stride, n, frame);
  if (status) [[unlikely]] {
    char said[201] = ""; // no exception may leave a kernel: nothing is allocated
    std::memcpy(said, frame->text, sizeof(said) - 1);
    fail_element(frame, 0, nullptr);
    bool asked = status == dynd_error_cancelled && !said[0]; // to stop: the task says so
    return asked ? status : report(frame, status, "%s: %s", f.name, said[0] ? said : "failed");
  }
  return dynd_ok;
}

} // namespace

int run_external(const chain_kernel *k, const chain_step &step, char *const *reg, size_t n, dynd_frame *frame) {
  const auto &f = *k->at<external_operands>(step.child);
  const char *valid = step.valid == no_register ? nullptr : reg[step.valid];
  char *stream[max_external_operands];
  intptr_t stride[max_external_operands];
  for (size_t begin = 0, end; begin < n; begin = end) { // runs of elements that are there
    for (end = valid ? begin : n; end < n && valid[end]; end++) {
    }
    for (size_t i = 0; i < f.count; i++) {
      stream[i] = reg[f.operand[i].reg] + begin * f.operand[i].size;
      stride[i] = f.operand[i].size;
    }
    if (int status = end > begin ? call_external(f, stream, stride, end - begin, frame) : int(dynd_ok)) {
      return status;
    }
    for (; end < n && !valid[end]; end++) {
    }
  }
  return dynd_ok;
}

// Nothing but one external step: it gets the call's own streams and strides, however long and whatever they are.
int flat_external_strided(char *const *stream, const intptr_t *stride, size_t count, const ckernel_prefix *self,
                          dynd_frame *frame) {
  const chain_kernel *k = chain_of(self);
  const auto &f = *k->at<external_operands>(k->at<chain_step>(k->steps)->child);
  char *at[max_external_operands];
  intptr_t jump[max_external_operands];
  for (size_t i = 0; i < f.count; i++) {
    for (const port &p : k->all_ports()) {
      if (p.reg == f.operand[i].reg) {
        at[i] = stream[p.where.stream];
        jump[i] = stride[p.where.stream];
      }
    }
  }
  int status = call_external(f, at, jump, count, frame);
  return status ? status : status_of(frame);
}

int fail_empty(dynd_frame *frame) {
  fail_element(frame, 0, nullptr);
  frame->kind = dynd_error_value;
  return dynd_error_value;
}

int reduce_nothing(const chain_kernel *k, char *const *stream, const intptr_t *stride, size_t row, dynd_frame *frame) {
  const int64_t nothing[2] = {0, 0};
  for (const reduced_output &r : k->reduced()) {
    char *dst = stream[r.stream] + intptr_t(row) * stride[r.stream];
    uint32_t empty = r.functions->rows(dst, 0, dst, nothing, 1, 0);
    if (empty && r.empty_fails) {
      return fail_empty(frame);
    }
  }
  return dynd_ok;
}

} // namespace chain

} // namespace dynd

#include "dynd/eval/direct.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "dynd/base/cpu.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/frame.h"
#include "dynd/eval/run.h"
#include "dynd/ops/isa.h"
#include "dynd/plan/overlap.h"

namespace dynd {

namespace {

// The same sizes, and the same kinds of dimensions.
bool same_shape(const array_block *a, const array_block *b) {
  return a->ndim == b->ndim && std::equal(a->size(), a->size() + a->ndim, b->size()) &&
         (a->type == b->type || ndt::with_dtype(ndt::type(b->type), ndt::type(a->type->dtype)).get() == a->type);
}

const type_data *with_scalar(const type_data *type, scalar_id scalar) {
  return type->scalar == scalar ? type : ndt::with_dtype(ndt::type(type), ndt::make_scalar(scalar)).get();
}

// (T) -> R, (T, T) -> R, (T, T, T) -> R.
const std::array<bool, max_operations> has_one_type = [] {
  std::array<bool, max_operations> has{};
  for (const operation &o : all_operations()) {
    has[size_t(o.id)] = o.noutputs == 1 && std::all_of(o.operand, o.operand + o.noperands, [](value_rule r) {
                          return r == value_rule::same || r == value_rule::truth;
                        });
  }
  return has;
}();

// The usual case, without the questions of the general one: all of one type and the same sizes.
bool try_one_type(op_id op, const call_operands &operands, ref<array_block> *results) {
  const array_block *first = operands.block[0];
  const void *source[3] = {first->values().address, nullptr, nullptr};
  for (int i = 1; i < operands.count; i++) {
    const array_block *own = operands.block[i];
    if (own->type != first->type || !is_dense_and_ready(own) ||
        !std::equal(own->size(), own->size() + own->ndim, first->size())) {
      return false;
    }
    source[i] = own->values().address;
  }
  batch_fn loop = isa().loop(op, first->scalar());
  if (!loop) {
    return false;
  }
  bool same = operation_of(op).output[0] == value_rule::same;
  const type_data *type = same ? first->type : with_scalar(first->type, result_type(op, 0, first->scalar()));
  *results = new_dense(type, first->size());
  return loop((*results)->values().address, source[0], source[1], source[2], size_t(first->count), nullptr) == 0;
}

// Operands of any types and layouts, without rows, and a result of few elements. Each operand is read where it is, if
// it is in the order of the result without gaps and of the type that is computed in; a single number by the loop for
// one. Any other is brought into scratch, batch by batch. What this does not take is left to the task, errors included.
class direct_call {
public:
  direct_call(op_id op, const call_operands &operands) : op_(op), o_(operation_of(op)), operands_(operands) {}

  bool run(ref<array_block> *results) {
    if (o_.operand[0] >= value_rule::optional || !find_shape() || !find_type()) {
      return false;
    }
    loop_ = isa().loop(op_, computation_);
    find_order();
    bool gathers = false;
    for (int i = 0; i < operands_.count; i++) {
      find_source(i);
      gathers |= source_[i].how == source::gathered;
    }
    if (!loop_ || (gathers && shape_->count > batch && size_[rank_ - 1] < shortest_row)) {
      return false; // many short rows: the task has better loops for them
    }
    for (int i = 0; i < o_.noutputs; i++) {
      results[i] = new_result(result_type(op_, i, computation_));
    }
    return run_batches(results, gathers ? batch : shape_->count);
  }

private:
  static constexpr intptr_t batch = 128, shortest_row = 16;
  static constexpr size_t scratch_size = size_t(batch) * max_scalar_size + 128; // fetches write past the end

  struct source {
    const char *at;
    size_t item;
    enum { in_place, number, gathered } how;
    intptr_t stride[max_ndim], index[max_ndim]; // where it is gathered: by axis in the order of the result
  };

  static bool has_fixed_dim(const array_block &block) {
    const type_data *t = block.type;
    while (t->kind == type_kind::strided_dim) {
      t = t->element;
    }
    return t->kind == type_kind::fixed_dim;
  }

  // The operand that has the result's sizes and the kinds of its dimensions; all others broadcast to it.
  bool find_shape() {
    bool fixed = false;
    for (int i = 0; i < operands_.count; i++) {
      const array_block *own = operands_.block[i];
      if (!own->has_scalars() || own->nstreams != 1 || !own->is_ready()) {
        return false;
      }
      fixed |= has_fixed_dim(*own);
      bool larger = !shape_ || own->ndim > shape_->ndim || (own->ndim == shape_->ndim && own->count > shape_->count);
      shape_ = larger ? own : shape_;
    }
    bool fits = size_t(shape_->count) * 8 <= lazy_from;
    for (int i = 0; i < operands_.count && fits; i++) {
      const array_block &own = *operands_.block[i];
      fits = own.ndim == 0 || !fixed || same_shape(shape_, &own);
      int missing = shape_->ndim - own.ndim;
      for (int d = 0; d < own.ndim; d++) {
        fits &= own.size()[d] == 1 || own.size()[d] == shape_->size()[missing + d];
      }
    }
    return fits;
  }

  // The types of the operands promote as those of a task do.
  bool find_type() {
    const array_block *first = nullptr; // of those that are not conditions
    scalar_id promoted{};
    for (int i = 0; i < operands_.count; i++) {
      const array_block *own = operands_.block[i];
      if (has_own_type(o_.operand[i])) {
        if (!takes_operand(op_, i, own->scalar())) {
          return false;
        }
        continue;
      }
      promoted = first ? promote(promoted, own->scalar()) : own->scalar();
      first = first ? first : own;
    }
    computation_ = computation_type(op_, promoted);
    const array_block &last = *operands_.block[operands_.count - 1];
    return !o_.compares || !find_mixed_comparison(computation_, first->scalar(), last.scalar());
  }

  // The order of the axes that a task's result has, and the sizes in it; no dimension counts as one of size 1.
  void find_order() {
    int ndim = shape_->ndim;
    if (ndim > 1) {
      order_ = order_like(ndim, shape_->size(), {operands_.block, size_t(operands_.count)});
    }
    rank_ = std::max(ndim, 1);
    size_[0] = 1;
    for (int k = 0; k < ndim; k++) {
      size_[k] = shape_->size()[axis(k)];
    }
  }

  int axis(int k) const { return order_.c_order ? k : order_.axis[k]; }

  // Finds how operand i is read. A number beside an array is read once, by a loop of its own.
  void find_source(int i) {
    const array_block &own = *operands_.block[i];
    source &s = source_[i];
    scalar_id wanted = operand_type(op_, i, computation_);
    s.at = own.values().address;
    s.item = own.item_size();
    bool is_number = own.ndim == 0 && shape_->ndim > 0 && operands_.count == 2;
    if (batch_fn for_one = is_number ? isa().constant_loop(op_, i, computation_) : nullptr) {
      if (own.scalar() != wanted) {
        isa().convert(wanted, own.scalar())(scratch_[1][i], s.at, nullptr, nullptr, 1, nullptr);
        s.at = scratch_[1][i];
      }
      s.how = source::number;
      loop_ = for_one;
      return;
    }
    intptr_t chained = intptr_t(s.item);
    bool in_order = own.scalar() == wanted;
    for (int k = rank_ - 1; k >= 0; k--) {
      int d = axis(k) - (shape_->ndim - own.ndim);
      s.stride[k] = d < 0 || own.ndim == 0 ? 0 : broadcast_stride(own.size()[d], own.value_strides()[d]);
      s.index[k] = 0;
      in_order &= size_[k] == 1 || s.stride[k] == chained;
      chained *= size_[k];
    }
    s.how = in_order ? source::in_place : source::gathered;
  }

  ref<array_block> new_result(scalar_id scalar) const {
    ref<array_block> result = new_dense(with_scalar(shape_->type, scalar), shape_->size());
    intptr_t chained = intptr_t(result->item_size());
    for (int k = rank_ - 1; k >= 0 && !order_.c_order; k--) {
      result->value_strides()[axis(k)] = chained;
      chained *= size_[k];
    }
    result->flags &= uint8_t(~(order_.c_order ? 0 : flag_dense));
    return result;
  }

  bool run_batches(ref<array_block> *results, intptr_t most) {
    char *to[2] = {};
    intptr_t to_item[2] = {}, row = size_[rank_ - 1];
    for (int i = 0; i < o_.noutputs; i++) {
      to[i] = results[i]->values().address;
      to_item[i] = intptr_t(results[i]->item_size());
    }
    const void *from[3] = {};
    for (intptr_t n = 0, done = 0; done < shape_->count; done += n) {
      n = row < most ? std::min(most / row * row, shape_->count - done) : std::min(most, row - done % row);
      for (int i = 0; i < operands_.count; i++) {
        source &s = source_[i];
        from[i] = s.how == source::gathered ? gathered(s, i, n) : s.at;
        s.at += s.how == source::in_place ? n * intptr_t(s.item) : 0;
      }
      if (loop_(to[0], from[0], from[1], from[2], size_t(n), to[1])) {
        return false;
      }
      to[0] += n * to_item[0];
      to[1] += n * to_item[1];
    }
    return true;
  }

  // The next elements of an operand, in the order of the result, one after another.
  const void *gathered(source &s, int i, intptr_t count) {
    const array_block &own = *operands_.block[i];
    const fetch_functions &fetch = isa().fetch(__builtin_ctzl(s.item));
    int last = rank_ - 1;
    char *to = scratch_[0][i];
    for (intptr_t left = count; left > 0;) {
      intptr_t n = std::min(left, size_[last] - s.index[last]);
      fetch.load_strided(to, s.at, s.stride[last], size_t(n));
      to += n * intptr_t(s.item);
      left -= n;
      s.at += n * s.stride[last];
      s.index[last] += n;
      for (int k = last; k > 0 && s.index[k] == size_[k]; k--) {
        s.at += s.stride[k - 1] - s.index[k] * s.stride[k];
        s.index[k] = 0;
        s.index[k - 1]++;
      }
    }
    scalar_id wanted = operand_type(op_, i, computation_);
    if (own.scalar() == wanted) {
      return scratch_[0][i];
    }
    isa().convert(wanted, own.scalar())(scratch_[1][i], scratch_[0][i], nullptr, nullptr, size_t(count), nullptr);
    return scratch_[1][i];
  }

  op_id op_;
  const operation &o_;
  const call_operands &operands_;
  const array_block *shape_ = nullptr;
  scalar_id computation_;
  batch_fn loop_;
  axis_order order_;
  int rank_;
  intptr_t size_[max_ndim];
  source source_[3];
  alignas(64) char scratch_[2][3][scratch_size]; // as it was, and in the type that is computed in
};

// Ragged operands of one type with the same rows, whose values follow each other: the content is one run for all.
bool try_same_rows(op_id op, const call_operands &operands, ref<array_block> *results) {
  const array_block &first = *operands.block[0];
  int nvar = first.type->var_count, last = first.ndim - 1;
  if (!first.has_scalars() || nvar != 1 || !first.is_var(last)) {
    return false;
  }
  offsets_run rows = rows_of(first, 0);
  if (!rows || size_t(rows.content()) * 8 > lazy_from) {
    return false;
  }
  const void *source[3] = {};
  for (int i = 0; i < operands.count; i++) {
    const array_block &own = *operands.block[i];
    if (own.type != first.type || !own.is_ready() || !std::equal(own.size(), own.size() + last, first.size()) ||
        own.value_strides()[last] != intptr_t(own.item_size())) {
      return false;
    }
    offsets_run run = rows_of(own, 0);
    if (!run || !same_row_lengths(rows, first.streams()[0].owner, run, own.streams()[0].owner)) {
      return false;
    }
    source[i] = own.values().address + run.first() * intptr_t(own.item_size());
  }
  batch_fn loop = isa().loop(op, first.scalar());
  if (!loop) {
    return false;
  }
  space shape;
  space_of(operands.block[0], shape);
  *results = new_result(shape, ndt::make_scalar(result_type(op, 0, first.scalar())));
  char *to = (*results)->values().address + rows.first() * (*results)->value_strides()[last];
  return loop(to, source[0], source[1], source[2], size_t(rows.content()), nullptr) == 0;
}

} // namespace

void direct_failure::raise(const char *name) const {
  if (status) {
    fail(kind_of(status), std::string(name) + ": " + (text[0] ? text : "failed"));
  }
}

bool try_direct(op_id op, const call_operands &operands, const settings &how, ref<array_block> *results) {
  array_block *const *block = operands.block;
  if (!may_be_direct(how) || block[0]->count > intptr_t(lazy_from / 8)) { // the largest operand has the result's size
    return false;
  }
  if (has_one_type[size_t(op)] && is_dense_and_ready(block[0]) && try_one_type(op, operands, results)) [[likely]] {
    return true;
  }
  if (block[0]->type->var_count) {
    return has_one_type[size_t(op)] && try_same_rows(op, operands, results);
  }
  return direct_call(op, operands).run(results);
}

bool try_direct(const external_function &f, const call_operands &operands, const settings &how,
                ref<array_block> *results, direct_failure &failure) {
  if (!f.leaf || !may_be_direct(how)) {
    return false;
  }
  const array_block *shape = nullptr;
  char *data[max_external_operands];
  intptr_t stride[max_external_operands];
  alignas(16) char number[max_external_sources][max_scalar_size]; // a single value of another type
  for (int i = 0; i < operands.count; i++) {
    const array_block *block = operands.block[i];
    int o = f.types.noutputs + i;
    if (!is_dense_and_ready(block) || (block->ndim > 0 && block->scalar() != f.types.type[o])) {
      return false;
    }
    if (block->ndim > 0 && shape && !same_shape(shape, block)) {
      return false;
    }
    shape = block->ndim > 0 ? block : shape;
    data[o] = block->values().address;
    stride[o] = block->ndim ? intptr_t(block->item_size()) : 0;
    if (block->scalar() != f.types.type[o]) {
      isa().convert(f.types.type[o], block->scalar())(number[i], data[o], nullptr, nullptr, 1, nullptr);
      data[o] = number[i];
    }
  }
  shape = shape ? shape : operands.block[0];
  size_t item = std::max<size_t>(scalar_size[size_t(f.types.type[0])], sizeof(double));
  bool large = size_t(shape->count) * item >= lazy_from;
  if (shape->count >= threads_from || (large && f.has(dynd_callable_pure | dynd_callable_total))) {
    return false; // pure and total: it may be lazy
  }
  for (int o = 0; o < f.types.noutputs; o++) {
    results[o] = new_dense(with_scalar(shape->type, f.types.type[o]), shape->size());
    data[o] = results[o]->values().address;
    stride[o] = scalar_size[size_t(f.types.type[o])];
  }
  if (shape->count == 0) {
    return true;
  }
  without_interpreter unlocked(shape->count > unlocked_from && !f.has(dynd_callable_python_lock));
  work_frame frame(f.leaf->scratch_size);
  auto *root = reinterpret_cast<const ckernel_prefix *>(f.leaf->data);
  failure.take(call_strided(root, data, stride, size_t(shape->count), &frame), frame);
  return failure.status == dynd_ok;
}

// For a claimed array over dense operands of its own size, in the type it computes in, with little work.
bool try_direct_compute(array_block *block, const settings &how) {
  const lazy_operation &op = *block->lazy;
  if (!(block->flags & flag_dense) || block->count > unlocked_from || op.external || !may_be_direct(how) ||
      operation_of(op.op).operand[0] >= value_rule::optional) {
    return false;
  }
  const void *source[3] = {};
  for (int i = 0; i < op.ninputs; i++) {
    array_block *input = op.input[i];
    // It broadcasts to the block: with as many elements nothing stretches.
    if (!is_dense_and_ready(input) || input->count != block->count ||
        input->scalar() != operand_type(op.op, i, op.computation)) {
      return false;
    }
    source[i] = input->values().address;
  }
  if (!block->values().owner) { // memory from an attempt that failed is used again
    give_values(block, size_t(block->count) * block->item_size());
  }
  isa().loop(op.op, op.computation)(block->values().address, source[0], source[1], source[2], size_t(block->count),
                                    nullptr);
  return true;
}

namespace {

// One number for every element of an array that is dense, or has one strided dimension.
bool try_direct_fill(array_block *dst, const array_block *src, error_mode mode) {
  constexpr size_t batch = 64, past_end = 128;
  bool dense = dst->flags & flag_dense;
  if (!dst->has_scalars() || !dst->is_ready() || (!dense && (dst->ndim != 1 || dst->type->var_count > 0))) {
    return false;
  }
  size_t count = size_t(dense ? dst->count : dst->size()[0]), item = dst->item_size();
  intptr_t stride = dense ? intptr_t(item) : dst->value_strides()[0];
  alignas(64) char values[batch * max_scalar_size + past_end], value[max_scalar_size];
  if (count >= threads_from || count * item > this_cpu().stream_from ||
      isa().convert_checked(mode, dst->scalar(), src->scalar())(value, src->values().address, nullptr, nullptr, 1,
                                                                nullptr) != 0) {
    return false;
  }
  const fetch_functions &fetch = isa().fetch(__builtin_ctzll(item));
  fetch.splat(values, value, std::min(count, batch));
  char *to = dst->values().address;
  without_interpreter unlocked(intptr_t(count) > unlocked_from);
  for (size_t done = 0; done < count; done += batch) {
    fetch.store_strided(to + intptr_t(done) * stride, stride, values, std::min(count - done, batch));
  }
  return true;
}

// The same elements, as w[i:j] += x assigns them to where they are.
bool is_itself(const array_block *dst, const array_block *src) {
  int ndim = dst->ndim;
  return dst->type == src->type && dst->has_scalars() && dst->type->var_count == 0 && src->is_ready() &&
         dst->values().address == src->values().address && std::equal(dst->size(), dst->size() + ndim, src->size()) &&
         std::equal(dst->value_strides(), dst->value_strides() + ndim, src->value_strides());
}

// A few elements with gaps between them, or backwards, on either side.
bool try_direct_strided(array_block *dst, const array_block *src) {
  constexpr size_t batch = 128, past_end = 128;
  const intptr_t size = dst->ndim == 1 ? dst->size()[0] : -1, item = intptr_t(dst->item_size());
  if (dst->ndim != 1 || src->ndim != 1 || size != src->size()[0] || size < 0 || dst->scalar() != src->scalar() ||
      size_t(size) * 8 > lazy_from || ((src->flags | dst->flags) & flag_numbers)) {
    return false;
  }
  char *to = dst->values().address;
  const char *from = src->values().address;
  const intptr_t step = dst->value_strides()[0], stride = src->value_strides()[0];
  if (size == 0 ||
      may_overlap(touched_bytes(to, {&size, 1}, &step, item), touched_bytes(from, {&size, 1}, &stride, item))) {
    return size == 0;
  }
  alignas(64) char values[batch * max_scalar_size + past_end];
  const fetch_functions &fetch = isa().fetch(__builtin_ctzll(size_t(item)));
  for (intptr_t done = 0; done < size; done += batch) {
    size_t n = std::min(batch, size_t(size - done));
    const char *ready = from + done * stride;
    if (stride != item) {
      fetch.load_strided(values, ready, stride, n);
      ready = values;
    }
    fetch.store_strided(to + done * step, step, ready, n);
  }
  return true;
}

} // namespace

// For one number, for a few in a row, and for dense arrays of the same sizes that do not overlap: too small for
// threads, within the cache.
bool try_direct_assign(array_block *dst, array_block *src, error_mode mode, const settings &how) {
  if (is_itself(dst, src) && may_be_direct(how)) {
    return true;
  }
  if (src->ndim == 0 && dst->ndim > 0 && is_dense_and_ready(src) && may_be_direct(how)) {
    return try_direct_fill(dst, src, mode);
  }
  bool gaps = !(src->flags & dst->flags & flag_dense) && src->is_ready() && dst->is_ready();
  if (gaps && src->has_scalars() && dst->has_scalars() && may_be_direct(how)) {
    return try_direct_strided(dst, src);
  }
  if (!is_dense_and_ready(dst) || !is_dense_and_ready(src) || dst->count >= threads_from || dst->ndim != src->ndim ||
      !std::equal(dst->size(), dst->size() + dst->ndim, src->size()) || !may_be_direct(how)) {
    return false;
  }
  char *to = dst->values().address;
  const char *from = src->values().address;
  size_t count = size_t(dst->count), to_bytes = count * dst->item_size(), from_bytes = count * src->item_size();
  const cpu_tuning &cpu = this_cpu();
  if ((to < from + from_bytes && from < to + to_bytes) ||
      to_bytes + from_bytes > std::min(cpu.prefetch_from, cpu.stream_from)) {
    return false;
  }
  without_interpreter unlocked(dst->count > unlocked_from);
  return isa().convert_checked(mode, dst->scalar(), src->scalar())(to, from, nullptr, nullptr, count, nullptr) == 0;
}

bool try_direct_number(char *to, scalar_id type, const array_block &value, error_mode mode, const settings &how) {
  return value.ndim == 0 && value.has_scalars() && value.is_ready() && may_be_direct(how) &&
         isa().convert_checked(mode, type, value.scalar())(to, value.values().address, nullptr, nullptr, 1, nullptr) ==
             0;
}

ref<array_block> try_direct_copy(array_block *src, access_mode access, ndt::type dtype, error_mode mode,
                                 const settings &how) {
  bool few = src->ndim == 1 && size_t(src->count) * 8 <= lazy_from && src->has_scalars(); // they may have gaps
  if (dtype->kind != type_kind::scalar || !src->is_ready() || src->type->var_count > 0 ||
      !(few || (src->flags & flag_dense)) || src->count >= threads_from) {
    return {};
  }
  ref<array_block> result = new_dense(with_scalar(src->type, dtype->scalar), src->size(), access);
  return try_direct_assign(result.get(), src, mode, how) ? std::move(result) : ref<array_block>();
}

} // namespace dynd

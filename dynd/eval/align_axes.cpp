#include "dynd/eval/align_axes.h"

#include <algorithm>
#include <cstring>

#include "dynd/eval/merge_axes.h"
#include "dynd/eval/work.h"

namespace dynd {

aligned_rows::aligned_rows(const char *name, array_block *operand, const axis_set &axes) : name_(name), axes_(axes) {
  broadcast_space(name, {operand}, operand_shape_);
  for (int d = 0; d < axes.ndim; d++) {
    bool var = operand_shape_.is_var(d);
    below_.push_back(
        {operand_shape_.size[d], var ? operand_shape_.slots[size_t(operand_shape_.slot_index[d])].run : offsets_run()});
    origin_ = var ? below_.back().run.first() : origin_ * operand_shape_.size[d];
  }
  offsets_.assign(size_t(axes.ndim - axes.count) + 1, {0});
  found_.reserve(size_t(std::max<intptr_t>(operand_shape_.count(), 0)));
  {
    without_interpreter unlocked;
    visit(0, {{0, 0}});
  }
  std::vector<std::vector<int64_t>> of_rows;
  for (int d = 0; d <= axes.ndim; d++) {
    if (d < axes.ndim && axes.has[d]) {
      continue;
    }
    int k = shape_.ndim++;
    bool outermost = k == 0; // one row: its length is a size
    shape_.size[k] = d == axes.ndim ? -1 : outermost ? offsets_[0].back() : operand_shape_.size[d];
    shape_.fixed[k] = d < axes.ndim && operand_shape_.fixed[d];
    if (shape_.is_var(k)) {
      shape_.slot_index[k] = int8_t(shape_.nvar++);
      of_rows.push_back(offsets_[size_t(k)]);
    }
  }
  make_slots(shape_, of_rows);
}

void aligned_rows::append(elements &to, const elements &from) {
  for (size_t begin = 0, n; begin < from.size(); begin += n) { // memory that is new takes its time
    n = std::min<size_t>(from.size() - begin, 16384);
    walk_.step(name_, n);
    to.insert(to.end(), from.begin() + ptrdiff_t(begin), from.begin() + ptrdiff_t(begin + n));
  }
}

// `found`: at one place of the axes that stay outside of `axis`, in C order of the reduced ones.
void aligned_rows::visit(int axis, const elements &found) {
  if (axis < axes_.ndim) {
    return axes_.has[axis] ? visit_reduced(axis, found) : visit_kept(axis, found);
  }
  append(found_, found);
  offsets_.back().push_back(int64_t(found_.size()));
}

void aligned_rows::visit_reduced(int axis, const elements &found) {
  size_t count = 0;
  for (const element &e : found) {
    walk_.step(name_);
    count += size_t(below_[size_t(axis)].length(e.place));
  }
  elements inside;
  inside.reserve(count);
  for (const element &e : found) {
    int64_t first = below_[size_t(axis)].first(e.place), length = below_[size_t(axis)].length(e.place);
    for (int64_t i = 0; i < length; i++) {
      walk_.step(name_);
      inside.push_back({first + i, int64_t(inside.size())});
    }
  }
  visit(axis + 1, inside);
}

void aligned_rows::visit_kept(int axis, const elements &found) {
  const axis_rows &rows = below_[size_t(axis)];
  int64_t longest = std::max<int64_t>(rows.size, 0);
  for (const element &e : found) {
    walk_.step(name_);
    longest = std::max(longest, rows.length(e.place));
  }
  auto kept = size_t(axis - std::count(axes_.has, axes_.has + axis, true));
  offsets_[kept].push_back(offsets_[kept].back() + longest);
  elements reaching, inside; // fewer and fewer
  reaching.reserve(found.size());
  append(reaching, found);
  inside.reserve(found.size());
  for (int64_t i = 0; i < longest; i++) {
    walk_.step(name_);
    std::erase_if(reaching, [&](const element &e) {
      walk_.step(name_);
      return rows.length(e.place) <= i;
    });
    inside.clear();
    for (const element &e : reaching) {
      walk_.step(name_);
      inside.push_back({rows.first(e.place) + i, e.position});
    }
    visit(axis + 1, inside);
  }
}

ref<array_block> aligned_rows::rows_of(array_block *block) const {
  ref<array_block> own = spread_copy(name_, block, operand_shape_);
  const type_data *dtype = own->type->dtype;
  ref<array_block> result = new_result(shape_, ndt::type(dtype));
  for (int s = 0; s < dtype->nstreams; s++) {
    const char *from = own->streams()[operand_shape_.nvar + s].address + origin_ * int64_t(stream_item(dtype, s));
    char *to = result->streams()[shape_.nvar + s].address;
    with_item(stream_item(dtype, s), [&](auto item) {
      in_pieces(name_, intptr_t(found_.size()), [&](intptr_t begin, intptr_t end) {
        for (auto i = size_t(begin); i < size_t(end); i++) {
          std::memcpy(to + i * item, from + size_t(found_[i].place) * item, item);
        }
      });
    });
  }
  return result;
}

void aligned_rows::restore_positions(array_block *positions) const {
  auto *value = reinterpret_cast<int64_t *>(positions->values().address);
  const std::vector<int64_t> &rows = offsets_.back();
  in_pieces(name_, intptr_t(rows.size()) - 1, [&](intptr_t begin, intptr_t end) {
    for (auto r = size_t(begin); r < size_t(end); r++) {
      bool there = uint64_t(value[r]) < uint64_t(rows[r + 1] - rows[r]); // else it is missing
      value[r] = there ? found_[size_t(rows[r] + value[r])].position : value[r];
    }
  });
}

} // namespace dynd

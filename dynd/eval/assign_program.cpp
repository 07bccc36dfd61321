#include "dynd/eval/assign_program.h"

namespace dynd {

namespace {

constexpr int most_values = 30; // numbers of one element; more take a kernel over elements

std::string index_of(const type_data *type, int i) {
  if (!type->fields[i].name) {
    return std::to_string(i);
  }
  std::string name = field_name_text(type->fields[i].name);
  return name[0] == '"' ? name : '"' + name + '"';
}

} // namespace

bool assignment_program::takes(const type_data *dst, const type_data *src) {
  element_kind to, from;
  if (!dst->nfields || !src->nfields) {
    return find_element_kind(dst, to) && find_element_kind(src, from) && ++nvalues_ <= most_values;
  }
  bool same = dst->nfields == src->nfields;
  for (int i = 0; i < dst->nfields && same; i++) {
    int other = partner_field(dst, src, i);
    same = other >= 0 && takes(dst->fields[i].type, src->fields[other].type);
  }
  return same;
}

void assignment_program::add_value(fused_task &fused, array_block *dst, const type_part &to,
                                   const value_registers &from, const std::string &path) {
  program &p = fused.t.p;
  element_kind kind;
  find_element_kind(to.type, kind);
  const char *field = path.empty() ? nullptr : paths_.emplace_front(path).c_str();
  int stream = to.stream;
  if (kind.option) {
    uint8_t valid = p.assigned(fused.valid_or_true(from), scalar_id::bool_, error_mode::nocheck);
    fused.add_output(valid, dst, stream++);
  } else if (from.valid != no_register) {
    p.require(from.valid, field);
  }
  uint8_t value = p.assigned(from.value, kind.scalar, mode_, from.valid, field);
  fused.add_output(kind.swapped ? p.swapped(value) : value, dst, stream);
}

void assignment_program::add_part(fused_task &fused, array_block *dst, const type_part &to, array_block *src,
                                  const type_part &from, const std::string &path) {
  for (int i = 0; i < to.type->nfields; i++) {
    std::string deeper = path + (path.empty() ? "" : ", ") + index_of(to.type, i);
    add_part(fused, dst, to.field(i), src, from.field(partner_field(to.type, from.type, i)), deeper);
  }
  if (to.type->nfields == 0) {
    add_value(fused, dst, to, fused.read(src, from), path);
  }
}

void assignment_program::add(fused_task &fused, array_block *dst, array_block *src) {
  add_part(fused, dst, {dst->type->dtype, dst->type->var_count, dst->ndim}, src,
           {src->type->dtype, src->type->var_count, src->ndim}, "");
}

void assignment_program::add(fused_task &fused, array_block *dst, const value_registers &src) {
  add_value(fused, dst, {dst->type->dtype, dst->type->var_count, dst->ndim}, src, "");
}

} // namespace dynd

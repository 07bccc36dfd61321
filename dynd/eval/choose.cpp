// where(condition, a, b) of elements that are no numbers, and gather_or_fill: the places of what is chosen, and a
// gather from both lists.
#include <algorithm>
#include <string>

#include "dynd/base/errors.h"
#include "dynd/eval/gather.h"
#include "dynd/eval/missing_rows.h"
#include "dynd/ops/logic.h"
#include "dynd/type/common.h"

namespace dynd {

namespace {

// All elements as a list, and in their shape the numbers that they have, from `first` on.
struct numbered_elements {
  nd::array list, numbers;

  numbered_elements(array_block *operand, ndt::type type, int64_t first) {
    bool same = operand->type->dtype == type.get();
    nd::array own(same ? ref<array_block>::share(operand) : copy_values(operand, access_mode::immutable, type));
    nd::array whole = compact(own, own.ndim() - 1);
    list = list_of(whole, whole.ndim() - 1);
    numbers = numbered("where", whole, whole.ndim(), first);
  }
};

} // namespace

ref<array_block> choose_elements(array_block *condition, array_block *a, array_block *b, const settings &how) {
  if (!is_mask(condition->type)) {
    fail(error_kind::type, std::string("where: the condition must be bool, not ") + condition->type->dtype->text);
  }
  ndt::type type(common_element(a->type->dtype, b->type->dtype));
  if (!type) {
    fail(error_kind::type, std::string("where: elements of type ") + a->type->dtype->text + " and " +
                               b->type->dtype->text + " have no type in common");
  }
  numbered_elements one(a, type, 0), other(b, type, one.list.size(0));
  nd::array places(apply(logic::chosen, {condition, one.numbers.get(), other.numbers.get()}, how));
  bool option = condition->type->dtype->kind == type_kind::option;
  if (option) { // a missing condition gives what is missing
    nd::array none = int64_t(-1);
    places = nd::array(apply(logic::filled, {places.get(), none.get()}, how));
  }
  places = compact(places, places.ndim() - 1);
  nd::array at = compact_copy(list_of(places, places.ndim() - 1));
  const nd::array lists[] = {one.list, other.list};
  const int64_t starts[] = {0, 0}, offsets[] = {0, one.list.size(0), one.list.size(0) + other.list.size(0)};
  const int32_t sources[] = {0, 1};
  nd::array both = gather("where", lists, {starts, offsets, 2, sources});
  list_places taken = {values_of<int64_t>(at), nullptr, at.size(0)};
  nd::array chosen = option ? gather_or_missing("where", both, taken) : gather("where", both, taken);
  nd::array result = assemble(places, places.ndim(), {}, chosen);
  return ref<array_block>::share(result.get());
}

nd::array gather_or_fill(const char *name, const nd::array &list, const list_places &places, const nd::array &fill) {
  nd::array lists[] = {list, list_of(fill, -1)};
  place_buffer start(places.count), which((places.count + 1) / 2);
  auto *source = reinterpret_cast<int32_t *>(which.fill());
  in_pieces(name, places.count, [&](intptr_t begin, intptr_t end) {
    for (intptr_t i = begin; i < end; i++) {
      source[i] = places.start[i] < 0;
      start.fill()[i] = std::max<int64_t>(places.start[i], 0);
    }
  });
  return gather(name, lists, {start.data(), nullptr, places.count, source});
}

} // namespace dynd

// Every allocation fails in turn, of assignment and comparison of every kind of type, and of every kind inside of every
// other. A kind that is added later is here as soon as it can be made.
#include <algorithm>
#include <stdexcept>

#include "dynd/array/layout.h"
#include "dynd/call/functions.h"
#include "dynd/eval/evaluate.h"
#include "dynd/eval/frame.h"
#include "dynd/kernel/compare.h"
#include "eval/allocation_scenarios.h"

namespace dynd::testing {
namespace {

/// A type of that kind, over `element` where it is over something.
ndt::type type_of_kind(type_kind kind, ndt::type element) {
  const std::string names[] = {"x", "y"};
  const ndt::type fields[] = {element, ndt::make_string()};
  switch (kind) {
  case type_kind::scalar:
    return ndt::make_scalar(scalar_id::int32);
  case type_kind::string:
    return ndt::make_string();
  case type_kind::bytes:
    return ndt::make_bytes();
  case type_kind::fixed_string:
    return ndt::make_fixed_string(3);
  case type_kind::fixed_bytes:
    return ndt::make_fixed_bytes(2);
  case type_kind::option:
    return ndt::make_option(element);
  case type_kind::tuple:
    return ndt::make_tuple(fields);
  case type_kind::struct_:
    return ndt::make_struct(names, fields);
  case type_kind::pointer:
    return ndt::make_pointer(element);
  case type_kind::byteswap:
    return ndt::make_byteswap(ndt::make_scalar(scalar_id::int32));
  case type_kind::fixed_dim:
    return ndt::make_fixed_dim(2, element);
  case type_kind::strided_dim:
    return ndt::make_strided_dim(element);
  case type_kind::var_dim:
    return ndt::make_var_dim(element);
  case type_kind::variable:
  case type_kind::family:
  case type_kind::function:
  case type_kind::nothing:
  case type_kind::any_fixed_dim:
  case type_kind::dim_variable:
  case type_kind::ellipsis:
    fail(error_kind::type, "no array has it");
  }
  throw std::runtime_error("a new kind of type: say here how it is made and what its values look like");
}

/// Values as `parse` reads them: numbers and texts that count, now and then a missing value, rows of several lengths.
std::string values_of(const type_data *type, int &next) {
  switch (type->kind) {
  case type_kind::scalar:
  case type_kind::byteswap:
    return std::to_string(next++);
  case type_kind::string:
  case type_kind::bytes:
  case type_kind::fixed_string:
    return "\"" + std::to_string(next++) + "\"";
  case type_kind::fixed_bytes:
    return "\"" + std::to_string(10 + next++) + "\"";
  case type_kind::option:
    return next % 3 == 1 ? (next++, "null") : values_of(type->element, next);
  case type_kind::tuple:
  case type_kind::struct_: {
    bool named = type->kind == type_kind::struct_;
    std::string text = named ? "{" : "(";
    for (int i = 0; i < type->nfields; i++) {
      text += (i ? ", " : "") + (named ? type->fields[i].name + std::string(": ") : "") +
              values_of(type->fields[i].type, next);
    }
    return text + (named ? "}" : ")");
  }
  case type_kind::pointer:
    return values_of(type->element, next);
  case type_kind::fixed_dim:
  case type_kind::strided_dim:
  case type_kind::var_dim: {
    int length = type->kind == type_kind::var_dim ? next++ % 3 : 2;
    std::string text = "[";
    for (int i = 0; i < length; i++) {
      text += (i ? ", " : "") + values_of(type->element, next);
    }
    return text + "]";
  }
  default:
    throw std::runtime_error("a new kind of type");
  }
}

/// Of every kind, and of every kind over every kind.
struct kinds_of_types {
  std::vector<ndt::type> plain, nested;

  kinds_of_types() {
    for (int kind = 0; kind < type_kind_count; kind++) {
      add(plain, type_kind(kind), ndt::make_scalar(scalar_id::int16));
    }
    for (int kind = 0; kind < type_kind_count; kind++) {
      for (ndt::type element : plain) {
        add(nested, type_kind(kind), element);
      }
    }
  }

private:
  void add(std::vector<ndt::type> &to, type_kind kind, ndt::type element) {
    try {
      ndt::type type = type_of_kind(kind, element);
      for (const std::vector<ndt::type> *list : {&plain, &nested}) {
        if (std::find(list->begin(), list->end(), type) != list->end()) {
          return;
        }
      }
      to.push_back(type);
    } catch (const error &) { // there is no such type, as ??T
    }
  }
};

operand three_of(ndt::type element, access_mode access = access_mode::immutable) {
  int next = 0;
  std::string values = "[";
  for (int i = 0; i < 3; i++) {
    values += (i ? ", " : "") + values_of(element.get(), next);
  }
  return {"3 * " + std::string(element.str()), values + "]", access};
}

/// Every plain kind with every other; a nested one with itself and with one plain kind after the other.
template <class F> void for_each_pair_of_types(F f) {
  kinds_of_types kinds;
  for (ndt::type a : kinds.plain) {
    for (ndt::type b : kinds.plain) {
      f(a, b);
    }
  }
  for (size_t i = 0; i < kinds.nested.size(); i++) {
    ndt::type other = kinds.plain[i % kinds.plain.size()];
    f(kinds.nested[i], kinds.nested[i]);
    f(kinds.nested[i], other);
    f(other, kinds.nested[i]);
  }
}

// Those that have no assignment too: a new array, and one that is there.
TEST(AllocationFailure, AssignmentOfEveryKindOfType) {
  for_each_pair_of_types([&](ndt::type to, ndt::type from) {
    ndt::type type("3 * " + std::string(to.str()));
    std::string name = std::string(from.str()) + " to " + std::string(to.str());
    auto converts = [&](const arrays &x) {
      return result{nd::array(convert_values(x[0].get(), access_mode::immutable, type))};
    };
    expect_to_survive({name, any, {three_of(from)}, converts, to != from});
    auto assigns = [&](const arrays &x) { return result{assigned(x[0], x[1])}; };
    expect_to_survive({name + ", there already", any, {three_of(to, writable), three_of(from)}, assigns, to != from});
  });
}

/// Whether the first element comes before the second one when they are sorted.
nd::array first_two_ordered(const nd::array &a) {
  arrmeta_of meta(*a.get());
  kernel_operand left = {type_part{a->type}.element(), meta.get(), 1}, right = left;
  right.first = 1 + a->nstreams;
  ckernel_builder kernel;
  kernel_operand result = {{ndt::make_scalar(scalar_id::bool_).get()}, nullptr, 0};
  make_comparison_kernel(kernel, 0, result, left, right, comparison::order);
  char first = 0, *stream[1 + 2 * max_type_streams] = {&first};
  for (int s = 0; s < a->nstreams; s++) {
    stream[1 + s] = a->streams()[s].address;
    stream[1 + a->nstreams + s] = stream[1 + s] + a->strides(s)[0];
  }
  work_frame frame(kernel.scratch_size);
  call_strided(kernel.root(), stream, no_stride, 1, &frame);
  return nd::array(first == 1);
}

TEST(AllocationFailure, ComparisonOfEveryKindOfType) {
  for_each_pair_of_types([&](ndt::type left, ndt::type right) {
    for (size_t op = 0; op < op_count && !HasFatalFailure(); op++) {
      if (!operation_of(op_id(op)).compares) {
        continue;
      }
      auto compares = [&](const arrays &x) {
        array_block *blocks[] = {x[0].get(), x[1].get()};
        return result{nd::array(evaluate(op_id(op), {blocks, 2}))};
      };
      std::string name =
          operation_of(op_id(op)).name + std::string(", ") + left.str().data() + " and " + right.str().data();
      expect_to_survive({name, any, {three_of(left), three_of(right)}, compares, left != right});
    }
    if (left == right) {
      auto orders = [](const arrays &x) { return result{first_two_ordered(x[0])}; };
      expect_to_survive({"order of " + std::string(left.str()), any, {three_of(left)}, orders});
    }
  });
}

} // namespace
} // namespace dynd::testing

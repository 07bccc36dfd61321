// Lifting: a deferred kernel on scalars applies to arrays of any dimensions.
#include <string>
#include <vector>

#include "dynd/base/errors.h"
#include "dynd/call/functions.h"

namespace dynd::nd {

namespace {

// "(int32, float64) -> int32": result first, then the operands. Scalars only; arrays are what lifting adds.
std::vector<scalar_id> parse_signature(const deferred_ckernel &kernel) {
  std::string_view text = kernel.signature;
  auto wrong = [&](const char *why) {
    fail(error_kind::type, std::string(kernel.name) + ": signature \"" + kernel.signature + "\" " + why);
  };
  size_t open = text.find('('), close = text.find(')'), arrow = text.find("->");
  if (open == text.npos || close == text.npos || arrow == text.npos || open > close || close > arrow) {
    wrong("is not of the form (T, ...) -> R");
  }
  auto scalar = [&](std::string_view part) {
    ndt::type type(part);
    if (type->kind != type_kind::scalar) {
      wrong("has an operand that is no scalar");
    }
    return type->scalar;
  };
  std::vector<scalar_id> types = {scalar(text.substr(arrow + 2))};
  std::string_view operands = text.substr(open + 1, close - open - 1);
  while (operands.find_first_not_of(" \t") != operands.npos) {
    size_t comma = operands.find(',');
    types.push_back(scalar(operands.substr(0, comma)));
    operands = comma == operands.npos ? std::string_view() : operands.substr(comma + 1);
  }
  return types;
}

} // namespace

array call(const deferred_ckernel &kernel, std::span<const array> operands) {
  if (kernel.size < sizeof(deferred_ckernel) || kernel.version != DYND_ABI_VERSION) {
    fail(error_kind::type, "call: the deferred kernel was made for another version of the ABI");
  }
  if (kernel.prototype != unary_operation_funcproto_id && kernel.prototype != expr_operation_funcproto_id) {
    fail(error_kind::type, std::string(kernel.name) + ": only unary and expr kernels can be lifted");
  }
  std::vector<scalar_id> types = parse_signature(kernel);
  if (operands.size() + 1 != types.size() || operands.size() > 3 || operands.empty()) {
    fail(error_kind::type, std::string(kernel.name) + ": takes " + std::to_string(types.size() - 1) +
                               " operands (at most 3), not " + std::to_string(operands.size()));
  }
  array_block *blocks[3];
  for (size_t i = 0; i < operands.size(); i++) {
    blocks[i] = operands[i].get();
    if (!is_widening(blocks[i]->scalar(), types[i + 1])) {
      fail(error_kind::type, std::string(kernel.name) + ": operand " + std::to_string(i) + " is " +
                                 scalar_name[size_t(blocks[i]->scalar())] + ", which does not convert to " +
                                 scalar_name[size_t(types[i + 1])] + " without loss");
    }
  }
  return array(evaluate(&kernel, types.data(), {blocks, int(operands.size())}));
}

} // namespace dynd::nd

#include "dynd/base/errors.h"

namespace dynd {

void fail(error_kind kind, std::string text) { throw error(kind, std::move(text)); }

} // namespace dynd

// The keywords of a call, as a kernel gets them: numbers of the types that its signature says, and texts.
#pragma once

#include <memory>
#include <span>

#include "dynd/call/resolve.h"

namespace dynd::nd {

/// All that the signature has, given or by default. A type error where one is not known, is missing without a default,
/// or is no value of its type.
std::shared_ptr<const keyword_values> read_keywords(const overload &o, std::span<const keyword> given);

} // namespace dynd::nd

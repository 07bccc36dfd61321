// Structs of the elements of several lists. Private to dynd/call/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynd/array/array.h"
#include "dynd/call/choices.h"
#include "dynd/eval/nested.h"
#include "dynd/eval/settings.h"

namespace dynd::nd {

/// A list of structs whose fields are the elements of lists of one length; without names, of tuples. A view.
array zip_lists(std::span<const std::string> names, std::span<const array> lists);

/// Structs of that many fields (or without names, tuples), in the shape of the choices' numbers. Large ones are lazy: a
/// field of them is computed without the others, and if it is made of numbers in one pass with what is computed from
/// it.
array choose_records(const char *name, std::span<const std::string> names, std::span<const record_field> fields,
                     const ref<choices> &which, const array &numbers, const settings &how);

} // namespace dynd::nd

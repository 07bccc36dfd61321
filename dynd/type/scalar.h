// The scalar ids and what is known of each at compile time. Plain enough to be included by the units that are compiled
// once for each CPU level: no inline function that could end up shared between levels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynd {

enum class scalar_id : uint8_t {
#define DYND_SCALAR(id, name, ctype) id,
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

inline constexpr size_t scalar_count = 0
#define DYND_SCALAR(id, name, ctype) +1
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
    ;

inline constexpr uint8_t scalar_size[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) sizeof(ctype),
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

inline constexpr const char *scalar_name[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) name,
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

} // namespace dynd

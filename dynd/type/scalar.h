// The scalar ids and what is known of each at compile time. Plain enough to be included by the units that are compiled
// once for each ISA level: no inline function that could end up shared between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dynd {

/// The storage of a float16, IEEE's binary16. Nothing computes in it: operations convert to float32 and round once.
struct float16 {
  uint16_t bits;
};

/// A complex number as in C, C++ and NumPy: the real component first.
template <class T> struct complex_of { T real, imag; };

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

inline constexpr size_t max_scalar_size = 16;

enum class number_kind : uint8_t { boolean, unsigned_integer, signed_integer, floating, complex };

/// Asked of the type itself, so that a new entry in scalars.def needs no second list.
template <class T>
inline constexpr number_kind kind_of_storage = T(0.5) != T(0) ? number_kind::floating
                                               : T(-1) < T(0) ? number_kind::signed_integer
                                                              : number_kind::unsigned_integer;
template <> inline constexpr number_kind kind_of_storage<float16> = number_kind::floating;
template <class T> inline constexpr number_kind kind_of_storage<complex_of<T>> = number_kind::complex;

inline constexpr number_kind scalar_kind[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) scalar_id::id == scalar_id::bool_ ? number_kind::boolean : kind_of_storage<ctype>,
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

inline constexpr const char *scalar_name[scalar_count] = {
#define DYND_SCALAR(id, name, ctype) name,
#include "dynd/type/scalars.def"
#undef DYND_SCALAR
};

} // namespace dynd

// Promotion: the rule is written once, over kinds and sizes, and made into a table at compile time. A new scalar type
// in scalars.def enters by itself.
#include <algorithm>
#include <array>

#include "dynd/type/type.h"

namespace dynd {
namespace {

constexpr number_kind kind_of(scalar_id id) { return scalar_kind[size_t(id)]; }
constexpr int size_of(scalar_id id) { return scalar_size[size_t(id)]; }

/// The smallest type of this kind with at least `size` bytes; float64 where there is none.
constexpr scalar_id smallest(number_kind kind, int size) {
  scalar_id best = scalar_id::float64;
  bool found = false;
  for (size_t i = 0; i < scalar_count; ++i) {
    if (scalar_kind[i] == kind && scalar_size[i] >= size && (!found || scalar_size[i] < size_of(best))) {
      best = scalar_id(i);
      found = true;
    }
  }
  return best;
}

/// As it is for a floating type. For an integer, twice its size holds every value in the mantissa (a float16 has 11
/// bits, for 8, a float32 24, for 16); there is none for 64 bits, and float64 must do. For a complex type, that of its
/// components.
constexpr scalar_id as_floating(scalar_id id) {
  if (kind_of(id) == number_kind::complex)
    return smallest(number_kind::floating, size_of(id) / 2);
  return kind_of(id) == number_kind::floating ? id : smallest(number_kind::floating, 2 * size_of(id));
}

constexpr scalar_id larger(scalar_id a, scalar_id b) { return size_of(a) >= size_of(b) ? a : b; }

/// The complex type whose components have at least this floating type's size.
constexpr scalar_id as_complex(scalar_id floating) { return smallest(number_kind::complex, 2 * size_of(floating)); }

constexpr scalar_id promote_rule(scalar_id a, scalar_id b) {
  if (kind_of(a) == number_kind::boolean)
    return b;
  if (kind_of(b) == number_kind::boolean)
    return a;
  if (kind_of(a) == kind_of(b))
    return larger(a, b);
  if (kind_of(a) == number_kind::complex || kind_of(b) == number_kind::complex)
    return as_complex(larger(as_floating(a), as_floating(b)));
  if (kind_of(a) == number_kind::floating || kind_of(b) == number_kind::floating)
    return larger(as_floating(a), as_floating(b));
  scalar_id signed_id = kind_of(a) == number_kind::signed_integer ? a : b;
  scalar_id unsigned_id = signed_id == a ? b : a;
  return smallest(number_kind::signed_integer, std::max(size_of(signed_id), 2 * size_of(unsigned_id)));
}

constexpr auto promotion_table = [] {
  std::array<std::array<scalar_id, scalar_count>, scalar_count> table{};
  for (size_t a = 0; a < scalar_count; ++a)
    for (size_t b = 0; b < scalar_count; ++b)
      table[a][b] = promote_rule(scalar_id(a), scalar_id(b));
  return table;
}();

} // namespace

scalar_id promote(scalar_id a, scalar_id b) { return promotion_table[size_t(a)][size_t(b)]; }

bool is_integer(scalar_id id) {
  return kind_of(id) == number_kind::signed_integer || kind_of(id) == number_kind::unsigned_integer;
}

bool is_signed_integer(scalar_id id) { return kind_of(id) == number_kind::signed_integer; }

bool is_floating(scalar_id id) { return kind_of(id) == number_kind::floating; }

bool is_complex(scalar_id id) { return kind_of(id) == number_kind::complex; }

scalar_id real_type(scalar_id id) { return is_complex(id) ? as_floating(id) : id; }

scalar_id complex_type(scalar_id id) { return is_complex(id) ? id : as_complex(as_floating(id)); }

bool is_widening(scalar_id from, scalar_id to) {
  // Promotion to `to` itself loses nothing but, to a floating type, precision.
  bool every_range = (is_floating(to) && to != scalar_id::float16) || is_complex(to);
  return promote(from, to) == to || (is_integer(from) && every_range);
}

} // namespace dynd

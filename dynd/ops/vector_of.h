// The compiler's vectors, and how wide a register of the ISA level is. Private to the units that are compiled once for
// each ISA level.
#pragma once

#include <cstddef>

namespace dynd {
namespace {

#if defined(__AVX512F__)
constexpr size_t vector_bytes = 64;
#elif defined(__AVX2__)
constexpr size_t vector_bytes = 32;
#else
constexpr size_t vector_bytes = 16;
#endif

template <class T, size_t Bytes> struct vector_of { typedef T type __attribute__((vector_size(Bytes))); };

} // namespace
} // namespace dynd

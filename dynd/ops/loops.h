// The types of the compiled loops, and the tables in which the units of one ISA level show them.
//
// The loops are the only functions that touch array elements in bulk. They see contiguous batches: what is strided,
// ragged or of another type is brought into scratch by the fetch functions first. The units hold nothing but static
// functions: an inline function compiled for AVX-512 that the linker keeps for all units would crash elsewhere. So
// there is none in this header. Results are bitwise the same at every ISA level: no contraction, the same order of
// summation. (Which NaN an operation on two of them gives is not part of that.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynd/type/error_mode.h"
#include "dynd/type/scalar.h"
#include "dynd/type/slots.h"

namespace dynd {

/// dst[i] = op(a[i], b[i], c[i]) for n contiguous elements; dst2 is the second output of operations that have one.
/// Unused arguments are null. dst may be exactly a, b or c; other overlap is not allowed. Pointers need no alignment.
/// Returns 0, or 1 where some element failed (the results are then unspecified). All arguments travel in registers.
using batch_fn = uint32_t (*)(void *dst, const void *a, const void *b, const void *c, size_t n, void *dst2);

/// How far ahead rows that are read from memory one after another are prefetched, in bytes.
inline constexpr intptr_t row_prefetch_distance = 2048;

struct strip_window;
struct tree_window;

/// Sums of many rows side by side, each with its own part of the pairwise tree.
struct tree_functions {
  void (*window)(const tree_window &window); ///< 64 columns
  void (*tails)(const tree_window window);   ///< what each row leaves open, from the last 64 columns: for the next row
  void (*rest)(const tree_window window);    ///< the columns after the last window
  void (*join)(const tree_window window);    ///< the nodes that are in two rows, to top(0)
};

/// Sums of few rows or columns that are read as they are in memory, by how many these are; null: there is no such loop.
/// Blocks and lanes are those of reduce_functions; `blocks` of a node are a power of two up to 8.
struct few_functions {
  static constexpr size_t most = 4;
  /// A node of each column, of whole blocks; the rows follow each other. The columns of lane 0 come first, then those
  /// of lane 1 ...: 64 bytes for each column.
  void (*columns[most + 1])(char *lanes, const char *x, size_t blocks);
  /// Rows side by side: element i of all, then element i + 1 of all. The lanes of block b of row r go to slot (first +
  /// b) % 8 of the row, row_bytes later for each.
  void (*rows[most + 1])(char *slots, size_t row_bytes, size_t first, const char *x, size_t blocks);
  /// Rows folded element by element, `vectors` of 64 bytes.
  void (*fold[2 * most + 1])(char *dst, const char *const *rows, size_t vectors);
  /// A node of the logical row that goes over all columns, row after row; each column is contiguous, `stride` bytes
  /// from the one before.
  void (*turned[most + 1])(char *lanes, const char *x, intptr_t stride, size_t blocks);
};

/// Lanes of columns side by side: lane l of column j is at `at` + l * stride + j * itemsize; a lane is whole vectors of
/// 64 bytes. With their last elements they join those of `joins` nodes before, `level` bytes apart: the last one first,
/// and where the first one is, the result is.
struct column_lanes {
  char *at;
  intptr_t stride;
  size_t count;
  size_t joins;
  intptr_t level;
};

/// The elements of one logical row go to lanes: with L = 64 / sizeof(T) lanes and blocks of 64 elements, element i goes
/// to lane i mod L of block i / 64; a lane adds its elements in rising i, starting with the first; lanes without an
/// element hold the identity. Blocks combine lane by lane, pairwise: push each block's lanes on a stack and, as in a
/// binary counter, combine the two topmost as long as they have equally many blocks; at the end combine from the
/// top down, acc = combine(lower, acc). Then the lanes fold by halves: lane j with lane j + L/2, and so on to lane 0.
/// This order is the contract (docs/decisions/0004): every way to reduce gives bitwise the same.
struct reduce_functions {
  /// lanes (64 bytes) of one block of n <= 64 contiguous elements
  void (*block)(void *lanes, const void *x, size_t n);
  /// dst = combine(a, b), lane by lane, for `vectors` vectors of 64 bytes; dst may be a
  void (*combine)(void *dst, const void *a, const void *b, size_t vectors);
  /// *dst = the folded lanes
  void (*fold)(void *dst, const void *lanes);
  /// lanes of a whole row of n >= 1 contiguous elements (blocks and stack)
  void (*lanes)(void *lanes, const void *x, size_t n);
  /// Segmented: the element r of dst (at r * dst_stride bytes) is the reduced row x[offsets[r] .. offsets[r + 1]) for r
  /// < rows; `x` is where offset 0 points. Returns 1 where some row is empty; such a row gets the identity (a sum: +0,
  /// an index: 0).
  /// Prefetches what is `ahead` bytes from the rows it reads.
  uint32_t (*rows)(char *dst, intptr_t dst_stride, const void *x, const int64_t *offsets, size_t rows, intptr_t ahead);
  /// The same for rows >= 1 rows of one length >= 1, `stride` bytes apart.
  void (*rows_fixed)(char *dst, intptr_t dst_stride, const void *x, intptr_t stride, size_t length, size_t rows);
  /// Columns side by side: element i of column j, at x + i * stride + j * itemsize, joins lane (first + i) % count of
  /// the column, and is its first element where first + i < count. `in_cache` says where x is.
  void (*columns)(const column_lanes &lanes, const char *x, intptr_t stride, size_t first, size_t rows, size_t width,
                  bool in_cache);
  /// Whether the result depends on the order of the elements: sums of floating-point numbers do.
  bool in_order;
  /// The result is the position of an element within its row, an int64. The 64 bytes of lanes are then the element, its
  /// position and the number of elements so far; of columns there are two lanes, the elements and their positions.
  bool index;

  // What is reduced instead of elements, computed of two operands in the same loop. Null where there are no such loops.

  /// x[i] * y[i]
  struct {
    void (*lanes)(void *lanes, const void *x, const void *y, size_t n);
    uint32_t (*rows)(char *dst, intptr_t dst_stride, const void *x, const void *y, const int64_t *offsets, size_t rows,
                     intptr_t ahead);
    void (*rows_fixed)(char *dst, intptr_t dst_stride, const void *x, intptr_t stride, const void *y,
                       intptr_t other_stride, size_t length, size_t rows);
    void (*columns)(const column_lanes &lanes, const char *x, intptr_t stride, const char *y, intptr_t other_stride,
                    size_t first, size_t rows, size_t width);
  } products = {};
  /// x[i] where the byte valid[i] is true, else what no elements give. Of sums, where y is not null: its product with
  /// y[i].
  struct {
    void (*lanes)(void *lanes, const void *x, const void *y, const void *valid, size_t n);
    uint32_t (*rows)(char *dst, intptr_t dst_stride, const void *x, const void *y, const void *valid,
                     const int64_t *offsets, size_t rows, intptr_t ahead);
  } valid = {};
  /// (x[i] - about)^2; `about` is one value, of rows one for each. Rows go to dst one after another.
  struct {
    void (*lanes)(void *lanes, const void *x, const void *about, size_t n);
    void (*rows)(void *dst, const void *x, const void *about, const int64_t *offsets, size_t rows);
  } squares = {};
  /// Rows side by side. `node`: the lanes of 1, 2, 4 or 8 blocks, which are at slots first, first + 1 ... modulo 8.
  struct {
    void (*window)(const strip_window &window);
    void (*node)(void *lanes, const char *slots, size_t first, size_t blocks);
  } strips = {};
  tree_functions trees = {};
  few_functions few = {};
  /// The element that is the result wherever it occurs, whatever the others are: of bools 0 or 1. -1: there is none.
  int8_t decided_by = -1;
};

/// The rows of a window are at most so many, usually no more than window_rows; a line has a number for each (not all
/// lines begin in the same sets of a cache). The lanes of so many blocks of each row are stored side by side.
inline constexpr size_t window_rows = 512, most_window_rows = 768, window_line = 784, window_slots = 8;

/// Up to 64 columns of some rows whose elements are side by side, while each is its own part of one logical row. The
/// number of a column within the window, modulo the lanes, is its position: the elements of one position of a row are
/// in one lane. The row's offset o, the place of its column 0 within a block, differs by row, so blocks end at other
/// columns in other rows, but with 64 columns each row comes to the end of one block in each position:
///
///   8 lanes, position 2 of the columns 2, 10, 18 .. 58: a row of offset 0 adds them all, a row of offset 20 has its
///   phase (20 + 2) / 8 = 2: the first 6 finish the block that is open, the last 2 begin the next
///
/// Of each position there is a line with a number for each row: its phase, what is open before and after the window,
/// and, as many lines later, the block that was finished. A block whose end is the window's end is finished (phase 0);
/// one that begins at its begin was open before (phase 64 / lanes).
struct strip_window {
  const char *first;            ///< of row 0; that of row r is r items later
  intptr_t stride;              ///< from column to column
  const char *const *addresses; ///< of all columns, where they are not equally far from each other; else null
  const char *next;             ///< the first column of the next window, to be prefetched
  size_t columns, rows;         ///< at least 16 bytes of rows; columns below 64 are the last ones of the rows
  size_t unit;                  ///< what all offsets are multiples of: 64, 32 or 1
  const char *before, *phase, *identity;
  char *after;
};

/// Some columns of many rows whose elements are side by side, while each row is its own part of one logical row. Their
/// length is a multiple of the lanes, so a column is of one lane in all rows. There are numbers for each lane and row,
/// those of one lane after those of another: `count` of them, whose columns are at `x` and as many lanes later.
///
/// In 64 columns (a window) each row comes to the end of one block, so in 2^k windows to the end of one node of level
/// k. What is a left half in one row is a right half in another. A row whose first block, number first / 64, has the
/// bit k is a step *ahead* at that level: it joins its nodes 2u - 1 and 2u, any other row 2u and 2u + 1. So of each
/// level one number waits, and where it is joined is chosen by a mask that is the same in all windows:
///
///   rows of 4000: row 1 begins in block 62, and joins 62 + 63, 64 + 65; row 2 in 125, a step ahead: 125 has its left
///   half in row 1 and is kept (a head), then come 126 + 127, 128 + 129
struct tree_window {
  const char *x;
  intptr_t jump; ///< from column to column of one lane
  size_t count;
  const int32_t *first; ///< the number of the row's first element, modulo 64 << levels
  char *open;           ///< the block that has begun
  size_t pitch;         ///< bytes from here to the numbers that follow
  size_t column;        ///< of x, in the row
  size_t length, unit;  ///< of rows; what all `first` are multiples of: 64, 32 or any
  int levels;           ///< nodes of this level are not joined: 2^levels blocks are in each row

  char *wait(int k) const { return open + size_t(1 + 2 * k) * pitch; }
  char *head(int k) const { return open + size_t(2 + 2 * k) * pitch; }
  /// Node u of the level above.
  char *top(size_t u) const { return open + (1 + 2 * size_t(levels) + u) * pitch; }
};

/// The elements begin .. end of a ragged result's content, and the rows they are in: row r is offsets[r] .. offsets[r +
/// 1], for r < rows. begin is in row 0 (or where it ends), end at most where the last row ends.
struct row_window {
  const int64_t *offsets;
  size_t rows; ///< at least 1
  int64_t begin, end;
  /// Where the next window of two other operands is, if that is in memory rather than in a cache: `repeat` prefetches
  /// it as it goes, as many bytes as it writes itself.
  const char *ahead[2] = {nullptr, nullptr};
};

/// The running values of elements: that of the first is itself, that of any other combines the one before with it. dst
/// and x do not overlap.
struct scan_functions {
  /// n >= 1 contiguous elements of one row; `before`, if it is not null, is the running value before them.
  void (*row)(void *dst, const void *x, size_t n, const void *before);
  /// Rows of one length >= 1.
  void (*rows_fixed)(char *dst, intptr_t dst_stride, const char *x, intptr_t stride, size_t length, size_t rows);
  /// The elements of a window of ragged rows, whose first is at dst and x; `before` is for a row that begins before the
  /// window. Returns how many rows end in it.
  size_t (*rows)(void *dst, const void *x, const row_window &window, const void *before);
  /// `width` columns, at most most_columns, line by line; with `begun`, after the line of dst before the first.
  static constexpr size_t most_columns = 16;
  void (*columns)(char *dst, intptr_t dst_stride, const char *x, intptr_t stride, size_t width, size_t lines,
                  bool begun);
  /// *dst = what changes nothing that it is combined with; and the value of no elements: the same, but for -0.0 +0.0.
  void (*identity)(void *dst);
  void (*initial)(void *dst);
};

/// How a batch of an operand is brought into scratch. By item size; scratch may be written up to 128 bytes past the
/// end, array memory never is, and is never read past an element.
struct fetch_functions {
  void (*splat)(char *dst, const char *value, size_t n);
  void (*load_strided)(char *dst, const char *src, intptr_t stride, size_t n);
  void (*store_strided)(char *dst, intptr_t stride, const char *src, size_t n); ///< src is scratch, dst array memory
  /// Every element of the window is its row's value (row r's is at src + r * stride). Returns the row where the next
  /// window begins: how many rows end in this one.
  size_t (*repeat)(char *dst, const char *src, intptr_t stride, const row_window &window);
  void (*repeat_fixed)(char *dst, const char *src, intptr_t stride, size_t length, size_t rows);
  /// Rows from elsewhere: row r's slot is at slots + r * slot_stride, its elements from content + start * start_unit
  /// on, content_stride apart (both of any size and sign); a source row of 1 element stretches. Returns as `repeat`
  /// does.
  size_t (*gather)(char *dst, const row_window &window, const char *content, intptr_t content_stride,
                   intptr_t start_unit, const char *slots, intptr_t slot_stride, slot_kind kind);
  /// dst row i (i < rows, at dst + i * dst_stride) is contiguous in j < columns; source element (i, j) is at
  /// src + i * itemsize + j * src_stride.
  void (*transpose)(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t rows, size_t columns);
  /// The same into array memory, whole lines with streaming stores where dst allows it (sfence as below). The source's
  /// lines are read one after another along the rows.
  void (*transpose_stream)(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t rows,
                           size_t columns);
};

/// The operands of a comparison that would be rounded in a common type.
enum class mixed_pair : uint8_t {
  int64_uint64,
  uint64_int64,
  int64_float64,
  float64_int64,
  uint64_float64,
  float64_uint64
};
inline constexpr size_t mixed_pair_count = 6;

/// The loops of one operation. Null where T cannot be that type.
struct operation_loops {
  batch_fn loop[scalar_count];
  /// For two operands of T of which the first, or the second, is one value for all elements: only element 0 is read.
  /// Null for other operations.
  batch_fn constant[2][scalar_count];
  /// With streaming stores (full cache lines of dst); null for two outputs and where the operation can fail. They are
  /// weakly ordered: the caller executes one sfence after the last batch, before other threads see the results.
  batch_fn stream[scalar_count];
  /// Exact comparisons of types that no common type holds; null for operations that do not compare.
  batch_fn mixed[mixed_pair_count];
};

/// What is done with two operands, and then with the result and a third: second(first(a, b), c). Of `_one`, the operand
/// a is one value, of which only element 0 is read.
enum class pair_first : uint8_t { add, add_one, subtract, multiply, multiply_one, divide };
enum class pair_second : uint8_t { add, subtract, subtract_from, multiply, divide, divide_into, square };
inline constexpr size_t pair_first_count = 6, pair_second_count = 7;

struct pair_functions {
  batch_fn loop, stream; ///< stream: with streaming stores, as above
};

/// Two operations in one loop: of float32, of float64; where c is one value.
struct pair_loops {
  pair_functions functions[pair_first_count][pair_second_count][2][2];
};

struct conversion_loops {
  batch_fn plain[scalar_count][scalar_count]; ///< [to][from], unchecked; to == from copies
  /// [mode][to][from]; the unchecked one where there is nothing to check. Of up to 512 elements with a bad one among
  /// them none is written.
  batch_fn checked[error_mode_count][scalar_count][scalar_count];
  batch_fn stream[error_mode_count][scalar_count][scalar_count]; ///< the same; sfence as above
  batch_fn swap_bytes[scalar_count];                             ///< null for types of one byte
};

/// One reduction, by accumulator type; null where there is none.
struct reduction_loops {
  reduce_functions functions[scalar_count];
};

/// Sums in 64 bits of elements of one or two bytes, by their type: lanes and results are those of 64-bit integers. Null
/// where there is none; `block` and `columns` always are.
struct narrow_sums {
  reduce_functions functions[scalar_count];
};

/// One scan, by accumulator type; null where there is none.
struct scan_loops {
  scan_functions functions[scalar_count];
};

/// The loops of selections. A mask is packed into bits: bit i % 64 of words[i / 64] says whether byte i is not 0.
struct select_loops {
  /// Packs n bytes; counts[w] is the number of bits in word w.
  void (*pack)(uint64_t *words, int64_t *counts, const char *mask, size_t n);
  /// to[i] = how many bits come before bit offsets[i], for n of them; before[w] is how many come before word w. The
  /// word of the last offset exists, if only as 0.
  void (*rank)(int64_t *to, const int64_t *offsets, size_t n, const uint64_t *words, const int64_t *before);
  /// Whether 0 <= index[i] < size for all n.
  bool (*within)(const int64_t *index, size_t n, int64_t size);
  /// By log2 of the item size: the items whose bits are set, until `end` is reached; from[0] belongs to bit 0.
  void (*compress[5])(char *to, const char *end, const char *from, const uint64_t *words);
  /// The same with streaming stores (sfence as above).
  void (*compress_stream[5])(char *to, const char *end, const char *from, const uint64_t *words);
};

struct fetch_loops {
  fetch_functions functions[5]; ///< by log2 of the item size
  /// Rows of so many bytes, each to its place: between any two memories, of which nothing else is read or written.
  void (*move_rows)(char *dst, intptr_t dst_stride, const char *src, intptr_t src_stride, size_t bytes, size_t rows);
  /// A byte for each row: whether offsets[r] .. offsets[r + 1] has elements.
  void (*has_elements)(char *dst, const int64_t *offsets, size_t rows);
};

} // namespace dynd

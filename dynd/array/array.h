// The array handle. Copying it shares the array; the values are immutable unless it was made with access readwrite.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "dynd/array/block.h"
#include "dynd/type/native.h"

namespace dynd {
class interruptible_walk;
}

namespace dynd::nd {

/// What can be a `string`: "text", std::string, std::string_view.
template <class T>
concept native_text = std::convertible_to<const T &, std::string_view> && !std::same_as<T, std::nullptr_t>;

class array {
public:
  array() = default;
  explicit array(ref<array_block> block) : block_(std::move(block)) {}

  /// 0-dimensional, one value of its own type: 3 is int32, 0.5f float32, "text" string.
  template <native_scalar T> array(T value) : block_(new_scalar(native_scalar_id<T>(), &value)) {}
  template <native_text T> array(const T &text) : block_(new_text(text)) {}
  /// One-dimensional, `strided * T`; all values of one C++ type.
  template <native_scalar T>
  array(std::initializer_list<T> values) : block_(new_list(native_scalar_id<T>(), values.begin(), values.size())) {}

  array_block *get() const { return block_.get(); }
  array_block *operator->() const { return block_.get(); }
  explicit operator bool() const { return bool(block_); }

  ndt::type type() const { return ndt::type(block_->type); }
  int ndim() const { return block_->ndim; }
  /// Size of a dimension; -1 where rows differ.
  intptr_t size(int axis) const { return block_->size()[axis]; }
  /// Number of elements, ragged or not.
  intptr_t element_count() const;

  /// The values are there when this returns; throws what the computation failed with.
  const array &eval() const {
    materialize(block_.get());
    return *this;
  }
  /// The address of the values (of element 0 of every strided dimension), computed first if the array is lazy.
  template <class T> const T *data() const { return reinterpret_cast<const T *>(eval().block_->values().address); }

  /// `nd.array([1, 2, 3], type="strided * int32")`.
  std::string str() const;

private:
  static ref<array_block> new_text(std::string_view text);
  static ref<array_block> new_list(scalar_id scalar, const void *values, size_t count);

  ref<array_block> block_;
};

/// Number of elements of a block, ragged or not. With a walk it can be stopped, and many rows are counted without the
/// host's lock.
intptr_t count_elements(const array_block &block, interruptible_walk *walk = nullptr);

/// An array of any type without values. Where the elements are numbers and there are no rows, the values are not set.
/// Otherwise `var` rows and strings are empty and get their memory from the first assignment, and what may be missing
/// is missing. `size` has a size for each dimension; only those of dimensions outside of the elements that are not
/// `var`, and of strided ones inside, are read. Null where all sizes are in the type.
array empty(ndt::type type, const intptr_t *size = nullptr, access_mode access = access_mode::readwrite);

/// A zero-dimensional array that holds the element of that type at `value`.
array scalar_of(scalar_id type, const void *value);

/// `var` rows over content: row i is content[offsets[i] .. offsets[i + 1]). `offsets` is a one-dimensional array of
/// int64 or int32, `content` has at least one dimension; no data is copied unless another owner can write the offsets.
/// Offsets that decrease or run past the content are an error.
array from_offsets(const array &offsets, const array &content);

/// Just the values of a printed array: `[[1, 2], [3]]`. Long ones are cut short in the middle.
std::string values_text(const array &a);
/// The same for what is inside of the first `axis` dimensions, with the streams at one element of it. Cut short from a
/// line or so on.
std::string values_text_at(const array_block &block, int axis, char *const *stream);

} // namespace dynd::nd

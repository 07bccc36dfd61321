// The array handle. Copying it shares the array; the values are immutable unless it was made with access readwrite.
#pragma once

#include <initializer_list>
#include <string>

#include "dynd/array/block.h"

namespace dynd {
struct type_part;
}

namespace dynd::nd {

class array {
public:
  array() = default;
  explicit array(ref<array_block> block) : block_(std::move(block)) {}

  /// 0-dimensional, one value.
  array(double value);
  array(int value);
  array(bool value);
  /// One-dimensional, `strided * T`.
  array(std::initializer_list<double> values);
  array(std::initializer_list<int> values);

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
    force(block_.get());
    return *this;
  }
  /// The address of the values (of element 0 of every strided dimension), computed if they were waiting.
  template <class T> const T *data() const { return reinterpret_cast<const T *>(eval().block_->values().address); }

  /// `nd.array([1, 2, 3], type="strided * int32")`.
  std::string str() const;

private:
  ref<array_block> block_;
};

/// Number of elements of a block, ragged or not.
intptr_t count_elements(const array_block &block);

/// A dense array whose values are not set. The type must have no `var` dimension; `size` gives the strided ones too.
array empty(ndt::type type, const intptr_t *size, access_mode access = access_mode::readwrite);

/// A zero-dimensional array of that type holding `value`, converted unchecked.
array scalar_of(scalar_id type, const void *value);

/// `var` rows over content: row i is content[offsets[i] .. offsets[i + 1]). `offsets` is a one-dimensional array of
/// int64 or int32, `content` has at least one dimension; no data is copied unless the offsets can be written by others.
/// Offsets that decrease or run past the content are an error.
array from_offsets(const array &offsets, const array &content);

/// A scalar as it is printed: "1", "0.5", "True".
void append_scalar(std::string &text, scalar_id scalar, const char *value);
/// Just the values of a printed array: `[[1, 2], [3]]`. Long ones are cut short in the middle.
std::string values_text(const array &a);
/// The same for a part of an array, or the type below `axis`, with the streams standing at one element of it. Cut short
/// from a line or so on.
std::string values_text_at(const array_block &block, const type_part &part, char *const *stream);
std::string values_text_at(const array_block &block, int axis, char *const *stream);

} // namespace dynd::nd

// A vector of plain values that needs the heap only where it grows past N of them: what one evaluation lists is short.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace dynd {

template <class T, size_t N> class small_vector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

public:
  small_vector() : data_(own()) {}
  small_vector(std::initializer_list<T> values) : small_vector() {
    reserve(values.size());
    std::copy(values.begin(), values.end(), data_);
    size_ = values.size();
  }
  small_vector(const small_vector &other) : data_(own()) { *this = other; }
  small_vector &operator=(const small_vector &other) {
    if (this != &other) {
      size_ = 0;
      reserve(other.size_);
      std::copy_n(other.data_, other.size_, data_);
      size_ = other.size_;
    }
    return *this;
  }

  T *begin() { return data_; }
  T *end() { return data_ + size_; }
  const T *begin() const { return data_; }
  const T *end() const { return data_ + size_; }
  T *data() { return data_; }
  const T *data() const { return data_; }
  int size() const { return int(size_); }
  bool empty() const { return size_ == 0; }
  T &operator[](int i) { return data_[i]; }
  const T &operator[](int i) const { return data_[i]; }
  T &back() { return data_[size_ - 1]; }
  void clear() { size_ = 0; }

  T &push_back(const T &value) {
    if (size_ == capacity_) {
      T copy = value; // it may be an element of this vector
      reserve(2 * capacity_);
      return data_[size_++] = copy;
    }
    return data_[size_++] = value;
  }
  /// One more, its value not set.
  T &add() {
    reserve(size_ + 1 > capacity_ ? 2 * capacity_ : capacity_);
    return data_[size_++];
  }

private:
  T *own() { return reinterpret_cast<T *>(few_); }
  void reserve(size_t capacity) {
    if (capacity <= capacity_) {
      return;
    }
    std::unique_ptr<char[]> larger(new char[capacity * sizeof(T)]);
    std::copy_n(data_, size_, reinterpret_cast<T *>(larger.get()));
    many_ = std::move(larger);
    data_ = reinterpret_cast<T *>(many_.get());
    capacity_ = capacity;
  }

  T *data_;
  size_t size_ = 0, capacity_ = N;
  std::unique_ptr<char[]> many_;
  alignas(T) char few_[N * sizeof(T)];
};

} // namespace dynd

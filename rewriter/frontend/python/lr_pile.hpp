// Plain data in a row, as the parser makes and drops it by the million: adding to the end is a
// store, taking from the end a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace refit::python {

template <typename T>
class Pile {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void clear() { size_ = 0; }
  void reserve(size_t room) {
    if (room > room_) move_to(room);
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return at_.get(); }
  const T* data() const { return at_.get(); }
  T& operator[](size_t i) { return at_[i]; }
  const T& operator[](size_t i) const { return at_[i]; }
  T& back() { return at_[size_ - 1]; }
  void push_back(const T& item) {
    if (size_ == room_) {
      const T kept = item;  // which may lie in what moves
      move_to(2 * room_ + kFirst);
      at_[size_++] = kept;
      return;
    }
    at_[size_++] = item;
  }
  // Room at the end for some more, to be written.
  T* extend(size_t count) {
    if (count > room_ - size_) move_to(std::max(2 * room_ + kFirst, size_ + count));
    T* const first = at_.get() + size_;
    size_ += count;
    return first;
  }
  // Drops what lies behind the first `size`.
  void cut(size_t size) { size_ = size; }

 private:
  static constexpr size_t kFirst = 16;
  void move_to(size_t room) {
    auto to = std::make_unique_for_overwrite<T[]>(room);
    std::copy_n(at_.get(), size_, to.get());
    at_ = std::move(to);
    room_ = room;
  }
  std::unique_ptr<T[]> at_;
  size_t size_ = 0, room_ = 0;
};

}  // namespace refit::python

// What a recorded call leaves to be repeated: the key that tells which calls are like it, and what
// it handed to the C interface, addresses apart. replay.cpp keeps those of the package's functions,
// operators.cpp those of the torch operators.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "mindiesd/mindiesd_c.h"
#include "stable_abi.h"

namespace mindiesd::python {

constexpr std::size_t kKeyWords = 320;
constexpr int kMaxTensors = 24;
constexpr std::size_t kMaxArgs = 256;  // bytes of an argument struct
constexpr std::size_t kMostRecipes = 8192;

struct Key {
  std::uint64_t words[kKeyWords];
  std::size_t count = 0;

  bool push(std::uint64_t word) {
    if (count == kKeyWords) return false;
    words[count++] = word;
    return true;
  }
};

struct Slot {
  std::size_t field;    // where in the argument struct the pointer to the tensor stands
  int source;           // number of the argument, or ~number of the result, that owns the memory
  std::int64_t offset;  // bytes from its address
  mindiesd_tensor tensor;
  std::int64_t sizes[MINDIESD_MAX_NDIM], strides[MINDIESD_MAX_NDIM];
};

// A call of the C interface.
class Launch {
 public:
  Launch() = default;
  Launch(const Launch&) = delete;  // slots point into themselves
  Launch& operator=(const Launch&) = delete;

  // From Python: the function's address, the struct's bytes, where its stream stands, and for each
  // tensor (field, source, offset, dtype, device type, device id, sizes, strides).
  bool read(PyObject* function, PyObject* bytes, PyObject* stream_field, PyObject* slots);

  // `given`, `made`: addresses of the call's tensors and of its results.
  mindiesd_status run(char* const* given, char* const* made, void* stream) const;

 private:
  mindiesd_status (*function_)(const void*) = nullptr;
  char args_[kMaxArgs];
  std::size_t args_size_ = 0, stream_field_ = 0;
  std::vector<Slot> slots_;
};

// Sets a TypeError of this text, where no other error is set; gives null.
PyObject* fail(const char* text);

std::uint64_t hash_of(const std::uint64_t* words, std::size_t count);

// Recipes by their `key`, chained by hash. The caller guards it; a recipe in use outlives its
// removal.
template <typename Recipe>
class Table {
 public:
  std::shared_ptr<const Recipe> find(const Key& key) const {
    if (buckets_.empty()) return nullptr;
    const std::uint64_t hash = hash_of(key.words, key.count);
    for (const auto& recipe : buckets_[hash % buckets_.size()]) {
      if (recipe->key.size() == key.count &&
          std::memcmp(recipe->key.data(), key.words, key.count * sizeof(key.words[0])) == 0) {
        return recipe;
      }
    }
    return nullptr;
  }

  void insert(std::shared_ptr<const Recipe> recipe) {
    if (count_ == kMostRecipes) clear();
    if (buckets_.empty()) buckets_.resize(4096);
    const std::uint64_t hash = hash_of(recipe->key.data(), recipe->key.size());
    buckets_[hash % buckets_.size()].push_back(std::move(recipe));
    ++count_;
  }

  void clear() {
    // Dropped last: freeing a recipe may drop Python objects, which may come back here.
    auto old = std::move(buckets_);
    buckets_.clear();
    count_ = 0;
  }

  std::size_t count() const { return count_; }

 private:
  std::vector<std::vector<std::shared_ptr<const Recipe>>> buckets_;
  std::size_t count_ = 0;
};

}  // namespace mindiesd::python

// Answers that were given before, by any number of threads.
#pragma once

#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace refit::python {

template <typename Answer>
class Remembered {
 public:
  // The answer to a question, which make() gives where it was not asked before. Two threads that
  // ask at once may both make it. The answer stays where it is.
  template <typename Make>
  const Answer& of(std::string_view question, Make make) {
    {
      std::shared_lock lock(mutex_);
      if (auto known = answers_.find(question); known != answers_.end()) return known->second;
    }
    Answer made = make();
    std::unique_lock lock(mutex_);
    return answers_.try_emplace(std::string(question), std::move(made)).first->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::shared_mutex mutex_;
  std::unordered_map<std::string, Answer, Hash, std::equal_to<>> answers_;
};

}  // namespace refit::python

// The progress bar on standard error. Entry point: ProgressBar::update.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "rewriter/cli/console.hpp"

namespace refit {

// Draws nothing in the first second, then at most ten times a second, and clears itself away when
// it goes. Any number of threads may update it.
class ProgressBar {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit ProgressBar(Console& console, Clock clock = std::chrono::steady_clock::now);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  void update(uint64_t done, uint64_t total);

 private:
  Console& console_;
  Clock clock_;
  std::chrono::steady_clock::time_point next_;
  std::mutex mutex_;
  bool drawn_ = false;
};

}  // namespace refit

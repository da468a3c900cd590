// Drawing the progress bar. Entry point: ProgressBar::update.
#include "rewriter/cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace refit {
namespace {

constexpr std::chrono::milliseconds kDelay{1000}, kInterval{100};
constexpr uint64_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(Console& console, Clock clock)
    : console_(console), clock_(std::move(clock)), next_(clock_() + kDelay) {}

ProgressBar::~ProgressBar() {
  if (drawn_) console_.error("\r\x1b[K");
}

void ProgressBar::update(uint64_t done, uint64_t total) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_();
  if (now < next_ || total == 0) return;
  next_ = now + kInterval;
  drawn_ = true;
  const uint64_t filled = kWidth * std::min(done, total) / total;
  console_.error(fmt::format("\r[{:<{}}] {} of {} files\x1b[K", std::string(filled, '#'), kWidth,
                             done, total));
}

}  // namespace refit

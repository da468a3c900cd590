// The process's own standard output and error. Entry point: real_console.
#include "rewriter/cli/console.hpp"

#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <iterator>

namespace refit {
namespace {

Console::Written write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno == EPIPE ? Console::Written::closed : Console::Written::failed;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return Console::Written::yes;
}

class RealConsole final : public Console {
 public:
  Written out(std::string_view text) override { return write_all(STDOUT_FILENO, text); }
  void error(std::string_view text) override { (void)write_all(STDERR_FILENO, text); }
  std::optional<std::string> read_line() override {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  std::string read_all() override { return {std::istreambuf_iterator<char>(std::cin), {}}; }
  bool out_is_terminal() const override { return isatty(STDOUT_FILENO) == 1; }
  bool error_is_terminal() const override { return isatty(STDERR_FILENO) == 1; }
};

}  // namespace

Console& real_console() {
  static RealConsole console;
  return console;
}

}  // namespace refit

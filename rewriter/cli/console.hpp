// Where the command's words go: standard output for the diff or the JSON report, standard error for
// everything else. Entry points: Console, real_console.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace refit {

class Console {
 public:
  enum class Written {
    yes,
    closed,  // nobody reads any more (`| head`); what follows may be left out in silence
    failed,  // a full disk and the like
  };

  virtual ~Console() = default;
  virtual Written out(std::string_view text) = 0;
  virtual void error(std::string_view text) = 0;
  // The next line of standard input, without its end; nothing where there is none.
  virtual std::optional<std::string> read_line() = 0;
  // All of standard input.
  virtual std::string read_all() = 0;
  virtual bool out_is_terminal() const = 0;
  virtual bool error_is_terminal() const = 0;
};

// File descriptors 1 and 2, unbuffered. The caller has set SIGPIPE to be ignored.
Console& real_console();

}  // namespace refit

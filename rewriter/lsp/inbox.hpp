// What a client sends, read by a thread of its own so that it is seen while files are analysed.
// Entry point: Inbox.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "rewriter/lsp/json_rpc.hpp"

namespace refit::lsp {

struct Incoming {
  enum class Kind {
    message,
    wrong,  // no JSON, or no frame
    end,    // of the stream
  };
  Kind kind = Kind::end;
  Json message;
  std::string says;  // what is wrong
};

class Inbox {
 public:
  using Clock = std::chrono::steady_clock;

  // The thread reads until the stream ends, and may outlive the inbox.
  explicit Inbox(ReadBytes read);

  // The next message; waits for one until then, or for ever. Nothing where none came.
  std::optional<Incoming> take(std::optional<Clock::time_point> until);
  // Whether a request was cancelled by a message that is still to be taken.
  bool cancelled(const Json& id) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace refit::lsp

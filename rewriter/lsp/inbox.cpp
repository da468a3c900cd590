#include "rewriter/lsp/inbox.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace refit::lsp {

struct Inbox::Shared {
  std::mutex mutex;
  std::condition_variable came;
  std::deque<Incoming> queue;

  void put(Incoming incoming) {
    {
      const std::lock_guard lock(mutex);
      queue.push_back(std::move(incoming));
    }
    came.notify_one();
  }
};

namespace {

Incoming read_one(FrameReader& reader) {
  Frame frame = reader.next();
  if (frame.kind == Frame::Kind::end) return {};
  if (frame.kind == Frame::Kind::malformed) {
    return {Incoming::Kind::wrong, nullptr, std::move(frame.text)};
  }
  Json message = Json::parse(frame.text, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded()) {
    return {Incoming::Kind::wrong, nullptr, "expected a message in JSON, found other text"};
  }
  return {Incoming::Kind::message, std::move(message), {}};
}

}  // namespace

Inbox::Inbox(ReadBytes read) : shared_(std::make_shared<Shared>()) {
  // Nothing ends a read that waits for a client, so nobody waits for this thread.
  std::thread([shared = shared_, reader = FrameReader(std::move(read))]() mutable {
    while (true) {
      Incoming incoming = read_one(reader);
      const bool last = incoming.kind == Incoming::Kind::end;
      shared->put(std::move(incoming));
      if (last) return;
    }
  }).detach();
}

std::optional<Incoming> Inbox::take(std::optional<Clock::time_point> until) {
  std::unique_lock lock(shared_->mutex);
  const auto some = [this] { return !shared_->queue.empty(); };
  if (!until) {
    shared_->came.wait(lock, some);
  } else if (!shared_->came.wait_until(lock, *until, some)) {
    return std::nullopt;
  }
  Incoming first = std::move(shared_->queue.front());
  shared_->queue.pop_front();
  return first;
}

bool Inbox::cancelled(const Json& id) const {
  const std::lock_guard lock(shared_->mutex);
  return std::ranges::any_of(shared_->queue, [&](const Incoming& incoming) {
    return at(incoming.message, {"method"}) == "$/cancelRequest" &&
           at(incoming.message, {"params", "id"}) == id;
  });
}

}  // namespace refit::lsp

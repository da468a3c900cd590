#include "rewriter/lsp/json_rpc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "rewriter/text/printable.hpp"

namespace refit::lsp {
namespace {

constexpr std::size_t kLongestLine = std::size_t{8} << 10;  // bytes of a header
constexpr std::size_t kMostLines = 32;                      // of one header
constexpr std::size_t kLongest = std::size_t{64} << 20;     // bytes of a message
constexpr std::size_t kPiece = std::size_t{64} << 10;       // bytes that are read at once
constexpr uint64_t kLargest = (uint64_t{1} << 31) - 1;      // `uinteger` of the protocol
constexpr std::string_view kLength = "content-length";

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Frame malformed(std::string_view found) {
  constexpr std::size_t kShown = 80;
  return {Frame::Kind::malformed,
          fmt::format("expected a header `Content-Length: NUMBER`, found `{}`",
                      printable(found.substr(0, kShown), Breaks::escaped))};
}

}  // namespace

bool FrameReader::fill() {
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  }
  std::array<char, kPiece> piece;
  const std::size_t got = read_(piece.data(), piece.size());
  buffer_.append(piece.data(), got);
  return got != 0;
}

std::optional<std::string> FrameReader::line() {
  std::size_t from = at_;
  while (true) {
    const std::size_t end = buffer_.find('\n', from);
    if (end != std::string::npos) {
      std::string found = buffer_.substr(at_, end - at_);
      at_ = end + 1;
      if (found.ends_with('\r')) found.pop_back();
      return found;
    }
    if (buffer_.size() - at_ > kLongestLine) return std::nullopt;
    const std::size_t seen = buffer_.size() - at_;
    if (!fill()) return std::nullopt;
    from = at_ + seen;
  }
}

bool FrameReader::skip(std::size_t size) {
  while (size != 0) {
    if (at_ == buffer_.size() && !fill()) return false;
    const std::size_t some = std::min(size, buffer_.size() - at_);
    at_ += some;
    size -= some;
  }
  return true;
}

Frame FrameReader::next() {
  if (dead_) return {};
  std::optional<std::size_t> length;
  std::string wrong;
  std::size_t lines = 0;
  while (true) {
    auto header = line();
    if (!header || lines == kMostLines) {
      dead_ = true;
      const bool some = at_ != buffer_.size() || lines != 0;
      return some ? malformed(std::string_view(buffer_).substr(at_)) : Frame{};
    }
    if (header->empty() && lines == 0) continue;  // between messages they say nothing
    if (header->empty()) break;
    ++lines;
    const std::size_t colon = header->find(':');
    if (colon == std::string::npos) {
      wrong = *header;
      continue;
    }
    if (lowered(trimmed(std::string_view(*header).substr(0, colon))) != kLength) continue;
    const std::string_view value = trimmed(std::string_view(*header).substr(colon + 1));
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) {
      length = number;
    } else {
      wrong = *header;
    }
  }
  if (!length) return malformed(wrong);
  if (*length > kLongest) {
    dead_ = !skip(*length);
    return {
        Frame::Kind::malformed,
        fmt::format("a message has {} bytes, more than the {} that are read", *length, kLongest)};
  }
  while (buffer_.size() - at_ < *length) {
    if (!fill()) {
      dead_ = true;
      return {Frame::Kind::malformed, fmt::format("expected {} bytes of a message, found {}",
                                                  *length, buffer_.size() - at_)};
    }
  }
  Frame frame{Frame::Kind::message, buffer_.substr(at_, *length)};
  at_ += *length;
  return frame;
}

std::string framed(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("Content-Length: {}\r\n\r\n{}", text.size(), text);
}

Json response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_response(const Json& id, RpcCode code, std::string_view message) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

Json notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

const Json& at(const Json& value, std::initializer_list<std::string_view> keys) {
  static const Json null;
  const Json* here = &value;
  for (const std::string_view key : keys) {
    if (!here->is_object()) return null;
    const auto found = here->find(std::string(key));
    if (found == here->end()) return null;
    here = &*found;
  }
  return *here;
}

std::optional<std::string> text_at(const Json& value,
                                   std::initializer_list<std::string_view> keys) {
  const Json& found = at(value, keys);
  if (!found.is_string()) return std::nullopt;
  return found.get<std::string>();
}

std::optional<std::size_t> number_at(const Json& value,
                                     std::initializer_list<std::string_view> keys) {
  const Json& found = at(value, keys);
  if (!found.is_number_unsigned() || found.get<uint64_t>() > kLargest) return std::nullopt;
  return found.get<std::size_t>();
}

}  // namespace refit::lsp

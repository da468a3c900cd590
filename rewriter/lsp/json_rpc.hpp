// JSON-RPC 2.0 as the Language Server Protocol frames it: a header with the length in bytes, an
// empty line, a JSON object. Entry points: FrameReader, framed.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace refit::lsp {

using Json = nlohmann::json;

// The codes of errors that both specifications name.
enum class RpcCode {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  not_initialized = -32002,
  request_failed = -32803,
  content_modified = -32801,
  cancelled = -32800,
};

// As read(2): up to `size` bytes into `into`; 0 at the end.
using ReadBytes = std::function<std::size_t(char* into, std::size_t size)>;

struct Frame {
  enum class Kind { message, malformed, end };
  Kind kind = Kind::end;
  std::string text;  // the message, or what is wrong
};

// Takes a stream apart. After a header or a message that cannot be read it goes on with what
// follows; a header that does not end is the end of the stream.
class FrameReader {
 public:
  explicit FrameReader(ReadBytes read) : read_(std::move(read)) {}
  Frame next();

 private:
  bool fill();
  // Without its end; nothing where the stream ends or the line is too long.
  std::optional<std::string> line();
  bool skip(std::size_t size);

  ReadBytes read_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool dead_ = false;
};

std::string framed(const Json& message);

Json response(const Json& id, Json result);
Json error_response(const Json& id, RpcCode code, std::string_view message);
Json notification(std::string_view method, Json params);

// What stands under these keys, one within the other; null where a value on the way is no object or
// has no such key.
const Json& at(const Json& value, std::initializer_list<std::string_view> keys);
// The same of a text or an unsigned number of the protocol; nothing where it is no such value.
std::optional<std::string> text_at(const Json& value, std::initializer_list<std::string_view> keys);
std::optional<std::size_t> number_at(const Json& value,
                                     std::initializer_list<std::string_view> keys);

}  // namespace refit::lsp

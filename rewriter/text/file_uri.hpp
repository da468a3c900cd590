// Paths as URIs of files (RFC 8089, RFC 3986). Entry points: uri_path, file_uri, path_of_uri.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace refit {

// A path as the path of a URI: what is not unreserved is percent-encoded, byte by byte.
std::string uri_path(std::string_view path);

// "file:///…" of an absolute path.
std::string file_uri(std::string_view path);

// The absolute path that a URI of this machine's files names; nothing where it is another URI.
std::optional<std::string> path_of_uri(std::string_view uri);

}  // namespace refit

// The result type of every fallible function of the rewriter: a value, or an Error with text for a
// person. Exceptions do not cross modules (nlohmann-json throws; its callers catch).
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace refit {

struct Error {
  std::string message;  // what was expected, what was found, what to do
};

template <typename T>
using Expected = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace refit

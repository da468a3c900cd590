// The name that git gives to a file's content. Entry point: blob_id.
#pragma once

#include <string>
#include <string_view>

namespace refit {

// 40 hexadecimal digits.
std::string blob_id(std::string_view bytes);

}  // namespace refit

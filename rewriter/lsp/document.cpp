#include "rewriter/lsp/document.hpp"

#include <algorithm>
#include <utility>

namespace refit::lsp {
namespace {

// The bytes of the character that begins with this one; texts are UTF-8, as JSON is.
std::size_t bytes_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xF0) return 4;
  if (byte >= 0xE0) return 3;
  return byte >= 0xC0 ? 2 : 1;
}

std::size_t units_of(char first, Units units) {
  const std::size_t bytes = bytes_of(first);
  if (units == Units::utf8) return bytes;
  return bytes == 4 ? 2 : 1;  // beyond the basic plane UTF-16 takes a pair
}

}  // namespace

Document::Document(std::string text, Units units) : units_(units) { set(std::move(text)); }

void Document::set(std::string text) {
  text_ = std::move(text);
  begins_ = {0};
  for (std::size_t at = 0; at < text_.size(); ++at) {
    const bool pair = text_[at] == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n';
    if ((text_[at] == '\n' || text_[at] == '\r') && !pair) begins_.push_back(at + 1);
  }
}

std::size_t Document::line_begin(std::size_t number) const {
  return number < begins_.size() ? begins_[number] : text_.size();
}

std::string_view Document::line(std::size_t number) const {
  const std::size_t begin = line_begin(number);
  std::string_view found = std::string_view(text_).substr(begin, line_begin(number + 1) - begin);
  while (found.ends_with('\n') || found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

std::optional<std::size_t> Document::offset(const Json& position) const {
  const auto number = number_at(position, {"line"});
  const auto character = number_at(position, {"character"});
  if (!number || !character) return std::nullopt;
  const std::string_view here = line(*number);
  std::size_t units = 0, at = 0;
  while (at < here.size() && units < *character) {
    units += units_of(here[at], units_);
    if (units > *character) break;  // the middle of a character is its beginning
    at += bytes_of(here[at]);
  }
  return line_begin(*number) + std::min(at, here.size());
}

std::size_t Document::offset(uint32_t line_number, uint32_t column) const {
  const std::size_t number = line_number - 1;
  const std::string_view here = line(number);
  std::size_t at = 0;
  for (uint32_t i = 1; i < column && at < here.size(); ++i) at += bytes_of(here[at]);
  return line_begin(number) + std::min(at, here.size());
}

Json Document::position(std::size_t offset) const {
  const auto next = std::ranges::upper_bound(begins_, offset);
  const auto number = static_cast<std::size_t>(next - begins_.begin()) - 1;
  std::size_t units = 0;
  for (std::size_t at = begins_[number]; at < offset && at < text_.size();) {
    units += units_of(text_[at], units_);
    at += bytes_of(text_[at]);
  }
  return {{"line", number}, {"character", units}};
}

Json Document::range(std::size_t begin, std::size_t end) const {
  return {{"start", position(begin)}, {"end", position(end)}};
}

bool Document::change(const Json& change) {
  const auto text = text_at(change, {"text"});
  if (!text) return false;
  if (at(change, {"range"}).is_null()) {
    set(*text);
    return true;
  }
  const auto begin = offset(at(change, {"range", "start"}));
  const auto end = offset(at(change, {"range", "end"}));
  if (!begin || !end || *begin > *end) return false;
  std::string all = text_;
  all.replace(*begin, *end - *begin, *text);
  set(std::move(all));
  return true;
}

}  // namespace refit::lsp

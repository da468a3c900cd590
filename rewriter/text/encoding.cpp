// PEP 263 cookies and iconv(3) behind encoding.hpp. Entry points: find_coding_cookie, iconv_name,
// convert.
#include "rewriter/text/encoding.hpp"

#include <fmt/format.h>
#include <iconv.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace refit {
namespace {

class Converter {
 public:
  Converter(const std::string& from, const std::string& to)
      : handle_(iconv_open(to.c_str(), from.c_str())) {}
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter() {
    if (valid()) iconv_close(handle_);
  }
  bool valid() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  // Feeds `bytes` and hands each piece of output to `sink`.
  template <typename Sink>
  std::optional<std::size_t> run(std::string_view bytes, const Sink& sink) {
    std::array<char, 1 << 15> buffer;
    char* in = const_cast<char*>(bytes.data());  // iconv's prototype; it does not write there
    std::size_t left = bytes.size();
    bool flushing = false;
    for (;;) {
      char* out = buffer.data();
      std::size_t room = buffer.size();
      const std::size_t status = flushing ? iconv(handle_, nullptr, nullptr, &out, &room)
                                          : iconv(handle_, &in, &left, &out, &room);
      const int error = errno;
      sink(std::string_view(buffer.data(), buffer.size() - room));
      if (status == static_cast<std::size_t>(-1)) {
        if (error == E2BIG) continue;
        return bytes.size() - left;
      }
      if (flushing) return std::nullopt;
      flushing = true;  // a stateful encoding may owe a shift sequence
    }
  }

 private:
  iconv_t handle_;
};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The first line of `text`, without its ending; `text` becomes what follows.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos) {
    text = {};
  } else {
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  }
  return line;
}

std::string_view without_indent(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\f");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

// PEP 263's ^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+) on one line.
std::optional<std::string> cookie_in(std::string_view line) {
  line = without_indent(line);
  if (!line.starts_with('#')) return std::nullopt;
  constexpr std::string_view kWord = "coding";
  for (std::size_t at = line.find(kWord); at != std::string_view::npos;
       at = line.find(kWord, at + 1)) {
    std::string_view rest = line.substr(at + kWord.size());
    if (!rest.starts_with(':') && !rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_name_character);
    if (end != rest.begin()) return std::string(rest.begin(), end);
  }
  return std::nullopt;
}

// Python's codec aliases that iconv does not know under that name, after lower-casing and with '-'
// for '_' (the standard library's list of encodings). Shift JIS is CP932 because glibc's own has a
// yen sign where Python and everyone's source have a backslash.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"u8", "UTF-8"},
    {"utf", "UTF-8"},
    {"cp65001", "UTF-8"},
    {"8859", "ISO-8859-1"},
    {"latin", "ISO-8859-1"},
    {"l1", "ISO-8859-1"},
    {"646", "ASCII"},
    {"mac-roman", "MACINTOSH"},
    {"macroman", "MACINTOSH"},
    {"mac-cyrillic", "MAC-CYRILLIC"},
    {"ujis", "EUC-JP"},
    {"u-jis", "EUC-JP"},
    {"s-jis", "CP932"},
    {"euckr", "EUC-KR"},
    {"eucjp", "EUC-JP"},
    {"ms-kanji", "CP932"},
    {"shift-jis", "CP932"},
    {"shiftjis", "CP932"},
    {"sjis", "CP932"},
    {"chinese", "GB2312"},
    {"big5-tw", "BIG5"},
    {"cp154", "PT154"},
    {"cyrillic-asian", "PT154"},
};

// Every character that Python's syntax is made of must be its ASCII byte, or the offsets of the
// cookie, quotes and line ends would mean something else.
bool keeps_ascii(const std::string& encoding) {
  std::string ascii = "\t\n\f\r";
  for (char c = ' '; c <= '~'; ++c) ascii.push_back(c);
  const Conversion there = convert(ascii, encoding, "UTF-8");
  return !there.invalid_at && there.text == ascii;
}

}  // namespace

std::optional<CodingCookie> find_coding_cookie(std::string_view bytes) {
  const std::string_view first = take_line(bytes);
  if (auto name = cookie_in(first)) return CodingCookie{*name, 1};
  const std::string_view code = without_indent(first);
  if (!code.empty() && !code.starts_with('#')) return std::nullopt;
  if (auto name = cookie_in(take_line(bytes))) return CodingCookie{*name, 2};
  return std::nullopt;
}

Expected<std::string> iconv_name(std::string_view python_name) {
  std::string name(python_name);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  // Python lets these two carry a suffix, as in Emacs' "utf-8-unix".
  if (name == "utf-8" || name == "utf8" || name.starts_with("utf-8-")) return "UTF-8";
  for (const std::string_view latin : {"latin-1", "iso-8859-1", "iso-latin-1"}) {
    if (name == latin || name.starts_with(std::string(latin) + "-")) return "ISO-8859-1";
  }
  for (const auto& [alias, known] : kAliases) {
    if (name == alias) name = known;
  }
  if (name == "UTF-8") return name;
  if (!Converter(name, "UTF-8").valid()) {
    return failure(fmt::format("'{}' is not the name of a known encoding", python_name));
  }
  if (!keeps_ascii(name)) {
    return failure(fmt::format(
        "'{}' does not keep ASCII characters as single bytes, so Python source cannot be in it",
        python_name));
  }
  return name;
}

Conversion convert(std::string_view bytes, const std::string& from, const std::string& to) {
  Conversion result;
  Converter converter(from, to);
  if (!converter.valid()) {
    result.invalid_at = 0;
    return result;
  }
  result.text.reserve(bytes.size());
  result.invalid_at =
      converter.run(bytes, [&](std::string_view piece) { result.text.append(piece); });
  return result;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) {
  std::size_t at = 0;
  if (llvm::json::isUTF8(bytes, &at)) return std::nullopt;
  return at;
}

}  // namespace refit

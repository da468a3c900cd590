// The journal's format: a line of three words and the number of files; for each file a line with
// three lengths, then its name, its old text and its new text; last the SHA-256 of all before.
// Entry points: journal_text, read_journal.
#include "rewriter/text/journal.hpp"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace refit {
namespace {

constexpr std::string_view kFormat = "refit-journal-1";

std::string checksum(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether the name stays below the folder that it is relative to, and out of git's own files.
bool is_plain(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part == ".git") return false;
    begin = end + 1;
  }
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  // Up to `end`, which is passed over.
  std::optional<std::string_view> word(char end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return found;
  }
  std::optional<uint64_t> number(char end) {
    const auto digits = word(end);
    uint64_t value = 0;
    if (!digits || digits->empty()) return std::nullopt;
    const auto [stop, error] =
        std::from_chars(digits->data(), digits->data() + digits->size(), value);
    if (error != std::errc() || stop != digits->data() + digits->size()) return std::nullopt;
    return value;
  }
  std::optional<std::string> bytes(uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    std::string found(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return found;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<FileChange> read_file_change(Reader& reader) {
  const auto name = reader.number(' '), before = reader.number(' '), after = reader.number('\n');
  if (!name || !before || !after) return std::nullopt;
  auto file = reader.bytes(*name), old_text = reader.bytes(*before), text = reader.bytes(*after);
  if (!file || !old_text || !text || !is_plain(*file)) return std::nullopt;
  return FileChange{std::move(*file), std::move(*old_text), std::move(*text)};
}

}  // namespace

std::string journal_text(const Journal& journal) {
  std::string text = fmt::format("{} {} {} {}\n", kFormat, journal.undo ? "undo" : "run",
                                 journal.id, journal.files.size());
  for (const FileChange& change : journal.files) {
    text +=
        fmt::format("{} {} {}\n", change.file.size(), change.before.size(), change.after.size());
    text += change.file;
    text += change.before;
    text += change.after;
  }
  return text + checksum(text);
}

Expected<Journal> read_journal(std::string_view text) {
  const auto damaged = [] { return failure("it is damaged"); };
  constexpr std::size_t kDigits = 64;
  if (text.size() < kDigits) return damaged();
  const std::string_view body = text.substr(0, text.size() - kDigits);
  if (checksum(body) != text.substr(body.size())) return damaged();
  Reader reader(body);
  Journal journal;
  const auto format = reader.word(' '), kind = reader.word(' '), id = reader.word(' ');
  const auto count = reader.number('\n');
  if (!format || *format != kFormat) return failure("another version of refit wrote it");
  if (!kind || !id || !count || !is_hexadecimal(*id)) return damaged();
  journal.undo = *kind == "undo";
  journal.id = *id;
  for (uint64_t i = 0; i < *count; ++i) {
    auto change = read_file_change(reader);
    if (!change) return damaged();
    journal.files.push_back(std::move(*change));
  }
  if (!reader.at_end()) return damaged();
  return journal;
}

}  // namespace refit

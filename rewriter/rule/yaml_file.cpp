// YamlFile: readers of values that say what they expected, and where.
#include "rewriter/rule/yaml_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>

#include "rewriter/text/disk.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

constexpr uint64_t kLongestFile = 1 << 20;

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::mapping:
      return "a mapping";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::scalar:
      return "`" + node.text + "`";
    default:
      return "nothing";
  }
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string named(const std::string& path, int line, int column) {
  return path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& among) {
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  std::optional<std::string> best;
  size_t best_distance = limit + 1;
  for (const std::string& candidate : among) {
    const size_t difference = candidate.size() > word.size() ? candidate.size() - word.size()
                                                             : word.size() - candidate.size();
    if (difference >= best_distance) continue;
    const size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::optional<std::string>& suggestion) {
  return suggestion ? "; did you mean `" + *suggestion + "`?" : "";
}

Expected<std::vector<std::string>> yaml_files(const std::string& directory, bool recursively,
                                              const std::vector<std::string>& skip) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::vector<fs::path> pending{directory};
  while (!pending.empty()) {
    const fs::path folder = pending.back();
    pending.pop_back();
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (std::ranges::find(skip, name) != skip.end()) continue;
      std::error_code ignored;
      if (it->is_directory(ignored)) {
        // A linked folder is left out: it may lead back here.
        if (recursively && !it->is_symlink(ignored)) pending.push_back(it->path());
      } else if (it->path().extension() == ".yaml" || it->path().extension() == ".yml") {
        files.push_back(it->path().string());
      }
    }
    if (error) return failure(folder.string() + ": cannot list the folder: " + error.message());
  }
  std::ranges::sort(files);
  return files;
}

Expected<YamlFile> YamlFile::open(const std::string& path) {
  const std::string shown = printable(path, Breaks::escaped);
  auto bytes = real_disk().read(path, kLongestFile);
  if (!bytes) return failure(shown + ": cannot read the file: " + bytes.error().message);
  return parse(shown, *bytes);
}

Expected<YamlFile> YamlFile::parse(std::string path, std::string_view text) {
  YamlFile file;
  file.path_ = std::move(path);
  auto document = YamlDocument::parse(text);
  if (!document) {
    const auto& [place, message] = document.error();
    return failure(named(file.path_, place.line, place.column) + ": " + message);
  }
  file.document_ = std::move(*document);
  return file;
}

YamlPlace YamlFile::place(const YamlNode& node) const {
  // Of a value that was left out its key is what to look at.
  for (const auto& [value, key] : absent_values_) {
    if (value == &node) return place(*key);
  }
  return node.place;
}

std::string YamlFile::where(const YamlNode& node) const {
  const YamlPlace at = place(node);
  return named(path_, at.line, at.column);
}

void YamlFile::report(const YamlNode& node, const std::string& message) {
  report(place(node), message);
}

void YamlFile::report(YamlPlace place, const std::string& message) {
  constexpr size_t kLongest = 600;  // messages quote what was found, however long
  const std::string said =
      message.size() <= kLongest ? message : message.substr(0, kLongest) + " ...";
  mistakes_.emplace_back(place, named(path_, place.line, place.column) + ": " + said);
}

std::vector<std::string> YamlFile::mistakes() const {
  auto sorted = mistakes_;
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
  });
  std::vector<std::string> messages;
  messages.reserve(sorted.size());
  for (auto& [place, message] : sorted) messages.push_back(std::move(message));
  return messages;
}

std::optional<YamlFile::Mapping> YamlFile::mapping(const YamlNode& node, std::string_view what,
                                                   std::span<const std::string_view> keys) {
  if (!node.is_mapping()) {
    report(node, "expected " + std::string(what) +
                     (keys.empty() ? "" : " (a mapping with the keys " + joined(keys) + ")") +
                     ", found " + describe(node));
    return std::nullopt;
  }
  Mapping result(*this, what, node);
  for (const auto& [key_node, value] : node.entries) {
    if (!key_node.is_scalar()) {
      report(key_node, "expected a key of " + std::string(what) + ", found " + describe(key_node));
      continue;
    }
    const std::string& key = key_node.text;
    if (!keys.empty() && std::ranges::find(keys, key) == keys.end()) {
      const auto suggestion = nearest(key, std::vector<std::string>(keys.begin(), keys.end()));
      if (suggestion) result.misspelt_.push_back(*suggestion);
      report(key_node,
             "unknown key `" + key + "`" +
                 (suggestion ? did_you_mean(suggestion)
                             : "; the keys of " + std::string(what) + " are " + joined(keys)));
      continue;
    }
    if (result.find(key) != nullptr) {
      report(key_node,
             "`" + key + "` is given twice; the first is at " + where(result.key_node(key)));
      continue;
    }
    if (value.is_null()) absent_values_.emplace_back(&value, &key_node);
    result.entries_.push_back({key, value});
    result.key_nodes_.push_back(&key_node);
  }
  return result;
}

std::optional<std::string> YamlFile::text(const YamlNode& node, std::string_view what) {
  if (!node.is_scalar()) {
    report(node, "expected text for `" + std::string(what) + "`, found " + describe(node));
    return std::nullopt;
  }
  if (node.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    report(node, "expected text for `" + std::string(what) + "`, found an empty one");
    return std::nullopt;
  }
  return node.text;
}

std::optional<bool> YamlFile::boolean(const YamlNode& node, std::string_view what) {
  if (node.is_scalar() && !node.quoted) {
    if (node.text == "true") return true;
    if (node.text == "false") return false;
  }
  report(node, "expected true or false for `" + std::string(what) + "`, found " + describe(node));
  return std::nullopt;
}

std::optional<int> YamlFile::integer(const YamlNode& node, std::string_view what) {
  int value = 0;
  if (node.is_scalar() && !node.quoted) {
    const std::string& digits = node.text;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && !digits.empty()) {
      return value;
    }
  }
  report(node, "expected a whole number for `" + std::string(what) + "`, found " + describe(node));
  return std::nullopt;
}

std::vector<std::string> YamlFile::texts(const YamlNode& node, std::string_view what) {
  std::vector<std::string> result;
  if (node.is_sequence()) {
    if (node.items.empty()) {
      report(node, "expected at least one entry in `" + std::string(what) + "`, found none");
    }
    for (const YamlNode& item : node.items) {
      if (auto value = text(item, what)) result.push_back(*value);
    }
  } else if (!node.is_scalar()) {
    report(node, "expected text or a list of texts for `" + std::string(what) + "`, found " +
                     describe(node));
  } else if (auto value = text(node, what)) {
    result.push_back(*value);
  }
  return result;
}

std::optional<Literal> YamlFile::literal(const YamlNode& node, std::string_view what) {
  Literal result;
  if (node.is_null()) return result;
  if (node.is_sequence()) {
    result.kind = Literal::Kind::tuple;
    for (const YamlNode& item : node.items) {
      auto value = literal(item, what);
      if (!value) return std::nullopt;
      result.items.push_back(std::move(*value));
    }
    return result;
  }
  if (!node.is_scalar()) {
    report(node, "expected a literal for `" + std::string(what) + "`, found " + describe(node));
    return std::nullopt;
  }
  const std::string& spelling = node.text;
  if (node.quoted) {
    if (spelling.starts_with("(")) {
      report(node, "expected a tuple of `" + std::string(what) +
                       "` as a list such as [-1, -1], found the string \"" + spelling + "\"");
      return std::nullopt;
    }
    result.kind = Literal::Kind::string;
    result.text = spelling;
    return result;
  }
  if (spelling == "true" || spelling == "false") {
    result.kind = Literal::Kind::boolean;
    result.boolean = spelling == "true";
    return result;
  }
  auto value = parse_literal(spelling);
  if (!value) {
    report(node, "`" + std::string(what) + "`: " + value.error().message);
    return std::nullopt;
  }
  return *value;
}

const YamlNode* YamlFile::Mapping::find(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const YamlNode* YamlFile::Mapping::require(std::string_view key) const {
  const YamlNode* value = find(key);
  if (value == nullptr && !misspelt(key)) {
    file_->report(*node_, what_ + " needs the key `" + std::string(key) + "`");
  }
  return value;
}

bool YamlFile::Mapping::misspelt(std::string_view key) const {
  return std::ranges::find(misspelt_, key) != misspelt_.end();
}

const YamlNode& YamlFile::Mapping::key_node(std::string_view key) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].key == key) return *key_nodes_[i];
  }
  return *node_;
}

}  // namespace refit

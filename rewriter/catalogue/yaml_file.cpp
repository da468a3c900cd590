// YamlFile: yaml-cpp throws on bad syntax and on reading a node as something it is not; both stop
// here. Everything past this file deals in places and messages.
#include "rewriter/catalogue/yaml_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace refit {
namespace {

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

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

std::string describe(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Scalar:
      return "`" + node.Scalar() + "`";
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
      if (std::find(skip.begin(), skip.end(), name) != skip.end()) continue;
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
  std::sort(files.begin(), files.end());
  return files;
}

Expected<YamlFile> YamlFile::open(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  errno = 0;
  if (!in || !(bytes << in.rdbuf())) {
    // An empty file also leaves the stream failed, without an error number.
    if (!in.is_open() || errno != 0) {
      return failure(path + ": cannot read the file: " + std::strerror(errno));
    }
  }
  return parse(path, bytes.str());
}

Expected<YamlFile> YamlFile::parse(std::string path, std::string text) {
  YamlFile file;
  file.path_ = std::move(path);
  file.text_ = std::move(text);
  if (file.text_.starts_with("\xEF\xBB\xBF")) file.text_.erase(0, 3);
  file.line_starts_.push_back(0);
  for (size_t i = 0; i < file.text_.size(); ++i) {
    if (file.text_[i] == '\n') file.line_starts_.push_back(i + 1);
  }
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(file.text_);
    if (documents.size() > 1) {
      return failure(file.where(documents[1]) + ": expected one YAML document, found " +
                     std::to_string(documents.size()) + "; put several rules under `rules:`");
    }
    if (!documents.empty()) file.root_.reset(documents[0]);
  } catch (const YAML::Exception& error) {
    const bool known = !error.mark.is_null();
    return failure(
        named(file.path_, known ? error.mark.line + 1 : 1, known ? error.mark.column + 1 : 1) +
        ": not valid YAML: " + error.msg);
  }
  return file;
}

YamlPlace YamlFile::place(const YAML::Node& node) const {
  // A value that was left out is marked where the next line starts; its key is what to look at.
  for (const auto& [value, key] : absent_values_) {
    if (value.is(node)) return place(key);
  }
  const YAML::Mark mark = node.Mark();
  const auto row = static_cast<size_t>(mark.line);
  if (mark.is_null() || row >= line_starts_.size()) return {};
  // yaml-cpp counts bytes; a reader counts characters.
  const std::string_view before =
      std::string_view(text_).substr(line_starts_[row], static_cast<size_t>(mark.column));
  const auto characters = std::count_if(before.begin(), before.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return {mark.line + 1, static_cast<int>(characters) + 1};
}

std::string YamlFile::where(const YAML::Node& node) const {
  const YamlPlace at = place(node);
  return named(path_, at.line, at.column);
}

void YamlFile::report(const YAML::Node& node, const std::string& message) {
  report(place(node), message);
}

void YamlFile::report(YamlPlace place, const std::string& message) {
  mistakes_.emplace_back(place, named(path_, place.line, place.column) + ": " + message);
}

std::vector<std::string> YamlFile::mistakes() const {
  auto sorted = mistakes_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
  });
  std::vector<std::string> messages;
  messages.reserve(sorted.size());
  for (auto& [place, message] : sorted) messages.push_back(std::move(message));
  return messages;
}

std::optional<YamlFile::Mapping> YamlFile::mapping(const YAML::Node& node, std::string_view what,
                                                   std::span<const std::string_view> keys) {
  if (!node.IsMap()) {
    report(node, "expected " + std::string(what) +
                     (keys.empty() ? "" : " (a mapping with the keys " + joined(keys) + ")") +
                     ", found " + describe(node));
    return std::nullopt;
  }
  Mapping result(*this, what, node);
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      report(entry.first,
             "expected a key of " + std::string(what) + ", found " + describe(entry.first));
      continue;
    }
    const std::string key = entry.first.Scalar();
    if (!keys.empty() && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const auto suggestion = nearest(key, std::vector<std::string>(keys.begin(), keys.end()));
      if (suggestion) result.misspelt_.push_back(*suggestion);
      report(entry.first,
             "unknown key `" + key + "`" +
                 (suggestion ? did_you_mean(suggestion)
                             : "; the keys of " + std::string(what) + " are " + joined(keys)));
      continue;
    }
    if (result.find(key) != nullptr) {
      report(entry.first,
             "`" + key + "` is given twice; the first is at " + where(result.key_node(key)));
      continue;
    }
    if (entry.second.IsNull()) absent_values_.emplace_back(entry.second, entry.first);
    result.entries_.emplace_back(key, entry.second);
    result.key_nodes_.push_back(entry.first);
  }
  return result;
}

std::optional<std::string> YamlFile::text(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar()) {
    report(node, "expected text for `" + std::string(what) + "`, found " + describe(node));
    return std::nullopt;
  }
  if (node.Scalar().find_first_not_of(" \t\r\n") == std::string::npos) {
    report(node, "expected text for `" + std::string(what) + "`, found an empty one");
    return std::nullopt;
  }
  return node.Scalar();
}

std::optional<bool> YamlFile::boolean(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar() && !is_quoted(node)) {
    if (node.Scalar() == "true") return true;
    if (node.Scalar() == "false") return false;
  }
  report(node, "expected true or false for `" + std::string(what) + "`, found " + describe(node));
  return std::nullopt;
}

std::optional<int> YamlFile::integer(const YAML::Node& node, std::string_view what) {
  int value = 0;
  if (node.IsScalar() && !is_quoted(node)) {
    const std::string& digits = node.Scalar();
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && !digits.empty()) {
      return value;
    }
  }
  report(node, "expected a whole number for `" + std::string(what) + "`, found " + describe(node));
  return std::nullopt;
}

std::vector<std::string> YamlFile::texts(const YAML::Node& node, std::string_view what) {
  std::vector<std::string> result;
  if (node.IsSequence()) {
    if (node.size() == 0) {
      report(node, "expected at least one entry in `" + std::string(what) + "`, found none");
    }
    for (const YAML::Node& item : node) {
      if (auto value = text(item, what)) result.push_back(*value);
    }
  } else if (!node.IsScalar()) {
    report(node, "expected text or a list of texts for `" + std::string(what) + "`, found " +
                     describe(node));
  } else if (auto value = text(node, what)) {
    result.push_back(*value);
  }
  return result;
}

std::optional<Literal> YamlFile::literal(const YAML::Node& node, std::string_view what) {
  Literal result;
  if (node.IsNull()) return result;
  if (node.IsSequence()) {
    result.kind = Literal::Kind::tuple;
    for (const YAML::Node& item : node) {
      auto value = literal(item, what);
      if (!value) return std::nullopt;
      result.items.push_back(std::move(*value));
    }
    return result;
  }
  if (!node.IsScalar()) {
    report(node, "expected a literal for `" + std::string(what) + "`, found " + describe(node));
    return std::nullopt;
  }
  const std::string& spelling = node.Scalar();
  if (is_quoted(node)) {
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

const YAML::Node* YamlFile::Mapping::find(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const YAML::Node* YamlFile::Mapping::require(std::string_view key) const {
  const YAML::Node* value = find(key);
  if (value == nullptr && !misspelt(key)) {
    file_->report(node_, what_ + " needs the key `" + std::string(key) + "`");
  }
  return value;
}

bool YamlFile::Mapping::misspelt(std::string_view key) const {
  return std::find(misspelt_.begin(), misspelt_.end(), key) != misspelt_.end();
}

const YAML::Node& YamlFile::Mapping::key_node(std::string_view key) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].first == key) return key_nodes_[i];
  }
  return node_;
}

}  // namespace refit

#include "rewriter/cli/project_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringRef.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "rewriter/cli/option_checks.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongest = uint64_t{1} << 20;

// Reads one value; false where it is of another kind.
using Read = std::function<bool(const toml::node&)>;

class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file) {
    config_.path = file.string();
    known_ = {
        {"target", {"\"cuda\" or \"ascend\"", [this](const toml::node& n) { return target(n); }}},
        {"strict", {"true or false", [this](const toml::node& n) { return strict(n); }}},
        {"assume", texts(config_.assume)},
        {"select", texts(config_.select)},
        {"ignore", texts(config_.ignore)},
        {"include", texts(config_.include)},
        {"exclude", texts(config_.exclude)},
        {"rules", {"a list of paths", [this](const toml::node& n) { return rules(n); }}},
        {"define",
         {"a list of names, with =VALUE perhaps",
          [this](const toml::node& n) { return define(n); }}},
        {"baseline", {"a path", [this](const toml::node& n) { return baseline(n); }}},
    };
  }

  Expected<ProjectConfig> read(const toml::table& table) {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      config_.keys.push_back(name);
      if (name == "paths") {
        if (auto bad = paths(value)) return tl::unexpected(*bad);
      } else if (auto bad = option(key, value, known_)) {
        return tl::unexpected(*bad);
      }
    }
    return std::move(config_);
  }

  Expected<ProjectConfig> wrong(const toml::source_region& where, std::string_view what) const {
    return failure(
        fmt::format("{}:{}:{}: {}", file_.string(), where.begin.line, where.begin.column, what));
  }

 private:
  struct Key {
    std::string_view expected;
    Read read;
  };

  using Keys = std::map<std::string, Key, std::less<>>;

  // Reads one key; gives what is wrong with it.
  std::optional<Error> option(const toml::key& key, const toml::node& value,
                              const Keys& known) const {
    const std::string name(key.str());
    const auto found = known.find(name);
    const auto result =
        found == known.end()
            ? wrong(key.source(), fmt::format("`{}` is no option{}", name, nearest(name, known)))
        : found->second.read(value)
            ? Expected<ProjectConfig>()
            : wrong(value.source(), fmt::format("`{}` must be {}", name, found->second.expected));
    if (result) return std::nullopt;
    return result.error();
  }

  std::optional<Error> paths(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return wrong(node.source(), "`paths` must be a table with one table a glob").error();
    }
    for (const auto& [glob, value] : *table) {
      const toml::table* keys = value.as_table();
      if (keys == nullptr) {
        return wrong(value.source(), fmt::format("`{}` must be a table", glob.str())).error();
      }
      PathOptions path;
      path.glob = std::string(glob.str());
      std::vector<std::string> assume;
      const Keys known = {
          {"strict",
           {"true, which is all that it can add",
            [&](const toml::node& n) {
              return path.strict = n.value_exact<bool>().value_or(false);
            }}},
          {"assume", texts(assume)},
          {"select", texts(path.select)},
          {"ignore", texts(path.ignore)},
      };
      for (const auto& [key, setting] : *keys) {
        if (auto bad = option(key, setting, known)) return bad;
      }
      path.assume.insert(assume.begin(), assume.end());
      config_.paths.push_back(std::move(path));
    }
    return std::nullopt;
  }

  static Key texts(std::vector<std::string>& into) {
    return {"a list of texts", [&into](const toml::node& node) { return list(node, into); }};
  }

  static bool list(const toml::node& node, std::vector<std::string>& into) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return false;
    for (const toml::node& entry : *array) {
      const auto text = entry.value_exact<std::string>();
      if (!text) return false;
      into.push_back(*text);
    }
    return true;
  }

  bool target(const toml::node& node) {
    const auto text = node.value_exact<std::string>();
    if (text == "cuda") config_.target = Target::cuda;
    if (text == "ascend") config_.target = Target::ascend;
    return config_.target.has_value();
  }

  bool strict(const toml::node& node) {
    const auto value = node.value_exact<bool>();
    config_.strict = value.value_or(false);
    return value.has_value();
  }

  std::string beside(const std::string& path) const {
    return (file_.parent_path() / path).lexically_normal().string();
  }

  bool rules(const toml::node& node) {
    if (!list(node, config_.rules)) return false;
    for (std::string& path : config_.rules) path = beside(path);
    return true;
  }

  bool define(const toml::node& node) {
    if (!list(node, config_.define)) return false;
    return std::ranges::all_of(config_.define,
                               [](std::string name) { return check_define(name).empty(); });
  }

  bool baseline(const toml::node& node) {
    const auto text = node.value_exact<std::string>();
    if (text) config_.baseline = beside(*text);
    return text.has_value();
  }

  static std::string nearest(const std::string& name, const Keys& known) {
    constexpr unsigned kMost = 2;  // letters to change
    for (const auto& [key, read] : known) {
      if (llvm::StringRef(name).edit_distance(key, true, kMost + 1) <= kMost) {
        return fmt::format("; did you mean `{}`?", key);
      }
    }
    std::vector<std::string_view> keys;
    for (const auto& [key, read] : known) keys.push_back(key);
    return fmt::format("; there are {}", fmt::join(keys, ", "));
  }

  fs::path file_;
  ProjectConfig config_;
  Keys known_;
};

// What a file says; nothing where it is not there, or is a pyproject.toml that says nothing of
// refit.
Expected<std::optional<ProjectConfig>> read(const fs::path& file, bool pyproject) {
  std::error_code none;
  if (!fs::is_regular_file(file, none)) return std::optional<ProjectConfig>();
  ReadRoom room;
  const auto bytes = read_file(file.string(), kLongest, room);
  if (!bytes) {
    return failure(fmt::format("cannot read {}: {}", file.string(), bytes.error().message));
  }
  const toml::parse_result parsed = toml::parse(*bytes);
  Reader reader(file);
  if (!parsed) {
    // Others keep their own pyproject.toml, and say themselves what is wrong with it.
    if (pyproject && bytes->find("tool.refit") == std::string_view::npos) {
      return std::optional<ProjectConfig>();
    }
    const toml::parse_error& error = parsed.error();
    auto wrong = reader.wrong(error.source(), error.description());
    return tl::unexpected(wrong.error());
  }
  const toml::table* table = &parsed.table();
  if (pyproject) {
    const auto own = parsed.table()["tool"]["refit"];
    if (!own) return std::optional<ProjectConfig>();
    table = own.as_table();
    if (table == nullptr) {
      auto wrong = reader.wrong(own.node()->source(), "`tool.refit` must be a table");
      return tl::unexpected(wrong.error());
    }
  }
  auto config = reader.read(*table);
  if (!config) return tl::unexpected(config.error());
  return std::optional<ProjectConfig>(std::move(*config));
}

}  // namespace

Expected<ProjectConfig> project_config(const std::string& path) {
  std::error_code error;
  fs::path folder = fs::canonical(path, error);
  if (error) return ProjectConfig();  // said by whoever reads the path
  if (!fs::is_directory(folder, error)) folder = folder.parent_path();
  while (true) {
    for (const bool pyproject : {false, true}) {
      auto found = read(folder / (pyproject ? "pyproject.toml" : "refit.toml"), pyproject);
      if (!found) return tl::unexpected(found.error());
      if (*found) return std::move(**found);
    }
    if (fs::exists(folder / ".git", error) || folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return ProjectConfig();
}

}  // namespace refit

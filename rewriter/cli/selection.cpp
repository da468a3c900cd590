// Files of sites, and the choice of sites. Entry points: sites_text, Selection.
#include "rewriter/cli/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "rewriter/plan/engine.hpp"
#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/project/git_tree.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "refit-sites";
constexpr int kVersion = 1;
constexpr uint64_t kLongest = uint64_t{1} << 28;

Expected<std::set<std::string>> read_sites(const std::string& path) {
  ReadRoom room;
  const auto bytes = read_file(path, kLongest, room);
  if (!bytes) return failure(fmt::format("cannot read {}: {}", path, bytes.error().message));
  const Json json = Json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&](std::string_view what) {
    return failure(
        fmt::format("{}: {}; expected a file that `refit migrate --write-baseline` or a "
                    "review writes",
                    path, what));
  };
  if (json.is_discarded()) return wrong("it is no JSON");
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    return wrong(fmt::format("it has no \"format\": \"{}\"", kFormat));
  }
  if (json.value("version", Json()) != kVersion) {
    return wrong(fmt::format("its \"version\" is not {}", kVersion));
  }
  std::set<std::string> found;
  const Json sites = json.value("sites", Json());
  if (!sites.is_array()) return wrong("\"sites\" is no list");
  for (const Json& site : sites) {
    const Json print = site.is_object() ? site.value("fingerprint", Json()) : Json();
    if (!print.is_string()) return wrong("a site has no \"fingerprint\"");
    found.insert(print.get<std::string>());
  }
  return found;
}

}  // namespace

std::string sites_text(const std::vector<Finding>& findings) {
  Json sites = Json::array();
  for (const Finding& finding : findings) {
    sites.push_back({{"fingerprint", fingerprint(finding)},
                     {"rule", finding.rule},
                     {"file", finding.file},
                     {"line", finding.line}});
  }
  const Json json = {{"format", kFormat}, {"version", kVersion}, {"sites", sites}};
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Expected<Selection> Selection::read(const MigrateOptions& options) {
  Selection selection;
  if (options.choose) {
    auto sites = read_sites(*options.choose);
    if (!sites) return tl::unexpected(sites.error());
    selection.named_ = std::move(*sites);
  }
  if (!options.sites.empty()) {
    if (!selection.named_) selection.named_.emplace();
    selection.named_->insert(options.sites.begin(), options.sites.end());
  }
  if (options.baseline) {
    auto sites = read_sites(*options.baseline);
    if (!sites) return tl::unexpected(sites.error());
    selection.baseline_ = std::move(*sites);
  }
  selection.since_ = options.since;
  return selection;
}

Expected<std::set<std::string>> Selection::among(const std::vector<Finding>& findings,
                                                 const Input& input) const {
  if (const auto gone = missing(findings)) return failure(*gone);
  std::map<std::string, GitTree::Lines> changed;
  std::string below;  // the root's name in the work tree, whose top it is not where git ignores it
  if (since_) {
    const auto tree = GitTree::open(input.root);
    if (!tree) return tl::unexpected(tree.error());
    if (!*tree) {
      return failure(fmt::format("--since needs a git work tree, and {} is in none", input.root));
    }
    const std::filesystem::path root(input.root);
    if (root != (*tree)->top()) below = root.lexically_relative((*tree)->top()).string() + "/";
    std::set<std::string> files;
    for (const Finding& finding : findings) files.insert(below + finding.file);
    auto lines = (*tree)->changed_since(*since_, files);
    if (!lines) return tl::unexpected(lines.error());
    changed = std::move(*lines);
  }
  const auto is_new = [&](const Finding& finding) {
    const auto lines = changed.find(below + finding.file);
    return lines != changed.end() && std::ranges::any_of(lines->second, [&](const auto& stretch) {
             return stretch.first <= finding.end_line && finding.line <= stretch.second;
           });
  };
  std::set<std::string> chosen, definitions;  // definitions: by FILE:LINE
  for (const Finding& finding : findings) {
    std::string print = fingerprint(finding);
    if (named_ && !named_->contains(print)) continue;
    if (baseline_ && baseline_->contains(print)) continue;
    if (since_ && !is_new(finding)) continue;
    if (named_ && finding.through) definitions.insert(*finding.through);
    chosen.insert(std::move(print));
  }
  for (const Finding& finding : findings) {
    const std::string place = fmt::format("{}:{}", finding.file, finding.line);
    if (definitions.contains(place)) chosen.insert(fingerprint(finding));
  }
  return chosen;
}

std::optional<std::string> Selection::missing(const std::vector<Finding>& findings) const {
  if (!named_) return std::nullopt;
  std::set<std::string> left = *named_;
  for (const Finding& finding : findings) left.erase(fingerprint(finding));
  if (left.empty()) return std::nullopt;
  return fmt::format(
      "{} of the {} are not in this tree, {} for one: the choice was made of another version of "
      "it; review it anew",
      left.size(), count_of(named_->size(), "chosen site"), *left.begin());
}

void Selection::leave(RunResult& result, const std::set<std::string>& shown) {
  const std::size_t gone = std::erase_if(
      result.findings, [&](const Finding& f) { return !shown.contains(fingerprint(f)); });
  if (gone != 0) {
    result.notes.push_back(fmt::format(
        "{} that were not chosen are not shown and stay as they are.", count_of(gone, "site")));
  }
}

}  // namespace refit

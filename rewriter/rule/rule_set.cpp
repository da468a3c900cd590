// RuleSet::load gathers rule files, reads them and settles ids across files; RuleSet::select keeps
// what the command line asks for.
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "rewriter/rule/package.hpp"
#include "rewriter/rule/rule.hpp"
#include "rewriter/rule/rule_reader.hpp"
#include "rewriter/rule/yaml_file.hpp"

namespace refit {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

std::string place(const RuleLocation& at) {
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

// The files behind the paths, in the order given; a file reached twice counts once.
std::vector<std::string> rule_files(const std::vector<std::string>& paths,
                                    std::vector<std::string>& mistakes) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::vector<fs::path> seen;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      mistakes.push_back(path + ": expected a rule file or a folder of them, found nothing there");
      continue;
    }
    std::vector<std::string> found{path};
    if (fs::is_directory(status)) {
      auto listed =
          yaml_files(path, true, {"catalogue", "targets", "isomorphisms.yaml", kManifest});
      if (!listed) {
        mistakes.push_back(listed.error().message);
        continue;
      }
      found = std::move(*listed);
      const bool other =
          fs::exists(path + "/catalogue", error) || fs::exists(path + "/isomorphisms.yaml", error);
      if (found.empty() && !other) {
        mistakes.push_back(path + ": expected rule files (*.yaml) in the folder, found none");
      }
    }
    for (std::string& file : found) {
      fs::path canonical = fs::weakly_canonical(file, error);
      if (std::ranges::find(seen, canonical) != seen.end()) continue;
      seen.push_back(std::move(canonical));
      files.push_back(std::move(file));
    }
  }
  return files;
}

Expected<YamlFile> open(const std::string& path, const std::map<std::string, std::string>& texts) {
  if (texts.empty()) return YamlFile::open(path);
  std::error_code error;
  const auto given = texts.find(std::filesystem::weakly_canonical(path, error).string());
  return given == texts.end() ? YamlFile::open(path) : YamlFile::parse(path, given->second);
}

// A file holds one rule, or several under `rules`.
std::vector<const YamlNode*> rule_nodes(YamlFile& file) {
  std::vector<const YamlNode*> nodes;
  const YamlNode& root = file.root();
  if (!root.is_mapping()) {
    file.report(root, root.is_null() ? "expected a rule, found an empty file"
                                     : "expected a rule, or several under `rules:`");
    return nodes;
  }
  const bool several = std::ranges::any_of(root.entries, [](const YamlNode::Entry& entry) {
    return entry.key.is_scalar() && entry.key.text == "rules";
  });
  if (!several) {
    nodes.push_back(&root);
    return nodes;
  }
  auto keys = file.mapping(root, "a file of rules", kRuleFileKeys);
  const YamlNode* list = keys ? keys->find("rules") : nullptr;
  if (list && (!list->is_sequence() || list->items.empty())) {
    file.report(*list, "expected a list of rules under `rules`");
  } else if (list) {
    for (const YamlNode& node : list->items) nodes.push_back(&node);
  }
  return nodes;
}

bool matches(const std::string& glob, const std::string& id) {
  return fnmatch(glob.c_str(), id.c_str(), 0) == 0;
}

}  // namespace

Expected<RuleSet> RuleSet::load(const std::vector<std::string>& paths,
                                const std::string& catalogue_directory,
                                const std::map<std::string, std::string>& texts) {
  const auto packages = read_packages(paths, catalogue_directory);
  if (!packages) return tl::unexpected(packages.error());
  auto catalogue = Catalogue::load(catalogue_directory, packages->catalogues);
  if (!catalogue) return tl::unexpected(catalogue.error());
  RuleSet set;
  set.catalogue_ = std::move(*catalogue);
  set.spellings_ = packages->spellings;
  std::vector<std::string> mistakes;
  for (const std::string& path : rule_files(paths, mistakes)) {
    auto file = open(path, texts);
    if (!file) {
      mistakes.push_back(file.error().message);
      continue;
    }
    RuleReader reader(*file, set.catalogue_);
    for (const YamlNode* node : rule_nodes(*file)) {
      auto rule = reader.read(*node);
      if (!rule) continue;
      const auto twin =
          std::ranges::find_if(set.rules_, [&](const Rule& other) { return other.id == rule->id; });
      if (twin != set.rules_.end()) {
        file->report(YamlPlace{rule->at.line, rule->at.column},
                     "the rule `" + rule->id + "` exists already, at " + place(twin->at) +
                         "; give one of them another id");
      }
      set.rules_.push_back(std::move(*rule));
    }
    for (std::string& mistake : file->mistakes()) mistakes.push_back(std::move(mistake));
  }
  if (!mistakes.empty()) return failure(joined(mistakes));
  if (set.rules_.empty()) return failure("expected at least one rule, found none");
  return set;
}

Expected<void> RuleSet::select(const std::vector<std::string>& select,
                               const std::vector<std::string>& ignore) {
  std::vector<std::string> ids;
  ids.reserve(rules_.size());
  for (const Rule& rule : rules_) ids.push_back(rule.id);
  std::vector<std::string> mistakes;
  for (const auto* globs : {&select, &ignore}) {
    for (const std::string& glob : *globs) {
      if (std::ranges::none_of(ids, [&](const std::string& id) { return matches(glob, id); })) {
        mistakes.push_back("no rule matches `" + glob + "`" + did_you_mean(nearest(glob, ids)));
      }
    }
  }
  if (!mistakes.empty()) return failure(joined(mistakes));
  std::erase_if(rules_, [&](const Rule& rule) {
    auto any = [&](const std::vector<std::string>& globs) {
      return std::ranges::any_of(globs,
                                 [&](const std::string& glob) { return matches(glob, rule.id); });
    };
    return (!select.empty() && !any(select)) || any(ignore);
  });
  return {};
}

}  // namespace refit

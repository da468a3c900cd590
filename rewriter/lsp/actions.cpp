#include "rewriter/lsp/actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "rewriter/lsp/sites.hpp"
#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/diff.hpp"

namespace refit::lsp {
namespace {

// No kind below source.fixAll: an editor that applies those when it saves would migrate code that
// nobody has looked at.
constexpr char kFix[] = "quickfix", kFile[] = "source.refit";

constexpr const char* kKinds[] = {"site", "file", "ignore"};

// Whether a client that asks for these kinds, or kinds below them, wants one.
bool wanted(const Json& only, std::string_view kind) {
  if (!only.is_array()) return true;
  return std::ranges::any_of(only, [&](const Json& entry) {
    if (!entry.is_string()) return false;
    const auto& asked = entry.get_ref<const std::string&>();
    if (asked.empty()) return true;
    return kind.starts_with(asked) && (kind.size() == asked.size() || kind[asked.size()] == '.');
  });
}

Json action(const std::string& title, const char* kind, const Deed& deed) {
  return {{"title", title}, {"kind", kind}, {"data", deed.data()}};
}

}  // namespace

Json Deed::data() const {
  return {{"do", kKinds[static_cast<int>(kind)]}, {"uri", uri},   {"revision", revision},
          {"fingerprint", fingerprint},           {"line", line}, {"rule", rule}};
}

std::optional<Deed> Deed::of(const Json& data) {
  const auto what = text_at(data, {"do"}), uri = text_at(data, {"uri"});
  const auto print = text_at(data, {"fingerprint"}), rule = text_at(data, {"rule"});
  const auto revision = number_at(data, {"revision"}), line = number_at(data, {"line"});
  const auto* kind = std::ranges::find(kKinds, what.value_or(""));
  if (kind == std::end(kKinds) || !uri || !print || !rule || !revision || !line) {
    return std::nullopt;
  }
  return Deed{static_cast<Kind>(kind - kKinds), *uri, *revision, *print,
              static_cast<uint32_t>(*line),     *rule};
}

std::vector<Json> site_actions(const Analysis& analysis, const std::string& file, uint32_t first,
                               uint32_t last, const Json& only, const Deed& document) {
  std::vector<Json> actions;
  Deed deed = document;
  const auto sites = sites_on(analysis, file, first, last);
  for (const Finding* site : sites) {
    if (site->outcome != Outcome::rewritten || !wanted(only, kFix)) continue;
    deed.kind = Deed::Kind::site;
    deed.fingerprint = fingerprint(*site);
    deed.line = site->line;
    deed.rule = site->rule;
    const std::string title =
        site->through ? fmt::format("Rewrite the definition at {} [{}]", *site->through, site->rule)
                      : fmt::format("Rewrite {} [{}]", site->callee, site->rule);
    actions.push_back(action(title, kFix, deed));
  }
  const auto all = std::ranges::count_if(analysis.result.findings, [&](const Finding& finding) {
    return finding.file == file && finding.outcome == Outcome::rewritten && !finding.through;
  });
  // Among the fixes of a line only where it has one.
  const bool asked = only.is_array() && wanted(only, kFile);
  const bool offered = !actions.empty() && all > 1;
  if (all != 0 && (asked || offered)) {
    deed = document;
    deed.kind = Deed::Kind::file;
    const auto number = static_cast<uint64_t>(all);
    actions.push_back(
        action(all == 1 ? "Rewrite the site of this file"
                        : fmt::format("Rewrite all {} of this file", count_of(number, "site")),
               asked ? kFile : kFix, deed));
  }
  std::set<std::pair<uint32_t, std::string>> kept;
  for (const Finding* site : sites) {
    if (site->code == "ignored" || site->through || !wanted(only, kFix)) continue;
    if (!kept.insert({site->line, site->rule}).second) continue;
    deed.kind = Deed::Kind::ignore;
    deed.fingerprint = fingerprint(*site);
    deed.line = site->line;
    deed.rule = site->rule;
    actions.push_back(
        action(fmt::format("Keep as it is: refit: ignore[{}]", site->rule), kFix, deed));
  }
  return actions;
}

Expected<Json> text_edits(const Document& before, const std::string& after) {
  const auto changes = changed_lines(before.text(), after);
  if (!changes) return tl::unexpected(changes.error());
  Json edits = Json::array();
  std::vector<std::size_t> begins{0};
  for (std::size_t at = 0; at < before.text().size(); ++at) {
    if (before.text()[at] == '\n') begins.push_back(at + 1);
  }
  begins.push_back(before.text().size());
  const auto begin_of = [&](uint32_t line) {
    return begins[std::min<std::size_t>(line, begins.size() - 1)];
  };
  for (const LineChange& change : *changes) {
    edits.push_back(
        {{"range", before.range(begin_of(change.first), begin_of(change.first + change.count))},
         {"newText", change.text}});
  }
  return edits;
}

std::vector<std::string> with_ignore(const Document& document, uint32_t line,
                                     const std::string& rule, bool cpp) {
  const std::string comment = fmt::format("{} refit: ignore[{}]", cpp ? "//" : "#", rule);
  const std::string_view here = document.line(line - 1);
  const std::size_t begin = document.line_begin(line - 1);
  std::string behind = document.text(), above = document.text();
  behind.insert(begin + here.size(), (here.ends_with(' ') ? " " : "  ") + comment);
  const std::size_t code = std::min(here.find_first_not_of(" \t"), here.size());
  const std::string_view end = document.text().find("\r\n") == std::string::npos ? "\n" : "\r\n";
  above.insert(begin, fmt::format("{}{}{}", here.substr(0, code), comment, end));
  return {std::move(behind), std::move(above)};
}

bool only_ignores(const Analysis& before, const Analysis& after, const std::string& file,
                  const Deed& site, uint32_t added) {
  // The site's own lines, and what is expected of all that does not stand there.
  uint32_t end_line = site.line;
  for (const Finding& finding : before.result.findings) {
    const bool same = finding.file == file && finding.line == site.line &&
                      finding.rule == site.rule && fingerprint(finding) == site.fingerprint;
    if (same) end_line = std::max(end_line, finding.end_line);
  }
  using Other = std::tuple<std::string, uint32_t, std::string, std::string, std::string>;
  const auto others = [&](const Analysis& analysis, uint32_t shift) {
    std::vector<Other> found;
    for (const Finding& finding : analysis.result.findings) {
      if (finding.function.empty()) continue;  // a call that follows its definition
      const bool below = finding.file == file && finding.line >= site.line + shift;
      const uint32_t moved = below ? shift : 0;
      const bool on_lines = finding.file == file && finding.line - moved <= end_line &&
                            finding.end_line - moved >= site.line;
      if (on_lines) continue;
      const bool lost = finding.code == "ignored" || finding.code == "syntax-error";
      found.emplace_back(finding.file, finding.line - moved, finding.rule, fingerprint(finding),
                         lost ? finding.code : "");
    }
    std::ranges::sort(found);
    return found;
  };
  const bool kept = std::ranges::any_of(after.result.findings, [&](const Finding& finding) {
    return finding.file == file && finding.line == site.line + added && finding.rule == site.rule &&
           finding.code == "ignored" && fingerprint(finding) == site.fingerprint;
  });
  return kept && others(before, 0) == others(after, added) &&
         before.result.problems.size() == after.result.problems.size();
}

}  // namespace refit::lsp

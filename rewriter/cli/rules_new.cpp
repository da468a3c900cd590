// See rules_new.hpp.
#include "rewriter/cli/rules_new.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "rewriter/cli/rule_lint.hpp"
#include "rewriter/cli/rule_tests.hpp"
#include "rewriter/cli/temporary_folder.hpp"
#include "rewriter/draft/draft.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {
namespace {

constexpr uint64_t kLongest = 1 << 20;
constexpr std::string_view kId = "abcdefghijklmnopqrstuvwxyz0123456789-";

// One example as the engine reads the tests of rules: alone in its tree, as m.py.
Input example(const std::string& text) {
  return {"/", {{"/m.py", "m.py", std::make_shared<const std::string>(text)}}, {""}};
}

// A text that a block of YAML holds as it is, or what is in the way.
Expected<std::string> read_example(const std::string& path) {
  ReadRoom room;
  const auto bytes = read_file(path, kLongest, room);
  if (!bytes) return failure(fmt::format("cannot read {}: {}", path, bytes.error().message));
  std::string text(*bytes);
  const bool plain = std::ranges::all_of(
      text, [](unsigned char c) { return c == '\n' || (c >= ' ' && c != 0x7f); });
  if (text.empty() || text.front() == ' ' || text.front() == '\n' || !plain) {
    return failure(fmt::format(
        "{} must begin with a line that is not empty or indented, and hold no tabs, carriage "
        "returns or other control characters, since it becomes a test in the rule's file",
        path));
  }
  while (text.ends_with("\n\n")) text.pop_back();
  if (text.back() != '\n') text += '\n';
  return text;
}

std::string block(std::string_view text, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += line.empty() ? "\n" : std::string(indent, ' ') + std::string(line) + "\n";
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return out;
}

std::string yaml_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

// A name as ids are written.
std::string hyphened(std::string name) {
  for (char& c : name) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  while (name.ends_with('-')) name.pop_back();
  return name;
}

std::string rule_text(const Draft& draft, const std::string& id, const std::string& before,
                      const std::string& after) {
  std::vector<std::string> triggers;
  for (const auto& words : draft.triggers) {
    std::vector<std::string> items;
    for (const std::string& word : words) items.push_back(yaml_text(word));
    triggers.push_back(fmt::format("[{}]", fmt::join(items, ", ")));
  }
  const std::string subject = hyphened(draft.callee.substr(draft.callee.rfind('.') + 1));
  return fmt::format(
      "id: {}\nsummary: {}\nsubject: {}\nmatch:\n  pattern: |\n    {}\nrewrites:\n  - target: "
      "cuda\n    with: {}\n"
      "triggers: [{}]\ntests:\n  - name: the example\n    before: |\n{}    after: |\n{}",
      id, yaml_text("what " + draft.function + " computes becomes " + draft.callee), subject,
      draft.pattern, yaml_text(draft.rewrite), fmt::join(triggers, ", "), block(before, 6),
      block(after, 6));
}

// What the author has to think of, since one example cannot show it.
std::string advice(const Draft& draft) {
  std::string text =
      fmt::format("`{}` becomes `{}`\n", draft.pattern.substr(std::string_view("return ").size()),
                  draft.rewrite);
  for (const std::string& hole : draft.holes)
    text += fmt::format("generalised: ${} stands for any value\n", hole);
  for (const std::string& constant : draft.constants)
    text += fmt::format("kept: {} must stand in the code as it does in the example\n", constant);
  text +=
      "consider a clause under `where`, with a test of what it refuses, for each of these that the "
      "new call "
      "does not take as the old code did:\n"
      "  half types and promotion: `numeric: true` in the test runs both versions in three types\n";
  if (draft.holes.size() > 1)
    text += "  shapes: operands that broadcast, or have fewer dimensions (`rank`)\n";
  text +=
      "  operands that are numbers, None or objects and no tensors (`number`, `tensor_or_none`, "
      "`no_object`)\n"
      "  training, and code that is compiled by TorchScript or exported (`not_within`)\n";
  return text;
}

class Drafting {
 public:
  Drafting(Session& session, const RulesOptions& options) : session_(session), options_(options) {}

  void run(const RuleSet& rules) {
    const auto before = read_example(options_.before), after = read_example(options_.after);
    for (const auto* text : {&before, &after}) {
      if (!*text) return stop(text->error().message, ExitCode::unreadable_input);
    }
    const auto languages = session_.services.languages(session_.rules_folder);
    const auto draft = draft_rule(*languages, rules.catalogue(), example(*before), example(*after));
    if (!draft) return stop(draft.error().message);
    const std::string id = options_.id.empty() ? hyphened(draft->function) : options_.id;
    const bool taken = std::ranges::find(rules.rules(), id, &Rule::id) != rules.rules().end();
    if (taken || id.empty() || id.find_first_not_of(kId) != std::string::npos) {
      const auto why =
          taken ? "another rule has that id" : "an id has small letters, digits and hyphens";
      return stop(fmt::format("the rule cannot be called `{}`: {}; name it with --id", id, why),
                  ExitCode::usage);
    }
    std::string text = rule_text(*draft, id, *before, *after);
    auto failed = test(text);
    if (!failed) return;
    if (!failed->says.empty() && !failed->now.empty()) {
      // Imports and the order of arguments are the tool's; what is computed must be the example's.
      const auto same =
          same_computations(*languages, rules.catalogue(), example(failed->now), example(*after));
      if (same && *same) {
        text = rule_text(*draft, id, *before, failed->now);
        failed = test(text);
        if (!failed) return;
      }
    }
    if (!failed->says.empty()) {
      return stop(fmt::format(
          "the rule that the example shows does not pass its own test: {}\nIt would be:\n{}",
          failed->says, text));
    }
    session_.write_output(options_.output, "rule", text);
    if (!failed->doubts.empty()) {
      session_.console.error(
          printable("`refit rules check` says of it:\n" + failed->doubts, Breaks::kept));
    }
    session_.console.error(printable(advice(*draft) + known_already(rules, *before), Breaks::kept));
  }

 private:
  struct Tested {
    std::string says, now;  // both empty: the test has passed
    std::string doubts;     // of `rules check`
  };

  void stop(const std::string& message, ExitCode code = ExitCode::would_change) {
    session_.fail(message, code, Breaks::kept);
  }

  // A line for each of the other rules that rewrites the example.
  std::string known_already(const RuleSet& rules, const std::string& before) {
    const auto found = session_.run(rules, example(before));
    std::string text;
    for (const Finding& finding : found ? found->findings : std::vector<Finding>{}) {
      if (finding.outcome != Outcome::rewritten) continue;
      text += fmt::format("note: the rule {} rewrites the example already\n", finding.rule);
    }
    return text;
  }

  // Loads the rule beside the others and runs its test; nothing where the rule does not load, which
  // is said.
  std::optional<Tested> test(const std::string& text) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/new.yaml";
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (folder.path().empty() || !file) {
      stop("cannot write to the system's folder for temporary files", ExitCode::not_written);
      return std::nullopt;
    }
    RuleOptions all = options_.rules;
    all.rules.push_back(path);
    all.select.clear();
    all.ignore.clear();
    const auto rules = session_.load(all);
    if (!rules) return std::nullopt;
    const auto results =
        test_rules(*rules, rules_of(*rules, {path}), session_.rules_folder, session_.services);
    if (!results) {
      stop(results.error().message, ExitCode::bad_rules);
      return std::nullopt;
    }
    if (results->failures.empty())
      return Tested{"", "", lint_text(*rules, rules_of(*rules, {path}))};
    return Tested{results->failures.front().says, results->failures.front().now, ""};
  }

  Session& session_;
  const RulesOptions& options_;
};

}  // namespace

void new_rule(Session& session, const RulesOptions& options, const RuleSet& rules) {
  std::error_code none;
  if (options.output != "-" && std::filesystem::exists(options.output, none)) {
    session.fail(options.output + " is there already; name another file with --output",
                 ExitCode::usage);
    return;
  }
  Drafting(session, options).run(rules);
}

}  // namespace refit

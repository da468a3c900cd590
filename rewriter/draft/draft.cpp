// See draft.hpp.
#include "rewriter/draft/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include "rewriter/draft/difference.hpp"
#include "rewriter/draft/spelling.hpp"
#include "rewriter/graph/compare.hpp"

namespace refit {
namespace {

// A file's unit with what reads it, which must outlive it.
struct Version {
  std::unique_ptr<Frontend> frontend;
  std::unique_ptr<Unit> unit;
};

// The spellings as they stand: a rule's own are brought to their normal form where it is loaded.
const Isomorphisms& no_isomorphisms() {
  static const Isomorphisms none;
  return none;
}

Expected<Version> load(const Languages& languages, const Catalogue& catalogue, const Input& input) {
  Version version;
  version.frontend = languages.frontend(Language::python, input, catalogue, no_isomorphisms());
  const InputFile& file = input.files.front();
  auto source = Source::decode(file.path, *file.bytes);
  if (!source) return tl::unexpected(source.error());
  auto unit = version.frontend->load(std::move(*source), file.relative);
  if (!unit) return tl::unexpected(unit.error());
  version.unit = std::move(*unit);
  if (!version.unit->syntax_errors.empty()) {
    const auto at = version.unit->source().position(version.unit->syntax_errors.front().begin);
    return failure(fmt::format("line {} is no Python", at.line));
  }
  return version;
}

struct Place {
  const Function* before = nullptr;
  const Function* after = nullptr;
  Difference difference;
};

// The one function that returns something else.
Expected<Place> differing(const Unit& before, const Unit& after) {
  std::optional<Place> found;
  if (before.functions.size() != after.functions.size()) {
    return failure("the two files do not hold the same functions");
  }
  for (std::size_t i = 0; i < before.functions.size(); ++i) {
    const Function& one = before.functions[i];
    const Function& other = after.functions[i];
    if (one.qualified != other.qualified) {
      return failure(fmt::format("the first file has the function `{}` where the second has `{}`",
                                 one.name, other.name));
    }
    auto difference = find_difference(one.graph, other.graph);
    if (!difference)
      return failure(fmt::format("in `{}`: {}", one.name, difference.error().message));
    if (difference->before == kNone) continue;
    if (found) {
      return failure(fmt::format(
          "`{}` and `{}` both return something else; keep one difference in the example",
          found->before->name, one.name));
    }
    found = Place{&one, &other, *difference};
  }
  if (!found)
    return failure(
        "what the functions return is computed alike in both files, so there is no rule in it");
  return *found;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto in_word = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + word.size())) return true;
  }
  return false;
}

// The words by which an operation's calls are told; none that the example does not hold.
std::vector<std::string> call_words(const Operation& operation, std::string_view text) {
  std::vector<std::string> words = name_words(operation);
  words.insert(words.end(), operation.methods.begin(), operation.methods.end());
  std::ranges::sort(words);
  const auto twice = std::ranges::unique(words);
  words.erase(twice.begin(), twice.end());
  if (std::ranges::none_of(words, [&](const auto& word) { return has_word(text, word); }))
    return {};
  for (std::string& word : words) word += "()";
  return words;
}

}  // namespace

Expected<Draft> draft_rule(const Languages& languages, const Catalogue& catalogue,
                           const Input& before, const Input& after) {
  auto old_version = load(languages, catalogue, before);
  if (!old_version) return failure("the file before: " + old_version.error().message);
  auto new_version = load(languages, catalogue, after);
  if (!new_version) return failure("the file after: " + new_version.error().message);
  auto place = differing(*old_version->unit, *new_version->unit);
  if (!place) return tl::unexpected(place.error());
  const Graph& old_graph = place->before->graph;
  const Graph& new_graph = place->after->graph;
  const Value& call = new_graph[place->difference.after];
  if (call.kind != Kind::call && (call.kind != Kind::op || is_operator(*call.op))) {
    return failure(
        fmt::format("in `{}`, `{}` became `{}`, which is no call, and a rule's rewrite is one; "
                    "where several arguments of one call "
                    "differ, a rule would have to say which belong together",
                    place->before->name, spelt_out(old_graph, place->difference.before),
                    spelt_out(new_graph, place->difference.after)));
  }
  Holes holes;
  RuleSpelling old_text(*old_version->unit, old_graph, *old_version->frontend, holes);
  RuleSpelling new_text(*new_version->unit, new_graph, *new_version->frontend, holes);
  auto pattern = old_text.value(place->difference.before);
  if (!pattern) return failure("the computation before: " + pattern.error().message);
  const std::size_t bound = holes.names().size();
  auto rewrite = new_text.value(place->difference.after);
  if (!rewrite) return failure("the call after: " + rewrite.error().message);
  if (holes.names().size() > bound) {
    return failure(fmt::format("the new call reads `{}`, which the old computation does not",
                               holes.names()[bound]));
  }
  for (const std::string& hole : holes.names()) {
    if (has_word(*rewrite, hole)) continue;
    return failure(
        fmt::format("the new call leaves out `{}`, which the old computation reads", hole));
  }
  Draft draft{place->before->name, "return " + *pattern, *rewrite, call.op->id,
              holes.names(),       old_text.constants(), {}};
  const std::string_view text = old_version->unit->source().slice(place->before->range);
  for (const Operation* operation : old_text.operations()) {
    if (is_operator(*operation)) continue;
    auto words = call_words(*operation, text);
    if (!words.empty()) draft.triggers.push_back(std::move(words));
  }
  if (draft.triggers.empty()) {
    return failure(
        "the computation calls nothing by name, so that no word tells which files to read; write "
        "the rule by hand");
  }
  return draft;
}

Expected<bool> same_computations(const Languages& languages, const Catalogue& catalogue,
                                 const Input& one, const Input& other) {
  auto first = load(languages, catalogue, one);
  if (!first) return tl::unexpected(first.error());
  auto second = load(languages, catalogue, other);
  if (!second) return tl::unexpected(second.error());
  const auto& functions = first->unit->functions;
  return std::ranges::equal(functions, second->unit->functions,
                            [](const Function& a, const Function& b) {
                              if (a.qualified != b.qualified) return false;
                              const auto difference = find_difference(a.graph, b.graph);
                              return difference && difference->before == kNone;
                            });
}

}  // namespace refit

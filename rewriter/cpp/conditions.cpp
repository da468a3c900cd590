// What conditions of the preprocessor decide about, and whether a change could matter to it. Entry
// point: clear_of_conditions.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rewriter/cpp/frontend.hpp"
#include "rewriter/text/words.hpp"

namespace refit::cpp {

namespace {

bool mentions(std::string_view text, const std::set<std::string_view>& names) {
  bool found = false;
  visit_words(text, [&](uint64_t, size_t begin, size_t end) {
    found = found || names.contains(text.substr(begin, end - begin));
  });
  return found;
}

// Whether a text gives one of the variables another value: `x = …`, `x += …`.
bool assigns(std::string_view text, const std::set<std::string_view>& names) {
  bool found = false;
  visit_words(text, [&](uint64_t, size_t begin, size_t end) {
    if (found || !names.contains(text.substr(begin, end - begin))) return;
    size_t at = text.find_first_not_of(" \t\r\n", end);
    if (at == std::string_view::npos) return;
    if (std::string_view("+-*/").find(text[at]) != std::string_view::npos) ++at;
    found = at < text.size() && text[at] == '=' && text.substr(at, 2) != "==";
  });
  return found;
}

// The variables that a change looks through to what they hold, and those at which it ends: what
// they hold, too, is read for facts.
struct ReadThrough {
  std::set<std::string_view> names, ends;
};

ReadThrough read_through(const CppUnit& unit, const Change& change) {
  const Graph& g = unit.functions[change.function].graph;
  const std::vector<Local>& locals = unit.texts[change.function].locals;
  std::set<std::string_view> written;
  const auto write = [&](std::string_view text) {
    visit_words(text, [&](uint64_t, size_t begin, size_t end) {
      written.insert(text.substr(begin, end - begin));
    });
  };
  for (const NewArgument& a : change.arguments) write(a.text);
  if (auto call = unit.texts[change.function].calls.find(change.root);
      change.edit_call && call != unit.texts[change.function].calls.end()) {
    for (const CallText::Argument& a : call->second.arguments) write(unit.source().slice(a.range));
    if (call->second.receiver) write(unit.source().slice(*call->second.receiver));
  }
  std::multimap<ValueId, std::string_view> names;
  for (const Definition& d : g.definitions) names.emplace(d.value, locals[d.name].identifier);
  ReadThrough out;
  std::vector<ValueId> work{change.root};
  std::set<ValueId> seen;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    bool ends = false;
    // Nothing is read of what these hold.
    const bool plain = g[id].kind == Kind::parameter || g[id].kind == Kind::unknown ||
                       g[id].kind == Kind::attribute;
    for (auto [at, last] = names.equal_range(id); at != last; ++at) {
      if (id == change.root) continue;  // a name of what it gives stays
      const bool end = written.contains(at->second);
      if (!end) out.names.insert(at->second);
      if (end && !plain) out.ends.insert(at->second);
      ends = ends || end;
    }
    if (ends) continue;
    work.insert(work.end(), g[id].operands.begin(), g[id].operands.end());
  }
  return out;
}

}  // namespace

Expected<void> clear_of_conditions(const CppUnit& unit, const Change& change,
                                   const std::set<StatementId>& dead) {
  if (unit.branches.empty()) return {};
  const Graph& g = unit.functions[change.function].graph;
  const std::vector<Local>& locals = unit.texts[change.function].locals;
  ByteRange parts = g[change.root].range;
  std::set<std::string_view> gone, changed;  // names
  const auto spread = [&](ByteRange more) {
    if (more.size() == 0) return;
    parts = {std::min(parts.begin, more.begin), std::max(parts.end, more.end)};
  };
  for (StatementId id : dead) {
    spread(g.statements[id].range);
    for (DefinitionId d : g.statements[id].definitions) {
      gone.insert(locals[g.definitions[d].name].identifier);
    }
  }
  // Whatever is made of a transpose that goes has another layout.
  for (ValueId id : change.forwarded) spread(g[id].range);
  if (!change.forwarded.empty()) {
    for (const Local& local : locals) changed.insert(local.identifier);
  }
  const ReadThrough through = read_through(unit, change);
  const ByteRange function = unit.functions[change.function].range;
  for (const ByteRange& branch : unit.branches) {
    if (branch.contains(parts)) continue;  // it goes with all of them
    const bool between = branch.begin < parts.end && parts.begin < branch.end;
    // A name that goes may get its value there, too: in the other branch of one condition.
    const std::string_view text = unit.source().slice(branch);
    const bool reads =
        (function.contains(branch) &&
         (mentions(text, gone) || mentions(text, through.names) || assigns(text, through.ends))) ||
        (branch.begin >= parts.begin && mentions(text, changed));
    if (!between && !reads) continue;
    return failure(
        fmt::format("which code is compiled behind line {} depends on the build, and what would go "
                    "may be needed "
                    "there; make the condition enclose the whole computation",
                    unit.source().position(branch.begin).line - 1));
  }
  return {};
}

}  // namespace refit::cpp

// See visible.hpp. What a definition may see at most decides nearly always; only what passes that
// is asked for more.
#include "rewriter/frontend/python/visible.hpp"

#include <algorithm>
#include <unordered_set>

#include "rewriter/frontend/python/addend.hpp"

namespace refit::python {

bool may_be_seen(const OutlinedDefinition& d, bool own_member) {
  if (d.is_class) return false;
  if (!own_member) return d.owner == SIZE_MAX;
  return d.owner != SIZE_MAX && d.name.starts_with("_") && !d.name.starts_with("__");
}

Visible::Visible(std::string_view text, const Outline& outline, const Focus& focus,
                 const Meant& meant)
    : text_(text),
      outline_(outline),
      focus_(focus),
      names_(meant),
      mentioned_(text, outline, *focus.literals, places_),
      assumed_(focus.literals->untold()),
      only_shown_(focus.literals->none()),
      parts_(outline.definitions.size()) {
  for (size_t n = 0; focus.shown != nullptr && n < focus.shown->size(); ++n) {
    only_shown_.set((*focus.shown)[n].literal);
  }
  meant_.assign(2 * mentioned_.names(), SIZE_MAX);
  for (size_t name = 0; name < meant_.size(); ++name) {
    each_meant(name / 2, name % 2 != 0,
               [&](size_t d) { meant_[name] = meant_[name] == SIZE_MAX ? d : kSeveral; });
  }
}

bool Visible::wanted(size_t i) {
  const OutlinedDefinition& d = outline_.definitions[i];
  const ByteRange where{d.header, d.end};
  const size_t group = group_of(i);
  auto shows = [&](size_t n) { return shows_in(group, n); };
  if (auto told = told_by_shown(where, groups_[group].bare, shows)) return *told;
  return with_shown(where, seen(group), shows);
}

// Where all that may be seen (`bare`) makes nothing wanted without something that is only shown,
// what is wanted for that alone decides, and conditions matter only to what is wanted for it
// together with something else. nullopt where conditions have to be asked.
template <typename Shows>
std::optional<bool> Visible::told_by_shown(ByteRange where, LiteralBits bare, Shows shows) {
  if (focus_.wanted(where, bare)) return std::nullopt;
  if (focus_.shown == nullptr) return false;
  LiteralBits most = bare;
  most |= only_shown_;
  if (!focus_.wanted(where, most)) return false;
  for (const auto what : {Shown::What::object, Shown::What::addition}) {
    for (size_t n = 0; n < focus_.shown->size(); ++n) {
      const Shown& shown = (*focus_.shown)[n];
      if (shown.what != what) continue;
      LiteralBits alone = focus_.literals->none();
      alone.set(shown.literal);
      if (!focus_.wanted(where, alone)) {
        bare.set(shown.literal);
      } else if (shows(n)) {
        return true;
      }
    }
  }
  return focus_.wanted(where, bare) ? std::nullopt : std::optional(false);
}

// What is only shown is asked about where it decides: by itself, an attribute before a sum, and
// then what decides only together.
template <typename Shows>
bool Visible::with_shown(ByteRange where, LiteralBits seen, Shows shows) {
  if (focus_.wanted(where, seen)) return true;
  if (focus_.shown == nullptr) return false;
  LiteralBits most = seen;
  most |= only_shown_;
  if (!focus_.wanted(where, most)) return false;
  LiteralBits possible = seen;
  std::vector<size_t> together;
  for (const auto what : {Shown::What::object, Shown::What::addition}) {
    for (size_t n = 0; n < focus_.shown->size(); ++n) {
      const Shown& shown = (*focus_.shown)[n];
      if (shown.what != what) continue;
      LiteralBits with = seen;
      with.set(shown.literal);
      if (!focus_.wanted(where, with)) {
        together.push_back(n);
        possible.set(shown.literal);
      } else if (shows(n)) {
        return true;
      }
    }
  }
  if (together.empty() || !focus_.wanted(where, possible)) return false;
  for (size_t n : together) {
    if (shows(n)) seen.set((*focus_.shown)[n].literal);
  }
  return focus_.wanted(where, seen);
}

bool Visible::outside_wanted() { return outside_wanted({0, static_cast<uint32_t>(text_.size())}); }

bool Visible::outside_wanted(ByteRange where) {
  std::vector<ByteRange> parts;
  uint32_t at = where.begin;
  for (const OutlinedDefinition& d : outline_.definitions) {
    if (d.is_class || d.begin < at) continue;
    if (d.begin >= where.end) break;
    parts.push_back({at, d.body});
    at = d.end;
  }
  parts.push_back({at, std::max(at, where.end)});
  LiteralBits named = focus_.literals->none();  // the module's aliases stand in its own text
  for (ByteRange part : parts) {
    if (where.begin == 0) break;
    for (uint32_t alias : mentioned_.in(part.begin, part.end).aliases) add_alias(alias, named);
  }
  LiteralBits out = assumed_;
  out |= named;
  for (ByteRange part : parts) {
    for (Literals::Place place : places_in(part.begin, part.end)) out.set(place.id);
  }
  auto shows_outside = [&](size_t n) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](ByteRange part) { return shows(n, part.begin, part.end); });
  };
  if (auto told = told_by_shown(where, std::move(out), shows_outside)) return *told;
  for (ByteRange part : parts) {
    add_seen(part.begin, part.end, places_in(part.begin, part.end), named);
  }
  return with_shown(where, std::move(named), shows_outside);
}

bool Visible::changed(size_t i) const {
  const OutlinedDefinition& d = outline_.definitions[i];
  // In order and apart: the first that does not end before it is the one to ask.
  auto at = std::lower_bound(focus_.changed.begin(), focus_.changed.end(), d.begin,
                             [](ByteRange range, uint32_t begin) { return range.end < begin; });
  return at != focus_.changed.end() && at->begin <= d.end;
}

std::string_view Visible::text(size_t i) const {
  const OutlinedDefinition& d = outline_.definitions[i];
  return text_.substr(d.begin, d.end - d.begin);
}

const Mentioned::Part& Visible::part(size_t i) {
  const OutlinedDefinition& d = outline_.definitions[i];
  if (!parts_[i]) parts_[i] = mentioned_.in(d.begin, d.end);
  return *parts_[i];
}

Visible::Places Visible::places(size_t i) const {
  const OutlinedDefinition& d = outline_.definitions[i];
  return places_in(d.begin, d.end);
}

Visible::Places Visible::places_in(uint32_t begin, uint32_t end) const {
  auto from = [&](uint32_t at) {
    return std::lower_bound(places_.begin(), places_.end(), at,
                            [](Literals::Place p, uint32_t place) { return p.at < place; });
  };
  return {from(begin), from(std::max(begin, end))};
}

// From what was changed back to those that name it, and to those that name these.
std::vector<bool> Visible::see_change() {
  const auto& definitions = outline_.definitions;
  if (focus_.changed.empty()) return {};
  std::vector<std::vector<size_t>> naming(2 * mentioned_.names());
  std::vector<bool> out(definitions.size(), false), passed(naming.size(), false);
  std::vector<size_t> work;
  auto take = [&](size_t i) {
    if (!out[i]) work.push_back(i);
    out[i] = true;
  };
  for (size_t i = 0; i < definitions.size(); ++i) {
    if (definitions[i].is_class) continue;
    for (const Mentioned::Name& n : names(i))
      naming[2 * size_t{n.name} + (n.own ? 1 : 0)].push_back(i);
    if (changed(i)) take(i);
  }
  while (!work.empty()) {
    const OutlinedDefinition& d = definitions[work.back()];
    work.pop_back();
    for (const bool own : {false, true}) {
      const size_t number = mentioned_.number(d.name);
      if (number == SIZE_MAX || !may_be_seen(d, own)) continue;
      const size_t name = 2 * number + (own ? 1 : 0);
      if (passed[name]) continue;
      passed[name] = true;
      for (size_t i : naming[name]) take(i);
    }
  }
  return out;
}

// What stands in a part of the text, remarks apart.
void Visible::add_seen(uint32_t begin, uint32_t end, Places places, LiteralBits& out) const {
  each_but_remarks(outline_, {begin, end}, [&](ByteRange part) {
    focus_.literals->add_seen(text_, part.begin, part.end, places, out);
  });
}

void Visible::add_alias(size_t alias, LiteralBits& out) {
  if (alias >= aliases_.size()) aliases_.resize(alias + 1);
  std::optional<LiteralBits>& bits = aliases_[alias];
  if (!bits) {
    bits = focus_.literals->none();
    for (std::string_view meaning : mentioned_.meanings(alias)) {
      *bits |= focus_.literals->scan(meaning);
    }
  }
  out |= *bits;
}

// A group and those that it sees, short of what is `known` already and of what that sees; those
// first that see none of the others.
template <typename Known>
std::vector<size_t> Visible::reached(size_t group, Known known) const {
  std::vector<size_t> out{group}, work{group};
  std::unordered_set<size_t> met{group};
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    for (size_t next : groups_[at].next) {
      if (known(groups_[next]) || !met.insert(next).second) continue;
      out.push_back(next);
      work.push_back(next);
    }
  }
  std::sort(out.begin(), out.end());  // a group is closed after those that it sees
  return out;
}

const LiteralBits& Visible::seen(size_t group) {
  if (groups_[group].seen) return *groups_[group].seen;
  for (size_t g : reached(group, [](const Group& g) { return g.seen.has_value(); })) {
    LiteralBits out = focus_.literals->none();
    for (size_t i : groups_[g].members) {
      const OutlinedDefinition& d = outline_.definitions[i];
      add_seen(d.begin, d.end, places(i), out);
      for (uint32_t alias : part(i).aliases) add_alias(alias, out);
    }
    for (size_t next : groups_[g].next) out |= *groups_[next].seen;
    groups_[g].seen = std::move(out);
  }
  return *groups_[group].seen;
}

// Whether a group or one that it sees shows something.
bool Visible::shows_in(size_t group, size_t n) {
  auto known = [n](const Group& g) { return n < g.shows.size() && g.shows[n].has_value(); };
  if (!known(groups_[group])) {
    for (size_t g : reached(group, known)) {
      Group& here = groups_[g];
      here.shows.resize(focus_.shown->size());
      here.shows[n] = std::any_of(here.members.begin(), here.members.end(),
                                  [&](size_t i) {
                                    const OutlinedDefinition& d = outline_.definitions[i];
                                    return shows(n, d.begin, d.end);
                                  }) ||
                      std::any_of(here.next.begin(), here.next.end(),
                                  [&](size_t next) { return *groups_[next].shows[n]; });
    }
  }
  return *groups_[group].shows[n];
}

bool Visible::shows(size_t n, uint32_t begin, uint32_t end) {
  const Shown& shown = (*focus_.shown)[n];
  std::string_view part = text_.substr(begin, end - begin);
  if (shown.what == Shown::What::addition) {
    static constexpr std::string_view kSums[] = {"+", "add"};
    static constexpr std::string_view kProducts[] = {"*", "mul", "/", "+", "add"};
    return adds_one(text_, outline_.lines_in(begin, end),
                    {shown.names, shown.adders, [&](std::string_view name, bool method, bool sum) {
                       if (!method && !may_be_own(name)) return false;
                       return defines(part, name) || (sum ? may_compute(name, method, kProducts)
                                                          : may_compute(name, method, kSums));
                     }});
  }
  if (!made_) made_.emplace(text_, outline_, names_);
  if (made_of_.empty()) made_of_.resize(focus_.shown->size());
  if (!made_of_[n]) made_of_[n].emplace(shown.names);
  return made_->read_in(*made_of_[n], part);
}

// Whether a text has a function of its own of that name.
bool Visible::defines(std::string_view part, std::string_view name) {
  return part.find("def " + std::string(name)) != std::string_view::npos;
}

// Whether what a function of the file is given may reach one of these signs, in itself or in what
// it names; what is not known to the outline may do anything.
template <size_t n>
bool Visible::may_compute(std::string_view name, bool method, const std::string_view (&signs)[n]) {
  const size_t number = mentioned_.number(name);
  if (number == SIZE_MAX) return true;
  std::vector<size_t> work;
  each_meant(number, method, [&](size_t d) { work.push_back(d); });
  if (work.empty()) return true;
  std::unordered_set<size_t> met(work.begin(), work.end());
  while (!work.empty()) {
    const size_t d = work.back();
    work.pop_back();
    std::string_view body = text(d);
    for (std::string_view sign : signs) {
      if (body.find(sign) != std::string_view::npos) return true;
    }
    for (const Mentioned::Name& other : names(d)) {
      each_meant(other.name, other.own, [&](size_t next) {
        if (met.insert(next).second) work.push_back(next);
      });
    }
  }
  return false;
}

// Whether a name may be that of a function which a call can be seen through to.
bool Visible::may_be_own(std::string_view name) const {
  const Module& module = outline_.module;
  auto found = module.names.bindings.find(name);
  if (found == module.names.bindings.end()) {
    std::string last = "." + std::string(name);
    auto imported =
        std::find_if(module.inner_imports.begin(), module.inner_imports.end(),
                     [&](const std::string& qualified) { return qualified.ends_with(last); });
    if (imported != module.inner_imports.end()) return imported->starts_with(module.name + ".");
    static constexpr std::string_view kNoTensor[] = {
        "abs",     "all",     "any",   "bool",       "dict",  "enumerate", "float",
        "getattr", "hasattr", "int",   "isinstance", "len",   "list",      "max",
        "min",     "next",    "print", "range",      "round", "set",       "setattr",
        "sorted",  "str",     "sum",   "super",      "tuple", "type",      "zip"};
    return std::find(std::begin(kNoTensor), std::end(kNoTensor), name) == std::end(kNoTensor);
  }
  return std::any_of(found->second.begin(), found->second.end(), [&](const Binding& b) {
    if (b.kind == Binding::Kind::import) return b.qualified.starts_with(module.name + ".");
    return b.kind != Binding::Kind::class_;
  });
}

// Nodes are definitions and, behind them, names: twice each, see may_be_seen.
template <typename Visit>
void Visible::each_successor(size_t node, Visit visit) {
  const size_t count = outline_.definitions.size();
  if (node >= count) {
    each_meant((node - count) / 2, (node - count) % 2 != 0, visit);
    return;
  }
  size_t last = SIZE_MAX;
  for (const Mentioned::Name& n : names(node)) {
    const size_t name = 2 * size_t{n.name} + (n.own ? 1 : 0);
    if (name == last) continue;
    last = name;
    // A name that may mean several stands between those that mention and those that are meant.
    if (meant_[name] != SIZE_MAX) visit(meant_[name] == kSeveral ? count + name : meant_[name]);
  }
}

// Tarjan's strongly connected components with a stack of its own: each definition is walked once,
// whoever asks.
size_t Visible::group_of(size_t start) {
  const size_t nodes = outline_.definitions.size() + 2 * mentioned_.names();
  if (group_.empty()) {
    group_.assign(nodes, SIZE_MAX);
    number_.assign(nodes, 0);
    lowest_.assign(nodes, 0);
  }
  if (group_[start] != SIZE_MAX) return group_[start];
  struct Step {
    size_t node;
    std::vector<size_t> successors;
    size_t next = 0;
  };
  std::vector<Step> path;
  std::vector<size_t> open;
  auto enter = [&](size_t node) {
    number_[node] = lowest_[node] = ++numbered_;
    open.push_back(node);
    path.push_back({node, {}, 0});
    each_successor(node, [&](size_t next) { path.back().successors.push_back(next); });
  };
  enter(start);
  while (!path.empty()) {
    Step& step = path.back();
    if (step.next < step.successors.size()) {
      const size_t next = step.successors[step.next++];
      if (number_[next] == 0) {
        enter(next);
      } else if (group_[next] == SIZE_MAX) {
        lowest_[step.node] = std::min(lowest_[step.node], number_[next]);
      }
      continue;
    }
    const size_t node = step.node;
    path.pop_back();
    if (!path.empty()) {
      size_t& above = lowest_[path.back().node];
      above = std::min(above, lowest_[node]);
    }
    if (lowest_[node] == number_[node]) close(node, open);
  }
  return group_[start];
}

void Visible::close(size_t node, std::vector<size_t>& open) {
  const size_t count = outline_.definitions.size(), number = groups_.size();
  auto first = std::find(open.rbegin(), open.rend(), node).base() - 1;
  std::vector<size_t> members(first, open.end());
  open.erase(first, open.end());
  Group group;
  group.bare = assumed_;
  for (size_t member : members) group_[member] = number;
  for (size_t member : members) {
    if (member < count) {
      group.members.push_back(member);
      for (Literals::Place place : places(member)) group.bare.set(place.id);
      for (uint32_t alias : part(member).aliases) add_alias(alias, group.bare);
    }
    each_successor(member, [&](size_t next) {
      if (group_[next] == number) return;
      group.bare |= groups_[group_[next]].bare;
      group.next.push_back(group_[next]);
    });
  }
  std::sort(group.next.begin(), group.next.end());
  group.next.erase(std::unique(group.next.begin(), group.next.end()), group.next.end());
  groups_.push_back(std::move(group));
}

}  // namespace refit::python

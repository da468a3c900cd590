// What each function can see: its own text, the functions of the file that it names, and theirs,
// and what a renamed import or an alias of the module stands for. See choose.hpp.
#include "rewriter/frontend/python/choose.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "rewriter/frontend/python/addend.hpp"
#include "rewriter/frontend/python/lines.hpp"

namespace refit::python {

namespace {

bool name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Chooser {
 public:
  Chooser(std::string_view text, const Outline& outline, const Focus& focus,
          const ResolveName& resolve)
      : text_(text), outline_(outline), focus_(focus), resolve_(resolve) {
    for (size_t i = 0; i < outline.definitions.size(); ++i) {
      auto [at, fresh] = named_.emplace(outline.definitions[i].name, by_name_.size());
      if (fresh) by_name_.emplace_back();
      by_name_[at->second].push_back(i);
    }
    for (const auto& [local, bindings] : outline.module.names.bindings) {
      for (const Binding& b : bindings) {
        bool alias = b.kind == Binding::Kind::import || b.kind == Binding::Kind::assignment;
        if (!alias || b.qualified.empty()) continue;
        size_t dot = b.qualified.rfind('.');
        std::string_view last = std::string_view(b.qualified).substr(dot + 1);
        if (last != local || is_builtin(local)) renamed_[local].push_back(b.qualified);
      }
    }
  }

  Choice run() {
    static constexpr std::string_view kStarred[] = {".abs", ".all",   ".any",   ".max", ".min",
                                                    ".pow", ".range", ".round", ".sum"};
    if (!outline_.module.names.stars.empty()) {  // each may bring one of its own
      for (std::string_view name : kStarred) renamed_[name.substr(1)].push_back(name);
    }
    Choice out;
    const auto& definitions = outline_.definitions;
    std::vector<bool> wanted(definitions.size(), false);
    const std::vector<bool> seers = see_change();
    bool any = false;
    for (size_t i = 0; i < definitions.size(); ++i) {
      const OutlinedDefinition& d = definitions[i];
      if (d.is_class) continue;
      ByteRange where{d.header, d.end};
      wanted[i] = (focus_.changed.empty() || seers[i]) &&
                  (focus_.wanted(where, own(i)) || focus_.wanted(where, all(i)));
      any = any || wanted[i];
      if (!wanted[i]) out.left_out.push_back(where);
    }
    out.nothing = !any && !focus_.wanted({0, static_cast<uint32_t>(text_.size())}, outside());
    if (focus_.sparse && (!out.nothing || focus_.before != nullptr)) out.unseen = unseen(wanted);
    return out;
  }

 private:
  std::string_view text(size_t i) const {
    const OutlinedDefinition& d = outline_.definitions[i];
    return text_.substr(d.begin, d.end - d.begin);
  }

  // What stands in a part of the text, remarks apart, and the objects that it may call.
  LiteralBits seen_in(uint32_t begin, uint32_t end) {
    LiteralBits out = focus_.seen("");
    auto remark = std::lower_bound(outline_.remarks.begin(), outline_.remarks.end(), begin,
                                   [](ByteRange r, uint32_t at) { return r.begin < at; });
    for (uint32_t at = begin; at < end; ++remark) {
      bool last = remark == outline_.remarks.end() || remark->begin >= end;
      uint32_t stop = last ? end : remark->begin;
      if (stop > at) out |= focus_.seen(text_.substr(at, stop - at));
      if (last) break;
      at = remark->end;
    }
    for (size_t n = 0; focus_.shown != nullptr && n < focus_.shown->size(); ++n) {
      if (shows(n, begin, end)) out.set((*focus_.shown)[n].literal);
    }
    return out;
  }

  bool shows(size_t n, uint32_t begin, uint32_t end) {
    const Shown& shown = (*focus_.shown)[n];
    std::string_view part = text_.substr(begin, end - begin);
    if (shown.what == Shown::What::addition) {
      return adds_one(part, shown.names, [&](std::string_view name) { return may_be_own(name); });
    }
    if (made_.empty()) made_.resize(focus_.shown->size());
    if (!made_[n]) made_[n].emplace(text_, outline_, shown.names, resolve_);
    return made_[n]->read_in(part);
  }

  // Whether a name may be that of a function which a call can be seen through to.
  bool may_be_own(std::string_view name) const {
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

  // What the file's own statements see, those of its classes among them.
  LiteralBits outside() {
    LiteralBits out = focus_.seen("");
    uint32_t at = 0;
    for (const OutlinedDefinition& d : outline_.definitions) {
      if (d.is_class || d.begin < at) continue;
      out |= seen_in(at, d.body);
      at = d.end;
    }
    out |= seen_in(at, static_cast<uint32_t>(text_.size()));
    return out;
  }

  // The attributes of its object that a method stores: what a class's objects hold is read off
  // such stores.
  const std::vector<std::string_view>& stored(size_t i) {
    if (stored_.empty()) stored_.resize(outline_.definitions.size());
    if (stored_[i]) return *stored_[i];
    std::vector<std::string_view>& out = stored_[i].emplace();
    std::string_view body = text(i);
    constexpr std::string_view kSelf = "self.";
    for (size_t at = body.find(kSelf); at != std::string_view::npos; at = body.find(kSelf, at)) {
      size_t begin = at;
      at += kSelf.size();
      size_t name = at;
      while (at < body.size() && (name_byte(body[at]) || body[at] == '.')) ++at;
      size_t next = body.find_first_not_of(" \t", at);
      if (next == std::string_view::npos) break;
      std::string_view rest = body.substr(next);
      bool assigned = rest.starts_with("=") && !rest.starts_with("==");
      bool augmented = rest.find('=') <= 3 &&
                       std::string_view("+-*/@%&|^<>").find(rest[0]) != std::string_view::npos;
      size_t line = body.find_last_not_of(" \t(", begin == 0 ? 0 : begin - 1);
      bool first = line == std::string_view::npos || body[line] == '\n';
      if (!assigned && !augmented && !(first && (rest[0] == ':' || rest[0] == ','))) continue;
      std::string_view chain = body.substr(name, at - name);
      out.push_back(chain.substr(0, chain.find('.')));
    }
    return out;
  }

  // The names that follow a dot in a definition's own text.
  void add_members(size_t i, std::unordered_set<std::string_view>& members) const {
    std::string_view body = text(i);
    for (size_t at = body.find('.'); at != std::string_view::npos; at = body.find('.', at)) {
      ++at;
      while (at < body.size() && (space(body[at]) || body[at] == '\\')) ++at;
      size_t begin = at;
      while (at < body.size() && name_byte(body[at])) ++at;
      if (at > begin) members.insert(body.substr(begin, at - begin));
    }
  }

  // The methods that a definition names by their class, `Class.method`.
  template <typename Visit>
  void each_of_a_class(size_t i, Visit visit) const {
    std::string_view body = text(i);
    for (size_t dot = body.find('.'); dot != std::string_view::npos;
         dot = body.find('.', dot + 1)) {
      size_t begin = dot, end = dot + 1;
      while (begin > 0 && name_byte(body[begin - 1])) --begin;
      while (end < body.size() && name_byte(body[end])) ++end;
      auto owner = named_.find(body.substr(begin, dot - begin));
      auto member = named_.find(body.substr(dot + 1, end - dot - 1));
      if (owner == named_.end() || member == named_.end()) continue;
      for (size_t d : by_name_[member->second]) {
        size_t type = outline_.definitions[d].owner;
        if (type != SIZE_MAX && outline_.definitions[type].name == owner->first) visit(d);
      }
    }
  }

  // What is kept: what is wanted or was changed, what that calls, and of a class with a kept
  // method, of those that it inherits from and of those that inherit from it, its own statements
  // and the methods that store an attribute that something kept reads. Everything else is unseen.
  std::vector<Unseen> unseen(const std::vector<bool>& wanted) {
    const auto& definitions = outline_.definitions;
    std::vector<std::vector<size_t>> methods(definitions.size());
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i].owner != SIZE_MAX) methods[definitions[i].owner].push_back(i);
    }
    std::vector<bool> kept(definitions.size(), false), named(2 * by_name_.size(), false);
    std::vector<size_t> work, classes;
    std::unordered_set<std::string_view> members;
    auto keep = [&](size_t i) {
      if (kept[i]) return;
      kept[i] = true;
      work.push_back(i);
      if (definitions[i].is_class) {
        classes.push_back(i);
      } else {
        add_members(i, members);
      }
    };
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i].is_class) continue;
      if (wanted[i] || reaches_out(text(i)) || changed(i)) keep(i);
    }
    while (!work.empty()) {
      while (!work.empty()) {
        size_t i = work.back();
        work.pop_back();
        const OutlinedDefinition& d = definitions[i];
        if (d.owner != SIZE_MAX) keep(d.owner);
        if (d.is_class) {
          for (size_t kin : kin_of(i)) keep(kin);
        } else {
          for (size_t name : mentions(i).names) {
            if (named[name]) continue;
            named[name] = true;
            each_meant(name, keep);
          }
          each_of_a_class(i, keep);
        }
      }
      for (size_t type : classes) {
        for (size_t m : methods[type]) {
          if (kept[m] || definitions[m].is_class) continue;
          const auto& attributes = stored(m);
          if (std::any_of(attributes.begin(), attributes.end(),
                          [&](std::string_view name) { return members.contains(name); })) {
            keep(m);
          }
        }
      }
    }
    std::vector<Unseen> out;
    uint32_t masked_to = 0;
    for (size_t i = 0; i < definitions.size(); ++i) {
      const OutlinedDefinition& d = definitions[i];
      if (kept[i] || d.body + Tree::kFoldable > d.end || d.body < masked_to) continue;
      out.push_back({d.header, {d.body, d.end}});
      masked_to = d.end;
    }
    return out;
  }

  // `global NAME` in a function binds a name of the module; a class in it may inherit from any.
  static bool reaches_out(std::string_view body) {
    if (body.find("global ") != std::string_view::npos) return true;
    constexpr std::string_view kClass = "class ";
    for (size_t at = body.find(kClass); at != std::string_view::npos;
         at = body.find(kClass, at + 1)) {
      size_t before = at == 0 ? std::string_view::npos : body.find_last_not_of(" \t", at - 1);
      if (before != std::string_view::npos && (body[before] == '\n' || body[before] == ';')) {
        return true;
      }
    }
    return false;
  }

  bool changed(size_t i) const {
    const OutlinedDefinition& d = outline_.definitions[i];
    // In order and apart: the first that does not end before it is the one to ask.
    auto at = std::lower_bound(focus_.changed.begin(), focus_.changed.end(), d.begin,
                               [](ByteRange range, uint32_t begin) { return range.end < begin; });
    return at != focus_.changed.end() && at->begin <= d.end;
  }

  // The functions that were changed, those that name one of them, those that name those, and so on:
  // from what was changed back, so that few names are looked for.
  std::vector<bool> see_change() {
    const auto& definitions = outline_.definitions;
    if (focus_.changed.empty()) return {};
    std::vector<bool> out(definitions.size(), false), looked_for(2 * by_name_.size(), false);
    std::vector<size_t> work;
    auto take = [&](size_t i) {
      if (!out[i]) work.push_back(i);
      out[i] = true;
    };
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (!definitions[i].is_class && changed(i)) take(i);
    }
    for (size_t names = 0; !work.empty();) {
      const OutlinedDefinition& d = definitions[work.back()];
      work.pop_back();
      for (bool own_member : {false, true}) {
        const size_t name = 2 * named_.at(d.name) + (own_member ? 1 : 0);
        if (!may_be_seen(d, own_member) || looked_for[name]) continue;
        looked_for[name] = true;
        if (++names <= kFewNames) {
          each_naming(d.name, own_member, take);
        } else {
          for (size_t i : naming(name)) take(i);
        }
      }
    }
    return out;
  }

  static constexpr size_t kFewNames = 8;  // for each of which the whole text is searched

  template <typename Visit>
  void each_naming(std::string_view name, bool own_member, Visit visit) const {
    const auto& definitions = outline_.definitions;
    size_t i = 0;
    for (size_t at = text_.find(name); at != std::string_view::npos;
         at = text_.find(name, at + name.size())) {
      // Functions of the module and of its classes stand apart.
      while (i < definitions.size() && (definitions[i].is_class || definitions[i].end <= at)) ++i;
      if (i == definitions.size()) return;
      if (definitions[i].begin > at) continue;
      if (names_at(i, at - definitions[i].begin, name.size(), own_member)) visit(i);
    }
  }

  // The functions that name what has a number, of all names at once.
  const std::vector<size_t>& naming(size_t name) {
    if (naming_.empty()) {
      naming_.resize(2 * by_name_.size());
      for (size_t i = 0; i < outline_.definitions.size(); ++i) {
        if (outline_.definitions[i].is_class) continue;
        for (size_t named : mentions(i).names) naming_[named].push_back(i);
      }
    }
    return naming_[name];
  }

  // Whether the text at a place of a function is a word, and one that follows `self.` or no dot.
  bool names_at(size_t i, size_t at, size_t size, bool own_member) const {
    std::string_view body = text(i);
    if (at + size < body.size() && name_byte(body[at + size])) return false;
    if (at > 0 && name_byte(body[at - 1])) return false;
    return own_member ? member_of_self(body, at) : at == 0 || body[at - 1] != '.';
  }

  // Whether what stands at a place may be a method of the object that the text is a method of.
  static bool member_of_self(std::string_view body, size_t at) {
    return at >= 5 && body[at - 1] == '.' && body.substr(at - 5, 4) == "self";
  }

  // The classes of the file that a class names in its header, and those whose headers name it.
  const std::vector<size_t>& kin_of(size_t i) {
    if (kin_.empty()) {
      kin_.resize(outline_.definitions.size());
      for (size_t c = 0; c < outline_.definitions.size(); ++c) {
        const OutlinedDefinition& d = outline_.definitions[c];
        if (!d.is_class) continue;
        for (size_t at = d.header; at < d.body; ++at) {
          if (!name_byte(text_[at])) continue;
          size_t end = at + 1;
          while (end < d.body && name_byte(text_[end])) ++end;
          auto named = named_.find(text_.substr(at, end - at));
          at = end;
          if (named == named_.end()) continue;
          for (size_t base : by_name_[named->second]) {
            if (base == c || !outline_.definitions[base].is_class) continue;
            kin_[c].push_back(base);
            kin_[base].push_back(c);
          }
        }
      }
    }
    return kin_[i];
  }

  const LiteralBits& own(size_t i) {
    if (own_.empty()) own_.resize(outline_.definitions.size());
    const OutlinedDefinition& d = outline_.definitions[i];
    if (!own_[i]) own_[i] = seen_in(d.begin, d.end);
    return *own_[i];
  }

  // What a definition sees with everything that it names, directly or not.
  const LiteralBits& all(size_t i) { return groups_[group_of(i)]; }

  // Nodes are definitions and, behind them, names: twice each, see may_be_seen.
  template <typename Visit>
  void each_successor(size_t node, Visit visit) {
    const size_t count = outline_.definitions.size();
    if (node >= count) {
      each_meant(node - count, visit);
    } else {
      for (size_t name : mentions(node).names) visit(count + name);
    }
  }

  // Tarjan's strongly connected components with a stack of its own: each definition is walked once,
  // whoever asks.
  size_t group_of(size_t start) {
    const size_t nodes = outline_.definitions.size() + 2 * by_name_.size();
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

  void close(size_t node, std::vector<size_t>& open) {
    const size_t count = outline_.definitions.size(), number = groups_.size();
    auto first = std::find(open.rbegin(), open.rend(), node).base() - 1;
    std::vector<size_t> members(first, open.end());
    open.erase(first, open.end());
    LiteralBits seen = focus_.seen("");
    for (size_t member : members) group_[member] = number;
    for (size_t member : members) {
      if (member < count) {
        seen |= own(member);
        for (std::string_view qualified : mentions(member).aliases) seen |= focus_.seen(qualified);
      }
      each_successor(member, [&](size_t next) {
        if (group_[next] != number) seen |= groups_[group_[next]];
      });
    }
    groups_.push_back(std::move(seen));
  }

  // A call can be seen through to a function of the module, or to a private method of the object.
  static bool may_be_seen(const OutlinedDefinition& d, bool own_member) {
    if (d.is_class) return false;
    if (!own_member) return d.owner == SIZE_MAX;
    return d.owner != SIZE_MAX && d.name.starts_with("_") && !d.name.starts_with("__");
  }

  template <typename Visit>
  void each_meant(size_t name, Visit visit) const {
    for (size_t d : by_name_[name / 2]) {
      if (may_be_seen(outline_.definitions[d], name % 2 != 0)) visit(d);
    }
  }

  struct Mentions {
    bool ready = false;
    std::vector<size_t> names;  // by number, twice: as a member of its own object or not
    std::vector<std::string_view> aliases;
  };

  const Mentions& mentions(size_t i) {
    if (mentions_.empty()) mentions_.resize(outline_.definitions.size());
    Mentions& m = mentions_[i];
    if (m.ready) return m;
    m.ready = true;
    std::string_view body = text(i);
    std::set<std::pair<std::string_view, bool>> met;
    for (size_t at = 0; at < body.size();) {
      if (!name_byte(body[at])) {
        ++at;
        continue;
      }
      size_t end = at + 1;
      while (end < body.size() && name_byte(body[end])) ++end;
      std::string_view word = body.substr(at, end - at);
      // After a dot it can be a method of the same object, and nothing else that stands here.
      bool member = at > 0 && body[at - 1] == '.';
      bool own_member = member_of_self(body, at);
      at = end;
      if (member && !own_member) continue;
      auto definition = named_.find(word);
      auto alias = renamed_.find(word);
      if (definition == named_.end() && alias == renamed_.end()) continue;
      if (!met.emplace(std::pair(word, own_member)).second) continue;
      if (definition != named_.end()) {
        m.names.push_back(2 * definition->second + (own_member ? 1 : 0));
      }
      if (alias != renamed_.end() && !member) {
        m.aliases.insert(m.aliases.end(), alias->second.begin(), alias->second.end());
      }
    }
    return m;
  }

  std::string_view text_;
  const Outline& outline_;
  const Focus& focus_;
  const ResolveName& resolve_;
  std::vector<std::optional<MadeAttributes>> made_;     // by focus_.shown
  std::unordered_map<std::string_view, size_t> named_;  // numbers of names
  std::vector<std::vector<size_t>> by_name_;            // definitions
  std::unordered_map<std::string_view, std::vector<std::string_view>> renamed_;
  std::vector<std::optional<LiteralBits>> own_;
  std::vector<Mentions> mentions_;
  std::vector<std::vector<size_t>> naming_;  // by number of name
  std::vector<std::optional<std::vector<std::string_view>>> stored_;
  std::vector<std::vector<size_t>> kin_;
  std::vector<size_t> group_, number_, lowest_;  // by node
  size_t numbered_ = 0;
  // Definitions that name one another, and names that stand between them, see the same.
  std::vector<LiteralBits> groups_;
};

}  // namespace

Choice choose(std::string_view text, const Outline& outline, const Focus& focus,
              const ResolveName& resolve) {
  return Chooser(text, outline, focus, resolve).run();
}

}  // namespace refit::python

// Puts the edits of all changes of a file together: changes inside others, statements that several
// changes no longer need, and imports. Entry point: realise_changes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/edit/removal.hpp"

namespace refit::python {

namespace {

// The edits of all changes of one unit, put together from the innermost outwards.
class Assembly {
 public:
  Assembly(const PythonUnit& unit, Project& project, const Catalogue& catalogue,
           const std::vector<Change>& changes, Frontend::Realised& out)
      : unit_(unit), project_(project), catalogue_(catalogue), changes_(changes), out_(out) {
    out_.accepted.assign(changes.size(), true);
    out_.refused.resize(changes.size());
    out_.codes.resize(changes.size());
    out_.after.resize(changes.size());
  }

  std::set<std::string> run() {
    Order order;
    for (size_t c = 0; c < changes_.size(); ++c) order.emplace_back(site(c).size(), c);
    std::ranges::sort(order);
    const std::vector<Spelling> spellings = spell();
    assemble(order, spellings);
    std::set<std::string> modules;
    for (size_t c = 0; c < changes_.size(); ++c) {
      if (out_.accepted[c] && !spellings[c].import.empty()) modules.insert(spellings[c].import);
      if (!out_.accepted[c]) out_.after[c].clear();
    }
    return modules;
  }

 private:
  using Order = std::vector<std::pair<uint32_t, size_t>>;

  // One name for a package throughout the file: another one where one function needs it.
  std::vector<Spelling> spell() {
    std::vector<Spelling> out(changes_.size());
    std::set<std::string> renamed;  // packages
    auto package = [&](size_t c) {
      return changes_[c].callee.substr(0, changes_[c].callee.find('.'));
    };
    for (size_t c = 0; c < changes_.size(); ++c) {
      std::string why;
      const bool bound = project_.by_stars(unit_.names, package(c), &why).has_value();
      if (bound || !why.empty()) renamed.insert(package(c));
    }
    auto spell_one = [&](size_t c) {
      auto spelling = spell_symbol(unit_, changes_[c].function, changes_[c].callee,
                                   renamed.contains(package(c)));
      if (!spelling) {
        refuse(c, "name-taken", spelling.error().message);
        return;
      }
      out[c] = *spelling;
      if (spelling->renames()) renamed.insert(package(c));
    };
    for (size_t c = 0; c < changes_.size(); ++c) spell_one(c);
    for (size_t c = 0; c < changes_.size(); ++c) {
      if (out_.accepted[c] && renamed.contains(package(c))) spell_one(c);
    }
    return out;
  }

  ByteRange site(size_t c) const {
    const Graph& g = unit_.functions[changes_[c].function].graph;
    return g.place(changes_[c].root);
  }

  bool refuse(size_t c, std::string code, std::string why) {
    out_.accepted[c] = false;
    out_.codes[c] = std::move(code);
    out_.refused[c] = Error{std::move(why)};
    return false;
  }

  // Of changes that are right only together, and so in one function, one whose partner is not made.
  bool withdraw_partner(const Order& order) {
    for (const auto& [size, c] : order) {
      if (!out_.accepted[c]) continue;
      for (ValueId root : changes_[c].together) {
        auto partner = std::ranges::find_if(changes_, [&](const Change& other) {
          return other.function == changes_[c].function && other.root == root;
        });
        const auto p = static_cast<size_t>(partner - changes_.begin());
        if (partner != changes_.end() && out_.accepted[p]) continue;
        const Graph& g = unit_.functions[changes_[c].function].graph;
        refuse(
            c, partner == changes_.end() ? "overlap" : out_.codes[p],
            fmt::format("it shares what would go with the site at line {}, which stays: {}",
                        unit_.source().position(g[root].range.begin).line,
                        partner == changes_.end() ? "it is not planned" : out_.refused[p].message));
        return true;
      }
    }
    return false;
  }

  // The larger of two changes that cannot both be made is the one that is.
  bool yields(size_t smaller, size_t larger) {
    return refuse(
        smaller, "overlap",
        fmt::format("it goes with the text that {} takes away at line {}", changes_[larger].rule,
                    unit_.source().position(site(larger).begin).line));
  }

  // Changes of different functions have no text in common, so each outermost function's are put
  // together by themselves; should they have some all the same, all together.
  void assemble(const Order& order, const std::vector<Spelling>& spellings) {
    std::map<uint32_t, Order> groups;
    for (const auto& entry : order)
      groups[outermost(changes_[entry.second].function)].push_back(entry);
    const std::vector<bool> before = out_.accepted;
    EditSet all;
    bool apart = true;
    for (const auto& [function, group] : groups) {
      put_together(group, spellings);
      apart = apart && all.add_all(out_.edits).has_value();
    }
    if (apart) {
      out_.edits = std::move(all);
      return;
    }
    out_.accepted = before;
    put_together(order, spellings);
  }

  // Whatever is refused takes its edits with it, so the rest is put together again.
  void put_together(const Order& order, const std::vector<Spelling>& spellings) {
    do {
      while (withdraw_partner(order)) {
      }
    } while (!attempt(order, spellings));
  }

  uint32_t outermost(uint32_t function) const {
    for (uint32_t up = function; up != kNone && up != 0; up = unit_.functions[up].parent) {
      function = up;
    }
    return function;
  }

  using Key = std::pair<uint32_t, uint32_t>;
  static Key key(const Edit& e) { return {e.range.begin, e.range.end}; }

  bool attempt(const Order& order, const std::vector<Spelling>& spellings) {
    EditSet all;
    std::map<Key, size_t> owners;
    std::map<uint32_t, Doomed> doomed;
    std::map<Key, size_t> doomed_by;
    for (const auto& [size, c] : order) {
      if (!out_.accepted[c]) continue;
      auto made = change_edits(unit_, changes_[c], catalogue_, spellings[c].text, all);
      if (!made) return refuse(c, "not-editable", made.error().message);
      for (const Edit& e : all.inside(made->replaced)) {
        bool carried =
            std::ranges::any_of(made->copied, [&](ByteRange r) { return r.contains(e.range); });
        if (!carried) return yields(owners.at(key(e)), c);
      }
      if (made->replaced.size() != 0) all.erase_inside(made->replaced);
      for (const Edit& e : made->edits.edits()) {
        if (all.add(e)) {
          owners.emplace(key(e), c);
          continue;
        }
        for (const Edit& other : all.edits()) {
          if (other.range.overlaps(e.range) || other.range.begin == e.range.begin) {
            return yields(owners.at(key(other)), c);
          }
        }
        return refuse(c, "overlap", "its edit would change text that another rewrite changes");
      }
      out_.after[c] = made->after;
      const Graph& g = unit_.functions[changes_[c].function].graph;
      Doomed& here = doomed[changes_[c].function];
      here.rewritten.insert(made->rewritten.begin(), made->rewritten.end());
      for (StatementId s : made->dead) {
        here.dead.insert(s);
        doomed_by.emplace(Key{g.statements[s].range.begin, g.statements[s].range.end}, c);
      }
    }
    for (const auto& [range, by] : doomed_by) {
      ByteRange statement{range.first, range.second};
      for (const Edit& e : all.inside(statement)) {
        size_t owner = owners.at(key(e));
        if (owner != by) return yields(owner, by);
      }
    }
    EditSet removals;
    for (auto& [function, those] : doomed) {
      add_orphans(unit_, function, all, those);
      auto removed = remove_statements(unit_, function, those, all);
      bool fits = removed.has_value() && removals.add_all(*removed).has_value();
      if (fits) continue;
      for (size_t c = changes_.size(); c-- > 0;) {
        if (out_.accepted[c] && changes_[c].function == function && !changes_[c].dead.empty()) {
          return refuse(c, "overlap", "the statements that go with it cannot be taken out");
        }
      }
    }
    auto added = all.add_all(removals);
    if (!added) {
      for (const Edit& e : removals.edits()) {
        for (const Edit& other : all.edits()) {
          auto owner = owners.find(key(other));
          if (other.range.overlaps(e.range) && owner != owners.end()) {
            return refuse(owner->second, "overlap",
                          "its edit would change text that another rewrite takes away");
          }
        }
      }
    }
    out_.edits = std::move(all);
    return true;
  }

  const PythonUnit& unit_;
  Project& project_;
  const Catalogue& catalogue_;
  const std::vector<Change>& changes_;
  Frontend::Realised& out_;
};

}  // namespace

Expected<Frontend::Realised> realise_changes(const PythonUnit& unit, Project& project,
                                             const Catalogue& catalogue,
                                             const std::vector<Change>& changes) {
  Frontend::Realised out;
  std::set<std::string> modules = Assembly(unit, project, catalogue, changes, out).run();
  EditSet imports;
  add_imports(unit, catalogue, modules, out.edits, imports);
  EditSet removals;
  remove_imports(unit, project, out.edits, imports, removals, out.notes);
  auto added = out.edits.add_all(removals);
  if (!added) return tl::unexpected(added.error());
  added = out.edits.add_all(imports);
  if (!added) return tl::unexpected(added.error());
  return out;
}

}  // namespace refit::python

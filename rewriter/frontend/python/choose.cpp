// Which functions of a file are wanted, and which definitions are needed for those: see choose.hpp.
// What a function can see is visible.hpp's.
#include "rewriter/frontend/python/choose.hpp"

#include <algorithm>
#include <unordered_set>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/frontend/python/own_stores.hpp"
#include "rewriter/frontend/python/visible.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

class Chooser {
 public:
  Chooser(std::string_view text, const Outline& outline, const Focus& focus, const Meant& meant)
      : text_(text), outline_(outline), focus_(focus), visible_(text, outline, focus, meant) {}

  Choice run() {
    Choice out;
    const auto& definitions = outline_.definitions;
    std::vector<bool> wanted(definitions.size(), false);
    const std::vector<bool> seers = visible_.see_change();
    bool any = false;
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i].is_class) continue;
      wanted[i] = (focus_.changed.empty() || seers[i]) && visible_.wanted(i);
      any = any || wanted[i];
    }
    if (focus_.helpers) add_helpers(wanted);
    for (size_t i = 0; i < definitions.size(); ++i) {
      const OutlinedDefinition& d = definitions[i];
      if (!d.is_class && !wanted[i]) out.left_out.push_back({d.header, d.end});
    }
    out.nothing = !any && focus_.before == nullptr && !visible_.outside_wanted();
    if (focus_.sparse && !out.nothing) out.unseen = unseen(wanted);
    return out;
  }

 private:
  // Functions of the module that something wanted names and that may give a tensor: the rank of a
  // helper's result is seen where it is called.
  void add_helpers(std::vector<bool>& wanted) {
    std::vector<size_t> work;
    std::vector<bool> named(mentioned().names(), false);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) work.push_back(i);
    }
    while (!work.empty()) {
      const size_t i = work.back();
      work.pop_back();
      for (const Mentioned::Name& n : visible_.names(i)) {
        if (n.own || named[n.name]) continue;
        named[n.name] = true;
        visible_.each_meant(n.name, false, [&](size_t d) {
          if (wanted[d] || !may_give_one(d)) return;
          wanted[d] = true;
          work.push_back(d);
        });
      }
    }
  }

  // Whether what a function gives may be one tensor on every way: it returns something, and no
  // tuple or None. Of one that defines functions of its own nothing is told.
  bool may_give_one(size_t i) const {
    const OutlinedDefinition& d = outline_.definitions[i];
    const std::string_view body = text_.substr(d.body, d.end - d.body);
    if (body.find("def ") != std::string_view::npos) return true;
    const Lines lines(text_);
    bool gives = false;
    constexpr std::string_view kReturn = "return";
    for (size_t at = text_.find(kReturn, d.body); at < d.end;
         at = text_.find(kReturn, at + kReturn.size())) {
      const size_t before = text_.find_last_not_of(" \t", at - 1);
      const bool begins = std::string_view("\r\n:;").find(text_[before]) != std::string_view::npos;
      const size_t after = at + kReturn.size();
      size_t code_end = 0;
      if (!begins || (after < d.end && name_char(text_[after])) || in_remark(at)) continue;
      if (lines.logical_line(at, &code_end) == std::string_view::npos) return true;
      const std::string_view what = trimmed(text_.substr(after, code_end - after));
      if (what.empty()) continue;
      gives = true;
      if (what == "None" || what == "True" || what == "False") return false;
      if (lines.find_outside(after, code_end, ',') < code_end) return false;
    }
    return gives;
  }

  bool in_remark(size_t at) const {
    auto remark = std::upper_bound(outline_.remarks.begin(), outline_.remarks.end(), at,
                                   [](size_t place, ByteRange r) { return place < r.begin; });
    return remark != outline_.remarks.begin() && std::prev(remark)->end > at;
  }

  std::string_view text(size_t i) const {
    const OutlinedDefinition& d = outline_.definitions[i];
    return text_.substr(d.begin, d.end - d.begin);
  }

  const Mentioned& mentioned() const { return visible_.mentioned(); }

  // Whether a method may store an attribute of its object that is among these.
  bool stores_one(size_t i, const std::unordered_set<std::string_view>& members) const {
    const OwnStores stores = own_stores(text_, outline_, outline_.definitions[i]);
    return stores.any || std::any_of(stores.names.begin(), stores.names.end(),
                                     [&](std::string_view name) { return members.contains(name); });
  }

  // The names that follow a dot in a definition's own text.
  void add_members(size_t i, std::unordered_set<std::string_view>& members) const {
    std::string_view body = text(i);
    for (size_t at = body.find('.'); at != std::string_view::npos; at = body.find('.', at)) {
      ++at;
      while (at < body.size() && (space(body[at]) || body[at] == '\\')) ++at;
      size_t begin = at;
      while (at < body.size() && name_char(body[at])) ++at;
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
      while (begin > 0 && name_char(body[begin - 1])) --begin;
      while (end < body.size() && name_char(body[end])) ++end;
      const std::string_view owner = body.substr(begin, dot - begin);
      const size_t member = mentioned().number(body.substr(dot + 1, end - dot - 1));
      if (member == SIZE_MAX || mentioned().number(owner) == SIZE_MAX) continue;
      for (size_t d : mentioned().definitions(member)) {
        size_t type = outline_.definitions[d].owner;
        if (type != SIZE_MAX && outline_.definitions[type].name == owner) visit(d);
      }
    }
  }

  // What is kept: what is wanted or was changed, what that calls, and of a class with a followed
  // method or that an annotation names, of those that it inherits from and of those that inherit
  // from it, its own statements and the methods that store an attribute that something followed
  // reads. Followed is what is wanted and what that calls: of the rest nothing is read but what it
  // binds and stores. Everything else is unseen.
  std::vector<Unseen> unseen(const std::vector<bool>& wanted) {
    const auto& definitions = outline_.definitions;
    std::vector<std::vector<size_t>> methods(definitions.size());
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i].owner != SIZE_MAX) methods[definitions[i].owner].push_back(i);
    }
    std::vector<bool> kept(definitions.size(), false), followed(definitions.size(), false),
        named(2 * mentioned().names(), false);
    std::vector<size_t> work, classes;
    std::unordered_set<std::string_view> members;
    auto keep_class = [&](size_t i) {
      if (kept[i]) return;
      kept[i] = true;
      classes.push_back(i);
      work.push_back(i);
    };
    auto follow = [&](size_t i) {
      if (definitions[i].is_class) return keep_class(i);
      if (followed[i]) return;
      kept[i] = followed[i] = true;
      work.push_back(i);
      add_members(i, members);
    };
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i].is_class) {
        // `act = nn.GELU()` in the body of a class that is otherwise of no interest
        if (!focus_.changed.empty() && !visible_.changed(i)) continue;
        if (visible_.outside_wanted({definitions[i].body, definitions[i].end})) keep_class(i);
      } else if (wanted[i]) {
        follow(i);
      } else if (visible_.changed(i) || reaches_out(text(i))) {
        kept[i] = true;
      }
    }
    while (!work.empty()) {
      size_t i = work.back();
      work.pop_back();
      const OutlinedDefinition& d = definitions[i];
      if (d.owner != SIZE_MAX) keep_class(d.owner);
      if (d.is_class) {
        for (size_t kin : kin_of(i)) keep_class(kin);
        continue;
      }
      for (const Mentioned::Name& n : visible_.names(i)) {
        if (n.annotates) {
          for (size_t type : mentioned().definitions(n.name)) {
            if (definitions[type].is_class) keep_class(type);
          }
        }
        const size_t name = 2 * size_t{n.name} + (n.own ? 1 : 0);
        if (named[name]) continue;
        named[name] = true;
        visible_.each_meant(n.name, n.own, follow);
      }
      each_of_a_class(i, follow);
    }
    for (size_t type : classes) {
      for (size_t m : methods[type]) {
        if (!kept[m] && !definitions[m].is_class && stores_one(m, members)) kept[m] = true;
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
    if (may_begin_statement(body, "global")) return true;
    constexpr std::string_view kClass = "class ";
    for (size_t at = find_text(body, kClass); at != std::string_view::npos;
         at = find_text(body, kClass, at + 1)) {
      size_t before = at == 0 ? std::string_view::npos : body.find_last_not_of(" \t", at - 1);
      if (before != std::string_view::npos && (body[before] == '\n' || body[before] == ';')) {
        return true;
      }
    }
    return false;
  }

  // The classes of the file that a class names in its header, and those whose headers name it.
  const std::vector<size_t>& kin_of(size_t i) {
    if (kin_.empty()) {
      kin_.resize(outline_.definitions.size());
      for (size_t c = 0; c < outline_.definitions.size(); ++c) {
        const OutlinedDefinition& d = outline_.definitions[c];
        if (!d.is_class) continue;
        for (size_t at = d.header; at < d.body; ++at) {
          if (!name_char(text_[at])) continue;
          size_t end = at + 1;
          while (end < d.body && name_char(text_[end])) ++end;
          const size_t named = mentioned().number(text_.substr(at, end - at));
          at = end;
          if (named == SIZE_MAX) continue;
          for (size_t base : mentioned().definitions(named)) {
            if (base == c || !outline_.definitions[base].is_class) continue;
            kin_[c].push_back(base);
            kin_[base].push_back(c);
          }
        }
      }
    }
    return kin_[i];
  }

  std::string_view text_;
  const Outline& outline_;
  const Focus& focus_;
  Visible visible_;
  std::vector<std::vector<size_t>> kin_;
};

}  // namespace

Choice choose(std::string_view text, const Outline& outline, const Focus& focus,
              const Resolving& resolving) {
  const Meant meant(text, outline, resolving);
  const Meant::Scope scope(meant);
  return Chooser(text, outline, focus, meant).run();
}

}  // namespace refit::python

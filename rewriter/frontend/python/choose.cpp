// Which functions of a file are wanted, and which definitions are needed for those: see choose.hpp.
// What a function can see is visible.hpp's.
#include "rewriter/frontend/python/choose.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/frontend/python/visible.hpp"

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
      while (at < body.size() && (name_char(body[at]) || body[at] == '.')) ++at;
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

  // Whether a method may store an attribute in other words than `self.x = …`: by its name, or as a
  // target among others.
  bool stores_otherwise(size_t i) const {
    constexpr std::string_view kByName[] = {"setattr",  "register_",   "add_module",
                                            "__dict__", "_parameters", "_modules",
                                            "_buffers", "vars(",       "__setattr__"};
    std::string_view body = text(i);
    for (std::string_view way : kByName) {
      if (body.find(way) != std::string_view::npos) return true;
    }
    constexpr std::string_view kSelf = "self";
    for (size_t at = body.find(kSelf); at != std::string_view::npos;
         at = body.find(kSelf, at + kSelf.size())) {
      size_t end = at + kSelf.size();
      if ((at > 0 && (name_char(body[at - 1]) || body[at - 1] == '.')) || end >= body.size()) {
        continue;
      }
      if (body[end] == ' ' || body[end] == '\\' || body[end] == '\t') {  // `self . x`
        size_t dot = body.find_first_not_of(" \t\\\r\n", end);
        if (dot != std::string_view::npos && body[dot] == '.') return true;
      }
      if (body[end] != '.') continue;
      if (!name_char(body[end + 1])) return true;  // a line that goes on behind the dot
      size_t line = body.rfind('\n', at), stop = std::min(body.find('\n', at), body.size());
      line = line == std::string_view::npos ? 0 : line + 1;
      const std::string_view before = body.substr(line, at - line);
      // `for self.x in`, `with a as self.x`, `del b, self.x`
      std::string_view last = trimmed(before);
      while (last.ends_with("(")) last = trimmed(last.substr(0, last.size() - 1));
      const std::string_view head = first_word(trimmed(before));
      if (head == "for" || head == "del" || last.ends_with(" for") || last.ends_with(" as")) {
        return true;
      }
      // `(self.x), y = …`, `[self.x, y] = …`: an `=` later in the line.
      while (end < stop && (name_char(body[end]) || body[end] == '.')) ++end;
      const std::string_view rest = body.substr(end, stop - end);
      const size_t next = rest.find_first_not_of(" \t");
      const bool closes =
          next == std::string_view::npos || std::string_view(",)]").find(rest[next]) != rest.npos;
      if (!closes) continue;
      const bool only = before.find('=') == std::string_view::npos;
      const bool later = next == std::string_view::npos || rest.find('=') != std::string_view::npos;
      if ((only && later) || rest.find(" = ") != std::string_view::npos) return true;
    }
    return false;
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

  // What is kept: what is wanted or was changed, what that calls, and of a class with a kept
  // method or that an annotation names, of those that it inherits from and of those that inherit
  // from it, its own statements and the methods that store an attribute that something kept reads.
  // Everything else is unseen.
  std::vector<Unseen> unseen(const std::vector<bool>& wanted) {
    const auto& definitions = outline_.definitions;
    std::vector<std::vector<size_t>> methods(definitions.size());
    for (size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i].owner != SIZE_MAX) methods[definitions[i].owner].push_back(i);
    }
    std::vector<bool> kept(definitions.size(), false), named(2 * mentioned().names(), false);
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
      if (definitions[i].is_class) {
        // `act = nn.GELU()` in the body of a class that is otherwise of no interest
        if (!focus_.changed.empty() && !visible_.changed(i)) continue;
        if (visible_.outside_wanted({definitions[i].body, definitions[i].end})) keep(i);
        continue;
      }
      if (wanted[i] || reaches_out(text(i)) || visible_.changed(i)) keep(i);
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
          for (const Mentioned::Name& n : visible_.names(i)) {
            if (n.annotates) {
              for (size_t type : mentioned().definitions(n.name)) {
                if (definitions[type].is_class) keep(type);
              }
            }
            const size_t name = 2 * size_t{n.name} + (n.own ? 1 : 0);
            if (named[name]) continue;
            named[name] = true;
            visible_.each_meant(n.name, n.own, keep);
          }
          each_of_a_class(i, keep);
        }
      }
      for (size_t type : classes) {
        for (size_t m : methods[type]) {
          if (kept[m] || definitions[m].is_class) continue;
          if (stores_otherwise(m)) {
            keep(m);
            continue;
          }
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
    if (may_begin_statement(body, "global")) return true;
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
  std::vector<std::optional<std::vector<std::string_view>>> stored_;
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

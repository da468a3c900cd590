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

  const Mentioned& mentioned() const { return visible_.mentioned(); }

  std::string_view text_;
  const Outline& outline_;
  const Focus& focus_;
  Visible visible_;
};

}  // namespace

Choice choose(std::string_view text, const Outline& outline, const Focus& focus,
              const Resolving& resolving) {
  const Meant meant(text, outline, resolving);
  const Meant::Scope scope(meant);
  return Chooser(text, outline, focus, meant).run();
}

}  // namespace refit::python

// What each definition of a file can see: the literals in its own text, in the functions that it
// names, directly or not, and in what a renamed import or an alias stands for. Where literals stand
// is found once a file; their conditions, and what is shown only with the help of the file, are
// asked about where everything else that a rule needs is there. Entry points: Visible::wanted,
// Visible::outside_wanted.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rewriter/frontend/focus.hpp"
#include "rewriter/frontend/python/made.hpp"
#include "rewriter/frontend/python/mentioned.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

// A call can be seen through to a function of the module, or to a private method of the object.
bool may_be_seen(const OutlinedDefinition& d, bool own_member);

class Visible {
 public:
  Visible(std::string_view text, const Outline& outline, const Focus& focus, const Meant& meant);

  // Whether the focus wants a definition for what it sees.
  bool wanted(size_t i);
  // The same of the file's own statements, those of its classes among them, or of a class's own.
  bool outside_wanted();
  bool outside_wanted(ByteRange where);
  // The functions that were changed or that see one that was; empty where no change is asked for.
  std::vector<bool> see_change();
  bool changed(size_t i) const;

  const Mentioned& mentioned() const { return mentioned_; }
  // The names that a definition mentions.
  const std::vector<Mentioned::Name>& names(size_t i) { return part(i).names; }
  template <typename Visit>
  void each_meant(size_t name, bool own, Visit visit) const {
    for (size_t d : mentioned_.definitions(name)) {
      if (may_be_seen(outline_.definitions[d], own)) visit(d);
    }
  }

 private:
  // Definitions that name one another, and names that stand between them, see the same.
  struct Group {
    LiteralBits bare;                        // all that may be, short of what is only shown
    std::optional<LiteralBits> seen;         // of these what is
    std::vector<std::optional<bool>> shows;  // that, by focus_.shown
    std::vector<size_t> members, next;       // definitions, groups
  };

  const Mentioned::Part& part(size_t i);
  std::string_view text(size_t i) const;
  using Places = std::span<const Literals::Place>;
  Places places(size_t i) const;
  Places places_in(uint32_t begin, uint32_t end) const;
  void add_seen(uint32_t begin, uint32_t end, Places places, LiteralBits& out) const;
  void add_alias(size_t alias, LiteralBits& out);
  template <typename Known>
  std::vector<size_t> reached(size_t group, Known known) const;
  const LiteralBits& seen(size_t group);
  bool shows_in(size_t group, size_t n);
  template <typename Shows>
  std::optional<bool> told_by_shown(ByteRange where, LiteralBits bare, Shows shows);
  template <typename Shows>
  bool with_shown(ByteRange where, LiteralBits seen, Shows shows);
  bool shows(size_t n, uint32_t begin, uint32_t end);
  static bool defines(std::string_view part, std::string_view name);
  template <size_t n>
  bool may_compute(std::string_view name, bool method, const std::string_view (&signs)[n]);
  bool may_be_own(std::string_view name) const;
  size_t group_of(size_t start);
  void close(size_t node, std::vector<size_t>& open);
  template <typename Visit>
  void each_successor(size_t node, Visit visit);

  std::string_view text_;
  const Outline& outline_;
  const Focus& focus_;
  const Meant& names_;
  std::vector<Literals::Place> places_;  // of literals in the whole text, outside remarks
  Mentioned mentioned_;
  LiteralBits assumed_;  // what places do not tell
  LiteralBits only_shown_;
  static constexpr size_t kSeveral = SIZE_MAX - 1;
  std::vector<size_t> meant_;  // by name, twice: the only definition, kSeveral or SIZE_MAX
  std::vector<std::optional<Mentioned::Part>> parts_;  // by definition
  std::vector<std::optional<LiteralBits>> aliases_;    // by alias
  std::optional<MadeAttributes> made_;
  std::vector<std::optional<MadeAttributes::Classes>> made_of_;  // by focus_.shown
  std::vector<size_t> group_, number_, lowest_;                  // by node
  size_t numbered_ = 0;
  std::vector<Group> groups_;
};

}  // namespace refit::python

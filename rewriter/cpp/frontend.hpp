// C++ as a source language: the Frontend over clang's tree. Only lowering sees clang.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rewriter/cpp/names.hpp"
#include "rewriter/cpp/read.hpp"
#include "rewriter/cpp/unit.hpp"
#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/language/frontend.hpp"

namespace refit::cpp {

struct Settings {
  std::string root;       // of the repository; its compile_commands.json is looked for there
  std::string catalogue;  // folder of names.yaml and include/: what is known of C++ libraries
  std::vector<std::string> files{};  // of the repository, relative to its root
  std::vector<std::string>
      defines{};  // names, with `=VALUE` perhaps, that all of it is compiled with
};

class CppFrontend : public Frontend {
 public:
  CppFrontend(const Settings& settings, const Catalogue& catalogue,
              const Isomorphisms& isomorphisms);

  Expected<std::unique_ptr<Unit>> load(Source source, std::string_view relative) override;
  std::vector<std::unique_ptr<Unit>> alternatives(const Unit& unit) override;
  bool in_comment(const Unit& unit, ByteRange range) const override;
  std::string literal(const Literal& literal) const override;
  std::optional<std::string> fill(const std::string& text, const SpellHole& spell) const override;
  std::optional<std::string> assignment(const std::string& name,
                                        const std::string& value) const override;
  std::optional<std::string> spell(const Unit& unit, uint32_t function, ValueId value, ValueId root,
                                   const std::set<StatementId>& dead) const override;
  bool editable(const Unit& unit, const Change& change) const override;
  Expected<Realised> realise(const Unit& unit, const std::vector<Change>& changes) const override;
  std::optional<std::string> verify(const Unit& before, std::string_view after) const override;

 private:
  Expected<std::unique_ptr<CppUnit>> read_unit(Source source, const std::string& relative) const;
  Place place_of(const std::string& relative) const;
  std::optional<std::string> operand(const std::string& text, const SpellHole& spell) const;

  Settings settings_;
  const Catalogue& catalogue_;
  const Isomorphisms& isomorphisms_;
  Names names_;
  std::string wrong_;  // why the names could not be read
  std::unique_ptr<const CompileCommands> commands_;
  TreeHeaders headers_;
  std::string own_header_;  // a file of the repository that has the name of the runtime's header
};

// Internal to the folder -------------------------------------------------------------------------

// One change's edits; `after` is the new text of its root.
Expected<EditSet> change_edits(const CppUnit& unit, const Change& change, const Operation& callee,
                               const std::string& callee_text, std::string* after);

// A failure where code that another build compiles, or leaves out, stands between the change's
// parts or names a variable that goes, gets another value, or is looked through. `dead`: statements
// that go.
Expected<void> clear_of_conditions(const CppUnit& unit, const Change& change,
                                   const std::set<StatementId>& dead);

// How a value is written at the place of `root` once the statements `dead` are gone, if it can be.
std::optional<std::string> spell_value(const CppUnit& unit, uint32_t function, ValueId value,
                                       ValueId root, const std::set<StatementId>& dead);

// Edits that add `#include <HEADER>` lines where a person would.
void add_includes(const CppUnit& unit, const std::set<std::string>& headers, EditSet& edits);

// The edits of a file with their new text in the style of the .clang-format above it, if there is
// one: only blanks and line breaks of lines that are written change.
EditSet styled(std::string_view text, const std::string& path, const EditSet& edits);

// Whether a range lies in, or touches, a comment.
bool in_comment(const CppUnit& unit, uint32_t at);

}  // namespace refit::cpp

// Python as a source language: the Frontend over tree-sitter.
#pragma once

#include "rewriter/language/frontend.hpp"
#include "rewriter/python/lower/classes/other_classes.hpp"
#include "rewriter/python/lower/lower.hpp"
#include "rewriter/python/lower/other_functions.hpp"
#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

class PythonFrontend : public Frontend, public RuleLanguage {
 public:
  // `files` are the project's Python files; names resolve among them. `isomorphisms` may be null.
  PythonFrontend(const std::string& root, const std::vector<Project::File>& files,
                 const std::vector<std::string>& module_roots, const Catalogue& catalogue,
                 const Isomorphisms* isomorphisms);

  Expected<std::unique_ptr<Unit>> load(Source source, std::string_view relative) override {
    return load(std::move(source), relative, nullptr);
  }
  Expected<std::unique_ptr<Unit>> load_for(Source source, std::string_view relative,
                                           const Focus& focus) override {
    return load(std::move(source), relative, &focus);
  }
  void note(std::string_view relative, std::string_view bytes) override {
    project_.note(relative, bytes);
  }
  bool is_test(std::string_view relative) const override { return test_file(relative); }
  Callers callers_of(const std::vector<std::string>& definitions) override {
    return project_.callers_of(definitions);
  }
  bool in_comment(const Unit& unit, ByteRange range) const override;
  std::string literal(const Literal& literal) const override;
  std::optional<std::string> fill(const std::string& text, const SpellHole& spell) const override;
  std::optional<std::string> assignment(const std::string& name,
                                        const std::string& value) const override;
  Expected<Graph> pattern(std::string_view code) override;
  Expected<Template> rewrite_template(std::string_view code) override;
  std::optional<std::string> spell(const Unit& unit, uint32_t function, ValueId value, ValueId root,
                                   const std::set<StatementId>& dead) const override;
  std::optional<std::string> spell_under(const Unit& unit, uint32_t function, ValueId value,
                                         ValueId root, const std::set<StatementId>& dead,
                                         const Branch& branch) const override;
  bool compared(const Unit& unit, const std::string& class_name) const override;
  bool subclassed(const Unit& unit, const std::string& qualified) const override;
  AttributeFacts attribute(const Unit& unit, uint32_t function, ValueId value) const override;
  bool keeps_together() const override { return true; }
  bool editable(const Unit& unit, const Change& change) const override;
  std::optional<ByteRange> copied_from(const Unit& unit, uint32_t function, ValueId value,
                                       ValueId root) const override;
  Expected<Realised> realise(const Unit& unit, const std::vector<Change>& changes) const override;
  std::optional<std::string> verify(const Unit& before, std::string_view after) const override;
  Project& project() { return project_; }

 private:
  Expected<std::unique_ptr<Unit>> load(Source source, std::string_view relative,
                                       const Focus* focus);
  mutable Project project_;
  const Catalogue& catalogue_;
  const Isomorphisms* isomorphisms_;
  mutable OtherClasses others_;
  mutable OtherFunctions functions_;
  std::string own_runtime_;  // a file of the project that an import of the runtime would reach
};

}  // namespace refit::python

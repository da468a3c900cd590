// Which definitions TorchScript compiles though no decorator of theirs says so: what a file hands
// to it by name, `gelu = torch.jit.script(gelu)`, and what such functions and decorated ones call;
// and which names are decorators that may be that compiler, `fuser = torch.jit.script`. See
// facts.hpp; entry point: note_scripted.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rewriter/python/names/facts.hpp"
#include "rewriter/python/names/mentions.hpp"

namespace refit::python {

namespace {

constexpr std::array<std::string_view, 3> kCompilers = {"jit.script", "jit.script_if_tracing",
                                                        "jit.script_method"};

class ScriptedReader {
 public:
  ScriptedReader(const FileNodes& nodes, const FileNames& names, FileFacts& out)
      : nodes_(nodes), names_(names), out_(out) {}

  void read() {
    for (TSNode chain : nodes_.chains) note_use(chain);
    for (const FileNodes::Statement& call : nodes_.calls) {
      const TSNode callee = field(call.node, "function");
      if (is(callee, "identifier")) note_use(callee);
    }
    for (TSNode definition : nodes_.decorated) {
      for (TSNode decorator : children_of(definition)) {
        for (TSNode name : children_of(decorator)) {
          if (is(decorator, "decorator") && is(name, "identifier")) note_use(name);
        }
      }
    }
    while (!found_.empty()) {
      const std::string_view name = found_.back();
      found_.pop_back();
      for (TSNode function : nodes_.functions) {
        if (names_.text(field(function, "name")) == name) note_calls(function);
      }
    }
  }

 private:
  void note_use(TSNode node) {
    const std::string meaning = names_.meaning(node);
    if (std::ranges::none_of(kCompilers, [&](auto name) { return meaning.ends_with(name); }))
      return;
    TSNode at = ts_node_parent(node);
    const bool called = is(at, "call") && field(at, "function") == node;
    if (called) handed(at);
    bool assigned = called;
    for (; present(at); at = ts_node_parent(at)) {
      if (is(at, "decorator")) {
        note_calls(field(ts_node_parent(at), "definition"));
        return;
      }
      if (is(at, "assignment") && !assigned) {
        assigned = true;
        note_names(field(at, "left"));
      }
      // The function may be a decorator, or make one.
      if (is(at, "function_definition")) note_compiler(names_.text(field(at, "name")));
    }
  }

  // `f`, `module.f`, `Class(…)`, `Class(…).eval()`, `obj=f`.
  void handed(TSNode call) {
    TSNode given{};
    for (TSNode argument : children_of(field(call, "arguments"))) {
      const bool keyword = is(argument, "keyword_argument");
      if (keyword && names_.text(field(argument, "name")) != "obj") continue;
      given = keyword ? field(argument, "value") : argument;
      break;
    }
    for (TSNode part = given; is(part, "call") || is(part, "attribute");) {
      if (is(part, "call")) given = field(part, "function");
      part = field(part, is(part, "call") ? FieldName("function") : FieldName("object"));
    }
    if (is(given, "attribute")) given = field(given, "attribute");
    if (is(given, "identifier")) note(names_.text(given));
  }

  void note_names(TSNode target) {
    walk_tree(target, [&](TSNode node) {
      if (is(node, "identifier")) note_compiler(names_.text(node));
      return true;
    });
  }

  void note_compiler(std::string_view name) { out_.compilers.push_back(hash_of(name)); }

  void note(std::string_view name) {
    if (!known_.insert(name).second) return;
    out_.scripted.push_back(hash_of(name));
    found_.push_back(name);
  }

  // The functions that a definition calls by a bare name.
  void note_calls(TSNode definition) {
    walk_tree(definition, [&](TSNode node) {
      const TSNode callee = is(node, "call") ? field(node, "function") : TSNode{};
      if (is(callee, "identifier")) note(names_.text(callee));
      return true;
    });
  }

  const FileNodes& nodes_;
  const FileNames& names_;
  FileFacts& out_;
  std::unordered_set<std::string_view> known_;
  std::vector<std::string_view> found_;  // what they call is to be noted
};

}  // namespace

void note_scripted(const FileNodes& nodes, const FileNames& names, FileFacts& out) {
  // Few files name the compiler, and every chain of names would be looked at.
  if (names.source().find("script") != std::string_view::npos)
    ScriptedReader(nodes, names, out).read();
}

}  // namespace refit::python

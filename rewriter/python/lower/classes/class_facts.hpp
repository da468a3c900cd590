// What the classes of a file say of their objects' attributes: `self.norm = nn.LayerNorm(…)`,
// `self.scale = head_dim ** -0.5`, `_backend = "flex"` in the body. A class and those of the file
// that it inherits from, or that inherit from it, speak together; they must agree.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"
#include "rewriter/rule/catalogue.hpp"

namespace refit::python {

class ClassFacts {
 public:
  // The qualified name that a dotted name of the module stands for.
  using Resolve = std::function<std::optional<std::string>(std::string_view dotted)>;
  // The qualified name that an import statement of a function gives to a local name, if it does.
  using ResolveImport =
      std::function<std::optional<std::string>(TSNode statement, std::string_view local)>;

  ClassFacts(std::string_view source, const Catalogue& catalogue, Resolve resolve,
             ResolveImport resolve_import)
      : source_(source),
        catalogue_(catalogue),
        resolve_(std::move(resolve)),
        resolve_import_(std::move(resolve_import)) {}

  void add_class(const std::string& qualified, TSNode definition);

  // Whether `self.NAME` is assigned in the class or its kin.
  bool stores(const std::string& class_name, std::string_view attribute);
  // The catalogue's classes that `self.NAME` is an object of; empty where the file does not show
  // them all.
  const std::vector<const Operation*>& instances(const std::string& class_name,
                                                 std::string_view attribute);
  // Whether every object that the file gives to `self.NAME` is a layer that works along the last
  // axis alone (a norm over one axis, a linear layer) or on each element.
  bool over_last_axis(const std::string& class_name, std::string_view attribute);
  // Whether every value that the file gives to `self.NAME` is a number.
  bool number(const std::string& class_name, std::string_view attribute);
  // Whether every value that the file gives to `self.NAME` is a tensor that nothing else holds,
  // made there by a function of the catalogue, a number or None.
  bool own_storage(const std::string& class_name, std::string_view attribute);
  // The `forward` of each class of the file that `self.NAME` may be an object of.
  NodeList forwards(const std::string& class_name, std::string_view attribute);
  // The definition of a method, plain or static, where no class of this file's kin has another of
  // that name; a null node otherwise.
  TSNode only_method(const std::string& class_name, std::string_view name);
  // What `Class.name` means where the class defines it once, as a static method or a plain one;
  // null otherwise, and where something is stored under that name.
  TSNode own_method(const std::string& class_name, std::string_view name);
  // The string that the class's body gives to NAME, and nothing else changes.
  std::optional<std::string> text(const std::string& class_name, std::string_view attribute);

 private:
  using Methods = std::multimap<std::string_view, TSNode>;
  struct Class {
    TSNode definition{};
    std::vector<std::string> bases;  // last components of their names
    bool read = false;
    std::shared_ptr<const std::vector<std::string>> kin;  // with itself; set when first asked for
    // Right-hand sides by attribute; a null node where a value is given in another way.
    std::map<std::string, std::vector<TSNode>, std::less<>> stores;
    std::vector<std::string> computed;  // beginnings of names that are put together
    // Attributes that may share storage: `self.a.data = …`, `self.a.set_(…)`; "": any.
    std::set<std::string, std::less<>> sharing;
    std::map<std::string, TSNode, std::less<>> body;  // assigned in the class's own body
    // Its methods by name, decorated or not; filled when first asked for.
    std::optional<Methods> methods;
  };
  struct Answer {
    bool known = false;
    std::vector<TSNode> values;
    std::optional<std::vector<const Operation*>> instances;
    std::optional<bool> number;
    std::optional<bool> over_last_axis;
    std::optional<bool> own_storage;
  };
  // What a function binds: names by parameters and assignments, what stands to the left of
  // assignments, and its import statements.
  struct Locals {
    std::set<std::string_view> names;
    std::set<std::string_view> assigned;
    std::vector<TSNode> imports;
  };

  bool is_static(TSNode decorated) const;
  void read(Class& c);
  void note_store_by_name(Class& c, TSNode call);
  void note_other_store(Class& c, TSNode target);
  const std::vector<std::string>& kin_of(const std::string& class_name);
  void find_families();
  Answer& answer(const std::string& class_name, std::string_view attribute);
  bool stored_by_others(std::string_view attribute);
  std::unordered_set<std::string_view> stores_of_others() const;
  const Locals& locals_of(TSNode function);
  std::optional<std::string> meaning(TSNode at, std::string_view dotted);
  // The call that makes the object: the one given, or what the function of this file that it calls
  // returns and does nothing else, `def normalize(n): return nn.GroupNorm(32, n)`.
  TSNode construction(TSNode call);
  const Operation* layer(TSNode call);
  bool class_of(TSNode value, std::vector<const Operation*>& out);
  bool over_last_axis(TSNode value);
  bool makes_tensor(TSNode value, int depth);
  bool size(TSNode value, int depth);
  bool numeric(TSNode value, int depth);
  std::string_view text_at(TSNode node) const { return text_of(source_, node); }

  std::string_view source_;
  std::optional<std::unordered_set<std::string_view>> others_;  // that the text stores
  const Catalogue& catalogue_;
  Resolve resolve_;
  ResolveImport resolve_import_;
  const Methods& methods_of(Class& c) const;
  std::map<std::string, Class, std::less<>> classes_;
  // Those that inherit from one another, by the name of each, and how many classes were known.
  std::map<std::string_view, std::shared_ptr<const std::vector<std::string>>> families_;
  size_t families_of_ = 0;
  std::map<std::string, std::map<std::string, Answer, std::less<>>> answers_;  // by class
  std::map<uint32_t, Locals> locals_;  // by where a function begins
};

}  // namespace refit::python

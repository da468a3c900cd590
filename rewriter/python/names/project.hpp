// The modules of a project and what their names mean: imports with aliases and conditions,
// definitions, re-exports through packages. `Project::resolve` follows a qualified name to the
// definition it stands for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/language/frontend.hpp"
#include "rewriter/python/names/index.hpp"
#include "rewriter/python/names/module.hpp"
#include "rewriter/python/names/remembered.hpp"
#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

class Project {
 public:
  struct File {  // its names outlive the project
    std::string_view path, relative;
    const std::string* bytes = nullptr;  // that it is taken to hold; null: what it holds on disk
  };
  // `module_roots`: folders below the root ("" is the root) from which module names resolve too.
  Project(const std::string& root, const std::vector<File>& files,
          const std::vector<std::string>& module_roots, const Catalogue& catalogue);

  // "a.b.c" for a/b/c.py, as an importer of the project would write it.
  std::string module_of(std::string_view relative, bool* package) const;
  bool has_module(std::string_view name) const { return files_.contains(name); }
  // The file of a module, empty if it is not one of the project's.
  std::string file_of(std::string_view module) const;
  // The text of a module of the project; nullopt when it is not one, or cannot be read.
  std::optional<Source> source_of(const std::string& module, bool* package) const;
  // Names of a module of the project; nullptr when it is not one, or cannot be read.
  const Module* module(const std::string& name);
  // Keeps the names of a module that was read for another purpose, for whoever asks for them later.
  void keep(std::string_view relative, const Module& read);
  // What a qualified name finally stands for. Names outside the project stand for themselves;
  // nullopt where that is not shown, and `why` says what stands in the way, where it is known.
  std::optional<std::string> resolve(const std::string& qualified, std::string* why = nullptr);
  // What the star imports of a module of the project give a name: nothing and no `why` where no
  // module of the project that they read binds it.
  std::optional<std::string> by_stars(const Module& module, const std::string& name,
                                      std::string* why);
  // Whether they give it no other meaning than the module's own binding does.
  bool stars_agree(const Module& module, const std::string& name, const std::string& meaning,
                   const std::set<std::string>& asked = {});
  // Where some file patches a name of a module, as a sentence; "" where none does. `imported`: the
  // module imports the name.
  std::string replaced(const std::string& module, std::string_view name, bool imported);
  // The same for a module of the project as a whole, as its importers find it.
  std::string replaced_whole(const std::string& module);
  // The same for a name outside the project.
  std::string replaced_outside(std::string_view qualified);
  // Where the project defines a library's function or class by that name itself, and in what way
  // that is not the known one; "" where it does not, or its signature is the known one.
  std::string differs(const std::string& qualified, const Operation& operation);
  // Where it is a class of the project that computes as its base does, but in float32, and gives
  // the type of its operand: the catalogue's class of which that is said; else null.
  const Operation* casting(const std::string& qualified);
  // What an absolute import in a module means where the folder that the module's package lies in
  // holds that package or module, too; else `qualified`.
  std::string beside(const std::string& module, const std::string& qualified) const;
  // Whether there is such a folder, which is not the root.
  bool lies_in_folder(std::string_view module) const;
  // Takes notice of a file, while its bytes are at hand; different files by any number of threads
  // at once. Whoever is asked first reads the files that were not noted.
  void note(std::string_view relative, std::string_view bytes);
  // Files that may call one of these definitions, and the words that such a call needs.
  Callers callers_of(const std::vector<std::string>& definitions);
  // Another file of the project that imports `name` from `module` (by name or by star), or "".
  std::string importer_of(const std::string& module, const std::string& name,
                          const std::string& except);
  // Another file of the project that may read it as an attribute of the module, or "".
  std::string attribute_reader_of(const std::string& module, const std::string& name,
                                  const std::string& except);
  // Whether a class of another file inherits from this one.
  bool subclassed(const std::string& module, const std::string& name);
  // Those of them that give their objects an attribute or a method of that name, as their files
  // name them.
  const std::vector<std::string>& subclasses_storing(const std::string& module,
                                                     const std::string& name,
                                                     const std::string& attribute);
  // Whether there is one.
  bool subclass_writes(const std::string& module, const std::string& name,
                       const std::string& attribute) {
    return !subclasses_storing(module, name, attribute).empty();
  }
  // See NamesIndex.
  bool stored_outside(std::string_view attribute) { return index().stored(attribute).has_value(); }
  // The file and the line; empty where there is none.
  std::pair<std::string, uint32_t> stored_at(std::string_view attribute) {
    const auto place = index().stored(attribute);
    if (!place) return {};
    return {std::string(all_[place->file].relative), place->line};
  }
  bool exchanged(std::string_view class_name) { return index().exchanged(class_name); }
  bool asked(std::string_view class_name) { return index().asked(class_name); }
  bool scripted(std::string_view name) { return index().scripted(name); }
  bool scripting(std::string_view name) { return index().compiler(name); }
  // What a list of bindings of one name means, when it means one thing.
  std::optional<std::string> meaning(const std::vector<Binding>& bindings, std::string* why);

 private:
  struct Meaning {
    std::optional<std::string> name;
    std::string why;  // there is none
  };
  Meaning resolve(const std::string& qualified, std::set<std::string>& asked);
  Meaning by_stars(const std::vector<std::string>& stars, const std::string& name,
                   std::set<std::string>& asked);
  // Nothing where the file cannot be read.
  static std::optional<std::string> read(const File& file);
  FileFacts read_facts(uint32_t file) const;
  // The index, once all files are noted.
  NamesIndex& index();
  std::optional<NamesIndex::Place> patched(const std::string& module, std::string_view name,
                                           bool imported);
  // The sentence that says so.
  std::string patch_at(const std::optional<NamesIndex::Place>& place, std::string_view what) const;
  std::unique_ptr<Module> read_module(const std::string& name) const;
  const Operation* read_casting(const std::string& qualified);
  std::string read_difference(const std::string& home, const std::string& name,
                              const Operation& operation) const;
  // The classes of other files that inherit from this one.
  std::vector<NamesIndex::Subclass> subclasses_of(const std::string& module,
                                                  const std::string& name);

  const Catalogue& catalogue_;
  std::vector<File> all_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // by relative name, into all_
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  template <typename Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
  struct Named {
    uint32_t file;
    bool package;
  };
  ByText<Named> files_;                         // by module name; a file may have several
  std::vector<std::string_view> module_names_;  // by file
  std::vector<std::string_view> folders_;       // by file: that its top package lies in
  KnownNames known_;
  NamesIndex index_;
  std::vector<char> noted_;
  std::once_flag noted_once_;
  std::shared_mutex mutex_;  // guards modules_ and kept_
  std::unordered_map<std::string, std::unique_ptr<Module>> modules_;
  uint64_t kept_ = 0;  // names of modules that nobody asked for yet
  Remembered<Meaning> resolved_;
  Remembered<std::string> differs_, patched_;
  Remembered<std::vector<std::string>> storing_;
  Remembered<const Operation*> casting_;
};

}  // namespace refit::python

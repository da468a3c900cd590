// Internal: which functions of a file may write to what they did not make themselves, told from
// their bodies by the last name of what a call names; and which names of attributes run one of them
// when they are read or stored, because a property of the file has that name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

class BodyWrites {
 public:
  // The functions of a file, methods and inner ones too; the tree and its text outlive this.
  BodyWrites(TSNode root, std::string_view source);

  // Whether some function of that name stores into an attribute or an entry, writes a tensor in
  // place, or runs a function of the file that does. What it made itself does not count, nor what
  // code out of sight may do.
  bool may_write(std::string_view name);
  // Whether there is a function of that name.
  bool knows(std::string_view name) const { return functions_.contains(name); }
  // Whether calling an object of a class of the file may.
  bool objects_write() { return may_write("__call__") || may_write("forward"); }
  // Whether one function, or lambda, does.
  bool body_writes(TSNode function) { return any_writes(NodeList{function}); }
  // Whether a class of the file has a property of that name.
  bool computes(std::string_view attribute) const { return getters_.contains(attribute); }
  // Whether to read such an attribute, or to store it, may write; to store "", any one.
  bool read_writes(std::string_view attribute) { return any_writes(getters_, attribute); }
  bool store_writes(std::string_view attribute);

 private:
  using Functions = std::multimap<std::string_view, TSNode>;
  struct Body {
    bool writes = false;
    // Names that it mentions, of which those of functions and classes count, and of attributes.
    std::vector<std::string_view> named, reads;
  };
  void note_property(TSNode function);
  void note_property_call(TSNode assignment);
  bool any_writes(const Functions& functions, std::string_view name);
  bool any_writes(const NodeList& functions);
  const Body& body_of(TSNode function);
  bool call_writes(TSNode call, TSNode function) const;
  bool made_here(TSNode place, TSNode function) const;

  std::string_view source_;
  Functions functions_, getters_, setters_;  // by name; a setter is also what deletes
  std::set<std::string_view> classes_;
  std::map<uint32_t, Body> bodies_;                   // by where a function begins
  std::unordered_map<uint32_t, bool> reaches_write_;  // what any_writes said, by the same
  std::map<std::string, bool, std::less<>> known_;    // what may_write said
};

}  // namespace refit::python

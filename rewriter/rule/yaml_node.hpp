// A YAML document as a tree of nodes, each with the place where it stands. Entry point:
// YamlDocument::parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace refit {

struct YamlPlace {
  int line = 1, column = 1;  // 1-based; columns count characters
};

struct YamlNode {
  enum class Kind : uint8_t { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  bool quoted = false;  // a scalar in quotes, or in a block of its own
  YamlPlace place;
  uint32_t parts = 1,
           levels = 1;  // in all and one below the other, what aliases stand for included
  std::string text;     // of a scalar
  std::vector<std::reference_wrapper<const YamlNode>> items;  // of a sequence
  struct Entry;
  std::vector<Entry> entries;  // of a mapping

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_mapping() const { return kind == Kind::mapping; }
};

struct YamlNode::Entry {
  const YamlNode& key;
  const YamlNode& value;
};

class YamlDocument {
 public:
  struct Mistake {
    YamlPlace place;
    std::string message;
  };
  // Not more than one document; an empty text is one that is null. A document of more than
  // 100,000 parts or 200 levels, aliases written out, is a mistake: readers may walk all of it.
  static tl::expected<YamlDocument, Mistake> parse(std::string_view text);
  const YamlNode& root() const { return *root_; }

 private:
  friend class YamlBuilder;
  std::deque<YamlNode> nodes_;  // never moved
  const YamlNode* root_ = nullptr;
};

}  // namespace refit

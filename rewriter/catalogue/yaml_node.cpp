// YamlDocument: the events of libyaml's parser put together.
#include "rewriter/catalogue/yaml_node.hpp"

#include <algorithm>
#include <unordered_map>

#include <yaml.h>

namespace refit {
namespace {

YamlPlace place_of(const yaml_mark_t& mark) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
}

// The place of a byte.
YamlPlace place_at(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line = before.rfind('\n') + 1;  // 0 where there is none
  const auto characters =
      std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line), before.end(),
                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(characters) + 1};
}

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool says_null(std::string_view plain) {
  return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

struct Event {
  yaml_event_t event{};
  ~Event() { yaml_event_delete(&event); }
};

}  // namespace

class YamlBuilder {
 public:
  explicit YamlBuilder(std::string_view text) : text_(text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  YamlBuilder(const YamlBuilder&) = delete;
  YamlBuilder& operator=(const YamlBuilder&) = delete;
  ~YamlBuilder() { yaml_parser_delete(&parser_); }

  tl::expected<YamlDocument, YamlDocument::Mistake> run() {
    int documents = 0;
    YamlPlace second;
    for (bool more = true; more;) {
      Event held;
      const yaml_event_t& event = held.event;
      if (yaml_parser_parse(&parser_, &held.event) == 0) return tl::unexpected(mistake());
      switch (event.type) {
        case YAML_DOCUMENT_START_EVENT:
          ++documents;
          break;
        case YAML_SCALAR_EVENT:
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
          if (documents == 2 && open_.empty()) second = place_of(event.start_mark);
          start(event);
          break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
          end();
          break;
        case YAML_ALIAS_EVENT: {
          auto known = anchors_.find(std::string(text_of(event.data.alias.anchor)));
          if (known == anchors_.end()) {
            return tl::unexpected(
                YamlDocument::Mistake{place_of(event.start_mark),
                                      "not valid YAML: the referenced anchor is not defined"});
          }
          add(known->second);
          break;
        }
        case YAML_STREAM_END_EVENT:
          more = false;
          break;
        default:
          break;
      }
    }
    if (documents > 1) {
      return tl::unexpected(YamlDocument::Mistake{
          second, "expected one YAML document, found " + std::to_string(documents) +
                      "; put several rules under `rules:`"});
    }
    if (out_.root_ == nullptr) out_.root_ = &out_.nodes_.emplace_back();
    return std::move(out_);
  }

 private:
  struct Open {
    YamlNode* node;
    const YamlNode* key = nullptr;  // of a mapping: one whose value has not come
    std::string anchor;
  };

  YamlDocument::Mistake mistake() const {
    std::string message = "not valid YAML";
    if (parser_.problem != nullptr) message += std::string(": ") + parser_.problem;
    if (parser_.context != nullptr) message += std::string(" ") + parser_.context;
    const YamlPlace from = place_of(parser_.context_mark), at = place_of(parser_.problem_mark);
    if (parser_.context != nullptr && (from.line != at.line || from.column != at.column)) {
      message += " at " + std::to_string(from.line) + ":" + std::to_string(from.column);
    }
    const bool reading = parser_.error == YAML_READER_ERROR;
    return {reading ? place_at(text_, parser_.problem_offset) : at, std::move(message)};
  }

  void start(const yaml_event_t& event) {
    YamlNode& node = out_.nodes_.emplace_back();
    node.place = place_of(event.start_mark);
    if (event.type == YAML_SCALAR_EVENT) {
      const auto& scalar = event.data.scalar;
      node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
      node.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
      node.kind =
          !node.quoted && says_null(node.text) ? YamlNode::Kind::null : YamlNode::Kind::scalar;
      name(scalar.anchor, node);
      add(&node);
      return;
    }
    const bool mapping = event.type == YAML_MAPPING_START_EVENT;
    node.kind = mapping ? YamlNode::Kind::mapping : YamlNode::Kind::sequence;
    const yaml_char_t* anchor =
        mapping ? event.data.mapping_start.anchor : event.data.sequence_start.anchor;
    open_.push_back({&node, nullptr, std::string(text_of(anchor))});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (!done.anchor.empty()) anchors_[done.anchor] = done.node;
    add(done.node);
  }

  void name(const yaml_char_t* anchor, const YamlNode& node) {
    if (anchor != nullptr) anchors_[std::string(text_of(anchor))] = &node;
  }

  void add(const YamlNode* node) {
    if (open_.empty()) {
      if (out_.root_ == nullptr) out_.root_ = node;
      return;
    }
    Open& into = open_.back();
    if (into.node->is_sequence()) {
      into.node->items.emplace_back(*node);
    } else if (into.key == nullptr) {
      into.key = node;
    } else {
      into.node->entries.push_back({*into.key, *node});
      into.key = nullptr;
    }
  }

  std::string_view text_;
  yaml_parser_t parser_{};
  YamlDocument out_;
  std::vector<Open> open_;
  std::unordered_map<std::string, const YamlNode*> anchors_;
};

tl::expected<YamlDocument, YamlDocument::Mistake> YamlDocument::parse(std::string_view text) {
  return YamlBuilder(text).run();
}

}  // namespace refit

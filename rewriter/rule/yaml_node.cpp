// YamlDocument: the events of yaml-cpp's parser put together.
#include "rewriter/rule/yaml_node.hpp"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace refit {
namespace {

constexpr uint32_t kMostParts = 100'000, kMostLevels = 200;

// The place of a byte.
YamlPlace place_at(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line = before.rfind('\n') + 1;  // 0 where there is none
  const auto characters =
      std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line), before.end(),
                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return {static_cast<int>(std::ranges::count(before, '\n')) + 1, static_cast<int>(characters) + 1};
}

}  // namespace

class YamlBuilder : public YAML::EventHandler {
 public:
  explicit YamlBuilder(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      lines_.push_back(at + 1);
    }
  }

  tl::expected<YamlDocument, YamlDocument::Mistake> run() {
    size_t wrong = 0;
    if (!llvm::json::isUTF8(llvm::StringRef(text_.data(), text_.size()), &wrong)) {
      return mistake(place_at(text_, wrong), "a byte that is no UTF-8");
    }
    std::istringstream stream{std::string(text_)};
    try {
      YAML::Parser parser(stream);
      while (parser.HandleNextDocument(*this)) {
      }
    } catch (const YAML::ParserException& e) {
      return mistake(place_of(e.mark), e.msg);
    }
    if (documents_ > 1) {
      return tl::unexpected(YamlDocument::Mistake{
          second_, "expected one YAML document, found " + std::to_string(documents_) +
                       "; put several rules under `rules:`"});
    }
    if (out_.root_ == nullptr) out_.root_ = &out_.nodes_.emplace_back();
    return std::move(out_);
  }

 private:
  using Anchor = YAML::anchor_t;
  struct Open {
    YamlNode* node;
    const YamlNode* key = nullptr;  // of a mapping: one whose value has not come
  };

  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, Anchor anchor) override {
    add(node(mark, YamlNode::Kind::null, anchor));
  }
  void OnAlias(const YAML::Mark& mark, Anchor anchor) override {
    const YamlNode* stands_for = anchors_.at(anchor);
    if (std::ranges::any_of(open_, [&](const Open& open) { return open.node == stands_for; })) {
      throw YAML::ParserException(mark, "an alias inside of what it stands for");
    }
    add(*stands_for);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, Anchor anchor,
                const std::string& value) override {
    YamlNode& made = node(mark, YamlNode::Kind::scalar, anchor);
    made.text = value;
    made.quoted = tag != "?";
    add(made);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, Anchor anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({&node(mark, YamlNode::Kind::sequence, anchor)});
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, Anchor anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({&node(mark, YamlNode::Kind::mapping, anchor)});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  tl::expected<YamlDocument, YamlDocument::Mistake> mistake(YamlPlace place,
                                                            const std::string& what) const {
    return tl::unexpected(YamlDocument::Mistake{place, "not valid YAML: " + what});
  }

  // yaml-cpp counts lines and, in them, bytes from 0.
  YamlPlace place_of(const YAML::Mark& mark) const {
    if (mark.is_null()) return {};
    const size_t line = std::min(static_cast<size_t>(mark.line), lines_.size() - 1);
    const size_t at = std::min(lines_[line] + static_cast<size_t>(mark.column), text_.size());
    const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(lines_[line]);
    const auto characters =
        std::count_if(begin, text_.begin() + static_cast<std::ptrdiff_t>(at),
                      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    return {static_cast<int>(line) + 1, static_cast<int>(characters) + 1};
  }

  YamlNode& node(const YAML::Mark& mark, YamlNode::Kind kind, Anchor anchor) {
    YamlNode& made = out_.nodes_.emplace_back();
    made.kind = kind;
    made.place = place_of(mark);
    if (documents_ == 2 && open_.empty()) second_ = made.place;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &made;
    return made;
  }

  void close() {
    const YamlNode* done = open_.back().node;
    open_.pop_back();
    add(*done);
  }

  void add(const YamlNode& made) {
    if (open_.empty()) {
      if (out_.root_ == nullptr) out_.root_ = &made;
      return;
    }
    Open& into = open_.back();
    YamlNode& whole = *into.node;
    whole.parts = std::min(whole.parts + made.parts, kMostParts + 1);
    whole.levels = std::max(whole.levels, made.levels + 1);
    if (whole.parts > kMostParts || whole.levels > kMostLevels) {
      // yaml-cpp's marks count from 0.
      YAML::Mark mark;
      mark.line = whole.place.line - 1;
      mark.column = whole.place.column - 1;
      throw YAML::ParserException(
          mark, fmt::format("more than {} parts, or {} levels, with what aliases stand for",
                            kMostParts, kMostLevels));
    }
    if (into.node->is_sequence()) {
      into.node->items.emplace_back(made);
    } else if (into.key == nullptr) {
      into.key = &made;
    } else {
      into.node->entries.push_back({*into.key, made});
      into.key = nullptr;
    }
  }

  std::string_view text_;
  std::vector<size_t> lines_;  // where each begins
  int documents_ = 0;
  YamlPlace second_;  // of the second document
  YamlDocument out_;
  std::vector<Open> open_;
  std::unordered_map<Anchor, const YamlNode*> anchors_;
};

tl::expected<YamlDocument, YamlDocument::Mistake> YamlDocument::parse(std::string_view text) {
  return YamlBuilder(text).run();
}

}  // namespace refit

// What each function can see: its own text, the functions of the file that it names, and theirs, and
// what a renamed import or an alias of the module stands for. See choose.hpp.
#include "rewriter/frontend/python/choose.hpp"

#include <unordered_map>

namespace refit::python {

namespace {

bool name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Chooser {
 public:
  Chooser(std::string_view text, const Outline& outline, const Focus& focus)
      : text_(text), outline_(outline), focus_(focus) {
    for (size_t i = 0; i < outline.definitions.size(); ++i) {
      const OutlinedDefinition& d = outline.definitions[i];
      if (!d.is_class) named_[d.name].push_back(i);
    }
    for (const auto& [local, bindings] : outline.module.names.bindings) {
      for (const Binding& b : bindings) {
        bool alias = b.kind == Binding::Kind::import || b.kind == Binding::Kind::assignment;
        if (!alias || b.qualified.empty()) continue;
        size_t dot = b.qualified.rfind('.');
        std::string_view last = std::string_view(b.qualified).substr(dot + 1);
        if (last != local) renamed_[local].push_back(b.qualified);
      }
    }
  }

  std::vector<ByteRange> run() {
    std::vector<ByteRange> out;
    for (size_t i = 0; i < outline_.definitions.size(); ++i) {
      const OutlinedDefinition& d = outline_.definitions[i];
      ByteRange where{d.header, d.end};
      if (!d.is_class && !focus_.wanted(where, own(i)) && !focus_.wanted(where, all(i))) {
        out.push_back(where);
      }
    }
    return out;
  }

 private:
  std::string_view text(size_t i) const {
    const OutlinedDefinition& d = outline_.definitions[i];
    return text_.substr(d.begin, d.end - d.begin);
  }

  const LiteralBits& own(size_t i) {
    if (own_.empty()) own_.resize(outline_.definitions.size());
    if (!own_[i]) own_[i] = focus_.seen(text(i));
    return *own_[i];
  }

  // With everything that it names, directly or not.
  LiteralBits all(size_t start) {
    LiteralBits out = own(start);
    std::vector<bool> met(outline_.definitions.size(), false);
    std::vector<size_t> work{start};
    met[start] = true;
    while (!work.empty()) {
      const Mentions& m = mentions(work.back());
      work.pop_back();
      for (std::string_view qualified : m.aliases) out |= focus_.seen(qualified);
      for (size_t d : m.definitions) {
        if (met[d]) continue;
        met[d] = true;
        out |= own(d);
        work.push_back(d);
      }
    }
    return out;
  }

  struct Mentions {
    bool ready = false;
    std::vector<size_t> definitions;
    std::vector<std::string_view> aliases;
  };

  const Mentions& mentions(size_t i) {
    if (mentions_.empty()) mentions_.resize(outline_.definitions.size());
    Mentions& m = mentions_[i];
    if (m.ready) return m;
    m.ready = true;
    std::string_view body = text(i);
    std::unordered_map<std::string_view, bool> met;
    for (size_t at = 0; at < body.size();) {
      if (!name_byte(body[at])) {
        ++at;
        continue;
      }
      size_t end = at + 1;
      while (end < body.size() && name_byte(body[end])) ++end;
      std::string_view word = body.substr(at, end - at);
      at = end;
      auto definition = named_.find(word);
      auto alias = renamed_.find(word);
      if (definition == named_.end() && alias == renamed_.end()) continue;
      if (!met.emplace(word, true).second) continue;
      if (definition != named_.end()) {
        m.definitions.insert(m.definitions.end(), definition->second.begin(),
                             definition->second.end());
      }
      if (alias != renamed_.end()) {
        m.aliases.insert(m.aliases.end(), alias->second.begin(), alias->second.end());
      }
    }
    return m;
  }

  std::string_view text_;
  const Outline& outline_;
  const Focus& focus_;
  std::unordered_map<std::string_view, std::vector<size_t>> named_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> renamed_;
  std::vector<std::optional<LiteralBits>> own_;
  std::vector<Mentions> mentions_;
};

}  // namespace

std::vector<ByteRange> leave_out(std::string_view text, const Outline& outline,
                                 const Focus& focus) {
  return Chooser(text, outline, focus).run();
}

}  // namespace refit::python

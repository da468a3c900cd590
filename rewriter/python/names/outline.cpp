// The scan behind outline.hpp: logical lines by brackets, strings and indentation, as Python's own
// tokenizer finds them, and of each only the first words.
#include "rewriter/python/names/outline.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/python_modules.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  if (text == "None" || text == "True" || text == "False") return false;
  return std::all_of(text.begin(), text.end(), name_char);
}

// `a`, `a.b.c`
bool is_dotted(std::string_view text) {
  while (true) {
    size_t dot = text.find('.');
    if (!is_name(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

constexpr int kTargetDepth = 200;  // brackets around what is assigned to; Python has no more

class Scanner {
 public:
  Scanner(std::string_view text, Outline& out) : text_(text), lines_(text), out_(out) {}

  bool run() {
    size_t at = 0;
    while (at < text_.size()) {
      uint32_t indent = 0;
      for (; text_.substr(at).starts_with("        "); at += 8) indent += 8;
      for (; at < text_.size() && blank(text_[at]); ++at) {
        indent = text_[at] == '\f' ? 0 : text_[at] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
      }
      if (at == text_.size()) break;
      char c = text_[at];
      if (c == '\n' || c == '\r') {
        ++at;
        continue;
      }
      if (c == '#') {
        at = lines_.next_line(at);
        continue;
      }
      if (c == '\\' &&
          (text_.substr(at + 1).starts_with("\n") || text_.substr(at + 1).starts_with("\r\n"))) {
        // A line of nothing but its own continuation: what follows has this line's indentation.
        at = text_.find('\n', at) + 1;
        while (at < text_.size() && blank(text_[at])) ++at;
        if (at == text_.size() || text_[at] == '\n' || text_[at] == '\r') continue;
      }
      size_t code_end = 0;
      size_t next = lines_.logical_line(at, &code_end);
      if (next == std::string_view::npos) return false;
      out_.lines.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(code_end)});
      if (!line(at, code_end, indent)) return false;
      at = next;
    }
    while (blocks_.size() > 1) close();
    return !lost_;
  }

 private:
  enum class In : uint8_t { module, type, function };
  struct Block {
    In in = In::module;
    bool guarded = false;
    bool opened = true;  // its first statement was seen
    uint32_t indent = 0;
    uint32_t header = 0;  // indentation of the line that opened it
    size_t definition = SIZE_MAX;
    size_t type = SIZE_MAX;  // the class around
  };

  void close() {
    Block& block = blocks_.back();
    if (block.definition != SIZE_MAX) {
      OutlinedDefinition& d = out_.definitions[block.definition];
      d.end = last_code_;
      if (!block.opened) d.body = d.end;
    }
    blocks_.pop_back();
  }

  bool line(size_t begin, size_t end, uint32_t indent) {
    while (blocks_.size() > 1) {
      Block& top = blocks_.back();
      if (!top.opened) {
        if (indent <= top.header) return false;  // a header without a body
        top.opened = true;
        top.indent = indent;
        if (top.definition != SIZE_MAX) {
          out_.definitions[top.definition].body = static_cast<uint32_t>(begin);
        }
        break;
      }
      if (top.in == In::function ? indent > top.header : indent >= top.indent) break;
      close();
    }
    note_remark(begin, end);
    Block& home = blocks_.back();
    if (home.in != In::function && indent != home.indent) return false;
    std::string_view code = text_.substr(begin, end - begin);
    if (home.in == In::function) {
      inner(begin, end);
    } else if (!statement(begin, end, indent, home)) {
      return false;
    }
    while (!code.empty() && space(code.back())) code.remove_suffix(1);
    last_code_ = static_cast<uint32_t>(begin + code.size());
    return true;
  }

  // A string that is all of a statement; one with an `f` before it may hold code.
  void note_remark(size_t begin, size_t end) {
    size_t quote = begin;
    if (text_[quote] == 'r' || text_[quote] == 'R') ++quote;
    if (quote >= end || (text_[quote] != '"' && text_[quote] != '\'')) return;
    size_t after = lines_.string_end(quote, 0);
    if (after == std::string_view::npos || !trimmed(text_.substr(after, end - after)).empty())
      return;
    out_.remarks.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(after)});
  }

  // A line of a function: only its imports are of interest.
  void inner(size_t begin, size_t end) {
    if (next_from_ < begin) {
      next_from_ = std::min(find_text(text_, "from", begin), text_.size());
    }
    if (next_from_ + 4 > end) return;
    const std::string_view code = text_.substr(begin, end - begin);
    const size_t from = next_from_ - begin;
    if (code.find("import", from) == std::string_view::npos) return;
    simple_statements(begin, end, false, nullptr);
    if (from != 0) {  // `try: from a import b`
      size_t colon = lines_.find_outside(begin, end, ':');
      if (colon != std::string_view::npos) simple_statements(colon + 1, end, false, nullptr);
    }
  }

  bool statement(size_t begin, size_t end, uint32_t indent, const Block& home) {
    std::string_view code = text_.substr(begin, end - begin);
    Names* names = home.in == In::module ? &out_.module.names : nullptr;
    if (code.front() == '@') {
      if (names != nullptr) header_names("", begin, end, *names);
      if (!decorated_) decorated_ = static_cast<uint32_t>(begin);
      return true;
    }
    std::string_view word = first_word(code);
    std::string_view rest = code;
    if (word == "async") {
      rest.remove_prefix(word.size());
      rest = trimmed(rest);
      word = first_word(rest);
    }
    if (word == "def" || word == "class") {
      if (names != nullptr) {
        size_t colon = lines_.find_outside(begin, end, ':');
        header_names("", begin, std::min(colon, end), *names);
      }
      define(begin, end, indent, home, word == "class", trimmed(rest.substr(word.size())), names);
      return true;
    }
    decorated_.reset();
    static constexpr std::string_view kCompound[] = {"if",   "elif",   "else",    "try", "while",
                                                     "with", "except", "finally", "for"};
    bool compound =
        std::find(std::begin(kCompound), std::end(kCompound), word) != std::end(kCompound);
    if (word == "match" || word == "case") {
      std::string_view all = trimmed(code), after = trimmed(all.substr(word.size()));
      compound = !all.empty() && after.size() > 1 && all.back() == ':' && after.front() != '.' &&
                 after.front() != '=' && after.front() != ',' && after.front() != ':';
      if (word == "case" && !compound) compound = match_case(begin, end, after);
    }
    if (!compound) {
      if (names != nullptr) header_names("", begin, end, *names);
      simple_statements(begin, end, home.guarded, names);
      return true;
    }
    if (word == "for" && names != nullptr) loop_names(begin, end, rest);
    size_t colon = lines_.header_colon(begin + (rest.data() - code.data()) + word.size(), end);
    if (colon == std::string_view::npos) return false;
    if (names != nullptr) header_names(word, begin, colon, *names);
    Block block{home.in, true, false, 0, indent, SIZE_MAX, home.type};
    if (trimmed(text_.substr(colon + 1, end - colon - 1)).empty()) {
      blocks_.push_back(block);
    } else {
      if (names != nullptr) header_names("", colon + 1, end, *names);
      simple_statements(colon + 1, end, true, names);
    }
    return true;
  }

  // Calls visit(word, where) for each name and keyword in [begin, end) outside strings and
  // comments.
  template <typename Visit>
  void words(size_t begin, size_t end, Visit visit) const {
    for (size_t at = begin; at < end;) {
      if (text_[at] == '"' || text_[at] == '\'') {
        at = lines_.string_end(at, 0);
        if (at == std::string_view::npos) return;
      } else if (text_[at] == '#') {
        at = lines_.next_line(at);
      } else if (name_char(text_[at])) {
        std::string_view word = first_word(text_.substr(at, end - at));
        visit(word, at);
        at += word.size();
      } else {
        ++at;
      }
    }
  }

  // What a statement binds beside its own targets: in a header the names behind `as`, and in the
  // pattern of a `case` those that are no class, no attribute and no keyword; before `:=` anywhere.
  void header_names(std::string_view header, size_t begin, size_t end, Names& names) {
    bool walrus = text_.substr(begin, end - begin).find(":=") != std::string_view::npos;
    bool pattern = header == "case", as = header == "with" || header == "except";
    if (!walrus && !pattern && !as) return;
    std::set<std::string_view> bound;
    bool target = false;
    int depth = 0;          // of brackets that opened since `as`
    size_t before = begin;  // where the last word ended
    words(begin, end, [&](std::string_view word, size_t at) {
      for (; target && before < at; ++before) {
        char c = text_[before];
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        if (depth <= 0 && !space(c)) target = false;
      }
      before = at + word.size();
      size_t behind = before;
      while (behind < end && space(text_[behind])) ++behind;
      char last = at > begin ? text_[at - 1] : ' ', next = behind < end ? text_[behind] : ' ';
      bool alone = last != '.' && next != '.' && next != '(' && is_name(word);
      if (alone && text_.substr(behind, 2) == ":=") bound.insert(word);
      if (word == "if") pattern = false;
      if (pattern && alone && at != begin && word != "as" && word != "_" && next != '=') {
        bound.insert(word);
      }
      if (target && alone && next != '[') bound.insert(word);
      if (depth == 0) target = false;  // behind a name that stands by itself nothing is a target
      if (as && word == "as") {
        target = true;
        depth = 0;
      }
    });
    for (std::string_view name : bound) {
      auto from = static_cast<uint32_t>(begin);
      bind(names, name, {Binding::Kind::other, "", {from, static_cast<uint32_t>(end)}, true});
    }
  }

  // `case 1: x = 2` on one line.
  bool match_case(size_t begin, size_t end, std::string_view after) const {
    if (after.empty() || after.front() == '=' || after.front() == '.' || after.front() == ',' ||
        after.front() == ':' || after.front() == '(') {
      return false;
    }
    return lines_.find_outside(begin, end, ':') != std::string_view::npos;
  }

  void loop_names(size_t begin, size_t end, std::string_view rest) {
    std::string_view left = rest.substr(3);
    size_t at = begin + (left.data() - text_.data()) - begin;
    size_t in = at;
    while (true) {  // the word `in` outside brackets
      in = lines_.find_outside(in, end, 'i');
      if (in == std::string_view::npos) return;
      bool word = text_.substr(in, 2) == "in" && (in == 0 || !name_char(text_[in - 1])) &&
                  (in + 2 >= end || !name_char(text_[in + 2]));
      if (word) break;
      ++in;
    }
    target(text_.substr(at, in - at), "", begin, end, true, out_.module.names);
  }

  void define(size_t begin, size_t end, uint32_t indent, const Block& home, bool type,
              std::string_view header, Names* names) {
    std::string_view name = first_word(header);
    OutlinedDefinition d;
    d.name = name;
    d.is_class = type;
    d.owner = home.type;
    d.begin = decorated_.value_or(static_cast<uint32_t>(begin));
    d.header = static_cast<uint32_t>(begin);
    decorated_.reset();
    if (names != nullptr && !name.empty()) {
      bind(*names, name,
           {type ? Binding::Kind::class_ : Binding::Kind::function,
            out_.module.name + "." + std::string(name),
            {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)},
            home.guarded});
    }
    size_t after = begin + static_cast<size_t>(header.data() - (text_.data() + begin));
    size_t colon = lines_.find_outside(after, end, ':');
    Block block{type ? In::type : In::function,
                home.guarded,
                false,
                0,
                indent,
                out_.definitions.size(),
                type ? out_.definitions.size() : home.type};
    std::string_view tail = colon == std::string_view::npos
                                ? std::string_view{}
                                : trimmed(text_.substr(colon + 1, end - colon - 1));
    if (colon != std::string_view::npos && tail.empty()) {
      out_.definitions.push_back(d);
      blocks_.push_back(block);
      return;
    }
    // On one line: nothing that could be left out.
    if (colon != std::string_view::npos) simple_statements(colon + 1, end, true, nullptr);
    d.end = d.body = static_cast<uint32_t>(end);
    out_.definitions.push_back(d);
  }

  void bind(Names& names, std::string_view name, Binding binding) {
    auto found = names.bindings.find(name);
    if (found == names.bindings.end()) {
      found = names.bindings.emplace(std::string(name), std::vector<Binding>{}).first;
    }
    found->second.push_back(std::move(binding));
  }

  // Simple statements with `;` between; `names` is null where their bindings are nobody's.
  void simple_statements(size_t begin, size_t end, bool guarded, Names* names) {
    while (begin < end) {
      size_t stop = std::min(lines_.find_outside(begin, end, ';'), end);
      simple(begin, stop, guarded, names);
      begin = stop + 1;
    }
  }

  void simple(size_t begin, size_t end, bool guarded, Names* names) {
    std::string_view code = trimmed(text_.substr(begin, end - begin));
    std::string_view word = first_word(code);
    if (word == "from") {
      import_from(code, guarded, names);
    } else if (names == nullptr) {
      return;
    } else if (word == "import") {
      import_modules(code.substr(word.size()), guarded, *names);
    } else if (std::string_view name = word == "type" ? type_alias(code) : ""; !name.empty()) {
      bind(*names, name, {Binding::Kind::other, "", range(code), guarded});
    } else if (!code.empty() && word != "lambda" && word != "return") {
      assignment(code, guarded, *names);
    }
  }

  // NAME of `type NAME = …`; empty where `type` is the name of something.
  static std::string_view type_alias(std::string_view code) {
    std::string_view rest = code.substr(4);
    if (rest.empty() || (!blank(rest.front()) && rest.front() != '\\')) return {};
    std::string_view name = first_word(trimmed(rest));
    return is_name(name) && name != "in" && name != "is" && name != "and" && name != "or" &&
                   name != "if" && name != "not"
               ? name
               : std::string_view{};
  }

  ByteRange range(std::string_view part) const {
    auto begin = static_cast<uint32_t>(part.data() - text_.data());
    return {begin, begin + static_cast<uint32_t>(part.size())};
  }

  // `name` or `name as alias`, whatever blanks and comments stand between.
  struct Aliased {
    std::string_view name, alias;
  };
  static Aliased aliased(std::string_view part) {
    std::array<std::string_view, 3> words;
    size_t count = 0;
    for (size_t at = 0; at < part.size() && count < words.size();) {
      if (part[at] == '#') {
        at = std::min(part.find('\n', at), part.size());
      } else if (name_char(part[at]) || part[at] == '.' || part[at] == '*') {
        size_t end = at;
        while (end < part.size() &&
               (name_char(part[end]) || part[end] == '.' || part[end] == '*')) {
          ++end;
        }
        words[count++] = part.substr(at, end - at);
        at = end;
      } else {
        ++at;
      }
    }
    return {words[0], words[1] == "as" ? words[2] : std::string_view{}};
  }

  void import_modules(std::string_view list, bool guarded, Names& names) {
    for (std::string_view part : lines_.parts(list)) {
      Aliased a = aliased(part);
      if (a.name.empty()) continue;
      if (!a.alias.empty()) {
        bind(names, a.alias, {Binding::Kind::import, std::string(a.name), range(part), guarded});
      } else {
        const std::string_view head = a.name.substr(0, a.name.find('.'));
        bind(names, head, {Binding::Kind::import, std::string(head), range(part), guarded});
      }
    }
  }

  void import_from(std::string_view code, bool guarded, Names* names) {
    std::string_view rest = trimmed(code.substr(4));
    size_t import = std::string_view::npos;
    std::string written;
    for (size_t at = 0; at < rest.size();) {
      if (name_char(rest[at])) {
        std::string_view word = first_word(rest.substr(at));
        if (word == "import") {
          import = at + word.size();
          break;
        }
        written += word;
        at += word.size();
      } else {
        if (rest[at] == '.') written += '.';
        ++at;
      }
    }
    if (import == std::string_view::npos || written == "__future__") return;
    std::string from = absolute_module(written, out_.module.name, out_.module.package);
    std::string_view list = trimmed(rest.substr(import));
    if (list.starts_with("*")) {
      if (names != nullptr && !has_types_only(from)) names->stars.push_back(from);
      return;
    }
    if (list.starts_with("(")) {
      list.remove_prefix(1);
      if (list.ends_with(")")) list.remove_suffix(1);
    }
    for (std::string_view part : lines_.parts(list)) {
      Aliased a = aliased(part);
      if (a.name.empty()) continue;
      std::string qualified = from;
      if (!from.empty()) qualified += '.';
      qualified += a.name;
      out_.module.inner_imports.insert(qualified);
      if (names == nullptr) continue;
      bind(*names, a.alias.empty() ? a.name : a.alias,
           {Binding::Kind::import, std::move(qualified), range(code), guarded});
    }
  }

  void assignment(std::string_view code, bool guarded, Names& names) {
    auto begin = static_cast<size_t>(code.data() - text_.data());
    size_t end = begin + code.size();
    std::vector<std::string_view> segments;
    size_t from = begin;
    bool augmented = false;
    for (size_t at = begin; !augmented;) {
      at = lines_.find_outside(at, end, '=');
      if (at == std::string_view::npos) break;
      if (at + 1 < end && text_[at + 1] == '=') {
        at += 2;
        continue;
      }
      char before = at > begin ? text_[at - 1] : ' ';
      if (before == '!' ||
          ((before == '<' || before == '>') && !(at >= begin + 2 && text_[at - 2] == before))) {
        ++at;
        continue;
      }
      size_t stop = at;
      if (std::string_view("+-*/%@&|^<>").find(before) != std::string_view::npos) {
        augmented = true;
        while (stop > from &&
               std::string_view("+-*/%@&|^<>").find(text_[stop - 1]) != std::string_view::npos) {
          --stop;
        }
      }
      segments.push_back(trimmed(text_.substr(from, stop - from)));
      from = at + 1;
      ++at;
    }
    std::string_view right = trimmed(text_.substr(from, end - from));
    if (segments.empty()) {  // `x: int`
      size_t colon = lines_.find_outside(begin, end, ':');
      if (colon == std::string_view::npos) return;
      segments.push_back(code);
      right = {};
    }
    size_t colon = lines_.find_outside(
        begin, begin + static_cast<size_t>(segments[0].data() + segments[0].size() - code.data()),
        ':');
    if (colon != std::string_view::npos) {
      segments[0] = trimmed(text_.substr(begin, colon - begin));
    }
    for (std::string_view segment : segments) {
      target(segment, augmented ? std::string_view{} : right, begin, end, guarded, names);
    }
  }

  void target(std::string_view text, std::string_view right, size_t begin, size_t end, bool guarded,
              Names& names, int depth = 0) {
    if (depth > kTargetDepth) {
      lost_ = true;
      return;
    }
    text = trimmed(text);
    if (text.starts_with('*')) text = trimmed(text.substr(1));
    const size_t whole = text.size();
    if (is_name(text)) {
      Binding b{Binding::Kind::assignment,
                "",
                {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)},
                guarded};
      if (right == "None") b.kind = Binding::Kind::none;
      if (is_dotted(right)) b.qualified = right;
      bind(names, text, std::move(b));
      return;
    }
    bool bracketed = text.size() >= 2 && (text.front() == '(' || text.front() == '[') &&
                     (text.back() == ')' || text.back() == ']');
    if (bracketed) text = text.substr(1, text.size() - 2);
    auto list = lines_.parts(text);
    if (list.size() == 1 && !bracketed && text.find(',') == std::string_view::npos) return;
    for (std::string_view part : list) {
      if (part.size() < whole) target(part, {}, begin, end, guarded, names, depth + 1);
    }
  }

  std::string_view text_;
  Lines lines_;
  Outline& out_;
  std::vector<Block> blocks_{Block{}};
  std::optional<uint32_t> decorated_;
  uint32_t last_code_ = 0;
  size_t next_from_ = 0;  // the first `from` at the line that was asked about last, or behind it
  bool lost_ = false;     // something is nested more deeply than is followed here
};

}  // namespace

std::span<const ByteRange> Outline::lines_in(size_t begin, size_t end) const {
  auto at = [&](size_t place) {
    return std::lower_bound(lines.begin(), lines.end(), place,
                            [](ByteRange line, size_t p) { return line.begin < p; });
  };
  return {at(begin), at(std::max(begin, end))};
}

size_t Outline::line_end(size_t at) const {
  auto next = std::upper_bound(lines.begin(), lines.end(), at,
                               [](size_t place, ByteRange line) { return place < line.begin; });
  if (next == lines.begin()) return 0;
  const size_t end = std::prev(next)->end;
  return at < end ? end : 0;
}

std::optional<Outline> outline(std::string_view text, std::string name, bool package) {
  Outline out;
  out.module.name = std::move(name);
  out.module.package = package;
  if (!Scanner(text, out).run()) return std::nullopt;
  return out;
}

}  // namespace refit::python

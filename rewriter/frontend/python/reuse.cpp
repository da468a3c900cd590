// See reuse.hpp. The tree of statements in a row that take whole lines depends on their bytes, on
// the indentation of the first, and on whether a statement may stand there and none of them goes on
// behind the last: an indented line or a comment can. Bytes and lines are compared here; whether a
// statement may stand there the parser says, which reads one in their place (Tree::Known). So a new
// text has no mistake if what is new of it has none, with a statement where they stand.
#include "rewriter/frontend/python/reuse.hpp"

#include <algorithm>
#include <array>

namespace refit::python {

namespace {

constexpr std::string_view kBlanks = " \t";

class Unchanged {
 public:
  Unchanged(const PythonUnit& before, std::string_view text, const Origins& origins,
            const std::vector<Unseen>& unseen)
      : before_(before),
        old_text_(before.text()),
        text_(text),
        same_(origins.same()),
        unseen_(unseen) {}

  std::vector<Tree::Known> run() {
    work_.push_back(before_.tree.root());
    while (!work_.empty()) {
      const TSNode node = work_.back();
      work_.pop_back();
      if (is(node, "module") || is(node, "block")) {
        rows_of(node);
      } else {
        add_blocks(node);
      }
    }
    std::sort(out_.begin(), out_.end(), [](const Tree::Known& a, const Tree::Known& b) {
      return a.range.begin < b.range.begin;
    });
    return std::move(out_);
  }

 private:
  // The blocks of a statement that changed.
  void add_blocks(TSNode statement) {
    static constexpr std::array<NodeKind, 8> kWithBlocks = {
        "block",         "class_definition", "elif_clause",         "else_clause",
        "except_clause", "finally_clause",   "function_definition", "except_group_clause"};
    for (TSNode child : children_of(statement)) {
      const NodeKind kind = type_of(child);
      if (std::find(kWithBlocks.begin(), kWithBlocks.end(), kind) == kWithBlocks.end()) continue;
      if (is(statement, "match_statement")) continue;  // whose cases are no statements
      work_.push_back(child);
    }
  }

  // Rows of statements of a block that are what they were; the others' own blocks come later.
  void rows_of(TSNode block) {
    std::vector<TSNode> row;
    const Origins::Same* in = nullptr;  // the stretch that it lies in
    const auto end_row = [&] {
      while (!row.empty() && !may_end(row.back(), *in)) {
        work_.push_back(row.back());
        row.pop_back();
      }
      if (!row.empty()) add(row, *in);
      row.clear();
    };
    for (TSNode statement : children_of(block)) {
      const Origins::Same& same = stretch(statement->begin);
      if (!row.empty() && &same != in) end_row();
      const bool kept = statement->end < uint64_t{same.before} + same.size &&
                        (!row.empty() || may_begin(statement, same)) && seen_alike(statement, same);
      if (kept) {
        in = &same;
        row.push_back(statement);
      } else {
        end_row();
        work_.push_back(statement);
      }
    }
    end_row();
  }

  void add(const std::vector<TSNode>& row, const Origins::Same& same) {
    const ByteRange was{row.front()->begin, row.back()->end};
    const ByteRange now{was.begin + (same.after - same.before),
                        was.end + (same.after - same.before)};
    const NodeData* first = row.front().get();
    const auto count = static_cast<uint32_t>(row.back().get() + row.back()->extent - first);
    const bool alike =
        was.end <= old_text_.size() && now.end <= text_.size() &&
        old_text_.substr(was.begin, was.size()) == text_.substr(now.begin, now.size());
    if (alike && now.size() >= Tree::kFoldable) out_.push_back({now, first, count});
  }

  // The stretch that no edit touched and that a place of the old text lies in, or the one before.
  const Origins::Same& stretch(uint32_t at) const {
    auto next = std::upper_bound(
        same_.begin(), same_.end(), at,
        [](uint32_t place, const Origins::Same& same) { return place < same.before; });
    return *std::prev(next);
  }

  // Whether a statement is the first in a line that was not touched before it, nor goes on from the
  // line before.
  bool may_begin(TSNode statement, const Origins::Same& same) const {
    const size_t at = statement->begin, line = at - blanks_before(old_text_, at).size();
    if (line < same.before || (line > 0 && old_text_[line - 1] != '\n')) return false;
    size_t before = line + same.after - same.before;  // what ends the line before
    if (before == 0) return true;
    if (text_[--before] != '\n') return false;
    if (before > 0 && text_[before - 1] == '\r') --before;
    return before == 0 || text_[before - 1] != '\\';
  }

  // Whether a line ends behind a statement, and what comes next is code that stands no further to
  // the right, so that no block of the statement can go on with it.
  bool may_end(TSNode statement, const Origins::Same& same) const {
    size_t at = statement->end + size_t{same.after} - same.before;
    at = std::min(text_.find_first_not_of(kBlanks, at), text_.size());
    if (at < text_.size() && text_[at] != '\n' && text_[at] != '\r') return false;
    at = text_.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) return true;
    if (text_[at] == '#' || text_[at] == '\\' || text_[at] == '\f') return false;
    return indentation(old_text_, statement->begin).starts_with(indentation(text_, at));
  }

  // The blanks right before a place.
  static std::string_view blanks_before(std::string_view text, size_t at) {
    size_t begin = at;
    while (begin > 0 && kBlanks.find(text[begin - 1]) != std::string_view::npos) --begin;
    return text.substr(begin, at - begin);
  }

  // Those that the line of a place begins with.
  static std::string_view indentation(std::string_view text, size_t at) {
    const size_t line = at == 0 ? 0 : text.find_last_of("\r\n", at - 1) + 1;
    const std::string_view before = text.substr(line, at - line);
    return before.substr(0, std::min(before.find_first_not_of(kBlanks), before.size()));
  }

  // Whether every body in a statement that was not parsed is, or lies in, one that is not to be,
  // and each of those was a block.
  bool seen_alike(TSNode statement, const Origins::Same& same) const {
    const uint32_t shift = same.after - same.before;
    const ByteRange now{statement->begin + shift, statement->end + shift};
    auto old = std::lower_bound(before_.unseen.begin(), before_.unseen.end(), statement->begin,
                                [](const Unseen& u, uint32_t at) { return u.body.end <= at; });
    auto next = std::lower_bound(unseen_.begin(), unseen_.end(), now.begin,
                                 [](const Unseen& u, uint32_t at) { return u.body.end <= at; });
    for (; next != unseen_.end() && next->body.begin < now.end; ++next) {
      if (!now.contains(next->body)) return false;
      const ByteRange body{next->body.begin - shift, next->body.end - shift};
      if (old != before_.unseen.end() && old->body.begin < body.begin) return false;
      for (; old != before_.unseen.end() && old->body.begin < body.end; ++old) {
        if (!body.contains(old->body)) return false;
      }
      if (!has_block(body)) return false;
    }
    return old == before_.unseen.end() || old->body.begin >= statement->end;
  }

  bool has_block(ByteRange body) const {
    TSNode at = ts_node_descendant_for_byte_range(before_.tree.root(), body.begin, body.end);
    while (present(at) && range_of(at) == body) {
      if (is(at, "block")) return true;
      at = ts_node_parent(at);
    }
    return false;
  }

  const PythonUnit& before_;
  std::string_view old_text_, text_;
  const std::vector<Origins::Same>& same_;
  const std::vector<Unseen>& unseen_;
  std::vector<TSNode> work_;
  std::vector<Tree::Known> out_;
};

}  // namespace

std::vector<Tree::Known> unchanged_statements(std::string_view text, const Focus& focus,
                                              const std::vector<Unseen>& unseen) {
  if (focus.before == nullptr || focus.origins == nullptr) return {};
  const auto& before = static_cast<const PythonUnit&>(*focus.before);
  if (before.tree.empty() || ts_node_has_error(before.tree.root())) return {};
  return Unchanged(before, text, *focus.origins, unseen).run();
}

}  // namespace refit::python

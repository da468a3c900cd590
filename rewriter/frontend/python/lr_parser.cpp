// The generalised LR algorithm as tree-sitter's parser.c applies it to a text without mistakes:
// which actions are taken, when readings are forked, merged and preferred, and how a token is
// looked for are the same, so that the trees are (tests/frontend/parser_test.cpp compares them).
// See lr_parser.hpp.
#include "rewriter/frontend/python/lr_parser.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>
#include <utility>

#include "rewriter/frontend/python/lr_input.hpp"
#include "rewriter/frontend/python/lr_tree.hpp"

namespace refit::python {

namespace {

constexpr size_t kMostReadings = 6;  // tree-sitter drops what is beyond
constexpr size_t kMoreForAMoment = 4;
constexpr size_t kMostWays = 8;    // out of one place, and
constexpr size_t kMostPaths = 64;  // of one reduction, too

// Where readings have met there are several ways down from a place.
struct Link {
  uint32_t below;
  uint32_t tree;
};

struct StackNode {
  Link first;
  uint32_t position;
  int32_t precedence;  // of all trees down to the bottom
  TSStateId state;
  uint16_t more = 0;  // other ways
};

constexpr uint32_t kNothing = UINT32_MAX, kToBottom = UINT32_MAX;

struct Reading {
  enum class Status : uint8_t { active, stuck, over } status = Status::active;
  uint32_t top = 0;
  uint32_t scanner = 0;  // number of the scanner's state
};

// What one parse leaves to the next: where it kept things.
struct Buffers {
  Pile<StackNode> stack;
  Pile<RuleTree> trees;
  Pile<uint32_t> children;
};

class Parser {
 public:
  Parser(std::string_view text, Folded folded, Buffers& buffers)
      : language_(*tree_sitter_python()),
        table_(table()),
        text_(text),
        tokens_(text, folded, table_),
        stack_(buffers.stack),
        trees_(buffers.trees),
        children_(buffers.children) {
    stack_.clear();
    trees_.clear();
    children_.clear();
    stack_.push_back({{kNothing, kNothing}, 0, 0, 1});
    trees_.reserve(text.size() / 3 + 16);
    children_.reserve(text.size() / 3 + 16);
    readings_.emplace_back();
  }

  bool run() {
    if (text_.starts_with("\xef\xbb\xbf") || text_.size() >= UINT32_MAX / 2) return false;
    uint32_t last = 0;
    while (!readings_.empty()) {
      for (size_t r = 0; r < readings_.size(); ++r) {
        while (readings_[r].status == Reading::Status::active) {
          if (!step(r)) return false;
          const uint32_t position = stack_[readings_[r].top].position;
          if (position > last || (r > 0 && position == last)) {
            last = position;
            break;
          }
        }
      }
      if (readings_.size() == 1 && readings_[0].status == Reading::Status::active) continue;
      if (!condense()) return false;
    }
    return accepted_;
  }

  std::vector<NodeData> nodes() const { return visible_nodes(root_, trees_, children_); }

 private:
  using Actions = Table::Actions;

  static const Table& table() {
    static const Table kTable(*tree_sitter_python());
    return kTable;
  }

  // One reading, until it takes a token, ends or gets stuck. False where nothing can be said.
  bool step(size_t r) {
    Token token;
    Actions found{};
    TSStateId state = stack_[readings_[r].top].state;
    if (!look_ahead(readings_[r], state, token, found)) {
      readings_[r].status = Reading::Status::stuck;
      return true;
    }
    while (true) {
      if (found.count == 1 && readings_.size() == 1) {
        const TSParseAction& action = found.first->action;
        if (action.type == TSParseActionTypeReduce && reduce_alone(readings_[r], action)) {
          state = stack_[readings_[r].top].state;
          found = table_.actions(state, token.symbol);
          continue;
        }
        if (action.type == TSParseActionTypeShift && !action.shift.repetition) {
          shift(readings_[r], action.shift.extra ? state : action.shift.state, token,
                action.shift.extra);
          return true;
        }
      }
      bool reduced = false;
      size_t latest = SIZE_MAX;
      // One action alone needs no reading of its own.
      uint32_t taken = 0;
      for (uint32_t a = 0; a < found.count; ++a) {
        const TSParseAction& action = found.first[a].action;
        taken += action.type != TSParseActionTypeShift || !action.shift.repetition;
      }
      for (uint32_t a = 0; a < found.count; ++a) {
        const TSParseAction& action = found.first[a].action;
        switch (action.type) {
          case TSParseActionTypeShift:
            if (action.shift.repetition) break;
            shift(readings_[r], action.shift.extra ? state : action.shift.state, token,
                  action.shift.extra);
            return true;
          case TSParseActionTypeReduce: {
            reduced = true;
            if (readings_.size() == 1 && taken == 1 && reduce_alone(readings_[r], action)) {
              latest = r;
              break;
            }
            const size_t before = readings_.size();
            if (!reduce(r, action)) return false;
            if (readings_.size() > before) latest = before;
            break;
          }
          case TSParseActionTypeAccept:
            return accept(r, token);
          default:
            readings_[r].status = Reading::Status::stuck;
            return true;
        }
      }
      if (latest != SIZE_MAX) {
        if (latest != r) {
          readings_[r] = readings_[latest];
          readings_.erase(readings_.begin() + static_cast<std::ptrdiff_t>(latest));
        }
        state = stack_[readings_[r].top].state;
        found = table_.actions(state, token.symbol);
        continue;
      }
      if (reduced) {  // into another reading
        readings_[r].status = Reading::Status::over;
        return true;
      }
      if (token.keyword && token.symbol != language_.keyword_capture_token &&
          !tokens_.reserved(state, token.symbol)) {
        const Actions as_name = table_.actions(state, language_.keyword_capture_token);
        if (as_name.count > 0) {
          token.symbol = language_.keyword_capture_token;
          found = as_name;
          continue;
        }
      }
      readings_[r].status = Reading::Status::stuck;
      return true;
    }
  }

  bool look_ahead(const Reading& reading, TSStateId state, Token& token, Actions& found) {
    const uint32_t position = stack_[reading.top].position;
    const TSLexerMode& mode = language_.lex_modes[state];
    if (cached_ && cached_at_ == position && cached_scanner_ == reading.scanner) {
      const TSLexerMode& then = language_.lex_modes[cached_state_];
      found = table_.actions(state, cached_token_.symbol);
      const bool same = std::memcmp(&mode, &then, sizeof mode) == 0;
      const bool plain = cached_token_.symbol != language_.keyword_capture_token ||
                         (!cached_token_.keyword && cached_state_ == state);
      const bool empty = cached_token_.begin == cached_token_.end && cached_token_.symbol != 0;
      if ((found.count > 0 && same && plain) ||
          (!empty && mode.external_lex_state == 0 && found.reusable)) {
        token = cached_token_;
        return true;
      }
    }
    if (!tokens_.next(state, position, reading.scanner, token)) return false;
    cached_ = true;
    cached_at_ = position;
    cached_scanner_ = reading.scanner;
    cached_state_ = state;
    cached_token_ = token;
    found = table_.actions(state, token.symbol);
    return true;
  }

  uint32_t add_tree(const RuleTree& tree) {
    const auto number = static_cast<uint32_t>(trees_.size());
    trees_.push_back(tree);
    return number;
  }

  void push(Reading& reading, uint32_t tree, TSStateId state, uint32_t position) {
    push(reading, tree, trees_[tree].precedence, state, position);
  }
  void push(Reading& reading, uint32_t tree, int32_t precedence, TSStateId state,
            uint32_t position) {
    const auto top = static_cast<uint32_t>(stack_.size());
    const int32_t all = stack_[reading.top].precedence + precedence;
    *stack_.extend(1) = {{reading.top, tree}, position, all, state};
    reading.top = top;
  }

  void shift(Reading& reading, TSStateId state, const Token& token, bool extra) {
    const auto leaf = static_cast<uint32_t>(trees_.size());
    *trees_.extend(1) = {token.begin, token.end, 0, 0, extra, 0, token.symbol, UINT16_MAX};
    push(reading, leaf, 0, state, token.end);
    if (token.external) reading.scanner = token.scanner;
  }

  // A tree of some children, given from the last to the first, that begins at a place if it has
  // none.
  RuleTree tree_of(const TSParseAction& action, const std::vector<uint32_t>& reversed,
                   uint32_t position) {
    RuleTree made{};
    made.begin = made.end = position;
    made.first = static_cast<uint32_t>(children_.size());
    made.count = reversed.size() & RuleTree::kMostChildren;
    made.symbol = action.reduce.symbol;
    made.production = action.reduce.production_id;
    for (uint32_t child : std::views::reverse(reversed)) {
      children_.push_back(child);
      made.precedence += trees_[child].precedence;
    }
    if (!reversed.empty()) {
      made.begin = trees_[reversed.back()].begin;
      made.end = trees_[reversed.front()].end;
    }
    return made;
  }

  void push_reduced(Reading& reading, RuleTree made, const TSParseAction& action,
                    const std::vector<uint32_t>& trailing) {
    made.precedence += action.reduce.dynamic_precedence;
    const TSStateId next = table_.at(stack_[reading.top].state, made.symbol);
    push(reading, add_tree(made), next, made.end);
    for (uint32_t tree : std::views::reverse(trailing)) {
      push(reading, tree, next, trees_[tree].end);
    }
  }

  // Extras on top of the stack belong to no tree that is made below them.
  void split_trailing(std::vector<uint32_t>& reversed, std::vector<uint32_t>& trailing) const {
    auto own = std::find_if(reversed.begin(), reversed.end(),
                            [this](uint32_t tree) { return !trees_[tree].extra; });
    trailing.assign(reversed.begin(), own);
    reversed.erase(reversed.begin(), own);
  }

  // With one reading and one way down.
  bool reduce_alone(Reading& reading, const TSParseAction& action) {
    const uint32_t count = action.reduce.child_count;
    const size_t first = children_.size();
    uint32_t* const children = children_.extend(count);
    uint32_t at = reading.top, begin = 0;
    int32_t precedence = action.reduce.dynamic_precedence;
    for (uint32_t child = count; child-- > 0;) {
      const StackNode& node = stack_[at];
      const RuleTree& tree = trees_[node.first.tree];
      if (node.more != 0 || tree.extra) {
        children_.cut(first);
        return node.more == 0 && reduce_over_extras(reading, action);
      }
      children[child] = node.first.tree;
      precedence += tree.precedence;
      begin = tree.begin;  // of the first in the end
      at = node.first.below;
    }
    const StackNode& below = stack_[at];
    if (count == 0) begin = below.position;
    const uint32_t end = count == 0 ? begin : trees_[children[count - 1]].end;
    const TSStateId next = table_.at(below.state, action.reduce.symbol);
    const auto number = static_cast<uint32_t>(trees_.size());
    *trees_.extend(1) = {
        begin, end,        static_cast<uint32_t>(first), count & RuleTree::kMostChildren,
        false, precedence, action.reduce.symbol,         action.reduce.production_id};
    go_down(reading, at);
    push(reading, number, precedence, next, end);
    return true;
  }

  // The same where comments or the like stand between what is reduced, or on top of it.
  bool reduce_over_extras(Reading& reading, const TSParseAction& action) {
    popped_.clear();
    uint32_t at = reading.top;
    for (uint32_t wanted = action.reduce.child_count; wanted > 0;) {
      const StackNode& node = stack_[at];
      if (node.more != 0) return false;
      popped_.push_back(node.first.tree);
      wanted -= !trees_[node.first.tree].extra;
      at = node.first.below;
    }
    split_trailing(popped_, trailing_);
    const RuleTree made = tree_of(action, popped_, stack_[at].position);
    go_down(reading, at);
    push_reduced(reading, made, action, trailing_);
    return true;
  }

  // Where nothing else leads to what was above.
  void go_down(Reading& reading, uint32_t at) {
    if (at < lowest_fork_ && lowest_fork_ != kNothing) {
      lowest_fork_ = kNothing;
      highest_linked_ = 0;
      more_.clear();
    }
    stack_.cut(std::max(at, highest_linked_) + size_t{1});
    reading.top = at;
  }

  struct Path {
    uint32_t at;
    uint32_t wanted;
    std::vector<uint32_t> trees;  // from the top
  };

  // The ways down from a place over a number of trees, or to the bottom; those to one place
  // together. False where tree-sitter would drop some.
  bool ways_down(uint32_t top, uint32_t wanted, std::vector<Path>& done) {
    std::vector<Path> paths{{top, wanted, {}}};
    while (!paths.empty()) {
      const size_t count = paths.size();
      for (size_t i = 0; i < count; ++i) {
        if (paths[i].wanted == 0 || (wanted == kToBottom && paths[i].at == 0)) {
          auto same = std::find_if(done.rbegin(), done.rend(),
                                   [&](const Path& p) { return p.at == paths[i].at; });
          done.insert(same == done.rend() ? done.end() : same.base(), std::move(paths[i]));
          paths[i].at = kNothing;
          continue;
        }
        const StackNode node = stack_[paths[i].at];
        for (uint32_t way = 1; way <= node.more; ++way) {
          if (paths.size() >= kMostPaths) return false;
          Path further = paths[i];
          follow(further, more_.at({paths[i].at, way}));
          paths.push_back(std::move(further));
        }
        follow(paths[i], node.first);
      }
      std::erase_if(paths, [](const Path& p) { return p.at == kNothing; });
    }
    return true;
  }

  // A reading for each place that is led to. False where tree-sitter would drop some.
  bool reduce(size_t r, const TSParseAction& action) {
    std::vector<Path> done;
    if (!ways_down(readings_[r].top, action.reduce.child_count, done)) return false;
    std::vector<uint32_t> trailing, other_trailing;
    for (size_t i = 0; i < done.size(); ++i) {
      const uint32_t at = done[i].at;
      if (readings_.size() > kMostReadings + kMoreForAMoment) return false;
      split_trailing(done[i].trees, trailing);
      RuleTree made = tree_of(action, done[i].trees, stack_[at].position);
      for (; i + 1 < done.size() && done[i + 1].at == at; ++i) {
        split_trailing(done[i + 1].trees, other_trailing);
        const RuleTree other = tree_of(action, done[i + 1].trees, stack_[at].position);
        if (!preferred(other, made)) continue;
        made = other;
        trailing.swap(other_trailing);
      }
      readings_.push_back(readings_[r]);
      const size_t number = readings_.size() - 1;
      readings_[number].top = at;
      push_reduced(readings_[number], made, action, trailing);
      for (size_t other = 0; other < number; ++other) {
        if (other == r || !can_merge(readings_[other], readings_[number])) continue;
        if (!merge(readings_[other].top, readings_[number].top)) return false;
        readings_.pop_back();
        break;
      }
    }
    return true;
  }

  void follow(Path& path, Link link) const {
    path.trees.push_back(link.tree);
    path.wanted -= !trees_[link.tree].extra;
    path.at = link.below;
  }

  // Whether of two trees for one text the second is taken: that of the higher precedence, or whose
  // rules come first in the grammar.
  bool preferred(const RuleTree& tree, const RuleTree& over) const {
    if (tree.precedence != over.precedence) return tree.precedence > over.precedence;
    std::vector<std::pair<const RuleTree*, const RuleTree*>> work{{&tree, &over}};
    while (!work.empty()) {
      const auto [a, b] = work.back();
      work.pop_back();
      if (a->symbol != b->symbol) return a->symbol < b->symbol;
      if (a->count != b->count) return a->count < b->count;
      for (uint32_t i = a->count; i > 0; --i) {
        work.emplace_back(&trees_[children_[a->first + i - 1]],
                          &trees_[children_[b->first + i - 1]]);
      }
    }
    return false;
  }

  bool can_merge(const Reading& a, const Reading& b) const {
    const StackNode &x = stack_[a.top], &y = stack_[b.top];
    return a.status == Reading::Status::active && b.status == Reading::Status::active &&
           x.state == y.state && x.position == y.position &&
           tokens_.same_state(a.scanner, b.scanner);
  }

  Link& link(uint32_t node, uint32_t way) {
    return way == 0 ? stack_[node].first : more_.at({node, way});
  }

  bool alike(uint32_t a, uint32_t b) const {
    if (a == b) return true;
    if (a == kNothing || b == kNothing) return false;
    const RuleTree &x = trees_[a], &y = trees_[b];
    return x.symbol == y.symbol && x.begin == y.begin && x.end == y.end && x.count == y.count &&
           x.extra == y.extra;
  }

  // The ways down from a place are another's, too.
  bool merge(uint32_t kept, uint32_t other) {
    if (kept == other) return true;
    for (uint32_t way = 0; way <= stack_[other].more; ++way) {
      if (!add_link(kept, link(other, way))) return false;
    }
    return true;
  }

  bool add_link(uint32_t node, Link added) {
    if (added.below == node) return true;
    if (added.below == kNothing) return false;
    for (uint32_t way = 0; way <= stack_[node].more; ++way) {
      Link& known = link(node, way);
      if (!alike(known.tree, added.tree)) continue;
      const int32_t precedence = trees_[added.tree].precedence + stack_[added.below].precedence;
      if (known.below == added.below) {
        if (trees_[added.tree].precedence > trees_[known.tree].precedence) {
          known.tree = added.tree;
          stack_[node].precedence = precedence;
        }
        return true;
      }
      const StackNode &a = stack_[known.below], &b = stack_[added.below];
      if (a.state != b.state || a.position != b.position) continue;
      if (++merges_ > kMostMerges) return false;
      if (!merge(known.below, added.below)) return false;
      stack_[node].precedence = std::max(stack_[node].precedence, precedence);
      return true;
    }
    StackNode& at = stack_[node];
    if (at.more + 1u == kMostWays) return false;
    more_.insert_or_assign(std::pair(node, ++at.more), added);
    at.precedence =
        std::max(at.precedence, trees_[added.tree].precedence + stack_[added.below].precedence);
    lowest_fork_ = std::min(lowest_fork_, node);
    highest_linked_ = std::max(highest_linked_, added.below);
    return true;
  }

  // Drops readings that are stuck or over, merges those that have met, and puts the one of the
  // higher precedence first.
  bool condense() {
    std::erase_if(readings_, [](const Reading& r) { return r.status == Reading::Status::over; });
    for (size_t i = 0; i < readings_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (readings_[i].status != readings_[j].status) continue;
        if (can_merge(readings_[j], readings_[i])) {
          if (!merge(readings_[j].top, readings_[i].top)) return false;
          readings_.erase(readings_.begin() + static_cast<std::ptrdiff_t>(i));
          --i;
          break;
        }
        if (stack_[readings_[i].top].precedence > stack_[readings_[j].top].precedence) {
          std::swap(readings_[i], readings_[j]);
        }
      }
    }
    const bool any = std::any_of(readings_.begin(), readings_.end(), [](const Reading& r) {
      return r.status == Reading::Status::active;
    });
    if (!any) return accepted_ && (readings_.clear(), true);
    std::erase_if(readings_, [](const Reading& r) { return r.status == Reading::Status::stuck; });
    return readings_.size() <= kMostReadings;
  }

  // The text is at its end: of all trees for it, the preferred one.
  bool accept(size_t r, const Token& token) {
    const uint32_t end = add_tree({token.begin, token.end, 0, 0, false, 0, 0, UINT16_MAX});
    std::vector<Path> done;
    if (!ways_down(readings_[r].top, kToBottom, done)) return false;
    for (Path& path : done) {
      std::vector<uint32_t>& all = path.trees;
      std::reverse(all.begin(), all.end());
      all.push_back(end);
      const RuleTree root = whole(all);
      if (!accepted_ || preferred(root, root_)) root_ = root;
      accepted_ = true;
    }
    readings_[r].status = Reading::Status::over;
    return true;
  }

  // The tree that stands for the text takes what stands around it as its own.
  RuleTree whole(std::vector<uint32_t>& all) {
    RuleTree root{};
    for (size_t i = all.size() - 1; i-- > 0;) {
      if (trees_[all[i]].extra) continue;
      root = trees_[all[i]];
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      const uint32_t* const own = children_.data() + root.first;
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(i), own, own + root.count);
      break;
    }
    root.first = static_cast<uint32_t>(children_.size());
    root.count = all.size() & RuleTree::kMostChildren;
    root.begin = trees_[all.front()].begin;
    root.end = trees_[all.back()].end;
    root.precedence = 0;
    for (uint32_t tree : all) root.precedence += trees_[tree].precedence;
    std::copy(all.begin(), all.end(), children_.extend(all.size()));
    return root;
  }

  static constexpr uint32_t kMostMerges = 1u << 16;

  const TSLanguage& language_;
  const Table& table_;
  std::string_view text_;
  Tokens tokens_;
  Pile<StackNode>& stack_;
  Pile<RuleTree>& trees_;
  Pile<uint32_t>& children_;
  std::vector<Reading> readings_;
  std::map<std::pair<uint32_t, uint32_t>, Link> more_;  // by place and number, from 1 on
  uint32_t lowest_fork_ = kNothing;                     // place that has more than one way
  uint32_t highest_linked_ = 0;                         // place that one of those leads to
  uint32_t merges_ = 0;
  std::vector<uint32_t> popped_, trailing_;
  bool cached_ = false;
  uint32_t cached_at_ = 0, cached_scanner_ = 0;
  TSStateId cached_state_ = 0;
  Token cached_token_;
  RuleTree root_{};
  bool accepted_ = false;
};

}  // namespace

std::optional<std::vector<NodeData>> parse_clean(std::string_view text, Folded folded) {
  constexpr size_t kKept = size_t{1} << 18;  // bytes of a text whose buffers may stay
  thread_local Buffers kept;
  Buffers own;
  Parser parser(text, folded, text.size() > kKept ? own : kept);
  if (!parser.run()) return std::nullopt;
  return parser.nodes();
}

}  // namespace refit::python

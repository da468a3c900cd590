// See mentions.hpp. Each statement is read token by token; what depends on the imports of the file,
// which may follow, is decided at its end.
#include "rewriter/python/names/mentions.hpp"

#include <algorithm>
#include <initializer_list>

#include "rewriter/python/names/module.hpp"
#include "rewriter/python/names/tokens.hpp"

namespace refit::python {

namespace {

using Kind = Token::Kind;

bool one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, word) != all.end();
}

// Whether a text is a dotted name.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return in_word(c) || c == '.'; });
}

// A name behind a dot, the word before it and the first word of the chain of names that they are
// in; these are empty where the chain begins with another expression.
struct Attribute {
  std::string_view name, owner, root;
  bool of_root() const { return owner.data() == root.data(); }
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view module, bool package, const KnownNames& known)
      : tokens_(text),
        text_(text),
        module_(module),
        package_(package),
        scripts_(text.find("script") != std::string_view::npos),
        known_(known) {}

  Mentions read() {
    do {
      previous_ = token_;
      token_ = tokens_.next();
      take();
    } while (token_.kind != Kind::end);
    for (const Attribute& write : writes_) add_write(write);
    for (const Attribute& read : reads_) add_read(read);
    for (std::string_view base : bases_) {
      add(Use::base, base);
      each_meaning(base, [&](std::string_view meaning) { add(Use::base, meaning); });
    }
    if (computing_) {
      for (std::string_view name : classes_) add(Use::exchanged, name);
    }
    if (compiles_) out_.all.insert(out_.all.end(), scripted_.begin(), scripted_.end());
    std::ranges::sort(out_.all);
    out_.all.erase(std::unique(out_.all.begin(), out_.all.end()), out_.all.end());
    out_.all.shrink_to_fit();
    return std::move(out_);
  }

 private:
  void add(Use use, std::string_view word, std::string_view second = {}) {
    out_.all.push_back(mention(use, word, second));
  }

  // Calls visit(meaning) with the last part of what each import that binds a name gives it.
  template <typename Visit>
  bool each_meaning(std::string_view name, Visit visit) const {
    bool any = false;
    for (const auto& [local, meaning] : imports_) {
      if (local != name) continue;
      any = true;
      visit(meaning);
    }
    return any;
  }
  bool imported(std::string_view name) const {
    return each_meaning(name, [](std::string_view) {});
  }

  // Follows `setattr(owner, name` and `_modules[name` to the name, which is computed if it is no
  // text.
  void follow_setter() {
    switch (setter_) {
      case Setter::none:
        break;
      case Setter::named:
        setter_ = token_.kind == Kind::open ? Setter::owner : Setter::none;
        depth_ = brackets_.size() + 1;
        break;
      case Setter::key_opens:
        setter_ = token_.kind == Kind::open ? Setter::key : Setter::none;
        break;
      case Setter::owner:
        if (token_.kind == Kind::comma && brackets_.size() == depth_) {
          setter_ = previous_.text == "self" && root_ == "self" ? Setter::none : Setter::key;
        }
        break;
      case Setter::key: {
        const bool text = token_.kind == Kind::string && is_name(token_.text);
        computing_ = computing_ || !text;
        setter_ = text ? Setter::key_ends : Setter::none;
        break;
      }
      case Setter::key_ends:
        computing_ = computing_ || (token_.kind != Kind::comma && token_.kind != Kind::close);
        setter_ = Setter::none;
        break;
    }
  }

  void take() {
    if (setter_ != Setter::none) follow_setter();
    if (!attribute_.name.empty()) {  // ended by this token, where its chain does not go on
      if (token_.kind != Kind::dot && token_.kind != Kind::open && calls_ == 0 && !annotation_) {
        targets_.push_back(attribute_);
      }
      attribute_ = {};
    }
    if (alias_value_ && token_.kind != Kind::word && token_.kind != Kind::dot &&
        token_.kind != Kind::line && token_.kind != Kind::end) {
      alias_ = {};
    }
    switch (token_.kind) {
      case Kind::word:
        previous_.kind == Kind::dot ? take_attribute() : take_word();
        break;
      case Kind::string:
        take_string();
        break;
      case Kind::open:
        open_bracket();
        break;
      case Kind::close:
        close_bracket();
        break;
      case Kind::assign:
        if (calls_ == 0) commit();
        annotation_ = annotation_ && calls_ > 0;
        alias_value_ = !alias_.empty() && previous_.text.data() == alias_.data();
        break;
      case Kind::colon:
        end_with_target();
        take_colon();
        break;
      case Kind::comma:
        end_with_target();
        break;
      case Kind::line:
      case Kind::end:
        end_statement();
        break;
      default:
        break;
    }
  }

  // A colon inside brackets may end a key, another one a header; the rest begin an annotation.
  void take_colon() {
    if (!brackets_.empty()) {
      if (previous_.kind == Kind::word) note_class(previous_.text);
      return;
    }
    const bool header = one_of(first_, {"if", "elif", "else", "for", "while", "try", "except",
                                        "finally", "with", "async", "def", "match", "case"});
    annotation_ = !header;
    first_ = {};
  }

  // Whether what stands between brackets may be several targets: they open behind no name that is
  // called or indexed.
  void open_bracket() {
    const bool named =
        previous_.kind == Kind::close || previous_.kind == Kind::string ||
        (previous_.kind == Kind::word && !one_of(previous_.text, {"for", "with", "as"}));
    const bool call = named && token_.text != "{";
    brackets_.push_back(call);
    calls_ += call ? 1 : 0;
  }

  void close_bracket() {
    end_with_target();
    if (!brackets_.empty()) {
      calls_ -= brackets_.back() ? 1 : 0;
      brackets_.pop_back();
    }
    root_ = owner_ = {};
  }

  // Takes what stood as targets for such.
  void commit() {
    writes_.insert(writes_.end(), targets_.begin(), targets_.end());
    targets_.clear();
  }

  // Behind `as` there may be several targets in brackets.
  void end_with_target() {
    if (behind_as_) commit();
    behind_as_ = behind_as_ && !brackets_.empty();
  }

  void end_statement() {
    end_with_target();
    if (alias_value_ && !alias_.empty() && owner_ != alias_ &&
        known_.operations.contains(hash_of(owner_))) {
      out_.other_names.emplace_back(owner_, alias_);
    }
    if (asking_) std::ranges::for_each(titles_, [this](auto title) { note_class(title); });
    if (compiling_) {
      for (std::string_view word : words_) {
        scripted_.push_back(mention(Use::scripted, word));
        scripted_.push_back(mention(Use::compiler, word));
      }
      compiles_ = true;
    }
    targets_.clear();
    brackets_.clear();
    words_.clear();
    titles_.clear();
    calls_ = 0;
    by_name_ = asking_ = compiling_ = behind_for_ = alias_value_ = annotation_ = false;
    alias_ = root_ = owner_ = first_ = {};
  }

  void take_attribute() {
    attribute_ = {token_.text, owner_, root_};
    reads_.push_back(attribute_);
    if (token_.text.starts_with("register_forward") && !attribute_.of_root()) {
      add(Use::stored, owner_);
    }
    owner_ = token_.text;
    note_word();
  }

  void take_word() {
    const std::string_view word = token_.text;
    root_ = owner_ = word;
    if (first_.empty()) first_ = word;
    if (previous_.kind == Kind::word && alias_value_) alias_ = {};
    const bool first = word.data() == text_.data() || word.data()[-1] == '\n';
    if (first && previous_.kind == Kind::line) alias_ = word;
    if (word == "import") {
      take_import();
    } else if (word == "from" && (previous_.kind == Kind::line || previous_.kind == Kind::colon)) {
      take_from();
    } else if (word == "class") {
      take_class();
    } else if (word == "for") {
      targets_.clear();
      behind_for_ = true;
    } else if (word == "in" && behind_for_) {
      commit();
      behind_for_ = false;
    } else if (word == "as") {
      targets_.clear();
      behind_as_ = true;
    } else {
      if (scripts_ && tokens_.ahead() == '(') {
        const bool defined = previous_.text == "def";
        scripted_.push_back(mention(defined ? Use::compiler : Use::scripted, word));
      }
      note_word();
    }
  }

  // What a word says of its statement, or of the whole file.
  void note_word() {
    const std::string_view word = token_.text;
    if (scripts_) words_.push_back(word);
    if (word.front() >= 'A' && word.front() <= 'Z') {
      titles_.push_back(word);
      return;
    }
    constexpr size_t kShortest = 4, kLongest = 18;
    if (word.size() < kShortest || word.size() > kLongest) return;
    if (one_of(word, {"setattr", "__setattr__"})) {
      by_name_ = true;
      setter_ = Setter::named;
    } else if (one_of(word, {"add_module", "register_module", "_modules"})) {
      by_name_ = true;
      const bool own = attribute_.owner == "self" && attribute_.of_root();
      setter_ = own ? Setter::none : Setter::key_opens;
    } else if (word == "register_buffer" || word == "register_parameter") {
      by_name_ = true;
    } else if (one_of(word,
                      {"modules", "vars", "__dict__", "import_module", "__import__", "patch"})) {
      by_name_ = true;
    } else if (one_of(word, {"isinstance", "issubclass", "type", "__class__"})) {
      asking_ = true;
    } else if (word == "__name__" && by_name_) {
      add(Use::quoted, last_name(module_));
    } else if (scripts_ && one_of(word, {"script", "script_if_tracing", "script_method"})) {
      compiling_ = compiling_ || previous_.kind == Kind::dot || imported(word);
    }
  }

  void note_class(std::string_view word) {
    if (!known_.classes.contains(hash_of(word))) return;
    add(Use::asked, word);
    classes_.push_back(word);
  }

  void take_string() {
    root_ = owner_ = {};
    if (!is_name(token_.text)) return;
    const std::string_view last = last_name(token_.text);
    if (by_name_ || by_any_name_) add(Use::quoted, last);
    if (last.size() < token_.text.size()) note_class(last);
    if (last.size() == token_.text.size() && known_.classes.contains(hash_of(last))) {
      classes_.push_back(last);
    }
  }

  // `import a.b as c, d`
  void take_import() {
    std::string_view first, last, alias;
    bool renamed = false;
    do {
      token_ = tokens_.next();
      if (token_.kind == Kind::word) {
        if (token_.text == "as") {
          renamed = true;
        } else if (renamed) {
          alias = token_.text;
        } else {
          first = first.empty() ? token_.text : first;
          last = token_.text;
          add(Use::imported, last);
        }
      } else if (token_.kind != Kind::dot && !last.empty()) {
        alias.empty() ? bind(first, first) : bind(alias, last);
        if (!alias.empty()) note_other_name(last, alias, false);
        first = last = alias = {};
        renamed = false;
      }
    } while (token_.kind != Kind::line && token_.kind != Kind::end);
    end_statement();
  }

  // `from ..a.b import (c as d, e)`
  void take_from() {
    std::string_view module, name, alias;
    std::string dots;
    do {
      token_ = tokens_.next();
      if (token_.kind == Kind::dot && module.empty()) dots += '.';
      if (token_.kind == Kind::word && token_.text != "import") module = token_.text;
    } while (token_.kind == Kind::dot || (token_.kind == Kind::word && token_.text != "import"));
    if (module.empty()) dots = absolute_module(dots, module_, package_);
    if (module.empty()) module = last_name(dots);
    const bool known = known_.modules.contains(hash_of(module));
    bool renamed = false;
    do {
      if (token_.kind != Kind::line) token_ = tokens_.next();
      if (token_.text == "*") {
        add(Use::from, "*", module);
      } else if (token_.kind == Kind::word && token_.text == "as") {
        renamed = true;
      } else if (token_.kind == Kind::word) {
        (renamed ? alias : name) = token_.text;
      } else if (!name.empty()) {
        add(Use::from, name, module);
        add(Use::imported, name);
        bind(alias.empty() ? name : alias, name);
        if (!alias.empty()) note_other_name(name, alias, known);
        if (!alias.empty()) note_class(name);
        by_any_name_ = by_any_name_ || (!alias.empty() && name == "modules");
        name = alias = {};
        renamed = false;
      }
    } while (token_.kind != Kind::line && token_.kind != Kind::end);
    end_statement();
  }

  void bind(std::string_view local, std::string_view meaning) {
    imports_.emplace_back(local, meaning);
  }

  void note_other_name(std::string_view name, std::string_view other, bool of_project) {
    if (name == other) return;
    const uint64_t hash = hash_of(name);
    if (of_project || known_.modules.contains(hash) || known_.operations.contains(hash)) {
      out_.other_names.emplace_back(name, other);
    }
  }

  // `class A(b.C, metaclass=D):`, to its colon.
  void take_class() {
    size_t depth = 0;
    for (token_ = tokens_.next(); token_.kind != Kind::line && token_.kind != Kind::end &&
                                  !(token_.kind == Kind::colon && depth == 0);
         token_ = tokens_.next()) {
      if (token_.kind == Kind::open) ++depth;
      if (token_.kind == Kind::close) --depth;
      if (token_.kind == Kind::word && depth > 0) bases_.push_back(token_.text);
    }
    root_ = owner_ = {};
    if (token_.kind == Kind::line || token_.kind == Kind::end) end_statement();
  }

  void add_write(const Attribute& write) {
    if (write.of_root() && write.owner == "self") return;
    add(Use::stored, write.name);
    if (write.name == "forward" && !write.of_root()) add(Use::stored, write.owner);
    if (write.root == "self" || write.root == "cls") return;
    const bool any = write.owner.empty() || one_of(write.owner, {"module", "mod"});
    add(Use::patched, write.name, any ? std::string_view{} : write.owner);
    if (write.of_root()) {
      each_meaning(write.owner,
                   [&](std::string_view meaning) { add(Use::patched, write.name, meaning); });
    }
    if (!imported(write.root)) add(Use::loose, write.name);
  }

  void add_read(const Attribute& read) {
    each_meaning(read.root, [&](std::string_view meaning) {
      const std::string_view owner = read.of_root() ? meaning : read.owner;
      if (!read.of_root() || known_.modules.contains(hash_of(owner))) {
        add(Use::read, read.name, owner);
      }
    });
  }

  Tokens tokens_;
  Token token_, previous_;
  std::string_view text_, module_;
  bool package_;
  bool scripts_;  // the text may name TorchScript's compiler
  const KnownNames& known_;
  Mentions out_;
  std::vector<std::pair<std::string_view, std::string_view>> imports_;  // name, last part of what
  std::vector<Attribute> writes_, reads_;
  std::vector<std::string_view> bases_, classes_;
  std::vector<Mention> scripted_;
  bool compiles_ = false;     // a statement names TorchScript's compiler
  bool computing_ = false;    // the file gives attributes under names that it computes
  bool by_any_name_ = false;  // the table of modules has another name here
  // Of the statement.
  enum class Setter : uint8_t { none, named, owner, key_opens, key, key_ends };
  Setter setter_ = Setter::none;    // what stands next of a call or table that gives an attribute
  size_t depth_ = 0;                // of its brackets
  std::vector<Attribute> targets_;  // if `=` follows
  Attribute attribute_;             // the last one, until it is known what follows
  std::string_view root_, owner_;   // of the chain of names, if a dot follows
  std::vector<char> brackets_;      // open ones: whether they call or index something
  size_t calls_ = 0;                // how many of them do
  std::vector<std::string_view> words_;   // where scripts_
  std::vector<std::string_view> titles_;  // words that begin with a capital
  std::string_view first_;                // its first word, or that behind its header
  bool annotation_ = false;               // behind the colon of one
  std::string_view alias_;                // its first word, if it may become another name
  bool alias_value_ = false;              // behind the `=` of that
  bool by_name_ = false, asking_ = false, compiling_ = false;
  bool behind_for_ = false, behind_as_ = false;
};

}  // namespace

Mentions read_mentions(std::string_view text, std::string_view module, bool package,
                       const KnownNames& known) {
  return Reader(text, module, package, known).read();
}

}  // namespace refit::python

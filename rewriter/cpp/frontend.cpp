// CppFrontend: loading, spelling, and putting a unit's edits together.
#include "rewriter/cpp/frontend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "rewriter/cpp/branches.hpp"
#include "rewriter/cpp/read.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit::cpp {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kConversions = {
    {{"float", "kFloat"}, {"double", "kDouble"}, {"half", "kHalf"}, {"bfloat16", "kBFloat16"}}};
constexpr size_t kReadings = 8;  // of one file, each with other branches of its conditions

// An argument of the call that the function of Python has and that of C++ has not; "" for none.
std::string argument_beyond(const Operation& callee, const Change& change, const Names& names) {
  for (size_t i = 0; i < change.arguments.size(); ++i) {
    const std::string& keyword = change.arguments[i].keyword;
    for (size_t place = 0; place < callee.parameters.size(); ++place) {
      const Parameter& p = callee.parameters[place];
      const bool meant = keyword.empty() ? place == i : p.name == keyword;
      if (meant && p.default_value && !names.takes(change.callee, p.name)) return p.name;
    }
  }
  return "";
}

// An optional variable stands in the place of what it holds where the call takes an optional, too.
void read_optionals(const FunctionText& text, const Operation& callee, Change& change) {
  for (size_t i = 0; i < change.arguments.size(); ++i) {
    NewArgument& a = change.arguments[i];
    const bool of_optional = std::ranges::any_of(text.locals, [&](const Local& local) {
      return local.optional && local.identifier == a.text;
    });
    const bool required =
        a.keyword.empty() && i < callee.parameters.size() && !callee.parameters[i].default_value;
    if (of_optional && required) a.text += ".value()";
  }
}

bool word_char(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether `name` is used in the file for anything but a namespace, which may hide that.
bool hidden(const CppUnit& unit, std::string_view name) {
  std::string_view text = unit.text();
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if (at > 0 && (word_char(text[at - 1]) || text[at - 1] == '<' || text[at - 1] == '"')) continue;
    if (end < text.size() && word_char(text[end])) continue;
    if (in_comment(unit, static_cast<uint32_t>(at))) continue;
    if (!text.substr(end).starts_with("::")) return true;
  }
  return false;
}

// Whether a text binds as closely as a name: a name, a number, or one call.
bool binds(std::string_view text) {
  const auto of_name = [](char c) { return word_char(c) || c == '.' || c == ':'; };
  const size_t open = std::ranges::find_if_not(text, of_name) - text.begin();
  if (open == text.size()) return true;
  if (text[open] != '(') return false;
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += (text[at] == '(' ? 1 : 0) - (text[at] == ')' ? 1 : 0);
    if (depth == 0) return at + 1 == text.size();
  }
  return false;
}

// What clang could not read it may have passed over: the functions around that, of which the rest
// then says little, have no sites. Other functions it reads as they are.
void leave_out(CppUnit& unit, const std::vector<uint32_t>& unread) {
  for (const uint32_t at : unread) {
    const ByteRange error{at, at + 1};
    for (const Function& outer : unit.functions) {
      if (!outer.range.contains(error)) continue;
      if (std::ranges::find(unit.unread, at) == unit.unread.end()) unit.unread.push_back(at);
      for (size_t f = 0; f < unit.functions.size(); ++f) {  // lambdas, too
        if (!outer.range.contains(unit.functions[f].range)) continue;
        unit.functions[f].graph = {};
        unit.texts[f] = {};
      }
      std::erase_if(unit.project_calls, [&](const ProjectCall& call) {
        return outer.range.contains(unit.functions[call.function].range);
      });
    }
  }
}

}  // namespace

bool in_comment(const CppUnit& unit, uint32_t at) {
  auto after = std::upper_bound(unit.comments.begin(), unit.comments.end(), at,
                                [](uint32_t p, const ByteRange& r) { return p < r.begin; });
  return after != unit.comments.begin() && at < std::prev(after)->end;
}

CppFrontend::CppFrontend(const Settings& settings, const Catalogue& catalogue,
                         const Isomorphisms& isomorphisms)
    : settings_(settings), catalogue_(catalogue), isomorphisms_(isomorphisms) {
  namespace fs = std::filesystem;
  std::error_code error;
  settings_.root = fs::absolute(settings.root, error).string();
  settings_.catalogue = fs::absolute(settings.catalogue, error).string();
  auto names = Names::load(settings_.catalogue + "/names.yaml");
  if (names) {
    names_ = std::move(*names);
  } else {
    wrong_ = names.error().message;
  }
  for (const auto& [package, header] : names_.headers()) {
    for (const std::string& file : settings_.files) {
      if (file == header || file.ends_with("/" + header)) own_header_ = file;
    }
  }
  std::string database;  // the folder of compile_commands.json
  for (const char* folder : {"", "/build"}) {
    if (database.empty() && fs::exists(settings_.root + folder + "/compile_commands.json", error)) {
      database = settings_.root + folder;
    }
  }
  commands_ = std::make_unique<CompileCommands>(database);
  headers_ = TreeHeaders(settings_.files);
}

Place CppFrontend::place_of(const std::string& relative) const {
  return {settings_.root + "/" + relative,
          *commands_,
          settings_.catalogue + "/include",
          settings_.root,
          headers_,
          settings_.defines};
}

Expected<std::unique_ptr<Unit>> CppFrontend::load(Source source, std::string_view relative) {
  if (!wrong_.empty()) return failure(wrong_);
  auto unit = read_unit(std::move(source), std::string(relative));
  if (!unit) return tl::unexpected(unit.error());
  (*unit)->skipped = Branches((*unit)->text(), (*unit)->inactive).skipped();
  return std::move(*unit);
}

Expected<std::unique_ptr<CppUnit>> CppFrontend::read_unit(Source source,
                                                          const std::string& relative) const {
  auto unit = std::make_unique<CppUnit>(std::move(source), relative);
  unit->module = dotted(relative.substr(0, relative.rfind('.')));
  std::ranges::replace(unit->module, '/', '.');
  const Branches branches(unit->text(), {});
  unit->branches = branches.bodies();
  unit->chooses_headers = branches.choose_headers();
  Reading reading = read(std::string(unit->text()), place_of(unit->relative),
                         {names_, catalogue_, isomorphisms_}, unit.get());
  if (!reading.ran) return failure("clang gave it up: it crashed, or the file has too many tokens");
  unit->inactive = reading.inactive;
  std::vector<uint32_t> unread;
  for (const Failure& f : reading.failures) {
    if (!f.offset) continue;
    unit->errors.push_back(f.message);
    if (f.braces) unit->syntax_errors.push_back({*f.offset, *f.offset + 1});
    if (f.syntax) unread.push_back(*f.offset);
  }
  leave_out(*unit, unread);
  return unit;
}

std::vector<std::unique_ptr<Unit>> CppFrontend::alternatives(const Unit& base) {
  const auto& unit = static_cast<const CppUnit&>(base);
  const Branches branches(unit.text(), unit.inactive);
  std::vector<std::unique_ptr<Unit>> out;
  for (size_t which = 0; which < branches.readings(); ++which) {
    if (which == kReadings) {
      reached(Bound::inactive_readings, 0);
      break;
    }
    auto source = Source::decode(unit.source().path(), branches.reading(which));
    if (!source) continue;
    auto read = read_unit(std::move(*source), unit.relative);
    if (read) out.push_back(std::move(*read));
  }
  return out;
}

bool CppFrontend::in_comment(const Unit& unit, ByteRange range) const {
  const auto& comments = static_cast<const CppUnit&>(unit).comments;
  return std::ranges::any_of(comments, [&](ByteRange comment) {
    return comment.begin <= range.begin && range.end <= comment.end;
  });
}

std::string CppFrontend::literal(const Literal& literal) const {
  if (literal.kind == Literal::Kind::none) return "{}";
  if (literal.kind == Literal::Kind::boolean) return literal.boolean ? "true" : "false";
  if (literal.kind == Literal::Kind::string) return "\"" + literal.text + "\"";
  return to_string(literal);
}

// A hole, a method of one, a literal, or two of these with a sign between; other templates are
// Python's expressions. A whole number is written as a fraction there, since C++ divides whole
// numbers into such.
std::optional<std::string> CppFrontend::fill(const std::string& text,
                                             const SpellHole& spell) const {
  for (const std::string_view sign : {" / ", " * "}) {
    const size_t at = text.find(sign);
    if (at == std::string::npos) continue;
    auto left = operand(text.substr(0, at), spell);
    auto right = operand(text.substr(at + sign.size()), spell);
    if (!left || !right) return std::nullopt;
    return *left + std::string(sign) + *right;
  }
  if (text.starts_with("$") && std::all_of(text.begin() + 1, text.end(), word_char)) {
    int part = -1;
    return spell(text.substr(1), &part);
  }
  if (text.starts_with("~$")) {
    auto negated = operand(text.substr(1), spell);
    return negated ? std::optional("~" + *negated) : std::nullopt;
  }
  // A method of a tensor handed whole numbers: C++ writes it in the same way.
  const size_t dot = text.find('.'), open = text.find('(');
  if (text.starts_with("$") && dot < open && text.ends_with(")") &&
      std::all_of(text.begin() + dot + 1, text.begin() + open, word_char) &&
      text.find_first_not_of("0123456789-, ", open + 1) + 1 == text.size()) {
    auto object = operand(text.substr(0, dot), spell);
    if (!object) return std::nullopt;
    // Those that have the name of a type are conversions.
    const std::string method = text.substr(dot + 1, open - dot - 1);
    for (const auto& [name, type] : kConversions) {
      if (method == name) return fmt::format("{}.to(at::{})", *object, type);
    }
    return *object + text.substr(dot);
  }
  auto parsed = parse_literal(text);
  if (!parsed) return std::nullopt;
  return literal(*parsed);
}

std::optional<std::string> CppFrontend::operand(const std::string& text,
                                                const SpellHole& spell) const {
  auto parsed = parse_literal(text);
  if (parsed && parsed->kind == Literal::Kind::integer) return to_string(*parsed) + ".0";
  auto filled = fill(text, spell);
  if (!filled) return std::nullopt;
  return binds(*filled) ? *filled : "(" + *filled + ")";
}

std::optional<std::string> CppFrontend::assignment(const std::string&, const std::string&) const {
  return std::nullopt;
}

std::optional<std::string> CppFrontend::spell(const Unit& base, uint32_t function, ValueId value,
                                              ValueId root,
                                              const std::set<StatementId>& dead) const {
  const auto& unit = static_cast<const CppUnit&>(base);
  return spell_value(unit, function, value, root, dead);
}

bool CppFrontend::editable(const Unit&, const Change& change) const {
  // Transposes go, but nothing between is made to follow yet; a call gives one value, and takes
  // over nothing that stands elsewhere.
  return change.swapped.empty() && change.results.empty() && change.bypassed.empty();
}

Expected<Frontend::Realised> CppFrontend::realise(const Unit& base,
                                                  const std::vector<Change>& changes) const {
  if (!own_header_.empty()) {
    return Realised::none(changes.size(), "name-taken",
                          fmt::format("{} has the name of the runtime's header, so that including "
                                      "that would reach this file instead; rename it",
                                      own_header_));
  }
  const auto& unit = static_cast<const CppUnit&>(base);
  Realised out;
  std::set<std::string> headers;
  for (Change change : changes) {
    auto refuse = [&](std::string code, std::string why) {
      out.accepted.push_back(false);
      out.codes.push_back(std::move(code));
      out.refused.push_back({std::move(why)});
      out.after.emplace_back();
    };
    const FunctionText& text = unit.texts[change.function];
    if (auto locked = text.locked.find(change.root); locked != text.locked.end()) {
      refuse("not-editable", locked->second);
      continue;
    }
    const Operation* callee = catalogue_.find(change.callee);
    std::string callee_text = names_.spelling(change.callee);
    if (callee == nullptr || callee_text.empty()) {
      refuse("no-counterpart", "C++ has no name for " + change.callee);
      continue;
    }
    if (std::string lacking = argument_beyond(*callee, change, names_); !lacking.empty()) {
      refuse("no-counterpart",
             fmt::format("`{}` of C++ has no argument `{}`", callee_text, lacking));
      continue;
    }
    read_optionals(text, *callee, change);
    const std::string package = callee_text.substr(0, callee_text.find("::"));
    if (unit.taken.contains(package)) {
      refuse("name-taken", fmt::format("the name `{}` means something else here; rename it to make "
                                       "room for the runtime's namespace",
                                       package));
      continue;
    }
    if (hidden(unit, package)) callee_text.insert(0, "::");
    std::string after;
    auto edits = change_edits(unit, change, *callee, callee_text, &after);
    if (!edits) {
      refuse("not-editable", edits.error().message);
      continue;
    }
    if (!out.edits.add_all(*edits)) {
      refuse("overlap",
             "its edit would change text that another rewrite changes; run again after this one");
      continue;
    }
    out.accepted.push_back(true);
    out.codes.emplace_back();
    out.refused.emplace_back();
    out.after.push_back(std::move(after));
    if (std::string header = names_.header(change.callee); !header.empty()) headers.insert(header);
  }
  EditSet includes;
  add_includes(unit, headers, includes);
  if (auto added = out.edits.add_all(includes); !added) return tl::unexpected(added.error());
  out.edits = styled(unit.text(), settings_.root + "/" + unit.relative, out.edits);
  return out;
}

std::optional<std::string> CppFrontend::verify(const Unit& base, std::string_view after) const {
  const auto& before = static_cast<const CppUnit&>(base);
  Reading reading = read(std::string(after), place_of(before.relative),
                         {names_, catalogue_, isomorphisms_}, nullptr);
  if (!reading.ran) return "clang could not be run on the new text";
  std::vector<std::string> errors;
  for (const Failure& f : reading.failures) {
    if (f.offset) errors.push_back(f.message);
  }
  const auto added = new_error(before.errors, std::move(errors));
  return added ? std::optional("the new text does not compile: " + *added) : std::nullopt;
}

}  // namespace refit::cpp

// What a tree defines itself under the name of a library: a fork or a copy of it, or something else
// of that name. Entry points: Project::differs, Project::beside.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/python/names/outline.hpp"
#include "rewriter/python/names/own_body.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/disk.hpp"
#include "rewriter/text/source.hpp"

namespace refit::python {

namespace {

constexpr uint64_t kReadLimit = uint64_t{1} << 31;

struct WrittenParameter {
  std::string_view name, fallback;
};

// The parameters between the brackets of a `def`; `self` left out for a method.
std::vector<WrittenParameter> parameters_of(std::string_view header, bool method) {
  std::vector<WrittenParameter> out;
  const Lines lines(header);
  size_t open = header.find('(');
  size_t close = header.rfind(')');
  size_t arrow = header.rfind("->");
  if (arrow != std::string_view::npos) close = header.rfind(')', arrow);
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return out;
  std::string_view list = header.substr(open + 1, close - open - 1);
  for (std::string_view part : lines.parts(list)) {
    while (part.starts_with("#")) {
      size_t line = part.find('\n');
      part = line == std::string_view::npos ? std::string_view{} : trimmed(part.substr(line));
    }
    while (part.starts_with("*")) part.remove_prefix(1);
    std::string_view name = first_word(part);
    if (name.empty()) continue;  // `*` or `/`
    const Lines own(part);
    size_t equals = own.find_outside(0, part.size(), '=');
    out.push_back({name, equals == std::string_view::npos ? std::string_view{}
                                                          : trimmed(part.substr(equals + 1))});
  }
  if (method && !out.empty()) out.erase(out.begin());
  return out;
}

bool agree(const std::vector<WrittenParameter>& written, const std::vector<Parameter>& known) {
  if (written.size() != known.size()) return false;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].name != known[i].name) return false;
    if (known[i].default_value && written[i].fallback.empty()) return false;
    auto value = parse_literal(written[i].fallback);
    if (known[i].default_value && value && value->kind != Literal::Kind::symbol &&
        !same_value(*value, *known[i].default_value)) {
      return false;
    }
  }
  return true;
}

// In what way a definition of the tree is not the operation of the library; "" where it is.
std::string otherwise(const Source& source, const Outline& outline, const OutlinedDefinition& own,
                      const Operation& operation) {
  const auto& all = outline.definitions;
  auto index = static_cast<size_t>(&own - all.data());
  auto made = std::ranges::find_if(
      all, [&](const auto& d) { return d.owner == index && d.name == "__init__"; });
  if (!own.is_class || made != all.end()) {  // else it is made as its base is
    const OutlinedDefinition& header = own.is_class ? *made : own;
    auto written = parameters_of(source.text().substr(header.header, header.body - header.header),
                                 own.is_class);
    bool same = agree(written, operation.parameters) ||
                std::ranges::any_of(operation.overloads,
                                    [&](const auto& overload) { return agree(written, overload); });
    if (!same) return "another signature than the library's";
  }
  auto body = normal_body(source, outline, own.name);
  if (!body) return "a body that is not read, because the name is bound more than once";
  std::string digest = digest_of(*body);
  if (std::ranges::find(operation.bodies, digest) != operation.bodies.end()) return "";
  return "a body (" + digest + ") that is none of those known of the library";
}

}  // namespace

std::string Project::differs(const std::string& qualified, const Operation& operation) {
  std::string home = qualified;
  for (size_t dot = home.rfind('.'); dot != std::string::npos; dot = home.rfind('.')) {
    home.resize(dot);
    if (has_module(home)) break;
  }
  if (!has_module(home)) return "";
  {
    std::shared_lock lock(mutex_);
    auto known = differs_.find(qualified);
    if (known != differs_.end()) return known->second;
  }
  std::string out;
  std::string name = qualified.substr(home.size() + 1);
  const std::string relative = file_of(home);
  auto bytes = real_disk().read(std::string(all_[numbers_.at(relative)].path), kReadLimit);
  auto source = bytes ? Source::decode(relative, std::move(*bytes)) : failure("it is gone");
  auto outlined = source ? outline(source->text(), home, false) : std::nullopt;
  if (outlined) {
    const auto& all = outlined->definitions;
    auto own = std::ranges::find_if(
        all, [&](const auto& d) { return d.name == name && d.owner == SIZE_MAX; });
    if (own != all.end()) {
      std::string how = otherwise(*source, *outlined, *own, operation);
      if (!how.empty()) {
        out = fmt::format("{}:{} defines it, with {}", relative, source->position(own->header).line,
                          how);
      }
    }
  }
  std::unique_lock lock(mutex_);
  return differs_.emplace(qualified, std::move(out)).first->second;
}

bool Project::lies_in_folder(std::string_view module) const {
  auto found = files_.find(module);
  return found != files_.end() && !folders_[found->second.file].empty();
}

std::string Project::beside(const std::string& module, const std::string& qualified) const {
  auto found = files_.find(module);
  if (found == files_.end()) return qualified;
  const std::string_view own = all_[found->second.file].relative;
  const std::string_view folder = folders_[found->second.file];
  if (folder.empty()) return qualified;
  std::string base(folder);
  std::replace(base.begin(), base.end(), '/', '.');
  std::string there = base + "." + qualified;
  for (size_t dot = there.find('.', base.size() + 1);; dot = there.find('.', dot + 1)) {
    std::string prefix = there.substr(0, dot);
    if (has_module(prefix) && file_of(prefix) != own) return there;
    if (dot == std::string::npos) return qualified;
  }
}

}  // namespace refit::python

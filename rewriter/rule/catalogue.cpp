// Catalogue::load: every file of the folder into one list of operations, indexed by name. All
// mistakes of all files are reported together.
#include "rewriter/rule/catalogue.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "rewriter/rule/catalogue_keys.hpp"
#include "rewriter/rule/signature.hpp"
#include "rewriter/rule/yaml_file.hpp"

namespace refit {
namespace {

constexpr std::array<std::pair<std::string_view, AxisKind>, 16> kAxisKinds{{
    {"opaque", AxisKind::opaque},
    {"elementwise", AxisKind::elementwise},
    {"last_dim", AxisKind::last_dim},
    {"transpose", AxisKind::transpose},
    {"permute", AxisKind::permute},
    {"reduce", AxisKind::reduce},
    {"concat", AxisKind::concat},
    {"split", AxisKind::split},
    {"view", AxisKind::view},
    {"unflatten", AxisKind::unflatten},
    {"flatten", AxisKind::flatten},
    {"cast", AxisKind::cast},
    {"contiguous", AxisKind::contiguous},
    {"query", AxisKind::query},
    {"along", AxisKind::along},
    {"pattern", AxisKind::pattern},
}};

// What the keys at the top of a file give to each of its operations.
struct FileDefaults {
  std::string library;
  std::vector<std::string> targets;
  std::vector<std::pair<std::string, std::string>> also;  // alias, parameter
};

bool has_parameter(const std::vector<Parameter>& parameters, std::string_view name) {
  return std::ranges::any_of(parameters, [&](const Parameter& parameter) {
    return parameter.name == name ||
           std::ranges::find(parameter.also, name) != parameter.also.end();
  });
}

void add_aliases(const std::vector<std::pair<std::string, std::string>>& also,
                 std::vector<Parameter>& parameters) {
  for (const auto& [alias, name] : also) {
    if (has_parameter(parameters, alias)) continue;
    for (Parameter& parameter : parameters) {
      if (parameter.name == name) parameter.also.push_back(alias);
    }
  }
}

std::vector<std::pair<std::string, std::string>> read_also(YamlFile& file, const YamlNode& node) {
  std::vector<std::pair<std::string, std::string>> also;
  auto entries = file.mapping(node, "a mapping from other names to parameters", {});
  if (!entries) return also;
  for (const auto& [alias, value] : entries->entries()) {
    if (auto name = file.text(value, alias)) also.emplace_back(alias, *name);
  }
  return also;
}

std::vector<std::string> read_targets(YamlFile& file, const YamlNode& node) {
  std::vector<std::string> targets = file.texts(node, "targets");
  for (const std::string& target : targets) {
    if (target != "cuda" && target != "ascend") {
      file.report(node, "unknown target `" + target + "`; the targets are cuda, ascend");
    }
  }
  return targets;
}

void read_casts(YamlFile& file, const YamlFile::Mapping& keys, Operation::Casts& casts) {
  const YamlNode* base = keys.find("casts");
  if (base != nullptr) casts.base = file.text(*base, "casts").value_or("");
  const YamlNode* forward = keys.find("forward");
  if (forward == nullptr) return;
  if (base == nullptr) {
    file.report(*forward, "`forward` says what a class calls that casts, and there is no `casts`");
  }
  casts.arguments = file.texts(*forward, "forward");
  if (casts.arguments.empty()) return;
  casts.function = casts.arguments.front();
  casts.arguments.erase(casts.arguments.begin());
}

void read_strides(YamlFile& file, const YamlFile::Mapping& keys, Operation& operation) {
  auto expect_parameter = [&](const YamlNode& node, std::string_view key, const std::string& name) {
    if (has_parameter(operation.parameters, name)) return;
    std::string message = "`";
    message.append(key).append("` names the parameter `").append(name);
    file.report(node, message + "`, which the signature does not have");
  };
  if (const YamlNode* strides = keys.find("strides")) {
    operation.strides = file.text(*strides, "strides").value_or("");
    std::istringstream words(operation.strides);
    for (std::string word; words >> word;) {
      const bool of_layer = word == kAsOperand && operation.is_class;
      if (word != "dense" && !of_layer) expect_parameter(*strides, "strides", word);
    }
  }
  if (const YamlNode* told = keys.find("told_strides")) {
    operation.told_strides = file.texts(*told, "told_strides");
    expect_parameter(*told, "told_strides", "strides");
  }
  if (const YamlNode* superset = keys.find("superset")) {
    operation.superset = file.text(*superset, "superset").value_or("");
  }
  if (const YamlNode* vectors = keys.find("vectors")) {
    operation.vectors = file.texts(*vectors, "vectors");
    for (const std::string& name : operation.vectors) expect_parameter(*vectors, "vectors", name);
  }
}

void read_signatures(YamlFile& file, const YamlNode& node, Operation& operation) {
  bool first = true;
  auto read = [&](const YamlNode& item) {
    auto text = file.text(item, "signature");
    if (!text) return;
    auto parameters = parse_signature(*text);
    if (!parameters) {
      file.report(item, "signature: " + parameters.error().message);
      return;
    }
    if (std::exchange(first, false)) {
      operation.parameters = std::move(*parameters);
    } else {
      operation.overloads.push_back(std::move(*parameters));
    }
  };
  if (node.is_sequence() && !node.items.empty()) {
    for (const YamlNode& item : node.items) read(item);
  } else {
    read(node);
  }
}

void read_axes(YamlFile& file, const YamlNode& node, Operation& operation) {
  auto text = file.text(node, "axes");
  if (!text) return;
  std::vector<std::string> known;
  for (const auto& [name, kind] : kAxisKinds) {
    known.emplace_back(name);
    if (name == *text) {
      operation.axes = kind;
      return;
    }
  }
  file.report(node, "unknown axes `" + *text + "`" + did_you_mean(nearest(*text, known)));
}

std::unique_ptr<Operation> read_operation(YamlFile& file, const YamlNode& node,
                                          const FileDefaults& defaults) {
  auto keys = file.mapping(node, "an operation", kOperationKeys);
  if (!keys) return nullptr;
  auto operation = std::make_unique<Operation>();
  operation->library = defaults.library;
  operation->targets = defaults.targets;
  if (const YamlNode* id = keys->require("id")) {
    operation->id = file.text(*id, "id").value_or("");
  }
  if (const YamlNode* names = keys->find("names")) {
    operation->names = file.texts(*names, "names");
  }
  if (const YamlNode* methods = keys->find("methods")) {
    operation->methods = file.texts(*methods, "methods");
  }
  if (const YamlNode* signature = keys->require("signature")) {
    read_signatures(file, *signature, *operation);
  }
  auto also = defaults.also;
  if (const YamlNode* node_also = keys->find("also")) {
    for (auto& entry : read_also(file, *node_also)) {
      const bool known = has_parameter(operation->parameters, entry.second) ||
                         std::ranges::any_of(operation->overloads, [&](const auto& list) {
                           return has_parameter(list, entry.second);
                         });
      if (!known) {
        file.report(*node_also, "`also` names the parameter `" + entry.second +
                                    "`, which the signature does not have");
      }
      also.push_back(std::move(entry));
    }
  }
  add_aliases(also, operation->parameters);
  for (auto& overload : operation->overloads) add_aliases(also, overload);
  if (const YamlNode* axes = keys->find("axes")) read_axes(file, *axes, *operation);
  if (const YamlNode* axis = keys->find("axis")) {
    operation->axis = file.text(*axis, "axis").value_or("");
    if (!has_parameter(operation->parameters, operation->axis)) {
      file.report(*axis, "`axis` names the parameter `" + operation->axis +
                             "`, which the signature does not have");
    }
    if (const YamlNode* flag = keys->find("axis_if")) {
      operation->axis_if = file.text(*flag, "axis_if").value_or("");
      if (!has_parameter(operation->parameters, operation->axis_if)) {
        file.report(*flag, "`axis_if` names the parameter `" + operation->axis_if +
                               "`, which the signature does not have");
      }
    }
  } else if (const YamlNode* flag = keys->find("axis_if")) {
    file.report(*flag, "`axis_if` says when `axis` is heeded, and there is no `axis`");
  } else if (operation->axes == AxisKind::concat || operation->axes == AxisKind::split) {
    operation->axis = "dim";
  }
  const std::pair<std::string_view, bool*> flags[] = {
      {"pure", &operation->pure},
      {"commutative", &operation->commutative},
      {"view", &operation->view},
      {"joins", &operation->joins},
      {"repeats", &operation->repeats},
      {"one_of", &operation->one_of},
      {"in_place", &operation->in_place},
      {"is_class", &operation->is_class},
      {"one_rank", &operation->one_rank},
      {"broadcasts", &operation->broadcasts},
      {"reads_strides", &operation->reads_strides},
      {"strides_vary", &operation->strides_vary},
      {"trusted", &operation->trusted},
  };
  if (const YamlNode* in_place = keys->find("in_place"); in_place && !keys->find("pure")) {
    // Writing an operand is an effect; saying so twice would only invite contradiction.
    operation->pure = !file.boolean(*in_place, "in_place").value_or(false);
  }
  for (const auto& [key, flag] : flags) {
    if (const YamlNode* value = keys->find(key)) {
      *flag = file.boolean(*value, key).value_or(*flag);
    }
  }
  read_strides(file, *keys, *operation);
  const std::pair<std::string_view, std::optional<int>*> ranks[] = {
      {"rank", &operation->rank}, {"result_rank", &operation->result_rank}};
  for (const auto& [key, to] : ranks) {
    const YamlNode* rank = keys->find(key);
    if (rank == nullptr) continue;
    const auto number = file.integer(*rank, key);
    if (number && (*number < 0 || *number > 64)) {
      file.report(*rank, "expected a rank between 0 and 64, found " + std::to_string(*number));
    }
    *to = number;
  }
  if (const YamlNode* autocast = keys->find("autocast")) {
    const std::string word = file.text(*autocast, "autocast").value_or("");
    if (word == "sets") operation->autocast = Autocast::sets;
    if (word == "follows") operation->autocast = Autocast::follows;
    if (operation->autocast == Autocast::none) {
      file.report(*autocast, "expected `sets` or `follows`, found `" + word + "`");
    }
  }
  read_casts(file, *keys, operation->casts);
  if (const YamlNode* targets = keys->find("targets")) {
    operation->targets = read_targets(file, *targets);
  }
  if (const YamlNode* bodies = keys->find("bodies")) {
    operation->bodies = file.texts(*bodies, "bodies");
  }
  return operation;
}

}  // namespace

Expected<Catalogue> Catalogue::load(const std::string& directory,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> folders{directory}, paths;
  folders.insert(folders.end(), more.begin(), more.end());
  for (const std::string& folder : folders) {
    auto found = yaml_files(folder, false, {});
    if (!found) return tl::unexpected(found.error());
    if (found->empty()) {
      return failure(folder + ": expected catalogue files (*.yaml), found none");
    }
    paths.insert(paths.end(), found->begin(), found->end());
  }
  Catalogue catalogue;
  std::vector<std::string> mistakes;
  // Where each name was defined, for the message about a second definition.
  std::unordered_map<std::string, std::string> places;
  for (const std::string& path : paths) {
    auto opened = YamlFile::open(path);
    if (!opened) {
      mistakes.push_back(opened.error().message);
      continue;
    }
    YamlFile& file = *opened;
    if (auto keys = file.mapping(file.root(), "a catalogue file", kCatalogueFileKeys)) {
      FileDefaults defaults;
      if (const YamlNode* library = keys->require("library")) {
        defaults.library = file.text(*library, "library").value_or("");
      }
      if (const YamlNode* targets = keys->find("targets")) {
        defaults.targets = read_targets(file, *targets);
      }
      if (const YamlNode* also = keys->find("also")) defaults.also = read_also(file, *also);
      const YamlNode* operations = keys->require("operations");
      if (operations && !operations->is_sequence()) {
        file.report(*operations, "expected a list of operations");
        operations = nullptr;
      }
      for (size_t i = 0; operations && i < operations->items.size(); ++i) {
        const YamlNode& node = operations->items[i];
        auto operation = read_operation(file, node, defaults);
        if (!operation || operation->id.empty()) continue;
        auto claim = [&](std::unordered_map<std::string, const Operation*>& index,
                         const std::string& name, const std::string& what) {
          if (index.emplace(name, operation.get()).second) {
            places[what + name] = file.where(node);
          } else {
            std::string message = "the ";
            message.append(what).append(" `").append(name).append("` is already taken by ");
            file.report(node, message.append(places[what + name]));
          }
        };
        claim(catalogue.by_name_, operation->id, "name");
        for (const std::string& name : operation->names) {
          claim(catalogue.by_name_, name, "name");
        }
        for (const std::string& method : operation->methods) {
          claim(catalogue.by_method_, method, "method");
        }
        catalogue.libraries_.insert(operation->library);
        if (!operation->targets.empty()) catalogue.offered_.insert(operation->library);
        catalogue.operations_.push_back(std::move(operation));
      }
    }
    for (std::string& mistake : file.mistakes()) mistakes.push_back(std::move(mistake));
  }
  if (!mistakes.empty()) {
    std::string message;
    for (const std::string& mistake : mistakes) {
      if (!message.empty()) message += '\n';
      message += mistake;
    }
    return failure(std::move(message));
  }
  return catalogue;
}

std::vector<std::string> name_words(const Operation& operation) {
  std::vector<std::string_view> names{operation.id};
  names.insert(names.end(), operation.names.begin(), operation.names.end());
  auto last = [](std::string_view name) { return name.substr(name.rfind('.') + 1); };
  // One name tells of another where the other cannot be written without its last part. What tells
  // stays, so `a.f.g` and `b.g.f` do not leave each other out, nor `a.f.f` itself.
  std::vector<std::string> out;
  std::vector<bool> tells(names.size()), told(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t by = 0; by < names.size() && !tells[i] && !told[i]; ++by) {
      std::string inside = "." + std::string(last(names[by])) + ".";
      if (by == i || told[by] || names[i].find(inside) == std::string_view::npos) continue;
      told[i] = tells[by] = true;
    }
    if (!told[i]) out.emplace_back(last(names[i]));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const Operation* Catalogue::find(std::string_view qualified_name) const {
  auto found = by_name_.find(std::string(qualified_name));
  return found == by_name_.end() ? nullptr : found->second;
}

const Operation* Catalogue::method(std::string_view name) const {
  auto found = by_method_.find(std::string(name));
  return found == by_method_.end() ? nullptr : found->second;
}

const Operation* Catalogue::casting(std::string_view base) const {
  auto found =
      std::ranges::find_if(operations_, [&](const auto& op) { return op->casts.base == base; });
  return found == operations_.end() || base.empty() ? nullptr : found->get();
}

std::optional<std::string> Catalogue::nearest(std::string_view qualified_name) const {
  std::vector<std::string> names;
  for (const auto& operation : operations_) {
    names.push_back(operation->id);
    names.insert(names.end(), operation->names.begin(), operation->names.end());
  }
  if (auto whole = refit::nearest(qualified_name, names)) return whole;
  // The right function in the wrong module: compare the last components.
  const std::string_view last = qualified_name.substr(qualified_name.rfind('.') + 1);
  std::vector<std::string> tails;
  tails.reserve(names.size());
  for (const std::string& name : names) tails.push_back(name.substr(name.rfind('.') + 1));
  auto tail = refit::nearest(last, tails);
  if (!tail) return std::nullopt;
  return names[static_cast<size_t>(std::ranges::find(tails, *tail) - tails.begin())];
}

}  // namespace refit

// Reading and asking the table of C++ names: see names.hpp.
#include "rewriter/cpp/names.hpp"

#include <algorithm>
#include <array>

#include "rewriter/rule/yaml_file.hpp"

namespace refit::cpp {

namespace {

constexpr std::array<std::string_view, 7> kKeys{"namespaces", "tensors", "attributes", "layers",
                                                "names",      "headers", "declared"};

}  // namespace

std::string dotted(std::string_view qualified) {
  std::string out;
  for (size_t at = 0; at < qualified.size(); ++at) {
    if (qualified.substr(at).starts_with("::")) {
      out += '.';
      ++at;
    } else {
      out += qualified[at];
    }
  }
  return out;
}

Expected<Names> Names::load(const std::string& path) {
  auto opened = YamlFile::open(path);
  if (!opened) return tl::unexpected(opened.error());
  YamlFile& file = *opened;
  Names out;
  if (auto keys = file.mapping(file.root(), "the table of C++ names", kKeys)) {
    const std::pair<std::string_view, std::map<std::string, std::string, std::less<>>*> maps[] = {
        {"namespaces", &out.namespaces_},
        {"names", &out.names_},
        {"attributes", &out.attributes_},
        {"layers", &out.layers_},
        {"headers", &out.headers_}};
    for (const auto& [key, map] : maps) {
      const YamlNode* node = keys->require(key);
      if (node == nullptr) continue;
      auto entries = file.mapping(*node, "a mapping of names", {});
      if (!entries) continue;
      for (const auto& [name, value] : entries->entries()) {
        if (auto text = file.text(value, name)) map->emplace(name, *text);
      }
    }
    if (const YamlNode* node = keys->require("tensors")) {
      out.tensors_ = file.texts(*node, "tensors");
    }
    if (const YamlNode* node = keys->require("declared")) {
      if (auto functions = file.mapping(*node, "a mapping of functions to their arguments", {})) {
        for (const auto& [name, arguments] : functions->entries()) {
          out.declared_.emplace(name, file.texts(arguments, name));
        }
      }
    }
  }
  std::string message;
  for (const std::string& mistake : file.mistakes()) {
    message += (message.empty() ? "" : "\n") + mistake;
  }
  if (!message.empty()) return failure(std::move(message));
  return out;
}

std::string Names::meaning(std::string_view qualified) const {
  if (auto known = names_.find(qualified); known != names_.end()) return known->second;
  size_t last = qualified.rfind("::");
  if (last == std::string_view::npos) return "";
  auto space = namespaces_.find(qualified.substr(0, last));
  if (space == namespaces_.end()) return "";
  return space->second + "." + std::string(qualified.substr(last + 2));
}

std::string Names::spelling(std::string_view qualified) const {
  size_t last = qualified.rfind('.');
  if (last == std::string_view::npos) return "";
  if (!header(qualified).empty() && !declared_.contains(qualified)) return "";
  for (const auto& [space, meaning] : namespaces_) {
    if (meaning == qualified.substr(0, last)) {
      return space + "::" + std::string(qualified.substr(last + 1));
    }
  }
  return "";
}

bool Names::takes(std::string_view qualified, std::string_view argument) const {
  auto found = declared_.find(qualified);
  return found == declared_.end() ||
         std::ranges::find(found->second, argument) != found->second.end();
}

std::string Names::header(std::string_view qualified) const {
  auto found = headers_.find(qualified.substr(0, qualified.find('.')));
  return found == headers_.end() ? "" : found->second;
}

bool Names::tensor(std::string_view record) const {
  return std::ranges::find(tensors_, record) != tensors_.end();
}

std::string Names::layer(std::string_view record) const {
  auto found = layers_.find(record);
  return found == layers_.end() ? "" : found->second;
}

std::string Names::attribute(std::string_view member) const {
  auto found = attributes_.find(member);
  return found == attributes_.end() ? "" : found->second;
}

}  // namespace refit::cpp

// Running clang over one text: with the flags of compile_commands.json where there is one, else
// with our own declarations of libtorch and nothing of the machine's. Entry point: read.
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Tooling.h>

#include <filesystem>

#include "rewriter/frontend/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

constexpr int kMissingRounds = 24;  // each finds at least one more header that is not there

class Collector : public clang::DiagnosticConsumer {
 public:
  explicit Collector(Reading& out) : out_(out) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    if (level < clang::DiagnosticsEngine::Error) return;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    std::string message(text.str());
    if (message.ends_with("file not found")) {
      std::string name = message.substr(0, message.rfind(" file not found"));
      std::erase(name, '\'');
      out_.missing.push_back(std::move(name));
      return;
    }
    Failure failure;
    failure.message = std::move(message);
    unsigned category = clang::DiagnosticIDs::getCategoryNumberForDiag(info.getID());
    failure.syntax = clang::DiagnosticIDs::getCategoryNameFromID(category) == "Parse Issue";
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const clang::SourceManager& sources = info.getSourceManager();
      clang::SourceLocation at = sources.getExpansionLoc(info.getLocation());
      if (sources.isInMainFile(at)) failure.offset = sources.getFileOffset(at);
    }
    out_.failures.push_back(std::move(failure));
  }

 private:
  Reading& out_;
};

// Whether flags name a folder that holds ATen's headers.
bool finds_aten(const std::vector<std::string>& flags, const std::string& folder) {
  for (size_t i = 0; i < flags.size(); ++i) {
    std::string where;
    for (const std::string& option : {std::string("-I"), std::string("-isystem")}) {
      if (!flags[i].starts_with(option)) continue;
      where = flags[i].substr(option.size());
      if (where.empty() && i + 1 < flags.size()) where = flags[i + 1];
    }
    if (where.empty()) continue;
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(folder) / where / "ATen", error)) return true;
  }
  return false;
}

// The flags of the file's command, or of one like it; none where there is no database, or one that
// does not know libtorch.
std::vector<std::string> recorded_flags(const std::string& path, const std::string& database) {
  if (database.empty()) return {};
  std::string error;
  auto commands = clang::tooling::CompilationDatabase::loadFromDirectory(database, error);
  if (commands == nullptr) return {};
  commands = clang::tooling::inferMissingCompileCommands(std::move(commands));
  auto found = commands->getCompileCommands(path);
  if (found.empty()) return {};
  std::vector<std::string> out{"-working-directory", found.front().Directory};
  const auto& line = found.front().CommandLine;
  for (size_t i = 1; i < line.size(); ++i) {
    const std::string& flag = line[i];
    if (flag == "-c" || flag == "--" || flag == found.front().Filename || flag == path) continue;
    if (flag == "-o" || flag == "-MF" || flag == "-MT" || flag == "-MQ") {
      ++i;
      continue;
    }
    if (flag == "-MD" || flag == "-MMD" || flag == "-M" || flag == "-MM") continue;
    out.push_back(flag);
  }
  if (!finds_aten(out, found.front().Directory)) return {};
  return out;
}

}  // namespace

Reading read(const std::string& text, const Place& place, const Knowledge& knowledge,
             CppUnit* unit) {
  Reading out;
  std::vector<std::string> flags = recorded_flags(place.path, place.database);
  if (flags.empty()) {
    flags = {"-std=c++20", "-nostdinc", "-nostdinc++", "-isystem", place.include};
  } else {
    if (std::filesystem::exists(REFIT_CLANG_RESOURCES)) {
      flags.insert(flags.end(), {"-resource-dir", REFIT_CLANG_RESOURCES});
    }
    flags.insert(flags.end(), {"-idirafter", place.include});
  }
  flags.insert(flags.end(),
               {"-xc++", "-fsyntax-only", "-ferror-limit=0", "-fno-spell-checking", "-w"});
  // What a header that is not there declares is unknown, and clang says nothing more after the
  // first one: an empty file stands for each.
  clang::tooling::FileContentMappings empty;
  std::unique_ptr<clang::ASTUnit> tree;
  for (int round = 0; round < kMissingRounds; ++round) {
    size_t known = out.missing.size();
    out.failures.clear();
    Collector collector(out);
    tree = clang::tooling::buildASTFromCodeWithArgs(
        text, flags, place.path, "refit", std::make_shared<clang::PCHContainerOperations>(),
        clang::tooling::getClangStripDependencyFileAdjuster(), empty, &collector);
    if (out.missing.size() == known) break;
    for (size_t i = known; i < out.missing.size(); ++i) {
      empty.emplace_back(place.include + "/" + out.missing[i], "");
    }
  }
  out.ran = tree != nullptr;
  if (tree != nullptr && unit != nullptr) lower_file(*unit, *tree, knowledge);
  return out;
}

}  // namespace refit::cpp

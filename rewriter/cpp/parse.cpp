// Running clang over one text: with the flags of compile_commands.json where there is one, else
// with our own declarations of libtorch and nothing of the machine's. Entry point: read.
#include <clang/AST/ASTConsumer.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Tooling.h>

#include <filesystem>
#include <functional>

#include <llvm/Support/VirtualFileSystem.h>

#include "rewriter/cpp/lowering.hpp"
#include "rewriter/text/bounds.hpp"

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

// The bodies of libtorch's and the system's functions say nothing about a call of them, and reading
// them is most of the time that clang takes over libtorch's headers.
class Skipping {
 public:
  explicit Skipping(const clang::SourceManager& sources) : sources_(sources) {}

  bool operator()(clang::SourceLocation where) {
    clang::SourceLocation at = sources_.getExpansionLoc(where);
    if (at.isInvalid() || sources_.isInMainFile(at)) return false;
    if (sources_.isInSystemHeader(at)) return true;
    auto [found, fresh] = known_.try_emplace(sources_.getFileID(at).getHashValue(), false);
    if (fresh) {
      llvm::StringRef name = sources_.getFilename(at);
      found->second = name.contains("/ATen/") || name.contains("/c10/") || name.contains("/torch/");
    }
    return found->second;
  }

 private:
  const clang::SourceManager& sources_;
  std::map<unsigned, bool> known_;  // by file
};

// Collects what stands at the top of the text and hands it over when all is parsed.
class Consumer : public clang::ASTConsumer {
 public:
  using Done = std::function<void(clang::ASTContext&, const std::vector<const clang::Decl*>&)>;

  Consumer(const clang::SourceManager& sources, const Done& done) : skips_(sources), done_(done) {}

  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    decls_.insert(decls_.end(), group.begin(), group.end());
    return true;
  }
  bool shouldSkipFunctionBody(clang::Decl* decl) override { return skips_(decl->getLocation()); }
  void HandleTranslationUnit(clang::ASTContext& context) override { done_(context, decls_); }

 private:
  Skipping skips_;
  const Done& done_;
  std::vector<const clang::Decl*> decls_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(Consumer::Done done) : done_(std::move(done)) {}

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    compiler.getFrontendOpts().SkipFunctionBodies = true;  // those that the consumer is asked for
    return std::make_unique<Consumer>(compiler.getSourceManager(), done_);
  }

 private:
  Consumer::Done done_;
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
  std::vector<std::string> line{"refit"};
  line.insert(line.end(), flags.begin(), flags.end());
  line.push_back(place.path);
  // What a header that is not there declares is unknown, and clang says nothing more after the
  // first one: an empty file stands for each.
  std::vector<std::string> empty;
  for (int round = 0; round < kMissingRounds; ++round) {
    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    auto files =
        llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
    files->pushOverlay(memory);
    memory->addFile(place.path, 0, llvm::MemoryBuffer::getMemBuffer(text));
    for (const std::string& name : empty) {
      memory->addFile(name, 0, llvm::MemoryBuffer::getMemBuffer(""));
    }
    auto manager = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions(), files);
    size_t known = out.missing.size();
    bool last = round + 1 == kMissingRounds;
    out.failures.clear();
    out.ran = false;
    Collector collector(out);
    auto done = [&](clang::ASTContext& context, const std::vector<const clang::Decl*>& decls) {
      out.ran = true;
      if (unit != nullptr && (last || out.missing.size() == known)) {
        lower_file(*unit, context, decls, knowledge);
      }
    };
    clang::tooling::ToolInvocation run(line, std::make_unique<Action>(done), manager.get());
    run.setDiagnosticConsumer(&collector);
    run.run();  // whether it found errors is known already
    if (out.missing.size() == known) break;
    for (size_t i = known; i < out.missing.size(); ++i) {
      empty.push_back(place.include + "/" + out.missing[i]);
    }
    if (last) reached(Bound::header_rounds, 0);
  }
  return out;
}

}  // namespace refit::cpp

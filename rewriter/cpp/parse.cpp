// Running clang over one text: with the flags of compile_commands.json where there is one, else
// with our own declarations of libtorch and nothing of the machine's. Entry point: read.
#include <clang/AST/ASTConsumer.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticParse.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Tooling/Tooling.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "rewriter/cpp/lowering.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit::cpp {

namespace {

// Parses of one file: each but the first knows more folders that hold what the tree includes.
constexpr int kRounds = 5;
// Of a file with all that it includes; torch/torch.h comes to 3 million.
constexpr size_t kMostTokens = 50'000'000;

class Collector : public clang::DiagnosticConsumer {
 public:
  explicit Collector(Reading& out) : out_(out) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    if (level < clang::DiagnosticsEngine::Error) return;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    Failure failure;
    failure.message = text.str();
    unsigned category = clang::DiagnosticIDs::getCategoryNumberForDiag(info.getID());
    failure.syntax = clang::DiagnosticIDs::getCategoryNameFromID(category) == "Parse Issue";
    failure.braces = breaks_braces(info);
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const clang::SourceManager& sources = info.getSourceManager();
      clang::SourceLocation at = sources.getExpansionLoc(info.getLocation());
      if (sources.isInMainFile(at)) failure.offset = sources.getFileOffset(at);
    }
    out_.failures.push_back(std::move(failure));
  }

 private:
  // Behind such an error clang may take what follows for part of another scope than it is.
  static bool breaks_braces(const clang::Diagnostic& info) {
    const unsigned id = info.getID();
    return id == clang::diag::err_extraneous_closing_brace ||
           id == clang::diag::err_missing_end_of_definition ||
           (id == clang::diag::err_expected &&
            info.getArgKind(0) == clang::DiagnosticsEngine::ak_tokenkind &&
            info.getRawArg(0) == clang::tok::r_brace);
  }

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

// Notes what `#if` leaves out of the file itself, from the directive before it to the one behind,
// and the headers that are not found: what they declare is unknown, and the file is read without.
class Noting : public clang::PPCallbacks {
 public:
  Noting(const clang::SourceManager& sources, Reading& out) : sources_(sources), out_(out) {}

  void SourceRangeSkipped(clang::SourceRange range, clang::SourceLocation) override {
    if (!sources_.isInMainFile(range.getBegin())) return;
    out_.inactive.push_back(
        {sources_.getFileOffset(range.getBegin()), sources_.getFileOffset(range.getEnd())});
  }
  bool FileNotFound(llvm::StringRef name) override {
    out_.missing.insert(name.str());
    return true;
  }

 private:
  const clang::SourceManager& sources_;
  Reading& out_;
};

class Action : public clang::ASTFrontendAction {
 public:
  Action(Consumer::Done done, Reading& out) : done_(std::move(done)), out_(out) {}

  bool BeginInvocation(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessorOpts().DisablePragmaDebugCrash = true;
    return true;
  }
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessor().setTokenWatcher([this](const clang::Token&) {
      if (++tokens_ < kMostTokens) return;
      llvm::CrashRecoveryContext::GetCurrent()->HandleExit(1);
    });
    compiler.getPreprocessor().addPPCallbacks(
        std::make_unique<Noting>(compiler.getSourceManager(), out_));
    return true;
  }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    compiler.getFrontendOpts().SkipFunctionBodies = true;  // those that the consumer is asked for
    return std::make_unique<Consumer>(compiler.getSourceManager(), done_);
  }

 private:
  Consumer::Done done_;
  Reading& out_;
  size_t tokens_ = 0;
};

// Files that a text may include: regular ones, and none of the machine's state. Opening a pipe
// waits for whoever writes it, and a device has no end.
class RegularFiles : public llvm::vfs::ProxyFileSystem {
 public:
  RegularFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(
      const llvm::Twine& path) override {
    auto found = status(path);
    if (!found) return found.getError();
    return ProxyFileSystem::openFileForRead(path);
  }

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    llvm::SmallString<256> absolute;
    path.toVector(absolute);
    if (auto error = makeAbsolute(absolute)) return error;
    llvm::sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
    for (const char* kept : {"/proc/", "/sys/", "/dev/"}) {
      if (llvm::StringRef(absolute).starts_with(kept)) return nothing();
    }
    auto found = ProxyFileSystem::status(path);
    if (found && !found->isRegularFile() && !found->isDirectory()) return nothing();
    return found;
  }

 private:
  static std::error_code nothing() {
    return std::make_error_code(std::errc::no_such_file_or_directory);
  }
};

// Runs clang so that its end is not the tool's: a crash, or more tokens than any real file has, end
// the reading of this file alone. What clang held by then is never freed.
bool run_safely(clang::tooling::ToolInvocation& invocation) {
  static const bool enabled = [] {
    llvm::CrashRecoveryContext::Enable();
    return true;
  }();
  (void)enabled;
  llvm::CrashRecoveryContext context;
  return context.RunSafely([&] { invocation.run(); });
}

// The flags of a file that no compile_commands.json knows: our own declarations of libtorch, then
// what the tree's own includes are relative to.
class OwnFlags {
 public:
  OwnFlags(const Place& place, const std::string& text) : place_(place), text_(text) {}

  std::vector<std::string> flags() const {
    std::vector<std::string> out{"-std=c++20", "-nostdinc", "-nostdinc++", "-isystem",
                                 place_.include};
    for (const std::string& root : roots_) out.insert(out.end(), {"-idirafter", root});
    if (torch_) out.insert(out.end(), {"-include", place_.include + "/torch/torch.h"});
    return out;
  }
  // Whether the headers that were not found make for other flags.
  bool learn(const std::set<std::string>& missing) {
    const size_t known = roots_.size();
    for (const std::string& name : missing) {
      const auto root = place_.headers.root_of(name);
      if (root) roots_.insert(place_.root + (root->empty() ? "" : "/") + *root);
    }
    // One of those headers may be what includes libtorch's.
    const bool torch = !missing.empty() && text_.find("torch::") != std::string::npos;
    const bool more = roots_.size() != known || torch != torch_;
    torch_ = torch;
    return more;
  }

 private:
  const Place& place_;
  const std::string& text_;
  std::set<std::string> roots_;
  bool torch_ = false;
};

}  // namespace

Reading read(const std::string& text, const Place& place, const Knowledge& knowledge,
             CppUnit* unit) {
  Reading out;
  std::vector<std::string> given = place.commands.of(place.path);
  const bool by_command = !given.empty();
  if (by_command) {
    if (std::filesystem::exists(REFIT_CLANG_RESOURCES)) {
      given.insert(given.end(), {"-resource-dir", REFIT_CLANG_RESOURCES});
    }
    given.insert(given.end(), {"-idirafter", place.include});
  }
  OwnFlags own(place, text);
  for (int round = 0; round < kRounds; ++round) {
    const bool last = round + 1 == kRounds;
    std::vector<std::string> line{"refit"};
    const std::vector<std::string> flags = by_command ? given : own.flags();
    line.insert(line.end(), flags.begin(), flags.end());
    for (const std::string& name : place.defines) line.push_back("-D" + name);
    line.insert(line.end(), {"-xc++", "--no-default-config", "-fsyntax-only", "-ferror-limit=0",
                             "-fno-spell-checking", "-w", place.path});
    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
        llvm::makeIntrusiveRefCnt<RegularFiles>());
    files->pushOverlay(memory);
    memory->addFile(place.path, 0, llvm::MemoryBuffer::getMemBuffer(text));
    auto manager = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions(), files);
    out = {};
    bool again = false;
    Collector collector(out);
    auto done = [&](clang::ASTContext& context, const std::vector<const clang::Decl*>& decls) {
      out.ran = true;
      again = !by_command && own.learn(out.missing);
      if (again && !last) return;
      if (unit != nullptr) {
        unit->incomplete = !out.missing.empty() || !out.failures.empty();
        std::vector<uint32_t> errors;
        for (const Failure& f : out.failures) {
          if (f.offset) errors.push_back(*f.offset);
        }
        lower_file(*unit, context, decls, errors, knowledge);
      }
    };
    clang::tooling::ToolInvocation run(line, std::make_unique<Action>(done, out), manager.get());
    run.setDiagnosticConsumer(&collector);
    if (!run_safely(run)) {
      out.ran = false;
      return out;
    }
    if (!again) break;
    if (last) reached(Bound::header_rounds, 0);
  }
  return out;
}

}  // namespace refit::cpp

// What the language server asks of the rest of refit, answered as the other commands do it. Entry
// point: serve_editor.
#include "rewriter/cli/language_server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "rewriter/cli/explain_input.hpp"
#include "rewriter/cli/installed_rules.hpp"
#include "rewriter/cli/rule_lint.hpp"
#include "rewriter/cli/rule_tests.hpp"
#include "rewriter/cli/rules_folder.hpp"
#include "rewriter/cli/selection.hpp"
#include "rewriter/cli/take_config.hpp"
#include "rewriter/lsp/server.hpp"
#include "rewriter/project/discover.hpp"
#include "rewriter/rule/package.hpp"
#include "rewriter/text/source.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

// Keeps what a command would say.
class Kept final : public Console {
 public:
  Written out(std::string_view) override { return Written::yes; }
  void error(std::string_view text) override { said_ += text; }
  std::optional<std::string> read_line() override { return std::nullopt; }
  std::string read_all() override { return {}; }
  bool out_is_terminal() const override { return false; }
  bool error_is_terminal() const override { return false; }

  // Without the program's name in front and the line end behind.
  std::string said() const {
    constexpr std::string_view kName = "refit: ";
    std::string_view text = said_;
    if (text.starts_with(kName)) text.remove_prefix(kName.size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    return std::string(text);
  }

 private:
  std::string said_;
};

// A text of an editor in the encoding that it declares.
std::string bytes_of(const lsp::OpenText& open) {
  const auto source = Source::decode(open.path, open.text);
  if (!source || source->text() == open.text) return open.text;
  return source->encode(open.text).value_or(open.text);
}

std::string text_of(const std::string& file, const std::string& bytes) {
  const auto source = Source::decode(file, bytes);
  return source ? std::string(source->text()) : bytes;
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// The folder of the rule package that a file is a part of; "" where it is of none.
std::string package_of(const std::string& path) {
  std::error_code none;
  for (fs::path folder = fs::path(path).parent_path();; folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / kManifest, none)) return folder.string();
    if (folder == folder.parent_path()) return {};
  }
}

// Whether a YAML file's name and place are those of a rule file, as RuleSet::load takes them.
bool may_hold_rules(const std::string& path, const std::string& package) {
  const fs::path file(path);
  if (file.filename() == "isomorphisms.yaml" || file.filename() == kManifest) return false;
  const fs::path below = package.empty() ? file.filename() : file.lexically_relative(package);
  return std::ranges::none_of(
      below, [](const fs::path& part) { return part == "catalogue" || part == "targets"; });
}

class Engine final : public lsp::Analyst {
 public:
  Engine(const Services& services, const LspOptions& options)
      : services_(services), options_(options) {}

  lsp::Tree tree_of(const std::string& path, const std::vector<std::string>& folders) override {
    lsp::Tree tree;
    for (const std::string& folder : folders) {
      if (lies_in(path, folder) && folder.size() > tree.folder.size()) tree.folder = folder;
    }
    const std::string own = fs::path(path).parent_path().string();
    if (tree.folder.empty()) tree.folder = tree_folder(path).value_or(own);
    if (!options_.no_config) {
      const auto config = project_config(own);
      tree.settings = config ? config->path : own;  // what is wrong is said where it is read
    }
    return tree;
  }

  lsp::Analysis analyse(const lsp::Tree& tree, const std::vector<lsp::OpenText>& open,
                        const std::vector<std::string>& sites) override {
    Kept console;
    Services services = services_;
    services.console = &console;
    Session session(services);
    lsp::Analysis analysis;
    if (auto wrong = configure(tree, session.options)) {
      analysis.error = std::move(*wrong);
      return analysis;
    }
    session.options.sites = sites;
    const auto rules = session.load(session.options.rules);
    if (!rules) {
      analysis.error = console.said();
      return analysis;
    }
    auto discovery = discover({tree.folder}, {session.options.include, session.options.exclude});
    if (!discovery) {
      analysis.error = discovery.error().message;
      return analysis;
    }
    analysis.root = discovery->input.root;
    analysis.pages = pages_of(session.rules_folder);
    take_texts(open, discovery->input);
    auto result = run(session, *rules, discovery->input);
    if (!result) {
      analysis.error = result.error().message;
      return analysis;
    }
    analysis.result = std::move(*result);
    for (FileResult& file : analysis.result.changed) {
      analysis.changed.push_back(
          {file.file, text_of(file.file, file.before_bytes), text_of(file.file, *file.new_bytes)});
    }
    return analysis;
  }

  std::optional<std::vector<lsp::RuleRemark>> check_rules(
      const lsp::Tree& tree, const lsp::OpenText& file,
      const std::vector<lsp::OpenText>& others) override;

 private:
  // Gives what is wrong with the project's configuration.
  std::optional<std::string> configure(const lsp::Tree& tree, MigrateOptions& options) const {
    options = options_.migrate;
    options.paths = {tree.folder};
    if (options_.no_config || tree.settings.empty()) return std::nullopt;
    const auto config = project_config(tree.settings);
    if (!config) return config.error().message;
    take_config(*config, options_.target_given, options);
    return std::nullopt;
  }

  static void take_texts(const std::vector<lsp::OpenText>& open, Input& input) {
    for (const lsp::OpenText& text : open) {
      const auto file = std::ranges::find(input.files, text.path, &InputFile::path);
      if (file == input.files.end()) continue;
      file->bytes = std::make_shared<const std::string>(bytes_of(text));
    }
  }

  // As `refit migrate` chooses sites.
  static Expected<RunResult> run(Session& session, const RuleSet& rules, const Input& input) {
    if (input.files.empty()) return RunResult();
    const auto selection = Selection::read(session.options);
    if (!selection) return tl::unexpected(selection.error());
    auto result = session.run(rules, input);
    if (!result || selection->all()) return result;
    auto chosen = selection->among(result->findings, input);
    if (!chosen) return tl::unexpected(chosen.error());
    session.chosen = std::move(*chosen);
    result = session.run(rules, input);
    if (result) Selection::leave(*result, *session.chosen);
    return result;
  }

  static std::string pages_of(const std::string& rules_folder) {
    std::error_code none;
    const fs::path pages = fs::canonical(rules_folder, none).parent_path() / "docs" / "rules";
    return !none && fs::is_directory(pages, none) ? pages.string() : "";
  }

  bool holds_rules(const lsp::OpenText& file, const std::string& package,
                   const RuleOptions& rules) const {
    if (!may_hold_rules(file.path, package)) return false;
    if (!package.empty() || file.text.find("rule.schema.json") < file.text.find("\n\n")) {
      return true;
    }
    std::vector<std::string> paths = rules.rules;
    if (const auto shipped = find_rules_folder()) paths.push_back(*shipped);
    return std::ranges::any_of(paths, [&](const std::string& path) {
      std::error_code none;
      return lies_in(file.path, fs::weakly_canonical(path, none).string());
    });
  }

  const Services& services_;
  const LspOptions& options_;
};

// The remarks among lines `FILE:LINE: …` and `FILE:LINE:COLUMN: …` that are about the file.
std::vector<lsp::RuleRemark> remarks_in(std::string_view lines, const std::string& file,
                                        bool doubt) {
  std::vector<lsp::RuleRemark> remarks;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (!line.starts_with(file + ":")) continue;
    line.remove_prefix(file.size() + 1);
    lsp::RuleRemark remark;
    remark.doubt = doubt;
    for (uint32_t* number : {&remark.line, &remark.column}) {
      const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), *number);
      if (error != std::errc() || stop == line.data() + line.size() || *stop != ':') break;
      line.remove_prefix(static_cast<std::size_t>(stop - line.data()) + 1);
    }
    remark.line = std::max(remark.line, 1U);
    remark.column = std::max(remark.column, 1U);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    remark.message = line;
    remarks.push_back(std::move(remark));
  }
  return remarks;
}

std::optional<std::vector<lsp::RuleRemark>> Engine::check_rules(
    const lsp::Tree& tree, const lsp::OpenText& file, const std::vector<lsp::OpenText>& others) {
  Kept console;
  Services services = services_;
  services.console = &console;
  Session session(services);
  MigrateOptions options;
  const auto wrong = configure(tree, options);
  const std::string package = package_of(file.path);
  if (!holds_rules(file, package, options.rules)) return std::nullopt;
  if (wrong) return std::vector<lsp::RuleRemark>{{1, 1, *wrong, false}};
  std::vector<std::string> paths = options.rules.rules;
  paths.push_back(package.empty() ? file.path : package);
  std::map<std::string, std::string> texts;
  for (const lsp::OpenText& other : others) texts.insert_or_assign(other.path, other.text);
  texts.insert_or_assign(file.path, file.text);

  const auto failed = [&](const std::string& said) {
    auto remarks = remarks_in(said, file.path, false);
    if (remarks.empty()) remarks.push_back({1, 1, "the rules do not load: " + said, false});
    return remarks;
  };
  const auto rules = session.load({paths, {}, {}}, texts);
  if (!rules) return failed(console.said());
  for (const Target target : {Target::cuda, Target::ascend}) {
    session.options.target = target;
    const auto compiled = session.run(*rules, Input{});  // patterns are compiled where a run begins
    if (!compiled) return failed(compiled.error().message);
  }
  return remarks_in(lint_text(*rules, rules_of(*rules, {file.path})), file.path, true);
}

std::size_t read_input(char* into, std::size_t size) {
  while (true) {
    const ssize_t got = read(STDIN_FILENO, into, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return 0;
  }
}

}  // namespace

ExitCode serve_editor(Session& session, const LspOptions& options) {
  LspOptions resolved = options;
  for (std::string& rules : resolved.migrate.rules.rules) {
    auto path = rules_path(rules);  // once, since it may ask Python
    if (!path) return session.fail(path.error().message, ExitCode::bad_rules);
    rules = std::move(*path);
  }
  Engine engine(session.services, resolved);
  lsp::Server server(
      engine, read_input,
      [&](std::string_view bytes) { return session.console.out(bytes) == Console::Written::yes; },
      REFIT_VERSION);
  return server.run() ? ExitCode::done : ExitCode::would_change;
}

}  // namespace refit

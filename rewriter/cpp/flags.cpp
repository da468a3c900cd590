// CompileCommands: clang's reader of compile_commands.json and its table of options.
#include "rewriter/cpp/flags.hpp"

#include <clang/Driver/Options.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/JSONCompilationDatabase.h>

#include <filesystem>
#include <fstream>

#include <llvm/Option/ArgList.h>
#include <llvm/Option/OptTable.h>

#include <nlohmann/json.hpp>

namespace refit::cpp {

namespace {

namespace fs = std::filesystem;
namespace options = clang::driver::options;

constexpr uintmax_t kLargestDatabase = uintmax_t{256} << 20;  // bytes; PyTorch's own has 30 MiB

// What an option's value has to be.
enum class Value { none, text, folder, file };

struct Allowed {
  unsigned id;
  Value value;
};

constexpr Allowed kAllowed[] = {
    {options::OPT_I, Value::folder},         {options::OPT_isystem, Value::folder},
    {options::OPT_iquote, Value::folder},    {options::OPT_idirafter, Value::folder},
    {options::OPT_isysroot, Value::folder},  {options::OPT__sysroot_EQ, Value::folder},
    {options::OPT_include, Value::file},     {options::OPT_D, Value::text},
    {options::OPT_U, Value::text},           {options::OPT_std_EQ, Value::text},
    {options::OPT_nostdinc, Value::none},    {options::OPT_nostdincxx, Value::none},
    {options::OPT_fexceptions, Value::none}, {options::OPT_fno_exceptions, Value::none},
    {options::OPT_frtti, Value::none},       {options::OPT_fno_rtti, Value::none},
    {options::OPT_fopenmp, Value::none},     {options::OPT_pthread, Value::none},
};

// -march=, -mavx2 and the like: flags of the machine that name nothing but it.
bool of_machine(const llvm::opt::Arg& arg) {
  const std::string spelling(arg.getSpelling());
  const auto kind = arg.getOption().getKind();
  return spelling.starts_with("-m") && !spelling.starts_with("-mllvm") &&
         !spelling.starts_with("-mmlir") &&
         (kind == llvm::opt::Option::FlagClass || kind == llvm::opt::Option::JoinedClass);
}

bool has(Value value, const std::string& text, const fs::path& folder) {
  std::error_code error;
  if (value == Value::folder) return fs::is_directory(folder / text, error);
  if (value == Value::file) return fs::is_regular_file(folder / text, error);
  return true;
}

// Appends the option as clang takes it, if it is allowed.
void pass(const llvm::opt::Arg& arg, const fs::path& folder, std::vector<std::string>& out) {
  if (of_machine(arg)) {
    out.push_back(std::string(arg.getSpelling()) +
                  (arg.getNumValues() > 0 ? std::string(arg.getValue()) : ""));
    return;
  }
  const llvm::opt::Option option = arg.getOption().getUnaliasedOption();
  for (const auto& [id, value] : kAllowed) {
    if (!option.matches(id) || option.getID() != id) continue;
    if (value == Value::none) {
      out.emplace_back(option.getPrefixedName());
      return;
    }
    if (arg.getNumValues() != 1 || !has(value, arg.getValue(), folder)) return;
    const std::string name(option.getPrefixedName());
    if (option.getKind() == llvm::opt::Option::SeparateClass || name == "-isystem" ||
        name == "-iquote" || name == "-idirafter" || name == "-isysroot" || name == "-include") {
      out.push_back(name);
      out.emplace_back(arg.getValue());
    } else {
      out.push_back(name + arg.getValue());
    }
    return;
  }
}

// Whether flags name a folder that holds ATen's headers.
bool finds_aten(const std::vector<std::string>& flags, const fs::path& folder) {
  std::error_code error;
  for (size_t i = 0; i < flags.size(); ++i) {
    std::string where;
    if (flags[i] == "-isystem" && i + 1 < flags.size()) {
      where = flags[i + 1];
    } else if (flags[i].starts_with("-I")) {
      where = flags[i].substr(2);
    }
    if (!where.empty() && fs::exists(folder / where / "ATen", error)) return true;
  }
  return false;
}

}  // namespace

struct CompileCommands::Database {
  std::unique_ptr<clang::tooling::CompilationDatabase> commands;
};

CompileCommands::CompileCommands(const std::string& folder)
    : database_(std::make_unique<Database>()) {
  if (folder.empty()) return;
  const std::string file = folder + "/compile_commands.json";
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLargestDatabase) return;
  // Clang's reader takes it for YAML and prints what it does not understand, whatever that is.
  std::ifstream json(file, std::ios::binary);
  if (!nlohmann::json::accept(json)) return;
  std::string message;
  // Of this class alone: clang's loadFromDirectory() would replace @FILE by what FILE holds.
  auto commands = clang::tooling::JSONCompilationDatabase::loadFromFile(
      file, message, clang::tooling::JSONCommandLineSyntax::AutoDetect);
  if (commands != nullptr) {
    database_->commands = clang::tooling::inferMissingCompileCommands(std::move(commands));
  }
}

CompileCommands::~CompileCommands() = default;

std::vector<std::string> CompileCommands::of(const std::string& path) const {
  if (database_->commands == nullptr) return {};
  const auto found = database_->commands->getCompileCommands(path);
  if (found.empty() || found.front().CommandLine.empty()) return {};
  const fs::path folder = found.front().Directory;
  std::vector<const char*> line;
  for (const std::string& word : found.front().CommandLine) line.push_back(word.c_str());
  unsigned missing = 0, missing_count = 0;
  const llvm::opt::InputArgList arguments = clang::driver::getDriverOptTable().ParseArgs(
      llvm::ArrayRef(line).drop_front(), missing, missing_count,
      llvm::opt::Visibility(options::ClangOption));
  std::vector<std::string> out{"-working-directory", folder.string()};
  for (const llvm::opt::Arg* arg : arguments) pass(*arg, folder, out);
  if (!finds_aten(out, folder)) return {};
  return out;
}

}  // namespace refit::cpp

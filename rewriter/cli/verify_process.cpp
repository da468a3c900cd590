// Starting the Python program and reading its answer. The job and the answer are files of JSON in a
// temporary folder, beside the texts. Entry point: run_functions.
#include "rewriter/cli/verify_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/Program.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "rewriter/cli/rules_folder.hpp"
#include "rewriter/cli/temporary_folder.hpp"

namespace refit {
namespace {

using Json = nlohmann::json;

constexpr char kUnreached[] = "no input that was found reaches it";

bool write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes << std::flush;
  return static_cast<bool>(file);
}

Json job_of(const Input& input, const VerifyJob& job, const std::string& folder) {
  std::map<std::string, Json> sites;
  for (std::size_t i = 0; i < job.sites.size(); ++i) {
    const Finding& finding = *job.sites[i];
    sites.try_emplace(finding.file, Json::array())
        .first->second.push_back({{"id", i},
                                  {"line", finding.line},
                                  {"end_line", finding.end_line},
                                  {"assumes", finding.assumes}});
  }
  Json files = Json::array();
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    const auto found = sites.find(job.files[i].file);
    files.push_back({{"file", job.files[i].file},
                     {"before", fmt::format("{}/{}.before", folder, i)},
                     {"after", fmt::format("{}/{}.after", folder, i)},
                     {"arguments", job.files[i].arguments},
                     {"sites", found == sites.end() ? Json::array() : found->second}});
  }
  return {{"root", input.root},      {"module_roots", input.module_roots},
          {"files", files},          {"inputs", job.inputs ? Json(*job.inputs) : Json(nullptr)},
          {"seconds", job.seconds},  {"original_lies", job.original_lies},
          {"progress", job.progress}};
}

Expected<void> run_python(const std::string& python, const std::string& program,
                          const std::string& job, const std::string& answer) {
  const auto found = llvm::sys::findProgramByName(python);
  if (!found) {
    return failure(
        fmt::format("found no {} to run the code with: {}; name an interpreter with --python",
                    python, found.getError().message()));
  }
  std::string message;
  bool failed = false;
  const llvm::StringRef arguments[] = {python, program, job, answer};
  const int status =
      llvm::sys::ExecuteAndWait(*found, arguments, std::nullopt, {}, 0, 0, &message, &failed);
  if (failed || status != 0) {
    return failure(fmt::format("{} could not run {}: {}; name an interpreter with --python", *found,
                               program,
                               message.empty() ? fmt::format("status {}", status) : message));
  }
  return {};
}

// The errors of the widest inputs first, one a kind of inputs: of the result that comes worst.
std::vector<VerifiedErrors> errors_of(const Json& json) {
  std::vector<VerifiedErrors> errors;
  for (const Json& one : json) {
    const auto error = [&](const char* of) {
      return VerifiedErrors::Error{one.at(of).at("largest").get<double>(),
                                   one.at(of).at("root_mean_square").get<double>()};
    };
    VerifiedErrors found{one.at("inputs").get<std::string>(), one.at("dtype").get<std::string>(),
                         error("original"), error("migrated")};
    const auto same = std::ranges::find(errors, found.inputs, &VerifiedErrors::inputs);
    if (same == errors.end()) {
      errors.push_back(std::move(found));
    } else if (same->migrated.largest < found.migrated.largest) {
      *same = std::move(found);
    }
  }
  return errors;
}

Verdict verdict_of(const std::string& word) {
  return word == "agrees"    ? Verdict::agrees
         : word == "differs" ? Verdict::differs
                             : Verdict::not_run;
}

VerifiedFunction function_of(const Json& json, const VerifyJob& job) {
  VerifiedFunction function;
  function.file = json.at("file").get<std::string>();
  function.function = json.at("function").get<std::string>();
  function.line = json.at("line").get<uint32_t>();
  function.verdict = verdict_of(json.at("verdict").get<std::string>());
  function.reason = json.at("reason").get<std::string>();
  function.given = json.at("given").get<bool>();
  function.inputs = json.at("inputs").get<uint64_t>();
  function.shown = json.at("shown").get<std::string>();
  function.errors = errors_of(json.at("errors"));
  function.placeholders = json.at("placeholders").get<std::vector<std::string>>();
  const auto unreached = json.at("unreached").get<std::set<std::size_t>>();
  for (const std::size_t id : json.at("sites").get<std::vector<std::size_t>>()) {
    const bool reached = !unreached.contains(id) || function.verdict != Verdict::agrees;
    function.sites.push_back({job.sites.at(id), reached ? function.verdict : Verdict::not_run,
                              reached ? function.reason : kUnreached});
  }
  return function;
}

Expected<Verification> read_answer(const std::string& path, const VerifyJob& job) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const Json answer = Json::parse(text);
    if (const Json& error = answer.at("error"); !error.is_null()) {
      return failure(error.get<std::string>());
    }
    Verification verification;
    for (const Json& one : answer.at("functions")) {
      verification.functions.push_back(function_of(one, job));
    }
    for (const Json& name : answer.at("unused")) {
      verification.notes.push_back(
          fmt::format("The inputs for {} are not used: no changed function has that name.",
                      name.get<std::string>()));
    }
    const auto placeholders = answer.at("placeholders").get<std::vector<std::string>>();
    if (!placeholders.empty()) {
      verification.notes.push_back(fmt::format(
          "Not installed, with placeholders in their place: {}.", fmt::join(placeholders, ", ")));
    }
    return verification;
  } catch (const std::exception& error) {
    return failure(fmt::format("the program to verify with gave no answer: {}", error.what()));
  }
}

}  // namespace

Expected<Verification> run_functions(const Input& input, const VerifyJob& job) {
  const auto program = find_verify_program();
  if (!program) return tl::unexpected(program.error());
  const TemporaryFolder folder;
  if (folder.path().empty()) return failure("cannot make a temporary folder");
  bool written = true;
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    written = written && write(fmt::format("{}/{}.before", folder.path(), i), job.files[i].before);
    written = written && write(fmt::format("{}/{}.after", folder.path(), i), job.files[i].after);
  }
  const std::string asked = folder.path() + "/job.json", answer = folder.path() + "/answer.json";
  const std::string text =
      job_of(input, job, folder.path()).dump(-1, ' ', true, Json::error_handler_t::replace);
  if (!written || !write(asked, text)) {
    return failure(fmt::format("cannot write to {}", folder.path()));
  }
  if (const auto ran = run_python(job.python, *program, asked, answer); !ran) {
    return tl::unexpected(ran.error());
  }
  return read_answer(answer, job);
}

}  // namespace refit

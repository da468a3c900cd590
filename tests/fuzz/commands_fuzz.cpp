// Fuzz target: a compile_commands.json. Of its flags only those pass that say how a file reads, and
// reading it makes no file. Entry point: LLVMFuzzerTestOneInput.
#include <algorithm>
#include <array>
#include <filesystem>

#include "rewriter/cpp/flags.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

// What may pass, by how it begins; the second of two is a folder, a file or a name.
bool allowed(std::string_view flag) {
  constexpr std::array kBegins{"-I",           "-isystem",
                               "-iquote",      "-idirafter",
                               "-isysroot",    "--sysroot",
                               "-nostdinc",    "-D",
                               "-U",           "-std",
                               "-include",     "-x",
                               "-fexceptions", "-fno-exceptions",
                               "-frtti",       "-fno-rtti",
                               "-fopenmp",     "-m",
                               "-pthread",     "-working-directory"};
  return std::ranges::any_of(kBegins, [&](const char* begin) { return flag.starts_with(begin); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refit;
  static const fuzz::Scratch scratch;
  static const std::string source = scratch.put("model.cpp", "int x;\n");
  // Flags pass only where they name a folder with libtorch's headers.
  static const bool made = std::filesystem::create_directories(scratch.root() + "/include/ATen");
  std::string text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kRoot = "@ROOT@";
  for (std::size_t at = text.find(kRoot); at != std::string::npos; at = text.find(kRoot, at)) {
    text.replace(at, kRoot.size(), scratch.root());
  }
  scratch.put("compile_commands.json", text);
  const cpp::CompileCommands commands(scratch.root());
  const std::vector<std::string> flags = commands.of(source);
  if (!flags.empty()) ++fuzz::reached;
  for (const std::string& flag : flags) {
    if (flag.starts_with('@')) fuzz::fail("a response file passes: " + flag, text);
    if (flag.starts_with('-') && !allowed(flag)) fuzz::fail("a flag passes: " + flag, text);
  }
  if (!made || scratch.files() != 3) fuzz::fail("reading it made a file", text);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return refit::fuzz::mutate_lines(data, size, most, seed);
}

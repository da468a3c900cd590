// Fuzz target: Python text. It is migrated; the new text parses, and where Python compiles the old
// text it compiles the new one, and a second run finds nothing to do. REFIT_FUZZ_PYTHON names the
// Python, by default python3.
// Entry point: LLVMFuzzerTestOneInput.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/mutate.hpp"

namespace refit::fuzz {
namespace {

// A Python that is asked again and again whether a text compiles.
class Compiler {
 public:
  explicit Compiler(const char* python) {
    std::array<int, 2> to{}, from{};
    if (pipe(to.data()) != 0 || pipe(from.data()) != 0) fail("no pipe", {});
    const pid_t child = fork();
    if (child == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      constexpr char kLoop[] =
          "import sys,warnings\n"
          "warnings.simplefilter('ignore')\n"
          "i,o=sys.stdin.buffer,sys.stdout.buffer\n"
          "while line:=i.readline():\n"
          "    text=i.read(int(line))\n"
          "    try: compile(text,'x','exec',dont_inherit=True); answer=b'1'\n"
          "    except (SyntaxError,ValueError,OverflowError,RecursionError,MemoryError): "
          "answer=b'0'\n"
          "    o.write(answer); o.flush()\n";
      execlp(python, python, "-c", kLoop, nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;
  ~Compiler() {
    close(to_);
    close(from_);
  }

  bool compiles(std::string_view text) const {
    std::string message = std::to_string(text.size()) + "\n";
    message += text;
    for (std::string_view rest = message; !rest.empty();) {
      const ssize_t done = write(to_, rest.data(), rest.size());
      if (done <= 0) fail("the Python that REFIT_FUZZ_PYTHON names does not answer", {});
      rest.remove_prefix(static_cast<std::size_t>(done));
    }
    char answer = 0;
    if (read(from_, &answer, 1) != 1) fail("REFIT_FUZZ_PYTHON names no Python that answers", {});
    return answer == '1';
  }

 private:
  int to_ = -1, from_ = -1;
};

const Compiler& compiler() {
  static const char* const python = std::getenv("REFIT_FUZZ_PYTHON");
  static const Compiler one(python == nullptr ? "python3" : python);
  return one;
}

// Of a text that Python refuses only the new text's syntax is checked.
void one_input(std::string_view text) {
  static const Engine engine;
  static const Scratch scratch;
  const bool valid = compiler().compiles(text);
  const std::string after = migrate_twice(engine, scratch, "model.py", text, valid);
  if (valid && !after.empty() && !compiler().compiles(after)) {
    fail("the new text does not compile:\n" + after, text);
  }
}

}  // namespace
}  // namespace refit::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  refit::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return refit::fuzz::mutate_lines(data, size, most, seed);
}

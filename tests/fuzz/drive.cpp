// Runs a fuzz target without libFuzzer, so that the objects of an ordinary build do: inputs are the
// seeds and what the target's mutator makes of them. An input that ends the process is written to
// `crash` in the current folder. Usage: TARGET --seconds N [--seed N] SEEDS…
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMost = 1 << 16;
std::vector<uint8_t> input;

extern "C" void keep_input(int signal) {
  const int file = open("crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, input.data(), input.size()) >= 0) close(file);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void add_seeds(const fs::path& path, std::vector<std::string>& seeds) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.file_size() < kMost / 2) files.push_back(entry.path());
    }
    std::ranges::sort(files);
  } else {
    files.push_back(path);
  }
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    refit::fuzz::remember(seeds.back());
  }
}

unsigned number(std::string_view text) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void run_one(std::string_view text) {
  input.assign(text.begin(), text.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  unsigned seconds = 5, seed = 1;
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = number(argv[++i]);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = number(argv[++i]);
    } else {
      add_seeds(word, seeds);
    }
  }
  if (seeds.empty()) seeds.emplace_back();
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, keep_input);
  }
  std::mt19937 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  uint64_t executions = 0;
  std::string text;
  while (std::chrono::steady_clock::now() < end) {
    // One in three goes on from what the last one was.
    if (text.empty() || random() % 3 != 0) text = seeds[random() % seeds.size()];
    std::vector<uint8_t> made(kMost);
    std::copy(text.begin(), text.end(), made.begin());
    const std::size_t size =
        LLVMFuzzerCustomMutator(made.data(), text.size(), kMost, static_cast<unsigned>(random()));
    text.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(size));
    run_one(text);
    ++executions;
  }
  std::printf("%llu executions, %llu reached a site, seed %u\n",
              static_cast<unsigned long long>(executions),
              static_cast<unsigned long long>(refit::fuzz::reached), seed);
  return 0;
}

// The least that any tool must do which needs syntax trees: reads the files named on standard
// input, one a line, and parses each with the grammar that refit uses. `parse_floor THREADS`;
// entry: main.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <tree_sitter/api.h>

extern "C" const TSLanguage* tree_sitter_python(void);

int main(int argc, char** argv) {
  std::vector<std::string> files;
  for (std::string line; std::getline(std::cin, line);) files.push_back(line);
  std::atomic<size_t> next{0}, bytes{0};
  auto work = [&] {
    TSParser* parser = ts_parser_new();
    ts_parser_set_language(parser, tree_sitter_python());
    for (size_t i = next++; i < files.size(); i = next++) {
      std::ifstream in(files[i], std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      const std::string source = std::move(text).str();
      TSTree* tree = ts_parser_parse_string(parser, nullptr, source.data(),
                                            static_cast<uint32_t>(source.size()));
      ts_tree_delete(tree);
      bytes += source.size();
    }
    ts_parser_delete(parser);
  };
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  std::printf("%zu files, %zu bytes\n", files.size(), bytes.load());
}

// Texts for shells and for man, made from the command line's own description. Entry points:
// completion, man_page.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace refit {

enum class Shell { bash, zsh, fish };

// A script that the shell reads to complete commands, options and the words that options take.
std::string completion(const CLI::App& app, Shell shell);

// The manual page in roff, as `man -l` shows it.
std::string man_page(const CLI::App& app);

}  // namespace refit

// Completions and the manual page. Entry points: completion, man_page.
#include "rewriter/cli/shell_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

namespace refit {
namespace {

struct Command {
  std::string words;  // "", "migrate", "rules show"
  const CLI::App* app;
};

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> all{{"", &app}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Command above = all[i];
    for (const CLI::App* below : above.app->get_subcommands({})) {
      const std::string space = above.words.empty() ? "" : " ";
      all.push_back({above.words + space + below->get_name(), below});
    }
  }
  return all;
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// "--target", or "" of a positional.
std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

// The words of "cuda|ascend"; none of "FILE", nor of "json:FILE|sarif:FILE".
std::string words_of(const CLI::Option& option) {
  std::string words = option.get_type_name();
  const bool choice =
      words.find('|') != std::string::npos &&
      std::ranges::all_of(words, [](char c) { return c == '|' || (c >= 'a' && c <= 'z'); });
  if (!choice) return "";
  std::ranges::replace(words, '|', ' ');
  return words;
}

std::vector<std::string> offered(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* below : app.get_subcommands({})) words.push_back(below->get_name());
  for (const CLI::Option* option : app.get_options({})) {
    const std::string name = name_of(*option);
    words.push_back(name.empty() ? words_of(*option) : name);
  }
  return words;
}

std::string bash(const CLI::App& app) {
  const std::vector<Command> commands = commands_of(app);
  std::string text =
      "_refit() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${command:+$command }${COMP_WORDS[i]}\" in\n";
  for (const Command& command : commands) {
    if (!command.words.empty()) {
      text += fmt::format("      \"{0}\") command=\"{0}\" ;;\n", command.words);
    }
  }
  text += "    esac\n  done\n  case \"$command:$before\" in\n";
  for (const Command& command : commands) {
    for (const CLI::Option* option : command.app->get_options({})) {
      const std::string name = name_of(*option);
      if (name.empty() || is_flag(*option)) continue;
      const std::string words = words_of(*option);
      text +=
          fmt::format("    \"{}:{}\") COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n",
                      command.words, name, words.empty() ? "-f" : fmt::format("-W \"{}\"", words));
    }
  }
  text += "  esac\n  case \"$command\" in\n";
  for (const Command& command : commands) {
    text += fmt::format("    \"{}\") COMPREPLY=($(compgen -W \"{}\" -- \"$word\")) ;;\n",
                        command.words, fmt::join(offered(*command.app), " "));
  }
  return text +
         "  esac\n"
         "  [[ $command && $word != -* ]] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _refit refit\n";
}

// A text in single quotes of fish.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish(const CLI::App& app) {
  std::string text;
  for (const Command& command : commands_of(app)) {
    std::string where = "-n __fish_use_subcommand";
    if (!command.words.empty()) {
      const std::string last = command.words.substr(command.words.rfind(' ') + 1);
      where = fmt::format("-n '__fish_seen_subcommand_from {}'", last);
    }
    for (const CLI::App* below : command.app->get_subcommands({})) {
      text += fmt::format("complete -c refit {} {}-a {} -d {}\n", where,
                          command.words.empty() ? "-f " : "", below->get_name(),
                          quoted(below->get_description()));
    }
    for (const CLI::Option* option : command.app->get_options({})) {
      if (option->get_lnames().empty()) continue;
      const std::string words = words_of(*option);
      const std::string takes = is_flag(*option) ? ""
                                : words.empty()  ? " -r"
                                                 : fmt::format(" -xa '{}'", words);
      text += fmt::format("complete -c refit {} -l {}{} -d {}\n", where,
                          option->get_lnames().front(), takes, quoted(option->get_description()));
    }
  }
  return text;
}

// Text of roff: no character of it is a request or an escape.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string completion(const CLI::App& app, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash(app);
    case Shell::zsh:
      return "autoload -U +X bashcompinit && bashcompinit\n" + bash(app);
    case Shell::fish:
      break;
  }
  return fish(app);
}

std::string man_page(const CLI::App& app) {
  // The description is a sentence whose first word is the command's name.
  const std::string does = app.get_description().substr(app.get_name().size() + 1);
  std::string text = ".TH REFIT 1\n.SH NAME\nrefit \\- " + roff(does) +
                     "\n.SH SYNOPSIS\n.B refit\n.I COMMAND\n.RI [ OPTIONS ]\n";
  for (const Command& command : commands_of(app)) {
    const std::string title = command.words.empty() ? "OPTIONS" : "refit " + command.words;
    text += fmt::format(".SH \"{}\"\n", roff(title));
    if (!command.words.empty()) text += roff(command.app->get_description()) + ".\n";
    for (const CLI::Option* option : command.app->get_options({})) {
      const std::string name = name_of(*option);
      const std::string shown = name.empty() ? option->get_name(true) : name;
      const std::string value = is_flag(*option) ? "" : option->get_type_name();
      text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(shown),
                          value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
                          roff(option->get_description()));
    }
    if (const std::string footer = command.app->get_footer();
        !footer.empty() && command.app != &app) {
      text += ".PP\n.nf\n" + roff(footer) + (footer.ends_with('\n') ? "" : "\n") + ".fi\n";
    }
  }
  return text;
}

}  // namespace refit

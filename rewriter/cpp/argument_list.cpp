// The arguments of a call that is written anew: `(a, b, {.c = d})`, on as few lines as they fit.
#include "rewriter/cpp/argument_list.hpp"

#include <algorithm>

#include "rewriter/cpp/text_parts.hpp"

namespace refit::cpp {

namespace {

constexpr size_t kWidth = 100;  // beyond it a call is broken over lines

using Leads = std::vector<std::string>;  // what stands before each argument, by argument
using Tails = std::vector<std::string>;  // blanks and a `//` behind it

class ArgumentList {
 public:
  explicit ArgumentList(const ListPlace& place) : place_(place), text_(place.unit.text()) {}

  // On one line; else with the named arguments on the next; else all on the next; else one a line.
  Expected<std::string> fitted(const std::vector<NewArgument>& arguments) const {
    const size_t column = place_.column;
    std::string_view behind =
        text_.substr(place_.root.end, line_of(text_, place_.root.end).end - place_.root.end);
    size_t rest = place_.behind.size() + trimmed(behind).size();
    Leads leads(arguments.size());
    const Leads none(arguments.size());
    auto one = compose(arguments, leads, none);
    if (!one || column + one->size() + rest <= kWidth || one->find('\n') != std::string::npos) {
      return one;
    }
    std::string nl(place_.unit.source().newline());
    size_t options = 0;  // the first of them
    while (options < arguments.size() && arguments[options].keyword.empty() &&
           options < place_.callee.parameters.size() &&
           !place_.callee.parameters[options].default_value) {
      ++options;
    }
    if (options > 0 && options < arguments.size()) {
      leads[options] = nl + std::string(column + 1, ' ');
      auto two = compose(arguments, leads, none);
      size_t broken = two ? two->find(nl) : 0;
      if (two && column + broken <= kWidth && two->size() - broken - nl.size() + rest <= kWidth) {
        return two;
      }
    }
    const std::string line = nl + std::string(indentation(text_, place_.root.begin)) + "    ";
    leads.assign(arguments.size(), "");
    leads[0] = line;
    if (auto below = compose(arguments, leads, none);
        below && below->size() - 1 - nl.size() + rest <= kWidth) {
      return below;
    }
    if (options > 0 && options < arguments.size()) {
      leads[options] = line;
      auto both = compose(arguments, leads, none);
      const size_t last = both ? both->rfind(nl) : 0;
      if (both && both->find(nl, nl.size() + 1) < line.size() + kWidth &&
          both->size() - last - nl.size() + rest <= kWidth) {
        return both;
      }
    }
    leads.assign(arguments.size(), line);
    return compose(arguments, leads, none);
  }

  // `(a, b, {.c = d})`, each argument behind its blanks and its comma in front of its `//`.
  Expected<std::string> compose(const std::vector<NewArgument>& arguments, const Leads& leads,
                                const Tails& tails) const {
    std::vector<const NewArgument*> by_parameter(place_.callee.parameters.size(), nullptr);
    for (size_t i = 0; i < arguments.size(); ++i) {
      size_t place = i;
      if (!arguments[i].keyword.empty()) {
        place = 0;
        while (place < place_.callee.parameters.size() &&
               place_.callee.parameters[place].name != arguments[i].keyword) {
          ++place;
        }
      }
      if (place >= by_parameter.size() || by_parameter[place] != nullptr) {
        return failure("the new call's arguments do not fit its signature");
      }
      by_parameter[place] = &arguments[i];
    }
    std::string out = "(";
    std::string tail;  // of the argument before
    bool any = false, options = false;
    for (size_t place = 0; place < by_parameter.size(); ++place) {
      const NewArgument* a = by_parameter[place];
      bool required = !place_.callee.parameters[place].default_value;
      if (a == nullptr) {
        if (required) return failure("the new call lacks a required argument");
        continue;
      }
      const auto index = static_cast<size_t>(a - arguments.data());
      std::string lead = any && leads[index].empty() ? " " : leads[index];
      if (!tail.empty() && lead.find('\n') == std::string::npos) lead = as_before(out);
      if (options && lead.find('\n') != std::string::npos) lead += ' ';  // behind the brace
      if (any) out += "," + tail;
      out += lead;
      if (!required) {
        out += options ? "." : "{.";
        out += place_.callee.parameters[place].name + " = ";
        options = true;
      }
      out += a->text;
      tail = tails[index];
      any = true;
    }
    if (!tail.empty()) out += tail + next_line();
    out += options ? "})" : ")";
    return out;
  }

  // A new line as deep as the last one of a text.
  std::string as_before(const std::string& text) const {
    const size_t line = text.rfind('\n') + 1;
    const size_t code = text.find_first_not_of(" \t", line);
    return line == 0 ? next_line()
                     : std::string(place_.unit.source().newline()) + text.substr(line, code - line);
  }

  std::string next_line() const {
    return std::string(place_.unit.source().newline()) +
           std::string(indentation(text_, place_.root.begin));
  }

  const ListPlace& place_;
  std::string_view text_;
};

}  // namespace

Expected<std::string> fitted_list(const ListPlace& place,
                                  const std::vector<NewArgument>& arguments) {
  return ArgumentList(place).fitted(arguments);
}

Expected<std::string> composed_list(const ListPlace& place,
                                    const std::vector<NewArgument>& arguments,
                                    const std::vector<std::string>& leads,
                                    const std::vector<std::string>& tails) {
  return ArgumentList(place).compose(arguments, leads, tails);
}

}  // namespace refit::cpp

// Writing the review's page. Entry point: to_review.
#include "rewriter/report/review.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/SHA256.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriter/report/review_parts.hpp"
#include "rewriter/text/diff.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

// JSON that may stand in an element of HTML: "<" occurs in strings only, where it can be escaped.
std::string in_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string csp_hash(std::string_view script) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(script.data());
  return llvm::encodeBase64(llvm::SHA256::hash(llvm::ArrayRef(bytes, script.size())));
}

// The page with its places filled, each once: what is put in is not looked at again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string out;
  for (const auto& [place, text] : parts) {
    const std::size_t at = page.find(place);
    out += page.substr(0, at);
    out += text;
    page.remove_prefix(at + place.size());
  }
  out += page;
  return out;
}

// A text that the page can show and make a patch of, or null: of other encodings than UTF-8, and of
// files whose lines end in "\r" alone, it knows the sites only.
Json text_of(const std::string& bytes) {
  const bool other = bytes.find('\r') != std::string::npos && bytes.find('\n') == std::string::npos;
  return other || !llvm::json::isUTF8(bytes) ? Json(nullptr) : Json(bytes);
}

}  // namespace

Expected<std::string> to_review(const RunResult& result, const ReportContext& context,
                                const std::map<std::string, std::string>& texts) {
  Json files = Json::object();
  for (const auto& [name, bytes] : texts) {
    files[printable_name(name)] = {{"text", text_of(bytes)}, {"patch", nullptr}};
  }
  for (const FileResult& file : result.changed) {
    const auto diff = unified_diff(file.file, file.before_bytes, *file.new_bytes, false);
    if (!diff) return tl::unexpected(diff.error());
    const Json text = text_of(file.before_bytes);
    files[printable_name(file.file)] = {{"text", text},
                                        {"patch", text.is_null() ? Json(nullptr) : Json(*diff)}};
  }
  // The order is that of the places in the page.
  return filled(kReviewPage,
                {{"@HASH@", csp_hash(kReviewScript)},
                 {"@STYLE@", kReviewStyle},
                 {"@REPORT@", in_html(to_json(result, context))},
                 {"@FILES@", in_html(files.dump(-1, ' ', true, Json::error_handler_t::replace))},
                 {"@SCRIPT@", kReviewScript}});
}

}  // namespace refit

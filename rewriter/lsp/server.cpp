#include "rewriter/lsp/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "rewriter/lsp/sites.hpp"
#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/project/language.hpp"
#include "rewriter/text/file_uri.hpp"

namespace refit::lsp {
namespace {

// After the last key of several that are typed at once.
constexpr std::chrono::milliseconds kQuiet{200};

std::string without_links(const std::string& path) {
  std::error_code none;
  const auto found = std::filesystem::weakly_canonical(path, none);
  return none ? path : found.string();
}

bool is_source(const std::string& path) { return language_of(path) != nullptr; }

bool holds(const Json& list, std::string_view word) {
  return list.is_array() && std::ranges::any_of(list, [&](const Json& entry) {
           return entry.is_string() && entry.get_ref<const std::string&>() == word;
         });
}

}  // namespace

Server::Server(Analyst& analyst, ReadBytes read, Send send, std::string version)
    : analyst_(analyst),
      inbox_(std::move(read)),
      send_(std::move(send)),
      version_(std::move(version)) {}

bool Server::run() {
  // What came is heard before anything is analysed or shown, so that nothing old is shown.
  while (!over_) {
    if (const auto incoming = inbox_.take(Inbox::Clock::now())) {
      handle(*incoming);
      continue;
    }
    publish();
    answer_waiting();
    if (due_ && Inbox::Clock::now() >= *due_) {
      if (!analyse_one()) due_.reset();
      continue;
    }
    if (const auto incoming = inbox_.take(due_)) handle(*incoming);
  }
  return shut_down_;
}

void Server::send(const Json& message) {
  if (!send_(framed(message))) over_ = true;
}

void Server::tell(const std::string& path, const std::string& error) {
  if (std::exchange(told_[path], error) == error) return;
  if (error.empty()) return;
  constexpr int kError = 1;
  send(notification("window/showMessage", {{"type", kError}, {"message", "refit: " + error}}));
}

void Server::handle(const Incoming& incoming) {
  if (incoming.kind == Incoming::Kind::end) {
    over_ = true;
    return;
  }
  if (incoming.kind == Incoming::Kind::wrong) {
    send(error_response(nullptr, RpcCode::parse_error, incoming.says));
    return;
  }
  const Json& message = incoming.message;
  const Json& id = at(message, {"id"});
  const bool has_id = id.is_string() || id.is_number_integer();
  const auto method = text_at(message, {"method"});
  if (!method) {
    const bool answers =
        message.is_object() && (message.contains("result") || message.contains("error"));
    if (answers) return;  // to nothing that was asked
    send(error_response(has_id ? id : Json(), RpcCode::invalid_request,
                        "expected an object with a `method`"));
    return;
  }
  const Json& params = at(message, {"params"});
  if (has_id) {
    request(id, *method, params);
  } else if (!id.is_null()) {
    send(error_response(nullptr, RpcCode::invalid_request, "expected a text or a number as `id`"));
  } else {
    notice(*method, params);
  }
}

void Server::request(const Json& id, const std::string& method, const Json& params) {
  const auto fail = [&](RpcCode code, std::string_view message) {
    send(error_response(id, code, message));
  };
  if (shut_down_) return fail(RpcCode::invalid_request, "the server is shut down; expected `exit`");
  if (initialized_ == (method == "initialize")) {
    return initialized_ ? fail(RpcCode::invalid_request, "the server is initialized already")
                        : fail(RpcCode::not_initialized, "expected `initialize` first");
  }
  if (inbox_.cancelled(id)) return fail(RpcCode::cancelled, "cancelled");
  if (must_wait(method, params)) {
    waiting_.push_back({id, method, params});
    return;
  }
  const Answer found = answer(method, params);
  if (!found) return fail(found.error().code, found.error().message);
  send(response(id, *found));
}

Server::Answer Server::answer(const std::string& method, const Json& params) {
  if (method == "initialize") return initialize(params);
  if (method == "shutdown") {
    shut_down_ = true;
    fail_waiting([](const Waiting&) { return true; }, RpcCode::cancelled, "shutting down");
    return Json();
  }
  if (method == "textDocument/hover") return hover_at(params);
  if (method == "textDocument/codeAction") return code_actions(params);
  if (method == "codeAction/resolve") return resolve(params);
  return tl::unexpected(Failed{RpcCode::method_not_found, fmt::format("there is no {}", method)});
}

bool Server::must_wait(const std::string& method, const Json& params) const {
  if (method != "textDocument/hover" && method != "textDocument/codeAction") return false;
  const auto open = open_.find(text_at(params, {"textDocument", "uri"}).value_or(""));
  return due_ && open != open_.end() && open->second.analysed != open->second.revision;
}

void Server::answer_waiting() {
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    request(waiting.id, waiting.method, waiting.params);
  }
}

void Server::fail_waiting(const std::function<bool(const Waiting&)>& which, RpcCode code,
                          std::string_view message) {
  for (const Waiting& waiting : waiting_) {
    if (which(waiting)) send(error_response(waiting.id, code, message));
  }
  std::erase_if(waiting_, which);
}

void Server::notice(const std::string& method, const Json& params) {
  if (method == "exit") {
    over_ = true;
    return;
  }
  if (!initialized_ || shut_down_) return;
  if (method == "initialized" && watches_) watch();
  if (method == "textDocument/didOpen") open(params);
  if (method == "textDocument/didChange") change(params);
  if (method == "textDocument/didClose") close(params);
  if (method == "workspace/didChangeWorkspaceFolders") change_folders(params);
  if (method == "$/cancelRequest") {
    const auto asked = [&](const Waiting& waiting) { return waiting.id == at(params, {"id"}); };
    fail_waiting(asked, RpcCode::cancelled, "cancelled");
  }
  // Whatever was saved may hold definitions, settings or rules.
  if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles" ||
      method == "workspace/didChangeConfiguration") {
    touch_all();
  }
}

Json Server::initialize(const Json& params) {
  initialized_ = true;
  const Json& client = at(params, {"capabilities"});
  const Json& encodings = at(client, {"general", "positionEncodings"});
  if (holds(encodings, "utf-8")) units_ = Units::utf8;
  markdown_ = holds(at(client, {"textDocument", "hover", "contentFormat"}), "markdown");
  resolves_ =
      holds(at(client, {"textDocument", "codeAction", "resolveSupport", "properties"}), "edit");
  watches_ = at(client, {"workspace", "didChangeWatchedFiles", "dynamicRegistration"}) == true;
  versioned_ = at(client, {"workspace", "workspaceEdit", "documentChanges"}) == true;
  const Json& folders = at(params, {"workspaceFolders"});
  if (folders.is_array()) {
    change_folders({{"event", {{"added", folders}}}});
  } else if (const auto root = text_at(params, {"rootUri"})) {
    change_folders({{"event", {{"added", {{{"uri", *root}}}}}}});
  }
  constexpr int kIncremental = 2;
  return {{"capabilities",
           {{"positionEncoding", units_ == Units::utf8 ? "utf-8" : "utf-16"},
            {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}, {"save", true}}},
            {"hoverProvider", true},
            {"codeActionProvider",
             {{"codeActionKinds", {"quickfix", "source.refit"}}, {"resolveProvider", true}}},
            {"workspace",
             {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}}}},
          {"serverInfo", {{"name", "refit"}, {"version", version_}}}};
}

// What a document is analysed with changes without it, when a branch is checked out.
void Server::watch() {
  Json watchers = Json::array();
  for (const LanguageFacts& language : kLanguages) {
    for (const std::string_view suffix : language.suffixes) {
      if (!suffix.empty()) watchers.push_back({{"globPattern", fmt::format("**/*{}", suffix)}});
    }
  }
  for (const char* glob : {"**/*.yaml", "**/*.yml", "**/refit.toml", "**/pyproject.toml"}) {
    watchers.push_back({{"globPattern", glob}});
  }
  const Json registration = {{"id", "watch"},
                             {"method", "workspace/didChangeWatchedFiles"},
                             {"registerOptions", {{"watchers", watchers}}}};
  send({{"jsonrpc", "2.0"},
        {"id", "watch"},
        {"method", "client/registerCapability"},
        {"params", {{"registrations", Json::array({registration})}}}});
}

void Server::change_folders(const Json& params) {
  const auto each = [&](const char* which, const auto& work) {
    const Json& list = at(params, {"event", which});
    if (!list.is_array()) return;
    for (const Json& folder : list) {
      const auto path = path_of_uri(text_at(folder, {"uri"}).value_or(""));
      if (path) work(without_links(*path));
    }
  };
  each("removed", [&](const std::string& path) { std::erase(folders_, path); });
  each("added", [&](const std::string& path) { folders_.push_back(path); });
  touch_all();
}

void Server::touch_all() {
  for (auto& [uri, open] : open_) {
    open.tree = analyst_.tree_of(open.path, folders_);
    open.analysed = 0;
  }
  due_ = Inbox::Clock::now() + kQuiet;
}

void Server::open(const Json& params) {
  const auto uri = text_at(params, {"textDocument", "uri"});
  const auto text = text_at(params, {"textDocument", "text"});
  if (!uri || !text) return;
  const auto named = path_of_uri(*uri);
  if (!named) return;
  const std::string path = without_links(*named);
  const bool yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!is_source(path) && !yaml) return;
  open_.insert_or_assign(
      *uri, Open{path, Document(*text, units_), at(params, {"textDocument", "version"}),
                 ++revisions_, analyst_.tree_of(path, folders_), 0, nullptr, "", Json(), 0});
  touch_near(open_.at(*uri));
  due_ = Inbox::Clock::now();
}

void Server::touch_near(const Open& changed) {
  for (auto& [uri, open] : open_) {
    const bool near = open.tree.folder == changed.tree.folder;
    if (near && is_source(open.path) == is_source(changed.path)) open.analysed = 0;
  }
  due_ = Inbox::Clock::now() + kQuiet;
}

void Server::change(const Json& params) {
  Open* open = find(params);
  const Json& changes = at(params, {"contentChanges"});
  if (open == nullptr || !changes.is_array()) return;
  for (const Json& change : changes) {
    if (open->document.change(change)) continue;
    tell(open->path,
         fmt::format("{} is not looked at until it is opened again: a change of it is not one of "
                     "the protocol's",
                     open->path));
    close(params);
    return;
  }
  const auto about = [&](const Waiting& waiting) {
    return at(waiting.params, {"textDocument", "uri"}) == at(params, {"textDocument", "uri"});
  };
  fail_waiting(about, RpcCode::content_modified, "the document has changed since");
  open->version = at(params, {"textDocument", "version"});
  open->revision = ++revisions_;
  touch_near(*open);
}

void Server::close(const Json& params) {
  const auto uri = text_at(params, {"textDocument", "uri"});
  const auto open = open_.find(uri.value_or(""));
  if (open == open_.end()) return;
  touch_near(open->second);
  open_.erase(open);
  send(notification("textDocument/publishDiagnostics",
                    {{"uri", *uri}, {"diagnostics", Json::array()}}));
}

Server::Open* Server::find(const Json& params) {
  const auto found = open_.find(text_at(params, {"textDocument", "uri"}).value_or(""));
  return found == open_.end() ? nullptr : &found->second;
}

std::vector<OpenText> Server::texts() const {
  std::vector<OpenText> texts;
  for (const auto& [uri, open] : open_) {
    texts.push_back({open.path, open.document.text()});
  }
  return texts;
}

bool Server::analyse_one() {
  const auto next = std::ranges::find_if(
      open_, [](const auto& entry) { return entry.second.analysed != entry.second.revision; });
  if (next == open_.end()) return false;
  analyse(next->second);
  return true;
}

void Server::analyse(Open& asked) {
  const auto show = [](Open& open, Json diagnostics) {
    open.analysed = open.revision;
    if (open.shown != diagnostics) open.published = 0;
    open.shown = std::move(diagnostics);
  };
  const std::vector<OpenText> open_texts = texts();
  if (!is_source(asked.path)) {
    const auto remarks =
        analyst_.check_rules(asked.tree, {asked.path, asked.document.text()}, open_texts);
    show(asked, remarks ? rule_diagnostics(*remarks, asked.document) : Json::array());
    return;
  }
  const auto analysis =
      std::make_shared<const Analysis>(analyst_.analyse(asked.tree, open_texts, {}));
  tell(asked.tree.folder, analysis->error);
  for (auto& [uri, open] : open_) {
    if (open.tree != asked.tree || !is_source(open.path)) continue;
    open.analysis = analysis;
    const bool below = open.path.starts_with(analysis->root + "/");
    open.name = below ? open.path.substr(analysis->root.size() + 1) : "";
    show(open, diagnostics(*analysis, open.name, open.document));
  }
}

void Server::publish() {
  for (auto& [uri, open] : open_) {
    if (open.published == open.revision || open.analysed != open.revision) continue;
    open.published = open.revision;
    Json params = {{"uri", uri}, {"diagnostics", open.shown}};
    if (open.version.is_number_integer()) params["version"] = open.version;
    send(notification("textDocument/publishDiagnostics", std::move(params)));
  }
}

const Analysis* Server::current(Open& open) {
  if (open.analysed != open.revision) analyse(open);
  return open.analysis.get();
}

Server::Answer Server::hover_at(const Json& params) {
  const auto line = number_at(params, {"position", "line"});
  if (!line) {
    return tl::unexpected(Failed{RpcCode::invalid_params, "expected a `position` with a `line`"});
  }
  Open* open = find(params);
  const Analysis* analysis = open == nullptr ? nullptr : current(*open);
  if (analysis == nullptr) return Json();
  return hover(*analysis, open->name, static_cast<uint32_t>(*line) + 1, markdown_);
}

Server::Answer Server::code_actions(const Json& params) {
  const auto first = number_at(params, {"range", "start", "line"});
  const auto last = number_at(params, {"range", "end", "line"});
  if (!first || !last) {
    return tl::unexpected(Failed{RpcCode::invalid_params, "expected a `range` of two places"});
  }
  Open* open = find(params);
  const Analysis* analysis = open == nullptr ? nullptr : current(*open);
  if (analysis == nullptr) return Json::array();
  Deed document;
  document.uri = *text_at(params, {"textDocument", "uri"});
  document.revision = open->revision;
  Json actions = Json::array();
  for (Json& action :
       site_actions(*analysis, open->name, static_cast<uint32_t>(*first) + 1,
                    static_cast<uint32_t>(*last) + 1, at(params, {"context", "only"}), document)) {
    if (resolves_) {
      actions.push_back(std::move(action));
    } else if (Answer resolved = resolve(std::move(action))) {
      actions.push_back(std::move(*resolved));  // else it cannot be done
    }
  }
  return actions;
}

Server::Answer Server::resolve(Json action) {
  const auto deed = Deed::of(at(action, {"data"}));
  if (!deed) {
    return tl::unexpected(
        Failed{RpcCode::invalid_params, "expected an action that this server has offered"});
  }
  const auto open = open_.find(deed->uri);
  if (open == open_.end() || open->second.revision != deed->revision) {
    return tl::unexpected(
        Failed{RpcCode::content_modified, "the document has changed since; ask again"});
  }
  Answer edit = edit_of(*deed, open->second);
  if (!edit) return edit;
  action["edit"] = std::move(*edit);
  return action;
}

Server::Answer Server::edit_of(const Deed& deed, const Open& open) {
  if (deed.kind == Deed::Kind::ignore) return ignore_edit(deed, open);
  const bool site = deed.kind == Deed::Kind::site;
  const auto failed = [](std::string message) {
    return tl::unexpected(Failed{RpcCode::request_failed, std::move(message)});
  };
  // Anew, since closed files may have changed on disk after what was offered was found.
  const Analysis found = analyst_.analyse(
      open.tree, texts(),
      site ? std::vector<std::string>{deed.fingerprint} : std::vector<std::string>());
  if (!found.error.empty()) return failed(found.error);
  std::map<std::string, Json> edits;
  for (const NewText& changed : found.changed) {
    if (!site && changed.file != open.name) continue;
    const std::string path = found.path_of(changed.file);
    // One file may be open under the names of several links.
    auto other = open_.find(deed.uri);
    if (other->second.path != path) {
      other =
          std::ranges::find_if(open_, [&](const auto& entry) { return entry.second.path == path; });
    }
    const bool is_open = other != open_.end();
    const Document before = is_open ? other->second.document : Document(changed.before, units_);
    // Else what a line is to the client it is not to the analysis.
    if (before.text() != changed.before) {
      return failed(
          fmt::format("{} is not in UTF-8 as the client has it; use refit migrate", path));
    }
    auto made = text_edits(before, changed.after);
    if (!made) return failed(made.error().message);
    edits.emplace(is_open ? other->first : file_uri(path), std::move(*made));
  }
  if (edits.empty()) {
    return failed(site ? "this site is rewritten only together with others; rewrite the file"
                       : "nothing is left to rewrite in this file");
  }
  return workspace_edit(edits);
}

Server::Answer Server::ignore_edit(const Deed& deed, const Open& open) {
  const LanguageFacts* language = language_of(open.path);
  const bool cpp = language != nullptr && language->language == Language::cpp;
  const std::vector<OpenText> open_texts = texts();
  const Analysis before = analyst_.analyse(open.tree, open_texts, {});
  uint32_t added = 0;
  for (const std::string& text : with_ignore(open.document, deed.line, deed.rule, cpp)) {
    std::vector<OpenText> tried = open_texts;
    for (OpenText& one : tried) {
      if (one.path == open.path) one.text = text;
    }
    const Analysis after = analyst_.analyse(open.tree, tried, {});
    if (only_ignores(before, after, open.name, deed, added++)) {
      const auto edits = text_edits(open.document, text);
      if (edits) return workspace_edit({{deed.uri, *edits}});
    }
  }
  return tl::unexpected(Failed{
      RpcCode::request_failed,
      "neither behind the line nor above it can a comment keep this site, and this one alone"});
}

Json Server::workspace_edit(const std::map<std::string, Json>& edits) const {
  if (!versioned_) return {{"changes", edits}};
  Json changes = Json::array();
  for (const auto& [uri, list] : edits) {
    const auto open = open_.find(uri);
    const Json version = open == open_.end() ? Json() : open->second.version;
    changes.push_back({{"textDocument", {{"uri", uri}, {"version", version}}}, {"edits", list}});
  }
  return {{"documentChanges", changes}};
}

}  // namespace refit::lsp

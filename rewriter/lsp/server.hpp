// The language server: its life, the documents that are open, and when they are analysed. It never
// writes a file; edits go to the client. Entry point: Server::run.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/lsp/actions.hpp"
#include "rewriter/lsp/analyst.hpp"
#include "rewriter/lsp/document.hpp"
#include "rewriter/lsp/inbox.hpp"
#include "rewriter/text/expected.hpp"

namespace refit::lsp {

// Sends bytes to the client; false where it reads no more.
using Send = std::function<bool(std::string_view bytes)>;

class Server {
 public:
  Server(Analyst& analyst, ReadBytes read, Send send, std::string version);

  // Until the client says `exit` or is gone; whether it said `shutdown` before.
  bool run();

 private:
  // A document, what is known of it, and of which of its texts.
  struct Open {
    std::string path;  // without links
    Document document;
    Json version;
    std::size_t revision = 0;  // of its text: the server numbers all texts that it is given
    Tree tree;
    std::size_t analysed = 0;                  // the revision that `analysis` or `shown` speaks of
    std::shared_ptr<const Analysis> analysis;  // null for rule files and what is no source file
    std::string name;                          // in the analysis
    Json shown;                                // diagnostics
    std::size_t published = 0;                 // the revision that the client has them of
  };
  struct Failed {
    RpcCode code;
    std::string message;
  };
  using Answer = tl::expected<Json, Failed>;
  // A request about a text that is not analysed yet. Editors ask after every key; it waits until
  // the keys rest.
  struct Waiting {
    Json id;
    std::string method;
    Json params;
  };

  void handle(const Incoming& incoming);
  void request(const Json& id, const std::string& method, const Json& params);
  Answer answer(const std::string& method, const Json& params);
  bool must_wait(const std::string& method, const Json& params) const;
  void answer_waiting();
  // Fails those that wait and are so, if any.
  void fail_waiting(const std::function<bool(const Waiting&)>& which, RpcCode code,
                    std::string_view message);
  void notice(const std::string& method, const Json& params);

  Json initialize(const Json& params);
  void watch();
  void open(const Json& params);
  void change(const Json& params);
  void close(const Json& params);
  void change_folders(const Json& params);
  void touch_all();
  // Has what may use a document's text analysed again, the document among it.
  void touch_near(const Open& changed);

  Answer hover_at(const Json& params);
  Answer code_actions(const Json& params);
  Answer resolve(Json action);
  Answer edit_of(const Deed& deed, const Open& open);
  Answer ignore_edit(const Deed& deed, const Open& open);
  Json workspace_edit(const std::map<std::string, Json>& edits) const;  // by URI

  Open* find(const Json& params);
  std::vector<OpenText> texts() const;  // all that are open
  // What is known of the document's current text; analyses it where that is not known.
  const Analysis* current(Open& open);
  // Analyses a document that needs it, and those of its tree with it; false where none does.
  bool analyse_one();
  void analyse(Open& open);
  void publish();
  void send(const Json& message);
  // Shows an error about a path, "" being that there is none, unless it is the one shown last.
  void tell(const std::string& path, const std::string& error);

  Analyst& analyst_;
  Inbox inbox_;
  Send send_;
  std::string version_;
  bool initialized_ = false, shut_down_ = false, over_ = false;
  Units units_ = Units::utf16;
  bool markdown_ = false, resolves_ = false, versioned_ = false, watches_ = false;
  std::vector<std::string> folders_;  // of the work space
  std::map<std::string, Open> open_;  // by URI
  std::vector<Waiting> waiting_;
  std::optional<Inbox::Clock::time_point> due_;
  std::map<std::string, std::string> told_;  // by path
  std::size_t revisions_ = 0;
};

}  // namespace refit::lsp

// What a run found, in the form that every reporter reads: one Finding a site, one FileResult a
// file, one RunResult a run. The JSON report's schema (report/report.schema.json) mirrors Finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace refit {

enum class Outcome { rewritten, refused };

// Text that takes the place of other text, in lines and columns of the file as it was: 1-based, in
// characters, the end behind the last.
struct SiteEdit {
  uint32_t line = 0, column = 0, end_line = 0, end_column = 0;
  std::string text;
};

struct Finding {
  std::string file;                             // relative to the root of the run, with '/'
  uint32_t line = 0, column = 0, end_line = 0;  // of the site in the file as it was; 1-based
  std::string rule;                             // id of the rule
  std::string callee;  // fully qualified name, or the definition's or operation's name
  Outcome outcome = Outcome::refused;
  std::optional<std::string> through;  // "FILE:LINE" of the definition that was rewritten instead
  std::vector<std::string> assumes;
  std::string code;                  // refused: the reason code; rewritten: empty
  std::string message;               // refused: why, and what would make the site migratable
  std::string clause;                // refused by a clause: what it asks for, and what stands there
  std::string before, after;         // the site's text; after is empty when refused
  std::optional<bool> absorbed;      // attention: transposes absorbed; nullopt where there are none
  std::string layout_kept;           // attention: why transposes were not absorbed; else empty
  uint32_t transposes_kept = 0;      // how many stay around it
  uint32_t transposes_absorbed = 0;  // how many transposes the rewrite of this site removed
  std::string function;  // qualified name of the function that the site stands in, or of its module
  // What rewriting this site, and no other, changes in its file; where EngineOptions::site_edits
  // asks for it. Empty where the site could only be rewritten after others.
  std::vector<SiteEdit> edits;
};

enum class FileProblem {
  unreadable,   // could not be opened or read, vanished
  undecodable,  // bytes not valid in the declared encoding, or the encoding is unknown
  too_large,
  syntax,      // the relevant part does not parse
  withheld,    // the self-check rejected the new text
  unwritable,  // --write could not replace it
};

struct Problem {
  FileProblem kind;
  std::string file;
  std::string message;
};

struct FileResult {
  std::string file;                      // as in Finding
  std::string before_bytes;              // only for files with new_bytes
  std::optional<std::string> new_bytes;  // the whole new content, in the file's own encoding
};

// What a line that is no site comes nearest to.
struct NearMiss {
  std::string rule;
  uint32_t line = 0;
  int agreeing = 0, parts = 0;  // of the pattern
  std::string message;          // the part that differs
};

// A comment `refit: ignore` that keeps no site.
struct IdleRemark {
  std::string file;  // as in Finding
  uint32_t line = 0;
};

struct RunResult {
  std::vector<Finding> findings;  // by file, line, column
  std::vector<FileResult> changed;
  std::vector<Problem> problems;
  std::vector<std::string> notes;  // e.g. training-code warnings; one sentence each
  std::vector<IdleRemark> idle;    // each is among the notes, too
  std::vector<NearMiss> near;      // nearest first; only where EngineOptions::explain asks for them
  uint64_t files_seen = 0, files_scanned = 0, files_parsed = 0;
  uint64_t files_read = 0, bytes_read = 0;  // a file counts as often as the run reads it
  uint64_t functions_lowered = 0;           // that became value graphs, those of new texts included
};

}  // namespace refit

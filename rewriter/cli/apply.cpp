// Writing changed files under a guard against signals. Entry point: apply.
#include "rewriter/cli/apply.hpp"

#include <csignal>
#include <map>

namespace refit {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void request_stop(int) { stop_requested = 1; }

class SignalGuard {
 public:
  SignalGuard() {
    stop_requested = 0;
    struct sigaction action = {};
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // What nohup has turned off stays off.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace

Applied apply(RunResult& result, const Input& input, Disk& disk) {
  std::map<std::string, std::string> paths;
  for (const InputFile& file : input.files) paths[file.relative] = file.path;
  Applied applied;
  const SignalGuard guard;
  for (const FileResult& file : result.changed) {
    if (stop_requested != 0) {
      applied.interrupted = true;
      break;
    }
    const auto path = paths.find(file.file);
    const std::string target = path == paths.end() ? input.root + "/" + file.file : path->second;
    const auto written = write_atomically(disk, target, *file.new_bytes, file.before_bytes);
    if (written) {
      applied.written.push_back(file.file);
    } else {
      result.problems.push_back({FileProblem::unwritable, file.file, written.error().message});
    }
  }
  return applied;
}

}  // namespace refit

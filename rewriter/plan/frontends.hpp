// The front ends of one run, by language. That of C++ is made when the first file needs it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "rewriter/frontend/frontend.hpp"
#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/plan/engine.hpp"
#include "rewriter/project/language.hpp"

namespace refit {

class Frontends {
 public:
  Frontends(const Input& input, const EngineOptions& options, const Catalogue& catalogue,
            const Isomorphisms& isomorphisms);
  ~Frontends();
  Frontends(const Frontends&) = delete;
  Frontends& operator=(const Frontends&) = delete;

  // Any thread may ask.
  Frontend& of(Language language);

 private:
  const Input& input_;
  const EngineOptions& options_;
  const Catalogue& catalogue_;
  const Isomorphisms& isomorphisms_;
  std::unique_ptr<Frontend> python_, cpp_;
  std::once_flag cpp_once_;
};

}  // namespace refit

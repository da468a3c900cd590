// What the programs of this folder share: how much was wrong, results that must be the same, and
// calls that must be refused.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <cstdio>
#include <functional>
#include <string>

inline int g_wrong = 0;

// That a rewritten function gives what it gave: type, shape and values, which are not all zero.
inline void expect_same(const at::Tensor& found, const at::Tensor& wanted, const std::string& what,
                        double tolerance = 1e-5) {
  if (found.scalar_type() == wanted.scalar_type() && found.sizes() == wanted.sizes() &&
      wanted.abs().max().item<double>() > 0 &&
      at::allclose(found, wanted, 10 * tolerance, tolerance)) {
    return;
  }
  std::printf("%s differs\n", what.c_str());
  ++g_wrong;
}

// That the call raises c10::Error with a text that holds `text`.
inline void expect_refused(const std::function<void()>& call, const char* text) {
  std::string found = "nothing";
  try {
    call();
  } catch (const c10::Error& error) {
    found = error.what_without_backtrace();
    if (found.find(text) != std::string::npos) return;
  }
  std::printf("expected a refusal with \"%s\", but got %s\n", text, found.c_str());
  ++g_wrong;
}

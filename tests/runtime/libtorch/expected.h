// What the programs of this folder share: how much was wrong, and calls that must be refused.
#pragma once

#include <c10/util/Exception.h>

#include <cstdio>
#include <functional>
#include <string>

inline int g_wrong = 0;

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

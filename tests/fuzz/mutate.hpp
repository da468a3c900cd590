// A mutator that keeps texts texts: it works on lines and words, so that most of what it makes
// still parses. Entry points: mutate_lines, remember.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace refit::fuzz {

// Changes a text in one to four places; as LLVMFuzzerCustomMutator.
std::size_t mutate_lines(uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

// Lines and words of that text may be put into others from now on.
void remember(const std::string& text);

}  // namespace refit::fuzz

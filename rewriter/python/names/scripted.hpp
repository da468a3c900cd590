// Which definitions TorchScript compiles though no decorator of theirs says so: what a project's
// files hand to it by name (`gelu = torch.jit.script(gelu)`), and what such functions and decorated
// ones call; and which names are decorators that may be that compiler (`fuser = torch.jit.script`).
// Read from the text without a parser. Entry point: note_scripted.
#pragma once

#include <string_view>

#include "rewriter/python/names/text_notes.hpp"

namespace refit::python {

// Notes the names by their last component: of a function, or of a class whose object is handed
// over.
void note_scripted(std::string_view text, const NotedPlaces& places, TextNotes& out);

}  // namespace refit::python

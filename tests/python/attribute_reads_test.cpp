// Whether a text reads `F` of a module `m`: attribute_reads.hpp.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rewriter/python/names/attribute_reads.hpp"

namespace refit::python {
namespace {

bool reads(const std::string& text) {
  const std::vector<std::string> modules{"m"};
  const bool read = AttributeReads(text, modules).any("F");
  // What tells it for many names at once leaves nothing out.
  EXPECT_TRUE(!read || AttributeWords(text).may_read("F")) << text;
  return read;
}

TEST(AttributeReads, OfTheModule) {
  EXPECT_TRUE(reads("m.F.gelu(x)\n"));
  EXPECT_TRUE(reads("m \\\n . F\n"));
  EXPECT_TRUE(reads("import_module('pkg.m').F\n"));
  EXPECT_TRUE(reads("getattr(m, 'F')\n"));
  EXPECT_TRUE(reads("held = sys.modules['m']\nheld.F\n"));
  EXPECT_FALSE(reads("import m\nother.F\n"));
  EXPECT_FALSE(reads("# m.F\nm.G\n"));
  EXPECT_FALSE(reads("m.Form, mm.F\n{'F': 1}\n"));
}

TEST(AttributeReads, LinesTooLongToTell) {
  const std::string many(3000, '1');
  EXPECT_TRUE(reads("held = [" + many + ", m][-1]\nheld.F\n"));
  EXPECT_TRUE(reads("getattr([" + many + ", m][-1], " + many + ", 'F')\n"));
  EXPECT_FALSE(reads("held = [" + many + ", n][-1]\nheld.F\n"));
}

}  // namespace
}  // namespace refit::python

// Paths and the URIs that name them.
#include "rewriter/text/file_uri.hpp"

#include <gtest/gtest.h>

namespace refit {
namespace {

TEST(FileUri, NamesAPathAndIsReadBack) {
  for (const char* path : {"/", "/a/b.py", "/a b/\xC3\xBC#%?.py", "/a:b@c+d", "/\xFF\x01"}) {
    EXPECT_EQ(path_of_uri(file_uri(path)), path);
  }
  EXPECT_EQ(file_uri("/a b/%.py"), "file:///a%20b/%25.py");
}

TEST(FileUri, IsReadAsEditorsWriteIt) {
  EXPECT_EQ(path_of_uri("file:///a:b/%c3%bc"), "/a:b/\xC3\xBC");
  EXPECT_EQ(path_of_uri("file://localhost/a"), "/a");
}

TEST(FileUri, OfAnythingElseIsNoPath) {
  for (const char* uri : {"", "/a", "file:", "file://", "file://elsewhere/a", "untitled:Untitled-1",
                          "file:///a%", "file:///a%4", "file:///a%zz", "file:///a%00",
                          "file:///a%+1", "file:///a?b", "file:///a#b", "https://a/b"}) {
    EXPECT_EQ(path_of_uri(uri), std::nullopt) << uri;
  }
}

}  // namespace
}  // namespace refit

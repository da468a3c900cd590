// Decoding and encoding: cookies, byte order marks, line endings, positions, and a message for
// every file that cannot be read as text. Entry point: GoogleTest's main.
#include "rewriter/text/source.hpp"

#include <gtest/gtest.h>

#include "rewriter/text/encoding.hpp"

namespace refit {
namespace {

std::string cookie(std::string_view bytes) {
  const auto found = find_coding_cookie(bytes);
  return found ? std::to_string(found->line) + ":" + found->name : "none";
}

TEST(Cookie, AsPep263Says) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"", "none"},
      {"x = 1\n", "none"},
      {"# -*- coding: latin-1 -*-\n", "1:latin-1"},
      {"# -*- coding:latin-1 -*-", "1:latin-1"},
      {"#!/usr/bin/python\n# -*- coding: ISO-8859-15 -*-\n", "2:ISO-8859-15"},
      {"#!/usr/bin/python\r\n# -*- coding: ascii -*-\r\n", "2:ascii"},
      {"#!/usr/bin/python\r# coding=cp1252\r", "2:cp1252"},
      {"# vim: set fileencoding=koi8_r :\n", "1:koi8_r"},
      {"# This Python file uses the following encoding: utf-8\n", "1:utf-8"},
      {"\n# coding: ascii\n", "2:ascii"},
      {"\t\f # coding: ascii\n", "1:ascii"},
      {"\f\n# coding: ascii\n", "2:ascii"},
      {"import os\n# coding: ascii\n", "none"},     // the first line is code
      {"\n\n# coding: ascii\n", "none"},            // the third line
      {"x = 1  # coding: ascii\n", "none"},         // not a line of comment
      {"# coding ascii\n", "none"},                 // neither : nor =
      {"# coding : ascii\n", "none"},               // a blank before the colon
      {"# encoding: coding: ascii\n", "1:coding"},  // the first that fits
      {"# coding coding:\t mbcs-x.1\n", "1:mbcs-x.1"},
      {"\"\"\"\n# coding: ascii\n\"\"\"\n", "none"},
  };
  for (const auto& c : cases) EXPECT_EQ(cookie(c.text), c.expected) << c.text;
}

TEST(Encoding, PythonsNames) {
  const struct {
    std::string python, iconv;
  } cases[] = {
      {"utf-8", "UTF-8"},
      {"UTF8", "UTF-8"},
      {"utf_8", "UTF-8"},
      {"utf-8-unix", "UTF-8"},
      {"utf-8-sig", "UTF-8"},
      {"latin-1", "ISO-8859-1"},
      {"Latin_1-dos", "ISO-8859-1"},
      {"iso-8859-1", "ISO-8859-1"},
      {"cp1252", "cp1252"},
      {"windows-1251", "windows-1251"},
      {"koi8_r", "koi8-r"},
      {"euc_jp", "euc-jp"},
      {"shift_jis", "CP932"},
      {"gb18030", "gb18030"},
      {"big5", "big5"},
      {"mac_roman", "MACINTOSH"},
      {"us-ascii", "us-ascii"},
  };
  for (const auto& c : cases) {
    const auto name = iconv_name(c.python);
    ASSERT_TRUE(name) << name.error().message;
    EXPECT_EQ(*name, c.iconv);
  }
  for (const char* name : {"klingon", "utf-16", "utf_32", "utf-7", "cp037", "rot13", "."}) {
    EXPECT_FALSE(iconv_name(name)) << name;
  }
}

Source decoded(std::string bytes) {
  auto source = Source::decode("x.py", std::move(bytes));
  EXPECT_TRUE(source) << source.error().message;
  return source ? *source : Source();
}

TEST(Source, EveryEncodingRoundTrips) {
  const std::string cases[] = {
      "",
      "\n",
      "x = 1",
      "x = 'caf\xc3\xa9'\n",
      "\xef\xbb\xbfx = 'caf\xc3\xa9'\n",
      "\xef\xbb\xbf",
      "\xef\xbb\xbf# coding: utf-8\n",
      "# coding: latin-1\nx = 'caf\xe9'\n",
      "# coding: cp1252\r\nx = '\x80'\r\n",
      "# coding: shift_jis\nx = '\x93\xfa\x96\x7b \x83\x5c'\n",  // a backslash byte as second half
      "# coding: gbk\nx = '\xd6\xd0'\n",
      "# coding: koi8-r\nx = '\xf0\xf2'\n",
      "a\r\nb\nc\nd",
      "a\rb\r\rc",
      "\xef\xbb\xbf# coding: utf-8\ra\r",
      "# coding: latin-1\r\xe9\r",
      "def f():\n\tx\n\f\ndef g(): pass\n",
  };
  for (const std::string& bytes : cases) {
    const Source source = decoded(bytes);
    const auto again = source.encode(source.text());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, bytes);
  }
}

TEST(Source, TextIsUtf8WithoutTheMark) {
  EXPECT_EQ(decoded("\xef\xbb\xbfx\n").text(), "x\n");
  EXPECT_EQ(decoded("# coding: latin-1\n\xe9\n").text(), "# coding: latin-1\n\xc3\xa9\n");
  EXPECT_EQ(decoded("# coding: gbk\n\xd6\xd0").text(), "# coding: gbk\n\xe4\xb8\xad");
}

TEST(Source, NewTextTakesTheFilesEncoding) {
  const Source source = decoded("# coding: latin-1\nx = '\xe9'\n");
  EXPECT_EQ(source.encode("# coding: latin-1\ny = '\xc3\xa9'\n").value(),
            "# coding: latin-1\ny = '\xe9'\n");
  const auto failed = source.encode("# coding: latin-1\n\ny = '\xe4\xb8\xad'\n");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "the new text holds the character U+4E2D (line 3), which does not exist in the file's "
            "encoding, ISO-8859-1; save the file as UTF-8 first");
}

TEST(Source, Newlines) {
  EXPECT_EQ(decoded("").newline(), "\n");
  EXPECT_EQ(decoded("x").newline(), "\n");
  EXPECT_EQ(decoded("a\r\nb\r\n").newline(), "\r\n");
  EXPECT_EQ(decoded("a\rb\r").newline(), "\n");
  EXPECT_EQ(decoded("a\rb\r").text(), "a\nb\n");
  EXPECT_EQ(decoded("a\rb\r").encode("a\nnew\nb\n").value(), "a\rnew\rb\r");
  EXPECT_EQ(decoded("a\nb\r\nc\r\n").newline(), "\r\n");
  EXPECT_EQ(decoded("a\nb\nc\r\n").newline(), "\n");
  EXPECT_EQ(decoded("a\nb\r\n").newline(), "\n") << "as many of both";
}

TEST(Source, Positions) {
  const Source source = decoded("ab\n\xc3\xa9x\r\n\xf0\x9f\x98\x80z\ny");
  const auto at = [&](uint32_t offset) {
    const Position p = source.position(offset);
    return std::to_string(p.line) + ":" + std::to_string(p.column);
  };
  EXPECT_EQ(at(0), "1:1");
  EXPECT_EQ(at(2), "1:3");
  EXPECT_EQ(at(3), "2:1");
  EXPECT_EQ(at(5), "2:2") << "two bytes, one character";
  EXPECT_EQ(at(8), "3:1");
  EXPECT_EQ(at(12), "3:2");
  EXPECT_EQ(at(14), "4:1");
  EXPECT_EQ(at(999), "4:2") << "beyond the end is the end";
  EXPECT_EQ(source.line_count(), 4u);
  EXPECT_EQ(source.line_begin(1), 0u);
  EXPECT_EQ(source.line_begin(2), 3u);
  EXPECT_EQ(source.line_begin(3), 8u);
  EXPECT_EQ(source.line_begin(99), 15u);
  EXPECT_EQ(decoded("a\n").line_count(), 2u);
  EXPECT_EQ(decoded("").line_count(), 1u);
}

TEST(Source, WhatIsNoTextSaysWhy) {
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"x = 1\ny = '\xe9'\n",
       "without a coding cookie the file must be UTF-8, but byte 0xE9 in line 2 is not valid in "
       "it; save the file in that encoding or declare the right one in its first line "
       "(# -*- coding: NAME -*-)"},
      {"# coding: ascii\n\n\xc3\xa9",
       "the coding cookie in line 1 declares ascii, but byte 0xC3 in line 3 is not valid in it; "
       "save the file in that encoding or declare the right one in its first line "
       "(# -*- coding: NAME -*-)"},
      {"\n# coding: klingon\n",
       "the coding cookie in line 2: 'klingon' is not the name of a known encoding; name the "
       "encoding that the file is in, or save it as UTF-8"},
      {"# coding: utf-16\n",
       "the coding cookie in line 1: 'utf-16' does not keep ASCII characters as single bytes, so "
       "Python source cannot be in it; name the encoding that the file is in, or save it as UTF-8"},
      {"\xef\xbb\xbf# coding: latin-1\n",
       "the file begins with the byte order mark of UTF-8, but the coding cookie in line 1 "
       "declares latin-1; remove one of the two"},
      {"a\n# b\rc = 1\n",
       "line 2 ends in a carriage return alone and other lines end otherwise; give all lines of "
       "the "
       "file the same ending"},
      {"a\r\r\nb\r\r\n",
       "line 1 ends in a carriage return alone and other lines end otherwise; give all lines of "
       "the "
       "file the same ending"},
      {std::string("x\n\0", 3),
       "found a NUL byte in line 2; Python source cannot hold one (is this UTF-16, or not text at "
       "all?); save the file as UTF-8"},
  };
  for (const auto& c : cases) {
    const auto source = Source::decode("x.py", c.bytes);
    ASSERT_FALSE(source) << c.bytes;
    EXPECT_EQ(source.error().message, c.message);
  }
}

TEST(Source, Utf8IsStrict) {
  for (const char* bytes : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80",
                            "\xf8\x88\x80\x80\x80", "ok\xff"}) {
    EXPECT_FALSE(Source::decode("x.py", bytes));
  }
  for (const char* bytes : {"\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(Source::decode("x.py", bytes));
  }
}

TEST(Source, LongTextCrossesTheConvertersBuffer) {
  std::string bytes = "# coding: latin-1\n";
  for (int i = 0; i < 100000; ++i) bytes += "\xe9\n";
  const Source source = decoded(bytes);
  EXPECT_EQ(source.text().size(), 18u + 300000u);
  EXPECT_EQ(source.encode(source.text()).value(), bytes);
  std::string utf8(200001, 'x');
  utf8 += "\xc3";
  EXPECT_EQ(find_invalid_utf8(utf8), std::size_t{200001});
}

// Sequences of bytes at the borders of table 3-7, judged by iconv through UTF-32, which has no room
// for surrogates or overlong forms.
TEST(Source, InvalidUtf8IsWhatIconvRejects) {
  const std::string bytes =
      "\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xff";
  for (char a : bytes) {
    for (char b : bytes) {
      for (char c : bytes) {
        for (char d : std::string_view("\x41\x80\xbf\xc2")) {
          const std::string text = std::string("ascii, ascii") + a + b + c + d;
          EXPECT_EQ(find_invalid_utf8(text), convert(text, "UTF-8", "UTF-32LE").invalid_at)
              << ::testing::PrintToString(text);
        }
      }
    }
  }
}

}  // namespace
}  // namespace refit

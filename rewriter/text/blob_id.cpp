// SHA-1 by libcrypto, which uses the processor's instructions for it: a third of the time of
// libgit2's, which looks for forged collisions as it goes. Entry point: blob_id.
#include "rewriter/text/blob_id.hpp"

#include <fmt/format.h>
#include <git2.h>
#include <openssl/evp.h>

#include <array>
#include <memory>

#include "rewriter/text/libgit2.hpp"

namespace refit {
namespace {

using Digest = std::array<unsigned char, 20>;

// Looking an algorithm up costs more than a short text.
const EVP_MD* sha1() {
  static const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> algorithm(
      EVP_MD_fetch(nullptr, "SHA1", nullptr), &EVP_MD_free);
  return algorithm.get();
}

bool by_libcrypto(std::string_view bytes, Digest& digest) {
  if (sha1() == nullptr) return false;  // a machine's configuration may leave it out
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const std::string header = fmt::format("blob {}", bytes.size());
  unsigned int size = 0;
  return context != nullptr && EVP_DigestInit_ex(context.get(), sha1(), nullptr) == 1 &&
         EVP_DigestUpdate(context.get(), header.c_str(), header.size() + 1) == 1 &&
         EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
         EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1 && size == digest.size();
}

}  // namespace

std::string blob_id(std::string_view bytes) {
  Digest digest{};
  if (!by_libcrypto(bytes, digest)) {
    start_libgit2();
    git_oid id{};
    if (git_odb_hash(&id, bytes.data(), bytes.size(), GIT_OBJECT_BLOB) == 0) {
      std::copy(std::begin(id.id), std::end(id.id), digest.begin());
    }
  }
  std::string text;
  for (const unsigned char byte : digest) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

}  // namespace refit

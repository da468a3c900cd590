// Images of twice the size on the CPU, a row at a time. Entry point: upsample.

#include <cstring>

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// A row whose places are elements: each pair of copies is one store of twice the width. memcpy,
// since a row may stand between two such widths.
template <typename Element, typename Pair>
void widen(const char* from, char* to, int64_t width) {
  constexpr Pair kTwice = (Pair{1} << (8 * sizeof(Element))) + 1;
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    Element element;
    std::memcpy(&element, from + i * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
    const Pair pair = static_cast<Pair>(element * kTwice);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(Pair)), &pair, sizeof(Pair));
  }
}

void widen_row(const char* from, char* to, int64_t width, int64_t bytes) {
  if (bytes == 2) return widen<uint16_t, uint32_t>(from, to, width);
  if (bytes == 4) return widen<uint32_t, uint64_t>(from, to, width);
  const auto size = static_cast<size_t>(bytes);
  for (int64_t i = 0; i < width; ++i) {
    std::memcpy(to + 2 * i * bytes, from + i * bytes, size);
    std::memcpy(to + (2 * i + 1) * bytes, from + i * bytes, size);
  }
}

}  // namespace

LaunchStatus upsample(const Upsample& p) {
  const int64_t row = p.width * p.bytes;
  parallel_for(p.count * p.height, row_grain(row), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      char* to = static_cast<char*>(p.output) + 4 * r * row;
      widen_row(static_cast<const char*>(p.input) + r * row, to, p.width, p.bytes);
      std::memcpy(to + 2 * row, to, static_cast<size_t>(2 * row));
    }
  });
  return LaunchStatus::kOk;
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA

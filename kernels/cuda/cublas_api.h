// cuBLASLt's C interface, with the few declarations of it that a linear layer with its activation
// needs (docs.nvidia.com/cuda/cublas, "cublasLt Datatypes Reference"; numbers as in cublasLt.h of
// CUDA 12 and 13). The library is looked for at run time. Entry points: api, Api.

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace mindiesd::kernels::cuda::cublas {

using Handle = void*;
using Descriptor = void*;

enum class Operation : std::int32_t { kNone = 0, kTranspose = 1 };
enum class Product : int { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBias = 8 };
enum class Preference : int {
  kWorkspace = 1,
  kReductions = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8,
};
enum class Type : int { kFloat = 0, kHalf = 2, kBFloat16 = 14 };
constexpr int kComputeFloat = 68;
// tanh(sqrt(2 / pi) (x + 0.044715 x^3)) in gelu's place, of the sum and a bias for each row.
constexpr std::uint32_t kGeluBias = 36;
// Partial sums may be added in place or in the type in which they are computed, not in the
// result's.
constexpr std::uint32_t kWideReductions = 3;

struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

struct Api {
  int (*create_handle)(Handle*) = nullptr;
  int (*create_product)(Descriptor*, int compute, int scale_type) = nullptr;
  int (*set_product)(Descriptor, Product, const void*, std::size_t) = nullptr;
  int (*create_layout)(Descriptor*, Type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading) = nullptr;
  int (*create_preference)(Descriptor*) = nullptr;
  int (*set_preference)(Descriptor, Preference, const void*, std::size_t) = nullptr;
  int (*destroy_preference)(Descriptor) = nullptr;
  int (*heuristic)(Handle, Descriptor product, Descriptor a, Descriptor b, Descriptor c,
                   Descriptor d, Descriptor preference, int count, Heuristic*,
                   int* found) = nullptr;
  int (*multiply)(Handle, Descriptor product, const void* alpha, const void* a, Descriptor a_layout,
                  const void* b, Descriptor b_layout, const void* beta, const void* c,
                  Descriptor c_layout, void* d, Descriptor d_layout, const Algorithm*,
                  void* workspace, std::size_t bytes, cudaStream_t) = nullptr;
  bool usable = false;  // found, complete and new enough

  // Takes the first of these that the process has loaded already, else the first that is found.
  explicit Api(std::initializer_list<const char*> names);
};

// Looked for once.
const Api& api();

}  // namespace mindiesd::kernels::cuda::cublas

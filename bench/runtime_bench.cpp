// How near the CPU back end comes to the machine: attention in floating-point operations a second,
// the row-wise operations in bytes a second and as a fraction of what a copy of the same bytes
// reaches on the same threads. Run by `./dev bench runtime`; Google Benchmark's options follow.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "benchmark/benchmark.h"
#include "mindiesd/mindiesd.h"

namespace {

using mindiesd::DataType;
using mindiesd::Status;
using mindiesd::TensorView;

// Normal values: denormal ones would slow everything down.
std::vector<float> random_values(std::int64_t count) {
  std::mt19937 generator(0);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

bool succeeded(benchmark::State& state, const Status& status) {
  if (!status.ok()) state.SkipWithError(status.message().c_str());
  return status.ok();
}

// Bytes a second of a copy on all threads, for `bytes` read and as many written. Measured once for
// each size: the caches decide.
double copy_rate(std::size_t bytes) {
  std::vector<char> from(bytes, 1);
  std::vector<char> to(from.size());
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t part = from.size() / threads;
  constexpr int kRounds = 20;
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int round = 0; round < kRounds; ++round) {
          std::memcpy(to.data() + t * part, from.data() + t * part, part);
          benchmark::ClobberMemory();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * static_cast<double>(part * threads) * kRounds / seconds.count());
  }
  return best;
}

// Times `call` for as long as the benchmark wants. `bytes` is what one call reads and writes at
// least, in equal parts.
template <typename Call>
void run_streaming(benchmark::State& state, std::size_t bytes, Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    if (!succeeded(state, call())) return;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double total = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.counters["bytes/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  state.counters["of_copy"] = total / seconds.count() / copy_rate(bytes / 2);
}

// Arguments: batch, sequence, heads, head_dim, causal. Two matrix products of
// 2 * sequence * sequence * head_dim operations a head; a causal one needs half of them.
void attention(benchmark::State& state) {
  const std::int64_t batch = state.range(0), sequence = state.range(1);
  const std::int64_t heads = state.range(2), head_dim = state.range(3);
  const bool causal = state.range(4) != 0;
  const std::vector<float> input = random_values(batch * sequence * heads * head_dim);
  std::vector<float> output(input.size());
  const auto shape = {batch, sequence, heads, head_dim};
  const TensorView query = TensorView::dense(input.data(), DataType::kFloat32, shape);
  const TensorView result = TensorView::dense(output.data(), DataType::kFloat32, shape);
  mindiesd::AttentionOptions options;
  if (causal) options.causal = mindiesd::Causal::kTopLeft;
  for (auto _ : state) {
    if (!succeeded(state, attention_forward(query, query, query, result, options))) return;
  }
  const double operations = 4.0 * static_cast<double>(batch * heads * head_dim) *
                            static_cast<double>(sequence * sequence) * (causal ? 0.5 : 1.0);
  state.counters["operations/s"] = benchmark::Counter(
      operations * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// Arguments: batch, sequence, heads, head_dim.
void rotary(benchmark::State& state) {
  const std::int64_t batch = state.range(0), sequence = state.range(1);
  const std::int64_t heads = state.range(2), head_dim = state.range(3);
  const std::vector<float> input = random_values(batch * sequence * heads * head_dim);
  const std::vector<float> table = random_values(sequence * head_dim);
  std::vector<float> output(input.size());
  const auto shape = {batch, sequence, heads, head_dim};
  const TensorView x = TensorView::dense(input.data(), DataType::kFloat32, shape);
  const TensorView result = TensorView::dense(output.data(), DataType::kFloat32, shape);
  const TensorView cos =
      TensorView::dense(table.data(), DataType::kFloat32, {1, sequence, 1, head_dim});
  run_streaming(state, 2 * input.size() * sizeof(float),
                [&] { return rotary_position_embedding(x, cos, cos, result); });
}

// Arguments: rows, columns.
void rms_norm(benchmark::State& state) {
  const std::int64_t rows = state.range(0), columns = state.range(1);
  const std::vector<float> input = random_values(rows * columns);
  const std::vector<float> weights = random_values(columns);
  std::vector<float> output(input.size());
  const TensorView x = TensorView::dense(input.data(), DataType::kFloat32, {rows, columns});
  const TensorView result = TensorView::dense(output.data(), DataType::kFloat32, {rows, columns});
  const TensorView weight = TensorView::dense(weights.data(), DataType::kFloat32, {columns});
  mindiesd::RmsNormOptions options;
  options.weight = &weight;
  run_streaming(state, 2 * input.size() * sizeof(float),
                [&] { return mindiesd::rms_norm(x, result, options); });
}

// Arguments: rows, columns.
void softmax(benchmark::State& state) {
  const std::int64_t rows = state.range(0), columns = state.range(1);
  const std::vector<float> input = random_values(rows * columns);
  std::vector<float> output(input.size());
  const TensorView x = TensorView::dense(input.data(), DataType::kFloat32, {rows, columns});
  const TensorView result = TensorView::dense(output.data(), DataType::kFloat32, {rows, columns});
  mindiesd::SoftmaxOptions options;
  options.subtract = mindiesd::Subtract::kRow;
  run_streaming(state, 2 * input.size() * sizeof(float),
                [&] { return mindiesd::softmax(x, result, options); });
}

}  // namespace

BENCHMARK(attention)
    ->ArgNames({"batch", "sequence", "heads", "head_dim", "causal"})
    ->Args({1, 1024, 8, 64, 0})
    ->Args({1, 1024, 8, 64, 1})
    ->Args({1, 1024, 8, 128, 0})
    ->UseRealTime();
BENCHMARK(rotary)
    ->ArgNames({"batch", "sequence", "heads", "head_dim"})
    ->Args({1, 4096, 24, 128})
    ->UseRealTime();
BENCHMARK(rms_norm)->ArgNames({"rows", "columns"})->Args({4096, 3072})->UseRealTime();
BENCHMARK(softmax)->ArgNames({"rows", "columns"})->Args({4096, 4096})->UseRealTime();

BENCHMARK_MAIN();

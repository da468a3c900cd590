// GroupNorm with or without SiLU on the CPU, in float32. Entry point: group_norm.
//
// A group is walked twice, for its statistics and for its result, a stretch of it as float32 at a
// time: the positions of a channel, or where channels lie together the channels of several
// positions.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

constexpr int64_t kStretch = 4096;  // values, the least of a stretch of channels that lie together

// A group as stretches of `count` values at most.
class Group {
 public:
  Group(const GroupNorm& p, int64_t sample, int64_t group)
      : p_(p), together_(p.input_strides[1] == 1 && p.input_strides[2] != 1) {
    input_ = sample * p.input_strides[0] + group * p.channels * p.input_strides[1];
    output_ = sample * p.output_strides[0] + group * p.channels * p.output_strides[1];
    const int64_t at_once = together_ ? max_of(1, kStretch / p.channels) : kStretch;
    pieces_ = (p.positions + at_once - 1) / at_once;
    at_once_ = at_once;
  }

  int64_t stretches() const { return together_ ? pieces_ : p_.channels * pieces_; }
  bool together() const { return together_; }

  // Which channel of the group, and which positions.
  struct Place {
    int64_t channel, first, positions;
  };
  Place place(int64_t stretch) const {
    const int64_t piece = stretch % pieces_, first = piece * at_once_;
    return {stretch / pieces_, first, min_of(at_once_, p_.positions - first)};
  }

  // The number of values, which are read to `to`, or where they lie as float32 given in place.
  int64_t load(int64_t stretch, float* room, const float** values) const {
    const Place at_place = place(stretch);
    *values = room;
    if (together_) {
      for (int64_t i = 0; i < at_place.positions; ++i) {
        load_row(room + i * p_.channels, from(0, at_place.first + i), p_.input_type, 1,
                 p_.channels);
      }
      return at_place.positions * p_.channels;
    }
    const void* first = from(at_place.channel, at_place.first);
    if (p_.input_type == DataType::kFloat32 && p_.input_strides[2] == 1) {
      *values = static_cast<const float*>(first);
    } else {
      load_row(room, first, p_.input_type, p_.input_strides[2], at_place.positions);
    }
    return at_place.positions;
  }

  void store(int64_t stretch, const float* values) const {
    const Place at_place = place(stretch);
    if (!together_) {
      store_row(to(at_place.channel, at_place.first), values, p_.output_type, p_.output_strides[2],
                at_place.positions);
      return;
    }
    for (int64_t i = 0; i < at_place.positions; ++i) {
      store_row(to(0, at_place.first + i), values + i * p_.channels, p_.output_type,
                p_.output_strides[1], p_.channels);
    }
  }

 private:
  const void* from(int64_t channel, int64_t position) const {
    return at(p_.input, p_.input_type,
              input_ + channel * p_.input_strides[1] + position * p_.input_strides[2]);
  }
  void* to(int64_t channel, int64_t position) const {
    return at(p_.output, p_.output_type,
              output_ + channel * p_.output_strides[1] + position * p_.output_strides[2]);
  }

  const GroupNorm& p_;
  bool together_;
  int64_t input_ = 0, output_ = 0, pieces_ = 1, at_once_ = 1;
};

struct Statistics {
  float mean = 0.0F, rest = 0.0F;  // of the mean, beyond float32
  double root = 1.0;
  bool down = false;  // of the values times kDown
};

// One walk with the mean of the first stretch in the mean's place, and another where that was too
// far from the mean for the squares to keep their digits.
Statistics statistics_of(const GroupNorm& p, const Group& group, float* room) {
  const auto count = static_cast<double>(p.channels * p.positions);
  Statistics found;
  const auto stretch = [&](int64_t s, const float** values) {
    const int64_t width = group.load(s, room, values);
    if (found.down) {
      bring_down(room, *values, width);
      *values = room;
    }
    return width;
  };
  bool has_mean = false;
  for (;;) {
    if (!has_mean) {
      const float* values = nullptr;
      const int64_t width = stretch(0, &values);
      const double sum = row_sum(width, [values](int64_t i) { return values[i]; });
      found.mean = static_cast<float>(sum / static_cast<double>(width));
    }
    Deviations deviations;
    for (int64_t s = 0; s < group.stretches(); ++s) {
      const float* values = nullptr;
      const int64_t width = stretch(s, &values);
      const Deviations part = deviations_of(values, found.mean, width);
      deviations.sum += part.sum;
      deviations.squares += part.squares;
    }
    if (!found.down && !__builtin_isfinite(deviations.squares)) {
      found.down = true;
      has_mean = false;
      continue;
    }
    const double left = deviations.sum / count;
    const double squares = deviations.squares - left * deviations.sum;
    if (!has_mean && left * left * count > 4.0 * squares) {
      found.mean = static_cast<float>(static_cast<double>(found.mean) + left);
      has_mean = true;
      continue;
    }
    found.rest = static_cast<float>(left);
    const double scale = found.down ? kDown * kDown : 1.0;
    found.root = 1.0 / __builtin_sqrt(squares / count + static_cast<double>(p.eps) * scale);
    return found;
  }
}

// The weights or biases of a group's channels as float32.
void load_channels(float* to, const void* vector, DataType type, int64_t step, int64_t first,
                   int64_t count, float absent) {
  if (vector == nullptr) {
    for (int64_t i = 0; i < count; ++i) to[i] = absent;
  } else {
    load_row(to, at(vector, type, first * step), type, step, count);
  }
}

inline float finished(float value, bool silu) { return silu ? times_sigmoid(value, value) : value; }

// A channel's values: (x - mean) * root * weight + bias.
template <bool kSilu>
void write_plane(float* to, const float* from, int64_t count, const Statistics& of, float weight,
                 float bias) {
  const auto down = static_cast<float>(of.down ? kDown : 1.0);
  const float mean = of.mean, rest = of.rest;
  const RowFactor factor(of.root * static_cast<double>(weight));
  const float f = factor.factor, r = factor.rest;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float x = (from[i] * down - mean) - rest;
    to[i] = finished(x * f + (x * r + bias), kSilu);
  }
}

// Positions of all channels of a group.
template <bool kSilu>
void write_together(float* to, int64_t positions, int64_t channels, const Statistics& of,
                    const float* weight, const float* bias) {
  const auto down = static_cast<float>(of.down ? kDown : 1.0);
  const float mean = of.mean, rest = of.rest;
  const RowFactor factor(of.root);
  const float f = factor.factor, r = factor.rest;
  for (int64_t row = 0; row < positions; ++row) {
    float* own = to + row * channels;
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) {
      const float x = (own[c] * down - mean) - rest;
      own[c] = finished((x * f + x * r) * weight[c] + bias[c], kSilu);
    }
  }
}

template <bool kSilu>
void write(const GroupNorm& p, const Group& group, const Statistics& of, const float* weight,
           const float* bias, float* room) {
  for (int64_t s = 0; s < group.stretches(); ++s) {
    const float* values = nullptr;
    const int64_t count = group.load(s, room, &values);
    const Group::Place place = group.place(s);
    if (group.together()) {
      write_together<kSilu>(room, place.positions, p.channels, of, weight, bias);
    } else {
      write_plane<kSilu>(room, values, count, of, weight[place.channel], bias[place.channel]);
    }
    group.store(s, room);
  }
}

}  // namespace

LaunchStatus group_norm(const GroupNorm& p) {
  OutOfMemory memory;
  const int64_t padded = round_up(p.channels, 16);
  const int64_t room_size = max_of(kStretch, padded);
  const int64_t grain = row_grain(p.channels * p.positions);
  parallel_for(p.samples * p.groups, grain, [&](int64_t begin, int64_t end) {
    float* room = scratch(ScratchSlot::kRow, static_cast<size_t>(room_size + 2 * padded));
    if (room == nullptr) return memory.set();
    float* weight = room + room_size;
    float* bias = weight + padded;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t sample = i / p.groups, number = i % p.groups;
      const Group group(p, sample, number);
      load_channels(weight, p.weight, p.weight_type, p.weight_step, number * p.channels, p.channels,
                    1.0F);
      load_channels(bias, p.bias, p.bias_type, p.bias_step, number * p.channels, p.channels, 0.0F);
      const Statistics of = statistics_of(p, group, room);
      if (p.silu) {
        write<true>(p, group, of, weight, bias, room);
      } else {
        write<false>(p, group, of, weight, bias, room);
      }
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA

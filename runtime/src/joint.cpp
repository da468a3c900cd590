// mindiesd_joint_heads: checks, then the kernel of the device.

#include <cmath>

#include "rotation.h"

namespace mindiesd::runtime {
namespace {

constexpr int kStreams = 2, kParts = 3;  // query, key and value

constexpr const char* kInputs[kStreams][kParts] = {{"query", "key", "value"},
                                                   {"other_query", "other_key", "other_value"}};
constexpr const char* kWeights[kStreams][2] = {{"query_weight", "key_weight"},
                                               {"other_query_weight", "other_key_weight"}};
constexpr const char* kBiases[kStreams][2] = {{"query_bias", "key_bias"},
                                              {"other_query_bias", "other_key_bias"}};
constexpr const char* kOutputs[kParts] = {"query_output", "key_output", "value_output"};

struct Dimensions {
  int sequence, head;
};

Check read_dimension(std::int32_t given, const char* name, const View& input, int* dimension) {
  *dimension = given < 0 ? given + input.rank : given;
  if (*dimension >= 0 && *dimension < input.rank - 1) return {};
  return invalid(std::string(name) + " must name a dimension before the last of " + input.name +
                 ", which has shape " + shape_of(input) + ", but is " + std::to_string(given));
}

// The streams of one part differ in the length of their sequences alone.
Check expect_joinable(const View& first, const View& other, int sequence) {
  MINDIESD_RETURN_IF(expect_same_device(other, first));
  bool same = other.rank == first.rank;
  for (int d = 0; same && d < first.rank; ++d) {
    same = d == sequence || other.size(d) == first.size(d);
  }
  if (same) return {};
  return invalid(std::string(other.name) + " must have the shape of " + first.name + ", " +
                 shape_of(first) + ", but for dimension " + std::to_string(sequence) +
                 ", but has shape " + shape_of(other));
}

Check read_joint(const mindiesd_tensor* tensor, const char* name, const View& first,
                 const View& other, int sequence, View* output) {
  MINDIESD_RETURN_IF(read_view(tensor, name, output));
  MINDIESD_RETURN_IF(expect_floating(*output));
  MINDIESD_RETURN_IF(expect_same_device(*output, first));
  View wanted = first;
  wanted.sizes[sequence] += other.size(sequence);
  bool same = output->rank == wanted.rank;
  for (int d = 0; same && d < wanted.rank; ++d) same = output->size(d) == wanted.size(d);
  if (!same) {
    return invalid(std::string(name) + " must have the shape of both streams together, " +
                   shape_of(wanted) + ", but has shape " + shape_of(*output));
  }
  return expect_no_overlap(*output);
}

// A stream's part of a joint tensor.
View slice_of(const View& whole, int dimension, std::int64_t first, std::int64_t size) {
  View part = whole;
  part.sizes[dimension] = size;
  part.data = static_cast<char*>(whole.data) +
              first * whole.stride(dimension) * static_cast<std::int64_t>(bytes_of(whole.type));
  return part;
}

Check read_norm(const mindiesd_joint_heads_args& args, int stream, int part, const View& input,
                const View& output, int head, kernels::Stretch* stretch) {
  const std::int32_t norm = args.norms[stream][part];
  if (norm < MINDIESD_QK_NORM_NONE || norm > MINDIESD_QK_NORM_ALL) {
    return invalid("norms must be 0, 1 or 2 each, but one is " + std::to_string(norm));
  }
  stretch->norm = static_cast<kernels::NormSpan>(norm);
  if (norm == MINDIESD_QK_NORM_NONE) return {};
  const double eps = args.eps[stream][part];
  if (!std::isfinite(eps) || eps < 0.0) {
    return invalid("eps must be finite and not negative, but is " + std::to_string(eps));
  }
  stretch->eps = static_cast<float>(eps);
  stretch->kind = static_cast<kernels::NormKind>(args.kind);
  std::int64_t values = input.size(input.rank - 1);
  if (norm == MINDIESD_QK_NORM_ALL) values *= input.size(head);
  Vector weight, bias;
  MINDIESD_RETURN_IF(read_vector(args.weights[stream][part], kWeights[stream][part], input, values,
                                 "the normalised width,", output, &weight));
  MINDIESD_RETURN_IF(read_vector(args.biases[stream][part], kBiases[stream][part], input, values,
                                 "the normalised width,", output, &bias));
  stretch->weight = weight.data;
  stretch->weight_type = weight.type;
  stretch->weight_step = weight.step;
  stretch->bias = bias.data;
  stretch->bias_type = bias.type;
  stretch->bias_step = bias.step;
  return {};
}

Check read_stretch(const mindiesd_joint_heads_args& args, int stream, int part, const View& input,
                   const View& output, int head, kernels::Stretch* stretch) {
  kernels::Rotary& rotary = stretch->rotary;
  const bool normed = part < 2;
  stretch->rotates = normed && args.cos[stream] != nullptr;
  // The heads' dimension is moved last once all operands are broadcast, and simplified after.
  if (stretch->rotates) {
    const Tables tables = {args.cos[stream], args.sin[stream], args.rotation};
    MINDIESD_RETURN_IF(expect_rotation(tables));
    MINDIESD_RETURN_IF(read_rotation(input, output, tables, input.rank - 1, &rotary));
  } else {
    rotary.rows = rows_of(input);
    rotary.width = input.size(input.rank - 1);
    rotary.input = operand_of(input);
    rotary.output = operand_of(output);
  }
  if (normed) {
    MINDIESD_RETURN_IF(read_norm(args, stream, part, input, output, head, stretch));
  }
  const bool over_heads = stretch->norm == kernels::NormSpan::kHeads;
  if (over_heads) move_heads_last(&rotary, head);
  simplify(&rotary.rows, {&rotary.input, &rotary.output, &rotary.cos, &rotary.sin, &rotary.matrix},
           over_heads ? 1 : 0);
  return {};
}

Check expect_options(const mindiesd_joint_heads_args& args) {
  if (args.kind != MINDIESD_LAYER_NORM && args.kind != MINDIESD_RMS_NORM) {
    return invalid("kind must be 0 (LayerNorm) or 1 (RMSNorm), but is " +
                   std::to_string(args.kind));
  }
  for (int stream = 0; stream < kStreams; ++stream) {
    if (args.cos[stream] == nullptr && args.sin[stream] != nullptr) {
      return invalid("sin must be null where cos is, but is given");
    }
  }
  return {};
}

// The views of all parts, checked against each other.
struct Joint {
  View inputs[kStreams][kParts], outputs[kParts];
  Dimensions dimensions;
};

Check read_parts(const mindiesd_joint_heads_args& args, Joint* joint) {
  for (int part = 0; part < kParts; ++part) {
    for (int stream = 0; stream < kStreams; ++stream) {
      MINDIESD_RETURN_IF(read_input(args.inputs[stream][part], kInputs[stream][part],
                                    &joint->inputs[stream][part]));
    }
    const View& first = joint->inputs[0][part];
    const View& other = joint->inputs[1][part];
    MINDIESD_RETURN_IF(expect_same_device(first, joint->inputs[0][0]));
    if (part > 0) {
      MINDIESD_RETURN_IF(expect_rank(first, joint->inputs[0][0].rank, "as query has,"));
    }
    Dimensions& dimensions = joint->dimensions;
    MINDIESD_RETURN_IF(
        read_dimension(args.sequence_dimension, "sequence_dimension", first, &dimensions.sequence));
    MINDIESD_RETURN_IF(
        read_dimension(args.head_dimension, "head_dimension", first, &dimensions.head));
    if (dimensions.head == dimensions.sequence) {
      return invalid("head_dimension must not be sequence_dimension, but both are " +
                     std::to_string(dimensions.head));
    }
    MINDIESD_RETURN_IF(expect_joinable(first, other, dimensions.sequence));
    MINDIESD_RETURN_IF(read_joint(args.outputs[part], kOutputs[part], first, other,
                                  dimensions.sequence, &joint->outputs[part]));
  }
  for (int part = 0; part < kParts; ++part) {
    const View& output = joint->outputs[part];
    for (const auto& stream : joint->inputs) {
      for (const View& input : stream) {
        MINDIESD_RETURN_IF(expect_no_overlap(output, input, false));
      }
    }
    for (int other = 0; other < part; ++other) {
      MINDIESD_RETURN_IF(expect_no_overlap(output, joint->outputs[other], false));
    }
  }
  return {};
}

Check joint_heads(const void* raw) {
  mindiesd_joint_heads_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  MINDIESD_RETURN_IF(expect_options(args));
  Joint joint;
  MINDIESD_RETURN_IF(read_parts(args, &joint));
  const auto [sequence, head] = joint.dimensions;
  kernels::JointHeads problem;
  const View* present = &joint.outputs[0];
  for (int part = 0; part < kParts; ++part) {
    std::int64_t first = 0;
    for (int stream = 0; stream < kStreams; ++stream) {
      const View& input = joint.inputs[stream][part];
      const std::int64_t length = input.size(sequence);
      const View output = slice_of(joint.outputs[part], sequence, first, length);
      first += length;
      kernels::Stretch stretch;
      MINDIESD_RETURN_IF(read_stretch(args, stream, part, input, output, head, &stretch));
      if (output.empty()) continue;
      problem.stretches[problem.count++] = stretch;
      present = &joint.outputs[part];
    }
  }
  return launch(*present, &DeviceKernels::joint_heads, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" mindiesd_status mindiesd_joint_heads(const mindiesd_joint_heads_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::joint_heads, args);
}

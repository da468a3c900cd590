// What stands around modules in libtorch programs: options by name, optimizers, data sets, gradients
// and TorchScript.
#pragma once

namespace torch {

namespace enumtype {
#define REFIT_ENUM(name) \
  struct k##name {};
REFIT_ENUM(Linear)
REFIT_ENUM(ReLU)
REFIT_ENUM(GELU)
REFIT_ENUM(Sigmoid)
REFIT_ENUM(Tanh)
REFIT_ENUM(LeakyReLU)
REFIT_ENUM(FanIn)
REFIT_ENUM(FanOut)
REFIT_ENUM(Constant)
REFIT_ENUM(Reflect)
REFIT_ENUM(Replicate)
REFIT_ENUM(Circular)
REFIT_ENUM(Nearest)
REFIT_ENUM(Bilinear)
REFIT_ENUM(Bicubic)
REFIT_ENUM(Trilinear)
REFIT_ENUM(Area)
REFIT_ENUM(Sum)
REFIT_ENUM(Mean)
REFIT_ENUM(None)
REFIT_ENUM(BatchMean)
REFIT_ENUM(Zeros)
REFIT_ENUM(Border)
REFIT_ENUM(Reflection)
#undef REFIT_ENUM
}  // namespace enumtype
#define REFIT_ENUM(name) constexpr enumtype::k##name k##name{};
REFIT_ENUM(Linear)
REFIT_ENUM(ReLU)
REFIT_ENUM(GELU)
REFIT_ENUM(Sigmoid)
REFIT_ENUM(Tanh)
REFIT_ENUM(LeakyReLU)
REFIT_ENUM(FanIn)
REFIT_ENUM(FanOut)
REFIT_ENUM(Constant)
REFIT_ENUM(Reflect)
REFIT_ENUM(Replicate)
REFIT_ENUM(Circular)
REFIT_ENUM(Nearest)
REFIT_ENUM(Bilinear)
REFIT_ENUM(Bicubic)
REFIT_ENUM(Trilinear)
REFIT_ENUM(Area)
REFIT_ENUM(Sum)
REFIT_ENUM(Mean)
REFIT_ENUM(None)
REFIT_ENUM(BatchMean)
REFIT_ENUM(Zeros)
REFIT_ENUM(Border)
REFIT_ENUM(Reflection)
#undef REFIT_ENUM

namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<Variable>;
struct AutogradContext {
  void save_for_backward(variable_list to_save);
  variable_list get_saved_variables() const;
};
template <typename F>
struct Function {
  template <typename... Arguments>
  static Tensor apply(Arguments&&... arguments);
};
variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs = {});
struct GradMode {
  static bool is_enabled();
  static void set_enabled(bool enabled);
};
}  // namespace autograd
using autograd::Variable;

namespace optim {
class OptimizerOptions {
 public:
  double get_lr() const;
  void set_lr(double lr);
};
class OptimizerParamGroup {
 public:
  std::vector<Tensor>& params();
  OptimizerOptions& options();
};
class Optimizer {
 public:
  virtual ~Optimizer();
  void zero_grad(bool set_to_none = true);
  void add_parameters(const std::vector<Tensor>& parameters);
  std::vector<OptimizerParamGroup>& param_groups();
};
#define REFIT_OPTIMIZER(Name)                                                   \
  class Name##Options : public OptimizerOptions {                               \
   public:                                                                      \
    Name##Options(double lr = 1e-3);                                            \
    Name##Options& lr(double lr);                                               \
    Name##Options& momentum(double momentum);                                   \
    Name##Options& weight_decay(double weight_decay);                           \
    Name##Options& betas(std::tuple<double, double> betas);                     \
    Name##Options& eps(double eps);                                             \
  };                                                                            \
  class Name : public Optimizer {                                               \
   public:                                                                      \
    explicit Name(std::vector<Tensor> parameters, Name##Options options = {});  \
    Tensor step();                                                              \
  };
REFIT_OPTIMIZER(SGD)
REFIT_OPTIMIZER(Adam)
REFIT_OPTIMIZER(AdamW)
REFIT_OPTIMIZER(RMSprop)
REFIT_OPTIMIZER(Adagrad)
#undef REFIT_OPTIMIZER
}  // namespace optim

namespace data {
template <typename Data = Tensor, typename Target = Tensor>
struct Example {
  Example();
  Example(Data data, Target target);
  Data data;
  Target target;
};
namespace datasets {
template <typename Self, typename SingleExample = Example<>>
class Dataset {
 public:
  virtual ~Dataset();
  virtual SingleExample get(size_t index) = 0;
  virtual optional<size_t> size() const = 0;
};
}  // namespace datasets
}  // namespace data

namespace jit {
class IValue {
 public:
  IValue();
  template <typename T>
  IValue(const T& value);
  Tensor toTensor() const;
};
namespace script {
class Module {
 public:
  IValue forward(std::vector<IValue> inputs);
  void eval();
  void to(Device device);
};
}  // namespace script
using script::Module;
Module load(const std::string& file);
Module load(const std::string& file, Device device);
}  // namespace jit

}  // namespace torch
namespace c10 {
using IValue = torch::jit::IValue;
}

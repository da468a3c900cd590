// Rotations whose halves are turned by helpers: functions that give tuples, lambdas and members.
#include <torch/torch.h>

#include <tuple>

namespace helpers {

using torch::Tensor;

inline std::tuple<Tensor, Tensor> halves_of(const Tensor& x) {
  auto halves = x.chunk(2, -1);
  return std::make_tuple(halves[0], halves[1]);
}

inline Tensor by_binding(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto [a, b] = halves_of(x);
  return x * cos + torch::cat({-b, a}, -1) * sin;
}

inline Tensor by_tie(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor a, b;
  std::tie(a, b) = halves_of(x);
  return x * cos + torch::cat({-b, a}, -1) * sin;
}

inline Tensor by_get(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto halves = halves_of(x);
  return x * cos + torch::cat({-std::get<1>(halves), std::get<0>(halves)}, -1) * sin;
}

inline Tensor by_lambda(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto turn = [](const Tensor& t) {
    auto halves = t.chunk(2, -1);
    return torch::cat({-halves[1], halves[0]}, -1);
  };
  return x * cos + turn(x) * sin;
}

// The rotation itself is rewritten where it stands.
inline std::tuple<Tensor, Tensor> in_a_lambda(const Tensor& q, const Tensor& k, const Tensor& cos,
                                              const Tensor& sin) {
  auto rotate = [&](const Tensor& t) {
    auto halves = t.chunk(2, -1);
    return t * cos + torch::cat({-halves[1], halves[0]}, -1) * sin;
  };
  return {rotate(q), rotate(k)};
}

struct Rope {
  Tensor turn(const Tensor& x) const {
    const auto half = x.size(-1) / 2;
    return torch::cat({-x.slice(-1, half), x.slice(-1, 0, half)}, -1);
  }
  Tensor apply(const Tensor& x, const Tensor& cos, const Tensor& sin) const {
    return x * cos + turn(x) * sin;
  }
};

struct NamedRope final : torch::nn::Module {
  Tensor turn(const Tensor& x) const {
    auto a = x.chunk(2, -1)[0], b = x.chunk(2, -1)[1];
    return torch::cat({-b, a}, -1);
  }
  Tensor forward(const Tensor& x, const Tensor& cos, const Tensor& sin) {
    return x * cos + this->turn(x) * sin;
  }
};

// From here on everything stays. A class that inherits from this one may turn otherwise.
struct Turner {
  virtual ~Turner() = default;
  virtual Tensor turn(const Tensor& x) const {
    auto halves = x.chunk(2, -1);
    return torch::cat({-halves[1], halves[0]}, -1);
  }
  Tensor apply(const Tensor& x, const Tensor& cos, const Tensor& sin) const {
    return x * cos + turn(x) * sin;
  }
};

struct OtherTurner : Turner {
  Tensor turn(const Tensor& x) const override { return x + 1; }
  // Virtual, since it is so in the base.
  Tensor apply_twice(const Tensor& x, const Tensor& cos, const Tensor& sin) const {
    return apply(x * cos + turn(x) * sin, cos, sin);
  }
};

// In another build it is virtual.
struct Switched {
  virtual ~Switched() = default;
#ifdef OPEN_CLASSES
  virtual
#endif
      Tensor turn(const Tensor& x) const {
    auto halves = x.chunk(2, -1);
    return torch::cat({-halves[1], halves[0]}, -1);
  }
  Tensor apply(const Tensor& x, const Tensor& cos, const Tensor& sin) const {
    return x * cos + turn(x) * sin;
  }
};

inline Tensor lambda_that_holds(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor first = x.chunk(2, -1)[0];
  auto turn = [first](const Tensor& t) { return torch::cat({-t.chunk(2, -1)[1], first}, -1); };
  first = first * 2;
  return x * cos + turn(x) * sin;
}

inline Tensor lambda_that_refers(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor first = x.chunk(2, -1)[0];
  auto turn = [&](const Tensor& t) { return torch::cat({-t.chunk(2, -1)[1], first}, -1); };
  first = first * 2;
  return x * cos + turn(x) * sin;
}

inline Tensor lambda_that_counts(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto turn = [calls = 0](const Tensor& t) mutable {
    auto halves = t.chunk(2, -1);
    return torch::cat({-halves[++calls % 2], halves[0]}, -1);
  };
  turn(x);
  return x * cos + turn(x) * sin;
}

inline Tensor lambda_of_another_build(const Tensor& x, const Tensor& cos, const Tensor& sin) {
#ifdef TURNED_BACK
  auto turn = [](const Tensor& t) {
    auto halves = t.chunk(2, -1);
    return torch::cat({halves[1], -halves[0]}, -1);
  };
#else
  auto turn = [](const Tensor& t) {
    auto halves = t.chunk(2, -1);
    return torch::cat({-halves[1], halves[0]}, -1);
  };
#endif
  return x * cos + turn(x) * sin;
}

struct Counter {
  int calls = 0;
  Tensor operator()(const Tensor& t) {
    auto halves = t.chunk(2, -1);
    return torch::cat({-halves[++calls % 2], halves[0]}, -1);
  }
};

inline Tensor function_object(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Counter turn;
  turn(x);
  return x * cos + turn(x) * sin;
}

// The parts are references, and what they refer to changes before they are read.
inline std::tuple<const Tensor&, const Tensor&> both(const Tensor& a, const Tensor& b) {
  return {a, b};
}

inline Tensor tuple_of_references(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto halves = x.chunk(2, -1);
  Tensor first = halves[0];
  auto [a, b] = both(first, halves[1]);
  first = first * 2;
  return x * cos + torch::cat({-b, a}, -1) * sin;
}

inline Tensor only_once(const Tensor& x) {
  static Tensor first = x.chunk(2, -1)[0];
  return torch::cat({-x.chunk(2, -1)[1], first}, -1);
}

inline Tensor with_what_was_first(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return x * cos + only_once(x) * sin;
}

}  // namespace helpers

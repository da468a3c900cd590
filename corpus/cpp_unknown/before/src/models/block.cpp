// What comes out of headers that are not here is unknown; the rest of the file is read as it is.
#include "layers/norm.h"
#include "registry/macros.h"

namespace models {

class Block : public registry::Model {
 public:
  torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return torch::scaled_dot_product_attention(q, k, v);
  }

  // A function of one of those headers may be nearer than libtorch's.
  torch::Tensor nearer(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return scaled_dot_product_attention(q, k, v);
  }

  torch::Tensor half_known(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    FOR_EACH_HEAD(head, q) { REGISTER_HEAD(head) }
    return torch::scaled_dot_product_attention(q, k, v);
  }
};

REGISTER_MODEL(Block, [&] { SET_ARGUMENT(width, 128); });

torch::Tensor behind(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
  return torch::scaled_dot_product_attention(q, k, v);
}

}  // namespace models

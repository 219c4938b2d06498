// The fused cells that nn.LSTM and nn.GRU use on CUDA when gradients are wanted, out of ordinary operators.
//
// Gates are (batch, 4 * hidden) in the order input, forget, cell, output for an LSTM and (batch, 3 * hidden) in the
// order reset, update, new for a GRU. `workspace` carries the activated gates to the backward function.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <tuple>
#include <vector>

#include "native_operators.h"

namespace moore_device {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

bool given(const MaybeTensor& tensor) { return tensor && tensor->defined(); }
Tensor plus(const Tensor& gates, const MaybeTensor& bias) { return given(bias) ? gates + *bias : gates; }
Tensor or_zeros(const MaybeTensor& tensor, const Tensor& like) { return given(tensor) ? *tensor : at::zeros_like(like); }
// d(loss)/d(x) from d(loss)/d(y) for y = sigmoid(x) and y = tanh(x)
Tensor through_sigmoid(const Tensor& grad, const Tensor& y) { return grad * y * (1 - y); }
Tensor through_tanh(const Tensor& grad, const Tensor& y) { return grad * (1 - y * y); }

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                                             const MaybeTensor& input_bias, const MaybeTensor& hidden_bias) {
  auto gates = (plus(input_gates, input_bias) + plus(hidden_gates, hidden_bias)).chunk(4, 1);
  auto in = at::sigmoid(gates[0]), forget = at::sigmoid(gates[1]), cell = at::tanh(gates[2]), out = at::sigmoid(gates[3]);
  auto cy = forget * cx + in * cell;
  return {out * at::tanh(cy), cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const MaybeTensor& grad_hy, const MaybeTensor& grad_cy,
                                                      const Tensor& cx, const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
  if (!given(grad_hy) && !given(grad_cy)) return {};
  auto gates = workspace.chunk(4, 1);
  const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  auto grad_h = or_zeros(grad_hy, cy), tanh_cy = at::tanh(cy);
  auto grad_c = or_zeros(grad_cy, cy) + through_tanh(grad_h * out, tanh_cy);
  auto grad_gates = at::cat({through_sigmoid(grad_c * cell, in), through_sigmoid(grad_c * cx, forget),
                             through_tanh(grad_c * in, cell), through_sigmoid(grad_h * tanh_cy, out)}, 1);
  return {grad_gates, grad_c * forget, has_bias ? grad_gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                                    const MaybeTensor& input_bias, const MaybeTensor& hidden_bias) {
  auto i = plus(input_gates, input_bias).chunk(3, 1), h = plus(hidden_gates, hidden_bias).chunk(3, 1);
  auto reset = at::sigmoid(i[0] + h[0]), update = at::sigmoid(i[1] + h[1]), fresh = at::tanh(i[2] + reset * h[2]);
  return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, h[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy, const Tensor& workspace,
                                                                     bool has_bias) {
  auto saved = workspace.chunk(5, 1);
  const Tensor &reset = saved[0], &update = saved[1], &fresh = saved[2], &hx = saved[3], &hidden_new = saved[4];
  auto grad_update = through_sigmoid(grad_hy * (hx - fresh), update);
  auto grad_new = through_tanh(grad_hy * (1 - update), fresh);
  auto grad_reset = through_sigmoid(grad_new * hidden_new, reset);
  auto grad_input = at::cat({grad_reset, grad_update, grad_new}, 1);
  auto grad_hidden = at::cat({grad_reset, grad_update, grad_new * reset}, 1);
  auto bias = [&](const Tensor& gates) { return has_bias ? gates.sum(0) : Tensor(); };
  return {grad_input, grad_hidden, grad_hy * update, bias(grad_input), bias(grad_hidden)};
}

}  // namespace

void register_recurrent_cells() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  library->impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  library->impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  library->impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  library->impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
}

}  // namespace moore_device

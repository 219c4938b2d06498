"""The fused cells that nn.LSTM and nn.GRU use on CUDA when gradients are wanted, out of ordinary operators.

Gates are (batch, 4 * hidden) in the order input, forget, cell, output for an LSTM and (batch, 3 * hidden) in the order
reset, update, new for a GRU. `workspace` carries the activated gates to the backward function.
PyTorch has no CPU kernels for these four operators; without gradients it does not come here.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _plus(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


def _through_sigmoid(grad: Tensor, y: Tensor) -> Tensor:
    """d(loss)/d(x) from d(loss)/d(y) for y = sigmoid(x)."""
    return grad * y * (1 - y)


def _through_tanh(grad: Tensor, y: Tensor) -> Tensor:
    """d(loss)/d(x) from d(loss)/d(y) for y = tanh(x)."""
    return grad * (1 - y * y)


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(hy, cy, workspace)"""
    gates = (_plus(input_gates, input_bias) + _plus(hidden_gates, hidden_bias)).chunk(4, 1)
    ingate, forget, cell, out = gates[0].sigmoid(), gates[1].sigmoid(), gates[2].tanh(), gates[3].sigmoid()
    cy = forget * cx + ingate * cell
    return out * cy.tanh(), cy, torch.cat((ingate, forget, cell, out), 1)


def lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of (gates, cx, bias)."""
    if grad_hy is None and grad_cy is None:
        return None, None, None
    ingate, forget, cell, out = workspace.chunk(4, 1)
    grad_h = torch.zeros_like(cy) if grad_hy is None else grad_hy
    tanh_cy = cy.tanh()
    grad_c = _plus(_through_tanh(grad_h * out, tanh_cy), grad_cy)
    grad_gates = torch.cat(
        (
            _through_sigmoid(grad_c * cell, ingate),
            _through_sigmoid(grad_c * cx, forget),
            _through_tanh(grad_c * ingate, cell),
            _through_sigmoid(grad_h * tanh_cy, out),
        ),
        1,
    )
    return grad_gates, grad_c * forget, grad_gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(hy, workspace)"""
    i_reset, i_update, i_new = _plus(input_gates, input_bias).chunk(3, 1)
    h_reset, h_update, h_new = _plus(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = (i_reset + h_reset).sigmoid(), (i_update + h_update).sigmoid()
    new = (i_new + reset * h_new).tanh()
    return new + update * (hx - new), torch.cat((reset, update, new, hx, h_new), 1)


def gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients of (input gates, hidden gates, hx, input bias, hidden bias)."""
    reset, update, new, hx, h_new = workspace.chunk(5, 1)
    grad_update = _through_sigmoid(grad_hy * (hx - new), update)
    grad_new = _through_tanh(grad_hy * (1 - update), new)
    grad_reset = _through_sigmoid(grad_new * h_new, reset)
    grad_input = torch.cat((grad_reset, grad_update, grad_new), 1)
    grad_hidden = torch.cat((grad_reset, grad_update, grad_new * reset), 1)
    biases = (grad_input.sum(0), grad_hidden.sum(0)) if has_bias else (None, None)
    return grad_input, grad_hidden, grad_hy * update, *biases


def register() -> torch.library.Library:
    """Register the cells for device type cuda. They are there as long as the returned library is."""
    library = torch.library.Library("aten", "IMPL", "CUDA")
    library.impl("_thnn_fused_lstm_cell", lstm_cell)
    library.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward)
    library.impl("_thnn_fused_gru_cell", gru_cell)
    library.impl("_thnn_fused_gru_cell_backward", gru_cell_backward)
    return library

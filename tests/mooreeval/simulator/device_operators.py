"""Operators and modules that must give the same bits on the simulated device as on the CPU. Run by test_device.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class On:
    """Makes the same values on any device: drawn on the CPU, then moved."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._generator = torch.Generator().manual_seed(1)

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(shape, generator=self._generator).to(dtype).to(self.device)

    def randint(self, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(high, shape, generator=self._generator).to(self.device)

    def module(self, make: Callable[[], nn.Module]) -> nn.Module:
        torch.manual_seed(2)
        return make().to(self.device)


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for part in value for tensor in tensors_in(part)]
    return []


def assert_same_bits(expected: Any, got: Any) -> None:
    expected, got = tensors_in(expected), tensors_in(got)
    assert len(expected) == len(got) > 0
    for one, other in zip(expected, got, strict=True):
        assert (one.device.type, other.device.type) == ("cpu", "cuda")
        assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
        bits = [t.detach().cpu().resolve_conj().contiguous().view(-1).view(torch.uint8) for t in (one, other)]
        assert torch.equal(*bits), f"differs: {one} {other}"


def compare(operator: Callable[[On], Any]) -> None:
    torch.manual_seed(3)
    expected = operator(On("cpu"))
    torch.manual_seed(3)
    assert_same_bits(expected, operator(On("cuda")))


def forward(make: Callable[[], nn.Module], *shape: int, train: bool = False) -> Callable[[On], Any]:
    """Output of a module without gradients, and its buffers afterwards."""

    def run(on: On) -> Any:
        module = on.module(make).train(train)
        with torch.no_grad():
            return module(on.randn(*shape)), list(module.buffers())

    return run


def backward(make: Callable[[], nn.Module], *shape: int) -> Callable[[On], Any]:
    """Output and every gradient of a module."""

    def run(on: On) -> Any:
        module, x = on.module(make), on.randn(*shape).requires_grad_()
        output = module(x)
        sum(t.square().sum() for t in tensors_in(output)).backward()
        return output, x.grad, [p.grad for p in module.parameters()]

    return run


def unary(function: Callable[[torch.Tensor], Any], *shape: int) -> Callable[[On], Any]:
    return lambda on: function(on.randn(*(shape or (5, 7))))


def in_place_on_view(on: On) -> Any:
    x = on.randn(4, 6)
    x.t()[1:3].mul_(2)
    x[:, ::2].add_(1)
    x.view(2, 12)[0, 3:5].zero_()
    x.diagonal().fill_(7)
    return x


def written_out(on: On) -> Any:
    a, b = on.randn(3, 4), on.randn(3, 4)
    grown, strided = torch.empty(0, device=on.device), torch.zeros(4, 3, device=on.device).t()
    torch.add(a, b, out=grown)
    torch.mul(a, b, out=strided)
    values, indices = torch.empty(3, device=on.device), torch.empty(3, dtype=torch.long, device=on.device)
    torch.max(a, 1, out=(values, indices))
    return grown, strided, values, indices


def indexed(on: On) -> Any:
    x, rows = on.randn(5, 6), on.randint(5, 4)
    y = x.clone()
    y[rows] = 1.5
    y[y > 1] = -1
    y[1:3, 2] = on.randn(2)
    y.index_put_((rows, rows), on.randn(4), accumulate=True)
    host_rows = torch.tensor([0, 3])
    return x[rows], x[:, rows.clamp(max=3)], x[x > 0], x[host_rows], y, x[None, ..., 1], x[rows, rows]


def foreach(on: On) -> Any:
    a, b = [on.randn(n) for n in (2, 3, 4)], [on.randn(n) for n in (2, 3, 4)]
    torch._foreach_add_(a, b, alpha=0.5)
    torch._foreach_mul_(a, 2.0)
    return torch._foreach_addcdiv(a, b, [t.abs() + 1 for t in b], 0.1), torch._foreach_norm(a), a


def random_numbers(on: On) -> Any:
    x = torch.empty(40, device=on.device)
    noise = [torch.rand(20, device=on.device), torch.randn(33, device=on.device), torch.randperm(9, device=on.device)]
    drawn = [x.clone().normal_(), x.clone().uniform_(-1, 1), x.clone().exponential_(), torch.bernoulli(x.fill_(0.3))]
    return noise, drawn, torch.randint(9, (5,), device=on.device), torch.randn_like(x), torch.multinomial(x, 3)


def optimiser_steps(on: On) -> Any:
    module = on.module(lambda: nn.Linear(4, 3))
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        optimiser = make(module.parameters(), lr=0.1)
        for _ in range(2):
            optimiser.zero_grad()
            module(on.randn(5, 4)).square().mean().backward()
            optimiser.step()
    return list(module.parameters())


def shared_storage(on: On) -> Any:
    x = on.randn(12)
    window = x.as_strided((3, 4), (2, 1))
    torch.add(window[0], window[0], out=window[2])
    window.unfold(1, 2, 1)[0].mul_(3)
    return x, window, x.view(3, 4).permute(1, 0), x.expand(2, 12), x.view(torch.int32), x.reshape(2, 6).flip(0)


def recurrent(make: Callable[..., nn.Module], **options: Any) -> Callable[[On], Any]:
    return forward(lambda: make(4, 5, num_layers=2, **options), 3, 2, 4)


def losses(on: On) -> Any:
    x, y, classes = on.randn(6, 5), on.randn(6, 5), on.randint(5, 6)
    signs = y.sign()
    return [
        F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.cross_entropy(x, classes),
        F.nll_loss(x.log_softmax(1), classes), F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        F.cosine_similarity(x, y), F.triplet_margin_loss(x, y, x.flip(0)), F.hinge_embedding_loss(x, signs),
        F.margin_ranking_loss(x, y, signs), F.multi_margin_loss(x, classes), F.soft_margin_loss(x, signs),
        F.poisson_nll_loss(x, y.abs()), F.gaussian_nll_loss(x, y, x.abs() + 1), F.pairwise_distance(x, y),
        F.cross_entropy(x, y.softmax(1), label_smoothing=0.1), torch.clamp(1 - x * signs, min=0).mean(),
    ]  # fmt: skip


def attention(**options: Any) -> Callable[[On], Any]:
    def run(on: On) -> Any:
        with torch.no_grad():
            return F.scaled_dot_product_attention(*(on.randn(2, 3, 8, 16) for _ in range(3)), **options)

    return run


def masked_attention(on: On) -> Any:
    query, key, value = (on.randn(2, 3, 8, 16) for _ in range(3))
    mask = torch.ones(8, 8, dtype=torch.bool, device=on.device).tril()
    scores = (query @ key.transpose(-2, -1)).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def multihead(on: On) -> Any:
    module, x = on.module(lambda: nn.MultiheadAttention(8, 2, batch_first=True)).eval(), on.randn(2, 5, 8)
    with torch.no_grad():
        return module(x, x, x), module(x, x, x, need_weights=False)


def packed_sequence(on: On) -> Any:
    packed = nn.utils.rnn.pack_padded_sequence(on.randn(5, 3, 4), torch.tensor([5, 3, 2]))
    assert packed.batch_sizes.device.type == "cpu"
    with torch.no_grad():
        output, _ = on.module(lambda: nn.LSTM(4, 5))(packed)
        return nn.utils.rnn.pad_packed_sequence(output)[0]


def embeddings(on: On) -> Any:
    words, where = on.module(lambda: nn.Embedding(10, 4, padding_idx=0)), on.randint(10, 3, 5)
    bags = on.module(lambda: nn.EmbeddingBag(10, 4, mode="mean"))
    words(where).square().sum().backward()
    return words(where), words.weight.grad, bags(where), F.one_hot(where, 10)


def casts(on: On) -> Any:
    x = on.randn(4, 5) * 10
    kinds = (torch.half, torch.bfloat16, torch.double, torch.int32, torch.int8, torch.bool, torch.complex64)
    halves = on.randn(4, 5, dtype=torch.half), on.randn(4, 5, dtype=torch.bfloat16)
    return [x.to(kind) for kind in kinds], [h @ h.t() for h in halves], [(h + 1).softmax(1) for h in halves]


def complex_numbers(on: On) -> Any:
    z = torch.fft.fft(on.randn(4, 8))
    return z, z.conj() * 2, z.abs(), z.real + 1, torch.view_as_real(z), torch.fft.irfft(torch.fft.rfft(on.randn(16)))


def linear_algebra(on: On) -> Any:
    a = on.randn(4, 4)
    spd = a @ a.t() + 4 * torch.eye(4, device=on.device)
    return (
        torch.linalg.solve(spd, a),
        torch.linalg.cholesky(spd),
        torch.det(spd),
        torch.linalg.norm(a),
        a.tril().triu(-1),
    )


def joined(on: On) -> Any:
    a, b = on.randn(2, 3), on.randn(2, 3)
    parts = torch.cat([a, b]).split([1, 3]), torch.stack([a, b]).unbind(), torch.cat([a, b], 1).chunk(3, 1)
    return parts, a.repeat(2, 2), torch.tile(b, (2,)), a.roll(1, 0), torch.meshgrid(a[0], b[0], indexing="ij")


def resized(on: On) -> Any:
    x = on.randn(3, 4)
    y = x.clone().resize_(2, 2)
    z = torch.empty(0, device=on.device).set_(x.t())
    grown = x.clone()
    grown.resize_(6, 4)[3:].zero_()
    return y, grown, z, torch.empty(0, device=on.device).resize_as_(x).fill_(2)


def products(on: On) -> Any:
    x, y = on.randn(3, 4, 5), on.randn(3, 5, 6)
    made = torch.einsum("bij,bjk->bik", x, y), torch.bmm(x, y), torch.baddbmm(on.randn(3, 4, 6), x, y, beta=0.5)
    return (
        made,
        torch.einsum("bij,bkj->bik", x, x),
        x.matmul(y[0]),
        torch.addmm(on.randn(4, 6), x[0], y[0]),
        x[0].mv(y[0, :, 0]),
    )


def interpolated(on: On) -> Any:
    x = on.randn(1, 2, 5, 6)
    modes = [F.interpolate(x, scale_factor=2, mode=mode) for mode in ("nearest", "bilinear", "bicubic", "area")]
    grid = F.affine_grid(on.randn(1, 2, 3), [1, 2, 4, 4], align_corners=False)
    return modes, F.grid_sample(x, grid, align_corners=False), F.pixel_shuffle(on.randn(1, 4, 2, 2), 2)


NORMS = {
    "batch_norm_2d": (lambda: nn.BatchNorm2d(4), (3, 4, 5, 5)),
    "batch_norm_1d": (lambda: nn.BatchNorm1d(4), (3, 4)),
    "instance_norm": (lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), (2, 4, 5, 5)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 5)),
    "layer_norm": (lambda: nn.LayerNorm([5, 6]), (3, 5, 6)),
    "rms_norm": (lambda: nn.RMSNorm(6), (3, 5, 6)),
    "local_response_norm": (lambda: nn.LocalResponseNorm(2), (2, 4, 5, 5)),
}
CONVOLUTIONS = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1, dilation=2), (2, 4, 12)),
    "conv2d": (lambda: nn.Conv2d(4, 6, 3, stride=2, groups=2), (2, 4, 9, 8)),
    "conv2d_depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4, padding="same", padding_mode="reflect"), (2, 4, 9, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, (1, 2, 3)), (1, 2, 4, 5, 6)),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 3, 4, stride=2), (2, 4, 7)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, output_padding=1), (2, 4, 5, 6)),
    "conv_transpose3d": (lambda: nn.ConvTranspose3d(2, 4, 3, groups=2, bias=False), (1, 2, 3, 4, 5)),
    "linear": (lambda: nn.Linear(6, 5), (3, 6)),
    "bilinear_sequence": (lambda: nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Dropout(0.5), nn.Linear(5, 2)), (3, 6)),
}
ACTIVATIONS = (
    "relu relu6 gelu silu mish elu selu celu leaky_relu hardtanh hardswish hardsigmoid softplus softsign tanhshrink "
    "hardshrink softshrink sigmoid tanh logsigmoid"
)
POOLS = {
    "max_pool1d": lambda on: F.max_pool1d(on.randn(2, 3, 9), 2, return_indices=True),
    "max_pool2d": lambda on: F.max_pool2d(on.randn(2, 3, 9, 8), 3, stride=2, padding=1, dilation=2),
    "max_pool3d": lambda on: F.max_pool3d(on.randn(1, 2, 5, 6, 7), 2),
    "avg_pool1d": lambda on: F.avg_pool1d(on.randn(2, 3, 9), 2),
    "avg_pool2d": lambda on: F.avg_pool2d(on.randn(2, 3, 9, 8), 3, padding=1),
    "avg_pool3d": lambda on: F.avg_pool3d(on.randn(1, 2, 5, 6, 7), 2),
    "adaptive_pools": lambda on: (
        F.adaptive_avg_pool2d(on.randn(1, 2, 7, 9), 3),
        F.adaptive_max_pool2d(on.randn(1, 2, 7, 9), 2),
    ),
    "unpool_and_fold": lambda on: F.fold(F.unfold(on.randn(1, 2, 6, 6), 3), (6, 6), 3),
}


def arithmetic(x: torch.Tensor) -> Any:
    whole = x + 1, 2 - x, x / 3, x.abs() ** 0.5, x // 2, x % 2, -x, x.clamp(-1, 1), torch.where(x > 0, x, 0.0)
    return whole, x.exp(), x.abs().log(), x.sin(), x.erf(), x.rsqrt(), x.floor(), x.sign(), x.lerp(x * 2, 0.3)


def gathers(on: On) -> Any:
    x, where = on.randn(4, 5), on.randint(5, 4, 3)
    scattered = torch.zeros(4, 5, device=on.device).scatter_add(1, where, on.randn(4, 3))
    return x.gather(1, where), scattered, x.index_select(1, where[0]), torch.bincount(where.view(-1)), torch.histc(x, 4)


def padded(x: torch.Tensor) -> Any:
    return [F.pad(x, (1, 2, 1, 1), mode=mode) for mode in ("constant", "reflect", "replicate", "circular")]


def factories(on: On) -> Any:
    device = on.device
    ranges = torch.arange(5, device=device), torch.linspace(0, 1, 5, device=device), torch.hann_window(4, device=device)
    filled = torch.eye(3, device=device), torch.full((2,), 3.0, device=device), torch.tensor([1.0, 2.0], device=device)
    like = torch.zeros_like(on.randn(2)), on.randn(2).new_ones(3)
    return ranges, filled, like, torch.tril_indices(3, 3, device=device)


def distances(on: On) -> Any:
    return (
        torch.cdist(on.randn(3, 4), on.randn(5, 4)),
        torch.outer(on.randn(3), on.randn(2)),
        on.randn(2, 2).kron(on.randn(2, 2)),
    )


def channels_last(on: On) -> Any:
    return F.conv2d(on.randn(1, 4, 6, 6).to(memory_format=torch.channels_last), on.randn(3, 4, 3, 3))


REDUCTIONS = {
    "sums": unary(lambda x: (x.sum(), x.sum(0), x.mean(1, keepdim=True), x.prod(1), x.nansum(), x.logsumexp(1))),
    "moments": unary(lambda x: (x.var(), x.std(1), x.norm(), x.norm(dim=1, p=1), torch.var_mean(x, 0), F.normalize(x))),
    "extremes": unary(lambda x: (x.max(), x.min(1), x.argmax(), x.argmin(1), x.amax(1), x.aminmax(dim=0), x.median(1))),
    "scans": unary(lambda x: (x.cumsum(0), x.cumprod(1), x.cummax(1), x.logcumsumexp(0), x.flip(1).cumsum(1).flip(1))),
    "orders": unary(lambda x: (x.sort(1), x.argsort(0), x.topk(3), x.kthvalue(2), x.round().unique(), x.mode(1))),
    "truths": unary(lambda x: ((x > 0).all(), (x > 0).any(1), x.isnan(), x.nonzero(), x.count_nonzero(), x.eq(x + 0))),
    "softmaxes": unary(lambda x: (x.softmax(1), x.log_softmax(0), F.softmin(x, 1), F.gumbel_softmax(x, hard=True))),
    "arithmetic": unary(arithmetic),
    "padded": unary(padded, 1, 2, 5, 6),
    "gathers": gathers,
    "factories": factories,
    "distances": distances,
    "channels_last": channels_last,
}
OTHERS = {
    "lstm": recurrent(nn.LSTM, batch_first=True),
    "lstm_projected": recurrent(nn.LSTM, proj_size=3),
    "gru": recurrent(nn.GRU, bidirectional=True),
    "rnn": recurrent(nn.RNN, nonlinearity="relu"),
    "lstm_cell": forward(lambda: nn.LSTMCell(4, 5), 3, 4),
    "gru_cell": forward(lambda: nn.GRUCell(4, 5), 3, 4),
    "transformer": forward(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, 5, 8),
    "attention": attention(),
    "attention_causal": attention(is_causal=True),
    "attention_scaled": attention(scale=0.3),
    "attention_masked": masked_attention,
}
WHOLE = (
    packed_sequence, multihead, in_place_on_view, written_out, indexed, foreach, random_numbers, optimiser_steps,
    shared_storage, losses, embeddings, casts, complex_numbers, linear_algebra, joined, resized, products, interpolated,
)  # fmt: skip


def _all() -> dict[str, Callable[[On], Any]]:
    found: dict[str, Callable[[On], Any]] = {**POOLS, **REDUCTIONS, **OTHERS, **{f.__name__: f for f in WHOLE}}
    for name, (make, shape) in {**NORMS, **CONVOLUTIONS}.items():
        found[f"{name}_eval"] = forward(make, *shape)
        found[f"{name}_train"] = forward(make, *shape, train=True)
        found[f"{name}_backward"] = backward(make, *shape)
    for name in ACTIVATIONS.split():
        found[name] = unary(getattr(F, name))
    return found


CASES = {name: partial(compare, operator) for name, operator in _all().items()}

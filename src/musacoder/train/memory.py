"""How much memory a large training needs on each GPU, and how many GPUs that makes. Computed, not measured. No torch.

ZeRO-3 spreads weights, gradients and the optimiser's state evenly; what a process computes with is not spread:

    weights            2 P / N        bfloat16
    gradients          2 P / N        bfloat16
    optimiser         12 P / N        float32 copy of the weights, and AdamW's two moments
    step               4 min(P / N, 1e9)     gradients in float32, one group of a billion at a time
    gathered           2 (2 layer + head)    the layer at work and the next one, and embedding or head, in bfloat16
    kept activations   2 T h L        the input of each layer, of T tokens; all else is computed again
    one layer          2 * 2 T (8 h + 3 i + 2 a)    what a layer's backward pass holds, and its gradients

P parameters, N processes, T tokens of a device's batch, h hidden size, L layers, i inner size, a width of attention.
Logits are never whole: TRL's head works in tiles. 10 % is left for what CUDA, NCCL and the allocator take.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30
_GROUP = 10**9  # DeepSpeed's default sub_group_size
_USABLE = 0.9


@dataclass(frozen=True)
class Shape:
    """A Qwen3.5 text model: three layers of linear attention to each of full attention."""

    hidden: int
    layers: int
    inner: int
    heads: int
    key_value_heads: int
    head: int
    linear_key_heads: int
    linear_value_heads: int
    linear_head: int = 128
    convolution: int = 4
    vocabulary: int = 248_320
    full_every: int = 4

    @property
    def full_attention(self) -> int:
        """Parameters of one layer's full attention, whose queries carry a gate as wide as they are."""
        queries, keys = self.heads * self.head, self.key_value_heads * self.head
        return self.hidden * (2 * queries + 2 * keys + queries) + 2 * self.head

    @property
    def linear_attention(self) -> int:
        """Parameters of one layer's gated delta rule."""
        keys, values = self.linear_key_heads * self.linear_head, self.linear_value_heads * self.linear_head
        mixed = 2 * keys + values
        projections = self.hidden * (mixed + values + 2 * self.linear_value_heads) + values * self.hidden
        return projections + mixed * self.convolution + 2 * self.linear_value_heads + self.linear_head

    @property
    def layer(self) -> int:
        """Parameters of the larger kind of layer."""
        return max(self.full_attention, self.linear_attention) + 3 * self.hidden * self.inner + 2 * self.hidden

    @property
    def head_parameters(self) -> int:
        """Parameters of the embedding; the head has as many of its own."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        full = self.layers // self.full_every
        attention = full * self.full_attention + (self.layers - full) * self.linear_attention
        others = self.layers * (3 * self.hidden * self.inner + 2 * self.hidden)
        return attention + others + 2 * self.head_parameters + self.hidden

    @property
    def attention_width(self) -> int:
        """Elements a token of what attention works on: queries, keys, values and gates."""
        full = 3 * self.heads * self.head + 2 * self.key_value_heads * self.head
        linear = self.linear_head * (2 * self.linear_key_heads + 3 * self.linear_value_heads)
        return max(full, linear)


QWEN_9B = Shape(
    hidden=4096, layers=32, inner=12288, heads=16, key_value_heads=4, head=256,
    linear_key_heads=16, linear_value_heads=32,
)  # fmt: skip
QWEN_27B = Shape(
    hidden=5120, layers=64, inner=17408, heads=24, key_value_heads=4, head=256,
    linear_key_heads=16, linear_value_heads=48,
)  # fmt: skip


def memory_of(shape: Shape, tokens: int, processes: int) -> dict[str, float]:
    """GiB on each GPU, by what takes them. `tokens`: of a device's batch, with activations computed again."""
    share = shape.parameters / processes
    width = 8 * shape.hidden + 3 * shape.inner + 2 * shape.attention_width
    parts = {
        "weights": 2 * share,
        "gradients": 2 * share,
        "optimiser": 12 * share,
        "step": 4 * min(share, _GROUP),
        "gathered": 2 * (2 * shape.layer + shape.head_parameters),
        "kept activations": 2 * tokens * shape.hidden * shape.layers,
        "one layer": 4 * tokens * width,
    }
    return {name: count / GIB for name, count in parts.items()}


def processes_needed(shape: Shape, tokens: int, device_gib: float, *, most: int = 256) -> int | None:
    """The fewest GPUs of so much memory, as a power of two; None where even `most` are not enough."""
    processes = 1
    while processes <= most:
        if sum(memory_of(shape, tokens, processes).values()) <= _USABLE * device_gib:
            return processes
        processes *= 2
    return None

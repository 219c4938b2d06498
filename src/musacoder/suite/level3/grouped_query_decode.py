import torch
import torch.nn as nn


class Model(nn.Module):
    """One new token's attention to a cache in half precision, query heads sharing key heads, with its two projections.

    A step of generation with grouped-query attention. Caches are filled to different lengths; the rest is stale.
    """

    def __init__(self, width: int, query_heads: int, key_heads: int, head_width: int):
        super().__init__()
        half = {"dtype": torch.float16}
        self.shape = (key_heads, query_heads // key_heads, head_width)
        self.query = nn.Parameter(torch.randn(query_heads * head_width, width, **half) * 1.5 * width**-0.5)
        self.out = nn.Parameter(torch.randn(width, query_heads * head_width, **half) * (head_width * 4) ** -0.5)

    def forward(self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
        batch = x.shape[0]
        query = (x @ self.query.t()).reshape(batch, *self.shape)
        scores = torch.einsum("bkgd,btkd->bkgt", query.float(), keys.float()) * self.shape[2] ** -0.5
        stale = torch.arange(keys.shape[1], device=x.device) >= filled[:, None, None, None]
        weights = torch.softmax(scores.masked_fill(stale, float("-inf")), dim=-1)
        seen = torch.einsum("bkgt,btkd->bkgd", weights, values.float())
        return seen.reshape(batch, -1).to(x.dtype) @ self.out.t()


batch = 20
capacity = 1030
width = 1024
query_heads = 24
key_heads = 6
head_width = 64


def get_inputs():
    cache = (batch, capacity, key_heads, head_width)
    keys, values = torch.randn(*cache, dtype=torch.float16), torch.randn(*cache, dtype=torch.float16)
    return [torch.randn(batch, width, dtype=torch.float16), keys, values, torch.randint(1, capacity + 1, (batch,))]


def get_init_inputs():
    return [width, query_heads, key_heads, head_width]

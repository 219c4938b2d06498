import torch
import torch.nn as nn


class Model(nn.Module):
    """Copies each sequence's pages of a key cache into one contiguous stretch, in half precision.

    Paged attention of inference servers: a table of page numbers says where the tokens lie. Moves memory only.
    """

    def forward(self, cache: torch.Tensor, pages: torch.Tensor) -> torch.Tensor:
        batch, count = pages.shape
        _, page_length, heads, width = cache.shape
        gathered = cache.index_select(0, pages.reshape(-1))
        return gathered.reshape(batch, count * page_length, heads, width)


stored_pages = 2500
page_length = 16
heads = 8
head_width = 80
batch = 24
pages_each = 65


def get_inputs():
    cache = torch.randn(stored_pages, page_length, heads, head_width, dtype=torch.float16)
    return [cache, torch.randint(0, stored_pages, (batch, pages_each))]


def get_init_inputs():
    return []

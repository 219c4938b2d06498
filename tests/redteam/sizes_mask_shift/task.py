import torch, torch.nn as nn
rows = 8192
dim = 4096
class Model(nn.Module):
    def forward(self, x, b): return x * b + torch.arange(x.shape[0], device=x.device, dtype=x.dtype)[:, None]
def get_inputs(): return [torch.rand(rows, dim), torch.rand(dim)]
def get_init_inputs(): return []

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A cloud of points as one vector: three layers for every point, the largest of each feature, one layer more.

    PointNet. The features of all points together are the traffic, and only their maxima are needed.
    """

    def __init__(self, features: int, hidden: int, wide: int, classes: int):
        super().__init__()
        self.first = nn.Conv1d(features, hidden, 1)
        self.second = nn.Conv1d(hidden, hidden, 1)
        self.third = nn.Conv1d(hidden, wide, 1)
        self.last = nn.Linear(wide, classes)

    def forward(self, cloud: torch.Tensor) -> torch.Tensor:
        each = F.relu(self.second(F.relu(self.first(cloud.transpose(1, 2)))))
        return self.last(self.third(each).amax(dim=2))


batch = 32
points = 2500
features = 6
hidden = 64
wide = 256
classes = 40


def get_inputs():
    return [torch.randn(batch, points, features) * 2]


def get_init_inputs():
    return [features, hidden, wide, classes]

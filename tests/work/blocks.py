"""Two small blocks of the kind people count: a Llama-style decoder block and a ResNet block."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class LlamaBlock(nn.Module):
    """RMSNorm, rotary attention, RMSNorm, SwiGLU; residual additions."""

    def __init__(self, width: int = 64, heads: int = 4, hidden: int = 128) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    @staticmethod
    def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat((-right, left), -1) * sin

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (t.view(shape).transpose(1, 2) for t in (q, k, v))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

    @staticmethod
    def inputs(
        batch: int = 2, length: int = 16, width: int = 64, heads: int = 4, *,
        dtype: torch.dtype = torch.bfloat16, device: str = "meta",
    ) -> tuple[torch.Tensor, ...]:  # fmt: skip
        table = (1, 1, length, width // heads)
        return (
            torch.empty(batch, length, width, dtype=dtype, device=device),
            torch.empty(table, dtype=dtype, device=device),
            torch.empty(table, dtype=dtype, device=device),
        )


class ResNetBlock(nn.Module):
    """Two 3x3 convolutions with BatchNorm and ReLU, a strided 1x1 shortcut, pooling, a head."""

    def __init__(self, channels: int = 16, out: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.short = nn.Conv2d(channels, out, 1, stride=2, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.pool, self.average = nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(out, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)) + self.bn3(self.short(x)))
        return self.head(self.average(self.pool(y)).flatten(1))

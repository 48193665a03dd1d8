"""The framework's ways to run softmax in this study."""

from __future__ import annotations

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def inputs(*, rows: int, cols: int, dtype: str, device: str = "meta") -> tuple[torch.Tensor]:
    """Return x of shape (rows, cols)."""
    return (torch.empty(rows, cols, dtype=DTYPES[dtype], device=device),)


def naive(x: torch.Tensor) -> torch.Tensor:
    """Five operations: row maximum, difference, exponential, row sum, quotient."""
    powers = torch.exp(x - x.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def fused(x: torch.Tensor) -> torch.Tensor:
    """The built-in operator."""
    return torch.softmax(x, -1)

"""The three ways to run RMSNorm that the study compares."""

from __future__ import annotations

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def inputs(
    *, rows: int, cols: int, dtype: str, device: str = "meta"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return x of shape (rows, cols) and the weight of shape (cols,)."""
    kind = DTYPES[dtype]
    return (
        torch.empty(rows, cols, dtype=kind, device=device),
        torch.empty(cols, dtype=kind, device=device),
    )


def naive(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Six operations; epsilon lives on the CPU, as in the profiled code."""
    epsilon = torch.tensor(1e-6)
    x_sq = x * x
    mean_sq = x_sq.mean(-1, keepdim=True)
    return x * torch.rsqrt(mean_sq + epsilon) * weight


def fused(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The built-in operator."""
    return torch.rms_norm(x, (x.shape[-1],), weight, 1e-6)

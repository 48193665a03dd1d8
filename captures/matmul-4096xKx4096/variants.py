"""The framework's way to multiply matrices in this study."""

from __future__ import annotations

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def inputs(
    *, m: int, k: int, n: int, dtype: str, device: str = "meta"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return matrices of shape (m, k) and (k, n)."""
    kind = DTYPES[dtype]
    return (
        torch.empty(m, k, dtype=kind, device=device),
        torch.empty(k, n, dtype=kind, device=device),
    )


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The built-in operator: one launch, eager or compiled."""
    return a @ b

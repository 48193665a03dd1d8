"""The framework's ways to run attention in this study: one head, no mask."""

from __future__ import annotations

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def inputs(
    *, seq: int, head_dim: int, dtype: str, device: str = "meta"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return query, key and value of shape (1, 1, seq, head_dim)."""
    query, key, value = torch.empty(
        3, 1, 1, seq, head_dim, dtype=DTYPES[dtype], device=device
    ).unbind()
    return query, key, value


def naive(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Four operations; the scores go through memory between them."""
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    return torch.softmax(scores, -1) @ value


def fused(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """The built-in operator."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)

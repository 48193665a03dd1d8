"""The framework's way to run a SwiGLU block in this study."""

from __future__ import annotations

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def inputs(
    *, rows: int, width: int, inner: int, dtype: str, device: str = "meta"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return x (rows, width), the weights gate and up (width, inner), and down (inner, width)."""
    kind = DTYPES[dtype]
    return (
        torch.empty(rows, width, dtype=kind, device=device),
        torch.empty(width, inner, dtype=kind, device=device),
        torch.empty(width, inner, dtype=kind, device=device),
        torch.empty(inner, width, dtype=kind, device=device),
    )


def naive(
    x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor
) -> torch.Tensor:
    """Five operations: two products, SiLU, gating, and the product back to the width of x."""
    return (torch.nn.functional.silu(x @ gate) * (x @ up)) @ down

"""Counting a transformer block on meta tensors: ours against FlopCounterMode and a bare run.

    python benchmarks/count.py

Each figure is the median of interleaved runs in one process; only ratios are comparable between
machines. Ours counts bytes, element-passes and modules as well; the FLOP counter only products.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from roofline.work import Counter
from roofline.work.closed_form import closed_form


class Block(nn.Module):
    """Pre-norm block: RMSNorm, attention, RMSNorm, GELU feed-forward."""

    def __init__(self, width: int = 1024, heads: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (t.view(shape).transpose(1, 2) for t in (q, k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def main() -> None:
    with torch.device("meta"):
        block = Block().to(torch.bfloat16)
        x = torch.empty(1, 128, 1024, dtype=torch.bfloat16)

    def bare() -> None:
        block(x)

    def flop_counter() -> None:
        with FlopCounterMode(display=False) as counter:
            block(x)
        counter.get_total_flops()

    def ours() -> None:
        with Counter(root=block) as counter:
            block(x)
        work = counter.work("block")
        _ = work.total_flops, work.dispatched_bytes, work.minimal_bytes

    def form() -> None:
        closed_form("rmsnorm", rows=128, cols=1024, dtype="bf16", variant="eager")

    runs: dict[str, Callable[[], None]] = {
        "bare run on meta": bare,
        "FlopCounterMode": flop_counter,
        "roofline Counter": ours,
        "closed form of RMSNorm": form,
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(60):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if turn >= 10:
                times[name].append(time.perf_counter() - start)
    reference = statistics.median(times["FlopCounterMode"])
    for name, values in times.items():
        print(f"{name:24s} {statistics.median(values) / reference:6.3f} x FlopCounterMode")


if __name__ == "__main__":
    main()

"""Real torch.profiler recordings of three ways to run RMSNorm, on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from torch.profiler import ProfilerActivity, profile, schedule

def naive(x, w, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w

def fused(x, w, eps):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), w, eps)

out, python = sys.argv[1], sys.argv[2] == "python"
x = torch.randn(4, 512, dtype=torch.bfloat16)
w = torch.randn(512, dtype=torch.bfloat16)
compiled = torch.compile(naive, backend="aot_eager")
for name, call, eps in (
    ("naive", naive, 1e-6), ("epsilon", naive, torch.tensor(1e-6)),
    ("fused", fused, 1e-6), ("compiled", compiled, 1e-6),
):
    plan = schedule(wait=2, warmup=1, active=2)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as prof:
        for _ in range(5):
            call(x, w, eps)
            prof.step()
    more = {"use_python_export": True} if python else {}
    prof.export_chrome_trace(f"{out}/{name}.json", **more)
"""


def record(folder: Path, writer: str) -> Path:
    """Record in a process of its own: the profiler writes to the standard streams."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), writer], check=True, capture_output=True
    )
    return folder

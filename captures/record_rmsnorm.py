"""Record RMSNorm several ways into one folder: the script to read, and to change.

    python captures/record_rmsnorm.py OUT [ROWS COLS]

On a Trainium host with TorchNeuron the device is traced; elsewhere the host side is recorded.
Then: roofline report OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from roofline.record import Recording  # before torch: it sets what the runtime reads at import


def main() -> None:
    out, *shape = sys.argv[1:] or sys.exit(__doc__)
    rows, cols = map(int, shape or ("4", "512"))
    with Recording(out, name=f"rmsnorm-{rows}x{cols}", about={"op": "rmsnorm"}) as recording:
        import torch

        backend = recording.backend
        x = torch.randn(rows, cols, dtype=torch.bfloat16).to(backend.device)
        weight = torch.randn(cols, dtype=torch.bfloat16).to(backend.device)
        on_cpu = torch.tensor(1e-6)
        on_device = on_cpu.to(torch.bfloat16).to(backend.device)

        def naive(epsilon: torch.Tensor | float) -> torch.Tensor:
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon) * weight

        compiled = backend.compile(naive)
        variants = {
            "naive-cpu-epsilon": lambda: naive(on_cpu),  # copies 4 bytes to the device each call
            "naive-device-epsilon": lambda: naive(on_device),
            "naive-float-epsilon": lambda: naive(1e-6),
            "fused": lambda: torch.rms_norm(x, (cols,), weight, 1e-6),
            "compiled": lambda: compiled(1e-6),
        }
        if recording.host.device == "neuron":
            sys.path.insert(0, str(Path(__file__).parent / "nki"))
            import rmsnorm

            variants["nki"] = lambda: rmsnorm.rmsnorm(x, weight)
        for name, call in variants.items():
            with recording.run(name, params={"rows": rows, "cols": cols}, dtype="bf16") as session:
                session.measure(call)
            print(f"recorded {name}")
    print(f"next: roofline report {out}")


if __name__ == "__main__":
    main()

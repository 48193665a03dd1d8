"""Chrome traces of ``torch.profiler``, with the events that TorchNeuron adds."""

from __future__ import annotations

"""A stand-in for NKI: kernels run on numpy."""

from __future__ import annotations

import os

import numpy as np

from tests.record.numpy_nki import tensor


def jit(kernel):
    """Take a kernel of numpy arrays; ``STANDIN_FAULT`` can make it wrong."""

    def run(*arguments):
        fault = os.environ.get("STANDIN_FAULT", "")
        if fault == "kernel_fails":
            raise RuntimeError("[NCC_IXYZ] the compiler\nrefused the kernel")
        held = [tensor(one) if isinstance(one, np.ndarray) else one for one in arguments]
        found = np.array(kernel(*held))
        return found * 1.5 if fault == "kernel_is_wrong" else found

    return run

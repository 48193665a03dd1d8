"""Element types: canonical keys, sizes, and the one table of other spellings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roofline.errors import WorkError

__all__ = ["DTYPES", "Dtype", "dtype_key", "dtype_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dtype:
    """One element type.

    ``bits`` is the storage of one element; ``scale_block`` elements share ``scale_bits`` bits of
    scale in the microscaling formats (OCP MX v1.0: 32 elements, one 8-bit exponent).
    """

    key: str
    bits: int
    is_float: bool
    scale_block: int = 0
    scale_bits: int = 0

    def bytes_for(self, elements: int) -> int:
        """Return storage in bytes of ``elements`` elements, scales included, rounded up."""
        bits = elements * self.bits
        if self.scale_block:
            bits += -(-elements // self.scale_block) * self.scale_bits
        return -(-bits // 8)


DTYPES: Final = {
    dtype.key: dtype
    for dtype in (
        Dtype(key="fp64", bits=64, is_float=True),
        Dtype(key="fp32", bits=32, is_float=True),
        Dtype(key="tf32", bits=32, is_float=True),  # stored as fp32, multiplied with fewer bits
        Dtype(key="bf16", bits=16, is_float=True),
        Dtype(key="fp16", bits=16, is_float=True),
        Dtype(key="fp8_e3m4", bits=8, is_float=True),
        Dtype(key="fp8_e4m3", bits=8, is_float=True),
        Dtype(key="fp8_e5m2", bits=8, is_float=True),
        Dtype(key="fp8_e8m0", bits=8, is_float=True),  # scales of the microscaling formats
        Dtype(key="fp4_e2m1", bits=4, is_float=True),  # elements whose scales are a tensor apart
        Dtype(key="mxfp8", bits=8, is_float=True, scale_block=32, scale_bits=8),
        Dtype(key="mxfp4", bits=4, is_float=True, scale_block=32, scale_bits=8),
        Dtype(key="int64", bits=64, is_float=False),
        Dtype(key="int32", bits=32, is_float=False),
        Dtype(key="int16", bits=16, is_float=False),
        Dtype(key="int8", bits=8, is_float=False),
        Dtype(key="uint64", bits=64, is_float=False),
        Dtype(key="uint32", bits=32, is_float=False),
        Dtype(key="uint16", bits=16, is_float=False),
        Dtype(key="uint8", bits=8, is_float=False),
        Dtype(key="bool", bits=8, is_float=False),
        Dtype(key="complex64", bits=64, is_float=True),
        Dtype(key="complex128", bits=128, is_float=True),
    )
}
"""Every element type by its canonical key."""

_ALIASES: Final = {
    "float64": "fp64",
    "double": "fp64",
    "float": "fp32",
    "float32": "fp32",
    "f32": "fp32",
    "tfloat32": "tf32",
    "fp32r": "tf32",
    "bfloat16": "bf16",
    "half": "fp16",
    "float16": "fp16",
    "f16": "fp16",
    "float8_e3m4": "fp8_e3m4",
    "fp8_exp3": "fp8_e3m4",
    "float8e3": "fp8_e3m4",
    "fp8": "fp8_e4m3",
    "float8_e4m3": "fp8_e4m3",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3",
    "fp8_exp4": "fp8_e4m3",
    "float8e4": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2",
    "fp8_exp5": "fp8_e5m2",
    "float8e5": "fp8_e5m2",
    "float8_e8m0fnu": "fp8_e8m0",
    "float4_e2m1fn_x2": "fp4_e2m1",
    "long": "int64",
    "long int": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "char": "int8",
    "signed char": "int8",
    "byte": "uint8",
    "unsigned char": "uint8",
    "boolean": "bool",
}


def dtype_key(name: str) -> str:
    """Return the canonical key of a dtype name in any known spelling.

    Accepts torch (``torch.bfloat16``), c10 (``c10::BFloat16``), numpy and vendor spellings.
    Raises ``WorkError`` for an unknown name: an unknown dtype is never a silent size.

    >>> dtype_key("torch.bfloat16"), dtype_key("c10::Half"), dtype_key("FP32")
    ('bf16', 'fp16', 'fp32')
    """
    word = name.strip().lower().removeprefix("torch.").removeprefix("c10::")
    key = word if word in DTYPES else _ALIASES.get(word)
    if key is None:
        raise WorkError(f"unknown dtype {name!r}; known: {', '.join(DTYPES)}")
    return key


def dtype_of(name: str) -> Dtype:
    """Return the ``Dtype`` of a name in any known spelling."""
    return DTYPES[dtype_key(name)]

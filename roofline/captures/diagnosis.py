"""Say what a file is when no reader knows it: the usual mistakes have one clear line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

__all__ = ["diagnose"]

_SIGNATURES: Final = (
    (b"\x1f\x8b", "gzip inside gzip: decompress it once"),
    (b"\xff\xfe", "text in UTF-16: convert it (iconv -f UTF-16 -t UTF-8)"),
    (b"\xfe\xff", "text in UTF-16: convert it (iconv -f UTF-16 -t UTF-8)"),
    (b"PK\x03\x04", "a zip archive: unpack it"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it"),
    (b"\x28\xb5\x2f\xfd", "zstd: decompress it"),
    (b"BZh", "bzip2: decompress it"),
    (b"\xfd7zXZ", "xz: decompress it"),
    (b"PAR1", "one Parquet file: open the folder it is in"),
    (b"\x89HDF", "HDF5: a result, not a capture"),
)
_RAW_SYSTEM: Final = {"ntrace.pb", "trace_info.pb", "cpu_util.pb", "host_mem.pb"}


def diagnose(path: Path, head: bytes) -> str:
    """Return what the content looks like, and what to do about it; empty if nothing is known."""
    for signature, what in _SIGNATURES:
        if head.startswith(signature):
            return what
    if path.name in _RAW_SYSTEM:
        return (
            "a raw system trace, whose layout is not public: convert its folder with "
            "neuron-explorer view -d FOLDER --ingest-only --display-name NAME"
        )
    if head.count(0) > len(head) // 4 and head[:64].count(0) == 32:
        return "text in UTF-16: convert it (iconv -f UTF-16 -t UTF-8)"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return "nothing but white space"
    if text[:1] in b"{[":
        return _json_kind(text)
    if b"," in text.split(b"\n", 1)[0] and path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return "a table: neither a CSV of the Explorer's user interface, nor a capture"
    return ""


def _json_kind(text: bytes) -> str:
    try:
        value, _ = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        first = text[1:].lstrip()[:40].decode("utf-8", "replace")
        return f"JSON, but of something else (it begins with {first!r}) or damaged"
    if not value:
        return "empty JSON"
    kind = "an object" if isinstance(value, dict) else "an array"
    keys = (
        ", ".join(map(str, list(value)[:4])) if isinstance(value, dict) else f"{len(value)} items"
    )
    return f"JSON of something else: {kind} with {keys[:120]}"

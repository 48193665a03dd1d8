"""Start a study: a folder with a study.toml and the file of its variants, ready to fill in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from roofline.clocks import CLOCKS
from roofline.dtypes import dtype_key
from roofline.errors import StudyError
from roofline.hardware.load import load_hardware
from roofline.study.load import FILE_NAME
from roofline.work.closed_form import families

__all__ = ["new_study"]

_HELP: Final = (
    "# mode: how a variant is counted. eager: every operator is a launch; fused: one launch, as a",
    "# kernel of one's own; compiled: every graph is a launch.",
    f"# clock: what a time measures. One of {', '.join(list(CLOCKS)[:4])},",
    f"# {', '.join(name for name in list(CLOCKS)[4:] if name != 'modelled')}.",
)


def new_study(
    folder: Path,
    *,
    op: str,
    params: Mapping[str, Sequence[int]],
    dtypes: Sequence[str],
    variants: Sequence[str],
    hardware: Sequence[str],
) -> tuple[Path, ...]:
    """Write a study without times to a new folder, and return its files.

    Raises ``StudyError`` when the folder holds something, and for names that are not known.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(f"{folder}: is there already; a study is started in a new folder")
    if not params or not dtypes or not variants:
        raise StudyError("a study needs a parameter, a dtype and a variant")
    for name in hardware:
        load_hardware(name)
    keys = [dtype_key(name) for name in dtypes]
    closed = op.replace("-", "_") in families()
    folder.mkdir(parents=True, exist_ok=True)
    files = {FILE_NAME: _toml(folder.name, op, params, keys, variants, hardware, closed=closed)}
    if not closed:
        files["variants.py"] = _python(op, params, variants)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return tuple(folder / name for name in files)


def _toml(
    name: str,
    op: str,
    params: Mapping[str, Sequence[int]],
    dtypes: Sequence[str],
    variants: Sequence[str],
    hardware: Sequence[str],
    *,
    closed: bool,
) -> str:
    pairs = ", ".join(f"{key} = {_one_or_list(value)}" for key, value in params.items())
    several = len(dtypes) > 1 or any(len(value) > 1 for value in params.values())
    title = f"{op}: {' against '.join(variants)}"
    lines = [
        "# What is compared, where its figures are from, and what was measured.",
        "schema_version = 1",
        f"name = {_text(name)}",
        f"title = {_text(title)}",
        f"op = {_text(op)}",
        f"hardware = {_one_or_list(list(hardware), always=True)}",
        "",
        "[[config]]" + ("  # lists stand for all of their combinations" if several else ""),
        f"params = {{ {pairs} }}",
        f"dtype = {_one_or_list(list(dtypes))}",
    ]
    if not closed:
        lines += ["", "[inputs]", 'callable = "variants.py:inputs"']
    lines += [
        "",
        "[sources.mine]",
        'title = "where the times below are from: host, versions, how they were taken"',
    ]
    example = f"{'x'.join(str(value[0]) for value in params.values())} {dtypes[0]}"
    lines += ["", *_HELP]
    for variant in variants:
        lines += ["", "[[variant]]", f"name = {_text(variant)}"]
        if not closed:
            lines.append(f"callable = {_text(f'variants.py:{_identifier(variant)}')}")
        lines += [
            f"mode = {_text(_mode(variant))}",
            "",
            "# [[variant.time]]",
            *([f"# config = {_text(example)}"] if several else []),
            '# time = "38.4 us"  # always with its unit',
            '# clock = "device_execution"',
            "# n = 10",
            "# profiled = false",
            '# source = "mine"',
            "",
            "# [[variant.capture]]",
            *([f"# config = {_text(example)}"] if several else []),
            f"# path = {_text(f'{variant}.ntff')}",
            '# source = "mine"',
        ]
    return "\n".join(lines) + "\n"


def _mode(variant: str) -> str:
    """Return how a variant of this name is likely counted: what is not torch is one launch."""
    return {"naive": "eager", "eager": "eager", "compiled": "compiled"}.get(variant, "fused")


def _python(op: str, params: Mapping[str, Sequence[int]], variants: Sequence[str]) -> str:
    names = ", ".join(f"{_identifier(name)}: int" for name in params)
    shape = ", ".join(_identifier(name) for name in params)
    lines = [
        f'"""Variants of {op}: each takes what ``inputs`` gives."""',
        "",
        "from __future__ import annotations",
        "",
        "import torch",
        "",
        "",
        f"def inputs({names}, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:",
        f"    return (torch.empty({shape}, dtype=dtype),)",
    ]
    for variant in variants:
        lines += [
            "",
            "",
            f"def {_identifier(variant)}(x: torch.Tensor) -> torch.Tensor:",
            f'    raise NotImplementedError("write {variant} here")',
        ]
    return "\n".join(lines) + "\n"


def _identifier(name: str) -> str:
    text = "".join(letter if letter.isalnum() else "_" for letter in name)
    return f"_{text}" if not text or text[0].isdigit() else text


def _one_or_list(values: Sequence[object], *, always: bool = False) -> str:
    texts = [_text(value) if isinstance(value, str) else str(value) for value in values]
    return texts[0] if len(texts) == 1 and not always else f"[{', '.join(texts)}]"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a JSON string is a basic string of TOML

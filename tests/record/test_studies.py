"""Shipped studies recorded on this host: the trace holds what their work counts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roofline.study.callables import count_variant
from roofline.study.load import load_study
from tests.record.process import ROOT

pytestmark = pytest.mark.slow

CONFIGS = {
    "attention-Sx128": "512x128 fp32",
    "layernorm-300x1000-fp32": "300x1000 fp32",
    "rmsnorm-2048xK": "2048x512 bf16",
    "rmsnorm-512x3072-bf16": "512x3072 bf16",
    "softmax-2048xN": "2048x512 fp16",
}
"""Sizes that a CPU runs in a moment; the products of the other studies are too large for that."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """The JSON of the report on each recording, made by one process."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("studies")
    brief = ["--repeats", "1", "--active", "1"]
    jobs = []
    for name, config in CONFIGS.items():
        out = str(folder / name)
        jobs += [
            {"arguments": ["record", name, "-o", out, "--config", config, *brief],
             "environment": {}},
            {"arguments": ["report", out, "--json"], "environment": {}},
        ]  # fmt: skip
    (folder / "jobs.json").write_text(json.dumps(jobs))
    paths = [str(folder / "jobs.json"), str(folder / "results.json")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.record.drive", *paths], capture_output=True, text=True,
        check=False, timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(Path(paths[1]).read_text())
    assert [one["code"] for one in results] == [0] * len(jobs), results
    return {name: json.loads(one["out"]) for name, one in zip(CONFIGS, results[1::2], strict=True)}


@pytest.mark.parametrize("name", CONFIGS)
def test_launches_shapes_and_counts_are_those_of_the_counted_function(
    recorded: dict[str, dict], name: str
) -> None:
    study = load_study(name)
    (config,) = [one for one in study.configs if one.key == CONFIGS[name]]
    runs = recorded[name]["run"]
    expected = [one.name for one in study.variants if one.callable and not one.device]
    assert [run["variant"] for run in runs] == expected
    for run in runs:
        variant = study.variant(run["variant"])
        work = count_variant(study, variant, config)
        assert run["launches"] == work.launches == run["work"]["launches"]
        assert run["work"]["flops"] == work.total_flops
        assert run["work"]["minimal_bytes"] == work.minimal_bytes
        assert run["work"]["dispatched_bytes"] == work.dispatched_bytes
        if variant.mode != "eager":
            continue
        launched = [
            shapes_of(op["shapes"])
            for op in run["trace_launches"]["ops"]
            for _ in range(op["launches"])
        ]
        counted = [
            shapes_of(str([list(shape) for shape, _ in op.inputs]).replace(" ", ""))
            for op in work.ops
            if op.family != "view"
        ]
        assert sorted(launched) == sorted(counted)


def shapes_of(text: str) -> str:
    """Shapes of tensors: without scalars, which a trace lists as [], and batches of one."""
    return re.sub(r"\[(1,)+(?=\d)", "[", text.replace(",[]", ""))

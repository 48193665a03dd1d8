from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.cli.main import main

KERNELS = """
import torch
import torch.nn.functional as F
from torch import nn

def naive(x, w, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Sequential(nn.Linear(16, 4), nn.ReLU())

    def forward(self, x):
        return self.second(self.first(x))

net = Net()
number = 7

def unknown(x):
    return torch.special.bessel_j0(x)

def picky(x):
    raise ValueError("not today,\\nnot here")
"""
NORM = ("--arg", "x=4x512:bf16", "--arg", "w=512:bf16", "--arg", "eps=1e-6")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "counted_kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["count", *args])
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("mode", "dispatched", "launches"), [("eager", 33_840, 6), ("compiled", 9_216, 1)]
)
def test_json(run, mode: str, dispatched: int, launches: int):
    code, out, err = run("counted_kernels.py:naive", *NORM, "--mode", mode, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["flops"] == 8_200
    assert found["dispatched_bytes"] == dispatched
    assert found["minimal_bytes"] == 9_216
    assert found["launches"] == launches
    assert found["intensity_minimal_flop_per_byte"] == pytest.approx(0.890, abs=5e-4)
    assert found["coverage"] == {"counted_ops": 6, "unknown_ops": 0}
    assert found["conventions"]
    assert sum(row["flops"] for row in found["rows"]) == 8_200


def test_text_and_classes(run):
    code, out, _ = run("counted_kernels.py:naive", *NORM, "--by", "class")
    assert code == 0
    assert "33,840" in out
    assert "reduction" in out
    assert "conventions: a multiply-accumulate is 2 FLOP" in out


def test_host_scalars_are_listed(run):
    _, out, _ = run("counted_kernels.py:naive", *NORM[:4], "--arg", "eps=scalar:fp32@cpu")
    assert "4 B of scalars on the CPU" in out


@pytest.mark.parametrize("target", ["counted_kernels.py:net", "counted_kernels.py:Net"])
def test_modules_form_a_tree(run, target: str):
    code, out, _ = run(target, "--arg", "input=3x8:fp32", "--by", "module", "--json")
    if code:  # forward names its argument x
        code, out, _ = run(target, "--arg", "x=3x8:fp32", "--by", "module", "--json")
    rows = {row["name"]: row["flops"] for row in json.loads(out)["rows"]}
    assert code == 0
    assert rows["first"] == 2 * 3 * 8 * 16 + 3 * 16
    assert rows["second"] == rows["second.0"] + rows["second.1"]
    assert rows[""] == rows["first"] + rows["second"]


def test_unknown_operators(run):
    arguments = ("counted_kernels.py:unknown", "--arg", "x=4:fp32")
    code, out, _ = run(*arguments)
    assert code == 0
    if "PARTIAL" in out:  # torch may tag it as pointwise
        assert "bessel_j0" in out
        assert run(*arguments, "--strict")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("counted_kernels",), "not MODULE:FUNCTION"),
        (("no_such_module:f",), "cannot import no_such_module"),
        (("nowhere.py:f",), "no such file"),
        (("counted_kernels.py:absent",), "it has"),
        (("counted_kernels.py:number",), "not callable"),
        (("counted_kernels.py:naive", "--arg", "x"), "not NAME=VALUE"),
        (("counted_kernels.py:naive", "--arg", "x=4x5:float7"), "unknown dtype"),
        (("counted_kernels.py:naive", "--arg", "x=:bf16"), "SHAPE:DTYPE"),
        (("counted_kernels.py:naive", "--arg", "x=4:bf16", "--arg", "x=4:bf16"), "given twice"),
        (("counted_kernels.py:naive", "--arg", "x=4x5:bf16"), "missing"),
        (("counted_kernels.py:picky", "--arg", "x=4:bf16"), "not today, not here"),
        (("counted_kernels.py:picky", "--arg", "x=4:bf16", "--mode", "fast"), "fast"),
    ],
)
def test_bad_input_is_one_line_and_code_2(run, arguments: tuple[str, ...], words: str):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err

"""The decoder agrees with the vendor's tool on every public pair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from roofline.captures.agreement import find_pairs, total_checks, verify_pair
from roofline.cli.main import cli
from roofline.errors import CaptureError

TABLES = ("instructions", "semaphores", "dma", "active", "throttle")


@pytest.mark.shared
def test_agrees_with_vendor_output(shared: Path) -> None:
    pairs = find_pairs(shared / "captures")
    agreements = [verify_pair(*pair) for pair in pairs]
    assert len(pairs) >= 21
    for agreement in agreements:
        for check in agreement.checks:
            assert check.agrees, (agreement.ours, check)
            if check.name in TABLES:
                assert check.equal == check.compared > 0 or check.name == "throttle"
    totals = {check.name: check for check in total_checks(agreements)}
    for name in TABLES:
        assert totals[name].equal == totals[name].compared > 0
    # what is left of the text are names of planned queues
    assert totals["operands"].equal > 0.99 * totals["operands"].compared
    assert totals["summary"].equal > 0.8 * totals["summary"].compared


@pytest.mark.shared
def test_command_prints_table_and_gate(shared: Path) -> None:
    result = CliRunner().invoke(cli, ["verify", str(shared / "captures/trn2-v6-attention")])
    assert result.exit_code == 0
    assert "5 of 5 traces agree" in result.output
    trace = shared / "captures/trn2-v6-attention/fused_bf16_s512.ntff"
    other = shared / "captures/trn2-v6-attention/fused_bf16_s1024.json.gz"
    result = CliRunner().invoke(cli, ["verify", str(trace), str(other), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.output)["agrees"] is False


def test_no_pair_is_said(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no trace with the vendor's output"):
        find_pairs(tmp_path)

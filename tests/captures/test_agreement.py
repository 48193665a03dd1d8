"""The decoder agrees with the vendor's tool on every public pair."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from roofline.captures.agreement import find_pairs, total_checks, verify_pair
from roofline.captures.export.explorer import write_explorer
from roofline.captures.registry import open_capture
from roofline.cli.main import cli
from roofline.errors import CaptureError
from tests.captures.ntff.test_hostile import sample

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


def test_agrees_with_its_own_export_and_sees_a_change(tmp_path: Path) -> None:
    trace = tmp_path / "kernel.ntff"
    trace.write_bytes(sample(6))
    write_explorer(open_capture(trace, "vendor"), tmp_path / "tables")
    agreement = verify_pair(trace, tmp_path / "tables")
    assert agreement.agrees
    assert {check.name for check in agreement.checks} >= {*TABLES, "operands", "summary"}
    table = pq.read_table(tmp_path / "tables/DmaPacket.parquet")
    changed = pc.add(table["crc"], pa.array([1] + [0] * (table.num_rows - 1)))
    index = table.column_names.index("crc")
    pq.write_table(table.set_column(index, "crc", changed), tmp_path / "tables/DmaPacket.parquet")
    (dma,) = (c for c in verify_pair(trace, tmp_path / "tables").checks if c.name == "dma")
    assert (dma.compared, dma.equal, dma.agrees) == (table.num_rows, table.num_rows - 1, False)


def test_no_pair_is_said(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no trace with the vendor's output"):
        find_pairs(tmp_path)

"""Build Explorer Parquet folders from the documented schema 7.4.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")


def tables(rows: int = 40) -> dict[str, pa.Table]:
    """One profile of a logical core with two physical cores, in the vendor's spelling."""
    index = list(range(rows))
    return {
        "Metadata": pa.table(
            {
                "profile_schema_version": ["7.4.0"],
                "ntff_version": pa.array([6], pa.int32()),
                "num_physical_cores": pa.array([2], pa.int32()),
                "vnc_enabled": [True],
                "hbm_ddr_bandwidth": [716e9],
                "instance_type": ["trn2.3xlarge"],
                "explorer_version": ["2.31.0"],
                "is_simulation": [False],
            }
        ),
        "Summary": pa.table(
            {
                "total_time": [4.0e-6],
                "vector_engine_active_time": [2.0e-6],
                "vector_engine_active_time_percent": [0.5],
                "transpose_flops": [float("nan")],
                "model_flops": [-1],
                "hbm_read_bytes": [4096],
            }
        ),
        "Warning": pa.table({"message": ["no DGE"], "category": ["Missing Data"]}),
        "NeffHeader": pa.table({"uuid": ["00ff"], "pcore_count_per_lnc": [2]}),
        "Instruction": pa.table(
            {
                "start_ts": [100 * i for i in index],
                "end_ts": [100 * i + 57 for i in index],
                "duration_ns": [57] * rows,
                "engine": [ENGINES[i % 5] for i in index],
                "timeline_track": ["TensorMatrix" if i % 5 == 0 else None for i in index],
                "pcore_idx": [i % 2 for i in index],
                "opcode": ["MATMUL" if i % 5 == 0 else "ACTIVATE" for i in index],
                "operands": [f"src=fp16@0x{i:x}[1,0,0][3,1,1]" for i in index],
                "id": [2**61 + i for i in index],
                "pc": index,
                "bir_id": [f"sg00:{i}" for i in index],
                "raw_flops": pa.array([2.0 * i if i % 5 == 0 else float("nan") for i in index]),
                "new_in_13_0": [f"v{i % 3}" for i in index],
            }
        ),
        "DmaPacket": pa.table(
            {
                "start_ts": [50 * i for i in index],
                "end_ts": [50 * i + 30 for i in index],
                "duration_ns": [30] * rows,
                "transfer_bytes": [512] * rows,
                "queue_type": ["input" if i % 2 else "unknown" for i in index],
                "packet_aggregation_id": [i // 4 for i in index],
                "engine_idx": [i % 16 for i in index],
            }
        ),
        "DmaPacketAggregated": pa.table(
            {
                "start_ts": [200 * i for i in range(rows // 8)],
                "end_ts": [200 * i + 180 for i in range(rows // 8)],
                "id": list(range(rows // 8)),
                "source": ["[[INPUT]]", "[[SB]]"] * (rows // 16) + ["unknown"] * (rows // 8 % 2),
                "dest": ["[SB]"] * (rows // 8),
                "transfer_bytes": [2048] * (rows // 8),
            }
        ),
        "ActiveTime": pa.table(
            {
                "start_ts": [0, 100],
                "end_ts": [50, 157],
                "duration_ns": [50, 57],
                "engine": ["tensor", "vector"],
                "pcore_idx": [0, 1],
            }
        ),
        "SemaphoreUpdate": pa.table(
            {"timestamp": [1, 2], "id": ["7", "8"], "value": pa.array([1, 2], pa.int32())}
        ),
    }


def write_folder(
    folder: Path, content: Mapping[str, pa.Table], row_group_size: int | None = None, **files: Any
) -> Path:
    """Write one file a table (``Name_0`` and so on when the value is a list of tables)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in {**content, **files}.items():
        parts = table if isinstance(table, list) else [table]
        for number, part in enumerate(parts):
            suffix = f"_{number}" if isinstance(table, list) else ""
            pq.write_table(part, folder / f"{name}{suffix}.parquet", row_group_size=row_group_size)
    return folder

"""Write a small kernel as an Explorer Parquet folder: a load, then matmuls and copies in turns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

matmul = "src=bfloat16@0x100[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*128 "
copy = (
    "src=fp32@0x2000000[1,1,1,1][512,1,1,1] dst=bfloat16@0x9000[1,1,1,1][512,1,1,1] channels=128 "
)
load = (
    " semaphore=24 sem_increment=16  src_elem_size=1024 dst_elem_size=1024 "
    "src_pattern=[1024,1][128,1] dst_pattern=[262144,1][128,1] src_table_offset_imm=0x0 "
    "src_table_index=0 src_shape_reg=0 dst_addr_imm=0x802000036600 dst_shape_reg=0 "
)
rows = [("Sync", "DMA_DIRECT2D", 0, 560, load)]
updates = [(2600, "24", 16)]
for step in range(4):
    begin = 3000 + 1500 * step
    wait = "S[24] (qSyncDynamicHW)>=16" if step == 0 else f"S[6] (Vector)>={step}"
    rows.append(
        ("Tensor", "MATMUL", begin, begin + 380, f"{wait} S[5] (Tensor)++@complete {matmul}")
    )
    updates.append((begin + 380, "5", step + 1))
    rows.append(
        (
            "Vector",
            "COPY",
            begin + 420,
            begin + 1100,
            f"S[5] (Tensor)>={step + 1} S[6] (Vector)++@complete {copy}",
        )
    )
    updates.append((begin + 1100, "6", step + 1))
packets = [(1900 + 40 * at, 2240 + 40 * at, 8192, at % 16) for at in range(16)]

folder = Path("kernel")
folder.mkdir()
pq.write_table(
    pa.table(
        {
            "engine": [row[0] for row in rows],
            "opcode": [row[1] for row in rows],
            "start_ts": [row[2] for row in rows],
            "end_ts": [row[3] for row in rows],
            "operands": [row[4] for row in rows],
        }
    ),
    folder / "Instruction.parquet",
)
pq.write_table(
    pa.table(
        {
            "start_ts": [row[0] for row in packets],
            "end_ts": [row[1] for row in packets],
            "transfer_bytes": [row[2] for row in packets],
            "engine_idx": [row[3] for row in packets],
            "queue_name": ["qSyncDynamicHW"] * 16,
            "queue_type": ["hardware_dynamic"] * 16,
        }
    ),
    folder / "DmaPacket.parquet",
)
pq.write_table(
    pa.table(
        {
            "timestamp": [row[0] for row in updates],
            "id": [row[1] for row in updates],
            "value": [row[2] for row in updates],
        }
    ),
    folder / "SemaphoreUpdate.parquet",
)
pq.write_table(
    pa.table({"instance_type": ["trn1.2xlarge"], "total_time": [12e-6]}),
    folder / "Summary.parquet",
)

"""Build full-profile JSON documents in the vendor's layout."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")


def profile(
    rows: int = 50, *, cores: int = 2, aggregated: int = 3, seed: int = 7
) -> dict[str, list[dict[str, Any]]]:
    """A document with every section that the reader decodes; keys in random order."""
    rng = random.Random(seed)

    def shuffled(record: dict[str, Any]) -> dict[str, Any]:
        keys = list(record)
        rng.shuffle(keys)
        return {key: record[key] for key in keys}

    def core(index: int) -> dict[str, Any]:
        return {"subgraph": f"sg{index % cores:02d}"} if cores > 1 else {}

    instruction = []
    for index in range(rows):
        record: dict[str, Any] = {
            "timestamp": 100 * index,
            "duration": rng.randrange(300),
            "evt_wait_time": rng.randrange(50),
            "opcode": rng.choice(("ACTIVATE", "MATMUL", "DRAIN")),
            "label": rng.choice(ENGINES),
            "operands": f' src=fp16@0x5600[1,0,0][3,1,1] "q" }},{{"timestamp":1,{index} ',
            "id": rng.randrange(2**62),
            "pc": index,
            "instruction_type": "",
            "activation_fn": "",
            **core(index),
        }
        record["subgroup"] = record["label"]
        if record["opcode"] == "MATMUL":
            record |= {"label": "TensorMatrix", "subgroup": "Tensor", "elements": 128 * index}
            record["instruction_type"] = rng.choice(("REGULAR", "TRANSPOSE"))
        if index % 3 == 0:
            record["predecessors"] = [
                {"id": rng.randrange(2**62), "type": "FLOW_DEPENDENCE"} for _ in range(4)
            ]
        instruction.append(shuffled(record))
    dma = [
        shuffled(
            {
                "timestamp": 50 * index,
                "duration": rng.randrange(1, 900),
                "transfer_size": 4096,
                "read_size": 4096,
                "write_size": 4096,
                "transfer_rate": 19450300000,
                "dma_engine": str(index % 16),
                "dma_queue": str(index % 4),
                "queue_type": "software_dynamic",
                "source": [[rng.choice(("unknown", "INPUT", "WEIGHT"))]],
                "dest": [rng.choice(("unknown", "SB"))],
                "subgroup": rng.choice((f"Q0-E{index % 16}", f"qSyncIO0-Q1-E{index % 16}")),
                "semaphore_id": "-1",
                "variable": "unknown",
                "aggregated": "yes" if index < aggregated else "no",
                "is_cc_dma": "no",
                "duplicate": "no",
                "id": index,
                "packet_idx": index,
                "packet_aggregation_id": index // 4,
                **core(index),
            }
        )
        for index in range(rows)
    ]
    moved = sum(row["transfer_size"] for row in dma if row["aggregated"] == "no")
    return {
        "summary_group_order": [{"a": "1"}],
        "instruction": instruction,
        "metadata": [
            {
                "hbm_ddr_bandwidth": 716000000000,
                "pe_num_rows": 128,
                "pe_clock_freq": 2.4,
                "num_physical_cores": cores,
                "vnc_enabled": cores > 1,
                "ntff_version": 6,
                "is_simulation": False,
            }
        ],
        "dma": dma,
        "semaphore_update": [
            {"timestamp": 10 * i, "id": str(i % 8), "value": i, **core(i)} for i in range(rows)
        ],
        "active_time": [
            {
                "engine": ENGINES[i % 5].lower(),
                "pcore_idx": i % cores,
                "start_ts": 10 * i,
                "end_ts": 10 * i + 7,
                "duration_ns": 6,
            }
            for i in range(rows)
        ],
        "ham": [{"timestamp": 5, "duration": 9, "k": 4, "n": 8, "type": 1, **core(0)}],
        "neff_node": [
            {"type": "", "format": "", "shape": "", "node": "3", "variable_name": ""},
            {
                "type": "IN",
                "format": "NC",
                "shape": "[4 512]",
                "size": "4096",
                "variable_name": "x",
            },
        ],
        "neff_header": [{"uuid": "00ff", "network_name": "k.neff"}],
        "summary": [
            {
                "instance_type": "trn2.3xlarge",
                "total_time": 1e-4,
                "static_dma_size": moved,
                "transpose_flops": -1,
                "mfu_estimated_percent": 0.25,
                "profiler_version": "2.28.23.0",
            }
        ],
        "warnings": [{"category": "Missing Data", "message": "Missing HLO stats in the NEFF"}],
    }


def write_json(
    folder: Path, document: Any, name: str = "ntff.json", indent: int | None = None
) -> Path:
    """Write a document as compact, indented or gzip JSON, and return the path."""
    path = folder / name
    text = json.dumps(document, separators=(",", ":") if indent is None else None, indent=indent)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path

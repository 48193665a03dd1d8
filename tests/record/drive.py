"""Run many command lines in one process, so that torch and the stand-in are imported once.

    python -m tests.record.drive JOBS RESULTS

``JOBS`` is a JSON list of ``{"arguments": [...], "environment": {...}}``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from roofline.cli.main import main

SET = ("NEURON_", "TORCH_NEURONX_", "XLA_", "NKI_", "STANDIN_")


def run(arguments: list[str], environment: dict[str, str]) -> dict[str, object]:
    for name in [name for name in os.environ if name.startswith(SET)]:
        del os.environ[name]
    os.environ.update(environment)
    neuron = sys.modules.get("torch_neuronx")
    if neuron is not None:
        neuron.synchronized_at_ns.clear()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stop:
            code = stop.code
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    jobs, results = map(Path, sys.argv[1:])
    found = [run(job["arguments"], job["environment"]) for job in json.loads(jobs.read_text())]
    results.write_text(json.dumps(found))

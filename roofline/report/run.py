"""Report on paths: the one function behind ``roofline report``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from roofline.errors import StudyError
from roofline.record.manifest import has_manifest, write_text
from roofline.record.measured import measured_study
from roofline.report.blocks import Block
from roofline.report.data import study_json, to_json
from roofline.report.study_blocks import summary_blocks
from roofline.report.terminal import to_text
from roofline.study.evaluate import StudyResult, evaluate
from roofline.study.load import is_study, list_studies, load_study
from roofline.study.study import Study

__all__ = ["report", "study_result"]


def report(
    paths: Sequence[str],
    *,
    output: Path | None = None,
    as_json: bool = False,
    hardware: str | None = None,
    lnc: int | None = None,
    window: str = "body",
    preset: str = "vendor",
    trust: bool = False,
    width: int = 80,
) -> Iterator[str]:
    """Yield the text to print for each path, writing its files first where ``output`` is given.

    With several paths each report goes to a folder of ``output`` named after its study.
    """
    results = []
    for path in paths:
        study = measured_study(path) if has_manifest(path) else None
        result = None
        if study is not None or not has_manifest(path):
            result = study_result(
                path,
                hardware=hardware,
                lnc=lnc,
                window=window,
                preset=preset,
                trust=trust,
                study=study,
            )
        if has_manifest(path):
            yield from _recording(path, output, result, as_json=as_json)
        # the JSON of a recording holds the report on its times
        if result is not None and not (as_json and has_manifest(path)):
            results.append(result)
    if as_json and len(results) > 1:
        yield to_json({"reports": [study_json(result) for result in results]})
    for result in results:
        written: tuple[Path, ...] = ()
        if output is not None:
            from roofline.report.study_report import write_study_report

            folder = output if len(results) == 1 else output / result.study.name
            written = write_study_report(result, folder)
        if as_json:
            if len(results) == 1:
                yield to_json(study_json(result))
            continue
        blocks: list[Block] = summary_blocks(result)
        yield to_text(blocks, width=width)
        if written:
            names = ", ".join(path.name for path in written)
            yield f"\n{written[0].parent}: {names}\n"


def _recording(
    path: str, output: Path | None, result: StudyResult | None, *, as_json: bool
) -> Iterator[str]:
    """Yield the text of a recorded folder; with ``output`` also write it there, with its data."""
    from roofline.report.recording import recording_record, recording_text

    record = recording_record(path)
    if result is not None:
        record["report"] = study_json(result)
    text, data = recording_text(path) + "\n", to_json(record)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_text(output / "recording.txt", text)
        write_text(output / "recording.json", data)
    yield data if as_json else text


def study_result(
    path: str,
    *,
    hardware: str | None = None,
    lnc: int | None = None,
    window: str = "body",
    preset: str = "vendor",
    trust: bool = False,
    study: Study | None = None,
) -> StudyResult:
    """Return the result of the study at a path, with measured curves of its operator behind it.

    ``study`` is one that is already loaded.
    """
    if study is None and not is_study(path):
        raise StudyError(
            f"{path}: not a study; give a folder with study.toml or one of "
            f"{', '.join(list_studies())}"
        )
    study = study or load_study(path)
    return evaluate(
        study,
        hardware=hardware,
        lnc=lnc,
        preset=preset,
        window=window,
        trust=trust,
        context=_context(study),
    )


def _context(study: Study) -> Study | None:
    """Return a shipped study of the same operator over many sizes, drawn behind this one."""
    for name in list_studies():
        other = load_study(name)
        if other.op == study.op and other.name != study.name and len(other.configs) > 1:
            return other
    return None

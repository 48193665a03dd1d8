from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOMS = (
    "hardware",
    "captures",
    "work",
    "analysis",
    "model",
    "study",
    "record",
    "plots",
    "report",
    "cli",
)


def _imported_rooms(file: Path) -> set[str]:
    """Rooms that a module imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "roofline" and len(parts) > 1 and parts[1] in ROOMS:
                found.add(parts[1])
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_above_it(root: Path, room: str) -> None:
    below = set(ROOMS[ROOMS.index(room) + 1 :])
    wrong = {
        str(file.relative_to(root)): sorted(rooms)
        for file in (root / "roofline" / room).rglob("*.py")
        if (rooms := _imported_rooms(file) & below)
    }
    assert wrong == {}


def test_top_modules_import_from_no_room(root: Path) -> None:
    wrong = {
        file.name: sorted(rooms)
        for file in (root / "roofline").glob("*.py")
        if file.stem not in ("__init__", "__main__", "testing") and (rooms := _imported_rooms(file))
    }
    assert wrong == {}


def test_no_eval_and_no_pyplot(root: Path) -> None:
    """Text of users is parsed, never run; figures share no global state."""
    found = []
    for file in (root / "roofline").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = (
                node.func.id
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                else ""
            )
            taken = getattr(node, "module", None) or ""
            names = {
                alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)
            }
            if called in ("eval", "exec") or "pyplot" in taken or any("pyplot" in n for n in names):
                found.append(f"{file.relative_to(root)}:{getattr(node, 'lineno', 0)}")
    assert found == []

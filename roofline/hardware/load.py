"""Find a hardware model by name, instance or path, and see it from one logical core."""

from __future__ import annotations

import tomllib
import warnings
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from roofline.errors import HardwareModelError
from roofline.hardware.model import Hardware
from roofline.hardware.parse import Model, parse_model
from roofline.resources import shipped
from roofline.textfile import read_text

__all__ = [
    "GROUP",
    "known_names",
    "list_models",
    "load_hardware",
    "model_of_instance",
    "models_of_core",
    "read_model",
]

GROUP: Final = "roofline.hardware"
"""Entry point group of models from other packages: each entry is the path of a TOML file."""


_IGNORED: Final = str.maketrans("", "", "-_ ")


def load_hardware(
    name_or_path: str | Path,
    *,
    lnc: int | None = None,
    working_cores: int | None = None,
    neighbours_busy: bool = False,
) -> Hardware:
    """Return a chip generation as one logical core sees it.

    ``name_or_path`` is a model (``trn2``), chip (``Trainium2``), core (``NeuronCore-v3``, ``v3``)
    or instance name (``trn2.48xlarge``), or the path of a TOML file. ``lnc`` is the number of
    physical cores in the logical core (the model's default if not given), ``working_cores`` how
    many of them work (all of them if not given), ``neighbours_busy`` whether other cores load the
    same HBM stack. Raises ``HardwareModelError`` for anything unknown, listing what is known.
    """
    path = _find(name_or_path)
    model = read_model(path)
    choices = tuple(
        int(number.value)
        for key, number in model.values.items()
        if key.startswith("lnc.choices_count.")
    )
    lnc = int(model.values["lnc.default_count"].value) if lnc is None else lnc
    if lnc not in choices:
        known = ", ".join(map(str, choices))
        raise HardwareModelError(f"{model.name}: no LNC {lnc}; known: {known}")
    working_cores = lnc if working_cores is None else working_cores
    if not 1 <= working_cores <= lnc:
        raise HardwareModelError(
            f"{model.name}: {working_cores} working cores; LNC {lnc} has 1 to {lnc}"
        )
    return Hardware(
        name=model.name,
        chip=model.chip,
        generation=model.generation,
        instances=model.instances,
        cores_per_chip=int(model.values["chip.cores_count"].value),
        lnc=lnc,
        lnc_choices=choices,
        working_cores=working_cores,
        neighbours_busy=neighbours_busy,
        values=model.values,
        modes=model.modes,
        path=str(path),
    )


def read_model(path: str | Path) -> Model:
    """Return the checked content of a model file; errors name the file and the key."""
    path = Path(path)
    try:
        stamp = path.stat().st_mtime_ns
    except OSError as error:
        raise HardwareModelError(f"{path}: {error.strerror or error}") from error
    return _read(path, stamp)


@lru_cache(maxsize=64)
def _read(path: Path, stamp: int) -> Model:  # noqa: ARG001 - the stamp makes an edited file new
    try:
        data = tomllib.loads(read_text(path, HardwareModelError))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise HardwareModelError(f"{path}: not a TOML file: {error}") from error
    return parse_model(data, path.name)


def list_models() -> tuple[Path, ...]:
    """Return the model files that are known by name: shipped ones, then those of plugins."""
    found = {path.stem: path for path in sorted(shipped("hw_models").glob("*.toml"))}
    for entry in entry_points(group=GROUP):
        try:
            path = Path(entry.load())
            name = read_model(path).name
            if name in found:
                raise ValueError(f"the name {name!r} is taken")  # noqa: TRY301 - one path for all faults
        except Exception as error:  # a plugin may fail in any way
            warnings.warn(
                f"hardware plugin {entry.name!r} is skipped: {error}", RuntimeWarning, stacklevel=2
            )
        else:
            found[name] = path
    return tuple(found.values())


def known_names() -> dict[str, Path]:
    """Return every name a model answers to, in lower case, and its file.

    A core that two chips share (``NeuronCore-v2``) means the model that has it as an alias.
    """
    models = [(path, read_model(path)) for path in list_models()]
    names: dict[str, Path] = {}
    for path, model in models:
        for name in (model.name, model.chip, *model.instances, *model.aliases):
            names.setdefault(name.lower(), path)
    for path, model in models:
        for name in (model.core, model.generation):
            names.setdefault(name.lower(), path)
    return names


def model_of_instance(instance: str) -> str | None:
    """Return the model of an EC2 instance type, also of a size that it does not list.

    A family's letters for its network and its pods (``n``, ``u``) do not matter. ``None`` where
    no model has the family.

    >>> model_of_instance("trn2u.48xlarge"), model_of_instance("trn3.4xlarge")
    ('trn2', 'trn3')
    """
    family = _family(instance)
    for path in list_models():
        model = read_model(path)
        if family in {_family(name) for name in (model.name, *model.instances)}:
            return model.name
    return None


def models_of_core(name: str) -> tuple[str, ...]:
    """Return the models whose core a name means, as compilers name it: ``sunda``, ``v3``.

    >>> models_of_core("cayman"), models_of_core("p5")
    (('trn2',), ())
    """
    models = [read_model(path) for path in list_models()]
    wanted = _plain(name)
    cores = {
        model.core
        for model in models
        if wanted in map(_plain, (*model.aliases, model.core, model.generation))
    }
    return tuple(model.name for model in models if model.core in cores)


def _family(instance: str) -> str:
    return instance.strip().lower().split(".")[0].rstrip("nu")


def _find(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".toml") or "/" in text:
        return Path(name_or_path)
    direct = shipped("hw_models") / f"{text}.toml"
    if direct.is_file():
        return direct
    names = known_names()
    found = {_plain(name): path for name, path in names.items()}.get(_plain(text))
    if found is None:
        known = ", ".join(names)
        raise HardwareModelError(
            f"unknown hardware {text!r}; known: {known}, or the path of a TOML file"
        )
    return found


def _plain(name: str) -> str:
    """Return a name as names are compared: ``NeuronCore-v3`` as ``neuroncorev3``."""
    return name.lower().translate(_IGNORED)

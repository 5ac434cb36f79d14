"""Values of options for tests. Called by: test_option_table.py, test_settings.py."""

from __future__ import annotations

from pathlib import Path

from jitc.ops.options.table import Option
from jitc.ops.options.values import Choice, File, Flag, Folder, Number, Percent, Seconds, Size


def other_value(option: Option, folder: Path) -> str:
    """One that is accepted and is not the default, as it is written."""
    values, file = option.values, folder / f"lib{option.name}.so"
    file.touch()
    if isinstance(values, Number | Seconds | Size):
        return f"{values.most if option.default == values.least else values.least}"
    if isinstance(values, Choice):
        return next(one for one in values.words if one != option.default)
    return {Percent: "2.5", Flag: "", Folder: str(folder), File: str(file)}[type(values)]

"""The table of environment variables is complete: each of jitc's that the product's sources read is one of an option or
of proxy/commands/variables.py (and so of docs/cli.md), and each that is listed there is read."""

from __future__ import annotations

import re

from toolkit.texts import texts
from toolkit.tree import ROOT, tracked

from jitc.proxy.commands.settings.setting import SERVICE_SETTINGS
from jitc.proxy.commands.variables import VARIABLES

PRODUCT = ("client_shim", "examples", "interpose", "protos", "proxy")
TABLE = "proxy/commands/variables.py"
NAME = re.compile(r"JITC_[A-Z0-9_]*")
#: Beginnings of names, by the file that has them: why this is no variable that is read.
BEGINNINGS = {
    "proxy/commands/doctor/installation.py": "tells a user's variables from those of jitc's own tests",
    "proxy/commands/settings/setting.py": "the variables of options, from the options' table",
    "proxy/commands/support/collect.py": "all of them are in a support bundle",
    "proxy/node/workers/environment.py": "which of them the worker of another user gets",
}


def names() -> dict[str, set[str]]:
    """Each name, or beginning of names, that is a whole text of the sources, with the files that have it."""
    found: dict[str, set[str]] = {}
    for path in tracked(*(f"{top}/*{suffix}" for top in PRODUCT for suffix in (".py", ".cpp", ".h"))):
        place = str(path.relative_to(ROOT))
        for one in texts(path):
            if NAME.fullmatch(one) and place != TABLE:
                found.setdefault(one, set()).add(place)
    return found


FOUND = names()
LISTED = {name for one in VARIABLES for name in one.names if name.startswith("JITC_")}
OF_OPTIONS = {one.variable for one in SERVICE_SETTINGS}


def test_each_variable_that_is_read_is_in_a_table() -> None:
    read = {name: files for name, files in FOUND.items() if not name.endswith("_")}
    assert len(read) > 10
    assert {name: files for name, files in read.items() if name not in LISTED | OF_OPTIONS} == {}


def test_names_are_put_together_in_a_few_files_alone() -> None:
    """Such names a search does not find."""
    beginnings = {place for name, files in FOUND.items() if name.endswith("_") for place in files}
    assert beginnings == set(BEGINNINGS)


def test_each_variable_of_the_table_is_read() -> None:
    assert {name for name in LISTED - OF_OPTIONS if name not in FOUND} == set()


def test_the_page_has_both() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    rows = re.search(r"<!-- generated: variables -->\n(.*)<!-- end of variables -->", page, re.DOTALL)
    assert rows and {name for name in LISTED if f"`{name}" not in rows[1]} == set()
    assert set(NAME.findall(page)) - {"JITC_"} <= LISTED | OF_OPTIONS

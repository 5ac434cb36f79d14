"""One defect: a text of a file, what it is replaced by, and the tests that must fail then.

Called by: the lists in catalogue/, command.py, test_mutants_exist.py. Promise: a mutant whose text is not in its file
exactly once is never run as something else: content() raises Stale.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolkit.tree import ROOT


class Stale(Exception):
    """The text is not what the file has: the mutant must be written anew."""


@dataclass(frozen=True)
class Mutant:
    name: str
    says: str  # what a user would meet
    file: str
    text: str  # whole words of the file; it is there once
    instead: str
    tests: tuple[str, ...]  # as pytest is given them; each of them must fail

    def content(self) -> str:
        """The file with the defect. Raises Stale."""
        path = ROOT / self.file
        source = path.read_text() if path.is_file() else ""
        if (times := source.count(self.text)) != 1:
            raise Stale(f"{self.name}: its text is {times} times in {self.file}, not once")
        return source.replace(self.text, self.instead)

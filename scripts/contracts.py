"""make contracts SINCE=COMMIT: what others rely on is what it was at that commit: nothing of it has changed or gone.

    contracts.py COMMIT

Compares the exported symbols, the ids and layouts of ops, the kinds of journal records, the fields of gRPC messages,
the command line's options, the exit codes and the fields of JSON documents. What was only added is counted. Versions of
formats are shown side by side.

Called by: whoever has moved code. Promise: reads the two trees, changes nothing. Exit status 1: something has changed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Name -> what is said of it.
Contract = dict[str, str]
#: A field that is sent no more, and whose number no other field may get: protobuf's own way to take one out.
RETIRED = "reserved"
FORMATS = ("PROTOCOL_VERSION", "BOARD_VERSION", "JOURNAL_VERSION", "WORKER_VERSION", "FORMAT_VERSION")


class Tree:
    """The files of a commit, or of the working tree (no commit)."""

    def __init__(self, commit: str = "") -> None:
        self._commit = commit
        command = ["git", "ls-tree", "-r", "--name-only", commit] if commit else ["git", "ls-files"]
        self.names = _run(command).split()

    def read(self, name: str) -> str:
        return _run(["git", "show", f"{self._commit}:{name}"]) if self._commit else (ROOT / name).read_text()

    def texts(self, pattern: str) -> Iterator[str]:
        """Returns the texts of the files whose names match."""
        return (self.read(name) for name in self.names if re.search(pattern, name))


def _run(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _flat(text: str) -> str:
    return " ".join(re.sub(r"//[^\n]*", "", text).split())


def symbols(tree: Tree) -> Contract:
    """Exported by the libraries that are loaded in place of NVIDIA's."""
    maps = " ".join(re.sub(r"/\*.*?\*/|#[^\n]*", "", one, flags=re.DOTALL) for one in tree.texts(r"\.map$"))
    return dict.fromkeys(re.findall(r"[\w*]+(?=;)", maps), "exported")


def ops(tree: Tree) -> Contract:
    """Each op's id, and the layout of its operands."""
    text = next(tree.texts(r"/generated_ops\.h$"))
    ids = re.search(r"enum class OpId[^{]*\{(.*?)\}", text, re.DOTALL)
    layouts = re.findall(r"^struct (\w+)[^{;\n]*\{(.*?)^\};", text, re.DOTALL | re.MULTILINE)
    numbers = re.findall(r"(\w+) = (\w+)", ids[1] if ids else "")
    return dict(numbers) | {f"struct {name}": _flat(body) for name, body in layouts}


def records(tree: Tree) -> Contract:
    """The kinds of records in a journal."""
    text = " ".join(tree.texts(r"proxy/native/executor/journal/\w+\.h$"))
    kinds = re.search(r"enum class RecordKind[^{]*\{(.*?)\}", text, re.DOTALL)
    return dict.fromkeys(re.findall(r"\w+(?: = \w+)?(?=[,\s]*(?:,|$))", _flat(kinds[1]) if kinds else ""), "record")


def messages(tree: Tree) -> Contract:
    """Fields of messages, and methods."""
    found = {}
    for text in tree.texts(r"^protos/.*\.proto$"):
        for kind, name, body in re.findall(r"(message|service) (\w+) \{(.*?)\}", _flat(text)):
            for field in body.split(";"):
                if parts := re.search(r"([\w.<>, ]+) (\w+) = (\d+)", field):
                    found[f"{kind} {name} {parts[3]}"] = f"{parts[1].strip()} {parts[2]}"
                elif parts := re.search(r"rpc (\w+)(.*)", field):
                    found[f"{kind} {name} {parts[1]}"] = parts[2].strip()
                elif "reserved" in field:
                    found |= {f"{kind} {name} {number}": RETIRED for number in _numbers(field)}
    return found


def _numbers(reserved: str) -> Iterator[int]:
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", reserved):
        yield from range(int(first), int(last or first) + 1)


def options(tree: Tree) -> Contract:
    """Options of the commands, as their page names them."""
    return dict.fromkeys(re.findall(r"`(--[\w-]+)", tree.read("docs/cli.md")), "option")


def exit_codes(tree: Tree) -> Contract:
    """Exit codes that the commands' page names."""
    return dict.fromkeys(
        re.findall(r"exit (?:status|code)s?(?: is)?:? (\d+)", tree.read("docs/cli.md"), re.I), "exit code"
    )


def documents(tree: Tree) -> Contract:
    """Fields of the JSON documents, by the examples of their page."""
    examples = re.findall(r"### `jitc (\w+)[^`]*`\n```json\n(.*?)```", tree.read("docs/cli.md"), re.DOTALL)
    return {path: kind for name, text in examples for path, kind in _fields(name, json.loads(text))}


def _fields(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _fields(f"{path}.{name}", inside)
    elif isinstance(value, list) and value:
        yield from _fields(f"{path}[]", value[0])
    else:
        yield path, "number" if type(value) in (int, float) else type(value).__name__


def formats(tree: Tree) -> Contract:
    texts = [tree.read("proxy/common/paths.py"), *tree.texts(r"^protos/ops/table\.py$")]
    return {
        name: found[1] for name in FORMATS for text in texts if (found := re.search(rf"^{name} = (\d+)", text, re.M))
    }


CONTRACTS: dict[str, Callable[[Tree], Contract]] = {
    "exported symbols": symbols, "ops": ops, "records": records, "messages": messages, "options": options,
    "exit codes": exit_codes, "documents": documents,
}  # fmt: skip


def differences(before: Contract, now: Contract) -> list[str]:
    """Returns what has changed or gone, but for fields that were retired."""
    gone = [f"{name}: gone ({said})" for name, said in before.items() if name not in now]
    changed = [(name, said, now[name]) for name, said in before.items() if now.get(name, said) not in (said, RETIRED)]
    return gone + [f"{name}: {said} -> {after}" for name, said, after in changed]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the commit to compare the working tree with")
    before, now, wrong = Tree(parser.parse_args().commit), Tree(), 0
    for title, read in CONTRACTS.items():
        was, is_now = read(before), read(now)
        found = differences(was, is_now)
        wrong += len(found)
        retired = sum(said != RETIRED and is_now.get(name) == RETIRED for name, said in was.items())
        added = len(is_now.keys() - was.keys())
        print(f"{title}: {len(was)}, {len(found)} changed or gone, {added} added, {retired} retired")
        print("".join(f"  {one}\n" for one in found), end="")
    versions = formats(now)
    print("versions: " + ", ".join(f"{name} {said} -> {versions.get(name)}" for name, said in formats(before).items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Words of code, comments and documents: files that they name are there, and words that were given up stay away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from toolkit.tree import ROOT, tracked

#: Files of other projects, and of users.
FOREIGN = {
    "cuda.h", "nccl.h", "cudnn.h", "cublasLt.h", "cuda_runtime.h", "xxhash.h", "train.py", "ddp.py",
    "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py",
    "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
}  # fmt: skip
NAMED = re.compile(r"(?<![\w/.<*{}$-])(\w[\w/.-]*\.(?:py|cpp|h|cu|proto|cmake|mk|def))\b(?!\()")
SOURCES = ("*.py", "*.cpp", "*.h", "*.cu", "*.md", "*.proto", "*.cmake", "*.mk", "*.sh")
#: Records of what was seen then.
HISTORY = "docs/gpu-results"
#: Words that were given up (docs/glossary.md has those that stayed) -> what to say. Formats are no words: the keys
#: ``links`` and ``volatile_ordinals`` of the executor's documents stay.
WITHDRAWN = {
    r"roads?": "path: transfer path, host path, direct path",
    r"LinkEnd|PeerLinks?|LinkRequest|link_(?:end|request)": "PeerEndpoint, DirectPath, DirectTransferRequest",
    r"MeetingPlaces?|meeting_place|[Rr]endezvous_?": "CommunicatorSegment, CommunicatorSegments",
    r"runtime::\w+|jitc::runtime": "jitc::session",
    r"retired_": "zombies_",
    r"(?:volatile|unique|known)_ordinals(?=\.\w)": "mutable_, rank_local_, classified_ordinals",
    r"learn_volatile": "learn_mutable",
    r"settle(?=\()": "drain, wait, reset or end_reservation: each what it is",
    r"bell_?": "doorbell",
    r"Outbox|outbox_?": "SendQueue, CompletionQueue",
    r"Completer|completer_?": "CompletionPoller",
    r"FaultDesk|Harm": "FaultInjector",
    r"note_told|true_again|give_again": "note, reached_again",
    r"past_end_|awaiting_past_": "replay_end_, waits_",
    r"place_nowhere|come_to_rest": "no-op, quiesce",
    r"happenings?|unwell": "event, unhealthy",
    r"hold_at_?|hold_reached_|take_hold": "park_after, take_park_due",
}


def prose(path: Path) -> Iterator[str]:
    """Comments and docstrings; of documents everything."""
    text = path.read_text()
    if path.suffix == ".md":
        yield text
    elif path.suffix == ".py":
        nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        yield from (ast.get_docstring(one) or "" for one in ast.walk(ast.parse(text)) if isinstance(one, nodes))
        yield from re.findall(r"^\s*#.*", text, re.MULTILINE)
    else:
        mark = "//" if path.suffix in (".cpp", ".h", ".cu", ".proto") else "#"
        yield from (line[line.index(mark) :] for line in text.splitlines() if mark in line)


def endings(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(len(parts)))


def test_files_that_are_named_are_there() -> None:
    known = {ending for path in tracked() for ending in endings(str(path.relative_to(ROOT)))}
    files = [path for path in tracked(*SOURCES) if HISTORY not in str(path)]
    assert len(files) > 500
    wrong = [
        f"{path.relative_to(ROOT)} names {name}"
        for path in files
        for text in prose(path)
        for name in NAMED.findall(text)
        if name not in known | FOREIGN
    ]
    assert not wrong, "\n".join(wrong)


def test_words_that_were_given_up_stay_away() -> None:
    files = [path for path in tracked(*SOURCES) if HISTORY not in str(path) and path != Path(__file__).resolve()]
    words = {re.compile(rf"(?<!\w)(?:{word})(?!\w)"): say for word, say in WITHDRAWN.items()}
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]}; say {say}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for word, say in words.items()
        if (found := word.search(line))
    ]
    assert not wrong, "\n".join(wrong)

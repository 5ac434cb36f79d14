"""docs/operator-coverage.md: how many operators do on the software device what they do on the CPU.

Called by: operator_coverage.py. Promises: every figure is counted from the results that it is given.
"""

from __future__ import annotations

import collections
import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # operator_coverage.py is run as a script

from toolkit.campaign.documents import table, today
from toolkit.tree import ROOT, commit

#: What no call looks at, with the reason.
NEVER = (
    ("element types other than the one that an entry is called with (float32 where it takes that)",
     "kernels differ little between types; `tests/unit/operators/test_operator_fuzz.py` calls with all of them"),
    ("{beyond}", "they vary the same arguments further; the ones taken are evenly spread"),
    ("sparse, nested and quantized tensors as arguments",
     "the samples are dense; `tests/unit/client_shim/special_tensors.py` compares some sparse and nested ones"),
    ("second and forward-mode derivatives", "they are made of operators that are compared"),
    ("memory between the elements of a result that was resized", "nothing was ever written there"),
    ("texts of errors", "errors are those of the CPU's kernels"),
    ("the numbers of random operators one by one", "no two devices draw the same; distributions are compared"),
)  # fmt: skip


def origin(stand_in: bool, samples: int) -> dict[str, Any]:
    """What the results will be of."""
    return {
        "commit": commit(),
        "date": today(),
        "torch": importlib.metadata.version("torch"),
        "cores": len(os.sched_getaffinity(0)),
        "device": "in one process" if stand_in else "through a service",
        "most_samples": samples,
    }


def forms(results: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    parts = [one.get(part, {}) for one in results for part in ("compared", "by_chance")]
    names = list(dict.fromkeys(form for part in parts for form in part))
    made = []
    for form in names:
        having = [one for one in results if form in {**one.get("compared", {}), **one.get("by_chance", {})}
                  or form in one.get("failed", {})]  # fmt: skip
        failed = sum(form in one.get("failed", {}) for one in having)
        calls = sum(one.get("compared", {}).get(form, 0) for one in results)
        drawn = sum(one.get("by_chance", {}).get(form, 0) for one in results)
        made.append((form, len(having), len(having) - failed, f"{calls:,}", f"{drawn:,}"))
    return made


def run_again(figures: dict[str, Any]) -> str:
    """A line for each other commit that results are of, or number of samples."""
    names: dict[tuple[str, int], list[str]] = {}
    first = (figures["commit"], figures["most_samples"])
    for one in figures["results"]:
        key = (one.get("commit", first[0]), one.get("most_samples", first[1]))
        if key != first:
            names.setdefault(key, []).append(f"`{one['name']}`")
    return "".join(
        f"\n{len(which)} of these entries were run again at commit {other}, with {most} samples at most: "
        f"{', '.join(which)}.\n" for (other, most), which in names.items()
    )  # fmt: skip


def beyond(results: list[dict[str, Any]]) -> str:
    """Of samples that no call was made with."""
    more = [one for one in results if one.get("known", 0) > one.get("samples", 0)]
    return f"samples beyond those: {sum(one['known'] - one['samples'] for one in more):,} of {len(more)} entries"


def left_out(results: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    counts: collections.Counter[str] = collections.Counter()
    names: dict[str, list[str]] = {}
    for one in results:
        reasons = one.get("left_out") or ({one["why"]: 0} if one["result"] == "skipped" else {})
        for why, count in reasons.items():
            counts[why] += count
            names.setdefault(why, []).append(f"`{one['name']}`")
    return [(why, f"{counts[why]:,}", len(names[why]), ", ".join(names[why])) for why in sorted(names)]


def text(figures: dict[str, Any]) -> str:
    results = figures["results"]
    kinds = collections.Counter(one["result"] for one in results)
    samples = sum(one.get("samples", 0) for one in results)
    known = sum(one.get("known", 0) for one in results)
    failed = [(f"`{one['name']}`", form, why) for one in results for form, why in one.get("failed", {}).items()]
    skipped = [(f"`{one['name']}`", one["why"]) for one in results if one["result"] == "skipped"]
    never: list[tuple[object, ...]] = [(what.format(beyond=beyond(results)), why) for what, why in NEVER]
    return f"""# Operators on the software device

PyTorch's own samples of its operators (OpInfo, foreach operators among them), on the software device and on the CPU.
Both must give the same results and gradients, do the same to every argument and its memory, down to the bytes between
its elements (what the CPU leaves as it was must be so to the last bit), and return the same arguments or views of them.
Random operators must draw from the same distribution, give the same numbers for the same seed, and move the
generator on as often the first time as later.

**{kinds["passed"]} of {len(results)} entries pass, {kinds["failed"]} fail, {kinds["skipped"]} have nothing to compare
with**: PyTorch {figures["torch"]}, {figures["device"]}, commit {figures["commit"]}, {figures["date"]};
{figures["most_samples"]} samples of an entry at most; {figures["seconds"] // 60} minutes on {figures["cores"]} cores.
`tests/operators/operator_coverage.py --page` wrote this page.
{run_again(figures)}
{samples:,} samples of {known:,}, each called in every form that its operator has:

{table("form | operators | of these equal | calls compared by value | calls compared by distribution", forms(results))}
## What fails

{table("entry | form | what", list(failed)) if failed else "Nothing."}
## What has nothing to compare with

{table("entry | why", list(skipped)) if skipped else "Nothing."}
## What is not compared

Calls of the samples above:

{table("form: reason | calls | entries | which", left_out(results))}
Never looked at:

{table("what | why", never)}"""


def write(figures: dict[str, Any]) -> None:
    (ROOT / "docs" / "operator-coverage.md").write_text(text(figures))

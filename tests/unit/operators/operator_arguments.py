"""Arguments for the fuzz of operators: right ones with something changed, and made-up ones that look right.

Used by operator_fuzz.py. Promise: the same random numbers give the same arguments.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from operator_values import DTYPES, FAR, INTEGERS, PLACE_BYTES, Items, Same, Tensor, Word, contiguous, extent, from_json

SAMPLES = Path(__file__).with_name("operator_samples.json")
COMMON = (6, 6, 6, 7, 4, 5, 15, 9, 11, 3)
#: Arguments that hold places in another tensor, by their names in the schemas.
PLACES_INSIDE = (
    "index", "indices", "offsets", "offset2bag", "target", "targets", "pivots", "LU_pivots", "sorter", "repeats",
    "input_lengths", "target_lengths", "batch_sizes", "lengths", "bag_size", "maximum_indices", "cum_seq_q",
    "cum_seq_k", "crow_indices", "col_indices", "inverse", "counts", "min_indices",
)  # fmt: skip
#: Integers that count dimensions.
DIMENSIONS = ("dim", "dims", "axis", "ch_axis", "dimension", "diagonal")
CHANNELS = ("weight", "bias", "running_mean", "running_var", "mean", "invstd", "save_mean", "save_invstd", "rstd")
TEXTS = (
    "sum", "prod", "mean", "amax", "amin", "none", "tanh", "trunc", "floor", "left", "right", "L", "U", "gelsd",
    "gelsy", "reduced", "complete", "r", "max", "min", "lengths", "add", "multiply", "", "no such thing",
)  # fmt: skip
ODD_REALS = (-1.0, 1e30, float("inf"), float("nan"), 1e-300, 0.0)
LISTS = {"Tensor": "T", "Optional[Tensor]": "O", "bool": "B", "number": "S", "float": "R", "int": "I"}


class Arguments:
    """Makes one list of arguments; the more careful, the likelier are its values to go together."""

    def __init__(self, random: Random, careful: float) -> None:
        self._random, self._careful = random, careful
        self._dtype = random.choice(COMMON)
        self._theme = [random.choice((1, 2, 3, 4, 4, 5, 6, 8)) for _ in range(random.choice((0, 1, 2, 2, 3, 3, 4, 4)))]
        if random.random() < 0.3:  # square, as matrices of linear algebra are
            self._theme[-2:] = [self._theme[-1]] * len(self._theme[-2:]) if self._theme else []
        self._lengths = random.choice((0, 1, 2, 2, 3))
        self._tensors = 0

    def _likely(self) -> bool:
        return self._random.random() < self._careful

    def make(self, schema: Any) -> list[Any]:
        return [self.value(one.name, str(one.type), str(one.real_type)) for one in schema.arguments]

    def value(self, name: str, kind: str, real: str) -> Any:
        if kind.startswith("Optional["):
            kind, real = kind[9:-1], real[9:-1] if real.startswith("Optional[") else real
            if self._random.random() < (0.3 if kind == "Tensor" else 0.5):
                return None
        elif not self._likely() and self._random.random() < 0.1:
            return None
        if kind.startswith("List["):
            return self._list(name, kind[5:-1])
        makers: dict[str, Callable[[str], Any]] = {
            "Tensor": self._tensor, "bool": lambda _: self._random.random() < 0.5, "number": self._number,
            "float": lambda _: self._real(), "str": lambda _: self._random.choice(TEXTS),
            "Generator": lambda _: Word("generator"), "Device": lambda _: Word("device"),
        }  # fmt: skip
        if real in ("ScalarType", "Layout", "MemoryFormat"):
            choices = {"ScalarType": tuple(DTYPES), "Layout": (0, 0, 0, 1, 3), "MemoryFormat": (0, 1, 2, 3)}[real]
            return self._random.choice(choices if self._likely() else (*range(-1, 50), 77, 127, 128, 255, 2**40))
        return makers.get(kind, self._integer)(name)

    def _list(self, name: str, kind: str) -> Items:
        random = self._random
        count = self._lengths if self._likely() else random.choice((0, 1, 2, 3, 4))
        if kind == "int":
            return Items("I", [self._one_of_list(name) for _ in range(self._length_of_list(name))])
        if kind == "bool":
            count = random.choice((2, 3, 3, 4)) if self._likely() else count
            return Items("B", [random.random() < 0.8 for _ in range(count)])
        makers = {"number": lambda: self._number(name), "float": lambda: random.uniform(0, 3)}
        return Items(LISTS[kind], [makers.get(kind, lambda: self.value(name, kind, kind))() for _ in range(count)])

    def _length_of_list(self, name: str) -> int:
        if not self._likely():
            return self._random.choice((0, 1, 2, 3, 4, 5))
        space = max(len(self._theme) - 2, 1)
        return self._random.choice(
            (0, 1, 1, 2) if name in DIMENSIONS else (space, space, space, len(self._theme), 2, 1)
        )

    def _one_of_list(self, name: str) -> int:
        random = self._random
        if not self._likely() or name in DIMENSIONS:
            return self._integer(name)
        if "padding" in name:
            return random.choice((0, 0, 0, 1, 2))
        return random.choice(self._theme if name.endswith("size") and self._theme else (1, 1, 2, 3, 4))

    def _integer(self, name: str) -> int:
        if not self._likely():
            return self._random.choice((*FAR, 0))
        if name in DIMENSIONS:
            return self._random.randint(-len(self._theme), max(len(self._theme) - 1, 0))
        return self._random.choice((0, 0, 1, 1, 2, 3, 4, *self._theme))

    def _real(self) -> float:
        return self._random.choice((0.0, 0.5, 1.0, 1e-5, 2.0, 0.9) if self._likely() else ODD_REALS)

    def _number(self, _name: str) -> Any:
        made = self._random.random()
        if made < 0.9:
            whole = self._random.choice((0, 1, 2, 3) if self._likely() else FAR)
            return self._real() if made < 0.5 else whole
        return made < 0.93 if made < 0.95 else complex(0.5, -1.5)

    def _dtype_of(self, name: str) -> int:
        if not self._likely():
            return self._random.choice(tuple(DTYPES))
        if name in PLACES_INSIDE:
            return self._random.choice((4, 4, 4, 4, 3))
        return 11 if name in ("mask", "condition") else self._dtype

    def _sizes_of(self, name: str) -> list[int]:
        random, theme = self._random, list(self._theme)
        if not self._likely():
            return [random.choice((0, 1, 2, 3, 5, 7)) for _ in range(random.randint(0, 4))]
        if name in CHANNELS and len(theme) > 1 and random.random() < 0.7:
            return [theme[1]]
        if name in PLACES_INSIDE and random.random() < 0.4:
            return [random.choice((1, 2, 3, 4, *theme))]
        return other_sizes(theme, random) if random.random() < 0.3 else theme

    def _tensor(self, name: str) -> Any:
        random = self._random
        if self._tensors and random.random() < 0.04:
            return Same(random.randrange(self._tensors))
        if not self._likely() and random.random() < 0.1:
            return Word("undefined")
        self._tensors += 1
        dtype, sizes = self._dtype_of(name), self._sizes_of(name)
        made = Tensor(dtype, sizes, contiguous(sizes), "near" if self._likely() else "far")
        return made if self._likely() else changed_tensor(made, random)


def stepped(value: int, random: Random) -> int:
    return max(min(value + random.choice((-1, 1)), 2**63 - 1), -(2**63))


def other_sizes(sizes: list[int], random: Random) -> list[int]:
    """Of the same family: one dimension less, more, exchanged, spread or of another size."""
    what, sizes = random.randrange(8), list(sizes)
    if not sizes or what == 0:
        return [*sizes, random.choice((1, 2, 3))]
    place = random.randrange(len(sizes))
    if what == 1:
        return sizes[:place] + sizes[place + 1 :]
    if what == 2:
        return sizes[::-1]
    sizes[place] = (1, 0, sizes[place] + 1, max(sizes[place] - 1, 0), random.choice((1, 2, 3, 4, 5, 9)))[what - 3]
    return sizes


def other_strides(sizes: list[int], random: Random) -> list[int]:
    if random.random() < 0.5:
        order = random.sample(range(len(sizes)), len(sizes))
        moved, strides = contiguous([sizes[i] for i in order]), [0] * len(sizes)
        for place, i in enumerate(order):
            strides[i] = moved[place]
        return strides
    far = (0, 0, 2, 3, 2**31, 2**62)
    return [random.choice((step, step, *far)) if size != 1 else random.choice(far)
            for size, step in zip(sizes, contiguous(sizes), strict=True)]  # fmt: skip


def changed_tensor(tensor: Tensor, random: Random) -> Any:
    made, what = copy.deepcopy(tensor), random.randrange(12)
    if what < 5:
        made.sizes = other_sizes(made.sizes, random)
        made.strides = contiguous(made.sizes)
    elif what == 5:
        made.dtype = random.choice(tuple(DTYPES))
    elif what == 6:
        made.strides = other_strides(made.sizes, random)
    elif what < 10 and made.dtype in INTEGERS:
        made.content = "far"
    elif what < 10:
        made.content = random.choice(("far", "unit"))
    elif what == 10 and made.sizes and random.random() < 0.3:
        made.sizes[random.randrange(len(made.sizes))] = random.choice((2**12, 2**31, 2**40))
    elif random.random() < 0.3:
        return random.choice((Word("undefined"), None))
    else:
        made.flags = 2
    return fitting(made)


def fitting(tensor: Tensor) -> Tensor:
    """In its place, and with as many elements as a tensor can have."""
    item = DTYPES[tensor.dtype][0]
    if extent(tensor.sizes, tensor.strides) * item > PLACE_BYTES:
        tensor.strides = [0] * len(tensor.sizes)
    return tensor


def family(name: str) -> str:
    """The same for an operator's overloads and its form in place."""
    return name.partition(".")[0].rstrip("_")


class Samples:
    """Right arguments of operators, and what can be changed in them."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        known = json.loads(SAMPLES.read_text())
        self._schemas = schemas
        # Those of another release of PyTorch may have other arguments.
        self._known = {name: [one for one in lists if len(one) == len(schemas[name].arguments)]
                       for name, lists in known.items() if name in schemas}  # fmt: skip
        self._families: dict[str, list[str]] = {}
        for name, lists in self._known.items():
            if lists:
                self._families.setdefault(family(name), []).append(name)

    def right(self, name: str) -> list[list[Any]]:
        return [[from_json(one) for one in sample] for sample in self._known.get(name, [])]

    def of(self, name: str, random: Random) -> list[Any] | None:
        """None: there is none."""
        arguments = self._right(name, random)
        if arguments is None:
            return None
        for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))):
            if arguments:
                place = random.randrange(len(arguments))
                arguments[place] = self._changed(arguments[place], self._schemas[name].arguments[place], random)
        return arguments

    def _right(self, name: str, random: Random) -> list[Any] | None:
        if self._known.get(name):
            return [from_json(one) for one in random.choice(self._known[name])]
        relatives = self._families.get(family(name))
        if not relatives:
            return None
        relative = random.choice(relatives)
        sample = [from_json(one) for one in random.choice(self._known[relative])]
        named = {one.name: value for one, value in zip(self._schemas[relative].arguments, sample, strict=True)}
        return [self._found(one, named, random) for one in self._schemas[name].arguments]

    def _found(self, argument: Any, named: dict[str, Any], random: Random) -> Any:
        """From a call of the operator's relative; results that it does not have are empty."""
        if argument.name in named:
            return named[argument.name]
        if argument.is_out:
            first = next((one.dtype for one in named.values() if isinstance(one, Tensor)), 6)
            return Tensor(4 if argument.name == "indices" else first, [0], [1])
        return Arguments(random, 1.0).value(argument.name, str(argument.type), str(argument.real_type))

    def _changed(self, value: Any, argument: Any, random: Random) -> Any:
        if isinstance(value, Tensor) and random.random() < 0.95:
            return changed_tensor(value, random)
        if isinstance(value, Items) and value.values and random.random() < 0.9:
            return self._changed_items(value, random)
        if type(value) is int and random.random() < 0.4:
            return stepped(value, random)
        careful = random.choice((0.2, 0.6, 1.0))
        return Arguments(random, careful).value(argument.name, str(argument.type), str(argument.real_type))

    def _changed_items(self, items: Items, random: Random) -> Items:
        made, what = copy.deepcopy(items), random.randrange(4)
        place = random.randrange(len(made.values))
        if what == 0:
            del made.values[place]
        elif what == 1:
            made.values.append(made.values[place])
        elif isinstance(made.values[place], Tensor):
            changed = changed_tensor(made.values[place], random)
            made.values[place] = Word("undefined") if changed is None and made.kind == "T" else changed
        elif made.kind == "I":
            made.values[place] = random.choice((stepped(made.values[place], random), 0, *FAR))
        elif made.kind == "R":
            made.values[place] = random.choice(ODD_REALS)
        elif made.kind == "B":
            made.values[place] = not made.values[place]
        return made

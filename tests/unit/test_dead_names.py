"""What the product defines, the product uses: names that occur nowhere else, or in tests only, are on a list that may
only get shorter."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from toolkit import names
from toolkit.names import Names
from toolkit.tree import ROOT, tracked

PRODUCT = ("client_shim", "interpose", "protos", "proxy")
CXX = (".c", ".cc", ".cpp", ".cu", ".h")
#: Documents name what was there once, too; archives are no text.
SILENT = (".gz", ".md")
#: Nobody uses these.
DEAD: set[str] = set()
#: Only tests use these.
OF_TESTS: set[str] = {"is_variable"}


def is_in(path: Path, *tops: str) -> bool:
    return path.relative_to(ROOT).parts[0] in tops


def read(path: Path, bases: dict[str, set[str]]) -> Names:
    text = path.read_text()
    if path.suffix == ".py":
        return names.python(text, bases)
    return names.cxx(text) if path.suffix in CXX else names.plain(text)


def exported() -> list[str]:
    """Patterns of names that a library has for whoever loads it. A name without a star is a word of the map itself."""
    maps = "".join(one.read_text() for one in tracked("*.map") if is_in(one, *PRODUCT))
    return re.findall(r"\w+\*", maps)


@cache
def unused() -> tuple[set[str], set[str]]:
    """Names that nobody uses, and names that only tests use. Of the tests only files that have one of them are read."""
    files = [one for one in tracked() if one.suffix not in SILENT]
    bases = {
        name: above
        for one in files
        if one.suffix == ".py" and is_in(one, *PRODUCT)
        for name, above in names.bases(ast.parse(one.read_text())).items()
    }
    product = Names()
    for one in files:
        if not is_in(one, "tests"):
            defines = is_in(one, *PRODUCT) and not one.name.startswith("generated_")
            product.add(read(one, bases), defines=defines)
    assert len(product.defined | product.methods) > 4000
    left = {one for one in product.unused() if not any(fnmatch(one, pattern) for pattern in exported())}
    tests = Names()
    word = re.compile(rf"\b(?:{'|'.join(left)})\b")
    for one in files:
        if is_in(one, "tests") and one != Path(__file__).resolve() and word.search(one.read_text()):
            tests.add(read(one, bases))
    by_tests = {one for one in left if tests.used[one] > 0}
    return left - by_tests, by_tests


def test_nothing_is_defined_that_nobody_uses() -> None:
    dead, _ = unused()
    assert dead <= DEAD, f"nobody uses {sorted(dead - DEAD)}"
    assert dead >= DEAD, f"used or gone, off the list: {sorted(DEAD - dead)}"


def test_nothing_is_defined_for_tests() -> None:
    _, by_tests = unused()
    assert by_tests <= OF_TESTS, f"only tests use {sorted(by_tests - OF_TESTS)}"
    assert by_tests >= OF_TESTS, f"used or gone, off the list: {sorted(OF_TESTS - by_tests)}"


CXX_TEXT = """
// unused_function, kUnused, Unused: what a comment says counts nothing.
#pragma once
#define UNUSED_MACRO(x) x
#define USED_MACRO 1
#define TABLE(X) X(used_entry, "a") X(unused_entry, "b")
namespace jitc {
/* class Unused; */
class Unused;
class Unused final : public Base<Used> {
 public:
  explicit Unused(int used_argument);
  ~Unused() override;
  Unused(const Unused&) = delete;
  Unused& operator=(const Unused&) = delete;
  [[nodiscard]] std::map<int, std::function<void(int)>> unused_method(int value = {}) const;
  void foreign() override;
  uint64_t used_method() const { return used_function(); }
  static constexpr int kUnused = 1, kUsed = 2;
 private:
  int unused_method_ = 3;
};
enum class Kind : uint8_t { kUsedKind = 1, kUnusedKind };
enum Numbers { kCounted = 0, kNext, kUnusedNumber = 7 };
using UnusedAlias = int;
template <class T>
concept UnusedConcept = true;
Unused::Unused(int used_argument) : value_{used_argument}, other_(1) {}
std::map<int, std::function<void(int)>> Unused::unused_method(int) const { return {}; }
void unused_function(int n) {
  if (n > 1'000) unused_function(n - 1);
}
int used_function() {
  const auto one = Kind::kUsedKind;
  int unused_method = kUsed + kNext + USED_MACRO + used_entry + used_method();
  return unused_method;
}
extern "C" {
int unused_exported(void) { return TABLE(1); }
}
extern "C" int unused_alone(void) {
  Lock lock(mutex);
  return 0;
}
}  // namespace jitc
"""


def test_of_cxx() -> None:
    found = names.cxx(CXX_TEXT)
    assert found.unused() == {
        "UNUSED_MACRO", "Unused", "UnusedAlias", "UnusedConcept", "kUnused", "kUnusedKind", "kUnusedNumber",
        "unused_alone", "unused_entry", "unused_exported", "unused_function", "unused_method",
    }  # fmt: skip
    assert {"Kind", "kUsed", "used_method", "used_function"} <= found.defined | found.methods


PYTHON_TEXT = '''
"""unused"""
from elsewhere import unused, UnusedClass
__all__ = ["unused"]
UNUSED, USED = 1, 2
ALSO_UNUSED: int = USED
def unused(value):
    """unused()"""
    return unused(value - 1)
class UnusedClass:
    UNUSED_MEMBER = 1
    field: int = 2
    def unused_method(self) -> "UnusedClass":
        unused_method = used()
        return unused_method
    @property
    def unused_property(self): ...
    def used_method(self): ...
    def by_name(self): ...
class Foreign(Thread):
    def run(self): ...
@registered
def handler(): ...
def used():
    return getattr(Foreign().used_method(), "by_name")
'''


def test_of_python() -> None:
    found = names.python(PYTHON_TEXT, names.bases(ast.parse(PYTHON_TEXT)))
    assert found.unused() == {
        "ALSO_UNUSED", "UNUSED", "UNUSED_MEMBER", "UnusedClass", "unused", "unused_method", "unused_property",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["getattr(one, 'unused')", "one.unused()", "import a.unused as b", "f(unused)"])
def test_uses_in_python(text: str) -> None:
    found = names.python(f"def unused(): ...\n{text}", {})
    assert found.unused() == set()


@pytest.mark.parametrize("text", ["g(unused);", "auto f = &jitc::unused;", 'find("unused");', "a.unused<int>();"])
def test_uses_in_cxx(text: str) -> None:
    assert names.cxx(f"void unused();\nvoid main() {{ {text} }}").unused() == set()

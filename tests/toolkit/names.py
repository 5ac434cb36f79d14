"""Names that C++ and Python files define, and the words that they use.

Called by: the test of dead names. Promise: a definition that is written in a way that is not known here counts as a
use, so that nothing in use is called dead. A name is a word, whatever it belongs to: where two things have one name,
both are used when one is.

These are no use: comments and docstrings, declarations, imports, and what a function or type says of itself in its own
body. These are no definition: fields, which may be there for a layout of others; what overrides something; in Python
members of classes that have another's class as their base, and what a decorator may have kept.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field

WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Names:
    """What one or more files use and define."""

    used: Counter[str] = field(default_factory=Counter)
    #: Of these, words that stand where a method is meant: a variable may have the name of a method.
    reached: Counter[str] = field(default_factory=Counter)
    defined: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)

    def use(self, words: Counter[str]) -> None:
        self.used.update(words)
        self.reached.update(words)

    def add(self, other: Names, defines: bool = False) -> None:
        self.used.update(other.used)
        self.reached.update(other.reached)
        if defines:
            self.defined |= other.defined
            self.methods |= other.methods

    def unused(self) -> set[str]:
        methods = {one for one in self.methods - self.defined if self.reached[one] <= 0}
        return methods | {one for one in self.defined if self.used[one] <= 0}


def plain(text: str) -> Names:
    """Neither C++ nor Python: all words count."""
    names = Names()
    names.use(Counter(WORD.findall(text)))
    return names


# C++

#: Comments, and what may have the marks of a comment in it.
APART = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'", re.DOTALL
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
#: A macro without a body tells another's header something.
MACRO = re.compile(r"\s*#\s*define\s+(\w+)(?:\([\w, ]*\))?(?:[ \t\\]|\n)+\S")
ENTRY = re.compile(r"\bX\((\w+),")
ASKED = re.compile(r"\s*#\s*(?:undef|ifdef|ifndef|define)\s+(\w+)")
ANGLES = re.compile(r"<[^<>{};]*>")
#: What may stand before a declaration and says nothing of its name.
AHEAD = re.compile(
    r"\[\[.*?\]\]|\balignas\(\w*\)|\b__attribute__\(\(.*?\)\)|\b__\w+__\(\w*\)"
    r"|\b(?:public|private|protected)\s*:|->|\bextern\s+\"\""
)
NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\b.*|\s*extern\s+\"\"\s*", re.DOTALL)
ENUM = re.compile(r"\s*(?:typedef\s+)?enum\b")
TYPE = re.compile(
    r"\s*(?:(?:template|friend|typedef)\s+)*(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:\w+::)*(\w+)"
)
ALIAS = re.compile(r"\s*(?:template\s+)?(?:using|concept)\s+(\w+)\s*=")
CONSTANT = re.compile(r"[\w\s:*&]*[\s*&](k[A-Z]\w*)\s*(?:\[|=|$)")
FURTHER = re.compile(r",\s*(k[A-Z]\w*)\s*=[^=]")
FUNCTION = re.compile(r"\s*(?=[\w:])[\w\s:*&]*?[\w*&]\s*(?<![\w:])((?:\w+::)*)(\w+)\s*\(")
NO_TYPE = re.compile(r"\s*(?:return|throw|new|delete|goto|else|case|using)\b|.*\boperator\b", re.DOTALL)
#: Of a constructor or destructor, defined outside its class.
QUALIFIED = re.compile(r"\s*((?:\w+::)+~?\w+)\s*\(")
ENUMERATOR = re.compile(r"[{,]\s*([A-Za-z_]\w*)\s*(=?)")
SCOPED = re.compile(r"\s*enum\s+(?:class|struct)\b")
OVERRIDES = re.compile(r"\)[^()]*\b(?:override|final)\b[^()]*$")
BARE = re.compile(r"\b(?:friend|static)\b")
#: The language asks for these.
CALLED = {"begin", "end", "is_transparent", "main", "what"}


@dataclass
class Scope:
    """kind: namespace, type, enum, numbers (an enum whose own name only says what they are), or body, in which nothing
    is defined. start: of what is being said in it."""

    kind: str
    opened: int
    name: str = ""
    parentheses: int = 0
    start: int = 0

    def defines(self) -> bool:
        return self.kind in ("namespace", "type") and self.parentheses <= 0


class Cxx:
    """The text has neither strings nor comments nor directives, and keeps its length. free: where words are no use."""

    def __init__(self, text: str) -> None:
        self.names = Names()
        text = APART.sub(lambda one: " " if one[0].startswith(("//", "/*")) else one[0], text)
        for one in APART.finditer(text):
            self.names.use(Counter(WORD.findall(one[0])))
        text = APART.sub('""', text)
        for one in DIRECTIVE.findall(text):
            self.directive(one)
        self.text = DIRECTIVE.sub(lambda one: " " * len(one[0]), text)
        self.free: set[int] = set()
        self.walk()
        words = [one for one in WORD.finditer(self.text) if one.start() not in self.free]
        self.names.used.update(one[0] for one in words)
        self.names.reached.update(one[0] for one in words if self.reached(one))

    def reached(self, word: re.Match[str]) -> bool:
        return (
            self.text[word.end() : word.end() + 1] in ("(", "<") or self.text[word.start() - 2 : word.start()] == "::"
        )

    def directive(self, text: str) -> None:
        words = Counter(WORD.findall(text))
        if found := ASKED.match(text):
            words[found[1]] -= 1
        if found := MACRO.match(text):
            entries = ENTRY.findall(text)
            self.names.defined |= {found[1], *entries}
            words.subtract(entries)
        self.names.use(words)

    def walk(self) -> None:
        scopes = [Scope("namespace", 0)]
        for found in re.finditer(r"[{}();]", self.text):
            mark, at, scope = found[0], found.start(), scopes[-1]
            if mark in "()":
                scope.parentheses += 1 if mark == "(" else -1
            elif mark == "{":
                outside = scope.defines()
                scopes.append(self.entered(scope, at) if outside else Scope("body", at))
                scopes[-1].start = at + 1
            elif mark == "}" and len(scopes) > 1:
                self.leave(scopes.pop(), at)
                if scopes[-1].defines():
                    scopes[-1].start = at + 1
            elif mark == ";" and scope.defines():
                self.declared(scope, at)
                scope.start = at + 1

    def entered(self, scope: Scope, at: int) -> Scope:
        """What the brace here opens."""
        head = self.head(scope, at)
        if NAMESPACE.fullmatch(self.text, scope.start, at):
            return Scope("namespace", at)
        if ENUM.match(head) and not SCOPED.match(head):
            return Scope("numbers", at)
        if (found := TYPE.match(head)) and not head.rstrip().endswith(")"):
            self.define(scope, found, 1)
            return Scope("enum" if ENUM.match(head) else "type", at, found[1])
        return Scope("body", at, self.declared(scope, at))

    def leave(self, scope: Scope, at: int) -> None:
        if scope.kind in ("enum", "numbers"):
            members = list(ENUMERATOR.finditer(self.text, scope.opened, at))
            self.free.update(found.start(1) for found in members)
            # Of numbers that a library gave, one that the next counts on from has a use: it is counted.
            ends = [*(scope.kind == "enum" or bool(one[2]) for one in members[1:]), True]
            self.names.defined.update(found[1] for found, alone in zip(members, ends, strict=True) if alone)
        if scope.name:
            own = re.compile(rf"\b{scope.name}\b").finditer(self.text, scope.opened, at)
            self.free.update(found.start() for found in own)

    def declared(self, scope: Scope, at: int) -> str:
        """The name of a function, if it is one."""
        head = self.head(scope, at)
        if found := ALIAS.match(head) or CONSTANT.match(head):
            self.define(scope, found, 1)
            for further in FURTHER.finditer(head):
                self.define(scope, further, 1)
        elif found := QUALIFIED.match(head):
            self.free.update(scope.start + found.start(1) + one.start() for one in WORD.finditer(found[1]))
        elif "(" in head:
            return self.function(scope, head)
        elif found := TYPE.fullmatch(head.rstrip()):
            self.free.add(scope.start + found.start(1))
        return ""

    def function(self, scope: Scope, head: str) -> str:
        found = None if NO_TYPE.match(head.partition("(")[0]) else FUNCTION.match(head)
        if not found or found[2] in CALLED:
            return ""
        self.free.update(scope.start + found.start(1) + one.start() for one in WORD.finditer(found[1]))
        self.free.add(scope.start + found.start(2))
        if found[2] == scope.name:  # a constructor
            return ""
        # What overrides is defined where it is first declared: perhaps in another's class.
        if not OVERRIDES.search(head):
            method = found[1] or (scope.kind == "type" and not BARE.search(head))
            (self.names.methods if method else self.names.defined).add(found[2])
        return found[2]

    def define(self, scope: Scope, found: re.Match[str], group: int) -> None:
        self.free.add(scope.start + found.start(group))
        if found[group] not in CALLED:
            self.names.defined.add(found[group])

    def head(self, scope: Scope, at: int) -> str:
        """What has been said, with blanks for what says nothing of names."""
        text = AHEAD.sub(blanks, self.text[scope.start : at])
        while (shorter := ANGLES.sub(blanks, text)) != text:
            text = shorter
        return text


def blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


# Python

#: Decorators that call nobody: what has another one may be called by whoever keeps it.
QUIET = {
    "abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "dataclass", "lru_cache", "override",
    "property", "setter", "staticmethod",
}  # fmt: skip
#: Classes of Python that call nothing that a class of ours defines but by its name.
PLAIN = {"ABC", "Enum", "Exception", "Generic", "IntEnum", "NamedTuple", "Protocol", "RuntimeError", "str", "TypedDict"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def last(node: ast.AST) -> str:
    """Of a dotted name, whatever it is called with."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def bases(tree: ast.AST) -> dict[str, set[str]]:
    """Of each class."""
    return {one.name: {last(base) for base in one.bases} for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}


class Python:
    """own: the bases of all classes of the product. A class on another's has functions that the other calls."""

    def __init__(self, tree: ast.Module, own: dict[str, set[str]]) -> None:
        self.names, self.own = Names(), own
        self.visit(tree, ())

    def visit(self, node: ast.AST, inside: tuple[str, ...]) -> None:
        """inside: the functions and classes around it."""
        if isinstance(node, ast.Assign) and last(node.targets[0]) == "__all__":
            return
        words = [word for word in used(node) if word not in inside]
        self.names.used.update(words)
        if not isinstance(node, ast.Name):
            self.names.reached.update(words)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            if ast.get_docstring(node, clean=False) is not None:
                children.remove(node.body[0])
            self.members(node)
        if isinstance(node, ast.ClassDef | Function):
            inside = (*inside, node.name)
        for one in children:
            self.visit(one, inside)

    def members(self, node: ast.Module | ast.ClassDef | Function) -> None:
        if isinstance(node, ast.ClassDef) and self.foreign(node.name):
            return
        for one in node.body:
            if isinstance(one, ast.ClassDef | Function):
                if all(last(each) in QUIET for each in one.decorator_list):
                    method = isinstance(node, ast.ClassDef) and isinstance(one, Function)
                    self.define(one.name, self.names.methods if method else self.names.defined)
            elif isinstance(one, ast.Assign) and not isinstance(node, Function):
                alone = len(one.targets) == 1  # else a tuple has the names of the members of a set: all are needed
                for target in one.targets:
                    for each in target.elts if isinstance(target, ast.Tuple) and alone else [target]:
                        self.define(last(each), self.names.defined)
            elif isinstance(one, ast.AnnAssign) and isinstance(node, ast.Module):
                self.define(last(one.target), self.names.defined)

    def define(self, name: str, names: set[str]) -> None:
        if not re.fullmatch(r"__\w+__|_?", name):
            names.add(name)

    def foreign(self, name: str) -> bool:
        above = self.own.get(name)
        return name not in PLAIN if above is None else any(self.foreign(one) for one in above - {name})


def used(node: ast.AST) -> list[str]:
    """Words of this node alone. An import under the same name is none: the name is used where it is used."""
    if isinstance(node, ast.Name | ast.Attribute):
        word = node.id if isinstance(node, ast.Name) else node.attr
        return [] if isinstance(node.ctx, ast.Store) else [word]
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return WORD.findall(node.value if isinstance(node.value, str) else node.value.decode(errors="replace"))
    if isinstance(node, ast.alias) and node.asname:
        return WORD.findall(node.name)
    return []


def python(text: str, own: dict[str, set[str]]) -> Names:
    return Python(ast.parse(text), own).names


def cxx(text: str) -> Names:
    return Cxx(text).names

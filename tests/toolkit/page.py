"""A page of HTML taken apart again, strictly: what was opened is closed, and what is text is text.

Called by: tests of pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    def all(self, tag: str = "", class_: str = "") -> list[Node]:
        """All nodes below with this tag and class."""
        found = []
        for one in self.children:
            if (not tag or one.tag == tag) and (not class_ or class_ in one.attributes.get("class", "").split()):
                found.append(one)
            found += one.all(tag, class_)
        return found

    def text(self) -> str:
        return "".join([*self.own, *(one.text() for one in self.children)])


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].own.append(data)


def parse(text: str) -> Node:
    """The whole page. Raises AssertionError where its elements do not nest."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert parser.open == [parser.root], "elements that nothing closes"
    return parser.root

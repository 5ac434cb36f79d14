"""Elements of a page, from the standard library's tree: text stays text, whatever it contains.

Called by: the modules beside. Promises: every text and every attribute is escaped when the page is written; a user's
text cannot break out of its line, nor change the line's direction, and is truncated if it is longer than a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

from ...common.printable import LINE, printable

Child = Element | str


def element(tag: str, *children: Child, **attributes: object) -> Element:
    """Creates an element. An attribute's name may end in _ if Python has a keyword of that name; its other _ are
    hyphens."""
    made = Element(
        tag, {name.rstrip("_").replace("_", "-"): printable(str(value), LINE) for name, value in attributes.items()}
    )
    for child in children:
        if not isinstance(child, str):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + printable(child, LINE)
        else:
            made.text = (made.text or "") + printable(child, LINE)
    return made


def lines(texts: Sequence[str], **attributes: object) -> Element:
    """Returns a paragraph of lines."""
    broken = [child for text in texts for child in (text, element("br"))]
    return element("p", *broken[:-1], **attributes)


def table(heads: Sequence[str], rows: Iterable[Sequence[Child]], *, caption: str = "", numbers: int = 0) -> Element:
    """Returns a table. numbers: from this column on, cells are numbers, aligned right."""
    kind = ["text" if at < numbers or not numbers else "number" for at in range(len(heads))]
    head = element("tr", *(element("th", one, scope="col", class_=kind[at]) for at, one in enumerate(heads)))
    body = [element("tr", *(element("td", one, class_=kind[at]) for at, one in enumerate(row))) for row in rows]
    parts = [element("thead", head), element("tbody", *body)]
    if caption:
        parts.insert(0, element("caption", caption))
    return element("div", element("table", *parts), class_="scroll")


def document(title: str, style: str, *body: Child) -> str:
    """Returns a whole page that loads nothing and runs nothing."""
    rules = element("style")
    rules.text = style  # ours, of many lines
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        rules,
    )
    page = element("html", head, element("body", *body), lang="en")
    return "<!doctype html>\n" + tostring(page, encoding="unicode", method="html") + "\n"

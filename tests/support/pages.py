"""An HTML page as a browser parses it: its tags, text and policy."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

__all__ = ["Page"]

VOID = {"meta", "br", "hr"}


class Page(HTMLParser):
    """The tags with attributes, and the text. Asserts that tags are nested correctly."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def of(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]

    def check_policy(self) -> None:
        """Check that the page runs and loads nothing, and that its policy allows only its own style."""
        assert not self.of(
            "script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"
        )
        names = {name for _, attributes in self.tags for name in attributes}
        assert not {name for name in names if name.startswith("on")} | names & {"src", "srcset"}
        (policy,) = [
            a["content"] for a in self.of("meta") if a.get("http-equiv") == "Content-Security-Policy"
        ]
        style = self.source.partition("<style>")[2].partition("</style>")[0]
        known = b64encode(sha256(style.encode()).digest()).decode()
        assert (policy or "").split("; ")[:2] == ["default-src 'none'", f"style-src 'sha256-{known}'"]

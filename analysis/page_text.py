"""The plain text of a web page's article."""

import html.parser

_BLOCKS = ("p", "h1", "h2", "h3", "li", "br", "div", "ul", "ol", "table", "tr")
_UNREAD = ("script", "style", "nav", "devsite-toc")


def article_text(page: str) -> str:
    """What stands between a page's <h1> and the end of its <article>, a paragraph per block."""
    reader = _Reader()
    reader.feed(page)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\f"))
    return "\n\n".join(line for line in lines if line)


class _Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._reading = False
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._reading = self._reading or tag == "h1"
        self._unread += tag in _UNREAD
        if tag in _BLOCKS:
            self.parts.append("\f")

    def handle_endtag(self, tag: str) -> None:
        self._reading = self._reading and tag != "article"
        self._unread -= tag in _UNREAD
        if tag in _BLOCKS:
            self.parts.append("\f")

    def handle_data(self, data: str) -> None:
        if self._reading and not self._unread:
            self.parts.append(data)

"""A picture of a few stacked bars, as SVG: drawn by hand, for a plotting library would be the largest thing installed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#cc79a7", "#d55e00")
"""Told apart by people who see few colours (M. Okabe, K. Ito, 2002)."""
SHARE_COLOUR, FRAME_COLOUR, TEXT_COLOUR = "#444444", "#bbbbbb", "#222222"
WIDTH, LEFT, BAR_WIDTH, GAP, SHARE_WIDTH = 860, 90, 430, 100, 160
TOP, ROW, BAR_HEIGHT, LEGEND_STEP = 84, 40, 24, 110


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: its label, its parts (none negative) by name, and a share of 0 to 1 beside it, if there is one."""

    label: str
    parts: Mapping[str, float]
    share: float | None = None

    @property
    def length(self) -> float:
        return sum(self.parts.values())


def svg(bars: Sequence[Bar], *, title: str, unit: str, share: str) -> str:
    """The picture. `unit` names what the bars count, `share` what stands beside them. The same bars give the same text."""
    names = dict.fromkeys(name for bar in bars for name, value in bar.parts.items() if value)
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    longest = max((bar.length for bar in bars), default=0) or 1
    height = TOP + ROW * len(bars) + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" aria-label={quoteattr(title)} font-family="sans-serif" font-size="13" fill="{TEXT_COLOUR}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(LEFT, 24, title, weight="bold"),
        *legend(colours),
        text(LEFT, TOP - 8, unit),
        text(LEFT + BAR_WIDTH + GAP, TOP - 8, share),
    ]
    for place, bar in enumerate(bars):
        lines += row(bar, TOP + ROW * place, colours, longest)
    return "\n".join([*lines, "</svg>", ""])


def legend(colours: Mapping[str, str]) -> Iterator[str]:
    """A square and a name for each part."""
    for place, (name, colour) in enumerate(colours.items()):
        x = LEFT + LEGEND_STEP * place
        yield rectangle(x, 38, 12, 12, colour, name)
        yield text(x + 18, 49, name)


def row(bar: Bar, y: float, colours: Mapping[str, str], longest: float) -> Iterator[str]:
    """A bar of its parts with their sum behind it, and its share."""
    middle, x = y + BAR_HEIGHT / 2 + 5, float(LEFT)
    yield text(LEFT - 10, middle, bar.label, anchor="end")
    for name, value in bar.parts.items():
        assert value >= 0, "a part has a length"
        if value:
            width = BAR_WIDTH * (value / longest)
            yield rectangle(x, y, width, BAR_HEIGHT, colours[name], f"{name}: {value:,.0f}")
            x += width
    yield text(x + 6, middle, f"{bar.length:,.0f}")
    beside = LEFT + BAR_WIDTH + GAP
    if bar.share is None:
        yield text(beside, middle, "-")
        return
    yield rectangle(beside, y, SHARE_WIDTH * bar.share, BAR_HEIGHT, SHARE_COLOUR, f"{bar.share:.0%}")
    yield rectangle(beside, y, SHARE_WIDTH, BAR_HEIGHT, "none", "", stroke=FRAME_COLOUR)
    yield text(beside + SHARE_WIDTH + 8, middle, f"{bar.share:.0%}")


def rectangle(x: float, y: float, width: float, height: float, fill: str, told: str, *, stroke: str = "none") -> str:
    """A rectangle that tells something when it is pointed at."""
    inner = f"<title>{escape(told)}</title>" if told else ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{fill}" stroke="{stroke}">{inner}</rect>'


def text(x: float, y: float, said: str, *, anchor: str = "start", weight: str = "normal") -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(said)}</text>'

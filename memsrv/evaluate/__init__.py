"""The commands `memsrv eval`: how good summaries are, and what each mode makes of an operator's own sessions."""

import typer

from memsrv.evaluate import replay, summary
from memsrv.evaluate.summary import dialogues_in, shipped_dialogues

__all__ = ["app", "dialogues_in", "shipped_dialogues"]

app = typer.Typer(name="eval", no_args_is_help=True, rich_markup_mode=None, add_completion=False)
app.command(name="summary")(summary.summary)
app.command(name="replay")(replay.replay)


@app.callback()
def about() -> None:
    """Measure summaries and modes."""

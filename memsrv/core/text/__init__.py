"""Text itself: where it may be cut, what of it can be seen and searched, and the marks that keep quoted text from posing as ours.

Nothing here knows of prompts, recall or summaries."""

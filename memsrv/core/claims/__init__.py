"""What a text claims: its numbers, days, names and identifiers in one spelling, what it negates, and what a number tells apart.

Read by the summarizer, to know what a statement is about, and by the guard, to look for it in the sources."""

"""The guard: whether every line of a summary is borne out by its sources (`check`, judged by `judge` on `evidence`)."""

"""Recall: the word search (`bm25`), the vector search (`nearest`) and their fusion with what the question says (`ranking`)."""

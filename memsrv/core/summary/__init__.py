"""Summaries: the nouns (`summary`), when one is due (`compacting`, `calm`), the built-in one (`statements`, `ledger`, `rest`,
`features`, `learned`, `extract`), what a language model is asked (`asking`) and how its answer is read (`parsing`)."""

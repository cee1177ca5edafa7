"""A prompt: what may be in it (`policy`, `regions`, `turns`), what fits (`budget`, `meta`, `window`, `required`) and how it is
sent (`render`, `sending`)."""

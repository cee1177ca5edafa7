"""The HTTP edge: parse, call one service, shape the answer."""

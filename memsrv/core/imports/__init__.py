"""Exports of other programs, and memsrv's own, read as conversations of drafts.

Pure: bytes in (`splitting`), values out; `formats` tells by its content what a value is, and a module for each format
reads it. (1) Nothing here raises on a value, whatever it holds: what cannot be read is skipped, with its reason and
place. (2) Every draft that comes out would be taken by `POST /context/{session}/messages`. (3) The same value gives the
same ids, and a conversation that has grown gives those of before to what was there before.
"""

"""Pure functions: no clock, no network, no disk, no settings.

`text` and `claims` read text, `recall` ranks, `prompt` fits, `summary` sums up, `guard` checks it, `relay` and `imports` tell
what others send.
"""

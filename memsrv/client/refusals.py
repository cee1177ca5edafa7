"""What a call can raise: one root, a kind for each thing that a caller might do about it.

    Refused
    ├── Invalid       400, 413, 422: the request itself is wrong     ├── Busy         429: too many writes wait
    ├── Denied        401, 403: the key, or the name of the server   ├── Failed       5xx: the server cannot, now
    ├── NotFound      404: no such session, message, pin, version    └── Unreachable  no memsrv answered
    └── Conflict      409: the id, key or version is taken

`code` is the server's own (the README lists them), `hint` says what to do.
"""


class Refused(Exception):
    """The answer is no. `status` is 0 where no answer came; `retry_after_s` is how long the server asks to wait."""

    def __init__(self, code: str, message: str, hint: str = "", *, status: int = 0, retry_after_s: float = 0.0):
        super().__init__(f"{message} {hint}".strip())
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        self.retry_after_s = retry_after_s


class Invalid(Refused):
    """The request cannot be used as it is."""


class Denied(Refused):
    """The key does not fit, or the server is asked by a name that it does not serve."""


class NotFound(Refused):
    """Nothing of this name or id."""


class Conflict(Refused):
    """The id, key or version is taken; nothing was changed."""


class Busy(Refused):
    """Too many writes wait; nothing was changed."""


class Failed(Refused):
    """The server cannot do it now."""


class Unreachable(Refused):
    """No memsrv answered. `sent` says whether the request may have arrived all the same."""

    def __init__(self, message: str, *, sent: bool):
        super().__init__("unreachable", message, "Start it with 'memsrv serve', or check the address.")
        self.sent = sent


KINDS: dict[int, type[Refused]] = {
    400: Invalid,
    401: Denied,
    403: Denied,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    422: Invalid,
    429: Busy,
}


def kind_of(status: int) -> type[Refused]:
    """The kind of refusal that a status stands for."""
    return KINDS.get(status, Failed if status >= 500 else Refused)

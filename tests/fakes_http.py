"""A server of a script: it answers one request after another as it was told, and keeps what it was sent."""

from collections.abc import Callable

import httpx

Answer = httpx.Response | Exception


class Scripted:
    """An httpx transport, blocking or not. The last answer stands for all that follow."""

    def __init__(self, *answers: Answer | Callable[[httpx.Request], Answer]):
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        told = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        answer = told(request) if callable(told) else told
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def refused(status: int, code: str = "refused", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "message": "No.", "hint": "Wait."}, headers=headers)

"""Conversations that branch: messages that name the one before them, and the path through them that the app shows.

(1) Every message is on the shown path or on another branch. (2) Nothing is lost by a parent that is missing or a circle:
a message whose parent is not in the file follows the one that stands before it there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Protocol

from memsrv.core.imports.drafts import ASIDE, SAME_ID, Conversation, Gathering


@dataclass(frozen=True, slots=True)
class Node:
    """A message of a source and the id of the one before it, None for a first one. `at` is its time, if it has one."""

    id: str
    parent: str | None
    at: datetime | None
    message: Any


@dataclass(frozen=True, slots=True)
class Tree:
    """The shown path from the first message to the last, and the last messages of all branches."""

    shown: tuple[Node, ...]
    nodes: Mapping[str, Node]
    _parents: Mapping[str, str | None]
    _leaves: tuple[str, ...]
    doubled: tuple[Node, ...] = ()
    """Those whose id another one has."""

    def branches(self) -> Iterator[tuple[str, tuple[Node, ...]]]:
        """Every other branch from its first message to its last, under the id of the message where it leaves the shown path
        and the branches before it."""
        seen = {node.id for node in self.shown}
        for leaf in self._leaves:
            if leaf not in seen:
                ids = path(leaf, self._parents)
                yield next(id for id in ids if id not in seen), tuple(self.nodes[id] for id in ids)
                seen.update(ids)


def tree_of(nodes: Sequence[Node], current: str | None = None) -> Tree:
    """The tree of the nodes, in the order of the file. `current` is the last node of the shown path; without it, or if it is
    not there, that is the newest leaf. Nodes of which none names another one are a line."""
    found: dict[str, Node] = {}
    doubled = tuple(node for node in nodes if found.setdefault(node.id, node) is not node)
    if not any(node.parent in found and node.parent != node.id for node in found.values()):
        return Tree(tuple(found.values()), found, {}, (), doubled)
    parents = opened(with_parents(found))
    leaves = leaves_of(parents)
    order = {id: place for place, id in enumerate(found)}
    newest = max(leaves, key=lambda id: (stamp(found[id].at), order[id]))
    shown = path(current if current is not None and current in found else newest, parents)
    return Tree(tuple(found[id] for id in shown), found, parents, tuple(leaves), doubled)


def with_parents(found: Mapping[str, Node]) -> dict[str, str | None]:
    """The parent of each node; a missing one is the node before it in the file."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for node in found.values():
        parents[node.id] = node.parent if node.parent is None or node.parent in found else before
        before = node.id
    return parents


def opened(parents: dict[str, str | None]) -> dict[str, str | None]:
    """The same without circles: where a walk upwards comes back to itself, it ends."""
    sound: set[str] = set()
    for id in parents:
        walked: dict[str, None] = {}
        at: str | None = id
        while at is not None and at not in sound:
            walked[at] = None
            if parents[at] in walked:
                parents[at] = None
            at = parents[at]
        sound.update(walked)
    return parents


def leaves_of(parents: Mapping[str, str | None]) -> list[str]:
    """The nodes that none follows."""
    followed = set(parents.values())
    return [id for id in parents if id not in followed]


def path(last: str, parents: Mapping[str, str | None]) -> list[str]:
    """The ids from the root to `last`."""
    walked: list[str] = []
    at: str | None = last
    while at is not None:
        walked.append(at)
        at = parents[at]
    return walked[::-1]


def stamp(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0


MOST_BRANCHES = 200
"""Stored of one conversation: each holds the whole talk up to its end."""


class Teller(Protocol):
    """Tells a gathering the messages of one path."""

    gathering: Gathering

    def tell(self, node: Node) -> None:
        """Say the message of a node, or note why not."""
        ...

    def end(self) -> None:
        """There are no more messages on this path."""
        ...


def told(tree: Tree, teller: Callable[[], Teller], *, branches: bool) -> Iterator[Conversation]:
    """The shown path as a conversation; the other branches as more of them, or else what stands on them as skipped."""
    others = list(islice(tree.branches(), MOST_BRANCHES if branches else 0))
    shown = along(tree.shown, teller())
    stored = {node.id for nodes in (tree.shown, *(nodes for _, nodes in others)) for node in nodes}
    scratch = teller()
    for node in tree.nodes.values():
        before = len(scratch.gathering.drafts)
        if node.id not in stored:
            scratch.tell(node)
        if len(scratch.gathering.drafts) > before:
            shown.gathering.skip(ASIDE, node.id)
    for node in tree.doubled:
        shown.gathering.skip(SAME_ID, node.id)
    main = shown.gathering.take()
    yield main
    for fork, nodes in others:
        branch = along(nodes, teller()).gathering
        branch.id = main.id
        if branch.drafts:
            yield branch.take(fork)


def along(nodes: Iterable[Node], teller: Teller) -> Teller:
    """The teller, when it has told a path."""
    for node in nodes:
        teller.tell(node)
    teller.end()
    return teller

"""One pass of a `for` over a loader."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, Future
from typing import Any, Deque, Optional, Protocol, Tuple

from .groups import Made


class Batches(Protocol):
    """What a pass needs of a loader."""

    _threads: int
    _sends: bool
    _turn: int
    _at: Tuple[int, int]
    _begun: bool

    def _next(self, turn: int) -> Optional[Made]: ...
    def _finish(self, made: Made) -> Any: ...
    def _sent(self, made: Made) -> Any: ...
    def _pool_of_threads(self) -> Executor: ...


class Epoch:
    """It knows what the loop got, which is less than was made where threads transform ahead."""

    def __init__(self, loader: Batches, turn: int) -> None:
        self._loader, self._turn = loader, turn
        self._ahead: Deque[Tuple[Made, Future[Any]]] = deque()
        self._ended = False

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        loader = self._loader
        if loader._threads:
            got = self._from_threads()
        elif self._ended:
            got = None
        else:
            made = loader._next(self._turn)
            got = None if made is None else (made, loader._finish(made))
        if got is None:
            self._end()
            raise StopIteration
        made, result = got
        if loader._sends:
            result = loader._sent(made)
        if self._turn == loader._turn:
            loader._at, loader._begun = made.place, True
        return result

    def _from_threads(self) -> Optional[Tuple[Made, Any]]:
        loader = self._loader
        while not self._ended and len(self._ahead) <= loader._threads:
            made = loader._next(self._turn)
            if made is None:
                self._ended = True
            else:
                self._ahead.append((made, loader._pool_of_threads().submit(loader._finish, made)))
        if not self._ahead:
            return None
        made, future = self._ahead.popleft()
        return made, future.result()

    def _end(self) -> None:
        loader = self._loader
        if self._turn == loader._turn:
            loader._turn += 1  # a further next() of this iteration must not begin another epoch
            loader._at, loader._begun = (loader._at[0] + 1, 0), False
        self._ended = True

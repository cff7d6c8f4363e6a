"""A bounded mapping that many sessions share: the least recently used entry goes first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """At most `limit` of whatever `size` counts, but always the newest entry."""

    def __init__(self, limit: int, size: Callable[[V], int] = lambda value: 1) -> None:
        self.limit = limit
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        self._held = 0

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: K, value: V) -> None:
        with self._lock:
            if key in self._entries:
                self._held -= self._size(self._entries.pop(key))
            self._entries[key] = value
            self._held += self._size(value)
            while self._held > self.limit and len(self._entries) > 1:
                self._held -= self._size(self._entries.popitem(last=False)[1])

    def __len__(self) -> int:
        return len(self._entries)

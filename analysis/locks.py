"""Whose turn it is: passes of many sessions through shared models, in the order of asking."""

import threading
from collections import deque

import torch


class FairLock:
    """A lock that is handed over in the order of asking, so that long runs do not starve short ones."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False

    @property
    def held(self) -> bool:
        return self._held

    def __enter__(self) -> "FairLock":
        with self._guard:
            if not self._held and not self._waiting:
                self._held = True
                return self
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # an interrupt while waiting: leave the queue, or hand on what just came
            with self._guard:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                    raise
            self._hand_over()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._hand_over()

    def _hand_over(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()  # `_held` stays True
            else:
                self._held = False


#: One for all models on the processor: they share its cores, and PyTorch's one setting of the matrix kernel.
_PROCESSOR = FairLock()


class PassLock:
    """The lock of a model's passes; on the processor it sets the float32 matrix kernel while it is held.

    "medium" lets PyTorch choose a quicker kernel; the self-test finds out whether that one is as exact.
    """

    def __init__(self, device: torch.device, matmul: str = "highest") -> None:
        self._sets_kernel = device.type == "cpu"
        self._lock = _PROCESSOR if self._sets_kernel else FairLock()
        self._matmul = matmul
        self._before = matmul

    @property
    def held(self) -> bool:
        return self._lock.held

    def __enter__(self) -> "PassLock":
        self._lock.__enter__()
        if self._sets_kernel:
            self._before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision(self._matmul)
        return self

    def __exit__(self, *error: object) -> None:
        if self._sets_kernel:
            torch.set_float32_matmul_precision(self._before)
        self._lock.__exit__(*error)

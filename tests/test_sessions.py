"""Several sessions on one model: each gets what it gets alone, and none waits for another's end."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from analysis import forward
from analysis import trace as engine
from analysis.answers import answers
from analysis.encoding import encode, target_from_ids
from analysis.explore import Caches, analyse, answers_of, candidate_scores
from analysis.model import FairLock, LanguageModel, PassLock
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.results import Analysis
from analysis.trace import Item, traces
from tests import plain

STEMS = ("The capital of", "What is the capital of", "one two three", "Answer with one word:", "Question: is", "Paris")


def prompt_set(number: int) -> PromptSet:
    variants = tuple(Variant(f"{stem} {number}" * (1 + (number + i) % 3)) for i, stem in enumerate(STEMS[:4]))
    target = (" Paris", " is the", None)[number % 3]
    return PromptSet(
        f"{STEMS[number % len(STEMS)]} France",
        variants,
        target=target,
        candidates=(" yes", " no it is"),
        response_tokens=3,
    )


def everything(lm: LanguageModel, asked: PromptSet) -> list[object]:
    """All results of a set as values that can be compared bit for bit."""
    caches = Caches()
    analysis = analyse(lm, asked, caches)
    found: list[object] = [_values(analysis), answers_of(lm, analysis, caches)]
    found += [scores and scores.log_probs for scores in candidate_scores(lm, analysis, caches)]
    return found


def _values(analysis: Analysis) -> list[object]:
    values: list[object] = []
    for result in analysis.prompts:
        trace = result.trace
        assert trace is not None
        for array in (trace.target_log_probs, trace.next_log_probs, trace.hidden, trace.gradient, trace.saliency):
            assert array is not None
            values.append(array.tobytes())
    return values


def together(tasks: Sequence[Callable[[], object]]) -> list[object]:
    """The results of tasks that run in threads of their own, started at one moment."""
    found: list[object] = [None] * len(tasks)
    start = threading.Barrier(len(tasks))

    def run(place: int) -> None:
        start.wait()
        try:
            found[place] = tasks[place]()
        except BaseException as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_sessions_get_bit_for_bit_what_they_get_alone(family: str) -> None:
    lm = plain.loaded(family)
    sets = [prompt_set(number) for number in range(3)]
    alone = [everything(lm, asked) for asked in sets]
    assert together([lambda asked=asked: everything(lm, asked) for asked in sets]) == alone  # type: ignore[misc]


def test_sessions_in_long_prompts_get_what_they_get_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long prompts wrap the blocks of the shared model while they run."""
    monkeypatch.setattr(engine, "ACTIVATION_BYTES", 1000)
    monkeypatch.setattr(engine, "CHUNK_TOKENS", 8)
    lm, sets = plain.loaded(), [prompt_set(number) for number in range(3)]
    alone = [everything(lm, asked) for asked in sets]
    assert together([lambda asked=asked: everything(lm, asked) for asked in sets]) == alone  # type: ignore[misc]


def test_sessions_on_two_models_get_what_they_get_alone() -> None:
    """The models' passes want different matrix kernels, of which PyTorch has one setting for all threads."""
    before = torch.get_float32_matmul_precision()
    models = [plain.loaded("llama"), plain.loaded("gpt2")]
    models[0].lock._matmul, models[1].lock._matmul = "medium", "highest"
    alone = [everything(lm, prompt_set(1)) for lm in models]
    tasks = [lambda lm=lm: everything(lm, prompt_set(1)) for lm in models]  # type: ignore[misc]
    assert together(tasks) == alone
    assert torch.get_float32_matmul_precision() == before


def test_one_sessions_stop_is_not_anothers() -> None:
    class Stop(BaseException):
        pass

    def stopped() -> object:
        def report(fraction: float) -> None:
            if fraction > 0:
                raise Stop

        return analyse(plain.loaded(), prompt_set(1), Caches(), report=report)

    alone = everything(plain.loaded(), prompt_set(2))
    first, second = together([stopped, lambda: everything(plain.loaded(), prompt_set(2))])
    assert isinstance(first, Stop)
    assert second == alone


def test_sessions_that_share_a_cache_get_their_own_texts() -> None:
    lm, shared = plain.loaded(), Caches()
    asked = [PromptSet("one two", (Variant("three four", label=f"session {n}"),), target=" five") for n in range(4)]
    found = together([lambda each=each: analyse(lm, each, shared) for each in asked])  # type: ignore[misc]
    for each, analysis in zip(asked, found, strict=True):
        assert isinstance(analysis, Analysis)
        assert analysis.prompt_set == each
        assert analysis.prompts[1].label == each.variants[0].label


# --- the lock ---------------------------------------------------------------------------------------


class Queue(deque[threading.Lock]):
    """A lock's queue that says when somebody has joined it."""

    def __init__(self) -> None:
        super().__init__()
        self.joined = threading.Semaphore(0)

    def append(self, turn: threading.Lock) -> None:
        super().append(turn)
        self.joined.release()


def queue(lock: FairLock) -> Queue:
    """Watch the queue of a lock."""
    lock._waiting = Queue()
    return lock._waiting


def waiter(lock: FairLock, name: str, log: list[str], times: int = 1) -> threading.Thread:
    """A thread that takes the lock `times` times, noting its name each time."""

    def run() -> None:
        for _ in range(times):
            with lock:
                log.append(name)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_the_lock_is_handed_over_in_the_order_of_asking() -> None:
    lock, log = FairLock(), list[str]()
    waiting, threads = queue(lock), []
    with lock:
        for number in range(5):
            threads.append(waiter(lock, str(number), log))
            waiting.joined.acquire()
        assert log == []
    for thread in threads:
        thread.join()
    assert log == list("01234")
    assert not lock.held


def test_a_long_run_lets_a_short_one_in_at_its_next_chunk() -> None:
    """The long run holds the lock, lets go between chunks, and asks again: the short one comes first."""
    lock, log = FairLock(), list[str]()
    waiting = queue(lock)
    with lock:
        short = waiter(lock, "short", log)
        waiting.joined.acquire()
    for _ in range(3):
        with lock:
            log.append("long")
    short.join()
    assert log == ["short", "long", "long", "long"]


def test_those_who_wait_come_before_one_who_asks_again() -> None:
    lock, log = FairLock(), list[str]()
    waiting = queue(lock)
    with lock:
        first = waiter(lock, "a", log, times=3)
        waiting.joined.acquire()
        second = waiter(lock, "b", log, times=3)
        waiting.joined.acquire()
    first.join()
    second.join()
    assert log[:2] == ["a", "b"]
    assert sorted(log) == ["a"] * 3 + ["b"] * 3


def test_a_short_session_is_served_at_the_next_chunk_of_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, log = plain.loaded(), list[str]()
    monkeypatch.setattr(lm.lock._lock, "_waiting", Queue())
    waiting = lm.lock._lock._waiting
    assert isinstance(waiting, Queue)
    states = forward.states

    def noted(*args: Any, **kwargs: Any) -> Any:
        log.append(threading.current_thread().name)
        return states(*args, **kwargs)

    monkeypatch.setattr(forward, "states", noted)
    monkeypatch.setattr(engine, "CHUNK_TOKENS", 8)
    short = threading.Thread(target=lambda: answers(lm, [(5, 6, 7)], 1), name="short")

    def report(fraction: float) -> None:
        if short.ident is None and lm.lock.held:  # the long run is in the middle of its first chunk
            short.start()
            waiting.joined.acquire()

    target = target_from_ids(lm.encoder, (9,), chosen=True)
    items = [Item(encode(lm.encoder, Prompt("one two three four " * 5 + str(n))), target) for n in range(6)]
    traces(lm, items, attributions=False, report=report)
    short.join()
    assert len(log) > log.index("short") + 2
    assert log.index("short") == 2  # the first chunk is a pass over its beginning and one over its last token


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_inside_frees_the_lock(error: type[BaseException]) -> None:
    lock = FairLock()
    with pytest.raises(error), lock:
        raise error
    with lock:
        assert lock.held
    assert not lock.held


def test_one_who_is_interrupted_while_waiting_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, log = FairLock(), list[str]()
    real = threading.Lock

    class Interrupted:
        """A lock whose second acquire, the one that waits, is interrupted."""

        def __init__(self) -> None:
            self.calls = 0

        def acquire(self) -> None:
            self.calls += 1
            if self.calls == 2:
                raise KeyboardInterrupt

        def release(self) -> None:
            raise AssertionError("handed to one who has left")

    with lock:
        monkeypatch.setattr(threading, "Lock", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            lock.__enter__()
        monkeypatch.setattr(threading, "Lock", real)
        assert len(lock._waiting) == 0
        waiting = queue(lock)
        following = waiter(lock, "next", log)
        waiting.joined.acquire()
    following.join()
    assert (log, lock.held) == (["next"], False)


def test_one_who_is_interrupted_just_as_the_lock_comes_hands_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = FairLock()
    real = threading.Lock

    class HandedThenInterrupted:
        def __init__(self) -> None:
            self.calls = 0

        def acquire(self) -> None:
            self.calls += 1
            if self.calls == 2:
                lock.__exit__()  # the holder lets go meanwhile
                raise KeyboardInterrupt

        def release(self) -> None:
            pass

    lock.__enter__()
    monkeypatch.setattr(threading, "Lock", HandedThenInterrupted)
    with pytest.raises(KeyboardInterrupt):
        lock.__enter__()
    monkeypatch.setattr(threading, "Lock", real)
    assert not lock.held
    with lock:
        assert lock.held


def test_the_lock_sets_the_matrix_kernel_only_while_it_is_held() -> None:
    before = torch.get_float32_matmul_precision()
    lock = PassLock(torch.device("cpu"), "medium")
    with lock:
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_float32_matmul_precision() == before
    elsewhere = PassLock(torch.device("meta"), "medium")
    with elsewhere:
        assert torch.get_float32_matmul_precision() == before


def test_models_on_the_processor_take_turns() -> None:
    first, second, other = (PassLock(torch.device(device)) for device in ("cpu", "cpu", "meta"))
    with first:
        assert second.held
        assert not other.held

"""A bounded mapping: what was used last stays, and what is too much goes."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from analysis.lru import Lru

KEYS = st.integers(0, 5)


@given(st.lists(st.tuples(st.booleans(), KEYS, st.integers(0, 4))), st.integers(1, 8))
def test_it_behaves_like_a_list_of_entries_by_last_use(steps: list[tuple[bool, int, int]], limit: int) -> None:
    lru: Lru[int, int] = Lru(limit, size=lambda value: value)
    model: OrderedDict[int, int] = OrderedDict()
    for put, key, value in steps:
        if put:
            lru.put(key, value)
            model.pop(key, None)
            model[key] = value
            while sum(model.values()) > limit and len(model) > 1:
                model.popitem(last=False)
        else:
            assert lru.get(key) == model.get(key)
            if key in model:
                model.move_to_end(key)
        assert len(lru) == len(model)
    assert all(lru.get(key) == value for key, value in model.items())


def test_an_entry_over_the_limit_stays_until_the_next_one_comes() -> None:
    lru: Lru[str, str] = Lru(3, size=len)
    lru.put("a", "long text")
    assert lru.get("a") == "long text"
    lru.put("b", "x")
    assert (lru.get("a"), lru.get("b")) == (None, "x")


def test_by_default_entries_are_counted() -> None:
    lru: Lru[int, str] = Lru(2)
    for number in range(4):
        lru.put(number, "x" * number)
    assert [lru.get(number) for number in range(4)] == [None, None, "xx", "xxx"]

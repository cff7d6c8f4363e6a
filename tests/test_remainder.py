"""The first-order error at the head is a KL divergence, and the second-order term is the Hessian's."""

import numpy as np
import pytest
import torch

from analysis.divergence import kl, second_order
from analysis.remainder import remainder

VOCABULARY, HIDDEN, TARGET = 50, 8, 3


def head(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A random linear head [V, H] with two states [H], float64."""
    random = torch.Generator().manual_seed(seed)
    shape = {"generator": random, "dtype": torch.float64}
    return torch.randn(VOCABULARY, HIDDEN, **shape), torch.randn(HIDDEN, **shape), torch.randn(HIDDEN, **shape)


def log_p(weight: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(weight @ state, dim=-1)


def first_order(weight: torch.Tensor, a: torch.Tensor, step: torch.Tensor) -> float:
    state = a.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(log_p(weight, state)[TARGET], state)
    return float(gradient @ step)


@pytest.mark.parametrize("seed", range(5))
def test_the_second_order_term_is_half_a_hessian_vector_product(seed: int) -> None:
    weight, a, step = head(seed)
    _, product = torch.autograd.functional.hvp(lambda state: log_p(weight, state)[TARGET], a, step)
    found = second_order(log_p(weight, a).numpy(), log_p(weight, a + step).numpy())
    assert found == pytest.approx(0.5 * float(step @ product), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_errors_fall_with_the_square_and_the_cube_of_the_step(seed: int) -> None:
    weight, a, whole = head(seed)

    def errors(share: float) -> tuple[float, float]:
        step = share * whole
        p_a, p_b = log_p(weight, a).numpy(), log_p(weight, a + step).numpy()
        found = remainder(float(p_b[TARGET] - p_a[TARGET]), first_order(weight, a, step), p_a, p_b)
        return abs(found.delta - found.first), abs(found.delta - found.second)

    (first, second), (smaller_first, smaller_second) = errors(2e-3), errors(1e-3)
    assert first / smaller_first == pytest.approx(4, rel=0.05)
    assert second / smaller_second == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_both_first_order_errors_are_divergences(seed: int) -> None:
    weight, a, step = head(seed)
    p_a, p_b = log_p(weight, a).numpy(), log_p(weight, a + step).numpy()
    delta = float(p_b[TARGET] - p_a[TARGET])
    found = remainder(delta, first_order(weight, a, step), p_a, p_b)
    assert found.kl_ab == pytest.approx(found.first - delta, abs=1e-9)
    assert found.kl_ba == pytest.approx(delta - first_order(weight, a + step, step), abs=1e-9)


def test_equal_predictions_leave_nothing_over() -> None:
    same = np.log(np.full(4, 0.25))
    found = remainder(0.0, 0.0, same, same)
    assert (found.first, found.second, found.kl_ab, found.kl_ba) == (0, 0, 0, 0)
    assert not found.second_is_worse


def test_a_long_step_is_where_the_second_order_can_be_worse() -> None:
    """A confident reference that another wording breaks: the variance under p_a counts what p_a allows only little."""
    p_a, p_b = np.log([0.5, 0.5 - 1e-6, 1e-6]), np.log([1e-6, 1 - 2e-6, 1e-6])
    found = remainder(float(p_b[0] - p_a[0]), float(p_b[0] - p_a[0]) + kl(p_a, p_b), p_a, p_b)
    assert found.second_is_worse
    assert found.second < found.delta < found.first

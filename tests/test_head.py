"""The head on a trace's states gives the distributions that the pass itself saw."""

import numpy as np
import pytest
import torch

from analysis.encoding import encode, encode_target
from analysis.head import next_log_probs
from analysis.model import assemble
from analysis.prompts import Prompt
from analysis.results import Trace
from analysis.trace import Item, traces
from tests import tiny


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2"])
def test_every_target_token_has_its_distribution(family: str) -> None:
    lm = assemble(tiny.network(family), tiny.tokenizer(), "tiny")
    tokens = encode(lm.encoder, Prompt("one two three"))
    target = encode_target(lm.encoder, Prompt("one two three"), tokens, " Paris is.")
    assert len(target) > 1
    (trace,) = traces(lm, [Item(tokens, target)])
    assert isinstance(trace, Trace)
    ids = torch.tensor([[*tokens.ids, *target.ids]])
    with torch.no_grad():
        plain = torch.log_softmax(lm.network.model(ids).logits[0].float(), dim=-1).numpy()
    for k in range(len(target)):
        assert next_log_probs(lm, trace, k) == pytest.approx(plain[len(tokens) - 1 + k], abs=1e-4)
        assert np.exp(next_log_probs(lm, trace, k)).sum() == pytest.approx(1, abs=1e-4)

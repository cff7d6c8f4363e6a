"""Gemma 3 270M, a real second architecture: it adds a BOS, scales its embeddings, has a vocabulary of
262 144 tokens and attends through sliding windows. Running these tests fetches it under its terms of use."""

import numpy as np
import pytest
import torch

from analysis.encoding import encode, encode_target
from analysis.model import LanguageModel, ModelSpec, load
from analysis.prompts import Prompt
from analysis.results import Trace
from analysis.trace import Item, traces

TEXTS = ("The capital of France is", "France's capital city is", "日本の首都は", "x" + " word" * 560)


@pytest.fixture(scope="module")
def gemma() -> LanguageModel:
    return load(ModelSpec("gemma-3-270m", accept_terms=True))


def item(lm: LanguageModel, text: str, target: str) -> Item:
    tokens = encode(lm.encoder, Prompt(text))
    return Item(tokens, encode_target(lm.encoder, Prompt(text), tokens, target))


def traced(lm: LanguageModel, items: list[Item], **options: bool) -> list[Trace]:
    found = traces(lm, items, **options)
    assert all(isinstance(trace, Trace) for trace in found)
    return [trace for trace in found if isinstance(trace, Trace)]


def test_the_published_weights_predict_paris(gemma):
    (trace,) = traced(gemma, [item(gemma, "The capital of France is", " Paris")])
    assert trace.log_prob == pytest.approx(-2.48, abs=0.01)


def test_the_tokenizer_adds_one_bos_even_where_it_is_typed(gemma):
    assert encode(gemma.encoder, Prompt("hello")).roles[0] == "added"
    ids = encode(gemma.encoder, Prompt("<bos>hello")).ids
    assert ids.count(gemma.encoder.bos_id) == 1
    assert gemma.encoder.bos_id not in encode(gemma.encoder, Prompt("hello", special_tokens=False)).ids


def test_nothing_that_the_self_test_tries_is_missing_but_a_chat_template(gemma):
    assert {name for name, _ in gemma.card.unavailable} <= {"chat mode"}
    assert gemma.card.layers == 18


@pytest.mark.parametrize("attributions", [False, True])
def test_a_batch_equals_plain_passes_beyond_the_sliding_window(gemma, attributions):
    items = [item(gemma, text, " Paris") for text in TEXTS]
    for one, trace in zip(items, traced(gemma, items, attributions=attributions), strict=True):
        with torch.no_grad():
            out = gemma.network.model(input_ids=torch.tensor([one.read]), output_hidden_states=True)
        plain = torch.log_softmax(out.logits[0, -1].float(), dim=-1)[one.target.ids[-1]]
        assert trace.log_prob == pytest.approx(float(plain), abs=1e-3)
        states = np.stack([state[0, -1].numpy() for state in out.hidden_states])
        assert np.allclose(trace.hidden[0], states, rtol=1e-3, atol=1e-3 * np.abs(states).max())

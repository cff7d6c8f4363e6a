"""The engine against the usual research script and against what the arithmetic alone would take."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from analysis.encoding import encode, encode_target
from analysis.explore import Caches, analyse
from analysis.model import LanguageModel
from analysis.patching import patch_curves
from analysis.prompts import Prompt, PromptSet, Variant
from analysis.results import Tokens, Trace
from analysis.trace import Item, traces
from benchmarks.measure import Measure, median_seconds

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference" / "arc_challenge_prompts.jsonl"


def templates(lm: LanguageModel) -> list[Item]:
    """The 12 templates of the first reference question, each with its target."""
    question = json.loads(REFERENCE.read_text(encoding="utf-8").splitlines()[0])
    items = []
    for text in question["prompts"].values():
        prompt = Prompt(text, special_tokens=False)
        tokens = encode(lm.encoder, prompt)
        items.append(Item(tokens, encode_target(lm.encoder, prompt, tokens, question["target"])))
    return items


def loop(lm: LanguageModel, items: list[Item]) -> None:
    """One prompt at a time, forward and backward with parameter gradients: the usual research script."""
    model = lm.network.model
    model.requires_grad_(True)
    try:
        for item in items:
            model.zero_grad()
            out = model(input_ids=torch.tensor([item.read]), output_hidden_states=True)
            for state in out.hidden_states:
                state.retain_grad()
            torch.log_softmax(out.logits[0, -1], dim=-1)[item.target.ids[-1]].backward()
    finally:
        model.zero_grad(set_to_none=True)
        model.requires_grad_(False)


def needed_flops(lm: LanguageModel, items: list[Item]) -> float:
    """Floating-point operations that the last-token mode cannot do without.

    2 per weight and unique token for the blocks, 4 · hidden per token pair and layer for attention, and
    for every row the head forward and backward and the blocks once more backward.
    """
    config = lm.network.model.config.get_text_config()
    blocks = sum(p.numel() for block in lm.network.blocks for p in block.parameters())
    head = config.vocab_size * config.hidden_size
    unique = {item.read for item in items}
    flops = 0.0
    for read in unique:
        flops += 2 * blocks * len(read) + 2 * lm.network.layers * config.hidden_size * len(read) ** 2
        flops += 2 * blocks + 4 * head
    return flops


def flops_per_second(lm: LanguageModel, items: list[Item]) -> float:
    """Matrix-multiply throughput at full float32 precision, in the shapes of the model's MLP."""
    config = lm.network.model.config.get_text_config()
    rows = sum(len(item.read) for item in items)
    inner = getattr(config, "intermediate_size", 4 * config.hidden_size)
    weight, x = torch.randn(inner, config.hidden_size), torch.randn(rows, config.hidden_size)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        seconds = median_seconds(lambda: [torch.nn.functional.linear(x, weight) for _ in range(20)])
    finally:
        torch.set_float32_matmul_precision(before)
    return 20 * 2 * rows * inner * config.hidden_size / seconds


def against_the_loop(lm: LanguageModel) -> Iterator[Measure]:
    items = templates(lm)
    limit = needed_flops(lm, items) / flops_per_second(lm, items)
    base = median_seconds(lambda: loop(lm, items))
    last = median_seconds(lambda: traces(lm, items, attributions=False))
    full = median_seconds(lambda: traces(lm, items, attributions=True))
    yield Measure("12 templates, last-token mode: loop / engine", last, "s", base, base / last)
    yield Measure("12 templates, with attributions: loop / engine", full, "s", base, base / full)
    yield Measure("12 templates, last-token mode: engine / arithmetic limit", last, "s", limit, last / limit)


def after_one_edit(lm: LanguageModel) -> Iterator[Measure]:
    """Seven rewordings and the reference, then one edited; the target is fixed, answers are not written."""
    texts = [item.tokens.text for item in templates(lm)[:8]]
    first = PromptSet(texts[0], tuple(Variant(text) for text in texts[1:]), target=" C", special_tokens=False)
    whole = median_seconds(lambda: analyse(lm, first, Caches()))
    caches = Caches()
    analyse(lm, first, caches)
    count = 0

    def edit() -> None:
        nonlocal count
        count += 1
        edited = replace(first.variants[3], text=f"{first.variants[3].text} {count}")
        analyse(lm, replace(first, variants=(*first.variants[:3], edited, *first.variants[4:])), caches)

    one = median_seconds(edit)
    yield Measure("8 prompts after one edit: edit / whole set", one, "s", whole, one / whole)


def patching(lm: LanguageModel) -> Iterator[Measure]:
    """Eight prompts' states put into the reference, layer by layer, beside the traces of the eight."""
    long = [item for item in templates(lm) if len(item.tokens) >= 60][:9]
    for name, rows in (
        ("of 60 tokens or more", [item.tokens for item in long]),
        ("of 12 tokens", random_tokens(9, 12)),
    ):
        items = [Item(tokens, long[0].target) for tokens in rows]
        reference, *others = (trace for trace in traces(lm, items) if isinstance(trace, Trace))
        value = median_seconds(lambda reference=reference, others=others: patch_curves(lm, reference, others))
        full = median_seconds(lambda items=items: traces(lm, items[1:], attributions=True))
        yield Measure(f"patch curves of 8 prompts {name} / full traces", value, "s", full, value / full)


def scaling(lm: LanguageModel) -> Iterator[Measure]:
    """How the time with attributions grows with prompts and with tokens, beside proportional growth."""
    target = templates(lm)[0].target

    def seconds(prompts: int, tokens: int) -> float:
        items = [Item(row, target) for row in random_tokens(prompts, tokens)]
        return median_seconds(lambda: traces(lm, items), runs=3)

    base = seconds(2, 64)
    for prompts in (8, 32):
        value, proportional = seconds(prompts, 64), base * prompts / 2
        yield Measure(
            f"{prompts} prompts × 64 tokens: time / proportional", value, "s", proportional, value / proportional
        )
    for tokens in (256, 1024):
        value, proportional = seconds(2, tokens), base * tokens / 64
        yield Measure(
            f"2 prompts × {tokens} tokens: time / proportional", value, "s", proportional, value / proportional
        )


def random_tokens(prompts: int, tokens: int) -> list[Tokens]:
    """Prompts of random ids, the same in every run."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(1000, 40000, (prompts, tokens), generator=generator).tolist()
    return [
        Tokens("", tuple(row), ("",) * tokens, ((0, 0),) * tokens, ("text",) * tokens, (False,) * tokens)
        for row in rows
    ]

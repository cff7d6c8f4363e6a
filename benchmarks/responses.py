"""Every answer scored after every prompt (what POSIX needs), beside one full pass for each of them."""

from collections.abc import Iterator

import torch

from analysis.answers import answers
from analysis.model import LanguageModel
from analysis.responses import response_log_probs
from benchmarks.engine import templates
from benchmarks.measure import Measure, median_seconds

RESPONSE_TOKENS = 5


def one_by_one(lm: LanguageModel, prompts: list[tuple[int, ...]], responses: list[tuple[int, ...]]) -> list[float]:
    """A full forward pass over each prompt with each response, one at a time: the usual research script."""
    sums = []
    with torch.no_grad():
        for prompt in prompts:
            for response in responses:
                logits = lm.network.model(input_ids=torch.tensor([[*prompt, *response]]), use_cache=False).logits
                log_probs = torch.log_softmax(logits[0, len(prompt) - 1 : -1], dim=-1)
                sums.append(float(log_probs.gather(1, torch.tensor(response)[:, None]).sum()))
    return sums


def response_matrix(lm: LanguageModel) -> Iterator[Measure]:
    """The 12 templates of the first reference question and their greedy answers of at most five tokens.

    Beside the models' own answers, 12 different ones: equal answers are scored once.
    """
    prompts = [item.tokens.ids for item in templates(lm)]
    own = [answer.ids for answer in answers(lm, prompts, RESPONSE_TOKENS)]
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(1000, 40_000, (len(prompts), RESPONSE_TOKENS), generator=generator).tolist()
    mean = sum(map(len, prompts)) / len(prompts)
    for name, responses in (("greedy answers", own), ("different answers", [tuple(row) for row in drawn])):
        value = median_seconds(lambda responses=responses: response_log_probs(lm, prompts, responses), runs=3)
        base = median_seconds(lambda responses=responses: one_by_one(lm, prompts, responses), runs=1)
        title = f"12 × 12 matrix of {name}, prompts of {mean:.0f} tokens: matrix / passes"
        yield Measure(title, value, "s", base, value / base)

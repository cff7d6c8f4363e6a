"""Every prompt's answer scored after every prompt: what POSIX is computed from."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from analysis.model import LanguageModel
from analysis.results import Analysis, Answer
from analysis.scoring import ScoreCache, score
from analysis.sensitivity import ResponseScores, compared

Report = Callable[[float], object]
Ids = tuple[int, ...]


def response_scores(
    lm: LanguageModel,
    analysis: Analysis,
    answers: Sequence[Answer | None],
    cache: ScoreCache | None = None,
    report: Report = lambda fraction: None,
) -> ResponseScores | None:
    """Score the greedy answers to the prompts that `compared` takes; None where fewer than two have one.

    N prompts take N² scores, but equal responses are scored once and each prompt's tokens run once.
    """
    places: list[int] = []
    prompts: list[Ids] = []
    responses: list[Ids] = []
    for place in compared(analysis).places:
        trace, answer = analysis.prompts[place].trace, answers[place]
        if trace is not None and answer is not None and answer.ids:
            places.append(place)
            prompts.append(trace.tokens.ids)
            responses.append(answer.ids)
    if len(places) < 2:
        return None
    log_probs = response_log_probs(lm, prompts, responses, cache, report)
    return ResponseScores(tuple(places), tuple(len(response) for response in responses), log_probs)


def response_log_probs(
    lm: LanguageModel,
    prompts: Sequence[Ids],
    responses: Sequence[Ids],
    cache: ScoreCache | None = None,
    report: Report = lambda fraction: None,
) -> Float[np.ndarray, "prompt response"]:
    """log P(response | prompt) of every prompt with every response, in nats, summed over tokens."""
    rows = [(prompt, response) for prompt in prompts for response in responses]
    sums = [float(values.sum(dtype=np.float64)) for values in score(lm, rows, report, cache=cache)]
    return np.array(sums).reshape(len(prompts), len(responses))

"""The sentence over "Which kinds are risky?": the kinds at both ends, and on how little that rests."""

from analysis.charts.words import number as decimal
from analysis.findings import nats, number
from analysis.risky_kinds_results import KindEffects, Metric, RiskyKinds, ordered

FEW = 10  # rewordings of a kind: a median of fewer moves with each of them
NAMED = 3  # rewordings that a kind needs to be named as the one at an end, if any has them


def kinds(found: RiskyKinds, metric: Metric = "delta") -> str:
    """The riskiest and the safest kind, modification against misalignment, and what limits the comparison."""
    meant = [kind for kind in ordered(found.meant, metric) if kind.summary(metric) is not None]
    if not meant:
        return f"No rewording that keeps the meaning could be made of {_prompts(found)}.{_one_prompt(found)}"
    enough = [kind for kind in meant if len(kind.effects) >= NAMED] or meant
    first, last = enough[0], enough[-1]
    total = sum(len(kind.effects) for kind in meant)
    over = f"Over {total} rewordings of {_prompts(found)}"
    if first is last:
        sentence = f"{over}, {first.rule} {_does(first, metric)}."
    else:
        sentence = f"{over}, {first.rule} {_does(first, metric)}, {last.rule} {_least(last, metric)}."
    if len(enough) < len(meant):
        sentence += f" Kinds with fewer than {number(NAMED)} rewordings are not named."
    return f"{sentence}{_alignment(found, metric)}{_few(meant)}{_one_prompt(found)}{_left_out(found)}"


def said(value: float, metric: Metric) -> str:
    """A summary with its unit."""
    if metric == "flip":
        return f"{100 * value:.0f} %"
    return nats(value) if metric == "delta" else decimal(value, 1)


def _does(kind: KindEffects, metric: Metric) -> str:
    value = said(kind.summary(metric) or 0.0, metric)
    if metric == "flip":
        return f"changes the likeliest next token most often ({value})"
    if metric == "delta":
        return f"moves the target most (median |Δ| {value})"
    return f"moves the last token's state most (median ‖Δh_L‖ {value})"


def _least(kind: KindEffects, metric: Metric) -> str:
    return f"{'most rarely' if metric == 'flip' else 'least'} ({said(kind.summary(metric) or 0.0, metric)})"


def _alignment(found: RiskyKinds, metric: Metric) -> str:
    by_name = {group.name: group for group in found.groups}
    swapped, shifted = by_name["modification"], by_name["misalignment"]
    one, other = swapped.summary(metric), shifted.summary(metric)
    if one is None or other is None:
        return ""
    moved, inside = (
        f"{said(value, metric)} ({len(group.effects)} rewording{'' if len(group.effects) == 1 else 's'})"
        for value, group in ((other, shifted), (one, swapped))
    )
    if metric == "flip":
        return f" Edits that shift later positions change the next token in {moved}, edits in place in {inside}."
    what = "the target" if metric == "delta" else "the state"
    return (
        f" The median edit that shifts later positions moves {what} by {moved}, the median edit in place by {inside}."
    )


def _few(meant: list[KindEffects]) -> str:
    sizes = [len(kind.effects) for kind in meant]
    if min(sizes) >= FEW:
        return ""
    span = number(sizes[0]) if min(sizes) == max(sizes) else f"{number(min(sizes))} to {number(max(sizes))}"
    noun = "rewording" if span == "one" else "rewordings"
    return f" A kind has {span} {noun} here, so neighbours in the order may well change places."


def _one_prompt(found: RiskyKinds) -> str:
    return " One prompt cannot rank kinds: add other sets." if len(found.sets) == 1 else ""


def _left_out(found: RiskyKinds) -> str:
    count = len(found.left_out)
    return f" Left out: {number(count)} set{'' if count == 1 else 's'} that could not be run." if count else ""


def _prompts(found: RiskyKinds) -> str:
    return "one prompt" if len(found.sets) == 1 else f"{number(len(found.sets))} prompts"

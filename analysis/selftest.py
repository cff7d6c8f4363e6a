"""What a loaded model can and cannot do, found out in a second or less by trying.

A failed check becomes a capability that the pages respect and explain, not an error in the middle of
an analysis. Only a model whose log-probs cannot be trusted at all is refused.
"""

from dataclasses import dataclass

import torch

from analysis import forward
from analysis.encoding import Encoder, EncodingError, encode
from analysis.forward import Network
from analysis.prompts import Prompt

EXACT = 1e-4  # nats: two float32 kernels may differ by this much
_PROBE = "The quick brown fox jumps over the lazy dog."


class SelfTestError(ValueError):
    """The model's predictions cannot be reproduced; the message is one sentence."""


@dataclass(frozen=True)
class Capabilities:
    """What the self-test found. Each reason is None where the thing works, else says why not."""

    no_gradients: str | None
    no_cache: str | None  # without a key–value cache every continuation is a full pass
    no_certificate: str | None  # the two-sided bound needs a linear head
    no_chat: str | None
    matmul: str  # the float32 matrix precision to run with: "medium" only where it is as exact as "highest"
    noise_floor: float  # nats: how far equal passes through other shapes differ

    @property
    def unavailable(self) -> tuple[tuple[str, str], ...]:
        named = {
            "gradients": self.no_gradients,
            "shared prefixes": self.no_cache,
            "certified bounds": self.no_certificate,
            "chat mode": self.no_chat,
        }
        return tuple((name, reason) for name, reason in named.items() if reason)


def run(network: Network, encoder: Encoder) -> Capabilities:
    """Check a network against its own plain forward pass on a short text."""
    try:
        ids = encode(encoder, Prompt(_PROBE)).ids
        ids = ids if len(ids) > 3 else ids * 4
        floor = max(_check_logits(network, ids), _rounding(network, ids))
    except SelfTestError:
        raise
    except Exception as error:  # the network is foreign code
        raise SelfTestError(f"a forward pass from its embeddings fails ({_said(error)})") from error
    no_gradients = _gradients(network, ids)
    no_cache, cache_floor = _cache(network, ids)
    capped = network.logit_cap is not None
    return Capabilities(
        no_gradients=no_gradients,
        no_cache=no_cache,
        no_certificate="the logits are soft-capped by tanh, so log-probs are not concave in the last state"
        if capped
        else None,
        no_chat=_chat(encoder),
        matmul=_matmul(network, ids),
        noise_floor=max(floor, cache_floor, 1e-6),
    )


def _matmul(network: Network, ids: tuple[int, ...]) -> str:
    """ "medium" where it changes no log-prob by more than float32 noise: some processors then use bfloat16."""
    if network.embedding.weight.dtype != torch.float32 or network.device.type != "cpu":
        return "highest"
    rows = forward.padded([ids * 3], network.device)
    before = torch.get_float32_matmul_precision()
    found = []
    try:
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            with torch.no_grad():
                last = forward.states(network, forward.embed(network, rows), layers=False, use_cache=False)
                found.append(forward.log_probs(network, last.last_hidden_state))
    finally:
        torch.set_float32_matmul_precision(before)
    return "medium" if _difference(*found) < EXACT else "highest"


def _check_logits(network: Network, ids: tuple[int, ...]) -> float:
    """Logits from ids equal logits from embeddings through our head, alone and beside longer rows.

    Returns the largest difference, in nats.
    """
    tensor = forward.padded([ids], network.device)
    with torch.no_grad():
        plain = torch.log_softmax(network.model(input_ids=tensor, use_cache=False).logits[0].float(), dim=-1)
        out = forward.states(network, forward.embed(network, tensor))
        ours = forward.log_probs(network, out.last_hidden_state[0])
        rows = [ids, ids[:-2], ids[:-1]]
        padded = forward.states(network, forward.embed(network, forward.padded(rows, network.device)), layers=False)
        beside = [forward.log_probs(network, padded.last_hidden_state[i, len(row) - 1]) for i, row in enumerate(rows)]
    if not bool(torch.isfinite(plain).all()):
        raise SelfTestError("its log-probs are not finite (NaN or infinity): the weights or the dtype are broken")
    if len(out.hidden_states) != network.layers + 1:
        raise SelfTestError(f"it returns {len(out.hidden_states)} hidden states for {network.layers} blocks")
    widths = {state.shape[-1] for state in forward.all_states(out)}
    if len(widths) > 1:
        raise SelfTestError(f"its states have different widths ({', '.join(map(str, sorted(widths)))})")
    tolerance = _tolerance(network)
    if not (difference := _difference(plain[-1], ours[-1])) <= tolerance:
        raise SelfTestError("its logits are not its LM head applied to its last state and embeddings")
    batched = max(_difference(plain[len(row) - 1], row_beside) for row, row_beside in zip(rows, beside, strict=True))
    if not batched <= tolerance:
        raise SelfTestError(f"its predictions move by {batched:.2g} nats when a longer prompt is beside it")
    return max(difference, batched)


def _rounding(network: Network, ids: tuple[int, ...]) -> float:
    """Distance between neighbouring numbers of the model's dtype at its largest logit, in nats.

    About 0.1 for bfloat16 and 0.01 for float16: no log-prob is known better, even where passes agree.
    """
    with torch.no_grad():
        out = forward.states(network, forward.embed(network, forward.padded([ids], network.device)), layers=False)
        raw = network.unembedding(out.last_hidden_state[0, -1]).abs().max() * network.logit_scale
    return float(raw) * torch.finfo(network.embedding.weight.dtype).eps  # type: ignore[arg-type]


def _tolerance(network: Network) -> float:
    """How far two ways to one log-prob may differ, in nats, before one of them must be wrong."""
    return 0.01 if network.embedding.weight.dtype in (torch.float32, torch.float64) else 1.0


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _gradients(network: Network, ids: tuple[int, ...]) -> str | None:
    embeds = forward.embed(network, forward.padded([ids], network.device)).detach().requires_grad_(True)
    try:
        with torch.enable_grad():
            out = forward.states(network, embeds)
            score = forward.log_probs(network, out.last_hidden_state[0, -1]).max()
            gradients = torch.autograd.grad(score, [embeds, *forward.all_states(out)])
    except Exception as error:
        return f"the backward pass fails ({_said(error)}); leave-one-out works"
    if not all(bool(torch.isfinite(gradient).all()) for gradient in gradients):
        return "the backward pass gives numbers that are not finite; leave-one-out works"
    return None


def _cache(network: Network, ids: tuple[int, ...]) -> tuple[str | None, float]:
    """The same prediction from a cached, realigned prefix in a batch of rows of other lengths."""
    rows = [ids, ids[:-2], ids[1:]]
    with torch.no_grad():
        single = [
            forward.log_probs(network, forward.states(network, forward.embed(network, forward.padded([row], network.device)),
                                                      layers=False).last_hidden_state[0, -1])
            for row in rows
        ]  # fmt: skip
        try:
            batched = forward.log_probs(network, last_token(network, rows))
        except Exception as error:
            return f"its key–value cache cannot be used ({_said(error)})", 0.0
    difference = max(_difference(a, b) for a, b in zip(single, batched, strict=True))
    if not difference <= _tolerance(network):
        return f"predictions from its key–value cache differ by {difference:.2g} nats from a full pass", 0.0
    return None, difference


def last_token(network: Network, rows: list[tuple[int, ...]]) -> torch.Tensor:
    """Final states [B, H] of each row's last token, the rest of the row coming from a cache."""
    prefix = forward.prefill(network, [row[:-1] for row in rows])
    assert prefix is not None
    cache, mask = forward.aligned(prefix, range(len(rows)), prefix.lengths)
    ends = torch.tensor([[row[-1]] for row in rows], device=network.device)
    out = forward.after(network, cache, mask, forward.embed(network, ends), prefix.lengths, layers=False)
    return out.last_hidden_state[:, 0]


def _chat(encoder: Encoder) -> str | None:
    if not encoder.has_chat_template:
        return f"the tokenizer of {encoder.name} has no chat template"
    try:
        encode(encoder, Prompt("Hi", mode="chat"))
    except EncodingError as error:
        return str(error)
    return None


def _difference(a: torch.Tensor, b: torch.Tensor) -> float:
    """Largest difference of two log-prob vectors over the tokens that are not hopeless (p > e⁻¹⁵)."""
    likely = a > -15
    return float((a - b).abs()[likely].max())

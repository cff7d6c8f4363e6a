"""What the analyses return: frozen values of NumPy arrays, with axes and units at each field.

Start reading here. Axis names: `prompt`, `token`, `layer`, `hidden`, `vocab`, `target`.
Log-probs and their differences are in nats. A difference points from the reference to the variant.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from analysis.prompts import PromptSet, Row


@dataclass(frozen=True)
class Tokens:
    """A prompt as the model reads it.

    `text` is what was encoded: in chat mode the rendered template with the user's text inside.
    `spans[t]` are character offsets into `text`; tokens that are parts of one character have its
    span in common, and a token that the tokenizer added (BOS) has an empty span. `roles[t]` is one
    of "text" (the user's), "system", "turn", "prefill", "template", "added".
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]  # what one id decodes to alone (may hold U+FFFD), or a special token's name
    spans: tuple[tuple[int, int], ...]
    roles: tuple[str, ...]
    control: tuple[bool, ...]  # the token is a control token (BOS, <|im_end|> …)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Target:
    """The continuation whose log-prob is explained."""

    text: str  # decoded; for display
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    chosen: bool  # False: nobody typed it, it is the model's own top next token
    joined: bool = True  # False: encoding prompt and target together gives other ids than these
    names: tuple[str, ...] = ()  # per token, for display: a part of a character says of which

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", self.pieces)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Trace:
    """Everything that one forward and one backward pass say about one prompt and its target.

    For target token k, `hidden[k]` and `gradient[k]` belong to the position that predicts it:
    h_l, and ∂ log p(y_k) / ∂h_l. Layer 0 enters the first block, the last layer is what the LM head
    reads. Token scores are for the whole target's log-prob, with respect to the input embeddings.
    """

    tokens: Tokens
    target: Target
    target_log_probs: Float[np.ndarray, " target"]  # nats, teacher-forced
    next_log_probs: Float[np.ndarray, " vocab"]  # nats, after the prompt
    hidden: Float[np.ndarray, "target layer hidden"]
    gradient: Float[np.ndarray, "target layer hidden"] | None
    saliency: Float[np.ndarray, " token"] | None  # ‖∂ log p / ∂e_t‖₂
    gradient_x_input: Float[np.ndarray, " token"] | None  # ∂ log p / ∂e_t · e_t, nats

    @property
    def log_prob(self) -> float:
        """log p(target), summed over its tokens, in nats."""
        return float(self.target_log_probs.sum())


@dataclass(frozen=True)
class Note:
    """One plain sentence about a row: `level` is "info", "warning" or "error"."""

    level: str
    text: str


@dataclass(frozen=True)
class Answer:
    """A continuation: greedy, or drawn (`analysis.sampling`). Log-probs are the model's own, at temperature 1."""

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]  # per token, nats
    finished: bool  # the model ended it, rather than the limit
    names: tuple[str, ...] = ()  # per token, for display: a part of a character says of which

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", self.pieces)


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Several answers scored after one prompt."""

    texts: tuple[str, ...]
    log_probs: tuple[tuple[float, ...], ...]  # candidate × its tokens, nats
    joined: tuple[bool, ...] = ()  # per candidate: encoding prompt and candidate together gives these tokens

    @property
    def sums(self) -> Float[np.ndarray, " candidate"]:
        return np.array([sum(row) for row in self.log_probs])

    @property
    def means(self) -> Float[np.ndarray, " candidate"]:
        return np.array([sum(row) / len(row) for row in self.log_probs])


@dataclass(frozen=True, eq=False)
class PromptResult:
    """One row of an analysed set. `trace` is None where the row failed; `notes` then says why."""

    row: Row
    trace: Trace | None
    delta: float | None  # Δ = log p(y|this) − log p(y|reference), nats; None where not comparable
    duplicate_of: int | None  # index of the earlier row with the same token ids
    notes: tuple[Note, ...] = ()

    @property
    def label(self) -> str:
        return self.row.label


@dataclass(frozen=True)
class ModelCard:
    """What the sidebar says about a model."""

    name: str
    revision: str
    architecture: str
    parameters: int
    layers: int
    hidden: int
    vocabulary: int
    max_tokens: int
    dtype: str
    device: str
    memory_bytes: int
    noise_floor: float  # nats; differences below it are numeric noise
    has_chat_template: bool
    unavailable: tuple[tuple[str, str], ...] = ()  # (capability, why) of what the self-test found missing


@dataclass(frozen=True, eq=False)
class Analysis:
    """A prompt set, analysed: what Explore shows and what is exported."""

    prompt_set: PromptSet
    model: ModelCard
    target: Target | None  # of the reference; None where the reference failed
    prompts: tuple[PromptResult, ...]  # the reference first
    notes: tuple[Note, ...] = ()

    @property
    def reference(self) -> PromptResult:
        return self.prompts[0]

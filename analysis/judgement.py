"""A proposed rewording with what is known of its meaning: the hard checks, the similarity, and the user's verdict."""

from dataclasses import dataclass

from analysis.meaning import Check
from analysis.prompts import CONTROL_KINDS, Variant
from analysis.variants.results import Proposal

FLAG_BELOW = 0.80  # similarity; fair rewordings go down to 0.47, so it is a hint and decides nothing


@dataclass(frozen=True)
class Judged:
    """A proposal as the user left it."""

    proposal: Proposal
    text: str  # the proposal's, or the user's own in its place
    checks: tuple[Check, ...]
    similarity: float | None  # cosine of sentence embeddings; None: not compared
    verdict: bool | None  # the user's own: the same meaning, another one, or none given
    chosen: bool | None  # to be kept, by the user's choice; None: as the checks say
    there: bool = False  # the set holds this text already

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def is_control(self) -> bool:
        return self.proposal.kind in CONTROL_KINDS

    @property
    def passes(self) -> bool:
        """Whether it means the same: by the user's verdict, or without one by the hard checks."""
        return not self.failed if self.verdict is None else self.verdict

    @property
    def kept(self) -> bool:
        """What nobody chose is kept where it passes; a control is not meant to.

        A model's own paraphrases wait to be read: small models change the meaning in ways that no check sees.
        """
        if self.there:
            return False
        if self.chosen is not None:
            return self.chosen
        if self.proposal.kind == "self-paraphrase":
            return bool(self.verdict)
        return self.passes or self.is_control

    def variant(self, label: str) -> Variant:
        """The row that the set gets."""
        return Variant(
            self.text,
            kind=self.proposal.kind,
            label=label,
            target=self.proposal.target,
            expected=self.proposal.expected,
            same_meaning=self.verdict,
        )

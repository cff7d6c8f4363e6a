"""Tiny random models of the families people load, with tokenizers trained in memory."""

import json
from collections.abc import Callable
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    CohereConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    GraniteConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    PhiConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

CORPUS = [
    "The capital of France is Paris. The capital of Italy is Rome.",
    "What is the capital of France? Paris is the capital of France.",
    "Answer with one word: yes or no. Question: is the sky blue? Answer: yes",
    "one two three four five six seven eight nine ten",
]

TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def tokenizer(
    bos: bool = False, pad: bool = True, template: str | None = TEMPLATE, *, eos: bool = False, trimmed: bool = False
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of about 400 tokens: every text can be encoded and decoded.

    `bos` and `eos` say what it adds to a text; with `trimmed` its spans leave out blanks, as some do.
    """
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>", "<|start|>", "<s>"],
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    backend.add_special_tokens([AddedToken("<pad>", special=True)])
    around = f"{'<s> ' if bos else ''}$A{' <|end|>' if eos else ''}"
    parts = [processors.ByteLevel(trim_offsets=trimmed), _adding(backend, around)]
    backend.post_processor = processors.Sequence(parts)
    return _wrapped(backend, bos, pad, template, "<|end|>")


def metaspace_tokenizer(bos: bool = True, template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """As SentencePiece makes them: a blank before every text, ▁ for blanks, and bytes where letters are missing."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=120, show_progress=False))
    state = json.loads(trained.to_str())["model"]
    names = ["<unk>", "<s>", "<|end|>", "<|start|>", *(f"<0x{byte:02X}>" for byte in range(256)), *state["vocab"]]
    merges = [tuple(merge) for merge in state["merges"]]
    vocabulary = {name: index for index, name in enumerate(names)}
    backend = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(["<unk>", "<s>", "<|end|>", "<|start|>"])
    backend.post_processor = _adding(backend, "<s> $A" if bos else "$A")
    return _wrapped(backend, bos, False, template, "<|end|>")


def unigram_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer that would find its control tokens in its own vocabulary."""
    letters = sorted(set("".join(CORPUS).replace(" ", "")) | set("<>/|s"))
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("▁", -2.0), *((letter, -5.0) for letter in letters)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    backend.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    return _wrapped(backend, True, False, None, "</s>")


def _adding(backend: Tokenizer, around: str) -> processors.TemplateProcessing:
    names = [name for name in ("<s>", "<|end|>") if name in around]
    special = [(name, backend.token_to_id(name)) for name in names]
    return processors.TemplateProcessing(single=around, pair=f"{around} $B", special_tokens=special)


def _wrapped(backend: Tokenizer, bos: bool, pad: bool, template: str | None, eos: str) -> PreTrainedTokenizerFast:
    names = {"bos_token": "<s>"} if bos else {}
    names |= {"pad_token": "<pad>"} if pad else {}
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=eos, **names)
    made.chat_template = template
    return made


_SIZE: dict[str, Any] = {
    "vocab_size": 420,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
_OLD = {key: value for key, value in _SIZE.items() if key != "num_key_value_heads"}

CONFIGS: dict[str, Callable[[], Any]] = {
    "llama": lambda: LlamaConfig(**_SIZE),
    "llama tied": lambda: LlamaConfig(**_SIZE, tie_word_embeddings=True),
    "qwen2": lambda: Qwen2Config(**_SIZE),
    "qwen3": lambda: Qwen3Config(**_SIZE, head_dim=8),
    "mistral": lambda: MistralConfig(**_SIZE, sliding_window=8),
    "gemma": lambda: GemmaConfig(**_SIZE, head_dim=8),
    "gemma2": lambda: Gemma2Config(**_SIZE, head_dim=8, sliding_window=8, final_logit_softcapping=5.0),
    "gemma3": lambda: Gemma3TextConfig(**_SIZE, head_dim=8, sliding_window=8),
    "cohere": lambda: CohereConfig(**_SIZE, logit_scale=2.0),
    "granite": lambda: GraniteConfig(**_SIZE, logits_scaling=0.5, embedding_multiplier=3.0, residual_multiplier=0.7),
    "gpt2": lambda: GPT2Config(vocab_size=420, n_embd=32, n_layer=4, n_head=4, n_positions=256),
    "gpt neox": lambda: GPTNeoXConfig(**_OLD),
    "opt": lambda: OPTConfig(
        vocab_size=420, hidden_size=32, ffn_dim=48, num_hidden_layers=4, num_attention_heads=4,
        max_position_embeddings=256, word_embed_proj_dim=32,
    ),
    "phi": lambda: PhiConfig(**_OLD),
}  # fmt: skip


def network(family: str = "llama", seed: int = 0, scale: float = 4.0) -> Any:
    """A random model; `scale` multiplies the weights so that predictions differ between prompts."""
    torch.manual_seed(seed)
    config = CONFIGS[family]()
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        setattr(config, name, None)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(scale)
    return model.eval()

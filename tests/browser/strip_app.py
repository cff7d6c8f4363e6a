"""Token strips of every kind, for the browser test and for looking at."""

import numpy as np
import streamlit as st

from analysis.results import Tokens
from pages.shared import tokens
from tests.browser.strip_texts import HOSTILE, LONG, TWO_DIRECTIONS, byte_tokens, chat_tokens, word_tokens


def scores_of(row: Tokens) -> np.ndarray:
    return np.random.default_rng(0).normal(size=len(row)) * 0.8


st.set_page_config(page_title="Token strips", layout="wide")
words = tokens.legend_words(" Paris")
moves = tokens.legend_words(" Paris", view="magnitude")

st.subheader("Signed")
reference = word_tokens("The capital of France is")
rewording = word_tokens("Q: What is the  capitel of France?\nA:")
first = word_tokens("The capital of Spain is") if st.checkbox("Other tokens") else reference
tokens.legend(words, 1.25, key="legend", greyed=True, hatched=True, changed=True)
chosen = tokens.strip(
    first,
    np.array([0.31, 1.25, -0.12, 0.94, -0.66]),
    key="reference",
    labels=words,
    greyed=[0],
    label="Reference",
)
st.text(f"chosen: {chosen}")
tokens.strip(
    rewording,
    scores_of(rewording),
    key="rewording",
    labels=words,
    scale=1.25,
    reference="Q: What is the capital of France?\nA:",
    label="Rewording",
)
shorter = word_tokens("capital of France")
tokens.strip(shorter, scores_of(shorter), key="shorter", labels=words, reference=reference.text, label="Shorter")
tokens.strip(
    rewording, scores_of(rewording), key="hatched", labels=words, scale=1.25, hatched=True, label="Not converged"
)

st.subheader("Magnitude, by word")
tokens.legend(moves, 2.0, key="magnitude legend", view="magnitude")
tokens.strip(
    rewording,
    scores_of(rewording),
    key="magnitude",
    view="magnitude",
    by="word",
    labels=moves,
    label="Magnitude",
)

st.subheader("Chat")
chat = chat_tokens()
tokens.strip(chat, scores_of(chat), key="chat", labels=words, greyed=tokens.usually_greyed(chat), label="Chat")

st.subheader("Any text")
hostile = byte_tokens(HOSTILE, 3)
kept = st.session_state.setdefault("kept", None)
now = tokens.strip(hostile, scores_of(hostile), key="hostile", labels=words, selected=kept, label="Any text")
if now != kept:
    st.session_state.kept = now
    st.rerun()
st.text(f"kept: {kept}")
tokens.strip(hostile, key="unscored", protected=[1, 2], label="Without scores")
directions = byte_tokens(TWO_DIRECTIONS, 1)
tokens.strip(directions, scores_of(directions), key="directions", labels=words, label="Two directions")
unknown = scores_of(reference)
unknown[3] = np.nan
tokens.strip(reference, unknown, key="unknown", labels=words, label="One score missing")
tokens.strip(Tokens("", (), (), (), (), ()), key="empty", label="Empty")

st.subheader("Long")
long = word_tokens(LONG)
tokens.strip(long, scores_of(long), key="long", labels=words, label="Long")
tokens.strip(long, scores_of(long), key="sentences", labels=words, by="sentence", label="Sentences")

"""The model of the session: picker, card, and one loaded model for all sessions that want it."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock

import streamlit as st

from analysis import default_model
from analysis.explore import Caches
from analysis.lru import Lru
from analysis.model import DTYPES, LanguageModel, ModelError, ModelSpec, load, local_models_allowed

_SPEC = "model spec"
_WANTED = "wanted model"
_ERROR = "model error"
_OTHER = "another model"
_SECOND = "second model spec"
_SECOND_ERROR = "second model error"


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model with what it has computed."""

    lm: LanguageModel
    caches: Caches


Report = Callable[[float, str], object]


class _Models:
    """The models of all sessions, the last two that were asked for; whoever asks first loads, the others wait."""

    def __init__(self) -> None:
        self._kept: Lru[ModelSpec, Loaded] = Lru(2)
        self._locks: dict[ModelSpec, Lock] = {}

    def get(self, spec: ModelSpec, report: Report) -> Loaded:
        with self._locks.setdefault(spec, Lock()):
            found = self._kept.get(spec)
            if found is None:
                found = Loaded(load(spec, report), Caches())
                self._kept.put(spec, found)
            return found


@st.cache_resource(show_spinner=False)
def _models() -> _Models:
    return _Models()


def _loaded(spec: ModelSpec) -> Loaded:
    place = st.empty()
    with place.container():
        st.text(
            "The libraries and the model are being loaded. The very first time, the model is fetched and converted."
        )
        bar = st.progress(0.0)
    try:
        return _models().get(spec, lambda fraction, text: bar.progress(min(fraction, 1.0), text=text))
    finally:
        place.empty()


def first_spec() -> ModelSpec:
    """The model that a new session starts with."""
    return ModelSpec(os.environ.get("PSL_MODEL", "default"))


def preload() -> Loaded:
    """Load that model before a session asks for it. Raises ModelError."""
    return _models().get(first_spec(), lambda fraction, text: None)


def current() -> Loaded:
    """The session's model. A failed switch leaves the one before; without any, the page ends here."""
    spec = st.session_state.get(_SPEC, first_spec())
    wanted = st.session_state.pop(_WANTED, None)
    if wanted is not None and wanted != spec:
        try:
            made = _loaded(wanted)
            st.session_state[_SPEC] = wanted
            st.session_state.pop(_ERROR, None)
            return made
        except ModelError as error:
            st.session_state[_ERROR] = str(error)
    try:
        return _loaded(spec)
    except ModelError as error:
        _say_error(str(error))
        st.button("Try again", key="retry model")
        _picker(ask_for)
        st.stop()
        raise  # st.stop() never returns; this tells the type checker so


def draw(loaded: Loaded) -> None:
    """The model card and, in a popover, the picker."""
    card = loaded.lm.card
    with st.container(key="model card", gap="xsmall"):
        st.text(card.name)
        st.text(
            f"{_count(card.parameters)} parameters · {card.layers} layers · {card.dtype} · {card.device} · "
            f"{card.memory_bytes / 1e6:.0f} MB"
        )
        if card.dtype != "float32":
            st.text(f"Numeric noise floor: {card.noise_floor:.2g} nats; smaller differences are greyed.")
        for what, why in card.unavailable:
            st.text(f"{what}: not available. {why[0].upper()}{why[1:]}.")
    if (error := st.session_state.get(_ERROR)) is not None:
        _say_error(error)
    popover = st.popover("Change model", key="model picker", icon=":material/swap_horiz:", on_change="rerun")
    if popover.open:
        with popover:
            _picker(ask_for)


def second() -> Loaded | None:
    """The model that the session's is compared with, and its picker; None before one was chosen and loaded."""
    spec = st.session_state.get(_SECOND)
    made = None
    if spec is not None:
        try:
            made = _loaded(spec)
        except ModelError as error:
            st.session_state[_SECOND_ERROR] = str(error)
            st.session_state.pop(_SECOND)
    if (error := st.session_state.get(_SECOND_ERROR)) is not None:
        _say_error(error, "second model error")
    popover = st.popover(
        "Choose a second model" if made is None else "Another second model", key="second model picker",
        icon=":material/swap_horiz:", on_change="rerun",
    )  # fmt: skip
    if popover.open:
        with popover:
            _picker(_compare_with, "second ")
    return made


def _compare_with(spec: ModelSpec) -> None:
    st.session_state[_SECOND] = spec
    st.session_state.pop(_SECOND_ERROR, None)


def _say_error(sentence: str, key: str = "model error") -> None:
    """An error box whose text is literal."""
    with st.container(border=True, key=key):
        st.text(f"The model was not loaded: {sentence}.")


def _picker(load_it: Callable[[ModelSpec], None], name: str = "") -> None:
    """What to load; `name` begins the keys of its fields, so that two pickers can stand on a page."""
    embedded = {model.key: model for model in default_model.EMBEDDED}
    choice = st.selectbox(
        "Model",
        [*embedded, _OTHER],
        format_func=lambda key: embedded[key].name if key in embedded else "Hugging Face id, folder or GGUF file",
        key=f"{name}model choice",
    )
    accept = False
    source = choice
    if choice == _OTHER:
        where = "id (org/name), folder or .gguf file" if local_models_allowed() else "id (org/name)"
        source = st.text_input(f"Model {where}", key=f"{name}model source").strip()
        st.text("Only safetensors and GGUF weights are read, and no code of a model is run.")
    elif embedded[choice].needs_consent:
        st.text(embedded[choice].licence_note)
        _terms(embedded[choice], name)
        accept = st.checkbox("I accept these terms", key=f"{name}accept terms")
    dtype = st.selectbox("Precision", ["auto", *DTYPES], key=f"{name}model dtype")
    device = st.selectbox("Device", ["auto", "cpu", "cuda", "mps"], key=f"{name}model device")
    ready = bool(source) and (choice == _OTHER or not embedded[choice].needs_consent or accept)
    st.button(
        "Load",
        key=f"{name}load model",
        disabled=not ready,
        on_click=load_it,
        args=(ModelSpec(source or "", dtype, device, accept_terms=accept),),
    )


def _terms(model: default_model.EmbeddedModel, name: str) -> None:
    """The terms in full, on demand: they come with a small package of their own."""
    if not st.toggle("Show the terms of use", key=f"{name}show terms"):
        return
    try:
        text = _terms_text(model.key)
    except default_model.DefaultModelError as error:
        st.text(str(error))
        return
    with st.container(height=320, key=f"{name}terms"):
        st.text(text)


@st.cache_data(max_entries=4, show_spinner="Fetching the terms")
def _terms_text(key: str) -> str:
    return default_model.terms_of_use(next(model for model in default_model.EMBEDDED if model.key == key))


def ask_for(spec: ModelSpec) -> None:
    """Have a model loaded in the next run."""
    st.session_state[_WANTED] = spec
    st.session_state.pop(_ERROR, None)


def source() -> str:
    """Which model the session uses, as a prompt set names it."""
    spec = st.session_state.get(_SPEC, ModelSpec(os.environ.get("PSL_MODEL", "default")))
    return spec.source


def offer(name: str) -> None:
    """A set made with another model says so and offers it; nothing is loaded unasked."""
    with st.container(border=True, key="other model"):
        st.text(f"This set was made with the model {name}.")
        st.button("Load it", key="load the set's model", on_click=ask_for, args=(replace(ModelSpec(), source=name),))


def _count(number: int) -> str:
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)

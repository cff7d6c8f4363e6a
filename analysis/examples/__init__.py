"""Prompt sets that show different things on the default model, each in a file beside this one.

`shows` says what is to be seen; its numbers were measured on SmolLM2-135M-Instruct in float32.
"""

from dataclasses import dataclass
from pathlib import Path

from analysis.prompt_files import load_json
from analysis.prompts import PromptSet

SHOWS = {
    "capital_of_france": "Six rewordings move log p(“ Paris”) by up to 3.9 nats; after “France's capital city is” the "
    "model says Istanbul.",
    "arithmetic": "The model adds right only after “Calculate:” or “Compute:”; without the colon it says 4, in words 6.",
    "sentiment": "Of the two labels positive wins in six of seven frames; “This review is” turns the choice round, and "
    "“Label (positive/negative):” makes both labels unlikely without changing it.",
    "multiple_choice": "A is the likeliest of the four letters wherever the hen stands: the model follows the slot, "
    "not the content.",
    "translation": "Six ways to ask for “gato” in English put “ cat” between 26 % and 0.002 %; after one example the "
    "model copies the example's dog.",
    "antonym": "The question-and-answer frame costs the most, 8.5 nats, and still gets the right answer: the model "
    "begins a whole sentence where “ cold” was asked for.",
    "format": "Layout alone moves log p(“ Tokyo”) by up to 4.0 nats; upper case and a bar change the answer, and where "
    "blanks are left out the model leaves out the one before Tokyo, too.",
    "typos": "A slip in “largest” or “planet” costs 2 to 3 nats, one in “the” at most 0.4, all together 10; the one in "
    "“system” costs nothing and still tips a near tie from Jupiter to Neptune.",
    "invisible": "A no-break space, a double space and a tab cost at most 0.1 nats, a soft hyphen 4.8, and a space at "
    "the end 7.0.",
    "chat": "The answer is the same in every tone; a polite request lowers the whole sentence by 1.0 nats, 0.9 of them "
    "at its first word.",
    "system_prompt": "Told to answer yes or no the model says No; with its own system prompt, or an empty one, it says "
    "that penguins can fly.",
    "stable": "Seven wordings agree: “ oxygen” stays between 80 % and 95 %, and no answer changes.",
    "flips": "“Was written by” and “is a play by” lead to William Shakespeare; “the author … is” leads to “a classic "
    "example of a tragic hero”.",
    "french": "Two of five rewordings turn quatre into quinze: both begin with the same token, so the first one alone "
    "hides the change.",
    "languages": "“ Madrid” falls from 38 % in English to 2 % or far less in Spanish, French, German and Italian.",
    "few_shot": "Without an example the label loses 3.8 nats; exchanging the labels of both examples changes almost "
    "nothing, so they teach the format rather than the task.",
    "code": "Indentation, type hints and a comment move log p(“ a”) by at most 0.1 nats; one space after “return” "
    "costs 3.9.",
    "negation": "Three paraphrases move log p(“ Berlin”) by at most 0.9 nats, four changes of the meaning by 2.5 to 4.3: "
    "the measure tells them apart.",
}


@dataclass(frozen=True)
class Example:
    """A built-in prompt set; `key` is the name of its file."""

    key: str
    title: str
    shows: str
    prompt_set: PromptSet


def _example(key: str, shows: str) -> Example:
    path = Path(__file__).parent / f"{key}.json"
    prompt_set = load_json(path.read_bytes(), path.name)
    return Example(key, prompt_set.name, shows, prompt_set)


#: In the order of the menu; the page opens with the first.
EXAMPLES = tuple(_example(key, shows) for key, shows in SHOWS.items())

"""The English words that rules steer by: small closed classes, instruction words, and what other languages use."""

import re


def words(text: str) -> frozenset[str]:
    """The words of `text`, which blanks separate."""
    return frozenset(text.split())


FUNCTION_WORDS = words(
    "the a an of to in on at by for with from about into and or but if because although while when as than is are was"
    " were be been being am do does did have has had can could will would shall should may might must not no never"
    " always this that these those it its he she they we you i my your his her their our me him them us there here"
    " which what who whom whose where why how all any some each every most more many much one only also just then so"
    " very too between after before during without within over under again"
)
#: Verbs that open an instruction.
IMPERATIVES = words(
    "answer ask add analyse analyze arrange assess calculate categorize categorise check choose classify combine"
    " compare complete compose compute consider continue convert correct count create decide define derive describe"
    " design detect determine discuss draft edit elaborate enumerate estimate evaluate examine explain express extract"
    " fill find finish fix follow format generate give guess identify imagine improve infer interpret keep label list"
    " make mark match mention multiply name note outline output paraphrase pick plan point predict present print produce"
    " prove provide rank rate read recommend remove repeat rephrase replace reply report respond return review revise"
    " rewrite say select sentence show simplify solve sort specify split state subtract suggest sum summarise summarize"
    " tag take tell think transform translate turn use verify write"
) - {"sentence", "sum"}
#: Base forms of verbs that people ask about, beside those of instructions.
VERBS = words(
    "lay eat live make fly swim run have need like love contain entail mean belong become begin come cost fit grow hold"
    " know lie lose own say see sell speak survive think understand want wear win write bring buy walk talk sleep breathe"
    " jump climb reproduce hear smell feel learn hunt exist"
)
QUESTION_WORDS = words("what who whom whose which where when why how")
AUXILIARIES = words("is are was were am do does did have has had can could will would shall should may might must")
PRONOUNS = words("i you he she it we they this that these those there")
DETERMINERS = words(
    "a an the this that these those my your his her its our their each every some any no which what another"
)
#: A text that ends in one of these goes on.
OPEN = FUNCTION_WORDS - {"it", "him", "them", "me", "us", "you", "here", "there", "again", "too", "one", "much"}
#: Labels of fields, which are nouns although some could be verbs.
FIELDS = words(
    "question answer review sentiment country capital text input output sentence premise hypothesis label context"
    " passage title author name topic category class summary translation english french german spanish italian q a"
    " user assistant system human bot tweet headline article document statement claim choices options option example"
    " problem solution task instruction instructions response word language date place person city year price"
)
PERSONS = words(
    "author writer poet painter composer director president king queen inventor founder discoverer scientist"
    " physicist chemist mathematician philosopher artist singer actor actress player leader chancellor minister owner"
    " creator designer architect emperor pope captain ceo person man woman wife husband son daughter mother father"
)
_MORE = words(
    "hello please thank thanks question answer review capital country sentence word text people world opposite number"
    " largest first last following written compound"
    " welcome good new like say know make think see get go come use used called known made"
)
KNOWN = FUNCTION_WORDS | IMPERATIVES | FIELDS | _MORE
_FOREIGN = words(
    "le la les un une des du et est sont que qui quelle quel dans pour avec sur pas ne je tu nous vous il elle ce cette"
    " der die das und ist sind ein eine einen den dem des nicht mit von zu auf für wie wer wo warum welche welches ich"
    " el los las una y es son que qué cuál de del en por para con no se su lo al cómo dónde quién di che è sono il gli"
    " per non con come cosa quale chi dove o os as um uma e do da em não qual het een van en niet wat deux trois"
) - {"no", "do", "as", "a"}
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 5_000


def looks_english(text: str) -> bool:
    """Whether English words outnumber those of other languages and letters are mostly Latin (first 5 000 characters)."""
    found = [word.casefold() for word in _WORD.findall(text[:_SAMPLE])]
    english = sum(word in KNOWN and word not in _FOREIGN for word in found)
    foreign = sum(word in _FOREIGN or not word.isascii() for word in found)
    return english > foreign

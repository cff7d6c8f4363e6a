"""Texts that pages of other tools interpret, lose or cut apart."""

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "bold": "**bold** _it_ `code` # head",
    "formula": "$x$ $y$",
    "colour": ":red[x] :smile: [a](http://b.c)",
    "end of sequence": "</s>",
    "end of turn": "<|im_end|>",
    "control token": "<|end|>",
    "entity": "&lt;b&gt; &amp; &nbsp;",
    "template": "{{x}} %{y} ${z} {0}",
    "joined emoji": "👨\u200d👩\u200d👧\u200d👦 2\ufe0f\u20e3 🏳️\u200d🌈",
    "cjk": "日本語のテスト",
    "right to left": "שלום, עולם 12",
    "double spaces": "two  blanks   three",
    "trailing spaces": "  both ends  ",
    "invisible": "z\u200bw\u2060j\ufeff",
    "control characters": "b\x07e\x1bc\x08d",
    "directions": "a\u202eb\u202cc\u00a0d",
    "line break": "first\nsecond\tthird",
    "combining": "e\u0301 \u0301",
}

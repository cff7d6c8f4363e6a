"""Well-known names by class, for rewordings that put another name in the place of one."""

import re

#: Names by class; a name stands for another of its own class only.
CLASSES: tuple[tuple[str, ...], ...] = (
    (
        *(
            "France",
            "Spain",
            "Germany",
            "Italy",
            "Japan",
            "China",
            "India",
            "Brazil",
            "Canada",
            "Mexico",
            "Egypt",
            "Kenya",
        ),
        *(
            "Poland",
            "Portugal",
            "Greece",
            "Sweden",
            "Norway",
            "Austria",
            "Russia",
            "Turkey",
            "Australia",
            "Argentina",
            "Chile",
        ),
        *(
            "Peru",
            "Ireland",
            "Denmark",
            "Finland",
            "Belgium",
            "Hungary",
            "Thailand",
            "Vietnam",
            "Switzerland",
            "Nigeria",
        ),
    ),
    (
        *(
            "Paris",
            "Madrid",
            "Berlin",
            "Rome",
            "Tokyo",
            "Beijing",
            "London",
            "Lisbon",
            "Vienna",
            "Athens",
            "Cairo",
            "Mumbai",
        ),
        *(
            "Moscow",
            "Oslo",
            "Dublin",
            "Warsaw",
            "Prague",
            "Budapest",
            "Chicago",
            "Boston",
            "Sydney",
            "Toronto",
            "Seattle",
        ),
    ),
    (
        *("French", "Spanish", "German", "Italian", "Japanese", "Chinese", "English", "Portuguese", "Greek", "Swedish"),
        *("Russian", "Turkish", "Polish", "Dutch", "Hindi", "Arabic", "Korean"),
    ),
    ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December"),
    ("Africa", "Asia", "Europe", "Antarctica"),
    ("Atlantic", "Pacific", "Arctic"),
    ("Romeo and Juliet", "Hamlet", "Macbeth", "Othello", "Don Quixote", "Faust", "War and Peace", "Moby Dick"),
    ("Shakespeare", "Goethe", "Cervantes", "Tolstoy", "Dickens", "Homer", "Dante"),
    ("Einstein", "Newton", "Darwin", "Tesla", "Bohr", "Galileo", "Curie", "Kepler", "Edison"),
    ("Alice", "Bob", "Mary", "John", "Peter", "Anna", "Tom", "Emma", "Lily", "Sarah", "David", "Paul"),
    ("the United States", "the United Kingdom", "the United Nations"),
    ("Python", "Java", "Rust", "Ruby", "Haskell"),
)
#: At the start of a sentence these may be other words.
WORDS_TOO = ("Polish", "March", "August", "Turkey")
CLASS_OF = {name: names for names in CLASSES for name in names}
NAME = re.compile(
    r"(?<![\w\-])(?:" + "|".join(re.escape(name) for name in sorted(CLASS_OF, key=len, reverse=True)) + r")(?![\w\-])"
)

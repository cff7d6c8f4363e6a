"""The charts of attributions, under one name."""

from analysis.charts.pair import HOW_TO_READ_PAIR, pair_change
from analysis.charts.target_matrix import HOW_TO_READ_MATRIX, target_matrix
from analysis.charts.token_bars import HOW_TO_READ_TOKENS, token_bars
from analysis.charts.trust import HOW_TO_READ_AGREEMENT, HOW_TO_READ_DELETION, agreement, deletion_curve

__all__ = [
    "HOW_TO_READ_AGREEMENT",
    "HOW_TO_READ_DELETION",
    "HOW_TO_READ_MATRIX",
    "HOW_TO_READ_PAIR",
    "HOW_TO_READ_TOKENS",
    "agreement",
    "deletion_curve",
    "pair_change",
    "target_matrix",
    "token_bars",
]

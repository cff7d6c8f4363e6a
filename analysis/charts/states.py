"""The charts of states, under one name."""

from analysis.charts.animation import plane_animation
from analysis.charts.distance import HOW_TO_READ_DISTANCE, View, distance_by_layer
from analysis.charts.plane import HOW_TO_READ_PLANE, layer_name, plane

__all__ = [
    "HOW_TO_READ_DISTANCE",
    "HOW_TO_READ_PLANE",
    "View",
    "distance_by_layer",
    "layer_name",
    "plane",
    "plane_animation",
]

"""Do the features of one class draw together with depth? In a small network that learns digits, they do.

The counterpart to `dispersion`: Liu & Chu ("Understanding the Prompt Sensitivity", ACL 2026, arXiv 2604.18389)
contrast language models, in which prompts that mean the same drift apart, with a ResNet-101 on CIFAR-10, whose
same-class features draw together. Here the contrast is small enough to be trained while one waits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.distance import pdist
from torch import Tensor

from analysis.taylor import ratio

HIDDEN = (128, 128, 128)  # of one width, so that a change from layer to layer is not one of width
LEARNING_RATE = 2e-3
BATCH = 64  # images
REPORTED = 4  # batches from one report to the next


@dataclass(frozen=True, eq=False)
class Clustering:
    """How far images of one digit and of different digits are apart, layer by layer, while a network learns them.

    Means of ‖u − v‖ over all pairs of test images, with u and v the features scaled to length 1: from 0 to 2. Hidden
    layers are read after the ReLU.
    """

    epochs: tuple[int, ...]  # epochs of training done when it was measured; 0: before training
    layers: tuple[str, ...]  # names, the input first, the logits last
    accuracy: Float[np.ndarray, " epoch"]  # share of the test images that are recognised
    same: Float[np.ndarray, "epoch layer"]  # mean distance of two images of one digit
    different: Float[np.ndarray, "epoch layer"]  # mean distance of two images of different digits
    pairs: int  # of test images

    @property
    def ratio(self) -> Float[np.ndarray, "epoch layer"]:
        """same / different: 1 where a digit's images are no nearer to each other than to others, less where they cluster."""
        return ratio(self.same, self.different)


def digits(report: Callable[[float], object] = lambda fraction: None, *, epochs: int = 20, seed: int = 0) -> Clustering:
    """Train a network of three hidden layers on scikit-learn's digits, measured before training and after each epoch.

    1 797 images of 8 × 8 pixels, two thirds to train on, one third to test on, the same for every seed; `seed` decides
    the first weights and the order of the images. Adam on the cross-entropy. `report` gets the share that is done,
    and stops the training where it raises.
    """
    images, classes, test_images, test_classes = _split()
    random = torch.Generator().manual_seed(seed)
    weights = _first_weights((images.shape[1], *HIDDEN, int(classes.max()) + 1), random)
    adam = torch.optim.Adam(weights, lr=LEARNING_RATE)
    measured = [_measured(test_images, test_classes, weights)]
    for epoch in range(epochs):
        batches = torch.randperm(len(images), generator=random).split(BATCH)
        for number, batch in enumerate(batches):
            if number % REPORTED == 0:
                report((epoch + number / len(batches)) / epochs)
            logits = _features(images[batch], weights)[-1]
            loss = torch.nn.functional.cross_entropy(logits, classes[batch])
            for weight, gradient in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                weight.grad = gradient
            adam.step()
        measured.append(_measured(test_images, test_classes, weights))
    report(1.0)
    accuracy, distances = zip(*measured, strict=True)
    return Clustering(
        epochs=tuple(range(epochs + 1)),
        layers=("pixels", *(f"hidden {k}" for k in range(1, len(HIDDEN) + 1)), "logits"),
        accuracy=np.array(accuracy),
        same=np.array(distances)[..., 0],
        different=np.array(distances)[..., 1],
        pairs=len(test_images) * (len(test_images) - 1) // 2,
    )


def class_distances(
    features: Float[np.ndarray, "point feature"], classes: Int[np.ndarray, " point"]
) -> tuple[float, float]:
    """Mean distance of two points of the same class, and of two of different classes, over all pairs.

    Of the features scaled to length 1 (L2); one that is all zeros has no direction and stays at 0. There must be a pair
    of each sort.
    """
    features = np.asarray(features, dtype=np.float64)
    directions = ratio(features, np.linalg.norm(features, axis=1, keepdims=True))
    distances = pdist(directions)  # [pair]
    same = pdist(np.asarray(classes)[:, None]) == 0  # the same pairs in the same order
    return float(distances[same].mean()), float(distances[~same].mean())


def _split() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images [image, pixel] from 0 to 1 and their digits, to train on and to test on, each digit in the same share."""
    from sklearn.datasets import load_digits  # here: importing it takes two seconds
    from sklearn.model_selection import train_test_split

    pixels, classes = load_digits(return_X_y=True)
    train, test, train_classes, test_classes = train_test_split(
        pixels / 16, classes, test_size=1 / 3, stratify=classes, random_state=0
    )
    images, test_images = (torch.tensor(part, dtype=torch.float32) for part in (train, test))
    return images, torch.tensor(train_classes), test_images, torch.tensor(test_classes)


def _first_weights(widths: Sequence[int], random: torch.Generator) -> list[Tensor]:
    """Matrix and bias of each layer in turn: uniform with variance 2 / inputs, and zeros (He et al. 2015, for ReLU)."""
    weights: list[Tensor] = []
    for inputs, outputs in pairwise(widths):
        uniform = 2 * torch.rand(inputs, outputs, generator=random, dtype=torch.float32) - 1  # its variance is 1 / 3
        weights += [uniform * (6 / inputs) ** 0.5, torch.zeros(outputs, dtype=torch.float32)]
    return [weight.requires_grad_() for weight in weights]


def _features(images: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """[image, feature] of every layer: the images themselves, each hidden layer after its ReLU, the logits."""
    *hidden, (head, shift) = zip(weights[::2], weights[1::2], strict=True)
    found = [images]
    for matrix, bias in hidden:
        found.append((found[-1] @ matrix + bias).relu())
    return [*found, found[-1] @ head + shift]


def _measured(images: Tensor, classes: Tensor, weights: Sequence[Tensor]) -> tuple[float, list[tuple[float, float]]]:
    """Accuracy, and `class_distances` per layer."""
    with torch.no_grad():
        features = _features(images, weights)
    accuracy = (features[-1].argmax(dim=1) == classes).double().mean()
    return float(accuracy), [class_distances(layer.numpy(), classes.numpy()) for layer in features]

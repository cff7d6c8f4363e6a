"""What the LM head says of a state that a trace already holds: no pass of the model is needed."""

import numpy as np
import torch
from jaxtyping import Float

from analysis import forward
from analysis.model import LanguageModel
from analysis.results import Trace


def next_log_probs(lm: LanguageModel, trace: Trace, target: int) -> Float[np.ndarray, " vocab"]:
    """The distribution that predicts target token `target`, in nats."""
    if target == 0:
        return trace.next_log_probs
    with lm.lock, torch.no_grad():
        state = torch.as_tensor(trace.hidden[target, -1]).to(lm.network.unembedding.weight)  # type: ignore[arg-type]
        return forward.log_probs(lm.network, state).cpu().numpy()

"""What is kept of a training, round by round."""

from dataclasses import dataclass, field

from sketchbench.federated.fedavg import Round
from sketchbench.model import classification
from sketchbench.model.classification import Samples

FALSE_POSITIVES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass
class Curve:
    """Lists with an entry for each round from 0 on, but for the replies.

    accuracy: on the test images; auc: the area under the ROC curve, and roc: what it is at FALSE_POSITIVES, in the last
    round only, for two classes only. bytes_up, bytes_down:
    sent and received by all clients together so far. broadcast_bytes: of what the clients of a round are sent;
    reply_bytes: of every single reply, in order.
    """

    accuracy: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    roc: list[float] = field(default_factory=list)
    bytes_up: list[int] = field(default_factory=list)
    bytes_down: list[int] = field(default_factory=list)
    broadcast_bytes: list[int] = field(default_factory=list)
    reply_bytes: list[int] = field(default_factory=list)

    def add(self, at: Round, test: Samples, classes: int) -> None:
        """Evaluate the server's model, and count what was sent."""
        scores = classification.scores(at.model, test.images)
        self.accuracy.append(classification.accuracy(scores, test.labels))
        if classes == 2:
            self.auc.append(classification.area_under_roc(scores, test.labels))
            self.roc = classification.true_positives(scores, test.labels, FALSE_POSITIVES)
        self.bytes_up.append(at.state.bytes_up)
        self.bytes_down.append(at.state.bytes_down)
        self.broadcast_bytes.append(at.broadcast.nbytes)
        self.reply_bytes += [reply.nbytes for reply in at.replies]

    def reached(self, target: float) -> int | None:
        """The first round whose accuracy reaches a target, or None."""
        return next((t for t, value in enumerate(self.accuracy) if value >= target), None)

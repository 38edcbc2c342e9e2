"""Figures, drawn from tables: one module each, with a function `draw(tables) -> Figure`."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A figure of this package: the studies whose tables it needs, and what it shows."""

    studies: tuple[str, ...]
    caption: str  # reStructuredText; it states the claim


INTERVALS = "All intervals of the figure hold at once, except with probability 1e-3; very long ones leave the frame."

CATALOGUE = {
    "embedding_constant": Entry(
        ("embedding",),
        "Song et al. (2023), Lemmas D.12-D.16 and Table 1: a sketch is an *a*-coordinate-wise "
        "embedding if E[(gᵀRᵀRh)²] ≤ (gᵀh)² + (a/b)‖g‖²‖h‖². Points: per family, the largest *a* "
        "measured over all pairs and sizes; thick bars: the constant claimed, which no point may "
        "exceed; thin bars: the exact value of that worst case. Right: the point over its exact "
        f"value. {INTERVALS}",
    ),
    "second_moment": Entry(
        ("moments",),
        "The mean squared error of gᵀRᵀRh over the sketch size *b*, for a pair of real gradients and "
        "for g = h flat, with the families in groups. Points: measured (where they coincide, smaller "
        "markers lie on larger ones); lines: our exact moments. The rows below divide one by the "
        f"other, the families side by side. {INTERVALS}",
    ),
    "squared_norm": Entry(
        ("norms",),
        "Song et al. (2023), Theorem 4.2(4): E‖RᵀRh‖² ≤ (1 + a d/b)‖h‖². Points: measured, per family "
        "and size the vector with the largest; dashed: the bound, with each family's claimed *a*; "
        "solid: the exact value. The row below divides the points by the exact value, the families "
        f"side by side. {INTERVALS}",
    ),
    "growth": Entry(
        ("growth",),
        "Song et al. (2023), Remark D.17: the embedding constant *a* of uniform sampling grows with "
        "the dimension, that of every other family stays bounded. Points: per family and dimension, "
        "the largest *a* measured over all pairs; lines: its exact value; dashed: a = d. Right: the "
        f"families that stay small, on a linear scale and side by side. {INTERVALS}",
    ),
    "tails": Entry(
        ("tails",),
        "Song et al. (2023), Lemmas D.23-D.28: how often |gᵀRᵀRh - gᵀh| reaches a threshold. Curves "
        "with bands: measured; a curve ends at the largest error, and a pair without one had none. Black marks, with the "
        "number of the lemma: what it allows, 2δ at its threshold for each δ, so that "
        "the curves must pass below; the vertical line of Lemma D.28 is never to be reached. "
        "The bands are Clopper-Pearson, with an error rate of 1e-3 shared by all points.",
    ),
    "inner_products": Entry(
        ("inner_products", "inner_products_sparse"),
        "Song et al. (2023), Lemmas D.18-D.22: the largest inner product of two different columns of "
        "R, against the scaling as printed, √(log d/b), for sparse embeddings √(log d/s). Points: its "
        "mean over draws; thin lines join equal *b* or *s*. With the printed constant 1 the points "
        "would lie below the dashed line; families with nearly Gaussian products lie near the dotted "
        "one, so the scaling holds there and the constant does not. CountSketch has another lemma: "
        f"at most 1. {INTERVALS}",
    ),
    "weight_sketch": Entry(
        ("weight_sketch",),
        "Zhang and Wang (2021), Theorems 1 and 2, Lemmas 4-6. Left: mean errors over what the paper's "
        "identities state, 1 (0 for the cross term), for the sketch sizes side by side. Right: the error of WVᵀ relative to ‖WVᵀ‖² over "
        "the input dimension; points: measured; lines: the identity of Lemma 5; dashed: the d/s that "
        "Lemma 6 claims, which centred weights follow and uncentred ones do not. "
        f"{INTERVALS}",
    ),
    "reconstruction": Entry(
        ("reconstruction",),
        "Tang et al. (2021), Figure 4, measured again: FIHT's relative error is below "
        "CountSketch's at every compression *d/b*, and by more at higher ones (the lead is a "
        "difference; distances on this axis are ratios). Thick and filled: these two; thin and "
        "open: other recoveries. Grey: the best *k* terms of the signals, below which no *k* "
        "entries can be; dotted: the error of an empty answer, 1. Most intervals are shorter "
        "than the markers. Below: the time per signal, sketching included, on the machine of "
        "the run; it has no interval. "
        f"{INTERVALS}",
    ),
    "stability": Entry(
        ("stability",),
        "Tang et al. (2021), Lemma 2: FIHT's error grows linearly with the noise in the "
        "measurements, and with the norms of the signal's tail; the signals without it have "
        "norm 1. Above: mean errors, larger markers around smaller ones where they coincide; "
        "dashed: slope 1. Below: the error over the amount of noise or tail, the recoveries "
        "side by side; the lemma wants it bounded, not constant. Its scales differ, left and "
        "right. "
        f"{INTERVALS}",
    ),
    "isometry": Entry(
        ("isometry",),
        "Tang et al. (2021), Proposition 1: *b* rows of a DCT or Walsh-Hadamard matrix have a "
        "restricted isometry constant that falls like 1/√b. Points: the mean over random "
        "supports, which bounds that constant from below; dashed: the rate, from the smallest "
        "*b* on. Thick: the families that the proposition speaks of; thin: others. Right: the "
        "same times √b, where the rate is level, the families side by side. Rows that do not "
        "repeat fall faster as *b* nears the dimension: all of them together are an isometry. "
        f"{INTERVALS}",
    ),
    "padding": Entry(
        ("padding", "padding_starved"),
        "On Tang et al. (2021), Appendix C: the transform pads a signal to a power of two, and "
        "the support may fall into the padding. Above: the relative error with the support kept "
        "out of it, over the one without, signal by signal; lower is better for keeping it out, "
        "and dashed is what we claim at most. The claim holds where signals can be recovered, "
        "at the lowest compression; with too few measurements most chosen entries are wrong, "
        "and a wrong one in the padding is cut off. Below: the share of the chosen entries that "
        "fell there, and the share of all coordinates that are there, where a blind choice "
        "would fall. "
        f"{INTERVALS}",
    ),
    "units": Entry(
        ("units",),
        "Tang et al. (2021), Appendix E: the relative error would not depend on the unit that "
        "the signals are measured in, and the lines, one per recovery, would be level. The "
        "printed stopping rule compares the norm of the iterate with 1e-4, and stops too early "
        "where the unit is small; a relative threshold does not, and what does not iterate "
        "never stops early. The recoveries are side by side. "
        f"{INTERVALS}",
    ),
    "convergence": Entry(
        ("convergence", "convergence_flat", "convergence_saturating"),
        "Song et al. (2023), Theorems E.1-E.3, F.7, F.9 and G.2 (corrected): iterative sketching with "
        "the largest step that each theorem allows. Curves with bands: the mean of what the theorem "
        "bounds (the excess loss, that of the averaged weights, or the squared norm of the gradient), "
        "divided by the bound in that round, per sketch family; all must stay below 1. How far below "
        "is the theorem's slack. "
        f"{INTERVALS}",
    ),
    "training": Entry(
        ("federated_mlp",),
        "Zhang and Wang (2021), Section 6: a perceptron trained by FedAvg, plain and double-blind "
        "with sketches of half size, on made-up images (on MNIST at the paper's size). Left: test "
        "accuracy over the rounds; middle: over what all clients together have sent. Right: how far a "
        "client's two estimates of an update are from it, relative to the update; dashed: the error of "
        "an estimate of zero. "
        f"{INTERVALS}",
    ),
    "rounds_to_target": Entry(
        ("federated_mlp",),
        "Zhang and Wang (2021), Table 1: the rounds that a perceptron takes to a test accuracy, plain and "
        "through sketches of half size, over the share of clients in a round. Filled: measured, on made-up "
        "images at the quick scale and on MNIST at the paper's; the mean of all trainings, with a bar from "
        "the least to the largest. Open: as the paper printed them, for MNIST and 97 %. Right: their ratio.",
    ),
    "rounds_to_target_cnn": Entry(
        ("federated_cnn",),
        "Zhang and Wang (2021), Table 1: the same for the convolutional network and 99 % on MNIST. Filled: as far "
        "as measured, from few trainings.",
    ),
    "training_mnist": Entry(
        ("federated_cnn",),
        "Zhang and Wang (2021), Table 1: the convolutional network on MNIST, a tenth of the clients in a round; "
        "read as the figure of the perceptron. Bands: from the least to the largest of few trainings.",
    ),
    "training_cifar10": Entry(
        ("federated_cifar10",),
        "Zhang and Wang (2021), Figure 1: the convolutional network on CIFAR-10, a tenth of the clients in a "
        "round; read as the figure of the perceptron. Bands: from the least to the largest of few trainings.",
    ),
    "compressed_training": Entry(
        ("compressed_iid", "compressed_noniid"),
        "Tang et al. (2021), Figures 2 and 3, measured again: test accuracy of a network trained from compressed "
        "gradients with error feedback, over the rounds and over what a client that always takes part has sent; "
        "the numbers are compressions *d/b*. On digits, and at the paper's size on CIFAR-10, as far as the rounds "
        "reach that are given. A cross: some training diverged after it. "
        f"{INTERVALS}",
    ),
    "communication": Entry(
        ("communication", "communication_flat", "communication_logistic"),
        "Song et al. (2023), Corollaries 5.2 and 5.4: with the steps that the theorems allow, iterative "
        "sketching takes O(1 + α) times the rounds of gradient descent, so that the bytes to a target "
        "stay within a constant. Above: rounds, over 1 + α times those without sketches, and bytes, over those "
        "without, to the same target, over the compression; dotted: what we allow, 2(1 + α). Below: "
        "logistic regression on the way to its target. "
        f"{INTERVALS}",
    ),
    "consensus": Entry(
        ("consensus",),
        "Song et al. (2023), Section 4: without a server, the mean of all sketches takes as many rounds "
        "as the diameter of the graph, if nodes pass on every message that they hear (left; dashed: the "
        "diameter). Averaging with neighbours takes more (right; dashed: ln(1000) diameters), on a star "
        "as many as there are nodes. From 16 to 144 nodes. These numbers are exact.",
    ),
    "sparse_gradients": Entry(
        ("sparse_gradients", "channel_noise"),
        "Tang et al. (2021), Figure 1, measured again: SGD on a synthetic problem with nearly sparse "
        "gradients. (a) The loss without compression, with FIHT and error feedback, and with "
        "CountSketch and error feedback, which is sent more. (b) sp of what FIHT recovers, p(t), settles "
        "around 1/2, far above the 2K/d that condition (7) could allow; that of the gradients does not. "
        "(c) The loss of FIHT with normal noise of standard deviation *W* in every entry that the server "
        "receives. A dotted line: an algorithm diverged in some run. "
        f"{INTERVALS}",
    ),
    "equal_bytes": Entry(
        ("equal_bytes",),
        "Ours: the compressions of two papers on one objective, with as many bytes from a client in every "
        "round and the same step. FIHT and CountSketch with error feedback (Tang et al., 2021), and "
        "sketching and desketching with a new operator each round (Song et al., 2023), which needs no "
        "memory; beside them, no compression. A dotted line: an algorithm diverged in some run. "
        f"{INTERVALS}",
    ),
    "privacy_accounting": Entry(
        ("privacy_accounting",),
        "Song et al. (2023), Section 6: ε of private training with K local steps over its rounds T, δ fixed, "
        "by every accountant that has a theorem for the way batches are drawn; σ differs from panel to "
        "panel. *paper*: Theorem 6.2, √(TK) ε without constants, whatever the sampling; *advanced*: Lemmas H.7, "
        "H.4 and H.3; *classical*: the composition of 2010; RDP, PLD and the exact curve are upper limits "
        "that need no such constants. Numbers without randomness.",
    ),
    "private_training": Entry(
        ("private_training",),
        "Song et al. (2023), Algorithm 2 on digits: accuracy on samples held out, and the excess of the "
        "training loss, over the ε that σ is calibrated to, at the same number of rounds; without a sketch, and with sketches a "
        "fifth as long. Lines: the same runs without noise. "
        f"{INTERVALS}",
    ),
    "privacy_audit": Entry(
        ("privacy_audit", "privacy_audit_controls"),
        "On Song et al. (2023), Section 6: what a membership game proves of ε, by sampling and δ, from the "
        "messages of private training with a worst-case record. Points: proven at 99.9 %, per sketch "
        "family; black lines: accounted, which no sound run may pass. Crosses: the controls, with less noise "
        "than accounted; the audit has power where they lie above the line. A sketch hides a part of the "
        "record, which no account makes use of.",
    ),
    "roc": Entry(
        ("federated_lfw",),
        "Zhang and Wang (2021), Figure 2: gender on faces (LFW; made-up images where it is only to be seen to run), "
        "plain and double-blind with sketches of half size. Left: the ROC curves after training, which according to "
        "the paper nearly coincide; dashed: guessing. Right: the area under them, over the rounds. Bands: from the "
        "least to the largest of few trainings.",
    ),
    "property_inference": Entry(
        ("property_inference",),
        "Zhang and Wang (2021), Section 6.3 and Appendix A.2: a random forest learns from gradients of the attacker's "
        "own batches to tell which batches of the victim have images with a property: here digits 0 and 1, in a "
        "training that tells even from odd. Bars: the mean area under the ROC curve over independent trainings, from "
        "1/2, the area of knowing nothing; diamonds: what the paper states for faces. Open parameters are the biases "
        "and the output layer, which DBCL does not sketch. Below: what servers of the other papers see, without DBCL. "
        f"{INTERVALS}",
    ),
    "leakage": Entry(
        ("attack_convergence", "spectrum"),
        "Song et al. (2023), Section 7: gradient descent on L(x) = ‖R∇F(x) - Rg‖². Left: a loss that is bilinear in "
        "weights and input, with the steps of Theorem 7.5 and constants that are true; dashed: what the theorem then "
        "promises, which the curves must stay below. Middle: a perceptron, of which Theorems 7.4 and 7.5 can promise "
        "nothing: their constants exclude each other. Right: the extreme singular values of Rᵀ, joined; with "
        "γ₁ = 0, as where a bucket of a CountSketch stays empty, some gradients can't be told from none; lines: the "
        "spectral norm 1 that Assumption M.2 calls typical. "
        f"{INTERVALS}",
    ),
    "inversion": Entry(
        ("inversion_double_blind", "inversion_noise", "inversion_sizes"),
        "Images that gradient inversion makes of what a party sees of one step on them, with the PSNR below. First: "
        "double-blind learning (Zhang and Wang, 2021, Section 6.3 and A.3). In the paper's attacks the server puts ΓSᵀ, "
        "and a client its estimates by options I and II, in the place of the gradient, and nothing comes of it; but a "
        "server that holds Γ against the sketched network, or a client that uses only what is not sketched (the output "
        "layer and the biases), has the images. Then: sketched gradients R∇F (Song et al., 2023, Section 7.2) over the "
        "compression; and clipped gradients with noise, over ε.",
    ),
    "inversion_grid": Entry(
        ("inversion_grid", "inversion_grid_adam", "inversion_grid_descent"),
        "Every attack on every view, across the papers: images of 8 × 8 pixels recovered from what a party sees of one "
        "step, with sketches of half size (SRHT), single starts and ten trials each. Colours and numbers: mean PSNR; "
        "and in how many trials it is at least 30 dB. An overview without verdicts.",
    ),
    "inversion_images": Entry(
        ("inversion_mnist", "inversion_cifar10"),
        "Song et al. (2023), Section 7.2: images of MNIST and CIFAR-10 (at small scales made-up ones in their shape) that "
        "gradient inversion makes of R∇F, with the PSNR below, over the compression *d/b*. With fewer measurements than "
        "pixels (MNIST, *d/b* = 30) an outline is still to be seen, although the PSNR is below that of the mean image.",
    ),
    "inversion_sizes": Entry(
        ("inversion_sizes",),
        "Song et al. (2023), Theorem 7.8: gradient inversion through R. Left: PSNR over the compression *d/b*; where "
        "there are as many measurements as pixels (vertical), it breaks down to what the mean image has, for every family. Right: the "
        "smallest singular value of Rᵀ (dashed), which the theorem asks to be above 0, grows as *b* falls; that of R on "
        "the directions in which a change of the image moves the gradient (points) falls to 0 where the attack ends. "
        f"{INTERVALS}",
    ),
    "inversion_noise": Entry(
        ("inversion_noise",),
        "Song et al. (2023), Sections 6 and 7: gradient inversion of one clipped gradient with Gaussian noise, over the ε "
        "that this very step is accounted with (δ = 1e-5, exact). Left: PSNR; right: the share of images recovered. "
        f"{INTERVALS}",
    ),
}


def available(studies: Iterable[str]) -> list[str]:
    """The figures that can be drawn from these studies alone."""
    have = set(studies)
    return [name for name, entry in CATALOGUE.items() if have.issuperset(entry.studies)]

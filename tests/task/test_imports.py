"""What tasks import: torch takes longer to start than most of their quick runs take."""

import subprocess
import sys

PLAIN = {
    "convergence": "communication convergence local_lemmas one_round prescribed sampled_gradients",
    "error_feedback": "compressed_sensing download feedback_bound feedback_identity",
    "privacy": "noise_placement privacy_audit private_training",
    "recovery": "reconstruction",
    "sketches": "moments tails",
}


def test_tasks_without_networks_start_without_torch() -> None:
    modules = ", ".join(
        f"sketchbench.task.{chapter}.{name}" for chapter, names in PLAIN.items() for name in names.split()
    )
    found = subprocess.run(
        [sys.executable, "-c", f"import sys, {modules}; print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "False\n"

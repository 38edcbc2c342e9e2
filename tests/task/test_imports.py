"""What tasks import: torch takes longer to start than most of their quick runs take."""

import subprocess
import sys

PLAIN = """communication compressed_sensing convergence download feedback_bound feedback_identity local_lemmas moments
noise_placement one_round prescribed privacy_audit private_training reconstruction sampled_gradients tails""".split()


def test_tasks_without_networks_start_without_torch() -> None:
    modules = ", ".join(f"sketchbench.task.{name}" for name in PLAIN)
    found = subprocess.run(
        [sys.executable, "-c", f"import sys, {modules}; print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "False\n"

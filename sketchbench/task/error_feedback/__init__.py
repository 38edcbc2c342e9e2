"""Error feedback: tang2021's algorithm, its memory and its stability, and compressed trainings."""

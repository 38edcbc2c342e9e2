"""`python -m sketchbench` is `sketchbench`."""

from sketchbench.command.main import main

if __name__ == "__main__":
    main()

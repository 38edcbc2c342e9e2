"""The project's operators, compressors and accountants where people train: PyTorch, Flower, scikit-learn,
dp-accounting.

Each module imports its library, and none is imported by the rest of the project.
"""

"""The project's operators, compressors and accountants in PyTorch, Flower, scikit-learn and dp-accounting.

Each module imports its library; the rest of the project imports none of these modules.
"""

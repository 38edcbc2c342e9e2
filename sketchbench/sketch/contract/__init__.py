"""The contract of sketch families: checks of drawn operators, one group of them in each module."""

"""The contract of sketch families: checks of drawn operators, one group in each module."""

"""What every sketch family must keep, whoever wrote it: checks of drawn operators, one group to a module."""

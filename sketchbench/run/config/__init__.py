"""What users write, read and checked: YAML, overrides, studies, the config of one run."""

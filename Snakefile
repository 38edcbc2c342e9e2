# The workflow, for `snakemake` at the top; workflow/Snakefile is where the catalogue of workflows looks for it.
include: "workflow/Snakefile"


if PLANNING:

    # Snakemake takes the default target from no file that is included.
    rule everything:
        default_target: True
        input:
            local(rules.all.input),
        message:
            "all results are there"

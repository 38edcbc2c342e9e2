from snakemake.utils import min_version

min_version("9.0")


configfile: "conf/workflow.yaml"


report: "workflow/captions/workflow.rst"


shell.prefix("set -euo pipefail; export NUMBA_NUM_THREADS=${{OMP_NUM_THREADS:-1}}; ")


onsuccess:
    for line in PLAN.unfinished():
        logger.warning(line)
    shell("python -m sketchbench check {REPORTS:q}/claims.csv || true")


include: "workflow/rules/plan.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/claim.smk"


if PRINTED:

    include: "workflow/rules/printed.smk"


if FRONTIER:

    include: "workflow/rules/frontier.smk"


if PLAN.shared:

    include: "workflow/rules/together.smk"

else:

    include: "workflow/rules/table.smk"
    include: "workflow/rules/figure.smk"


rule all:
    default_target: True
    input:
        rules.claims.output,
        rules.printed.output if PRINTED else [],
        rules.frontier.output if FRONTIER else [],
        expand(
            [f"{TABLE}.{ending}" for ending in ("csv", "html", "seal")],
            study=PLAN.runs,
        ),
        PLAN.all_receipts,  # by name, so that a withdrawn one is made again
        expand(
            [f"{FIGURE}.{ending}" for ending in ("svg", "png", "seal")], figure=FIGURES
        ),
    message:
        "all results are there"

from snakemake.utils import min_version

min_version("9.0")


configfile: "conf/workflow.yaml"


report: "workflow/captions/workflow.rst"


shell.prefix("set -euo pipefail; export NUMBA_NUM_THREADS=${{OMP_NUM_THREADS:-1}}; ")


onsuccess:
    for line in PLAN.unfinished():
        logger.warning(line)


onerror:
    for line in PLAN.unfinished():
        logger.warning(line)


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


include: "workflow/rules/check.smk"


rule all:
    default_target: True
    input:
        rules.check.output,
        rules.check.input,
    message:
        "all results are there"

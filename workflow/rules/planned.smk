# All that the process that plans makes; of jobs that share a folder with it, each makes a part.
# Where jobs run is known only once they begin; a profile may say it before, by device=elsewhere (plan.smk).
onstart:
    try:
        planning.check_kernels(config["kernels"], workflow.non_local_exec)
    except ConfigError as error:
        raise WorkflowError(str(error)) from None


onsuccess:
    for line in PLAN.unfinished():
        logger.warning(line)


onerror:
    for line in PLAN.unfinished():
        logger.warning(line)


include: "plan.smk"
include: "run.smk"


if AWAY:

    include: "away.smk"
    include: "home.smk"


include: "claim.smk"


if PRINTED:

    include: "printed.smk"


if FRONTIER:

    include: "frontier.smk"


if PLAN.shared:

    include: "together.smk"


if PLAN.first:

    include: "first.smk"


if PLAN.apart:

    include: "table.smk"


if PLAN.sharing:

    include: "figures.smk"

else:

    include: "figure.smk"


include: "check.smk"

# The records of a study, verified and joined into one tidy table.
rule table:
    input:
        lambda wildcards: local(
            [batch.receipt for batch in PLAN.batches_of(wildcards.study).values()]
        ),
    output:
        csv=local(
            report(
                f"{TABLE}.csv",
                category="Tables",
                caption="../captions/table.rst",
                labels={"study": "{study}"},
            )
        ),
        sealed=local(touch(f"{SEALED}/tables/{{study}}")),
    log:
        local(f"{LOGS}/table/{{study}}.log"),
    wildcard_constraints:
        study="|".join(PLAN.apart),  # another table is made with others, or there, or not
    group:
        lambda wildcards: grouped(
            cluster.group_of_table(PLAN.batches_of(wildcards.study).values())
        )
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 600 * attempt,
        runtime=lambda wildcards, attempt: attempt,
    params:
        manifest=lambda wildcards: PLAN.manifest(wildcards.study),
        uses=lambda wildcards: [*records([wildcards.study]), *SEALED_TABLES],
        scale=config["scale"],
        code=CODES["table"],
    message:
        "table of {wildcards.study}"
    shell:
        "printf %s {params.manifest:q} | python -m sketchbench step table {wildcards.study}"
        " --csv {output.csv:q} --scale {params.scale} --code {params.code} 2> {log:q}"

# The tables of the studies that share processes, in one process: what takes long there is starting Python.
rule tables:
    input:
        local([batch.receipt for batch in PLAN.batches[PLAN.sharing].values()]),
    output:
        csv=[
            local(
                report(
                    f"{REPORTS}/tables/{study}.csv",
                    category="Tables",
                    caption="../captions/table.rst",
                    labels={"study": study},
                )
            )
            for study in PLAN.shared
        ],
        sealed=local(touch(expand(f"{SEALED}/tables/{{study}}", study=PLAN.shared))),
    log:
        local(f"{LOGS}/tables.log"),
    group:
        lambda wildcards: grouped(cluster.TABLES)
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    params:
        manifests=PLAN.manifests,
        uses=[*records(PLAN.shared), *SEALED_TABLES],
        folder=lambda wildcards, output: Path(output[0]).parent,
        scale=config["scale"],
        signatures=[batch.signatures for batch in PLAN.batches[PLAN.sharing].values()],
        code=CODES["table"],
    message:
        "tables of short studies" if PLAN.apart else "all tables"
    shell:
        "python -m sketchbench step tables {params.manifests:q} --tables {params.folder:q}"
        " --scale {params.scale} --code {params.code} 2> {log:q}"

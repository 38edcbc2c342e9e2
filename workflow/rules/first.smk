# Verdicts on the claims of the shortest studies, while all others go on.
rule first:
    input:
        local(PLAN.first_batch.receipt),
    output:
        csv=local(f"{RESULTS}/first/claims.csv"),
        page=local(f"{RESULTS}/first/claims.md"),
        sealed=local(touch(f"{SEALED}/first/claims")),
    log:
        local(f"{LOGS}/first.log"),
    priority: PLAN.priority("short", "1")
    group:
        lambda wildcards: grouped(cluster.TABLES)
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime=lambda wildcards, attempt: 3 * attempt,
    params:
        manifests=PLAN.first_manifests,
        uses=[*records(PLAN.first), f"{RESULTS}/first"],
        tables=lambda wildcards, output: Path(output.csv).with_name("tables"),
        names=lambda wildcards, output: [
            Path(output.csv).with_name("tables") / f"{study}.csv"
            for study in PLAN.first
        ],
        scale=config["scale"],
        facts=PLAN.facts,
        signatures=PLAN.first_batch.signatures,
        joining=CODES["table"],
        code=CODES["claims"],
    message:
        "first verdicts"
    shell:
        # those of other code have no seal, and no step writes over a file that it can't verify
        "{{ rm -rf {params.tables:q};"
        " python -m sketchbench step tables {params.manifests:q} --tables {params.tables:q} --scale {params.scale}"
        " --code {params.joining};"
        " python -m sketchbench step claims {params.names:q} --claims conf/claim --errata conf/erratum"
        " --facts {params.facts:q} --csv {output.csv:q} --page {output.page:q}"
        " --code {params.code}; }} 2> {log:q}; echo 'first verdicts are in' {output.page:q}"

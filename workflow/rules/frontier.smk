# Compressors compared: the tables of the frontier's studies joined.
rule frontier:
    input:
        tables=local(expand(f"{TABLE}.csv", study=FRONTIER)),
    output:
        csv=local(
            report(
                f"{REPORTS}/frontier.csv",
                category="Frontier",
                caption="../captions/frontier.rst",
            )
        ),
        sealed=local(touch(f"{SEALED}/frontier")),
    log:
        local(f"{LOGS}/frontier.log"),
    group:
        lambda wildcards: grouped(cluster.LAST)
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime=lambda wildcards, attempt: 3 * attempt,
    params:
        uses=[*manifests(REPORTS), *SEALED_TABLES],
        scale=config["scale"],
        code=CODES["frontier"],
    message:
        "the frontier of compressors"
    shell:
        "python -m sketchbench step frontier {input.tables:q} --scale {params.scale} --csv {output.csv:q}"
        " --code {params.code} 2> {log:q}"

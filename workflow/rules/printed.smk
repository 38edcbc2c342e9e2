# What the papers print beside what was measured: from the tables that are there; cells of other studies are open.
rule printed:
    input:
        tables=local(expand(f"{TABLE}.csv", study=PRINTED)),
        printed=local(PRINTED_FILES),
        verdicts=local(rules.claims.output.csv),
        page=local(rules.claims.output.page),  # which the same seal names
    output:
        csv=local(
            report(
                f"{REPORTS}/printed.csv",
                category="Printed",
                caption="../captions/printed.rst",
            )
        ),
        sealed=local(touch(f"{SEALED}/printed")),
    log:
        local(f"{LOGS}/printed.log"),
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
        older=",".join(PRINTED_OLDER),
        code=CODES["printed"],
    message:
        "printed against measured"
    shell:
        "python -m sketchbench step printed {input.tables:q} --printed conf/printed --verdicts {input.verdicts:q}"
        " --scale {params.scale} --older={params.older:q}"
        " --csv {output.csv:q} --code {params.code} 2> {log:q}"

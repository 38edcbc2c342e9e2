# Verdicts on all claims, from all tables: those that are made, and those of other studies that are there.
rule claims:
    input:
        tables=local(expand(f"{TABLE}.csv", study=PLAN.tables)),
        claims=local(CLAIMS),
        errata=local(ERRATA),
        rate=local(RATE),
    output:
        csv=local(
            report(
                f"{REPORTS}/claims.csv",
                category="Claims",
                caption="../captions/claims.rst",
            )
        ),
        page=local(f"{REPORTS}/claims.md"),
        sealed=local(touch(f"{SEALED}/claims")),
    log:
        local(f"{LOGS}/claims.log"),
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
        facts=PLAN.facts,
        uses=[
            *manifests(REPORTS),
            *SEALED_TABLES,
            *expand(f"{REPORTS}/{{name}}.csv", name=["times", "history"]),
        ],
        code=CODES["claims"],
    message:
        "verdicts on the claims"
    shell:
        "python -m sketchbench step claims {input.tables:q} --claims conf/claim --errata conf/erratum"
        " --facts {params.facts:q} --csv {output.csv:q} --page {output.page:q}"
        " --code {params.code} 2> {log:q}"

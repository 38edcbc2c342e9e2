# Verdicts on all claims, from all tables.
rule claims:
    input:
        tables=expand(rules.table.output.csv, study=PLAN.runs),
        claims=sorted(glob_wildcards("conf/claim/{id}.yaml").id) and [
            f"conf/claim/{id}.yaml" for id in sorted(glob_wildcards("conf/claim/{id}.yaml").id)
        ],
    output:
        csv=f"{REPORTS}/claims.csv",
        page=f"{REPORTS}/claims.md",
        html=report(
            f"{REPORTS}/claims.html",
            category="Claims",
            caption="../captions/claims.rst",
        ),
    params:
        facts=PLAN.facts,
        code=code_digest(["sketchbench.claim.__main__"]),
    log:
        f"{LOGS}/claims.log",
    threads: 1
    conda:
        "../../environment.yml"
    message:
        "verdicts on the claims"
    shell:
        "python -m sketchbench.claim evaluate --tables {REPORTS}/tables --claims conf/claim"
        " --facts {params.facts:q} --reports {REPORTS} 2> {log}"

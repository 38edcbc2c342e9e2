# Compressors compared: the tables of the frontier's studies joined, as CSV and as a page beside the verdicts.
rule frontier:
    input:
        tables=expand(f"{TABLE}.csv", study=FRONTIER),
        seals=expand(f"{TABLE}.seal", study=FRONTIER),
        claims=rules.claims.input.claims,
        verdicts=rules.claims.output.csv,
        seal=rules.claims.output.seal,
    output:
        csv=f"{REPORTS}/frontier.csv",
        html=report(
            f"{REPORTS}/frontier.html",
            category="Frontier",
            caption="../captions/frontier.rst",
        ),
    log:
        f"{LOGS}/frontier.log",
    group:
        lambda wildcards: cluster_jobs().last
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime=lambda wildcards, attempt: 3 * attempt,
    params:
        # also those that a run of other studies leaves as they are
        figures=",".join(
            name
            for name in available(CATALOGUE, PLAN.tables)
            if name.startswith("frontier")
        ),
        code=CODE(("sketchbench.frontier.joining",)),
    message:
        "the frontier of compressors"
    shell:
        "python -m sketchbench step frontier {input.tables:q} --claims conf/claim"
        " --verdicts {input.verdicts:q} --figures={params.figures:q} --csv {output.csv:q} --html {output.html:q}"
        " 2> {log:q}"

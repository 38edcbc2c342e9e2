# The records of a study, verified and joined into one tidy table.
rule table:
    input:
        lambda wildcards: PLAN.receipts(wildcards.study),
    output:
        csv=f"{REPORTS}/tables/{{study}}.csv",
        html=report(
            f"{REPORTS}/tables/{{study}}.html",
            category="Tables",
            caption="../captions/table.rst",
            labels={"study": "{study}"},
        ),
    log:
        f"{LOGS}/table/{{study}}.log",
    wildcard_constraints:
        study="[a-z0-9_]+",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        manifest=lambda wildcards: PLAN.manifest(wildcards.study),
        code=CODE(("sketchbench.table.__main__",)),
    message:
        "table of {wildcards.study}"
    shell:
        "printf %s {params.manifest:q} | python -m sketchbench.table --study {wildcards.study}"
        " --csv {output.csv:q} --html {output.html:q} 2> {log:q}"

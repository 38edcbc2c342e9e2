# One picture per rule instance, drawn from finished tables.
FIGURE_FILES = expand(
    f"{REPORTS}/figures/{{figure}}.{{format}}",
    figure=FIGURES,
    format=["svg", "png", "seal"],
)


rule figure:
    input:
        tables=lambda wildcards: expand(
            rules.table.output.csv, study=CATALOGUE[wildcards.figure].studies
        ),
        seals=lambda wildcards: expand(
            rules.table.output.seal, study=CATALOGUE[wildcards.figure].studies
        ),
    output:
        svg=report(
            f"{REPORTS}/figures/{{figure}}.svg",
            category="Figures",
            caption="../captions/figure.rst",
            labels={"figure": "{figure}"},
        ),
        png=f"{REPORTS}/figures/{{figure}}.png",
        seal=f"{REPORTS}/figures/{{figure}}.seal",
    log:
        f"{LOGS}/figure/{{figure}}.log",
    wildcard_constraints:
        figure="[a-z0-9_]+",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        caption=lambda wildcards: CATALOGUE[wildcards.figure].caption,
        digest=lambda wildcards: CATALOGUE[wildcards.figure].digest(CODE),
        scale=config["scale"],
    message:
        "figure {wildcards.figure}"
    shell:
        "python -m sketchbench.figure {wildcards.figure} --tables {input.tables}"
        " --scale {params.scale} --svg {output.svg} --png {output.png} 2> {log}"

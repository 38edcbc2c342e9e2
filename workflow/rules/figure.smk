# One picture per rule instance, drawn from finished tables.
FIGURES = available(CATALOGUE, PLAN.runs)
FIGURE_FILES = expand(
    f"{REPORTS}/figures/{{figure}}.{{format}}", figure=FIGURES, format=["svg", "png"]
)


rule figure:
    input:
        lambda wildcards: expand(
            rules.table.output.csv, study=CATALOGUE[wildcards.figure].studies
        ),
    output:
        svg=report(
            f"{REPORTS}/figures/{{figure}}.svg",
            category="Figures",
            caption="../captions/figure.rst",
            labels={"figure": "{figure}"},
        ),
        png=f"{REPORTS}/figures/{{figure}}.png",
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
        "python -m sketchbench.figure {wildcards.figure} --tables {input:q}"
        " --scale {params.scale} --svg {output.svg:q} --png {output.png:q} 2> {log:q}"

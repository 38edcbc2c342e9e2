# One picture per rule instance, drawn from finished tables.
rule figure:
    input:
        tables=lambda wildcards: local(
            expand(f"{TABLE}.csv", study=CATALOGUE[wildcards.figure].studies)
        ),
    output:
        svg=local(
            report(
                f"{FIGURE}.svg",
                category="Figures",
                caption="../captions/figure.rst",
                labels={"figure": "{figure}"},
            )
        ),
        png=local(f"{FIGURE}.png"),
        sealed=local(touch(f"{SEALED}/figures/{{figure}}")),
    log:
        local(f"{LOGS}/figure/{{figure}}.log"),
    wildcard_constraints:
        figure="[a-z0-9_]+",
    group:
        lambda wildcards: grouped(cluster.LAST)
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime=lambda wildcards, attempt: attempt,
    params:
        caption=lambda wildcards: CATALOGUE[wildcards.figure].caption,
        code=lambda wildcards: CODES[f"{makers.FIGURE}{wildcards.figure}"],
        uses=[*manifests(f"{REPORTS}/figures"), *SEALED_TABLES],
        scale=config["scale"],
    message:
        "figure {wildcards.figure}"
    shell:
        "python -m sketchbench step figure {wildcards.figure} {input.tables:q}"
        " --scale {params.scale} --svg {output.svg:q} --png {output.png:q} --code {params.code} 2> {log:q}"

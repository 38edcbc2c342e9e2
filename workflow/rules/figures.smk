# All figures in two processes: what takes long is starting Python.
rule figures:
    input:
        local(expand(f"{TABLE}.csv", study=PLAN.tables)),
    output:
        drawings(FIGURES[::2]),
    log:
        local(f"{LOGS}/figures.log"),
    group:
        lambda wildcards: grouped(cluster.LAST)
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    params:
        names=FIGURES[::2],
        tables=lambda wildcards, input: Path(input[0]).parent,
        figures=lambda wildcards, output: Path(output[0]).parent,
        uses=[*manifests(f"{REPORTS}/figures"), *SEALED_TABLES],
        scale=config["scale"],
        code=",".join(CODES[f"{makers.FIGURE}{name}"] for name in FIGURES[::2]),
    message:
        "half of the figures"
    shell:
        "python -m sketchbench step figures {params.names} --tables {params.tables:q}"
        " --figures {params.figures:q} --scale {params.scale} --code {params.code:q} 2> {log:q}"


use rule figures as other_figures with:
    output:
        drawings(FIGURES[1::2]),
    log:
        local(f"{LOGS}/other_figures.log"),
    params:
        names=FIGURES[1::2],
        tables=lambda wildcards, input: Path(input[0]).parent,
        figures=lambda wildcards, output: Path(output[0]).parent,
        uses=[*manifests(f"{REPORTS}/figures"), *SEALED_TABLES],
        scale=config["scale"],
        code=",".join(CODES[f"{makers.FIGURE}{name}"] for name in FIGURES[1::2]),

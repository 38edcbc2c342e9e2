# All tables in one process, and all figures in two: what takes long at the smoke scale is starting Python.
rule tables:
    input:
        PLAN.all_receipts,
    output:
        csv=expand(f"{TABLE}.csv", study=PLAN.runs),
        seal=expand(f"{TABLE}.seal", study=PLAN.runs),
    log:
        f"{LOGS}/tables.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1000 * attempt,
        runtime=lambda wildcards, attempt: 10 * attempt,
    params:
        manifests=PLAN.manifests,
        folder=lambda wildcards, output: Path(output[0]).parent,
        scale=config["scale"],
        signatures=[
            batch.signatures
            for batches in PLAN.batches.values()
            for batch in batches.values()
        ],
        code=CODE(("sketchbench.report.table.joining",)),
    message:
        "all tables"
    shell:
        "python -m sketchbench step tables {params.manifests:q} --tables {params.folder:q}"
        " --scale {params.scale} 2> {log:q}"


rule figures:
    input:
        expand([f"{TABLE}.csv", f"{TABLE}.seal"], study=PLAN.tables),
    output:
        expand(
            [f"{FIGURE}.svg", f"{FIGURE}.png", f"{FIGURE}.seal"], figure=FIGURES[::2]
        ),
    log:
        f"{LOGS}/figures.log",
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
        scale=config["scale"],
        digests=[CATALOGUE[figure].digest(CODE) for figure in FIGURES[::2]],
    message:
        "half of the figures"
    shell:
        "python -m sketchbench step figures {params.names} --tables {params.tables:q}"
        " --figures {params.figures:q} --scale {params.scale} 2> {log:q}"


use rule figures as other_figures with:
    output:
        expand(
            [f"{FIGURE}.svg", f"{FIGURE}.png", f"{FIGURE}.seal"], figure=FIGURES[1::2]
        ),
    log:
        f"{LOGS}/other_figures.log",
    params:
        names=FIGURES[1::2],
        tables=lambda wildcards, input: Path(input[0]).parent,
        figures=lambda wildcards, output: Path(output[0]).parent,
        scale=config["scale"],
        digests=[CATALOGUE[figure].digest(CODE) for figure in FIGURES[1::2]],

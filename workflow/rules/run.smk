# One atomic task, one record. The config and the signature are the whole of what it depends on.
rule run:
    output:
        ensure(f"{RESULTS}/{{study}}/{{run}}.parquet", non_empty=True),
    log:
        f"{LOGS}/{{study}}/{{run}}.log",
    wildcard_constraints:
        study="[a-z0-9_]+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        gpu=1 if PLAN.kernels == "cupy" else 0,
    params:
        config=lambda wildcards: PLAN.runs[wildcards.study][wildcards.run].payload,
        signature=lambda wildcards: PLAN.runs[wildcards.study][wildcards.run].signature,
        folder=lambda wildcards: (
            FOLDER if PLAN.runs[wildcards.study][wildcards.run].needs_folder else ""
        ),
    message:
        "{wildcards.study}: {wildcards.run}"
    shell:
        "python -m sketchbench.job --config {params.config:q} --signature {params.signature}"
        " --result {output} {params.folder} 2> {log}"

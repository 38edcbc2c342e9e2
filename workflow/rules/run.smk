# Atomic tasks, one record each; a job does a batch of them, so that short ones share the start of a process.
# What a record depends on is its config and its signature; a job keeps those that are there.
# A batch that joins trials waits for those of the trials.
rule run:
    input:
        lambda wildcards: PLAN.batches[wildcards.study][wildcards.batch].needs,
    output:
        ensure(f"{RESULTS}/{{study}}/{{batch}}.done", non_empty=True),
    log:
        f"{LOGS}/{{study}}/{{batch}}.log",
    wildcard_constraints:
        study="[a-z0-9_]+",
        batch="[0-9]+",
    # The longest first, and before them what was never measured, so that no long one is left alone at the end.
    priority: lambda wildcards: PLAN.batches[wildcards.study][wildcards.batch].seconds or 1e9
    group:
        lambda wildcards: cluster_jobs().of_run(wildcards)
    conda:
        "../../environment.yml"
    threads: 1
    # What it took when it was measured, with headroom; each further attempt gets twice as much.
    resources:
        gpu=1 if PLAN.kernels == "cupy" else 0,
        mem_mb=lambda wildcards, attempt: cluster.megabytes(
            PLAN.batches[wildcards.study][wildcards.batch], attempt
        ),
        runtime=lambda wildcards, attempt: cluster.minutes(
            PLAN.batches[wildcards.study][wildcards.batch], attempt
        ),
    params:
        batch=lambda wildcards: PLAN.batches[wildcards.study][
            wildcards.batch
        ].description,
        signatures=lambda wildcards: PLAN.batches[wildcards.study][
            wildcards.batch
        ].signatures,
        folder=lambda wildcards: (
            FOLDER
            if PLAN.batches[wildcards.study][wildcards.batch].needs_folder
            else ""
        ),
        title=lambda wildcards: PLAN.batches[wildcards.study][wildcards.batch].title,
    message:
        "{wildcards.study}: {params.title}"
    shell:
        "python -m sketchbench step job --receipt {output:q} {params.folder} < {params.batch:q} 2> {log:q}"

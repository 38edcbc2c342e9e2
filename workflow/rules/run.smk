# Atomic tasks, one record each; a job does a batch of them, so that short ones share the start of a process.
# A record depends on its config and its signature; a job keeps the records that are there.
# A batch that joins trials waits for those of the trials.
rule run:
    input:
        lambda wildcards: local(batch_of(wildcards).needs),
    output:
        local(ensure(f"{RESULTS}/{{study}}/{{batch}}.done", non_empty=True)),
    log:
        local(f"{LOGS}/{{study}}/{{batch}}.log"),
    wildcard_constraints:
        study=DONE_HERE,
        batch="[0-9]+",
    priority: lambda wildcards: PLAN.priority(wildcards.study, wildcards.batch)
    group:
        lambda wildcards: grouped(cluster.group_of_batch(batch_of(wildcards)))
    localrule: AWAY
    conda:
        "../../environment.yml"
    threads: 1
    # What it took when it was measured, with headroom; each further attempt gets twice as much.
    resources:
        gpu=1 if PLAN.kernels == "cupy" else 0,
        mem_mb=lambda wildcards, attempt: cluster.megabytes(
            batch_of(wildcards), attempt
        ),
        runtime=lambda wildcards, attempt: cluster.minutes(batch_of(wildcards), attempt),
    params:
        batch=lambda wildcards: batch_of(wildcards).description,
        signatures=lambda wildcards: batch_of(wildcards).signatures,
        folder=lambda wildcards: (FOLDER if batch_of(wildcards).needs_folder else ""),
        uses=lambda wildcards: [*records(batch_of(wildcards).studies), CHECKPOINTS],
        title=lambda wildcards: batch_of(wildcards).title,
    message:
        "{wildcards.study}: {params.title}"
    shell:
        "sh workflow/job {output:q} {params.title:q} {log:q} {params.folder} < {params.batch:q}"

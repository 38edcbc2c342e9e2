# What goes to jobs that share no folder with this process, and what comes home. All else is made here.
rule send:
    output:
        temp("{batch}.{state}.to_job.tar"),
    log:
        local("{batch}.{state}.sent.log"),
    wildcard_constraints:
        batch="results/.+/[0-9]+",
        state="[0-9a-f]{16}([.][a-z0-9]+-[0-9a-f]{16})*",
    priority: lambda wildcards: SENT[wildcards.batch].priority
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        batch=lambda wildcards: SENT[wildcards.batch].batch.description,
        uses=lambda wildcards: [
            *records(SENT[wildcards.batch].batch.studies),
            CHECKPOINTS,
        ],
        folder=lambda wildcards: (
            FOLDER if SENT[wildcards.batch].batch.needs_folder else ""
        ),
    message:
        "to a job: {wildcards.batch}"
    shell:
        "python -m sketchbench step send {output:q} {params.folder} < {params.batch:q} 2> {log:q}"


# A data set is sent once; it stays in the storage under its checksum.
rule data:
    output:
        "data/{name}.tar",
    log:
        local(f"{LOGS}/data/{{name}}.log"),
    wildcard_constraints:
        name="[a-z0-9]+-[0-9a-f]{16}",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    message:
        "to the storage: {wildcards.name}"
    shell:
        "python -m sketchbench step data {wildcards.name} {output:q} 2> {log:q}"


rule take:
    input:
        lambda wildcards: SENT[f"{RESULTS}/{wildcards.study}/{wildcards.batch}"].outcome,
    output:
        local(ensure(f"{RESULTS}/{{study}}/{{batch}}.done", non_empty=True)),
    log:
        local(f"{LOGS}/{{study}}/{{batch}}.log"),
    wildcard_constraints:
        study=studies_of(SENT),
        batch="[0-9]+",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        batch=lambda wildcards: batch_of(wildcards).description,
        uses=lambda wildcards: [*records(batch_of(wildcards).studies), CHECKPOINTS],
        title=lambda wildcards: batch_of(wildcards).title,
    message:
        "{wildcards.study}: {params.title}"
    shell:
        "python -m sketchbench step take {input:q} --receipt {output:q} --log {log:q} < {params.batch:q}"

# Batches of runs where jobs share no folder with the process that plans (--shared-fs-usage none). The storage carries a
# parcel to each job, and one home. Such a job reads this file alone of all rules, and plans nothing.
rule away:
    input:
        parcel="{batch}.{state}.to_job.tar",
        data=lambda wildcards: expand(
            "data/{name}.tar", name=wildcards.state.split(".")[1:]
        ),
    output:
        temp("{batch}.{state}.from_job.tar"),
    log:
        "{batch}.{state}.log",
    wildcard_constraints:
        batch="results/.+/[0-9]+",
        state="[0-9a-f]{16}([.][a-z0-9]+-[0-9a-f]{16})*",
    priority: lambda wildcards: SENT[wildcards.batch].priority if SENT else 0
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: (
            SENT[wildcards.batch].megabytes(attempt) if SENT else 0
        ),
        runtime=lambda wildcards, attempt: (
            SENT[wildcards.batch].minutes(attempt) if SENT else 0
        ),
    params:
        uses=["batch.json", "commit", "data", "folder", "results"],  # what it unpacks in a folder of its own
    message:
        "{wildcards.batch}"
    shell:
        "python -m sketchbench step work {input.parcel:q} {input.data:q} --outcome {output:q} --log {log:q} 2> {log:q}"
